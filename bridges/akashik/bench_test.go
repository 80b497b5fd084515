package akashik_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/akashik"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

type oneConn struct{ conn transports.Conn }

func (o oneConn) Dial(context.Context) (transports.Conn, error) { return o.conn, nil }

// BenchmarkPush is how long it takes from a field's push over WebSocket until a listener has it.
func BenchmarkPush(b *testing.B) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "field"}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	theirs, ours := transports.Pipe()
	go p.ServeConn(ours)
	follows, err := subscriber.Dial(b.Context(), oneConn{theirs}, subscriber.Config{ID: "listener", NoReconnect: true,
		Capabilities: aaep.Capabilities{MaxEventsPerSecond: 1000}})
	if err != nil {
		b.Fatal(err)
	}
	defer follows.Close()
	heard := make(chan time.Time, 1)
	go func() {
		for ev, err := range follows.Events(context.Background()) {
			if err != nil {
				return
			}
			if out, ok := ev.Payload.(*aaep.OutputStreaming); ok && strings.Contains(out.Chunk, "News") {
				heard <- time.Now()
			}
		}
	}()
	f := newField()
	server := httptest.NewServer(f)
	defer server.Close()
	f.pushHost = strings.TrimPrefix(server.URL, "http://")
	bridge, err := akashik.New(p, akashik.Config{URL: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	defer bridge.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go bridge.Follow(ctx)
	<-f.linked
	times := make([]time.Duration, 0, b.N)
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for i := range b.N {
		n := notification("memory.recorded", int64(i+1), 0.8, fmt.Sprint("News ", i), fmt.Sprint("mem-", i), "", false)
		<-pace.C
		began := time.Now()
		f.push(n)
		times = append(times, (<-heard).Sub(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
}
