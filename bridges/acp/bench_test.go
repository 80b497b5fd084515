package acp_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// BenchmarkChunks measures what a chunk of an answer costs from the agent's line to the log, and,
// of an agent that writes 2,000 chunks a second, how long a whole sentence takes to reach a
// listener: "p99-ms" is that of 99 in 100.
func BenchmarkChunks(b *testing.B) {
	var began sync.Map // by sentence
	_, l := startScript(func(a *scriptedAgent, _ string) string {
		tick := time.NewTicker(500 * time.Microsecond)
		defer tick.Stop()
		for n := range b.N {
			if n%10 == 9 {
				began.Store(n/10, time.Now())
				a.sendText(fmt.Sprintf("number %d.\n", n/10))
			} else {
				a.sendText("some ")
			}
			<-tick.C
		}
		return "end_turn"
	})
	agent, err := acp.Connect(b.Context(), l, acp.Config{Folder: "/srv/project"})
	if err != nil {
		b.Fatal(err)
	}
	defer agent.Close()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	talk, err := agent.NewConversation(b.Context(), p)
	if err != nil {
		b.Fatal(err)
	}
	caps := subscriber.ScreenReader("en-US")
	caps.MaxEventsPerSecond = aaep.MaxRate
	sub, err := subscriber.Dial(b.Context(), pipeDialer{p},
		subscriber.Config{ID: "reader", Capabilities: caps, NoReconnect: true})
	if err != nil {
		b.Fatal(err)
	}
	defer sub.Close()
	var took []time.Duration
	over := make(chan struct{})
	go func() {
		defer close(over)
		for ev, err := range sub.Events(context.Background()) {
			if err != nil || ev.Type().Terminal() {
				return
			}
			if chunk, ok := ev.Payload.(*aaep.OutputStreaming); ok {
				var n int
				at := len(chunk.Chunk)
				for at > 0 && chunk.Chunk[at-1] != 'r' {
					at--
				}
				if _, err := fmt.Sscanf(chunk.Chunk[at:], " %d.", &n); err == nil {
					if at, ok := began.Load(n); ok {
						took = append(took, time.Since(at.(time.Time)))
					}
				}
			}
		}
	}()
	b.ResetTimer()
	if err := talk.Prompt(b.Context(), "Go on."); err != nil {
		b.Fatal(err)
	}
	<-over
	if len(took) > 0 {
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	}
}
