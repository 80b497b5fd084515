package aaepfantasy_test

import (
	"context"
	"fmt"
	"net/http"

	sdk "charm.land/fantasy"
	"charm.land/fantasy/providers/openaicompat"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	aaepfantasy "github.com/aaep-go/aaep/producer/fantasy"
	"github.com/aaep-go/aaep/producer/llm"
)

// An agent whose tool asks first. Nobody listens here, so it does not run.
func Example() {
	ctx := context.Background()
	type transfer struct {
		Amount int `json:"amount"`
	}
	move := sdk.NewAgentTool("transfer", "Moves money.", func(_ context.Context, in transfer, _ sdk.ToolCall) (sdk.ToolResponse, error) {
		return sdk.NewTextResponse(fmt.Sprintf("moved $%d", in.Amount)), nil
	})

	// What is added: the tap in the model's client, and the guard around the tool.
	// Serve p with package producer/serve.
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "banker"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	tap := llm.New(p)
	client := &http.Client{Transport: tap.Transport(provider)} // nil is the provider that there is
	move = aaepfantasy.Guard(tap, move, func(in transfer) producer.Tool {
		return producer.Tool{Irreversible: true, Action: aaep.Say(fmt.Sprintf("Transfer $%d.", in.Amount)),
			Consequence: aaep.Say("The money moves at once.")}
	})

	models, _ := openaicompat.New(openaicompat.WithBaseURL("https://model.example/v1"), openaicompat.WithHTTPClient(client))
	model, _ := models.LanguageModel(ctx, "any")
	result, err := sdk.NewAgent(model, sdk.WithTools(move)).Generate(ctx, sdk.AgentCall{Prompt: "Save $500."})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, called := range result.Steps[0].Content.ToolResults() {
		fmt.Println(called.Result)
	}
	fmt.Println(p.Shutdown(ctx))
	// Output:
	// {Not done: transfer. Only the user can allow this, and nobody could be asked.}
	// <nil>
}

// provider stands for a provider of language models.
var provider = fakemodel.New(fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "transfer", Args: `{"amount":500}`}}},
	fakemodel.Answer{Says: []string{"I could not."}}).Transport()
