package aaepadk_test

import (
	"context"
	"fmt"
	"net/http"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model/gemini"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	aaepadk "github.com/aaep-go/aaep/producer/adk"
	"github.com/aaep-go/aaep/producer/llm"
)

// An agent whose tool asks first. Nobody listens here, so it does not run.
func Example() {
	ctx := context.Background()
	type transfer struct {
		Amount int `json:"amount"`
	}
	move, _ := functiontool.New(functiontool.Config{Name: "transfer", Description: "Moves money.", RequireConfirmation: true},
		func(_ agent.Context, in transfer) (string, error) { return fmt.Sprintf("moved $%d", in.Amount), nil })

	// What is added: the tap in the model's client, and the plugin.
	// Serve p with package producer/serve.
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "banker"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	tap := llm.New(p)
	client := &http.Client{Transport: tap.Transport(provider)} // nil is the provider that there is
	guard, err := aaepadk.Plugin(tap, func(name string, args map[string]any) producer.Tool {
		return producer.Tool{Irreversible: true, Action: aaep.Say(fmt.Sprintf("Transfer $%v.", args["amount"])),
			Consequence: aaep.Say("The money moves at once.")}
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	model, _ := gemini.NewModel(ctx, "gemini-2.5-flash", &genai.ClientConfig{APIKey: "none", HTTPClient: client})
	banker, _ := llmagent.New(llmagent.Config{Name: "banker", Model: model, Tools: []tool.Tool{move}})
	r, _ := runner.New(runner.Config{AppName: "bank", Agent: banker, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{guard}}})
	for ev, err := range r.Run(ctx, "ada", "one", genai.NewContentFromText("Save $500.", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, part := range ev.Content.Parts {
			if part.FunctionResponse != nil {
				fmt.Println(part.FunctionResponse.Response["error"])
			}
		}
	}
	fmt.Println(p.Shutdown(ctx))
	// Output:
	// call is rejected: Not done: transfer. Only the user can allow this, and nobody could be asked.
	// <nil>
}

// provider stands for a provider of language models.
var provider = fakemodel.New(fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "transfer", Args: `{"amount":500}`}}},
	fakemodel.Answer{Says: []string{"I could not."}}).Transport()
