package aaepadk_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model/gemini"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/plugin/retryandreflect"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/toolconfirmation"
	"google.golang.org/genai"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/consenttest"
	"github.com/aaep-go/aaep/producer"
	aaepadk "github.com/aaep-go/aaep/producer/adk"
)

type result struct {
	Says string `json:"says"`
}

// kit is an agent of the kit, and what it has told the program so far.
type kit struct {
	agent    llmagent.Config
	sessions session.Service
	runner   *runner.Runner
	calls    []*genai.FunctionCall // of tools that the kit asked the program to confirm
}

// open makes an agent with the tool.
func open(ctx context.Context, b *consenttest.Bank, confirm bool, plugins ...*plugin.Plugin) (*kit, error) {
	move := func(ctx agent.Context, in consenttest.Transfer) (result, error) {
		says, err := b.Transfer(ctx, in)
		return result{says}, err
	}
	transfer, err := functiontool.New(functiontool.Config{Name: "transfer", Description: "Moves money.", RequireConfirmation: confirm}, move)
	if err != nil {
		return nil, err
	}
	model, err := gemini.NewModel(ctx, "gemini", &genai.ClientConfig{APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPClient: b.Client})
	if err != nil {
		return nil, err
	}
	k := &kit{agent: llmagent.Config{Name: "banker", Model: model, Tools: []tool.Tool{transfer}}, sessions: session.InMemoryService()}
	return k, k.use(plugins...)
}

// use goes on with these plugins.
func (k *kit) use(plugins ...*plugin.Plugin) (err error) {
	a, err := llmagent.New(k.agent)
	if err != nil {
		return err
	}
	k.runner, err = runner.New(runner.Config{AppName: "bank", Agent: a, SessionService: k.sessions, AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: plugins}})
	return err
}

// run sends a message and returns what the agent said.
func (k *kit) run(ctx context.Context, message *genai.Content, mode agent.StreamingMode) (said string, err error) {
	for ev, err := range k.runner.Run(ctx, "ada", "one", message, agent.RunConfig{StreamingMode: mode}) {
		if err != nil {
			return said, err
		}
		if ev.Content == nil || ev.Partial {
			continue
		}
		for _, part := range ev.Content.Parts {
			said += part.Text
			if part.FunctionCall != nil && part.FunctionCall.Name == toolconfirmation.FunctionCallName {
				k.calls = append(k.calls, part.FunctionCall)
			}
		}
	}
	return said, nil
}

func describe(_ string, args map[string]any) producer.Tool {
	amount, _ := args["amount"].(float64)
	note, _ := args["note"].(string)
	return consenttest.Describe(consenttest.Transfer{Amount: int(amount), Note: note})
}

func harmless(string, map[string]any) producer.Tool { return producer.Tool{Risk: aaep.RiskLow} }

var please = genai.NewContentFromText("Save $500.", genai.RoleUser)

// agents makes the suite's agent.
func agents(confirm bool, mode agent.StreamingMode) consenttest.Agent {
	return func(ctx context.Context, b *consenttest.Bank) (string, error) {
		guard, err := aaepadk.Plugin(b.Tap, describe)
		if err != nil {
			return "", err
		}
		k, err := open(ctx, b, confirm, guard)
		if err != nil {
			return "", err
		}
		said, err := k.run(ctx, please, mode)
		if len(k.calls) > 0 {
			err = errors.New("the kit asked the program")
		}
		return said, err
	}
}

// Whatever the kit does, money moves once after one yes, or never, with and without the kit's own
// confirmation, which never reaches the program. (P1, EVT-042, SM-009)
func TestPlugin(t *testing.T) {
	t.Run("plain", func(t *testing.T) { consenttest.Test(t, agents(false, agent.StreamingModeNone)) })
	t.Run("streamed", func(t *testing.T) { consenttest.Test(t, agents(false, agent.StreamingModeSSE)) })
	t.Run("RequireConfirmation", func(t *testing.T) { consenttest.Test(t, agents(true, agent.StreamingModeNone)) })
}

// A call of which nobody can be asked is an error that the model gets, and the run goes on. (P1)
func TestHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := consenttest.Open(t, consenttest.Say(aaep.Accept), consenttest.WantsHidden, consenttest.Done)
		if said, err := agents(true, agent.StreamingModeNone)(t.Context(), b); err != nil || said != "All is well." {
			t.Errorf("the agent said %q, %v", said, err)
		}
		b.Check(t, 0)
	})
}

// A tool that the kit wants confirmed is asked about also where its author calls it harmless.
func TestConfirmedThoughHarmless(t *testing.T) {
	for _, decision := range []aaep.Decision{aaep.Accept, aaep.Reject} {
		synctest.Test(t, func(t *testing.T) {
			b := consenttest.Open(t, consenttest.Say(decision), consenttest.Wants(500), consenttest.Done)
			guard, _ := aaepadk.Plugin(b.Tap, harmless)
			k, err := open(t.Context(), b, true, guard)
			if err != nil {
				t.Fatal(err)
			}
			if said, err := k.run(t.Context(), please, agent.StreamingModeNone); err != nil || !strings.Contains(said, "All is well.") {
				t.Errorf("the agent said %q, %v", said, err)
			}
			if decision == aaep.Accept {
				b.Check(t, 1, 500)
			} else {
				b.Check(t, 1)
			}
		})
	}
}

// A tool whose own code requests a confirmation, and says why, has the user asked in these words,
// whatever was asked before it began; it runs once after a yes to them, or never. (P1)
func TestHint(t *testing.T) {
	const hint = "A fee of $50 is added."
	const used = "Use the tool transfer, with amount: 500. " + hint
	for name, tt := range map[string]struct {
		describe  func(string, map[string]any) producer.Tool
		answers   []aaep.Decision
		questions int
		moved     []int
		last      string // question
	}{
		"yes to both":    {describe, []aaep.Decision{aaep.Accept, aaep.Accept}, 2, []int{500}, "Transfer $500. " + hint},
		"no to the hint": {describe, []aaep.Decision{aaep.Accept, aaep.Reject}, 2, nil, "Transfer $500. " + hint},
		"no before it":   {describe, []aaep.Decision{aaep.Reject}, 1, nil, "Transfer $500. The money moves at once."},
		"harmless":       {harmless, []aaep.Decision{aaep.Accept}, 1, []int{500}, used},
		"harmless, no":   {harmless, []aaep.Decision{aaep.Reject}, 1, nil, used},
		"no description": {nil, []aaep.Decision{aaep.Accept, aaep.Accept}, 2, []int{500}, used},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := consenttest.Open(t, consenttest.SayInTurn(tt.answers...), consenttest.Wants(500), consenttest.Done)
				guard, _ := aaepadk.Plugin(b.Tap, tt.describe)
				k, err := open(t.Context(), b, false)
				if err != nil {
					t.Fatal(err)
				}
				transfer, err := functiontool.New(functiontool.Config{Name: "transfer"}, func(ctx agent.Context, in consenttest.Transfer) (result, error) {
					if given := ctx.ToolConfirmation(); given == nil || !given.Confirmed {
						return result{}, errors.Join(ctx.RequestConfirmation(hint, nil), tool.ErrConfirmationRequired)
					}
					says, err := b.Transfer(ctx, in)
					return result{says}, err
				})
				if err != nil {
					t.Fatal(err)
				}
				k.agent.Tools = []tool.Tool{transfer}
				if err := k.use(guard); err != nil {
					t.Fatal(err)
				}
				if said, err := k.run(t.Context(), please, agent.StreamingModeNone); err != nil || !strings.Contains(said, "All is well.") {
					t.Errorf("the agent said %q, %v", said, err)
				}
				b.Check(t, tt.questions, tt.moved...)
				if last := b.LastQuestion(); last != tt.last {
					t.Errorf("the last question was %q, want %q", last, tt.last)
				}
				if heard := b.Listener.AwaitEnd(t, 1); strings.Count(heard, "The agent finished.") != 1 || !strings.Contains(heard, "All is well.") {
					t.Errorf("heard:\n%s", heard)
				}
			})
		})
	}
}

// A run that paused without the plugin is resumed with it, twice, by a program that says yes: the
// person is asked each time, and the program's yes is none. Its no is one. (P1)
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := consenttest.Open(t, consenttest.SayInTurn(aaep.Accept, aaep.Reject), consenttest.Wants(500), consenttest.Done, consenttest.Done, consenttest.Done)
		guard, _ := aaepadk.Plugin(b.Tap, describe)
		k, err := open(t.Context(), b, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.run(t.Context(), please, agent.StreamingModeNone); err != nil || len(k.calls) != 1 {
			t.Fatalf("the kit did not pause: %v", err)
		}
		if err := k.use(guard); err != nil {
			t.Fatal(err)
		}
		b.Check(t, 0)
		for i, confirmed := range []bool{true, true, false} {
			if _, err := k.run(t.Context(), confirm(k.calls[0], confirmed), agent.StreamingModeNone); err != nil {
				t.Error(err)
			}
			b.Check(t, min(i+1, 2), 500)
		}
	})
}

// A plugin of the kit that has failed calls tried again gets no call run on a yes to another. (P1)
func TestRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := consenttest.Open(t, consenttest.SayInTurn(aaep.Accept, aaep.Reject), consenttest.Wants(500), consenttest.Wants(500), consenttest.Done)
		b.Fails = errors.New("no connection")
		guard, _ := aaepadk.Plugin(b.Tap, describe)
		retry, err := retryandreflect.New()
		if err != nil {
			t.Fatal(err)
		}
		k, err := open(t.Context(), b, true, retry, guard)
		if err != nil {
			t.Fatal(err)
		}
		if said, err := k.run(t.Context(), please, agent.StreamingModeNone); err != nil || !strings.Contains(said, "All is well.") {
			t.Errorf("the agent said %q, %v", said, err)
		}
		b.Check(t, 2, 500)
	})
}

// What the agent's own callbacks refuse is not asked, and what they change is what is asked about.
func TestCallbacks(t *testing.T) {
	for name, tt := range map[string]struct {
		callback  llmagent.BeforeToolCallback
		questions int
		moved     []int
	}{
		"refuse": {func(agent.Context, tool.Tool, map[string]any) (map[string]any, error) {
			return nil, errors.New("not today")
		}, 0, nil},
		"change": {func(_ agent.Context, _ tool.Tool, args map[string]any) (map[string]any, error) {
			args["amount"] = 5.0
			return nil, nil
		}, 1, []int{5}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := consenttest.Open(t, consenttest.Say(aaep.Accept), consenttest.Wants(500), consenttest.Done)
				guard, _ := aaepadk.Plugin(b.Tap, describe)
				k, err := open(t.Context(), b, true)
				if err != nil {
					t.Fatal(err)
				}
				k.agent.BeforeToolCallbacks = []llmagent.BeforeToolCallback{tt.callback}
				if err := k.use(guard); err != nil {
					t.Fatal(err)
				}
				if _, err := k.run(t.Context(), please, agent.StreamingModeNone); err != nil {
					t.Error(err)
				}
				if b.Check(t, tt.questions, tt.moved...); tt.moved != nil {
					b.Listener.AwaitHeard(t, "Transfer $5.")
				}
			})
		})
	}
}

// A streaming tool is asked about too, and runs once; so does a long-running one without a result,
// in a run that is resumed. (P1)
func TestOtherTools(t *testing.T) {
	for name, make := range map[string]func(b *consenttest.Bank) (tool.Tool, error){
		"streaming": func(b *consenttest.Bank) (tool.Tool, error) {
			return functiontool.NewStreaming(functiontool.Config{Name: "transfer", RequireConfirmation: true},
				func(ctx agent.Context, in consenttest.Transfer) iter.Seq2[string, error] {
					return func(yield func(string, error) bool) { yield(b.Transfer(ctx, in)) }
				})
		},
		"long-running": func(b *consenttest.Bank) (tool.Tool, error) {
			return functiontool.New(functiontool.Config{Name: "transfer", RequireConfirmation: true, IsLongRunning: true},
				func(ctx agent.Context, in consenttest.Transfer) (map[string]any, error) {
					b.Transfer(ctx, in)
					return nil, nil
				})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := consenttest.Open(t, consenttest.Say(aaep.Accept), consenttest.Wants(500), consenttest.Done, consenttest.Done)
				guard, _ := aaepadk.Plugin(b.Tap, describe)
				k, err := open(t.Context(), b, true)
				if err != nil {
					t.Fatal(err)
				}
				transfer, err := make(b)
				if err != nil {
					t.Fatal(err)
				}
				k.agent.Tools = []tool.Tool{transfer}
				first := []*plugin.Plugin{guard}
				if name == "long-running" {
					first = nil
				}
				if err := k.use(first...); err != nil {
					t.Fatal(err)
				}
				if _, err := k.run(t.Context(), please, agent.StreamingModeNone); err != nil {
					t.Error(err)
				}
				if name == "long-running" {
					if len(k.calls) != 1 {
						t.Fatal("the kit did not pause")
					}
					k.use(guard)
					k.run(t.Context(), confirm(k.calls[0], true), agent.StreamingModeNone)
				}
				b.Check(t, 1, 500)
			})
		})
	}
}

// confirm is a program's answer to what the kit asked it to confirm.
func confirm(call *genai.FunctionCall, confirmed bool) *genai.Content {
	return genai.NewContentFromParts([]*genai.Part{{FunctionResponse: &genai.FunctionResponse{ID: call.ID,
		Name: toolconfirmation.FunctionCallName, Response: map[string]any{"confirmed": confirmed}}}}, genai.RoleUser)
}
