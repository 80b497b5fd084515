package wake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep/bridges/wake"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
)

// Wakes are heard from the notifications of Neo's own subscriptions in both forms in which they
// are sent, each once, and those of another identity are not; what came while the link was cut is
// heard after; what no notification brought is had by polling, also of a swarm that does not know
// poll-digest; and a log that was rebuilt is told.
func testNeoNotifications(t *testing.T, dir string) {
	node := bridgetest.Start(t, dir, "node", "memory.mjs")
	url := node.Line(t)
	do := func(command ...any) {
		line, _ := json.Marshal(command)
		fmt.Fprintf(node.In, "%s\n", line)
	}
	p := bridgetest.NewProducer(t)
	l := bridgetest.Listen(t, p, nil)
	b := newBridge(t, p, wake.Config{})
	if err := b.Follow(t.Context(), wake.Server{URL: url, Token: "wrong"}); err == nil ||
		!strings.Contains(err.Error(), "give it a token that it knows") {
		t.Errorf("with another token: %v", err)
	}
	do("other")
	do("message", "MESSAGE:0", "Past")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Follow(ctx, wake.Server{URL: url, Token: "key", Poll: 50 * time.Millisecond}) }()
	listening := func() {
		if got := node.Line(t); got != "listening" {
			t.Fatal(got)
		}
	}
	listening()
	do("message", "MESSAGE:1", "One")
	l.AwaitHeard(t, "Message from @bob: One.")
	do("message", "MESSAGE:2", "Not for her", "@eve")
	do("task", "MESSAGE:3", "Completed")
	l.AwaitHeard(t, "Task MESSAGE:3 of @ada: completed.")
	do("data", json.RawMessage(envelope("sent_to_me", 2, message(90, "Wrapped"))))
	l.AwaitHeard(t, "Message from @bob: Wrapped.")
	do("silent", "MESSAGE:4", "Silent")
	l.AwaitHeard(t, "Message from @bob: Silent.")
	do("polls", false)
	do("silent", "MESSAGE:5", "Still silent")
	l.AwaitHeard(t, "Message from @bob: Still silent.")
	do("cut")
	do("silent", "MESSAGE:6", "Missed")
	l.AwaitHeard(t, "The link to the swarm was cut; it is tried again.")
	listening()
	l.AwaitHeard(t, "The link to the swarm is back after")
	l.AwaitHeard(t, "Message from @bob: Missed.")
	do("rebuild")
	do("cut")
	listening()
	l.AwaitHeard(t, "The swarm's log no longer reaches the place up to which you heard it. Wakes may be missing.")
	do("message", "MESSAGE:7", "Anew")
	l.AwaitHeard(t, "Message from @bob: Anew.")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	heard := ended(t, b, l)
	if strings.Contains(heard, "Wakes for the swarm.") {
		t.Errorf("what is hers was told as another's:\n%s", heard)
	}
	for _, once := range []string{": One.", ": Wrapped.", "completed", ": Silent.", ": Still silent.", ": Missed.",
		": Anew."} {
		if n := strings.Count(heard, once); n != 1 {
			t.Errorf("%q was heard %d times in\n%s", once, n, heard)
		}
	}
	for _, never := range []string{"Past", "Not for her"} {
		if strings.Contains(heard, never) {
			t.Errorf("%q was heard in\n%s", never, heard)
		}
	}
}

// A memoryServer is one of ours that gives what its log holds, by poll-digest and resync alone.
type memoryServer struct {
	*httptest.Server
	mu     sync.Mutex
	wakes  []string // that come after place 0 of the log, one at each place
	asked  map[string]int
	polled chan struct{} // is sent to at each poll where there is room

	// Where they are set, stream serves notifications, and beforeResync runs before an answer.
	stream       http.HandlerFunc
	beforeResync func()
}

func newMemoryServer(t *testing.T) *memoryServer {
	m := &memoryServer{asked: map[string]int{}, polled: make(chan struct{}, 1)}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *memoryServer) append(wakes ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wakes = append(m.wakes, wakes...)
}

func (m *memoryServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		if m.stream == nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		m.stream(w, r)
		return
	}
	var call struct {
		ID     int
		Method string
		Params struct {
			Arguments struct {
				Action         string
				SubscriptionID string
				SinceLogID     int
			}
		}
	}
	body, _ := io.ReadAll(r.Body)
	json.Unmarshal(body, &call)
	if m.beforeResync != nil && call.Params.Arguments.Action == "resync" {
		m.beforeResync()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	result := any(struct{}{})
	if call.Method == "tools/call" {
		ask := call.Params.Arguments
		m.asked[ask.Action]++
		after := m.wakes[min(ask.SinceLogID, len(m.wakes)):]
		answer := map[string]any{"pending": len(after), "watermark": len(m.wakes), "lastLogId": len(m.wakes)}
		if ask.Action == "resync" {
			events := []json.RawMessage{}
			for _, wake := range after {
				events = append(events, json.RawMessage(wake))
			}
			answer["events"] = events
		} else {
			select {
			case m.polled <- struct{}{}:
			default:
			}
		}
		text, _ := json.Marshal(answer)
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": string(text)}}}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": result})
}

// A bridge that is started again tells what came meanwhile and no more, many wakes as one digest;
// an empty poll fetches nothing; and the wakes of another subscription are left out.
func TestFollowServerOfOurs(t *testing.T) {
	m := newMemoryServer(t)
	m.append(envelope("sent_to_me", 1, message(1, "Past")))
	seen := filepath.Join(t.TempDir(), "seen")
	follow := func(during func(*bridgetest.Listener)) string {
		p := bridgetest.NewProducer(t)
		l := bridgetest.Listen(t, p, nil)
		b := newBridge(t, p, wake.Config{Identity: "@ada", Seen: seen})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- b.Follow(ctx, wake.Server{URL: m.URL, Subscriptions: []string{sub}, Poll: 5 * time.Millisecond})
		}()
		during(l)
		cancel()
		<-done
		return ended(t, b, l)
	}
	heard := follow(func(l *bridgetest.Listener) {
		<-m.polled
		<-m.polled
		m.append(envelope("sent_to_me", 2, message(2, "Two")),
			strings.ReplaceAll(envelope("sent_to_me", 3, message(3, "Of another")), sub, "WAKE_SUB:2"))
		l.AwaitHeard(t, ": Two.")
	})
	if want := "Wakes for @ada.\nMessage from @bob: Two."; heard != want {
		t.Errorf("heard %q, want %q", heard, want)
	}
	m.mu.Lock()
	n := m.asked["resync"]
	m.mu.Unlock()
	if n != 2 {
		t.Errorf("what was missed was asked for %d times, want one for the head of the log and one for what came", n)
	}
	for i := 4; i < 5004; i++ {
		m.append(envelope("sent_to_me", i, message(i, "Many")))
	}
	heard = follow(func(l *bridgetest.Listener) { l.AwaitHeard(t, "Many.") })
	if want := "Wakes for @ada.\n5,000 wakes. 5,000 messages, the newest: Message from @bob: Many."; heard != want {
		t.Errorf("heard %q, want %q", heard, want)
	}
}

// A server that redirects is not followed with the token, and one that answers without an end, or
// what is no answer, cannot be followed; each is said.
func TestFollowHostileServer(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		t.Errorf("%s came elsewhere", r.Method)
	}))
	defer elsewhere.Close()
	for want, answer := range map[string]http.HandlerFunc{
		"which is not followed": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"cannot be read": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, strings.Repeat("[", 8<<20))
		},
		"more than 8 MiB": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for io.WriteString(w, "data: x\n"); r.Context().Err() == nil; {
				if _, err := io.WriteString(w, "data: "+strings.Repeat("x", 64<<10)+"\n"); err != nil {
					return
				}
			}
		},
		"500": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) },
	} {
		server := httptest.NewServer(answer)
		p := bridgetest.NewProducer(t)
		b := newBridge(t, p, wake.Config{})
		if err := b.Follow(t.Context(), wake.Server{URL: server.URL, Token: "secret"}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
		server.Close()
	}
}
