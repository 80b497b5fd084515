package rap_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/rap"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// ownDialer leads to a Producer of the test.
type ownDialer struct{ p *producer.Producer }

func (d ownDialer) Dial(context.Context) (transports.Conn, error) {
	theirs, ours := transports.Pipe()
	go d.p.ServeConn(ours)
	return theirs, nil
}

// A trace of a runtime and a tool server that tells the time, written by hand from the protocol's
// text: each side gets what the other has posted, but for the callback URL, and each call is told
// with one id from its beginning to its end.
func TestTimeTraceWrittenByHand(t *testing.T) {
	p := bridgetest.NewProducer(t)
	sub, err := subscriber.Dial(t.Context(), ownDialer{p}, subscriber.Config{ID: "listener", NoReconnect: true,
		Capabilities: aaep.Capabilities{MaxEventsPerSecond: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, tools: newToolServer(t), runtime: newRuntime(t)}
	f.tools.set = `{"name": "get-time", "endpoint": "` + f.tools.URL +
		`", "tools": [{"name": "get_time", "description": "Tells the time.", "inputSchema": {}}]}`
	f.serve(p, rap.Config{})
	trace, err := os.Open("testdata/get-time-by-hand.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	back, calls := "", 0
	for lines := bufio.NewScanner(trace); lines.Scan(); {
		line := strings.ReplaceAll(lines.Text(), "CALLBACK", f.runtime.URL+"/back")
		var step, got struct{ Runtime, Tool map[string]any }
		if err := json.Unmarshal([]byte(line), &step); err != nil {
			t.Fatal(err)
		}
		if step.Runtime == nil {
			body, _ := json.Marshal(step.Tool)
			f.post(back, string(body))
			if got := receive(t, f.runtime.got); !reflect.DeepEqual(got, step.Tool) {
				t.Errorf("the runtime got %v, want %v", got, step.Tool)
			}
			continue
		}
		calls++
		body, _ := json.Marshal(step.Runtime)
		f.post(f.url+"/invoke", string(body))
		_, posted, _ := strings.Cut(receive(t, f.tools.notices), " ")
		if err := json.Unmarshal([]byte(posted), &got.Runtime); err != nil {
			t.Fatal(err)
		}
		back, _ = got.Runtime["callback_url"].(string)
		if got.Runtime["callback_url"] = step.Runtime["callback_url"]; !reflect.DeepEqual(got.Runtime, step.Runtime) {
			t.Errorf("the tool server got %v, want %v", got.Runtime, step.Runtime)
		}
	}
	var statuses []aaep.ToolStatus
	for open := ""; len(statuses) < calls; {
		ev, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		switch payload := ev.Payload.(type) {
		case *aaep.ToolInvoked:
			open = payload.ToolCallID
		case *aaep.ToolCompleted:
			if payload.ToolCallID != open {
				t.Errorf("%s has ended, want %s", payload.ToolCallID, open)
			}
			statuses = append(statuses, payload.Status)
		}
	}
	if want := []aaep.ToolStatus{aaep.ToolSuccess, aaep.ToolSuccess, aaep.ToolError}; !reflect.DeepEqual(statuses,
		want) {
		t.Errorf("the calls ended as %v, want %v", statuses, want)
	}
}
