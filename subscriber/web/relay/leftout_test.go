package relay_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/web/relay"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
)

type dialer func(context.Context) (transports.Conn, error)

func (d dialer) Dial(ctx context.Context) (transports.Conn, error) { return d(ctx) }

// TestLeftOut: a page is told what does not reach it: a question that is not valid, another
// message, each once, that events were lost, and a flood. SEC-009
func TestLeftOut(t *testing.T) {
	theirs, agent := transports.Pipe()
	defer agent.Close()
	go func() {
		agent.Receive(t.Context())
		agent.Send(t.Context(), []byte(`{"type":"subscription.accepted","subscription_id":"sub_1","aaep_version":"1.0.0","producer":{"agent_id":"planner"},"honored_capabilities":{"max_events_per_second":1}}`))
	}()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	r := relay.New(dialer(func(context.Context) (transports.Conn, error) { return theirs, nil }),
		subscriber.Config{ID: "relay"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx, ln) }()
	defer func() { stop(); <-ended }()
	page, err := sse.Dialer{URL: "http://" + ln.Addr().String() + strings.TrimSuffix(r.Path(), "/web/") +
		"/v1"}.Dial(t.Context())
	check(t, err)
	defer page.Close()
	check(t, page.Send(t.Context(), []byte(`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"page","capabilities":{"max_events_per_second":1}}`)))
	_, err = page.Receive(t.Context())
	check(t, err)

	say := func(id, kind, rest string) {
		check(t, agent.Send(t.Context(), []byte(`{"@context":"https://aaep-protocol.org/context/v1","aaep_version":"1.0.0","type":"aaep:agent.`+kind+`","event_id":"`+id+
			`","session_id":"sess_1","timestamp":"2026-01-01T00:00:00Z","producer":{"agent_id":"planner"}`+rest+`}`)))
	}
	told := func(want string) {
		t.Helper()
		for {
			msg, err := page.Receive(t.Context())
			check(t, err)
			if !strings.Contains(string(msg), "relay.left_out") {
				continue // an event
			}
			if got := string(msg); got != `{"type":"relay.left_out","what":"`+want+`"}` {
				t.Errorf("the page is told %s, want %s", got, want)
			}
			return
		}
	}
	for range 2 {
		say("evt_q", "awaiting.confirmation", `,"urgency":"critical","action":"Pay."`)
	}
	told("question")
	for range 2 {
		say("evt_m", "output.streaming", `,"chunk":"Hello."`)
	}
	told("message")
	say("evt_gap", "progress.updated", `,"progress":{"step":1},"extensions":{"delivery":{"lost":true}}`)
	told("lost")
	for i := range 70 {
		say(fmt.Sprint("evt_", i), "progress.updated", `,"progress":{"step":1}`)
	}
	told("flood")
}
