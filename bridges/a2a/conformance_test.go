package a2a_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
)

// What the bridge makes of a remote agent's tasks conforms at Level 3: streamed results, questions,
// failures and cancelled tasks come from an agent that speaks A2A. What A2A has no words for, such
// as a tool that asks first, is done beside it by the suite's own agent.
func TestConformance(t *testing.T) {
	report := aaeptest.Virtual(t, func(t *testing.T) conformance.ProducerRun {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "archive"}, Languages: []string{"en"},
			ShortTimeouts: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Shutdown(context.Background()) })
		p.AddEndpoint(manifest.Stdio, manifest.Endpoint{})
		within := &aaeptest.Agent{Producer: p}
		played := map[string]int{}
		t.Cleanup(func() { t.Logf("scenarios that came by A2A: %v", played) })
		driver := conformance.DriverFunc(func(ctx context.Context, sc conformance.Scenario) error {
			script := playedBy(sc)
			if script == nil {
				return within.Start(ctx, sc)
			}
			played[sc.Name]++
			network := memnet.Listen()
			server := &http.Server{Handler: script}
			go server.Serve(network)
			transport := &http.Transport{DialContext: network.Dial}
			defer server.Close()
			defer transport.CloseIdleConnections()
			agent, err := a2a.DialOver(ctx, "http://archive.example",
				a2a.Config{AnswerTime: time.Duration(sc.TimeoutSeconds) * time.Second}, transport)
			if err != nil {
				return err
			}
			task, err := agent.Send(ctx, p, sc.Name)
			if errors.Is(err, producer.ErrClosed) {
				return err
			}
			task.Wait() // what came of it is for the suite to judge
			return nil
		})
		return conformance.ProducerRun{Dialer: within, Manifest: within.Manifest, Driver: driver, Level: 3}
	})
	if report.Verdict != conformance.Pass {
		t.Errorf("the bridge may not claim Level 3: %s", report.Summary())
	}
}

// playedBy is an agent that does what a scenario wants, or nil where A2A has no words for it.
func playedBy(sc conformance.Scenario) *scripted {
	var updates []string
	switch sc.Name {
	case conformance.Stream:
		for i, text := range sc.Sentences {
			updates = append(updates, chunkOf("", text, i > 0, i == len(sc.Sentences)-1))
		}
		updates = append(updates, updateOf("COMPLETED", "Done."))
	case conformance.Errored:
		for i := range 20 {
			updates = append(updates, updateOf("WORKING", fmt.Sprintf("Step %d.", i+1)))
		}
		updates = append(updates, updateOf("FAILED", "The disk is full."))
	case conformance.Idle:
		updates = []string{updateOf("WORKING", ""), updateOf("CANCELED", "")}
	default:
		return nil
	}
	return &scripted{card: plainCard, streams: func(_ string, _ map[string]any, send func(string)) {
		send(taskOf("SUBMITTED", "", ""))
		for _, u := range updates {
			send(u)
		}
	}}
}
