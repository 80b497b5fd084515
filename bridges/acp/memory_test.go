package acp_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// However long a conversation goes on, its memory stays as it was: after 160,000 more chunks and
// 8,000 more calls than it had, with a listener who takes them all.
func TestMemoryStays(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds: make test-all runs it")
	}
	_, l := startScript(func(a *scriptedAgent, _ string) string {
		for n := range 400 {
			a.sendText(fmt.Sprintf("This is sentence %d. ", n))
			if n%20 == 0 {
				a.sendUpdate(`{"sessionUpdate":"tool_call","toolCallId":"t%d","title":"a.go","kind":"read","status":"in_progress"}`, n)
				a.sendUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"t%d","status":"completed"}`, n)
			}
		}
		return "end_turn"
	})
	agent, err := acp.Connect(t.Context(), l, acp.Config{Folder: "/srv/project"})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	talk, err := agent.NewConversation(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	caps := subscriber.ScreenReader("en-US")
	caps.MaxEventsPerSecond = aaep.MaxRate
	sub, err := subscriber.Dial(t.Context(), pipeDialer{p}, subscriber.Config{ID: "reader", Capabilities: caps, NoReconnect: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	go func() {
		for range sub.Events(context.Background()) {
		}
	}()
	heapAfter := func(turns int) int64 {
		for range turns {
			if err := talk.Prompt(t.Context(), "Go on."); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const most = 2 << 20 // bytes that it may differ by
	if before, after := heapAfter(200), heapAfter(400); after-before > most {
		t.Errorf("the heap has grown from %d to %d KiB", before>>10, after>>10)
	}
}
