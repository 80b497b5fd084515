package aaepeino_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/consenttest"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	aaepeino "github.com/aaep-go/aaep/producer/eino"
)

func describe(name, args string) producer.Tool {
	if name != "transfer" {
		return producer.Tool{Risk: aaep.RiskLow}
	}
	var in consenttest.Transfer
	json.Unmarshal([]byte(args), &in)
	return consenttest.Describe(in)
}

// transfers are the tool in the forms that most models take the results of.
var transfers = map[string]func(b *consenttest.Bank) (tool.BaseTool, error){
	"plain": func(b *consenttest.Bank) (tool.BaseTool, error) {
		return utils.InferTool("transfer", "Moves money.", b.Transfer)
	},
	"streamed": func(b *consenttest.Bank) (tool.BaseTool, error) {
		return utils.InferStreamTool("transfer", "Moves money.", func(ctx context.Context, in consenttest.Transfer) (*schema.StreamReader[string], error) {
			result, err := b.Transfer(ctx, in)
			if err != nil {
				return nil, err
			}
			return schema.StreamReaderFromArray(strings.SplitAfter(result, " ")), nil
		})
	},
}

// open makes a runner of an agent with the tools.
func open(ctx context.Context, b *consenttest.Bank, stream bool, handlers []adk.ChatModelAgentMiddleware, tools ...tool.BaseTool) (*adk.Runner, error) {
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{BaseURL: "https://model.example/v1", APIKey: "none", Model: "fake", HTTPClient: b.Client})
	if err != nil {
		return nil, err
	}
	a, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "banker", Description: "Saves money.", Model: model,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
		Handlers:    append(handlers, aaepeino.Middleware(b.Tap, describe))})
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: a, EnableStreaming: stream, CheckPointStore: &store{kept: map[string][]byte{}}}), nil
}

// follow reads a run to its end, and returns what was said last and the id of its interrupt.
func follow(events *adk.AsyncIterator[*adk.AgentEvent]) (said, interrupt string, err error) {
	for {
		ev, ok := events.Next()
		switch {
		case !ok:
			return said, interrupt, err
		case ev.Err != nil:
			err = ev.Err
		case ev.Action != nil && ev.Action.Interrupted != nil:
			for _, i := range ev.Action.Interrupted.InterruptContexts {
				if i.IsRootCause {
					interrupt = i.ID
				}
			}
		case ev.Output != nil && ev.Output.MessageOutput != nil:
			var message *schema.Message
			if message, err = ev.Output.MessageOutput.GetMessage(); err == nil {
				said = message.Content
			}
		}
	}
}

// Whatever Eino does, with tools and models that stream or do not, money moves once after one yes,
// or never. (P1, EVT-042, SM-009)
func TestMiddleware(t *testing.T) {
	for name, make := range transfers {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", stream), func(t *testing.T) {
				consenttest.TestInRealTime(t, func(ctx context.Context, b *consenttest.Bank) (string, error) {
					transfer, err := make(b)
					if err != nil {
						return "", err
					}
					r, err := open(ctx, b, stream, nil, transfer)
					if err != nil {
						return "", err
					}
					said, _, err := follow(r.Query(ctx, "Save $500."))
					return said, err
				})
			})
		}
	}
}

// A call of which nobody can be asked is a result that says so, and the run goes on. (P1)
func TestHidden(t *testing.T) {
	b := consenttest.Open(t, consenttest.Say(aaep.Accept), consenttest.WantsHidden, consenttest.Done)
	transfer, err := transfers["plain"](b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := open(t.Context(), b, false, nil, transfer)
	if err != nil {
		t.Fatal(err)
	}
	if said, _, err := follow(r.Query(t.Context(), "Save $500.")); err != nil || said != "All is well." {
		t.Errorf("the agent said %q, %v", said, err)
	}
	if asked := string(b.Model.Asked()[1]); !strings.Contains(asked, "The user cannot be asked about this call as it is") {
		t.Errorf("the model got %s", asked)
	}
	b.Check(t, 0)
}

// The tools with structured results ask as the others do. (P1)
func TestEnhanced(t *testing.T) {
	for decision, want := range map[aaep.Decision]string{aaep.Accept: "moved $500", aaep.Reject: "Not done: transfer. The user was asked and said no."} {
		b := consenttest.Open(t, consenttest.Say(decision))
		m, transfer := aaepeino.Middleware(b.Tap, describe), &adk.ToolContext{Name: "transfer"}
		move := func(ctx context.Context, _ *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
			result, err := b.Transfer(ctx, consenttest.Transfer{Amount: 500})
			return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: result}}}, err
		}
		whole, _ := m.WrapEnhancedInvokableToolCall(t.Context(), move, transfer)
		streamed, _ := m.WrapEnhancedStreamableToolCall(t.Context(), func(ctx context.Context, args *schema.ToolArgument, _ ...tool.Option) (
			*schema.StreamReader[*schema.ToolResult], error) {
			result, err := move(ctx, args)
			return schema.StreamReaderFromArray([]*schema.ToolResult{result}), err
		}, transfer)
		args := &schema.ToolArgument{Text: `{"amount":500}`}
		result, err := whole(t.Context(), args)
		if err != nil || result.Parts[0].Text != want {
			t.Errorf("%s gave %+v, %v", decision, result, err)
		}
		stream, err := streamed(t.Context(), args)
		if err != nil {
			t.Fatal(err)
		}
		if result, err := stream.Recv(); err != nil || result.Parts[0].Text != want {
			t.Errorf("%s, streamed, gave %+v, %v", decision, result, err)
		}
		moved := []int{500, 500}
		if decision == aaep.Reject {
			moved = nil
		}
		b.Check(t, 2, moved...)
	}
}

// A stream's tool that panics is an error of the call, and ends no program.
func TestPanic(t *testing.T) {
	b := consenttest.Open(t, consenttest.Say(aaep.Accept))
	run, _ := aaepeino.Middleware(b.Tap, describe).WrapStreamableToolCall(t.Context(),
		func(context.Context, string, ...tool.Option) (*schema.StreamReader[string], error) { panic("vault") }, &adk.ToolContext{Name: "transfer"})
	if _, err := run(t.Context(), `{"amount":500}`); err == nil || !strings.Contains(err.Error(), "vault") {
		t.Errorf("the call gave %v", err)
	}
}

// A run that one tool interrupts, after the user said yes to another, is resumed: what ran does not
// run again, and what the interrupted tool does is asked about anew. (P1)
func TestResume(t *testing.T) {
	wants := consenttest.Wants(500)
	wants.Calls = append(wants.Calls, fakemodel.Call{ID: "call_2", Name: "sign", Args: "{}"})
	b := consenttest.Open(t, consenttest.Say(aaep.Accept), wants, consenttest.Done)
	transfer, err := transfers["plain"](b)
	if err != nil {
		t.Fatal(err)
	}
	signed := 0
	sign, err := utils.InferTool("sign", "Signs.", func(ctx context.Context, _ struct{}) (string, error) {
		if again, _, _ := tool.GetInterruptState[string](ctx); !again {
			return "", tool.StatefulInterrupt(ctx, "Sign here.", "waiting")
		}
		signed++
		return "signed", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := open(t.Context(), b, false, nil, transfer, sign)
	if err != nil {
		t.Fatal(err)
	}
	_, interrupt, err := follow(r.Query(t.Context(), "Save $500.", adk.WithCheckPointID("one")))
	if err != nil || interrupt == "" {
		t.Fatalf("the run was not interrupted: %v", err)
	}
	b.Check(t, 1, 500)
	b.Listener.AwaitHeard(t, "Withdrawn, and not done: sign")
	events, err := r.ResumeWithParams(t.Context(), "one", &adk.ResumeParams{Targets: map[string]any{interrupt: "yes"}})
	if err != nil {
		t.Fatal(err)
	}
	if said, _, err := follow(events); err != nil || said != "All is well." || signed != 1 {
		t.Errorf("the agent said %q, %v, and signed %d times", said, err, signed)
	}
	b.Check(t, 1, 500)
}

// A tool that interrupts its run after the user said yes has used that yes up: resumed, it asks
// again, and moves money once or never. (P1)
func TestInterruptsAfterYes(t *testing.T) {
	for second, moved := range map[aaep.Decision][]int{aaep.Accept: {500}, aaep.Reject: nil} {
		b := consenttest.Open(t, consenttest.SayInTurn(aaep.Accept, second), consenttest.Wants(500), consenttest.Done)
		transfer, err := utils.InferTool("transfer", "Moves money.", func(ctx context.Context, in consenttest.Transfer) (string, error) {
			if again, _, _ := tool.GetInterruptState[string](ctx); !again {
				return "", tool.StatefulInterrupt(ctx, "Which account?", "waiting")
			}
			return b.Transfer(ctx, in)
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := open(t.Context(), b, false, nil, transfer)
		if err != nil {
			t.Fatal(err)
		}
		_, interrupt, err := follow(r.Query(t.Context(), "Save $500.", adk.WithCheckPointID("one")))
		if err != nil || interrupt == "" {
			t.Fatalf("the run was not interrupted: %v", err)
		}
		b.Check(t, 1)
		events, err := r.ResumeWithParams(t.Context(), "one", &adk.ResumeParams{Targets: map[string]any{interrupt: "the first"}})
		if err != nil {
			t.Fatal(err)
		}
		if said, _, err := follow(events); err != nil || said != "All is well." {
			t.Errorf("the agent said %q, %v", said, err)
		}
		b.Check(t, 2, moved...)
	}
}

// retries is a middleware that calls a tool again that failed.
type retries struct {
	*adk.BaseChatModelAgentMiddleware
}

func (retries) WrapInvokableToolCall(_ context.Context, run adk.InvokableToolCallEndpoint, _ *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, args string, opts ...tool.Option) (string, error) {
		result, err := run(ctx, args, opts...)
		if err != nil {
			result, err = run(ctx, args, opts...)
		}
		return result, err
	}, nil
}

// A middleware that calls a tool again has each call asked about. (P1)
func TestRetried(t *testing.T) {
	b := consenttest.Open(t, consenttest.SayInTurn(aaep.Accept, aaep.Reject), consenttest.Wants(500), consenttest.Done)
	b.Fails = errors.New("no connection")
	transfer, err := transfers["plain"](b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := open(t.Context(), b, false, []adk.ChatModelAgentMiddleware{retries{}}, transfer)
	if err != nil {
		t.Fatal(err)
	}
	if said, _, err := follow(r.Query(t.Context(), "Save $500.")); err != nil || said != "All is well." {
		t.Errorf("the agent said %q, %v", said, err)
	}
	b.Check(t, 2, 500)
}

// store keeps where a run was interrupted.
type store struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (s *store) Get(_ context.Context, id string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.kept[id]
	return data, ok, nil
}

func (s *store) Set(_ context.Context, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[id] = data
	return nil
}

// Arguments of which the tool could read something else than its description has are not asked
// about, and not run. (P1)
func TestTwoReadings(t *testing.T) {
	wants := consenttest.WantsHidden
	wants.Calls = []fakemodel.Call{{ID: "call_1", Name: "transfer", Args: `{"amount":5000,"Amount":5}`}}
	b := consenttest.Open(t, consenttest.Say(aaep.Accept), wants, consenttest.Done)
	transfer, err := transfers["plain"](b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := open(t.Context(), b, false, nil, transfer)
	if err != nil {
		t.Fatal(err)
	}
	if said, _, err := follow(r.Query(t.Context(), "Save $500.")); err != nil || said != "All is well." {
		t.Errorf("the agent said %q, %v", said, err)
	}
	if asked := string(b.Model.Asked()[1]); !strings.Contains(asked, "comes twice in one object") {
		t.Errorf("the model got %s", asked)
	}
	b.Check(t, 0)
}
