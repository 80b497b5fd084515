package a2a_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// BenchmarkThousandTasks is how long it takes from an agent's sending an update until a listener
// has it, while 1,000 tasks are followed at once on one core: agent, bridge and listener together.
// Each iteration is an update of another task, two milliseconds after the last. Seen is the same
// with a file that remembers what was told.
func BenchmarkThousandTasks(b *testing.B) {
	b.Run("plain", func(b *testing.B) { followThousand(b, "") })
	b.Run("seen", func(b *testing.B) { followThousand(b, filepath.Join(b.TempDir(), "seen")) })
}

func followThousand(b *testing.B, seen string) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const tasks = 1000
	sends := make(chan func(string), tasks)
	over := make(chan struct{})
	s := &scripted{card: plainCard, task: func() string { return bare("WORKING", "", "") }, streams: func(_ string,
		params map[string]any, send func(string)) {
		id := params["message"].(map[string]any)["parts"].([]any)[0].(map[string]any)["text"].(string)
		mine := func(text string) { send(strings.ReplaceAll(text, `"t1"`, `"`+id+`"`)) }
		mine(taskOf("WORKING", "Begun "+id, ""))
		sends <- mine
		<-over
	}}
	server := httptest.NewServer(s)
	defer server.Close()
	defer close(over)
	agent, err := a2a.Dial(b.Context(), server.URL, a2a.Config{Endpoint: server.URL, Seen: seen})
	if err != nil {
		b.Fatal(err)
	}
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "many"}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	theirs, ours := transports.Pipe()
	go p.ServeConn(ours)
	sub, err := subscriber.Dial(b.Context(), only{theirs}, subscriber.Config{ID: "listener", NoReconnect: true,
		Capabilities: aaep.Capabilities{MaxEventsPerSecond: 1000}})
	if err != nil {
		b.Fatal(err)
	}
	defer sub.Close()
	took, begun := make(chan time.Duration, 1), make(chan bool, 1)
	go func() {
		for ev, err := range sub.Events(context.Background()) {
			if err != nil {
				return
			}
			if strings.HasPrefix(ev.Text(aaep.VerbosityNormal), "Begun") {
				begun <- true
			}
			if _, at, ok := strings.Cut(strings.TrimSuffix(ev.Text(aaep.VerbosityNormal), "."), "sent at "); ok {
				if at, err := strconv.ParseInt(at, 10, 64); err == nil {
					took <- time.Since(time.Unix(0, at))
				}
			}
		}
	}()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var all []func(string)
	for i := range tasks {
		if _, err := agent.Send(ctx, p, fmt.Sprint("task", i)); err != nil {
			b.Fatal(err)
		}
		all = append(all, <-sends)
		<-begun // is heard, so that the listener keeps up
	}
	times := make([]time.Duration, 0, b.N)
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	b.ResetTimer()
	for i := range b.N {
		<-pace.C
		all[i%tasks](updateOf("WORKING", fmt.Sprintf("update %d sent at %d", i, time.Now().UnixNano())))
		times = append(times, <-took)
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(runtime.NumGoroutine())/tasks, "goroutines/task")
}

type only struct{ conn transports.Conn }

func (o only) Dial(context.Context) (transports.Conn, error) { return o.conn, nil }
