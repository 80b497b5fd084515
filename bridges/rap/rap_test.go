package rap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/rap"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
)

// The peers of these tests are ours, written from the protocol's text: they prove that both halves
// agree with that text as we read it, and no more.

// toolServer is a tool server that records the calls that reach it. It answers nothing by itself.
type toolServer struct {
	*httptest.Server
	calls   chan map[string]any
	notices chan string
	set     string
	run     http.HandlerFunc // answers calls; nil: 200
}

const someTools = `{"name": "house", "endpoint": "/run", "own": 1, "tools": [
	{"name": "look", "description": "Looks around.", "inputSchema": {}, "annotations": {"readOnly": true}},
	{"name": "note", "description": "Writes a note.", "inputSchema": {}},
	{"name": "wipe", "description": "Deletes everything.\nReally.", "inputSchema": {}, "annotations": {"destructive": true}}]}`

func newToolServer(t *testing.T) *toolServer {
	s := &toolServer{calls: make(chan map[string]any, 100), notices: make(chan string, 100), set: someTools}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/rap-toolset", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w,
			s.set)
	})
	mux.HandleFunc("POST /run", func(w http.ResponseWriter, r *http.Request) {
		var call map[string]any
		json.NewDecoder(r.Body).Decode(&call)
		s.calls <- call
		if s.run != nil {
			s.run(w, r)
		}
	})
	mux.HandleFunc("POST /answered", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.notices <- "answered " + string(body)
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.notices <- r.URL.Path + " " + string(body)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// runtime is a runtime that records what is called back.
type runtime struct {
	*httptest.Server
	got    chan map[string]any
	mu     sync.Mutex
	status int // of its answers; zero: 200
}

func newRuntime(t *testing.T) *runtime {
	r := &runtime{got: make(chan map[string]any, 2000)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		status := r.status
		r.mu.Unlock()
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		var message map[string]any
		json.Unmarshal(body, &message)
		r.got <- message
	}))
	t.Cleanup(r.Close)
	return r
}

// fixture is a Tee between a runtime and a tool server, with a listener.
type fixture struct {
	t       *testing.T
	tools   *toolServer
	runtime *runtime
	tee     *rap.Tee
	url     string
	heard   *bridgetest.Listener
}

// newFixture starts all of them. reply answers what is asked; nil cannot be asked.
func newFixture(t *testing.T, cfg rap.Config, reply func(*bridgetest.Listener, *aaep.Event)) *fixture {
	t.Helper()
	f := &fixture{t: t, tools: newToolServer(t), runtime: newRuntime(t)}
	p := bridgetest.NewProducer(t)
	f.heard = bridgetest.Listen(t, p, reply)
	f.serve(p, cfg)
	return f
}

// serve starts a Tee, which ends with the test.
func (f *fixture) serve(p *producer.Producer, cfg rap.Config) {
	f.t.Helper()
	var handler http.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w,
			r)
	}))
	f.t.Cleanup(front.Close)
	cfg.Toolset, cfg.URL = f.tools.URL, front.URL
	tee, err := rap.New(p, cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { tee.Close() })
	handler, f.tee, f.url = tee, tee, front.URL
}

// post posts JSON and returns the status.
func (f *fixture) post(url, body string) int {
	f.t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// call posts a call of a tool as the runtime does.
func (f *fixture) call(id, tool, arguments string) int {
	f.t.Helper()
	return f.post(f.url+"/invoke", fmt.Sprintf(`{"operation": %q, "arguments": %s, "id": %q, "call_id": "c-%s",
		"callback_url": "%s/back", "group_id": "g", "user_id": null, "unknown": [1]}`, tool, arguments, id, id, f.runtime.URL))
}

// reached waits for a call to reach the tool server, and returns the URL that it answers to.
func (f *fixture) reached(id string) string {
	f.t.Helper()
	call := receive(f.t, f.tools.calls)
	if call["id"] != id || call["unknown"] == nil {
		f.t.Fatalf("the tool server got %v, want the call %s with all its members", call, id)
	}
	return call["callback_url"].(string)
}

// result posts the result of a call as the tool server does.
func (f *fixture) result(back, id, text, more string) int {
	return f.post(back, fmt.Sprintf(`{"type": "tool_result", "group_id": "g", "id": %q, "text": %q%s}`, id, text, more))
}

func receive[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-t.Context().Done():
	case <-time.After(time.Minute):
		t.Fatal("it did not come")
	}
	return v
}

// accept and reject answer each confirmation at once; a choice gets the value "1".
func accept(l *bridgetest.Listener, ev *aaep.Event) { answerWith(l, ev, aaep.Accept) }
func reject(l *bridgetest.Listener, ev *aaep.Event) { answerWith(l, ev, aaep.Reject) }

func answerWith(l *bridgetest.Listener, ev *aaep.Event, decision aaep.Decision) {
	if ev.Type() == aaep.TypeAwaitingConfirmation {
		replies.Send(context.Background(), l.Sub.Question(ev), decision, nil)
	} else {
		l.Sub.Question(ev).AnswerText(context.Background(), "1")
	}
}

// What is not held passes with every member but the URL, and is told with one id from its
// call to its result; the runtime gets the result as the tool posted it.
func TestCallsPass(t *testing.T) {
	f := newFixture(t, rap.Config{}, reject)
	for id, tool := range map[string]string{"1": "look", "2": "note"} {
		if status := f.call(id, tool, `{"at": "the door"}`); status != http.StatusOK {
			t.Fatalf("%s: %d", tool, status)
		}
		back := f.reached(id)
		if !strings.HasPrefix(back, f.url+"/callback/") {
			t.Errorf("the tool answers to %s", back)
		}
		if status := f.result(back, id, "All is well.\nAnd more.",
			`, "call_id": "c-`+id+`", "own": true`); status != http.StatusOK {
			t.Errorf("the result: %d", status)
		}
		got := receive(t, f.runtime.got)
		if got["text"] != "All is well.\nAnd more." || got["call_id"] != "c-"+id || got["own"] != true {
			t.Errorf("the runtime got %v", got)
		}
	}
	heard := f.heard.Await(t, func(heard string, kinds []aaep.Type) bool {
		return strings.Count(heard,
			"All is well.") == 2
	})
	if strings.Contains(heard, "And more") || strings.Contains(heard, "the door") {
		t.Errorf("heard:\n%s", heard)
	}
	// A call that fails says so, and is told as a failure.
	f.call("3", "look", `{}`)
	f.result(f.reached("3"), "3", "Error: no light", "")
	f.heard.AwaitHeard(t, "no light")
	// A call that the agent takes back.
	f.call("4", "note", `{}`)
	f.reached("4")
	f.post(f.url+"/cancel_tool_call", `{"thread_id": "g", "tool_call_id": "4"}`)
	if n := receive(t, f.tools.notices); !strings.Contains(n, `/cancel_tool_call {"thread_id": "g"`) {
		t.Errorf("the tool server got %q", n)
	}
	f.heard.AwaitHeard(t, "The agent took that call back.")
	f.post(f.url+"/close_thread", `{"thread_id": "g"}`)
	f.heard.AwaitEnd(t, 1)
}

// A destructive call, and one of a tool that the toolset does not list, reach the tool
// server once and only after a yes. Anything else is a result that the model understands, with the
// ids of the call; a call that is posted again is not made again.
func TestHeldCalls(t *testing.T) {
	for name, c := range map[string]struct {
		reply func(*bridgetest.Listener, *aaep.Event)
		tool  string
		made  bool
		why   string
	}{
		"yes":       {accept, "wipe", true, ""},
		"no":        {reject, "wipe", false, "Error: the user declined this action; it was not done"},
		"no user":   {nil, "wipe", false, "Error: no user could be asked; the action was not done"},
		"unlisted":  {reject, "burn", false, "Error: the user declined this action; it was not done"},
		"all asked": {reject, "note", false, "Error: the user declined this action; it was not done"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, rap.Config{AskAll: true}, c.reply)
			for range 3 {
				if status := f.call("7", c.tool, `{"path": "/letters/ada", "force": true}`); status != http.StatusOK {
					t.Fatalf("%d", status)
				}
			}
			if c.made {
				back := f.reached("7")
				f.result(back, "7", "Wiped.", "")
				if got := receive(t, f.runtime.got); got["text"] != "Wiped." {
					t.Errorf("the runtime got %v", got)
				}
				f.heard.AwaitHeard(t, "Wiped.")
				f.call("7", c.tool, `{}`)
			} else if got := receive(t, f.runtime.got); got["text"] != c.why || got["id"] != "7" ||
				got["call_id"] != "c-7" ||
				got["group_id"] != "g" || got["type"] != "tool_result" {
				t.Errorf("the runtime got %v, want %q", got, c.why)
			}
			// A call that is not held comes after all that was done for the held one.
			f.call("8", "look", `{}`)
			f.reached("8")
			if n := len(f.tools.calls) + len(f.runtime.got); n != 0 {
				t.Errorf("%d more came", n)
			}
		})
	}
}

// What the user agrees to is told whole: the tool, what it does, and each argument; arguments that
// are too long to be told are refused and not asked about.
func TestHeldCallIsToldWhole(t *testing.T) {
	asked := make(chan *aaep.AwaitingConfirmation, 9)
	f := newFixture(t, rap.Config{}, func(l *bridgetest.Listener, ev *aaep.Event) {
		asked <- ev.Payload.(*aaep.AwaitingConfirmation)
		reject(l, ev)
	})
	f.call("1", "wipe", `{"path": "/letters/ada", "note": "now\u202egnp.exe"}`)
	q := receive(t, asked)
	for _, want := range []string{"/letters/ada", "Deletes everything.", `\u202e`} {
		if !strings.Contains(q.Consequence, want) {
			t.Errorf("%q does not say %q", q.Consequence, want)
		}
	}
	if q.Action != "Use the tool wipe." || !q.IsIrreversible() || q.RiskLevel != aaep.RiskHigh ||
		q.DefaultDecision != aaep.Reject {
		t.Errorf("%+v", q)
	}
	receive(t, f.runtime.got)
	f.call("2", "wipe", `{"path": "`+strings.Repeat("x", 20000)+`"}`)
	if got := receive(t, f.runtime.got); !strings.Contains(got["text"].(string), "too long to be told") {
		t.Errorf("%v", got)
	}
	f.heard.AwaitHeard(t, "It was not done.")
	if len(asked) != 0 {
		t.Error("it is asked about")
	}
}

// A tool server cannot end a call that is held, nor another call than the one whose URL it has; a
// URL that was not given out is refused, and so is one of the other kind.
func TestForgedCallbacks(t *testing.T) {
	open := make(chan *aaep.Event, 1)
	f := newFixture(t, rap.Config{}, func(_ *bridgetest.Listener, ev *aaep.Event) { open <- ev })
	f.call("1", "look", `{}`)
	back := f.reached("1")
	f.call("2", "wipe", `{}`)
	receive(t, open)
	for _, body := range []string{
		`{"type": "tool_result", "group_id": "g", "id": "2", "text": "Wiped."}`,
		`{"type": "subscription_event", "group_id": "g", "tool_call_id": "2", "text": "Wiped."}`,
		`{"type": "tool_result", "group_id": "other", "id": "1", "text": "Wiped."}`,
	} {
		if status := f.post(back, body); status != http.StatusOK {
			t.Errorf("%s: %d", body, status)
		}
	}
	for at, want := range map[string]int{f.url + "/callback/AAAA": 404, strings.Replace(back, "/callback/", "/choice/",
		1): 404, back[:len(back)-2]: 404, f.url + "/nowhere": 404} {
		if status := f.post(at, `{"type": "tool_result", "group_id": "g", "id": "1", "text": "x"}`); status != want {
			t.Errorf("%s: %d, want %d", at, status, want)
		}
	}
	f.result(back, "1", "Seen.", "")
	if got := receive(t, f.runtime.got); got["text"] != "Seen." {
		t.Errorf("the runtime got %v", got)
	}
}

// The events of a subscription are told in the thread's session as one output, or
// in a session of their own; one after the last, or after a cancel, is passed on and not told.
func TestSubscriptions(t *testing.T) {
	f := newFixture(t, rap.Config{}, reject)
	event := func(back, id, text, more string) {
		t.Helper()
		if status := f.post(back, fmt.Sprintf(`{"type": "subscription_event", "group_id": "g", "tool_call_id": %q, "text": %q%s}`, id, text, more)); status != 200 {
			t.Errorf("an event: %d", status)
		}
		receive(t, f.runtime.got)
	}
	subscribe := func(id string) string {
		f.call(id, "look", `{}`)
		back := f.reached(id)
		f.result(back, id, "Subscribed. Subscription ID: s", `, "subscription": true`)
		receive(t, f.runtime.got)
		return back
	}
	back := subscribe("1")
	for i := range 20 {
		event(back, "1", fmt.Sprintf("Line %d.", i), `, "associative": true`)
	}
	event(back, "1", "Exit 0.", `, "associative": true, "final": true`)
	event(back, "1", "Too late.", `, "associative": true`)
	other := subscribe("2")
	for range 3 {
		event(other, "2", `{"action": "opened", "number": 42}`, "")
	}
	event(other, "2", "The end.", `, "final": true`)
	f.heard.AwaitEnd(t, 1)
	third := subscribe("3")
	event(third, "3", "Once.", "")
	f.post(f.url+"/cancel_tool_call", `{"thread_id": "g", "tool_call_id": "3"}`)
	event(third, "3", "Nevermore.", "")
	heard := f.heard.AwaitEnd(t, 2)
	if !strings.Contains(heard, "Line 0.\nLine 1.") || strings.Contains(heard, "Too late") || strings.Contains(heard,
		"Nevermore") ||
		strings.Count(heard, "action is opened, number is 42") != 3 || !strings.Contains(heard, "The end.") {
		t.Errorf("heard:\n%s", heard)
	}
}

// A choice is asked here and at the runtime; the first answer reaches the tool, once. One
// that cannot be put as a choice is told, and left to the runtime.
func TestChoices(t *testing.T) {
	for name, c := range map[string]struct {
		choices []string
		runtime bool // it answers first
		want    string
	}{
		"two":              {[]string{"Yes", "No"}, false, `answered {"id":"1","selected":1}`},
		"three":            {[]string{"a", "b", "c"}, false, `answered {"id":"1","selected":1}`},
		"of one":           {[]string{"Go on"}, true, `answered {"id":"1","selected":0}`},
		"of 40":            {slices.Repeat([]string{"x"}, 40), true, `answered {"id":"1","selected":0}`},
		"runtime is first": {[]string{"Yes", "No"}, true, `answered {"id":"1","selected":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan *aaep.Event, 1)
			f := newFixture(t, rap.Config{}, func(l *bridgetest.Listener, ev *aaep.Event) {
				asked <- ev
				if !c.runtime {
					accept(l, ev)
				}
			})
			f.call("1", "look", `{}`)
			back := f.reached("1")
			choices, _ := json.Marshal(c.choices)
			body := fmt.Sprintf(`{"type": "user_choice", "group_id": "g", "id": "1", "prompt": "Shall we?", "choices": %s, "default": 0,
				"response_url": "%s/answered"}`, choices, f.tools.URL)
			f.post(back, body)
			url := receive(t, f.runtime.got)["response_url"].(string)
			if !strings.HasPrefix(url, f.url+"/choice/") {
				t.Errorf("the runtime answers to %s", url)
			}
			if n := len(c.choices); c.runtime && n >= 2 && n <= 32 {
				receive(t, asked)
			}
			if c.runtime {
				f.post(url, `{"id":"1","selected":0}`)
			}
			if got := receive(t, f.tools.notices); got != c.want {
				t.Errorf("the tool got %q, want %q", got, c.want)
			}
			f.post(url, `{"id":"1","selected":2}`) // it comes second
			f.result(back, "1", "Thanks.", "")
			f.heard.AwaitHeard(t, "Thanks.")
			if len(f.tools.notices) != 0 {
				t.Errorf("the tool got %q besides", <-f.tools.notices)
			}
		})
	}
}

// A Tee that starts again tells the runtime of a call that was held that it was not
// done, and its user of one that was allowed that it may have been done. Neither is made again, and
// the tool server's answer to the second still reaches the runtime.
func TestRestart(t *testing.T) {
	state := filepath.Join(t.TempDir(), "held")
	yes := make(chan *aaep.Event, 1)
	f := newFixture(t, rap.Config{State: state}, func(l *bridgetest.Listener, ev *aaep.Event) {
		if strings.Contains(ev.Payload.(*aaep.AwaitingConfirmation).Consequence, "first") {
			accept(l, ev)
		} else {
			yes <- ev
		}
	})
	f.call("1", "wipe", `{"it": "first"}`)
	back := f.reached("1")
	f.call("2", "wipe", `{"it": "second"}`)
	receive(t, yes)
	killed, err := os.ReadFile(state) // as a kill leaves it
	if err != nil {
		t.Fatal(err)
	}
	f.tee.Close()
	for len(f.runtime.got) > 0 {
		<-f.runtime.got
	}
	if err := os.WriteFile(state, append(killed, `{"pass": {"to"`...), 0o600); err != nil {
		t.Fatal(err)
	}
	p := bridgetest.NewProducer(t)
	f.heard = bridgetest.Listen(t, p, accept)
	f.serve(p, rap.Config{State: state})
	if got := receive(t, f.runtime.got); got["id"] != "2" || !strings.Contains(got["text"].(string), "was not done") {
		t.Errorf("the runtime got %v", got)
	}
	f.heard.AwaitHeard(t, "wipe was allowed. It was not done.")
	f.heard.AwaitHeard(t, "It may have been done, or not.")
	_, path, _ := strings.Cut(back, "/callback/")
	f.result(f.url+"/callback/"+path, "1", "Wiped.", "")
	if got := receive(t, f.runtime.got); got["text"] != "Wiped." {
		t.Errorf("the runtime got %v", got)
	}
	if len(f.tools.calls) != 0 {
		t.Error("a call was made again")
	}
	if err := os.WriteFile(state+"2", []byte("something else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := rap.New(p, rap.Config{Toolset: f.tools.URL, URL: f.url, State: state + "2"}); err == nil ||
		!strings.Contains(err.Error(), state+"2") {
		t.Errorf("a file of something else: %v", err)
	}
}

// A call that the tool server does not take after the yes is a result that says so; one that a
// runtime closes its conversation on is not made.
func TestHeldCallCannotBeMade(t *testing.T) {
	t.Run("the tool server is gone", func(t *testing.T) {
		var f *fixture
		f = newFixture(t, rap.Config{}, func(l *bridgetest.Listener, ev *aaep.Event) {
			f.tools.CloseClientConnections()
			f.tools.Listener.Close()
			accept(l, ev)
		})
		f.call("1", "wipe", `{}`)
		if got := receive(t, f.runtime.got); !strings.Contains(got["text"].(string),
			"did not take the call, and the action was not done") {
			t.Errorf("%v", got)
		}
	})
	for name, c := range map[string]struct {
		answer    http.HandlerFunc // of the tool server to the call
		agent     string
		mayBeDone bool
	}{
		"it refuses": {http.NotFound, "was not done: it answered 404", false},
		"it breaks": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
			"may have been done: it answered 500", true},
		"it breaks off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"may have been done: ", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, rap.Config{}, accept)
			f.tools.run = c.answer
			f.call("1", "wipe", `{}`)
			if got := receive(t, f.runtime.got); !strings.Contains(got["text"].(string), c.agent) {
				t.Errorf("%v", got)
			}
			f.call("2", "look", `{}`) // told after what came of the first
			f.post(f.url+"/close_thread", `{"thread_id": "g"}`)
			const unknown = "wipe may have been done, or not: what came of it is not known."
			if heard := f.heard.AwaitEnd(t, 1); strings.Contains(heard, unknown) != c.mayBeDone {
				t.Errorf("heard:\n%s", heard)
			}
		})
	}
	for _, notice := range []string{"/close_thread", "/cancel_tool_call"} {
		t.Run(notice, func(t *testing.T) {
			asked := make(chan *aaep.Event, 1)
			f := newFixture(t, rap.Config{}, func(_ *bridgetest.Listener, ev *aaep.Event) { asked <- ev })
			f.call("1", "wipe", `{}`)
			ev := receive(t, asked)
			f.post(f.url+notice, `{"thread_id": "g", "tool_call_id": "1"}`)
			if got := receive(t, f.runtime.got); !strings.Contains(got["text"].(string), "taken back") {
				t.Errorf("%v", got)
			}
			accept(f.heard, ev) // it is too late
			f.call("2", "look", `{}`)
			f.reached("2")
		})
	}
}

// An id that a held call had is not taken for that call when another comes with it: the runtime is
// told, and the call reaches no tool.
func TestIDOfAnotherCall(t *testing.T) {
	f := newFixture(t, rap.Config{}, reject)
	f.call("1", "wipe", `{"path": "a"}`)
	if got := receive(t, f.runtime.got); got["id"] != "1" {
		t.Fatal(got)
	}
	for _, c := range []struct {
		tool, arguments string
		want            int
	}{{"wipe", `{"path": "a"}`, 200}, {"wipe", `{"path": "b"}`, 409}, {"look", `{"path": "a"}`, 409}} {
		if status := f.call("1", c.tool, c.arguments); status != c.want {
			t.Errorf("%s %s: %d, want %d", c.tool, c.arguments, status, c.want)
		}
	}
	f.call("2", "look", `{}`)
	f.reached("2")
	if n := len(f.tools.calls) + len(f.runtime.got); n != 0 {
		t.Errorf("%d more came", n)
	}
}

// Where nothing can be told any more, what is held is refused, and what is not held passes.
func TestNothingCanBeTold(t *testing.T) {
	p := bridgetest.NewProducer(t)
	f := &fixture{t: t, tools: newToolServer(t), runtime: newRuntime(t)}
	f.serve(p, rap.Config{})
	p.Shutdown(t.Context())
	f.call("1", "look", `{}`)
	back := f.reached("1")
	f.result(back, "1", "Seen.", "")
	if got := receive(t, f.runtime.got); got["text"] != "Seen." {
		t.Errorf("the runtime got %v", got)
	}
	f.call("2", "wipe", `{}`)
	if got := receive(t, f.runtime.got); got["id"] != "2" || !strings.Contains(got["text"].(string),
		"the action was not done") {
		t.Errorf("the runtime got %v", got)
	}
	if len(f.tools.calls) != 0 {
		t.Error("the held call was made")
	}
}

// A result of 50 MB and one with images reach the runtime to the byte, and a few words of them are
// told.
func TestLargeResults(t *testing.T) {
	f := newFixture(t, rap.Config{}, reject)
	size := 50 << 20
	if testing.Short() {
		size = 5 << 20
	}
	for id, text := range map[string]string{
		"1": `"text": "Big.\n` + strings.Repeat("x", size) + `"`,
		"2": `"content": [{"type": "text", "text": "Two views."}, {"type": "image", "data": "` +
			strings.Repeat("A", 1<<20) + `"}]`,
	} {
		f.call(id, "look", `{}`)
		back := f.reached(id)
		if status := f.post(back, fmt.Sprintf(`{"type": "tool_result", "group_id": "g", "id": %q, %s}`, id,
			text)); status != 200 {
			t.Errorf("%s: %d", id, status)
		}
		got, _ := json.Marshal(receive(t, f.runtime.got))
		if len(got) < len(text) {
			t.Errorf("%s: the runtime got %d bytes of %d", id, len(got), len(text))
		}
	}
	f.post(f.url+"/close_thread", `{"thread_id": "g"}`)
	heard := f.heard.AwaitEnd(t, 1)
	if !strings.Contains(heard, "Big.") || !strings.Contains(heard, "Two views.") || len(heard) > 1000 {
		t.Errorf("heard %d bytes: %.500s", len(heard), heard)
	}
}

// What is none of the protocol is refused with the reason, and reaches neither side.
func TestBadMessages(t *testing.T) {
	f := newFixture(t, rap.Config{}, reject)
	f.call("1", "look", `{}`)
	back := f.reached("1")
	call := func(change, to string) string {
		return strings.Replace(fmt.Sprintf(`{"operation": "look", "arguments": {}, "id": "9", "callback_url": "%s", "group_id": "g"}`, f.runtime.URL), change, to, 1)
	}
	for name, c := range map[string]struct {
		at, body string
		want     int
	}{
		"no JSON":             {f.url + "/invoke", "{", 400},
		"twice":               {f.url + "/invoke", call(`"id"`, `"id": "8", "id"`), 400},
		"another case":        {f.url + "/invoke", call(`"id"`, `"Operation": "wipe", "id"`), 400},
		"a member with a NUL": {f.url + "/invoke", call(`"id"`, `"operation\u0000": "wipe", "id"`), 400},
		"no id":               {f.url + "/invoke", call(`"id": "9"`, `"id": ""`), 400},
		"a reserved name":     {f.url + "/invoke", call("look", "receive_event__injected"), 400},
		"metadata":            {f.url + "/invoke", call(f.runtime.URL, "http://169.254.169.254/latest"), 400},
		"a file":              {f.url + "/invoke", call(f.runtime.URL, "file:///etc/passwd"), 400},
		"too long":            {f.url + "/invoke", call("look", strings.Repeat("x", 1<<20)), 413},
		"too deep": {f.url + "/invoke", call("{}", strings.Repeat("[", 5000)+strings.Repeat("]", 5000)),
			400},
		"a callback":           {back, "[]", 400},
		"a choice of metadata": {back, `{"type": "user_choice", "group_id": "g", "id": "1", "choices": ["a", "b"], "response_url": "http://10.0.0.1/"}`, 400},
		"a notice":             {f.url + "/close_thread", "{}", 400},
	} {
		if status := f.post(c.at, c.body); status != c.want {
			t.Errorf("%s: %d, want %d", name, status, c.want)
		}
	}
	if n := len(f.tools.calls) + len(f.runtime.got); n != 0 {
		t.Errorf("%d messages were passed on", n)
	}
	resp, err := http.Get(f.url + "/invoke")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", resp.StatusCode)
	}
}

// The toolset is the tool server's but for its endpoint; one that sends its calls elsewhere, or has
// a tool twice, is refused.
func TestToolset(t *testing.T) {
	f := newFixture(t, rap.Config{}, reject)
	get := func() (int, string) {
		resp, err := http.Get(f.url + "/.well-known/rap-toolset")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if status, body := get(); status != 200 || body != strings.Replace(someTools, `"/run"`, `"`+f.url+`/invoke"`, 1) {
		t.Errorf("%d %s", status, body)
	}
	for _, bad := range []string{strings.Replace(someTools, "/run", "http://elsewhere.example/run", 1),
		strings.Replace(someTools, "note", "look", 1), `{"endpoint": "/run", "tools": []}`, "no"} {
		f.tools.set = bad
		if status, body := get(); status != http.StatusBadGateway {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
}

// A flood of events reaches the runtime whole, while a slow listener's rate is kept.
func TestFlood(t *testing.T) {
	p := bridgetest.NewProducer(t)
	f := &fixture{t: t, tools: newToolServer(t), runtime: newRuntime(t)}
	f.heard = bridgetest.Listen(t, p, reject)
	f.serve(p, rap.Config{})
	f.call("1", "look", `{}`)
	back := f.reached("1")
	f.result(back, "1", "Subscribed.", `, "subscription": true`)
	receive(t, f.runtime.got)
	const events = 1000
	for i := range events {
		f.post(back, fmt.Sprintf(`{"type": "subscription_event", "group_id": "g", "tool_call_id": "1", "associative": true, "text": "Event %d."}`, i))
	}
	for i := range events {
		if got := receive(t, f.runtime.got); got["text"] != fmt.Sprintf("Event %d.", i) {
			t.Fatalf("event %d is %v", i, got)
		}
	}
	f.heard.AwaitHeard(t, fmt.Sprintf("Event %d.", events-1))
}

// BenchmarkPass is what a call that is not held takes through the Tee, beside the call itself.
func BenchmarkPass(b *testing.B) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Shutdown(b.Context())
	tools := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			io.WriteString(w, someTools)
		}
		io.Copy(io.Discard, r.Body)
	}))
	defer tools.Close()
	var handler http.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w,
			r)
	}))
	defer front.Close()
	tee, err := rap.New(p, rap.Config{Toolset: tools.URL, URL: front.URL})
	if err != nil {
		b.Fatal(err)
	}
	defer tee.Close()
	handler = tee
	for name, to := range map[string]string{"straight": tools.URL + "/run", "tee": front.URL + "/invoke"} {
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				body := fmt.Sprintf(`{"operation": "look", "arguments": {}, "id": "%s-%d", "callback_url": "%s", "group_id": "g"}`, name, i, tools.URL)
				resp, err := http.Post(to, "application/json", bytes.NewReader([]byte(body)))
				if err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}
