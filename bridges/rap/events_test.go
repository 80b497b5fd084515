package rap_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/rap"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/producer"
)

// eventsFixture is an Events beside a runtime, both with an agent's Producer.
type eventsFixture struct {
	*fixture
	p      *producer.Producer
	events *rap.Events
}

func newEventsFixture(t *testing.T, state string) *eventsFixture {
	t.Helper()
	f := &eventsFixture{fixture: &fixture{t: t, runtime: newRuntime(t)}, p: bridgetest.NewProducer(t)}
	f.open(state)
	return f
}

// open starts an Events, which ends with the test.
func (f *eventsFixture) open(state string) {
	f.t.Helper()
	var handler http.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w,
			r)
	}))
	f.t.Cleanup(front.Close)
	events, err := rap.NewEvents(f.p, rap.EventsConfig{URL: front.URL, State: state})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { events.Close() })
	handler, f.events, f.url = events, events, front.URL
}

// next waits for the next message at the runtime, of which it returns the text's members too.
func (f *eventsFixture) next() (message, text map[string]any) {
	f.t.Helper()
	message = receive(f.t, f.runtime.got)
	json.Unmarshal([]byte(message["text"].(string)), &text)
	return message, text
}

// nextOf waits for the next event of a type and of a group.
func (f *eventsFixture) nextOf(kind, group string) (message, text map[string]any) {
	f.t.Helper()
	for {
		if message, text = f.next(); text["type"] == kind && message["group_id"] == group {
			return message, text
		}
	}
}

// session begins a session of the agent.
func (f *eventsFixture) session(about string) *producer.Session {
	f.t.Helper()
	s, err := f.p.StartSession(f.t.Context(), aaep.Say(about))
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// An agent that subscribes is told so first, and then what happens at the agent and what its user
// has answered, in its conversation and under its call; nothing comes after it has cancelled, and
// what another conversation cancels goes on.
func TestEvents(t *testing.T) {
	f := newEventsFixture(t, "")
	resp, err := http.Get(f.url + "/.well-known/rap-toolset")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var set struct {
		Name, Endpoint string
		Tools          []struct{ Name string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&set); err != nil || set.Name != "aaep-events" ||
		len(set.Tools) != 3 || set.Endpoint != f.url+"/invoke" {
		t.Fatalf("%+v, %v", set, err)
	}
	f.call("1", "subscribe_agent_events", `{"associative": true}`)
	if got, _ := f.next(); got["type"] != "tool_result" || got["subscription"] != true || got["id"] != "1" ||
		got["call_id"] != "c-1" ||
		!strings.Contains(got["text"].(string), "Subscription ID: 1") {
		t.Errorf("the runtime got %v", got)
	}
	f.call("1", "subscribe_agent_events", `{}`) // it is one subscription
	s := f.session("Sorting the letters.")
	got, text := f.next()
	if got["type"] != "subscription_event" || got["tool_call_id"] != "1" || got["group_id"] != "g" ||
		got["associative"] != true || got["final"] != nil ||
		text["type"] != "agent.session.started" || text["summary"] != "Sorting the letters." ||
		text["session_id"] != s.ID() || text["event_id"] == "" {
		t.Errorf("the runtime got %v", got)
	}

	// What its user answers.
	f.heard = bridgetest.Listen(t, f.p, accept)
	if _, text := f.nextOf("person.here", "g"); text["summary"] != "A user listens who can answer." {
		t.Errorf("%v", text)
	}
	var typing aaep.Capabilities
	if err := typing.AddExtension(extensions.DeliveryVocabulary,
		extensions.Delivery{Presence: extensions.PresenceTyping, PresenceExpiresIn: 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.heard.Sub.Renegotiate(t.Context(), typing); err != nil {
		t.Fatal(err)
	}
	f.nextOf("person.busy", "g")
	f.nextOf("person.here", "g") // its time is over
	if d, done, err := s.Confirm(t.Context(), producer.Tool{Name: "wipe", Irreversible: true,
		Action:      aaep.Say("Wipe it."),
		Consequence: aaep.Say("It is gone.")}); d != aaep.Accept {
		t.Fatal(err)
	} else {
		done(nil)
	}
	for {
		got, text := f.nextOf("agent.state.changed", "g")
		if strings.Contains(got["text"].(string), "reply_token") {
			t.Errorf("the runtime got %v", got)
		}
		if text["from_state"] == "awaiting_input" && text["to_state"] == "calling_tool" {
			break
		}
	}

	// What the agent asks for without a subscription.
	f.call("2", "get_agent_session", fmt.Sprintf(`{"session_id": %q}`, s.ID()))
	for {
		if got, text := f.next(); got["type"] == "tool_result" {
			if text["session_id"] != s.ID() || text["over"] != false || got["subscription"] != nil {
				t.Errorf("%v", got)
			}
			break
		}
	}
	f.call("3", "list_agent_sessions", `{}`)
	for {
		if got, text := f.next(); got["type"] == "tool_result" {
			if all, _ := text["sessions"].([]any); len(all) != 1 {
				t.Errorf("%v", got)
			}
			break
		}
	}

	// Its user goes.
	f.heard.Sub.Close()
	f.nextOf("person.away", "g")

	// Another conversation cannot cancel it, and this one can.
	f.post(f.url+"/cancel_tool_call", `{"thread_id": "other", "tool_call_id": "1"}`)
	f.progress(s)
	f.nextOf("agent.progress.updated", "g")
	f.post(f.url+"/cancel_tool_call", `{"thread_id": "g", "tool_call_id": "1"}`)
	f.group("other", "4", `{}`)
	s.Complete(aaep.Say("Sorted."))
	for {
		message, text := f.next()
		if message["type"] == "subscription_event" && message["group_id"] == "g" {
			t.Errorf("after the end the runtime got %v", message)
		}
		if text["type"] == "agent.session.completed" {
			break
		}
	}
}

// progress tells how far a session is.
func (f *eventsFixture) progress(s *producer.Session) {
	f.t.Helper()
	if err := s.Progress(aaep.Say("Halfway."), aaep.Progress{Description: "Halfway."}, 0); err != nil {
		f.t.Fatal(err)
	}
}

// group has another conversation subscribe.
func (f *eventsFixture) group(group, id, arguments string) {
	f.t.Helper()
	if status := f.post(f.url+"/invoke", fmt.Sprintf(`{"operation": "subscribe_agent_events", "arguments": %s, "id": %q,
		"callback_url": "%s/back", "group_id": %q}`, arguments, id, f.runtime.URL, group)); status != 200 {
		f.t.Errorf("%d", status)
	}
}

// A subscription is of the types and of the session that it names, and ends with that, or after its
// time, by an event that is final. Those of a conversation end with it.
func TestEventsOfOneSession(t *testing.T) {
	f := newEventsFixture(t, "")
	s, other := f.session("One."), f.session("Two.")
	f.group("types", "1", `{"event_types": ["agent.session.completed"]}`)
	f.next()
	f.group("session", "2", fmt.Sprintf(`{"session_id": %q}`, s.ID()))
	f.next()
	f.group("closed", "3", `{}`)
	f.next()
	f.post(f.url+"/close_thread", `{"thread_id": "closed"}`)
	f.progress(other)
	other.Complete(aaep.Say("Two is done."))
	if _, text := f.nextOf("agent.session.completed", "types"); text["session_id"] != other.ID() {
		t.Errorf("%v", text)
	}
	s.Complete(aaep.Say("One is done."))
	for finals := 0; finals < 1; {
		got, text := f.next()
		switch got["group_id"] {
		case "session":
			if text["session_id"] == other.ID() {
				t.Errorf("%v", got)
			}
			if got["final"] == true {
				finals++
			}
		case "closed":
			t.Errorf("%v", got)
		}
	}
	f.group("time", "5", `{"ttl_seconds": 1}`)
	if got, _ := f.nextOf("subscription.ended", "time"); got["final"] != true {
		t.Errorf("%v", got)
	}
	for _, bad := range []string{`{"ttl_seconds": -1}`, `{"event_types": 1}`, `[]`} {
		f.group("bad", "6", bad)
		if got, _ := f.next(); !strings.HasPrefix(got["text"].(string), "Error: ") {
			t.Errorf("%s: %v", bad, got)
		}
	}
	for i := range 17 {
		f.group("many", fmt.Sprint("m", i), `{"event_types": ["none"]}`)
		if got, _ := f.next(); strings.HasPrefix(got["text"].(string), "Error: there are too many") != (i == 16) {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// A restart goes on with what was subscribed, and with nothing that was cancelled.
func TestEventsRestart(t *testing.T) {
	state := filepath.Join(t.TempDir(), "events")
	f := newEventsFixture(t, state)
	f.group("kept", "1", `{}`)
	f.next()
	f.group("gone", "2", `{}`)
	f.next()
	f.post(f.url+"/cancel_tool_call", `{"thread_id": "gone", "tool_call_id": "2"}`)
	if _, err := rap.NewEvents(f.p, rap.EventsConfig{URL: f.url, State: state}); err == nil {
		t.Error("two have one file")
	}
	f.events.Close()
	f.open(state)
	f.session("After the restart.")
	if got, text := f.next(); got["group_id"] != "kept" || got["tool_call_id"] != "1" ||
		text["summary"] != "After the restart." {
		t.Errorf("the runtime got %v", got)
	}
}

// A runtime that fails three times gets its event once; one that says that the callback is gone is
// unsubscribed, and an address at which a cloud keeps its secrets is posted to in no case.
func TestEventsDelivery(t *testing.T) {
	t.Parallel() // it waits as long as a runtime is given
	t.Run("fails", func(t *testing.T) {
		posts := make(chan int, 100) // the statuses that were answered
		statuses := []int{200, 503, 503, 503, 200, 410}
		n := 0
		runtime := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(statuses[n])
			posts <- statuses[n]
			n++
		}))
		defer runtime.Close()
		f := newEventsFixture(t, "")
		f.runtime.Server = runtime
		f.group("g", "1", `{"event_types": ["agent.session.started"]}`)
		receive(t, posts)
		f.session("One.")
		began := time.Now()
		for _, want := range statuses[1:5] {
			if got := receive(t, posts); got != want {
				t.Errorf("answered %d, want %d", got, want)
			}
		}
		if waited := time.Since(began); waited < 7*time.Second {
			t.Errorf("four attempts took %v", waited)
		}
		f.session("Two.")
		if got := receive(t, posts); got != 410 {
			t.Errorf("answered %d", got)
		}
		f.session("Three.")
		f.group("g", "1", `{}`) // which is known, though it is over
		f.events.Close()
		if len(posts) != 0 {
			t.Errorf("%d more were posted", len(posts))
		}
	})
	for _, to := range []string{"http://169.254.169.254/latest", "http://10.0.0.1/", "file:///etc/passwd"} {
		f := newEventsFixture(t, "")
		if status := f.post(f.url+"/invoke", fmt.Sprintf(`{"operation": "subscribe_agent_events", "arguments": {}, "id": "1",
			"callback_url": %q, "group_id": "g"}`, to)); status != http.StatusBadRequest {
			t.Errorf("%s: %d", to, status)
		}
	}
}
