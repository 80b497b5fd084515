package aaepeino_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	aaepeino "github.com/aaep-go/aaep/producer/eino"
	"github.com/aaep-go/aaep/producer/llm"
)

// An agent whose tool asks first. Nobody listens here, so it does not run.
func Example() {
	ctx := context.Background()
	type transfer struct {
		Amount int `json:"amount"`
	}
	move, _ := utils.InferTool("transfer", "Moves money.", func(_ context.Context, in transfer) (string, error) {
		return fmt.Sprintf("moved $%d", in.Amount), nil
	})

	// What is added: the tap in the model's client, and the middleware.
	// Serve p with package producer/serve.
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "banker"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	tap := llm.New(p)
	client := &http.Client{Transport: tap.Transport(provider)} // nil is the provider that there is
	guard := aaepeino.Middleware(tap, func(name, args string) producer.Tool {
		var in transfer
		json.Unmarshal([]byte(args), &in)
		return producer.Tool{Irreversible: true, Action: aaep.Say(fmt.Sprintf("Transfer $%d.", in.Amount)),
			Consequence: aaep.Say("The money moves at once.")}
	})

	model, _ := openai.NewChatModel(ctx, &openai.ChatModelConfig{BaseURL: "https://model.example/v1", Model: "any", HTTPClient: client})
	agent, _ := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "banker", Description: "Saves money.", Model: model,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{move}}},
		Handlers:    []adk.ChatModelAgentMiddleware{guard}})
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Save $500.")
	for ev, ok := events.Next(); ok; ev, ok = events.Next() {
		if ev.Err != nil {
			fmt.Println(ev.Err)
		} else if m := ev.Output.MessageOutput.Message; m.Role == schema.Tool {
			fmt.Println(m.Content)
		}
	}
	fmt.Println(p.Shutdown(ctx))
	// Output:
	// Not done: transfer. Only the user can allow this, and nobody could be asked.
	// <nil>
}

// provider stands for a provider of language models.
var provider = fakemodel.New(fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "transfer", Args: `{"amount":500}`}}},
	fakemodel.Answer{Says: []string{"I could not."}}).Transport()
