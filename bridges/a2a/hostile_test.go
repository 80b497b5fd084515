package a2a_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/producer"
)

// A scripted agent answers requests as its functions say. It knows only the wire, which was taken
// from the library of the protocol's authors.
type scripted struct {
	card    string
	streams func(method string, params map[string]any, send func(result string)) // streams; returns to end it
	// what GetTask answers; empty is not found
	task func() string

	mu       sync.Mutex
	requests []string // methods, and the text of messages
}

const plainCard = `{"name":"Archive","capabilities":{"streaming":true,"pushNotifications":true},
	"supportedInterfaces":[{"url":"http://archive.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Write([]byte(s.card))
		return
	}
	var m struct {
		Method string
		Params map[string]any
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		panic(err)
	}
	note := m.Method
	if msg, ok := m.Params["message"].(map[string]any); ok {
		note += " " + msg["parts"].([]any)[0].(map[string]any)["text"].(string)
	}
	s.mu.Lock()
	s.requests = append(s.requests, note)
	s.mu.Unlock()
	switch m.Method {
	case "SendStreamingMessage", "SubscribeToTask":
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		s.streams(m.Method, m.Params, func(result string) {
			if result == "cut" {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,%q:%s}\n\n", memberOf(result), result)
			w.(http.Flusher).Flush()
		})
	case "GetTask":
		if now := s.task(); now != "" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,%q:%s}`, memberOf(now), now)
			return
		}
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Task not found"}}`)
	default:
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`)
	}
}

// memberOf returns the member of an answer that holds a result, or an error.
func memberOf(result string) string {
	if strings.HasPrefix(result, `{"code":`) {
		return "error"
	}
	return "result"
}

func (s *scripted) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.requests, ", ")
}

// inTime runs a test in virtual time, with a client whose network holds the scripted agent.
func inTime(t *testing.T, s *scripted, test func(t *testing.T, transport http.RoundTripper)) {
	if s.card == "" {
		s.card = plainCard
	}
	synctest.Test(t, func(t *testing.T) {
		network := memnet.Listen()
		server := &http.Server{Handler: s}
		served := make(chan struct{})
		go func() { defer close(served); server.Serve(network) }()
		transport := &http.Transport{DialContext: network.Dial}
		test(t, transport)
		transport.CloseIdleConnections()
		server.Close()
		<-served
	})
}

func taskOf(state, message, more string) string {
	return fmt.Sprintf(`{"task":%s}`, bare(state, message, more))
}

func bare(state, message, more string) string {
	return fmt.Sprintf(`{"id":"t1","contextId":"c1","status":%s%s}`, statusOf(state, message), more)
}

func statusOf(state, message string) string {
	if message == "" {
		return fmt.Sprintf(`{"state":"TASK_STATE_%s"}`, state)
	}
	value, _ := json.Marshal(message)
	return fmt.Sprintf(`{"state":"TASK_STATE_%s","message":{"messageId":%s,"role":"ROLE_AGENT","parts":[{"text":%s}]}}`, state, value, value)
}

func updateOf(state, message string) string {
	return fmt.Sprintf(`{"statusUpdate":{"taskId":"t1","contextId":"c1","status":%s}}`, statusOf(state, message))
}

func chunkOf(id, text string, appended, last bool) string {
	value, _ := json.Marshal(text)
	return fmt.Sprintf(`{"artifactUpdate":{"taskId":"t1","artifact":{"artifactId":%q,"name":%q,"parts":[{"text":%s}]},"append":%v,"lastChunk":%v}}`,
		id, id, value, appended, last)
}

// follow sends a message to a scripted agent and returns all that was heard until the task was
// over, and its error.
func follow(t *testing.T, transport http.RoundTripper, cfg a2a.Config, reply func(*bridgetest.Listener,
	*aaep.Event)) (string, error) {
	agent, err := a2a.DialOver(t.Context(), "http://archive.example", cfg, transport)
	if err != nil {
		t.Fatal(err)
	}
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "archive"}, ShortTimeouts: true,
		FromStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	l := bridgetest.Listen(t, p, reply)
	defer l.Sub.Close()
	task, err := agent.Send(t.Context(), p, "go")
	if err != nil {
		t.Fatal(err)
	}
	err = task.Wait()
	return strings.TrimPrefix(l.AwaitEnd(t, 1), "go\n"), err
}

// What an agent sends twice, late, out of order or of another task is told once and as what it is.
func TestStreamsThatLie(t *testing.T) {
	began := taskOf("SUBMITTED", "", "")
	tests := []struct {
		name    string
		updates []string
		heard   string
	}{
		{"an artifact whose beginning is missing", []string{began, chunkOf("r", "the end.", true, true),
			updateOf("COMPLETED", "Done.")},
			"The beginning of the result r was not received.\nr: the end.\nDone."},
		{"an artifact that is sent again as a whole", []string{began, chunkOf("r", "One. ", false, false),
			chunkOf("r", "One. Two.", false, true), updateOf("COMPLETED", "Done.")},
			"r: One. Two.\nDone."},
		{"an artifact that is replaced", []string{began, chunkOf("r", "One.", false, true), chunkOf("r", "Other.",
			false, true), updateOf("COMPLETED", "Done.")},
			"r: One.\nThe result r was replaced.\nr: Other.\nDone."},
		{"an artifact that goes on after its last chunk", []string{began, chunkOf("r", "One.", false, true),
			chunkOf("r", " Two.", true, true), updateOf("COMPLETED", "Done.")},
			"r: One.\n Two.\nDone."},
		{"a status that is repeated", []string{began, updateOf("WORKING", "Reading."), updateOf("WORKING", "Reading."),
			updateOf("COMPLETED", "Done.")},
			"Reading.\nDone."},
		{"a task that ends twice", []string{began, updateOf("COMPLETED", "Done."), updateOf("FAILED", "No.")},
			"Done."},
		{"an update of another task", []string{began, strings.Replace(updateOf("FAILED", "No."), "t1", "t2", 1),
			updateOf("COMPLETED", "Done.")},
			"Done."},
		{"a state that is not known", []string{began, updateOf("DREAMING", ""), updateOf("COMPLETED", "Done.")},
			"The task is in a state that is not known here, TASK_STATE_DREAMING.\nDone."},
		{"text that could deceive", []string{began, updateOf("WORKING", "a\x1b[2Jb\u202ec"), updateOf("COMPLETED",
			"Done.")},
			"a<U+001B>[2Jb<U+202E>c.\nDone."},
		{"an update that cannot be read", []string{began, chunkOf("r", "One. ", false, false),
			`{"artifactUpdate":{"taskId":7}}`, updateOf("COMPLETED", "Done.")},
			"r: One. \nThe agent sent something that cannot be read. It is asked for the task as a whole.\nTwo.\nDone."},
		{"half a surrogate", []string{began, strings.Replace(updateOf("COMPLETED", "Done X."), "Done X", `Done \ud800`,
			2)},
			"Done \ufffd."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			whole := func() string {
				return bare("COMPLETED", "Done.", `,"artifacts":[{"artifactId":"r","name":"r","parts":[{"text":"One. Two."}]}]`)
			}
			s := &scripted{task: whole, streams: func(_ string, _ map[string]any, send func(string)) {
				for _, u := range test.updates {
					send(u)
				}
			}}
			inTime(t, s, func(t *testing.T, transport http.RoundTripper) {
				heard, err := follow(t, transport, a2a.Config{}, nil)
				if err != nil || heard != test.heard {
					t.Errorf("heard %q, %v; want %q", heard, err, test.heard)
				}
			})
		})
	}
}

// That a task has more results than are told is told, once.
func TestTooManyArtifacts(t *testing.T) {
	s := &scripted{streams: func(_ string, _ map[string]any, send func(string)) {
		send(taskOf("SUBMITTED", "", ""))
		for i := range 1030 {
			send(chunkOf(fmt.Sprint("r", i), "x", false, true))
		}
		send(updateOf("COMPLETED", "Done."))
	}}
	inTime(t, s, func(t *testing.T, transport http.RoundTripper) {
		heard, err := follow(t, transport, a2a.Config{}, nil)
		if err != nil || !strings.HasSuffix(heard,
			"r1023: x\nThe task has more than 1,024 results. The others are not told.\nDone.") {
			t.Errorf("heard …%q, %v", heard[max(0, len(heard)-200):], err)
		}
	})
}

// A stream that is cut in the middle of a result is taken up again, whether or not the new stream
// begins with the task, and each word is told once.
func TestCutStreams(t *testing.T) {
	for _, withTask := range []bool{true, false} {
		whole := bare("WORKING", "", `,"artifacts":[{"artifactId":"r","name":"r","parts":[{"text":"One. "},{"text":"Two. "}]}]`)
		var mu sync.Mutex
		s := &scripted{task: func() string { mu.Lock(); defer mu.Unlock(); return whole }}
		s.streams = func(method string, _ map[string]any, send func(string)) {
			if method == "SendStreamingMessage" {
				send(taskOf("WORKING", "", ""))
				send(chunkOf("r", "One. ", false, false))
				send("cut")
			}
			mu.Lock()
			now := whole
			whole = bare("COMPLETED", "Done.", `,"artifacts":[{"artifactId":"r","name":"r","parts":[{"text":"One. "},{"text":"Two. "},{"text":"Three."}]}]`)
			mu.Unlock()
			if withTask {
				send(`{"task":` + now + `}`)
			}
			send(chunkOf("r", "Three.", true, true))
			send(updateOf("COMPLETED", "Done."))
		}
		inTime(t, s, func(t *testing.T, transport http.RoundTripper) {
			heard, err := follow(t, transport, a2a.Config{}, nil)
			const want = "r: One. \nThe link to the agent was cut; it is tried again.\nTwo. Three.\nDone."
			if err != nil || heard != want {
				t.Errorf("with the task %v: heard %q, %v; want %q", withTask, heard, err, want)
			}
		})
	}
}

// An agent that has no method to take up a stream that was cut is asked for the task, which is
// told; one that has no method for that either is told to have left its answer unfinished.
func TestCutStreamThatCannotBeTakenUp(t *testing.T) {
	const noMethod = `{"code":-32601,"message":"no such method"}`
	const half, rest = `,"artifacts":[{"artifactId":"r","name":"r","parts":[{"text":"One. "}]}]`,
		`,"artifacts":[{"artifactId":"r","name":"r","parts":[{"text":"One. "},{"text":"Two."}]}]`
	for name, c := range map[string]struct {
		task []string // what GetTask answers, one after the other
		want string
		ok   bool
	}{
		"asked for": {[]string{bare("WORKING", "", half), bare("WORKING", "", half), bare("WORKING", "", half),
			bare("COMPLETED", "Done.", rest)},
			"r: One. \nThe agent cannot go on where its answer was cut off. It is asked for the rest until the task ends.\nTwo.\nDone.", true},
		"nothing to ask": {[]string{noMethod}, "r: One. \nThe agent does not say how the task goes on: ", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{}
			s.task = func() string {
				now := c.task[0]
				c.task = c.task[min(1, len(c.task)-1):]
				return now
			}
			s.streams = func(method string, _ map[string]any, send func(string)) {
				if method != "SendStreamingMessage" {
					send(noMethod)
					return
				}
				send(taskOf("WORKING", "", ""))
				send(chunkOf("r", "One. ", false, false))
			}
			inTime(t, s, func(t *testing.T, transport http.RoundTripper) {
				heard, err := follow(t, transport, a2a.Config{}, nil)
				if (err == nil) != c.ok || !strings.HasPrefix(heard, c.want) {
					t.Errorf("heard %q, %v; want %q", heard, err, c.want)
				}
				if n := strings.Count(s.asked(), "SubscribeToTask"); n > 1 {
					t.Errorf("the agent was asked %d times to take up the stream", n)
				}
			})
		})
	}
}

// An agent that goes away in the middle is told of at once, tried for ten minutes, and then given
// up.
func TestAgentThatGoesAway(t *testing.T) {
	s := &scripted{task: func() string { panic(http.ErrAbortHandler) }}
	s.streams = func(_ string, _ map[string]any, send func(string)) {
		send(taskOf("WORKING", "", ""))
		send("cut")
	}
	inTime(t, s, func(t *testing.T, transport http.RoundTripper) {
		began := time.Now()
		heard, err := follow(t, transport, a2a.Config{}, nil)
		if took := time.Since(began); took < 10*time.Minute || took > 12*time.Minute {
			t.Errorf("given up after %v", took)
		}
		if err == nil || !strings.HasPrefix(heard,
			"The link to the agent was cut; it is tried again.\nThe agent has not answered for 10m0s") {
			t.Errorf("heard %q, %v", heard, err)
		}
		if n := strings.Count(s.asked(), "GetTask"); n > 20 {
			t.Errorf("the agent was asked %d times", n)
		}
	})
}

// Silence sends nothing to the agent; a question that is answered elsewhere is withdrawn; an answer
// whose delivery is cut is sent again; and one that the agent refuses is told.
func TestAnswers(t *testing.T) {
	say := func(l *bridgetest.Listener, ev *aaep.Event) {
		l.Sub.Question(ev).AnswerText(context.Background(), "May")
	}
	tests := []struct {
		name      string
		reply     func(*bridgetest.Listener, *aaep.Event)
		again     func(n int, send func(string)) // streams the answer to the n-th answer
		elsewhere bool
		heard     string
		sent      int
	}{
		{"silence", func(*bridgetest.Listener, *aaep.Event) {}, nil, false,
			"Archive asks: Which month?\nThe time to answer is almost over. Time left: about 25 seconds.\nNo answer came, and none was sent. The task waits at the agent.", 0},
		{"elsewhere", func(*bridgetest.Listener, *aaep.Event) {}, nil, true,
			"Archive asks: Which month?\nDone elsewhere.", 0},
		{"answered", say, func(_ int, send func(string)) { send(updateOf("COMPLETED", "Done.")) }, false,
			"Archive asks: Which month?\nDone.", 1},
		{"cut", say, func(n int, send func(string)) {
			if n == 1 {
				send("cut")
			}
			send(updateOf("COMPLETED", "Done."))
		}, false, "Archive asks: Which month?\nThe link to the agent was cut; it is tried again.\nDone.", 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			began, answers := time.Time{}, 0
			s := &scripted{task: func() string {
				if test.elsewhere && time.Since(began) > 20*time.Second {
					return bare("COMPLETED", "Done elsewhere.", "")
				}
				return bare("INPUT_REQUIRED", "Which month?", "")
			}}
			s.streams = func(_ string, params map[string]any, send func(string)) {
				if m := params["message"].(map[string]any); m["taskId"] == nil {
					began = time.Now()
					send(taskOf("SUBMITTED", "", ""))
					send(updateOf("INPUT_REQUIRED", "Which month?"))
					return
				}
				answers++
				test.again(answers, send)
			}
			inTime(t, s, func(t *testing.T, transport http.RoundTripper) {
				heard, err := follow(t, transport, a2a.Config{AnswerTime: time.Minute}, test.reply)
				if n := strings.Count(s.asked(), "SendStreamingMessage May"); heard != test.heard || n != test.sent {
					t.Errorf("heard %q, %v and sent the answer %d times; want %q and %d", heard, err, n, test.heard,
						test.sent)
				}
			})
		})
	}
}

// A card that names another host, one that redirects, one without an end and one of another
// protocol are refused, each with what would be right.
func TestCardsThatLie(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		t.Error("another host was asked")
	}))
	defer elsewhere.Close()
	const card = `{"name":"x","supportedInterfaces":[{"url":%q,"protocolBinding":%q,"protocolVersion":"1.0"}]}`
	tests := []struct {
		name, err string
		serve     http.HandlerFunc
	}{
		{"another host", "of another host; give it as the endpoint if it is right", func(w http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprintf(w, card, elsewhere.URL, "JSONRPC")
		}},
		{"a redirect", "which is not followed", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		}},
		{"another binding", "the agent offers only GRPC 1.0; JSONRPC 1.0 or 0.3, or HTTP+JSON 1.0 is needed", func(w http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprintf(w, card, elsewhere.URL, "GRPC")
		}},
		{"too long", "more than 256 KiB", func(w http.ResponseWriter, _ *http.Request) {
			for range 300 {
				w.Write(make([]byte, 1024))
			}
		}},
		{"no card", "it answers 404 Not Found", http.NotFound},
		{"no JSON", "cannot be read as a card", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w,
				"<html>")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(test.serve)
			defer server.Close()
			_, err := a2a.Dial(t.Context(), server.URL, a2a.Config{Token: "secret"})
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// A push notification counts only with the token of its task, and tells nothing by itself: what is
// told is what the agent answers.
func TestForgedPushes(t *testing.T) {
	token := make(chan string, 1)
	s := &scripted{task: func() string { return bare("COMPLETED", "Really done.", "") }}
	s.streams = func(method string, params map[string]any, send func(string)) {
		if method == "SendStreamingMessage" {
			config := params["configuration"].(map[string]any)["taskPushNotificationConfig"].(map[string]any)
			token <- config["token"].(string)
		}
		send(taskOf("WORKING", "Reading.", ""))
		select {} // a stream on which nothing comes any more
	}
	s.card = plainCard
	server := httptest.NewServer(s)
	defer server.CloseClientConnections()
	agent, err := a2a.Dial(t.Context(), server.URL, a2a.Config{PushURL: "http://127.0.0.1:1/", Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	p := bridgetest.NewProducer(t)
	l := bridgetest.Listen(t, p, nil)
	task, err := agent.Send(t.Context(), p, "go")
	if err != nil {
		t.Fatal(err)
	}
	right := <-token
	l.AwaitHeard(t, "Reading.")
	post := func(method, token, body string) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, "/", strings.NewReader(body))
		r.Header.Set("X-A2A-Notification-Token", token)
		agent.ServeHTTP(w, r)
		return w.Code
	}
	forged := updateOf("FAILED", "Forged.")
	for i, got := range []int{post("GET", right, ""), post("POST", "", forged), post("POST", right+"x", forged),
		post("POST", right, "{"),
		post("POST", right, strings.Repeat(" ", 300<<10)), post("POST", right, strings.Replace(forged, "t1", "t2", 1)),
		post("POST", right, forged), post("POST", right, forged)} {
		if want := []int{405, 401, 401, 400, 413, 409, 202, 202}[i]; got != want {
			t.Errorf("push %d is answered with %d, want %d", i, got, want)
		}
	}
	if err := task.Wait(); err != nil {
		t.Error(err)
	}
	if heard := l.AwaitEnd(t, 1); strings.Contains(heard, "Forged") || !strings.HasSuffix(heard, "Really done.") {
		t.Errorf("heard %s", heard)
	}
	if post("POST", right, forged) != 401 {
		t.Error("the token outlives its task")
	}
}
