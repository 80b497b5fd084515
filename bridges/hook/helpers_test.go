package hook_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/hook"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// A fixture is a bridge, and a person who follows it and answers as decide does.
type fixture struct {
	t      *testing.T
	bridge *hook.Bridge
	p      *producer.Producer
	sub    *subscriber.Subscription
	decide func(f *fixture, ev *aaep.Event)

	mu    sync.Mutex
	heard []string
	trail []audit.Record
	ended chan struct{} // nil without a person
}

func (f *fixture) Record(r audit.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trail = append(f.trail, r)
	return nil
}

// runBridge runs do in virtual time. Without decide no person follows.
func runBridge(t *testing.T, cfg hook.Config, decide func(*fixture, *aaep.Event), do func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, decide: decide}
		var err error
		f.p, err = producer.New(producer.Config{Agent: aaep.Agent{AgentID: "hook", AgentName: "Coding agents"},
			RefuseSecrets: true, Audit: f})
		if err != nil {
			t.Fatal(err)
		}
		f.bridge = hook.New(f.p, cfg)
		if decide != nil {
			f.followAsPerson()
			synctest.Wait()
		}
		t.Cleanup(func() {
			f.p.Shutdown(context.Background())
			if f.ended != nil {
				<-f.ended
			}
		})
		do(t, f)
	})
}

type pipeDialer struct{ p *producer.Producer }

func (d pipeDialer) Dial(context.Context) (transports.Conn, error) {
	theirs, ours := transports.Pipe()
	go d.p.ServeConn(ours)
	return theirs, nil
}

func (f *fixture) followAsPerson() {
	caps := subscriber.ScreenReader("en-US")
	caps.MaxEventsPerSecond = 100
	var err error
	f.sub, err = subscriber.Dial(f.t.Context(), pipeDialer{f.p}, subscriber.Config{ID: "reader", Capabilities: caps,
		NoReconnect: true})
	if err != nil {
		f.t.Fatal(err)
	}
	f.ended = make(chan struct{})
	go func() {
		defer close(f.ended)
		for ev, err := range f.sub.Events(context.Background()) {
			if err != nil {
				return
			}
			f.mu.Lock()
			f.heard = append(f.heard, eventWords(ev))
			f.mu.Unlock()
			switch ev.Payload.(type) {
			case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
				f.decide(f, ev)
			}
		}
	}()
}

// eventWords are what a person makes of an event, in one line. Of states those are left out that
// say nothing but what they are.
func eventWords(ev *aaep.Event) string {
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		switch text := ev.Text(aaep.VerbosityNormal); text {
		case "Thinking.", "Waiting for an answer.", "Answering.", "Using a tool.":
			return ""
		default:
			return text
		}
	case *aaep.AwaitingConfirmation:
		return "Confirm: " + p.Action + " " + p.Consequence
	case *aaep.AwaitingClarification:
		return "Choose: " + p.Question + " " + p.Context
	case *aaep.OutputStreaming:
		return p.Chunk
	}
	return ev.Text(aaep.VerbosityNormal)
}

// allHeard is all that the person has heard, a line each.
func (f *fixture) allHeard() string {
	synctest.Wait()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, line := range f.heard {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	f.heard = nil
	return strings.Join(lines, "\n")
}

func (f *fixture) checkHeard(want string) {
	f.t.Helper()
	if got := f.allHeard(); got != strings.TrimSpace(want) {
		f.t.Errorf("heard\n%s\nwant\n%s", got, strings.TrimSpace(want))
	}
}

// callHook calls a hook with an input, and returns what it prints.
func (f *fixture) callHook(agent, input string) string {
	return f.callUntil(f.t.Context(), agent, input)
}

func (f *fixture) callUntil(ctx context.Context, agent, input string) (printed string) {
	f.t.Helper()
	err := f.bridge.Handle(ctx, agent, []byte(input), func(output []byte) error {
		if printed != "" {
			f.t.Errorf("%s is answered twice: %s", agent, output)
		}
		printed = string(output)
		return nil
	}, nil)
	if err != nil {
		f.t.Errorf("%s: %v", agent, err)
	}
	return printed
}

// answersWith returns what answers every confirmation alike, after as long as it takes to hear it.
func answersWith(d aaep.Decision) func(*fixture, *aaep.Event) {
	return func(f *fixture, ev *aaep.Event) {
		time.Sleep(2 * time.Second)
		replies.Send(context.Background(), f.sub.Question(ev), d, nil)
	}
}

func neverAnswer(*fixture, *aaep.Event) {}

// eventInput is an input of an event, with more members.
func eventInput(name, more string) string {
	if more != "" {
		more = "," + more
	}
	return `{"session_id":"s1","transcript_path":null,"cwd":"/srv/plans","permission_mode":"default","hook_event_name":"` + name + `"` + more + `}`
}

// toolMembers is the members of a call.
func toolMembers(name, input string) string {
	return `"tool_name":"` + name + `","tool_input":` + input
}

func quoteText(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}
