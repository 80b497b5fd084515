package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/endpoint"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/websocket"
)

const firstRequest = `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"first","capabilities":{}}`

// apart keeps no connection: one to a server that was here before would fail its only POST.
var apart = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// rawClient is a first attempt at a subscriber, without a library.
type rawClient struct{ at string }

func (n rawClient) sendHTTP(ctx context.Context, method, path, body string, header ...string) *http.Response {
	req, err := http.NewRequestWithContext(ctx, method, n.at+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := apart.Do(req)
	if err != nil {
		return &http.Response{Header: http.Header{}, Body: http.NoBody}
	}
	return resp
}

// subscribe asks as is right, and returns where the stream is.
func (n rawClient) subscribe(ctx context.Context) string {
	resp := n.sendHTTP(ctx, "POST", "/aaep/v1/subscriptions", firstRequest, "Content-Type: application/json")
	resp.Body.Close()
	return resp.Header.Get("Location")
}

const asJSON = "Content-Type: application/json"

// CONF-014, WS-004: what the runner never gets to see, or in another form than it came, is judged
// all the same.
func TestBelowTheMessages(t *testing.T) {
	for _, tt := range []struct {
		name, listen, caught, want string
		does                       func(ctx context.Context, n rawClient)
	}{
		{"a reply in another's name", "http://127.0.0.1:0", "binding",
			"confirmation.reply names the subscription sub_other, which there is none of (CONF-014)",
			func(ctx context.Context, n rawClient) {
				stream := n.sendHTTP(ctx, "GET", n.subscribe(ctx), "", "Accept: text/event-stream",
					"Cache-Control: no-cache")
				n.sendHTTP(ctx, "POST", "/aaep/v1/replies",
					`{"type":"confirmation.reply","reply_token":"rpl_1","decision":"accept","subscription_id":"sub_other","timestamp":"2026-01-01T00:00:00Z"}`, asJSON)
				io.Copy(io.Discard, stream.Body)
			}},
		{"another goodbye", "ws://127.0.0.1:0", "binding",
			"after a subscription.close the link ends with the code 1000, not with 4000 or 4005 (WS-009)",
			func(ctx context.Context, n rawClient) {
				d := gorilla.Dialer{Subprotocols: []string{websocket.Subprotocol}}
				ws, _, err := d.DialContext(ctx, n.at, nil)
				if err != nil {
					return
				}
				defer ws.Close()
				ws.WriteMessage(gorilla.TextMessage, []byte(firstRequest))
				ws.ReadMessage()
				ws.WriteMessage(gorilla.TextMessage,
					[]byte(`{"type":"subscription.close","subscription_id":"sub_1","reason_code":"subscriber_shutdown","reason_message":"Bye."}`))
				ws.WriteControl(gorilla.CloseMessage, gorilla.FormatCloseMessage(gorilla.CloseNormalClosure, ""),
					time.Now().Add(time.Second))
			}},
		{"a request without an id", "stdio", "binding",
			"aaep.subscribe: a request without an id cannot be answered (STDIO-003)",
			func(ctx context.Context, n rawClient) {
				_, path, _ := strings.Cut(n.at, " ")
				c, err := net.Dial("unix", path)
				if err != nil {
					return
				}
				defer c.Close()
				fmt.Fprintf(c, `{"jsonrpc":"2.0","method":"aaep.subscribe","params":%s}`+"\n", firstRequest)
				<-ctx.Done()
			}},
		{"binary frames", "ws://127.0.0.1:0", "binding-advice",
			"a message is a binary frame, not one of text (WS-004)", func(ctx context.Context, n rawClient) {
				d := gorilla.Dialer{Subprotocols: []string{websocket.Subprotocol}}
				ws, _, err := d.DialContext(ctx, n.at, nil)
				if err != nil {
					return
				}
				defer ws.Close()
				ws.WriteMessage(gorilla.BinaryMessage, []byte(firstRequest))
				for context.AfterFunc(ctx, func() { ws.Close() }); err == nil; {
					_, _, err = ws.ReadMessage()
				}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := endpoint.Child("relay")
			if tt.listen != "stdio" {
				s.Close()
				s, err = endpoint.Listen(tt.listen, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			report, err := conformance.SubscriberRun{Listener: s, Level: 3, Only: []string{tt.caught},
				Subscriber: conformance.SubscriberFunc(func(ctx context.Context, _ *conformance.Hook) error {
					tt.does(ctx, rawClient{s.URL()})
					<-ctx.Done()
					return nil
				})}.Prove(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range report.Results {
				if bad := res.Verdict == conformance.Fail ||
					res.Verdict == conformance.Deviation; bad != (res.Case.Name == tt.caught) || bad &&
					res.Seen != tt.want {
					t.Errorf("%s %s: %s", res.Verdict, res.Case.Name, res.Seen)
				}
			}
		})
	}
}

// TR-004: of links that tell nothing of what is below the messages nothing is claimed, and the
// report says so.
func TestUnreported(t *testing.T) {
	report := inBubble(t, func(g *target) conformance.ProducerRun { return checkExtraCases(g, g) })
	if report == nil {
		t.FailNow()
	}
	for _, res := range report.Results {
		if strings.HasPrefix(res.Case.Name, "binding") && res.Verdict != conformance.Skipped {
			t.Errorf("%s %s: %s", res.Verdict, res.Case.Name, res.Seen)
		}
	}
	if !strings.Contains(strings.Join(report.Warnings, "\n"), "below the messages") {
		t.Errorf("the report warns of %q", report.Warnings)
	}
}

// retold is a hook that is told other lines than those that a reader tells.
type retold struct {
	*conformance.Hook
	edit func(o object) []object
}

func (h retold) Tell(line []byte) {
	var o object
	if json.Unmarshal(line, &o) != nil {
		return
	}
	for _, o := range h.edit(o) {
		h.Hook.Tell(encodeObject(o))
	}
}

// reportedAs makes a reader tell other lines of the event with a label.
func reportedAs(label string, edit func(text string) []string) func(context.Context, *conformance.Hook, *reader) error {
	return func(ctx context.Context, h *conformance.Hook, rd *reader) error {
		return rd.followEvents(ctx, retold{h, func(o object) (all []object) {
			id, _ := o["event_id"].(string)
			if text, _ := o["text"].(string); strings.HasSuffix(id, label) && text != "" {
				for _, text := range edit(text) {
					all = append(all, cloneWith(o, object{"text": text}))
				}
				return all
			}
			return []object{o}
		}})
	}
}

// wordy is a hook whose user's answers count when the words are over, of which each takes a moment:
// before that they are passed over.
type wordy struct {
	*conformance.Hook
	mu    sync.Mutex
	until map[string]time.Time // by event
}

func (h *wordy) Tell(line []byte) {
	var o object
	if json.Unmarshal(line, &o) == nil {
		id, _ := o["event_id"].(string)
		text, _ := o["text"].(string)
		h.mu.Lock()
		h.until[id] = time.Now().Add(time.Duration(len(strings.Fields(text))) * 400 * time.Millisecond)
		h.mu.Unlock()
	}
	h.Hook.Tell(line)
}

func (h *wordy) Next(ctx context.Context) ([]byte, error) {
	for {
		act, err := h.Hook.Next(ctx)
		var o object
		if err == nil && json.Unmarshal(act, &o) == nil {
			h.mu.Lock()
			id, _ := o["event_id"].(string)
			early := time.Now().Before(h.until[id])
			h.mu.Unlock()
			if early {
				continue
			}
		}
		return act, err
	}
}

// SEC-002: a subscriber that takes no answer before its user can have heard the question is judged
// by what that user then does.
func TestAnswersWhenHeard(t *testing.T) {
	f := fault{runs: func(ctx context.Context, h *conformance.Hook, rd *reader) error {
		return rd.followEvents(ctx, &wordy{Hook: h, until: map[string]time.Time{}})
	}}
	r := proveReader(t, 2, f, 0, "decision-sent", "decision-kept", "reply-once", "answers-sent", "reply-stamp",
		"prompt-whole")
	if r == nil || r.Verdict != conformance.Pass {
		t.Error(notPassed(r))
	}
}

// EVT-078: an action that is cut short is found, however far it got.
func TestActionCut(t *testing.T) {
	f := fault{says: func(ev *aaep.Event, text string) string {
		if p, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok && len(p.Action) > 120 {
			return strings.Replace(text, p.Action[110:], "…", 1)
		}
		return text
	}}
	r := proveReader(t, 2, f, 0, "prompt-whole")
	if r == nil || verdictsByCase(r)["prompt-whole"] != conformance.Fail {
		t.Error(notPassed(r))
	}
}

// D-76: an agent that takes its subscriber and never says a word is not asked for it again in each
// scenario run; and the progress callback gets what is waited for.
func TestSilentAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		target := connectPipe(func(c transports.Conn) {
			if _, err := c.Receive(context.Background()); err != nil {
				return
			}
			c.Send(context.Background(), []byte(`{"type":"subscription.accepted","subscription_id":"sub_1","aaep_version":"1.0.0","producer":{"agent_id":"x"},"honored_capabilities":{}}`))
			c.Receive(context.Background())
		})
		began := time.Now()
		r, err := conformance.ProducerRun{Dialer: target, Level: 3,
			Progress: func(what string, _, _ int) { told = append(told, what) },
			Driver: conformance.DriverFunc(func(context.Context,
				conformance.Scenario) error {
				return nil
			})}.Prove(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		r.WriteText(&b)
		if took := time.Since(began); !slices.Equal(told,
			[]string{"stream", "stream, waiting up to 17 more seconds for the first event"}) || took > time.Minute ||
			r.Verdict != conformance.Inconclusive || !strings.Contains(b.String(), "no event came within 20s") {
			t.Errorf("%q in %v:\n%s", told, took, b.String())
		}
	})
}
