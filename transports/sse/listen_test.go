package sse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
)

// A published server has no handshake: it sends what happens to all who listen, and takes replies
// from any client. They differ in whether they send heartbeats and tell new clients what was
// before, and in how they say 404.
type published struct {
	heartbeat time.Duration // 0 is none
	replay    bool
	method    bool          // 405 instead of 404
	gate      chan struct{} // if not nil, the second stream waits for it

	mu      sync.Mutex
	events  []string
	streams map[chan string]bool
	posted  chan map[string]any
	lasts   []string // Last-Event-ID of each GET
}

// ServeHTTP serves the two endpoints, and answers all others as this server does.
func (p *published) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /events":
		p.serveStream(w, r)
	case "POST /messages":
		var m map[string]any
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m["reply_token"] == nil {
			http.Error(w, `{"error":"reply_token is required"}`, http.StatusBadRequest)
			return
		}
		p.posted <- m
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"received"}`)
	default:
		if p.method {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		http.Error(w, "404: Not Found", http.StatusNotFound)
	}
}

// serveStream serves a GET of events until the client leaves or the event is "cut".
func (p *published) serveStream(w http.ResponseWriter, r *http.Request) {
	events := make(chan string, 64)
	p.mu.Lock()
	p.streams[events] = true
	p.lasts = append(p.lasts, r.Header.Get("Last-Event-ID"))
	if p.replay {
		for _, ev := range p.events {
			events <- ev
		}
	}
	again := len(p.lasts) > 1
	p.mu.Unlock()
	if again && p.gate != nil {
		<-p.gate
	}
	defer func() { p.mu.Lock(); defer p.mu.Unlock(); delete(p.streams, events) }()
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	var beat <-chan time.Time
	if p.heartbeat > 0 {
		_, _ = io.WriteString(w, ": connected\n\n")
		ticker := time.NewTicker(p.heartbeat)
		defer ticker.Stop()
		beat = ticker.C
	}
	for {
		_ = flush.Flush()
		select {
		case ev := <-events:
			if ev == "cut" {
				return
			}
			_, _ = io.WriteString(w, ev)
		case <-beat:
			_, _ = io.WriteString(w, ": heartbeat\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

// emitFrame sends a frame to all who listen; data is a JSON object.
func (p *published) emitFrame(prefix, data string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, prefix+"data: "+data+"\n\n")
	for s := range p.streams {
		s <- prefix + "data: " + data + "\n\n"
	}
}

// publishedEvent is an event as such servers write it: without languages, with members of their
// own.
func publishedEvent(n int, typ, more string) string {
	return fmt.Sprintf(
		`{"@context": "https://aaep-protocol.org/context/v1", "type": "aaep:agent.%s", "event_id": "evt_%d", `+
			`"session_id": "sess_1", "sequence_number": %d, "timestamp": %q, "producer": {"agent_id": "old"}, `+
			`"urgency": "normal", "summary_normal": "Event %d."%s}`,
		typ, n, n, time.Now().UTC().Format(pages), n, more)
}

// servePublished serves p in memory, and returns a client of it.
func servePublished(t *testing.T, p *published) *http.Client {
	p.streams, p.posted = map[chan string]bool{}, make(chan map[string]any, 8)
	return sse.Bubble(t, p)
}

var reads = aaep.Capabilities{Languages: []string{"en-US"}, MaxEventsPerSecond: 5, SupportsConfirmationReply: new(true),
	SupportsClarificationReply: new(true)}

// dialRoot follows the root layout of a server with the subscriber of this project.
func dialRoot(t *testing.T, client *http.Client) *subscriber.Subscription {
	t.Helper()
	sub, err := subscriber.Dial(t.Context(), sse.Dialer{URL: here, Client: client, RootLayout: true},
		subscriber.Config{ID: "reader", Capabilities: reads})
	requireNoError(t, err)
	t.Cleanup(func() { _ = sub.Close() })
	return sub
}

// nextEvent returns the next event of sub.
func nextEvent(t *testing.T, sub *subscriber.Subscription) *aaep.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	ev, err := sub.Next(ctx)
	requireNoError(t, err)
	return ev
}

// Our subscriber follows the published servers, whatever their events are called, and answers them;
// it does not claim that anything was agreed. D-37, D-43, D-63, D-64, SSE-008
func TestListenToPublishedServer(t *testing.T) {
	for _, p := range []*published{{heartbeat: 30 * time.Second}, {replay: true}, {method: true}} {
		synctest.Test(t, func(t *testing.T) {
			client := servePublished(t, p)
			sub := dialRoot(t, client)
			acc := sub.Accepted()
			if acc.SubscriptionID != "sub_implicit" || !strings.Contains(acc.NegotiationNotes, "Nothing was agreed") ||
				acc.HonoredCapabilities.MaxEventsPerSecond != 0 {
				t.Errorf("accepted %+v", acc)
			}
			for n, prefix := range []string{"", "event: aaep.event\nid: 7\n", "event: something\n"} {
				p.emitFrame(prefix, publishedEvent(n, "session.started", ""))
				if ev := nextEvent(t, sub); ev.EventID != fmt.Sprint("evt_", n) {
					t.Errorf("heard %s after %q", ev.EventID, prefix)
				}
			}
			time.Sleep(10 * time.Minute) // virtual, silent for some
			p.emitFrame("",
				publishedEvent(8, "awaiting.confirmation",
					`, "action": "Pay.", "consequence": "Paid.", "reply_token": "rpl_1", "timeout_seconds": 60, `+
						`"default_decision": "reject", "risk_level": "high", "irreversible": true`))
			requireNoError(t, sub.Question(nextEvent(t, sub)).Accept(t.Context()))
			if m := <-p.posted; m["type"] != "confirmation.reply" || m["reply_token"] != "rpl_1" ||
				m["decision"] != "accept" || m["subscription_id"] != "sub_implicit" {
				t.Errorf("posted %v", m)
			}
			if _, err := sub.Renegotiate(t.Context(), aaep.Capabilities{MaxEventsPerSecond: 1}); err == nil ||
				!strings.Contains(err.Error(), "no handshake") {
				t.Errorf("Renegotiate = %v", err)
			}
			p.mu.Lock()
			for s := range p.streams {
				s <- "cut"
			}
			p.mu.Unlock()
			synctest.Wait()
			time.Sleep(5 * time.Second) // it comes back
			p.emitFrame("", publishedEvent(9, "session.completed", ""))
			if ev := nextEvent(t, sub); ev.EventID != "evt_9" {
				t.Errorf("heard %s after the cut", ev.EventID)
			}
			if st, _ := sub.Status(); st.Subscribed != 1 {
				t.Errorf("%d handshakes, want the same subscription", st.Subscribed)
			}
			p.mu.Lock()
			if lasts := strings.Join(p.lasts, ","); lasts != ",7" {
				t.Errorf("GETs with %q, want one without an id and one with 7", lasts)
			}
			p.mu.Unlock()
			requireNoError(t, sub.Close())
			synctest.Wait()
			if len(p.streams) != 0 || len(p.posted) != 0 {
				t.Errorf("after Close %d streams are open, %d messages came", len(p.streams), len(p.posted))
			}
		})
	}
}

// It listens without a handshake only when told to, and only where there is none. D-43
func TestListenOnlyWhenTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &published{}
		client := servePublished(t, p)
		for name, tt := range map[string]struct {
			d    sse.Dialer
			want string
		}{
			"not told": {sse.Dialer{URL: here, Client: client}, "404"},
			"neither":  {sse.Dialer{URL: here + "/elsewhere", Client: client, RootLayout: true}, "neither a handshake"},
		} {
			_, err := subscriber.Dial(t.Context(), tt.d, subscriber.Config{ID: "reader"})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", name, err, tt.want)
			}
		}
		if len(p.lasts) != 0 {
			t.Error("a stream was opened")
		}
		refusing := sse.Bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				t.Error("a rejection was got around")
			}
			w.WriteHeader(http.StatusForbidden)
		}))
		_, err := subscriber.Dial(t.Context(), sse.Dialer{URL: here, Client: refusing, RootLayout: true},
			subscriber.Config{ID: "reader"})
		if !errors.Is(err, aaep.AuthorizationDenied) {
			t.Errorf("Dial = %v, want authorization_denied", err)
		}
	})
}

// A close ends the stream, also the one that is just opened again.
func TestListenClose(t *testing.T) {
	for _, reopening := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := &published{gate: make(chan struct{})}
			c, err := sse.Dialer{URL: here, Client: servePublished(t, p), RootLayout: true}.Dial(t.Context())
			requireNoError(t, err)
			defer c.Close()
			requireNoError(t,
				c.Send(t.Context(),
					[]byte(
						`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"r","capabilities":{}}`)))
			_, err = c.Receive(t.Context())
			requireNoError(t, err)
			done := make(chan error, 1)
			if reopening {
				go func() { done <- c.(transports.Reopener).Reopen(t.Context()) }()
				synctest.Wait()
			}
			requireNoError(t, c.Send(t.Context(), []byte(`{"type":"subscription.close","subscription_id":"sub_implicit"}`)))
			close(p.gate)
			if reopening {
				requireNoError(t, <-done)
			}
			start := time.Now()
			if _, err := c.Receive(t.Context()); err != io.EOF || time.Since(start) != 0 {
				t.Errorf("Receive = %v after %v, want EOF at once", err, time.Since(start))
			}
		})
	}
}

// Both ends ours, no handshake: a question, the answer, what became of it.
func TestRootLayoutBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, client := serveAgent(t, answering, producer.Config{})
		sub := dialRoot(t, client)
		s := startSession(t, p)
		done := runPayment(s)
		for {
			ev := nextEvent(t, sub)
			if ev.Type() == aaep.TypeAwaitingConfirmation {
				requireNoError(t, sub.Question(ev).Accept(t.Context()))
				break
			}
		}
		if got := <-done; got.runs != 1 || got.err != nil {
			t.Errorf("the tool ran %d times, %v", got.runs, got.err)
		}
		requireNoError(t, s.Complete(aaep.Say("Done.")))
		for nextEvent(t, sub).Type() != aaep.TypeSessionCompleted {
		}
		requireNoError(t, sub.Close())
	})
}
