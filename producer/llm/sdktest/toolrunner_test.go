package sdktest

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/toolrunner"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/consenttest"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

// runnerTool makes a tool of the tool runner of a guarded function.
func runnerTool[In any](name, description string, run func(context.Context, In) (string, error)) (anthropic.BetaTool, error) {
	return toolrunner.NewBetaToolFromJSONSchema(name, description, func(ctx context.Context, in In) (anthropic.BetaToolResultBlockParamContentUnion, error) {
		result, err := run(ctx, in)
		return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: result}}, err
	})
}

// params are what a run begins with.
func params() anthropic.BetaToolRunnerParams {
	return anthropic.BetaToolRunnerParams{MaxIterations: 5, BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "any", MaxTokens: 100,
		Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Save $500."))}}}
}

// newRunner makes a runner of an agent with the suite's tool, guarded.
func newRunner(b *consenttest.Bank) (*anthropic.BetaToolRunner, error) {
	client := anthropic.NewClient(option.WithAPIKey("none"), option.WithBaseURL("https://model.example"),
		option.WithHTTPClient(b.Client), option.WithMaxRetries(0))
	transfer, err := runnerTool("transfer", "Moves money.", llm.Guard(b.Tap, "transfer", consenttest.Describe, b.Transfer))
	if err != nil {
		return nil, err
	}
	return client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{transfer}, params()), nil
}

// Whatever the tool runner does, money moves once after one yes, or never. (P1, EVT-042, SM-009)
func TestToolRunner(t *testing.T) {
	consenttest.TestInRealTime(t, func(ctx context.Context, b *consenttest.Bank) (string, error) {
		runner, err := newRunner(b)
		if err != nil {
			return "", err
		}
		message, err := runner.RunToCompletion(ctx)
		if err != nil {
			return "", err
		}
		return message.Content[0].Text, nil
	})
}

// A runner whose request failed after its tools ran has them run again when the program goes on:
// the user is asked again. (P1)
func TestRetriedTurn(t *testing.T) {
	b := consenttest.Open(t, consenttest.SayInTurn(aaep.Accept, aaep.Reject), consenttest.Wants(500),
		fakemodel.Answer{Status: http.StatusInternalServerError}, consenttest.Done)
	runner, err := newRunner(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runner.NextMessage(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Check(t, 0)
	if _, err := runner.NextMessage(t.Context()); err == nil {
		t.Error("the second request did not fail")
	}
	b.Check(t, 1, 500)
	if message, err := runner.NextMessage(t.Context()); err != nil || message.Content[0].Text != "All is well." {
		t.Errorf("the agent said %+v, %v", message, err)
	}
	b.Check(t, 2, 500)
}

// An agent on the tool runner, whose tool asks first. Nobody listens here, so it does not run.
func Example_toolRunner() {
	ctx := context.Background()
	type transfer struct {
		Amount int `json:"amount"`
	}
	move := func(_ context.Context, in transfer) (string, error) { return fmt.Sprintf("moved $%d", in.Amount), nil }

	// What is added: the tap in the client, and the guard. Serve p with package producer/serve.
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
	client := anthropic.NewClient(option.WithMiddleware(tap.Middleware), option.WithAPIKey("none"),
		option.WithHTTPClient(&http.Client{Transport: provider.Transport()}))

	tool, _ := runnerTool("transfer", "Moves money.", move)
	runner := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{tool}, params())
	if _, err := runner.RunToCompletion(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(runner.Messages()[2].Content[0].OfToolResult.Content[0].OfText.Text)
	fmt.Println(p.Shutdown(ctx))
	// Output:
	// Not done: transfer. Only the user can allow this, and nobody could be asked.
	// <nil>
}
