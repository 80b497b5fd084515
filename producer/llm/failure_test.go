package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
)

// What a provider does wrong is told in plain words. (EVT-018)
func TestFailures(t *testing.T) {
	begun := fakemodel.Answer{Says: []string{"I beg"}}
	with := func(change func(*fakemodel.Answer)) fakemodel.Answer { a := begun; change(&a); return a }
	for name, tt := range map[string]struct {
		answer fakemodel.Answer
		end    string
	}{
		"breaks": {with(func(a *fakemodel.Answer) { a.Breaks = true }),
			"failed: transient: The answer broke off before its end."},
		"fails": {with(func(a *fakemodel.Answer) { a.Fails = true }),
			"failed: transient: The provider of the model has a fault."},
		"long": {with(func(a *fakemodel.Answer) { a.Long = true }),
			"session.completed: The answer was cut off because it became too long."},
		"declines": {with(func(a *fakemodel.Answer) { a.Declines = true }),
			"failed: unknown: The model or its provider declined to answer."},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dialect := range fakemodel.Dialects {
				if dialect == fakemodel.Ollama && name == "declines" {
					continue // it has no such answer
				}
				for _, stream := range []bool{true, false} {
					if !stream && (name == "breaks" || name == "fails") {
						continue
					}
					play(t, func(st *stage) {
						st.ask(dialect, stream, user("Hi."))
						st.heard("start: Working on a request.", "thinking", "writing_output", "say: I beg",
							"thinking", tt.end)
					}, tt.answer)
				}
			}
		})
	}
}

// The same request that comes again goes on where it failed. (EVT-002, EVT-004)
func TestRetry(t *testing.T) {
	says := fakemodel.Answer{Says: []string{"Here."}}
	play(t, func(st *stage) {
		busy := "progress.updated: The provider of the model is too busy at the moment."
		st.ask(fakemodel.Chat, true, user("Hi."))
		time.Sleep(8 * time.Second)
		st.ask(fakemodel.Chat, true, user("Hi."))
		time.Sleep(8 * time.Second)
		st.ask(fakemodel.Chat, true, user("Hi."))
		st.heard("start: Working on a request.", "thinking", busy, busy, "writing_output", "say: Here.", "thinking",
			"session.completed: The agent finished.")
		time.Sleep(time.Minute)
		st.heard()
		st.ask(fakemodel.Chat, true, user("Hi.")) // again, and given up
		st.heard("start: Working on a request.", "thinking", "progress.updated: The provider of the model has a fault.")
		time.Sleep(11 * time.Second)
		st.heard("failed: transient: The provider of the model has a fault.")
		st.ask(fakemodel.Chat, true, user("Hi.")) // what is wrong with the request does not pass
		st.heard("start: Working on a request.", "thinking",
			"failed: unknown: The provider of the model did not accept the request.")
	}, fakemodel.Answer{Status: 429}, fakemodel.Answer{Status: 529}, says, fakemodel.Answer{Status: 500},
		fakemodel.Answer{Status: 400})
}

// How long to wait, and whether it makes sense, is the provider's to say.
func TestRetryAfter(t *testing.T) {
	play(t, func(st *stage) {
		header := http.Header{"Retry-After": {"30"}}
		busy := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 503, Header: header, Body: http.NoBody}, nil
		}))
		busy.RoundTrip(request(fakemodel.Chat, true, user("Hi.")))
		st.heard("start: Working on a request.", "thinking",
			"progress.updated: The provider of the model is too busy at the moment.")
		time.Sleep(35 * time.Second)
		st.heard()
		time.Sleep(10 * time.Second)
		st.heard("failed: transient: The provider of the model is too busy at the moment.")
		header = http.Header{"X-Should-Retry": {"false"}}
		busy.RoundTrip(request(fakemodel.Chat, true, user("Hi.")))
		st.heard("start: Working on a request.", "thinking",
			"failed: transient: The provider of the model is too busy at the moment.")
	})
}

// An account that is used up is no busy provider: who waits for that waits for nothing. The client
// has the error as it came, up to where its link broke.
func TestSpent(t *testing.T) {
	const refused = "The provider of the model did not accept the request."
	const body = `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`
	broken := errors.New("the link broke")
	for end, told := range map[error]string{nil: refused,
		broken: "The provider of the model is too busy at the moment."} {
		play(t, func(st *stage) {
			sent := body
			from := io.Reader(strings.NewReader(sent))
			if end != nil {
				sent = body[:20]
				from = io.MultiReader(strings.NewReader(sent), iotest.ErrReader(end))
			}
			closed := false
			resp, err := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 429, Header: http.Header{},
					Body: onClose{from, func() { closed = true }}}, nil
			})).RoundTrip(request(fakemodel.Chat, true, user("Hi.")))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if resp.Body.Close(); string(got) != sent || err != end || !closed {
				t.Errorf("the client read %q, %v; closed %v", got, err, closed)
			}
			st.heard("start: Working on a request.", "thinking", "progress.updated: "+told)
			time.Sleep(11 * time.Second)
			kind := "unknown"
			if end != nil {
				kind = "transient"
			}
			st.heard("failed: " + kind + ": " + told)
		})
	}
}

type onClose struct {
	io.Reader
	close func()
}

func (c onClose) Close() error { c.close(); return nil }

// An agent that gives up at once leaves one clear end, in a session of the tap's and in one of its
// own. (EVT-018)
func TestGivesUp(t *testing.T) {
	const busy, end = "progress.updated: The provider of the model is too busy at the moment.",
		"failed: transient: The provider of the model is too busy at the moment."
	play(t, func(st *stage) {
		s, _ := st.p.StartSession(st.t.Context(), aaep.Say("Planning."))
		model := st.tap.Transport(st.model.Transport())
		ask := func() { model.RoundTrip(request(fakemodel.Chat, true, user("Hi.")).WithContext(s.Context())) }
		ask()
		s.Close()
		st.heard("start: Planning.", "thinking", busy, end)
		s, _ = st.p.StartSession(st.t.Context(), aaep.Say("Planning."))
		ask()
		resp, err := model.RoundTrip(request(fakemodel.Chat, true, user("Again.")).WithContext(s.Context()))
		if err != nil {
			t.Fatal(err)
		}
		io.ReadAll(resp.Body)
		s.Close()
		st.heard("start: Planning.", "thinking", busy, "writing_output", "say: Here.", "thinking",
			"cancelled by producer")
		st.ask(fakemodel.Chat, true, user("Hi."))
		st.p.Shutdown(st.t.Context())
		st.heard("start: Working on a request.", "thinking", busy, end)
	}, fakemodel.Answer{Status: 429}, fakemodel.Answer{Status: 429}, fakemodel.Answer{Says: []string{"Here."}},
		fakemodel.Answer{Status: 429})
}

// Of several answers to choose from, the first is told.
func TestChoices(t *testing.T) {
	for dialect, body := range map[string]string{
		fakemodel.Chat:   `{"choices":[{"index":1,"message":{"content":"B."},"finish_reason":"stop"},{"index":0,"message":{"content":"A."},"finish_reason":"stop"}]}`,
		fakemodel.Gemini: `{"candidates":[{"index":1,"content":{"parts":[{"text":"B."}]},"finishReason":"STOP"},{"content":{"parts":[{"text":"A."}]},"finishReason":"STOP"}]}`,
	} {
		play(t, func(st *stage) {
			resp, _ := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
					Body: io.NopCloser(strings.NewReader(body))}, nil
			})).RoundTrip(request(dialect, false, user("Hi.")))
			io.ReadAll(resp.Body)
			st.heard("start: Working on a request.", "thinking", "writing_output", "say: A.", "thinking",
				"session.completed: The agent finished.")
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A link that cannot be made, and a client that has enough, before the answer and in the middle of
// it.
func TestNoAnswer(t *testing.T) {
	play(t, func(st *stage) {
		broken := errors.New("no such host key=secret")
		_, err := st.tap.Transport(roundTrip(func(*http.Request) (*http.Response, error) {
			return nil, broken
		})).RoundTrip(request(fakemodel.Chat, true, user("Hi.")))
		if err != broken {
			t.Errorf("the error is %v", err)
		}
		time.Sleep(11 * time.Second)
		st.heard("start: Working on a request.", "thinking",
			"progress.updated: The provider of the model could not be reached.",
			"failed: transient: The provider of the model could not be reached.")

		ctx, cancel := context.WithCancel(st.t.Context())
		cancel()
		st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
			return nil, r.Context().Err()
		})).RoundTrip(request(fakemodel.Chat, true, user("Hi.")).WithContext(ctx))
		st.heard("start: Working on a request.", "thinking", "cancelled by producer")

		resp, _ := st.tap.Transport(st.model.Transport()).RoundTrip(request(fakemodel.Chat, true, user("Hi.")))
		var p [10]byte
		resp.Body.Read(p[:])
		resp.Body.Close()
		resp.Body.Close()
		st.heard("start: Working on a request.", "thinking", "cancelled by producer")
	}, fakemodel.Answer{Says: []string{strings.Repeat("long ", 100)}})
}

// Requests that are not for a model, and those that cannot be looked at, are no affair of the tap.
func TestUntouched(t *testing.T) {
	play(t, func(st *stage) {
		model := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		}))
		for _, r := range []*http.Request{
			requestTo("GET", "/v1/chat/completions", strings.NewReader("{}")),
			requestTo("POST", "/v1/embeddings", strings.NewReader("{}")),
			requestTo("POST", "/v1/threads/1/messages", strings.NewReader("{}")),
			requestTo("POST", "/v1/messages/count_tokens", strings.NewReader("{}")),
		} {
			resp, err := model.RoundTrip(r)
			if err != nil || resp.Body != http.NoBody || resp.Request != r {
				t.Errorf("%s %s was touched", r.Method, r.URL)
			}
		}
		st.heard()
		// A producer that is shut down has no session to tell.
		st.p.Shutdown(st.t.Context())
		if resp, err := model.RoundTrip(request(fakemodel.Chat, true, user("Hi."))); err != nil ||
			resp.Body != http.NoBody {
			t.Error("the answer was touched after Shutdown")
		}
	})
}

func requestTo(method, path string, body io.Reader) *http.Request {
	r, _ := http.NewRequest(method, "https://model.example"+path, body)
	return r
}

// An answer that cannot be read here is not a failure of the agent.
func TestUnread(t *testing.T) {
	for name, tt := range map[string]struct {
		header http.Header
		body   []byte
	}{
		"compressed": {http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"br"}},
			[]byte("\x0b\x02\x80")},
		"binary": {http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}, []byte("\x00\x00")},
		"background": {http.Header{"Content-Type": {"application/json"}},
			[]byte(`{"object":"response","status":"queued","output":[]}`)},
		"huge": {http.Header{"Content-Type": {"application/json"}}, bytes.Repeat([]byte(" "), 17<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(st *stage) {
				resp, _ := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, Header: tt.header,
						Body: io.NopCloser(bytes.NewReader(tt.body))}, nil
				})).RoundTrip(request(fakemodel.Responses, true, user("Hi.")))
				if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, tt.body) {
					t.Errorf("the client read %d bytes, %v", len(got), err)
				}
				st.heard("start: Working on a request.", "thinking",
					"session.completed: There is an answer, but it could not be followed here.")
			})
		})
	}
}

// The client has each piece when the model has sent it, and the listener too; Close and errors
// reach the other side.
func TestPrompt(t *testing.T) {
	play(t, func(st *stage) {
		from, to := io.Pipe()
		resp, _ := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200,
				Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, Body: from}, nil
		})).RoundTrip(request(fakemodel.Chat, true, user("Hi.")))
		st.heard("start: Working on a request.", "thinking")
		piece := `data: {"choices":[{"index":0,"delta":{"content":"Now. "}}]}` + "\n\n"
		go io.WriteString(to, piece)
		var p [1000]byte
		if n, err := resp.Body.Read(p[:]); string(p[:n]) != piece || err != nil {
			t.Errorf("the client read %q, %v", p[:n], err)
		}
		st.heard("writing_output")
		reads := make(chan error)
		go func() { _, err := resp.Body.Read(p[:]); reads <- err }()
		synctest.Wait()
		resp.Body.Close() // while Read waits
		if err := <-reads; err != io.ErrClosedPipe {
			t.Errorf("Read ended with %v", err)
		}
		if _, err := to.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("the model's side was not closed: %v", err)
		}
		st.heard("say: Now. ", "thinking", "cancelled by producer")
	})
}

// A client that reads the answer's JSON and no further has read the answer: its tool is called
// before it closes the body. A slow link is no client that has enough.
func TestUnclosed(t *testing.T) {
	play(t, func(st *stage) {
		for _, dialect := range fakemodel.Dialects {
			said := string(fakemodel.Whole(dialect, fakemodel.Answer{Says: []string{`A "quoted\" }`}}))
			from, to := io.Pipe()
			ctx, cancel := context.WithTimeout(st.t.Context(), time.Minute)
			defer cancel()
			resp, _ := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200,
					Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, Body: from}, nil
			})).RoundTrip(request(dialect, false, user("Hi.")).WithContext(ctx))
			go func() {
				for _, c := range []byte(said) {
					to.Write([]byte{c})
				}
			}()
			var into any
			if err := json.NewDecoder(resp.Body).Decode(&into); err != nil {
				t.Error(err)
			}
			st.heard("start: Working on a request.", "thinking", "writing_output", `say: A "quoted\" }`, "thinking",
				"session.completed: The agent finished.")
			resp.Body.Close()
		}
		ctx, cancel := context.WithTimeout(st.t.Context(), time.Minute)
		defer cancel()
		resp, _ := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
				Body: waiting{r.Context()}}, nil
		})).RoundTrip(request(fakemodel.Chat, true, user("Hi.")).WithContext(ctx))
		io.ReadAll(resp.Body)
		st.heard("start: Working on a request.", "thinking", "failed: transient: The answer broke off before its end.")
	})
}

// waiting is a body that nothing comes in.
type waiting struct{ ctx context.Context }

func (w waiting) Read([]byte) (int, error) { <-w.ctx.Done(); return 0, w.ctx.Err() }
func (w waiting) Close() error             { return nil }

// The provider's own tools are told as they run, and an answer that pauses goes on in the same
// session.
func TestProvidersTools(t *testing.T) {
	const searches = `data: {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}}

data: {"type":"content_block_stop","index":0}

`
	const found = `data: {"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srv_1","content":%s}}

`
	const paused = `data: {"type":"message_delta","delta":{"stop_reason":"pause_turn"}}

data: {"type":"message_stop"}

`
	says := func(st *stage, body string, r *http.Request) {
		resp, err := st.tap.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
				Body: io.NopCloser(strings.NewReader(body))}, nil
		})).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
	}
	play(t, func(st *stage) {
		says(st, searches+strings.Replace(found, "%s", "[]", 1)+paused,
			request(fakemodel.Messages, true, user("Search.")))
		st.heard("start: Working on a request.", "thinking", "calling_tool", "invoked: web_search",
			"done: web_search success", "thinking")
		again :=
			`{"messages":[{"role":"user","content":"Search."},{"role":"assistant",` +
				`"content":[{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}]}]}`
		says(st, strings.ReplaceAll(searches+strings.Replace(found, "%s", `{"type":"web_search_tool_result_error"}`, 1),
			"srv_1", "srv_2")+string(fakemodel.Stream(fakemodel.Messages, fakemodel.Answer{Says: []string{"Found."}})),
			requestTo("POST", "/v1/messages", strings.NewReader(again)))
		st.heard("calling_tool", "invoked: web_search", "done: web_search error", "thinking", "writing_output",
			"say: Found.", "thinking", "session.completed: The agent finished.")

		says(st, `data: {"type":"content_block_start","index":0,"content_block":{"type":"mcp_tool_use","id":"mcp_1","name":"look"}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"mcp_tool_result","tool_use_id":"mcp_1","is_error":true,"content":[]}}

`+string(fakemodel.Stream(fakemodel.Messages, fakemodel.Answer{})), request(fakemodel.Messages, true, user("Look.")))
		st.heard("start: Working on a request.", "thinking", "calling_tool", "invoked: look", "done: look error",
			"thinking", "session.completed: The agent finished.")

		says(st, `data: {"type":"response.output_item.added","item":{"type":"web_search_call","id":"ws_1","status":"in_progress"}}

data: {"type":"response.output_item.done","item":{"type":"web_search_call","id":"ws_1","status":"failed"}}

event: response.completed
data: {"type":"response.completed","response":{"status":"completed"}}

`, request(fakemodel.Responses, true, user("Search.")))
		st.heard("start: Working on a request.", "thinking", "calling_tool", "invoked: web_search",
			"done: web_search error", "thinking", "session.completed: The agent finished.")

		const shell = `{"type":"shell_call","id":"sh_1","call_id":"call_1","status":"completed"}`
		says(st, `data: {"type":"response.output_item.done","item":`+shell+`}

data: {"type":"response.output_item.done","item":{"type":"shell_call_output","call_id":"call_1"}}

data: {"type":"response.completed","response":{"status":"completed"}}

`, request(fakemodel.Responses, true, user("List.")))
		st.heard("start: Working on a request.", "thinking", "session.completed: The agent finished.")

		says(st, `data: {"candidates":[{"content":{"role":"model","parts":[{"executableCode":{"code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}]},"finishReason":"STOP"}]}

data: {"candidates":[{"content":{"role":"model","parts":[{"text":"One."}]},"finishReason":"STOP"}]}
`, request(fakemodel.Gemini, true, user("Count.")))
		st.heard("start: Working on a request.", "thinking", "calling_tool", "invoked: code_execution",
			"done: code_execution success", "thinking",
			"writing_output", "say: One.", "thinking", "session.completed: The agent finished.")
	})
}
