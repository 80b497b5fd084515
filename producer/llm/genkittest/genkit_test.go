// Package genkittest runs an agent on Genkit through the tap, against a provider of ours.
package genkittest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/compat_oai"
	"github.com/openai/openai-go/option"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/consenttest"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

// openGenkit returns Genkit with a model that is reached as the option says.
func openGenkit(ctx context.Context, reach ...option.RequestOption) (*genkit.Genkit, ai.Model) {
	const address = "https://model.example/v1"
	models := &compat_oai.OpenAICompatible{Provider: "any", APIKey: "none", BaseURL: address, Opts: reach}
	g := genkit.Init(ctx, genkit.WithPlugins(models))
	return g, models.DefineModel("any", "any", ai.ModelOptions{Supports: &compat_oai.BasicText})
}

// defineTransfer defines the tool that the suite's model wants, guarded.
func defineTransfer(g *genkit.Genkit, b *consenttest.Bank) ai.Tool {
	guarded := llm.Guard(b.Tap, "transfer", consenttest.Describe, b.Transfer)
	return genkit.DefineTool(g, "transfer", "Moves money.",
		func(ctx *ai.ToolContext, in consenttest.Transfer) (string, error) { return guarded(ctx, in) })
}

// Whatever Genkit does, with answers that are streamed or whole, money moves once after one yes, or
// never. So it is for a model whose plugin takes an address and no client. (P1, EVT-042, SM-009)
func TestGenkit(t *testing.T) {
	streamed := ai.WithStreaming(func(context.Context, *ai.ModelResponseChunk) error { return nil })
	byClient := func(_ context.Context, b *consenttest.Bank) option.RequestOption {
		return option.WithHTTPClient(b.Client)
	}
	byAddress := func(ctx context.Context, b *consenttest.Bank) option.RequestOption {
		upstream := &url.URL{Scheme: "https", Host: "model.example"}
		proxy := httptest.NewServer(b.Tap.Proxy(upstream, b.Model.Transport()))
		context.AfterFunc(ctx, proxy.Close)
		return option.WithBaseURL(proxy.URL + "/v1")
	}
	for name, tt := range map[string]struct {
		reach func(context.Context, *consenttest.Bank) option.RequestOption
		opts  []ai.GenerateOption
	}{"whole": {byClient, nil}, "streamed": {byClient, []ai.GenerateOption{streamed}}, "by address": {byAddress, nil}} {
		t.Run(name, func(t *testing.T) {
			consenttest.TestInRealTime(t, func(ctx context.Context, b *consenttest.Bank) (string, error) {
				g, model := openGenkit(ctx, tt.reach(ctx, b))
				return genkit.GenerateText(ctx, g, append(tt.opts, ai.WithModel(model), ai.WithPrompt("Save $500."),
					ai.WithTools(defineTransfer(g, b)))...)
			})
		})
	}
}

// A run that one tool interrupts, after the user said yes to another, is resumed twice: what ran does
// not run again. The program then has that call restarted with another amount, which is a question of
// its own. (P1)
func TestResume(t *testing.T) {
	wants := consenttest.Wants(500)
	wants.Calls = append(wants.Calls, fakemodel.Call{ID: "call_2", Name: "sign", Args: "{}"})
	b := consenttest.Open(t, consenttest.SayInTurn(aaep.Accept, aaep.Reject, aaep.Accept), wants,
		consenttest.Done, consenttest.Done, consenttest.Done, consenttest.Done)
	g, model := openGenkit(t.Context(), option.WithHTTPClient(b.Client))
	transfer := defineTransfer(g, b)
	sign := genkit.DefineTool(g, "sign", "Signs.", func(ctx *ai.ToolContext, _ struct{}) (string, error) {
		if !ctx.IsResumed() {
			return "", ctx.Interrupt(nil)
		}
		return "signed", nil
	})
	with := []ai.GenerateOption{ai.WithModel(model), ai.WithTools(transfer, sign)}
	paused, err := genkit.Generate(t.Context(), g, append(with, ai.WithPrompt("Save $500."))...)
	if err != nil || len(paused.Interrupts()) != 1 {
		t.Fatalf("the run was not interrupted: %v", err)
	}
	b.Check(t, 1, 500)

	// resume goes on after the calls as they are given, and restarts these.
	resume := func(calls []*ai.Part, restarts ...*ai.Part) {
		t.Helper()
		history := slices.Clone(paused.History())
		history[len(history)-1] = ai.NewModelMessage(calls...)
		said, err := genkit.GenerateText(t.Context(), g,
			append(with, ai.WithMessages(history...), ai.WithToolRestarts(restarts...))...)
		if err != nil || said != "All is well." {
			t.Errorf("the agent said %q, %v", said, err)
		}
	}
	signed := sign.Restart(paused.Interrupts()[0], nil)
	for range 2 {
		resume(paused.Message.Content, signed)
		b.Check(t, 1, 500)
	}
	var calls []*ai.Part // as if none of them had run
	var moves *ai.Part
	for _, part := range paused.Message.Content {
		if part.IsToolRequest() && part.ToolRequest.Name == "transfer" {
			part = ai.NewToolRequestPart(part.ToolRequest)
			moves = transfer.Restart(part, &ai.RestartOptions{ReplaceInput: map[string]any{"amount": 7}})
		}
		calls = append(calls, part)
	}
	resume(calls, signed, moves)
	b.Check(t, 2, 500)
	b.Listener.AwaitHeard(t, "Transfer $7.")
	resume(calls, signed, moves)
	b.Check(t, 3, 7, 500)
}

// A program that tries a run again, whose tool failed after it moved the money, has its user
// asked again. (P1)
func TestRetried(t *testing.T) {
	wants := consenttest.Wants(500)
	b := consenttest.Open(t, consenttest.SayInTurn(aaep.Accept, aaep.Reject), wants, wants, consenttest.Done)
	b.Fails = errors.New("no connection") // after the money moved
	g, model := openGenkit(t.Context(), option.WithHTTPClient(b.Client))
	with := []ai.GenerateOption{ai.WithModel(model), ai.WithPrompt("Save $500."), ai.WithTools(defineTransfer(g, b))}
	if _, err := genkit.GenerateText(t.Context(), g, with...); err == nil {
		t.Error("the run did not fail")
	}
	if said, err := genkit.GenerateText(t.Context(), g, with...); err != nil || said != "All is well." {
		t.Errorf("the agent said %q, %v", said, err)
	}
	b.Check(t, 2, 500)
}

// An agent on Genkit, whose tool asks first. Nobody listens here, so it does not run.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type transfer struct {
		Amount int `json:"amount"`
	}
	move := func(_ context.Context, in transfer) (string, error) { return fmt.Sprintf("moved $%d", in.Amount), nil }

	// What is added: the tap in the model's client, and the guard. Serve p with package producer/serve.
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "banker"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	tap := llm.New(p)
	move = llm.Guard(tap, "transfer", func(in transfer) producer.Tool {
		return producer.Tool{Irreversible: true, Action: aaep.Say(fmt.Sprintf("Transfer $%d.", in.Amount)),
			Consequence: aaep.Say("The money moves at once.")}
	}, move)
	provider := fakemodel.New(consenttest.Wants(500), consenttest.Done) // stands for the provider
	client := &http.Client{Transport: provider.Transport()}
	g, model := openGenkit(ctx, option.WithMiddleware(tap.Middleware), option.WithHTTPClient(client))

	tool := genkit.DefineTool(g, "transfer", "Moves money.", func(ctx *ai.ToolContext, in transfer) (string, error) {
		return move(ctx, in)
	})
	answer, err := genkit.Generate(ctx, g, ai.WithModel(model), ai.WithPrompt("Save $500."), ai.WithTools(tool))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, message := range answer.History() {
		for _, part := range message.Content {
			if part.IsToolResponse() {
				fmt.Println(part.ToolResponse.Output)
			}
		}
	}
	fmt.Println(p.Shutdown(ctx))
	// Output:
	// Not done: transfer. Only the user can allow this, and nobody could be asked.
	// <nil>
}
