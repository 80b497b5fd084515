package jetstream_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/natstest"
	"github.com/aaep-go/aaep/producer"
)

// BenchmarkCritical tells how late a critical event comes: at the agent's own listener where
// nothing is kept, where NATS keeps it, on one server or on three, and then at a listener of
// another process too.
func BenchmarkCritical(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}, MaxRequestsPerSecond: -1})
		if err != nil {
			b.Fatal(err)
		}
		measureFailover(b, p, p)
		p.Shutdown(b.Context())
	})
	for _, count := range []int{1, 3} {
		for _, at := range []string{"agent", "elsewhere"} {
			b.Run(fmt.Sprint("servers=", count, "/", at), func(b *testing.B) {
				servers := natstest.Start(b, count)
				agent := startAgent(b, servers.URLs(), &trail{}, 0)
				if at == "agent" {
					measureFailover(b, agent.Producer, agent.Producer)
				} else {
					measureFailover(b, agent.Producer, startReplica(b, servers.URLs(), "edge").Producer)
				}
			})
		}
	}
}

// measureFailover measures from an agent's failure to a listener that is told.
func measureFailover(b *testing.B, agent, at *producer.Producer) {
	told := make(chan *aaep.Event, 1)
	listen(b, at, "", func(_ *testListener, ev *aaep.Event) {
		if ev.Type() != aaep.TypeSessionStarted { // a change of state comes right after it
			told <- ev
		}
	})
	var all []time.Duration
	for b.Loop() {
		s, err := agent.StartSession(b.Context(), aaep.Say("Working."))
		if err != nil {
			b.Fatal(err)
		}
		<-told
		began := time.Now()
		if err := s.Fail(errors.New("broken"), aaep.Say("It is broken.")); err != nil {
			b.Fatal(err)
		}
		if ev := <-told; !ev.Critical() {
			b.Fatalf("told %s", ev.Type())
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
}
