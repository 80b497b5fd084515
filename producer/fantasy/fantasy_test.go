package aaepfantasy_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	sdk "charm.land/fantasy"
	"charm.land/fantasy/providers/openaicompat"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/consenttest"
	"github.com/aaep-go/aaep/internal/fakemodel"
	aaepfantasy "github.com/aaep-go/aaep/producer/fantasy"
)

// agent is an agent with the guarded tool, and with others.
func agent(b *consenttest.Bank, parallel bool, others ...sdk.AgentTool) (sdk.Agent, error) {
	provider, err := openaicompat.New(openaicompat.WithBaseURL("https://model.example/v1"), openaicompat.WithAPIKey("none"),
		openaicompat.WithHTTPClient(b.Client))
	if err != nil {
		return nil, err
	}
	model, err := provider.LanguageModel(context.Background(), "fake")
	if err != nil {
		return nil, err
	}
	makeTool := sdk.NewAgentTool[consenttest.Transfer]
	if parallel {
		makeTool = sdk.NewParallelAgentTool[consenttest.Transfer]
	}
	transfer := makeTool("transfer", "Moves money.", func(ctx context.Context, in consenttest.Transfer, _ sdk.ToolCall) (sdk.ToolResponse, error) {
		result, err := b.Transfer(ctx, in)
		return sdk.NewTextResponse(result), err
	})
	return sdk.NewAgent(model, sdk.WithTools(append(others, aaepfantasy.Guard(b.Tap, transfer, consenttest.Describe))...)), nil
}

// Whatever Fantasy does, streamed or whole, with tools one after the other or at once, money moves
// once after one yes, or never. (P1, EVT-042, SM-009)
func TestGuard(t *testing.T) {
	for name, run := range map[string]consenttest.Agent{
		"whole": func(ctx context.Context, b *consenttest.Bank) (string, error) {
			a, err := agent(b, false)
			if err != nil {
				return "", err
			}
			result, err := a.Generate(ctx, sdk.AgentCall{Prompt: "Save $500."})
			if err != nil {
				return "", err
			}
			return result.Response.Content.Text(), nil
		},
		"streamed": func(ctx context.Context, b *consenttest.Bank) (string, error) {
			a, err := agent(b, true)
			if err != nil {
				return "", err
			}
			result, err := a.Stream(ctx, sdk.AgentStreamCall{Prompt: "Save $500."})
			if err != nil {
				return "", err
			}
			return result.Response.Content.Text(), nil
		},
	} {
		t.Run(name, func(t *testing.T) { consenttest.Test(t, run) })
	}
}

// A step that Fantasy tries again, because a tool in it failed as a network does, has run its other
// tools already: what was allowed once is asked about anew. (P1)
func TestRetriedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := consenttest.Open(t, consenttest.SayInTurn(aaep.Accept, aaep.Reject), both(), both(), consenttest.Done)
		tries := 0
		look := sdk.NewAgentTool("look", "Looks.", func(context.Context, struct{}, sdk.ToolCall) (sdk.ToolResponse, error) {
			if tries++; tries == 1 {
				return sdk.ToolResponse{}, &net.OpError{Op: "read", Err: errors.New("reset")}
			}
			return sdk.NewTextResponse("$7"), nil
		})
		a, err := agent(b, false, look)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Stream(t.Context(), sdk.AgentStreamCall{Prompt: "Save $500."}); err != nil || tries != 2 {
			t.Errorf("the agent gave %v after %d tries", err, tries)
		}
		b.Check(t, 2, 500)
	})
}

// What cannot be asked about, and a call that cannot be read, are responses that the model gets, and
// the run goes on. (P1)
func TestUnasked(t *testing.T) {
	unread := consenttest.WantsHidden
	unread.Calls = []fakemodel.Call{{ID: "call_1", Name: "transfer", Args: `{"amount":"much"}`}}
	for want, wants := range map[string]fakemodel.Answer{
		"The user cannot be asked about this call as it is": consenttest.WantsHidden, "invalid parameters": unread} {
		synctest.Test(t, func(t *testing.T) {
			b := consenttest.Open(t, consenttest.Say(aaep.Accept), wants, consenttest.Done)
			a, err := agent(b, false)
			if err != nil {
				t.Fatal(err)
			}
			result, err := a.Generate(t.Context(), sdk.AgentCall{Prompt: "Save $500."})
			if err != nil || result.Response.Content.Text() != "All is well." {
				t.Errorf("the agent gave %+v, %v", result, err)
			}
			if asked := string(b.Model.Asked()[1]); !strings.Contains(asked, want) {
				t.Errorf("the model got %s, want in it %q", asked, want)
			}
			b.Check(t, 0)
		})
	}
}

// A tool whose response says that it failed is told as failed, and the model gets the response.
func TestFailedResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := consenttest.Open(t, consenttest.Say(aaep.Accept))
		transfer := sdk.NewAgentTool("transfer", "Moves money.", func(context.Context, consenttest.Transfer, sdk.ToolCall) (sdk.ToolResponse, error) {
			return sdk.NewTextErrorResponse("no such account"), nil
		})
		response, err := aaepfantasy.Guard(b.Tap, transfer, consenttest.Describe).Run(t.Context(), sdk.ToolCall{Input: `{"amount":500}`})
		if err != nil || !response.IsError || response.Content != "no such account" {
			t.Errorf("the call gave %+v, %v", response, err)
		}
		b.Listener.AwaitHeard(t, "Transfer failed.")
		b.Check(t, 1)
	})
}

// A call that the description cannot be made of does not run, though the tool would take it. (P1)
func TestOtherInput(t *testing.T) {
	b, ran := consenttest.Open(t, consenttest.Say(aaep.Accept)), false
	transfer := sdk.NewAgentTool("transfer", "Moves money.", func(context.Context, map[string]any, sdk.ToolCall) (sdk.ToolResponse, error) {
		ran = true
		return sdk.NewTextResponse("moved it"), nil
	})
	for _, input := range []string{`{"amount":"much"}`, `{"amount":5000,"Amount":5}`, `{"amount":5000,"amount":5}`} {
		response, err := aaepfantasy.Guard(b.Tap, transfer, consenttest.Describe).Run(t.Context(), sdk.ToolCall{Input: input})
		if err != nil || !response.IsError || ran {
			t.Errorf("the call with %s gave %+v, %v, and ran: %t", input, response, err, ran)
		}
	}
	b.Check(t, 0)
}

// both is an answer of the model that wants a transfer and a look.
func both() fakemodel.Answer {
	a := consenttest.Wants(500)
	a.Calls = append(a.Calls, fakemodel.Call{ID: "call_2", Name: "look", Args: "{}"})
	return a
}
