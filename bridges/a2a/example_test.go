package a2a_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/producer"
)

func Example() {
	ctx := context.Background()
	remote := httptest.NewServer(&scripted{card: plainCard, streams: func(_ string, _ map[string]any,
		send func(string)) {
		send(taskOf("WORKING", "", ""))
		send(updateOf("COMPLETED", "The report is there."))
	}})
	defer remote.Close()
	// an agent whose card is right needs no endpoint
	agent, err := a2a.Dial(ctx, remote.URL, a2a.Config{Endpoint: remote.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, _ := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "archive", AgentName: agent.Name()},
		Languages: []string{"en"}})
	defer p.Shutdown(ctx)
	// Who follows p, as by package subscriber, hears the task and answers what the agent asks.
	task, _ := agent.Send(ctx, p, "Find the newest report.")
	fmt.Println(agent.Name(), task.Wait())
	// Output: Archive <nil>
}
