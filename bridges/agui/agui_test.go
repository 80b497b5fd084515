package agui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/agui"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/replies"
)

const (
	started = `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}` + "\n\n"
	says    = `data: {"type":"TEXT_MESSAGE_START","messageId":"m"}` + "\n\n" +
		`data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello."}` + "\n\n" +
		`data: {"type":"TEXT_MESSAGE_END","messageId":"m"}` + "\n\n"
	finished  = `data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}` + "\n\n"
	interrupt = `data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt",` +
		`"interrupts":[{"id":"i","reason":"confirmation","message":"Pay $5?"}]}}` + "\n\n"
)

// serve starts an agent that answers as answer does, which is told whether the request resumes a
// run, and a proxy before it.
func serve(t *testing.T, answer func(w io.Writer, resumes bool), reply func(*bridgetest.Listener, *aaep.Event)) (
	at string, l *bridgetest.Listener) {
	t.Helper()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Resume []any }
		json.NewDecoder(r.Body).Decode(&in)
		w.Header().Set("Content-Type", "text/event-stream")
		answer(w, in.Resume != nil)
	}))
	t.Cleanup(agent.Close)
	upstream, _ := url.Parse(agent.URL)
	p := bridgetest.NewProducer(t)
	l = bridgetest.Listen(t, p, reply)
	proxy := httptest.NewServer(agui.Proxy(p, upstream, agui.Config{}))
	t.Cleanup(proxy.Close)
	return proxy.URL, l
}

// startRun sends a request that starts a run.
func startRun(t *testing.T, ctx context.Context, at string) *http.Response {
	t.Helper()
	const input = `{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[],"state":{},"forwardedProps":{}}`
	r, _ := http.NewRequestWithContext(ctx, "POST", at, strings.NewReader(input))
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func accept(l *bridgetest.Listener, ev *aaep.Event) {
	l.Sub.Question(ev).Accept(context.Background())
}

// What an agent sends reaches the app with every byte, whatever it is, and what is no event breaks
// nothing.
func TestBytes(t *testing.T) {
	odd := ": a comment\n\nevent: x\r\nid: 1\r\n" + `data: {"type":"CUSTOM","name":"a","value":1}` + "\r\n\r\n" +
		`data: {"type":"TEXT_MESS` + "\n\n" +
		"data: null\n\ndata: {\"type\":1}\n\ndata\n\n" + `data: {"type":"RAW","event":"` + strings.Repeat("x", 9<<20) + "\"}\n\n" +
		`data: {"type":"STATE_DELTA","delta":[{"op":"remove","path":"/none"}]}` + "\n\n" +
		`data: {"type":"TOOL_CALL_RESULT","messageId":"q","toolCallId":"unknown","content":"x"}` + "\n\n"
	sent := started + odd + says + finished + "data: after"
	at, l := serve(t, func(w io.Writer, _ bool) { io.WriteString(w, sent) }, nil)
	got, err := io.ReadAll(startRun(t, t.Context(), at).Body)
	if err != nil || string(got) != sent {
		t.Errorf("the app got %d bytes, %v, want %d", len(got), err, len(sent))
	}
	if heard, want := l.AwaitEnd(t, 1), "Hello."; !strings.Contains(heard, want) || !strings.Contains(heard, "The agent finished.") {
		t.Errorf("heard %q", heard)
	}
}

// A call whose result never came is told as one of which it is not known how it ended, whether its
// run ended well or not.
func TestCallWithoutResult(t *testing.T) {
	const call = `data: {"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"look_up"}` + "\n\n" +
		`data: {"type":"TOOL_CALL_END","toolCallId":"c"}` + "\n\n"
	for name, end := range map[string]string{"finished": finished, "broken off": says} {
		t.Run(name, func(t *testing.T) {
			at, l := serve(t, func(w io.Writer, _ bool) { io.WriteString(w, started+call+says+end) }, nil)
			resp := startRun(t, t.Context(), at)
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			if heard := l.AwaitEnd(t, 1); !strings.Contains(heard, "may have been done: how it ended is not known.") ||
				strings.Contains(heard, "up finished") || strings.Contains(heard, "up failed") {
				t.Errorf("heard %q", heard)
			}
		})
	}
}

// Two runs at once, of one app, are two sessions, and what follows an error is no part of one.
func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct{ sent, heard string }{
		"the agent's": {started + `data: {"type":"RUN_ERROR","message":"No money."}` + "\n\n" + says, "The agent reports an error: No money."},
		"cut":         {started + says, "The agent broke off before its end."},
		"empty":       {"", "The agent broke off before its end."},
	} {
		t.Run(name, func(t *testing.T) {
			at, l := serve(t, func(w io.Writer, _ bool) { io.WriteString(w, tt.sent) }, nil)
			first, second := startRun(t, t.Context(), at), startRun(t, t.Context(), at)
			for _, resp := range []*http.Response{first, second} {
				if got, err := io.ReadAll(resp.Body); err != nil || string(got) != tt.sent {
					t.Errorf("the app got %q, %v", got, err)
				}
			}
			if heard := l.AwaitEnd(t, 2); strings.Count(heard, tt.heard) != 2 {
				t.Errorf("heard %q", heard)
			}
		})
	}
}

// A link to the agent that breaks, breaks for the app.
func TestBrokenLink(t *testing.T) {
	at, l := serve(t, func(w io.Writer, _ bool) {
		io.WriteString(w, started)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}, nil)
	if got, err := io.ReadAll(startRun(t, t.Context(), at).Body); err == nil || string(got) != started {
		t.Errorf("the app got %q, %v", got, err)
	}
	if heard := l.AwaitEnd(t, 1); !strings.Contains(heard, "The agent broke off before its end.") {
		t.Errorf("heard %q", heard)
	}
}

// An app that goes away while the person is asked takes the question with it: nothing is resumed.
func TestAppLeaves(t *testing.T) {
	var resumed atomic.Int32
	ctx, leave := context.WithCancel(t.Context())
	asked := make(chan struct{})
	at, l := serve(t, func(w io.Writer, resumes bool) {
		if resumes {
			resumed.Add(1)
		}
		io.WriteString(w, started+interrupt)
	}, func(*bridgetest.Listener, *aaep.Event) { close(asked) })
	resp := startRun(t, ctx, at)
	<-asked
	leave()
	io.ReadAll(resp.Body)
	l.AwaitEnd(t, 1)
	if n := resumed.Load(); n != 0 {
		t.Errorf("the run was resumed %d times", n)
	}
}

// A run is resumed once after one yes, also where the agent then fails.
func TestResumeFails(t *testing.T) {
	var resumed atomic.Int32
	at, l := serve(t, func(w io.Writer, resumes bool) {
		if !resumes {
			io.WriteString(w, started+interrupt)
			return
		}
		resumed.Add(1)
		w.(http.ResponseWriter).WriteHeader(http.StatusServiceUnavailable)
	}, accept)
	got, err := io.ReadAll(startRun(t, t.Context(), at).Body)
	want := started + `data: {"message":"The agent could not go on after the answer.","type":"RUN_ERROR"}` + "\n\n"
	if err != nil || len(got) != len(want) || !bytes.HasPrefix(got, []byte(started)) {
		t.Errorf("the app got %q, %v", got, err)
	}
	if heard := l.AwaitEnd(t, 1); resumed.Load() != 1 || !strings.Contains(heard, "The agent could not go on after the answer.") {
		t.Errorf("resumed %d times, heard %q", resumed.Load(), heard)
	}
}

// An agent may ask again, and is answered each time; an interrupt that has expired is the app's.
func TestInterrupts(t *testing.T) {
	n := 0
	at, l := serve(t, func(w io.Writer, _ bool) {
		if n++; n <= 2 {
			io.WriteString(w, started+strings.Replace(interrupt, "$5", fmt.Sprintf("$%d", n), 1))
			return
		}
		expires := `"id":"i","expiresAt":"` + time.Now().Format(time.RFC3339) + `"`
		io.WriteString(w, started+strings.Replace(interrupt, `"id":"i"`, expires, 1))
	}, accept)
	got, _ := io.ReadAll(startRun(t, t.Context(), at).Body)
	if s := string(got); strings.Count(s, "RUN_STARTED") != 1 || strings.Count(s, "RUN_FINISHED") != 1 ||
		!strings.Contains(s, `"runId":"r"`) || !strings.Contains(s, "expiresAt") {
		t.Errorf("the app got %s", s)
	}
	if heard := l.AwaitEnd(t, 1); n != 3 || !strings.Contains(heard, "Pay $1?") || !strings.Contains(heard, "Pay $2?") {
		t.Errorf("%d runs, heard %q", n, heard)
	}
}

// A yes to an answer that is one boolean is that boolean, and a no too.
func TestBoolean(t *testing.T) {
	for decision, want := range map[aaep.Decision]string{
		aaep.Accept: `[{"interruptId":"i","status":"resolved","payload":true}]`,
		aaep.Reject: `[{"interruptId":"i","status":"resolved","payload":false}]`,
	} {
		var got json.RawMessage
		agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in struct{ Resume json.RawMessage }
			json.NewDecoder(r.Body).Decode(&in)
			w.Header().Set("Content-Type", "text/event-stream")
			if in.Resume == nil {
				io.WriteString(w, started+strings.Replace(interrupt, `"id":"i"`, `"id":"i","responseSchema":{"type":"boolean"}`, 1))
				return
			}
			got = in.Resume
			io.WriteString(w, started+finished)
		}))
		defer agent.Close()
		upstream, _ := url.Parse(agent.URL)
		p := bridgetest.NewProducer(t)
		l := bridgetest.Listen(t, p, func(l *bridgetest.Listener, ev *aaep.Event) {
			replies.Send(context.Background(), l.Sub.Question(ev), decision, nil) // nothing but a confirmation takes that
		})
		proxy := httptest.NewServer(agui.Proxy(p, upstream, agui.Config{}))
		defer proxy.Close()
		io.ReadAll(startRun(t, t.Context(), proxy.URL).Body)
		if l.AwaitEnd(t, 1); string(got) != want {
			t.Errorf("after %s the agent got %s, want %s", decision, got, want)
		}
	}
}

// A run that brought a hundred thousand pieces is resumed with all of them; one that brought more
// than a request may have is the app's to go on with.
func TestLongRuns(t *testing.T) {
	const text = `data: {"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"`
	const args = `data: {"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"`
	for name, tt := range map[string]struct {
		event, piece string
		n            int
		resumes      bool
	}{"many pieces": {text, strings.Repeat("word ", 4), 100_000, true}, "too long": {args, strings.Repeat("word ", 500_000), 20, false}} {
		t.Run(name, func(t *testing.T) {
			resumed := make(chan string, 1)
			agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var in struct {
					Messages []struct{ Content string }
					Resume   []any
				}
				json.NewDecoder(r.Body).Decode(&in)
				w.Header().Set("Content-Type", "text/event-stream")
				if in.Resume != nil {
					resumed <- in.Messages[0].Content
					io.WriteString(w, started+finished)
					return
				}
				io.WriteString(w, started)
				for range tt.n {
					io.WriteString(w, tt.event+tt.piece+"\"}\n\n")
				}
				io.WriteString(w, interrupt)
			}))
			defer agent.Close()
			upstream, _ := url.Parse(agent.URL)
			p := bridgetest.NewProducer(t)
			l := bridgetest.Listen(t, p, accept)
			proxy := httptest.NewServer(agui.Proxy(p, upstream, agui.Config{}))
			defer proxy.Close()
			n, err := io.Copy(io.Discard, startRun(t, t.Context(), proxy.URL).Body)
			if want := int64(tt.n * (len(tt.event) + len(tt.piece) + 4)); err != nil || n < want {
				t.Errorf("the app got %d bytes, %v, want %d and more", n, err, want)
			}
			heard := l.AwaitEnd(t, 1)
			if tt.resumes == strings.Contains(heard, "What the agent asks was not answered here.") {
				t.Errorf("heard at last %q", heard[max(0, len(heard)-200):])
			}
			close(resumed)
			if got, ok := <-resumed; ok != tt.resumes || ok && got != strings.Repeat(tt.piece, tt.n) {
				t.Errorf("resumed: %t, with %d bytes", ok, len(got))
			}
		})
	}
}

// Interrupts whose form is not known here are the app's to ask, with every byte: nothing is asked
// of the person, who would say yes to something else than the agent gets, and nothing is resumed.
// (P1)
func TestUnknownForms(t *testing.T) {
	const confirms, wants, calls = `"reason":"confirmation",`, `"reason":"input_required",`, `"reason":"tool_call",`
	fields := func(list, required string) string {
		return `"responseSchema":{"type":"object","properties":{` + list + `},"required":[` + required + `]}`
	}
	for name, members := range map[string]string{
		"text":                wants + `"responseSchema":{"type":"string"}`,
		"choice":              confirms + `"responseSchema":{"enum":["approve","reject"]}`,
		"list":                wants + `"responseSchema":{"type":"array","items":{"type":"string"}}`,
		"anything":            `"reason":"input_required"`,
		"custom reason":       `"reason":"bank:review"`,
		"true":                confirms + `"responseSchema":true`,
		"number":              confirms + `"responseSchema":7`,
		"no form":             confirms + `"responseSchema":"yes"`,
		"empty object":        confirms + `"responseSchema":{"type":"object"}`,
		"alternatives":        confirms + `"responseSchema":{"anyOf":[{"type":"boolean"},{"type":"string"}]}`,
		"reference":           confirms + `"responseSchema":{"$ref":"#/$defs/a","$defs":{"a":{"type":"boolean"}}}`,
		"deep":                confirms + `"responseSchema":` + strings.Repeat(`{"not":`, 40) + "1" + strings.Repeat("}", 40),
		"field by reference":  wants + fields(`"a":{"$ref":"#/a"}`, ""),
		"field of two types":  wants + fields(`"a":{"type":["string","null"]}`, ""),
		"field that is not":   wants + fields(`"a":{"type":"string"}`, `"b"`),
		"field of no schema":  wants + fields(`"a":true`, ""),
		"yes and a comment":   wants + fields(`"accept":{"type":"boolean"},"note":{"type":"string"}`, `"accept","note"`),
		"yes alone":           calls + fields(`"approved":{"const":true}`, ""),
		"yes and fingerprint": calls + fields(`"approved":{"type":"boolean"},"hash":{"type":"string"}`, `"approved","hash"`),
		"call with a form":    calls + `"toolCallId":"c",` + fields(`"city":{"type":"string"}`, ""),
		"no reason":           `"reason":5`,
	} {
		t.Run(name, func(t *testing.T) {
			testUnknown(t, "", `[{"id":"i","message":"Pay $5?",`+members+`}]`)
		})
	}
	many := "[" + strings.Repeat(`{"id":"i","reason":"confirmation"},`, 16) + `{"id":"j","reason":"confirmation"}]`
	for name, interrupts := range map[string]string{"too many": many, "one id twice": `[{"id":"i","reason":"confirmation","message":"Look?"},{"id":"i","reason":"confirmation","message":"Pay $5?"}]`,
		"too long": `[{"id":"i","reason":"confirmation","message":"` + strings.Repeat("x ", 2500) + `"}]`, "nothing": "[]", "no list": `"i"`, "no objects": "[1]", "no id": `[{"reason":"confirmation"}]`} {
		t.Run(name, func(t *testing.T) { testUnknown(t, "", interrupts) })
	}
	const begins, more = `data: {"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"pay"}` + "\n\n", `data: {"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"`
	for name, args := range map[string]string{
		"long arguments":     more + strings.Repeat("x ", 2500) + "\"}\n\n",
		"arguments of lines": more + strings.Repeat(`x\n`, 500) + "\"}\n\n",
		"cut arguments":      more + strings.Repeat("x", 300<<10) + "\"}\n\n" + more + "5\"}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			testUnknown(t, begins+args, `[{"id":"i","reason":"tool_call","toolCallId":"c","message":"Pay?"}]`)
		})

	}
}

// testUnknown has an agent interrupt its run, after some events, for what cannot be asked.
func testUnknown(t *testing.T, events, interrupts string) {
	var resumed, asked atomic.Int32
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	sent := started + events + `data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":` + interrupts + "}}\n\n"
	at, l := serve(t, func(w io.Writer, resumes bool) {
		if resumes {
			resumed.Add(1)
			io.WriteString(w, started+finished)
			return
		}
		io.WriteString(w, sent)
	}, func(*bridgetest.Listener, *aaep.Event) { asked.Add(1); leave() })
	got, err := io.ReadAll(startRun(t, ctx, at).Body)
	if err != nil || string(got) != sent {
		t.Errorf("the app got %q, %v", got, err)
	}
	heard := l.AwaitEnd(t, 1)
	if !strings.Contains(heard, "What the agent asks was not answered here.") || asked.Load() > 0 || resumed.Load() > 0 {
		t.Errorf("asked %d times, resumed %d times, heard %q", asked.Load(), resumed.Load(), heard)
	}
}

// What starts no run passes as it is.
func TestOtherRequests(t *testing.T) {
	at, _ := serve(t, func(w io.Writer, _ bool) { io.WriteString(w, started) }, nil)
	for _, body := range []string{"", "{}", "[", `{"threadId":"t"}`, strings.Repeat("[", 20000)} {
		resp, err := http.Post(at, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil || string(got) != started {
			t.Errorf("of %.20q: %q, %v", body, got, err)
		}
	}
}

// An agent that answers a run with an error, or cannot be reached, is told of.
func TestNoRun(t *testing.T) {
	for says, answer := range map[string]func(w http.ResponseWriter){
		"it answered with the status 500.": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"The agent could not be reached.":  func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
		t.Cleanup(agent.Close)
		upstream, _ := url.Parse(agent.URL)
		p := bridgetest.NewProducer(t)
		l := bridgetest.Listen(t, p, nil)
		proxy := httptest.NewServer(agui.Proxy(p, upstream, agui.Config{}))
		t.Cleanup(proxy.Close)
		startRun(t, t.Context(), proxy.URL)
		if heard := l.AwaitEnd(t, 1); !strings.Contains(heard, says) {
			t.Errorf("heard %q, want %q", heard, says)
		}
	}
}
