package llm_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
	"github.com/aaep-go/aaep/transports"
)

// A proxyFixture is a provider, a proxy before it, and one person who hears all of it.
type proxyFixture struct {
	stage
	provider, proxy *httptest.Server
	client          *http.Client // sends no more than a test tells it to
	log             bytes.Buffer
	over            chan struct{} // closed when all is told
}

// newProxyFixture starts a proxy before the provider. change may change its server.
func newProxyFixture(t *testing.T, provider http.Handler, silent ...string) *proxyFixture {
	return newProxyBefore(t, httptest.NewServer(provider), nil, silent...)
}

func newProxyBefore(t *testing.T, provider *httptest.Server, base http.RoundTripper, silent ...string) *proxyFixture {
	t.Helper()
	f := &proxyFixture{stage: stage{t: t, language: "en-US"}, over: make(chan struct{}), provider: provider}
	t.Cleanup(f.provider.Close)
	var err error
	f.p, err = producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}, FromStart: true,
		Logger: slog.New(slog.NewTextHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	upstream, _ := url.Parse(f.provider.URL)
	f.proxy = httptest.NewUnstartedServer(llm.New(f.p).Proxy(upstream, base, silent...))
	f.proxy.Config.Protocols = new(http.Protocols)
	f.proxy.Config.Protocols.SetHTTP1(true)
	f.proxy.Config.Protocols.SetUnencryptedHTTP2(true)
	f.proxy.Start()
	t.Cleanup(f.proxy.Close)
	f.client = &http.Client{Transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(f.client.CloseIdleConnections)
	theirs, ours := transports.Pipe()
	go f.p.ServeConn(ours)
	go func() { defer close(f.over); f.listen(theirs) }()
	f.p.WaitSubscriber(t.Context())
	return f
}

// post sends a request of the tests' own to an address, and returns the whole answer.
func (f *proxyFixture) post(to string, r *http.Request) (*http.Response, []byte) {
	f.t.Helper()
	resp := f.begin(to, r)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp, body
}

// begin sends a request, and returns the answer once its head has come.
func (f *proxyFixture) begin(to string, r *http.Request) *http.Response {
	f.t.Helper()
	at, _ := url.Parse(to)
	r.URL.Scheme, r.URL.Host, r.Host = at.Scheme, at.Host, ""
	resp, err := f.client.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp
}

// end waits for what is to be told last, ends all sessions, and compares what was told in all.
func (f *proxyFixture) end(want ...string) {
	f.t.Helper()
	if len(want) > 0 {
		f.waitTold(want[len(want)-1])
	}
	f.endNow(want...)
}

// endNow ends all sessions, and compares what was told in all.
func (f *proxyFixture) endNow(want ...string) {
	f.t.Helper()
	f.p.Shutdown(context.Background())
	<-f.over
	if !slices.Equal(f.told, want) {
		f.t.Errorf("told:\n\t%s\nwant:\n\t%s", strings.Join(f.told, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// waitTold waits until a line was told.
func (f *proxyFixture) waitTold(want string) {
	f.t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; {
		f.mu.Lock()
		found := slices.Contains(f.told, want)
		f.mu.Unlock()
		if found {
			return
		}
		if time.Now().After(limit) {
			f.t.Fatalf("in 20 s it was not told: %s", want)
		}
		runtime.Gosched()
	}
}

var (
	helloTurn = []string{"start: Working on a request.", "thinking", "writing_output", "say: Hello there.", "thinking",
		"session.completed: The agent finished."}
	unreadTurn = []string{"start: Working on a request.", "thinking",
		"session.completed: There is an answer, but it could not be followed here."}
	brokenTurn = []string{"start: Working on a request.", "thinking", "writing_output", "say: Hello there.", "thinking",
		"failed: transient: The answer broke off before its end."}
)

var (
	hello = fakemodel.Answer{Thinks: "They greet me.", Says: []string{"Hello ", "there."}}
	cut   = fakemodel.Answer{Says: hello.Says, Breaks: true}
)

// What a client gets through the proxy is what it gets without it, in every dialect, and is told.
func TestProxy(t *testing.T) {
	for _, dialect := range fakemodel.Dialects {
		for _, stream := range []bool{true, false} {
			for _, piece := range []int{1, 7, 0} {
				t.Run(fmt.Sprint(dialect, stream, piece), func(t *testing.T) {
					t.Parallel()
					model := fakemodel.New(hello, hello)
					model.Piece = piece
					var uris []string
					f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						uris = append(uris, r.Host+" "+r.RequestURI)
						w.Header().Set("X-Request-Id", "req_1")
						w.Header().Set("Date", "Mon, 23 Nov 2026 12:00:00 GMT")
						model.ServeHTTP(w, r)
					}))
					plain, want := f.post(f.provider.URL, request(dialect, stream, user("Hi.")))
					resp, got := f.post(f.proxy.URL, request(dialect, stream, user("Hi.")))
					if !bytes.Equal(got, want) {
						t.Errorf("the client read %q, want %q", got, want)
					}
					if fmt.Sprint(resp.StatusCode, resp.Header) != fmt.Sprint(plain.StatusCode, plain.Header) {
						t.Errorf("the head is %v, want %v", resp.Header, plain.Header)
					}
					if asked := model.Asked(); !bytes.Equal(asked[0], asked[1]) || uris[0] != uris[1] {
						t.Errorf("the provider got %q of %s, want %q of %s", asked[1], uris[1], asked[0], uris[0])
					}
					f.end(helloTurn...)
				})
			}
		}
	}
}

// Each piece of an answer leaves for the client before the provider sends the next.
func TestProxyStreams(t *testing.T) {
	for _, dialect := range fakemodel.Dialects {
		next := make(chan struct{})
		data := fakemodel.Stream(dialect, hello)
		f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", fakemodel.Medium(dialect))
			for i := range data {
				w.Write(data[i : i+1])
				w.(http.Flusher).Flush()
				select {
				case <-next:
				case <-r.Context().Done():
					return
				}
			}
		}))
		resp := f.begin(f.proxy.URL, request(dialect, true, user("Hi.")))
		one := make([]byte, 1)
		for i := range data {
			if _, err := io.ReadFull(resp.Body, one); err != nil || one[0] != data[i] {
				t.Fatalf("%s: byte %d is %q, %v", dialect, i, one, err)
			}
			select {
			case next <- struct{}{}:
			case <-t.Context().Done():
			}
		}
		io.ReadAll(resp.Body)
		resp.Body.Close()
		f.end(helloTurn...)
	}
}

// Keys go to the provider and nowhere else, whatever happens.
func TestProxyKeepsKeys(t *testing.T) {
	const key = "sk-proxy-secret-4711"
	send := func(f *proxyFixture, status int) string {
		r := request(fakemodel.Gemini, true, user("Hi."))
		r.URL.RawQuery += "&key=" + key
		for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
			r.Header.Set(name, key)
		}
		r.Header.Set("User-Agent", "Teller/1 ("+key+")")
		resp, body := f.post(f.proxy.URL, r)
		if resp.StatusCode != status {
			t.Errorf("the status is %d, want %d", resp.StatusCode, status)
		}
		return string(body)
	}
	model := fakemodel.New(hello, fakemodel.Answer{Status: 401}, fakemodel.Answer{Says: []string{"I"}, Breaks: true})
	got := 0
	f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("key") == key && r.Header.Get("Authorization") == key && r.Header.Get("X-Api-Key") == key &&
			r.Header.Get("X-Goog-Api-Key") == key && r.Header.Get("X-Forwarded-For") == "" {
			got++
		}
		model.ServeHTTP(w, r)
	}))
	says := send(f, 200) + send(f, 401) + send(f, 200)
	f.provider.Close()
	says += send(f, 502)
	if got != 3 {
		t.Errorf("the provider got the keys of %d requests, want 3", got)
	}
	f.p.Shutdown(context.Background())
	<-f.over
	for name, text := range map[string]string{"log": f.log.String(), "stream": f.raw.String(), "answer": says} {
		if strings.Contains(text, key) {
			t.Errorf("the key is in the %s: %s", name, text)
		}
	}
	if want := "start: Working on a request from Teller."; f.told[0] != want {
		t.Errorf("told %q, want %q", f.told[0], want)
	}
}

// What programs ask for themselves is not told, and what looks alike but is a person's is.
func TestProxyBackground(t *testing.T) {
	const tool = `"tools":[{"type":"function","function":{"name":"look"}}],`
	one := `"tool_choice":{"type":"function","function":{"name":"look"}},`
	asks := func(members string, words ...string) string { // by role and text
		var all []object
		for pair := range slices.Chunk(words, 2) {
			all = append(all, object{"role": pair[0], "content": pair[1]})
		}
		said, _ := json.Marshal(all)
		return "{" + members + `"messages":` + string(said) + "}"
	}
	for body, told := range map[string]bool{
		asks("", "user", "What is a good title for my novel?"):                                  true,
		asks("", "user", "Suggest titles for a talk about chat programs, with a page on each."): true,
		asks("", "system", "You are a novelist, known for short titles.", "user", "Hi"):         true,
		asks("", "user", "Which router shall I buy?"):                                           true,
		asks("", "user", "Summarize this conversation of mine with my bank: …"):                 true,
		asks(`"max_tokens":17,`, "user", "Hi"):                                                  true,
		asks(`"response_format":{"type":"text"},`, "user", "Hi"):                                true,
		asks(`"tool_choice":"required",`+tool, "user", "Hi"):                                    true,
		asks(tool, "system", "Reply with a short title for the chat and nothing else."):         true,
		`{"messages":"Hi"}`: true,
		`{"messages":[`:     true,

		asks("", "system", "Reply with a short title for the chat and nothing else.", "user", "Hi"): false,
		asks("", "user", "Create a title of at most six words for this thread:\n\nHi"):              false,
		asks("", "user", "Please write a brief title for the conversation above."):                  false,
		asks("", "user", "### Task:\nPropose what could be asked next.\n### History:\nHi"):          false,
		asks("", "developer", "You are a fast request router. Say which model fits.", "user", "Hi"): false,
		asks("", "system", "You have to summarize long conversations.", "user", "Hi"):               false,
		asks("", "user", "Make a standalone question of the last one."):                             false,
		asks(`"max_completion_tokens":1,`, "user", "quota"):                                         false,
		asks(`"response_format":{"type":"json_schema"},`, "user", "Hi"):                             false,
		asks(one+tool, "user", "Hi"):          false,
		asks(`"model":"tiny",`, "user", "Hi"): false,
		`{"messages":[]}`:                     false,
	} {
		f := newProxyFixture(t, fakemodel.New(hello), "tiny")
		f.post(f.proxy.URL, rawRequest("/v1/chat/completions", body))
		if told {
			f.end(helloTurn...)
		} else {
			f.end()
		}
		if t.Failed() {
			t.Fatal(body)
		}
	}
	const hi, parts = `,"messages":[{"role":"user","content":"Hi"}]}`, `,"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`
	for path, body := range map[string]string{
		"/v1/messages":                 `{"system":[{"type":"text","text":"Generate a short title for this session."}]` + hi,
		"/v1/responses":                `{"instructions":"Reply with a brief title for the conversation.","input":"Hi"}`,
		"/api/chat":                    `{"format":"json"` + hi,
		"/api/generate":                `{"model":"qwen"}`,
		"/v1beta/x:generateContent":    `{"generationConfig":{"responseMimeType":"application/json"}` + parts,
		"/models/y:generateContent":    `{"systemInstruction":{"parts":[{"text":"You are a router."}]}` + parts,
		"/models/tiny:generateContent": `{"a":0` + parts,
		"/v1/embeddings":               `{"input":"Hi"}`,
		"/v1/messages/count_tokens":    `{"a":0` + hi,
		"/v1/completions":              `{"prompt":"func main() {"}`,
		"/models/x:countTokens":        `{"a":0` + parts,
	} {
		t.Run(path, func(t *testing.T) {
			f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, `{}`)
			}), "tiny")
			if _, got := f.post(f.proxy.URL, rawRequest(path, body)); string(got) != `{}` {
				t.Errorf("the client got %q", got)
			}
			f.end()
		})
	}
}

func rawRequest(path, body string) *http.Request {
	r, _ := http.NewRequest("POST", "http://model.example"+path, strings.NewReader(body))
	return r
}

// A compressed answer reaches the client as the provider compressed it, and is told where it is
// gzip. Other codings are not asked for if the client can do without.
func TestProxyCodings(t *testing.T) {
	for accepts, asks := range map[string]string{
		"": "", "gzip": "gzip", "gzip, deflate, br, zstd": "gzip", "br;q=1.0, gzip;q=0.5": "gzip", "*": "gzip",
		"br, *;q=0.1": "gzip", "br": "identity", "deflate, br": "identity", "gzip;q=0, br": "identity",
		"identity": "identity", "gzip;q=0, *": "identity",
		"br, identity;q=0": "br, identity;q=0", "br, *;q=0": "br, *;q=0",
	} {
		asked := "?"
		f := newProxyFixture(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked = r.Header.Get("Accept-Encoding")
		}))
		r := request(fakemodel.Chat, true, user("Hi."))
		if accepts != "" {
			r.Header.Set("Accept-Encoding", accepts)
		}
		f.post(f.proxy.URL, r)
		if asked != asks {
			t.Errorf("of a client that accepts %q the provider is asked for %q, want %q", accepts, asked, asks)
		}
	}
	packed := func(data []byte, piece int) (out []byte) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for part := range slices.Chunk(data, piece) {
			z.Write(part)
			z.Flush()
		}
		z.Close()
		return b.Bytes()
	}
	comments := bytes.Repeat([]byte(": ping\n"), 10<<20) // which are of no event
	for _, dialect := range fakemodel.Dialects {
		stream, whole := fakemodel.Stream(dialect, hello), fakemodel.Whole(dialect, hello)
		for name, tt := range map[string]struct {
			coding, media string
			data          []byte
			told          []string
		}{
			"stream":     {"gzip", fakemodel.Medium(dialect), packed(stream, 20), helloTurn},
			"whole":      {"GZIP", "application/json", packed(whole, 1000), helloTurn},
			"bomb":       {"gzip", "text/event-stream", packed(comments, len(comments)), unreadTurn},
			"brotli":     {"br", fakemodel.Medium(dialect), []byte("\x0b\x02\x80not brotli either\x03"), unreadTurn},
			"no gzip":    {"gzip", fakemodel.Medium(dialect), stream, unreadTurn},
			"unpacked":   {"identity", fakemodel.Medium(dialect), stream, helloTurn},
			"broken off": {"gzip", fakemodel.Medium(dialect), packed(fakemodel.Stream(dialect, cut), 5), brokenTurn},
		} {
			if name == "bomb" && dialect != fakemodel.Chat {
				continue
			}
			t.Run(dialect+" "+name, func(t *testing.T) {
				f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Encoding", tt.coding)
					w.Header().Set("Content-Type", tt.media)
					for part := range slices.Chunk(tt.data, max(3, len(tt.data)/1000)) {
						w.Write(part)
						w.(http.Flusher).Flush()
					}
				}))
				r := request(dialect, true, user("Hi."))
				r.Header.Set("Accept-Encoding", "gzip, br")
				resp, got := f.post(f.proxy.URL, r)
				if !bytes.Equal(got, tt.data) || resp.Header.Get("Content-Encoding") != tt.coding {
					t.Errorf("the client got %d bytes, want %d: %v", len(got), len(tt.data), resp.Header)
				}
				f.end(tt.told...)
			})
		}
	}
}

// HTTP/2 on both sides, over TLS that is verified; what cannot be verified gets no request.
func TestProxyHTTP2(t *testing.T) {
	reached := 0
	model := fakemodel.New(hello)
	provider := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reached++; r.ProtoMajor != 2 {
			t.Errorf("the provider is reached over %s", r.Proto)
		}
		model.ServeHTTP(w, r)
	}))
	provider.EnableHTTP2 = true
	provider.StartTLS()
	f := newProxyBefore(t, provider, provider.Client().Transport)
	overH2 := &http.Transport{Protocols: new(http.Protocols)}
	overH2.Protocols.SetUnencryptedHTTP2(true)
	f.client = &http.Client{Transport: overH2}
	defer f.client.CloseIdleConnections()
	resp, got := f.post(f.proxy.URL, request(fakemodel.Messages, true, user("Hi.")))
	if want := fakemodel.Stream(fakemodel.Messages, hello); resp.ProtoMajor != 2 || !bytes.Equal(got, want) {
		t.Errorf("over %s the client got %q, want %q", resp.Proto, got, want)
	}
	f.end(helloTurn...)

	strict := newProxyBefore(t, provider, nil)
	resp, got = strict.post(strict.proxy.URL, request(fakemodel.Messages, true, user("Hi.")))
	if reached != 1 || resp.StatusCode != http.StatusBadGateway || !strings.Contains(string(got), "certificate") {
		t.Errorf("an unknown certificate: %d requests came, the client got %d %s", reached, resp.StatusCode, got)
	}
	strict.endNow("start: Working on a request.", "thinking",
		"progress.updated: The provider of the model could not be reached.",
		"failed: transient: The provider of the model could not be reached.")
}

// A provider that breaks off in the middle of a stream breaks off for the client too.
func TestProxyBreaks(t *testing.T) {
	for _, dialect := range fakemodel.Dialects {
		f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", fakemodel.Medium(dialect))
			w.Write(fakemodel.Stream(dialect, cut))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}))
		resp := f.begin(f.proxy.URL, request(dialect, true, user("Hi.")))
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := fakemodel.Stream(dialect, cut); err == nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the client read %q, %v", dialect, got, err)
		}
		f.end(brokenTurn...)
	}
}

// Errors reach the client as they are: after a status of their own, after 200, and in the middle.
func TestProxyErrors(t *testing.T) {
	fault := []string{"start: Working on a request.", "thinking",
		"failed: transient: The provider of the model has a fault."}
	refused := []string{"start: Working on a request.", "thinking",
		"failed: unknown: The provider of the model did not accept the request."}
	page := "<html>The gateway is asleep.</html>"
	for _, dialect := range fakemodel.Dialects {
		failed := fakemodel.Stream(dialect, fakemodel.Answer{Says: hello.Says, Fails: true})
		body := `{"error":{"message":"not now","type":"server_error"}}`
		if dialect == fakemodel.Ollama {
			body = `{"error":"not now"}`
		}
		for name, tt := range map[string]struct {
			status      int
			media, body string
			told        []string
		}{
			"400":         {400, "application/json", `{"error":{"message":"no such model"}}`, refused},
			"200 error":   {200, "application/json", body, fault},
			"200 page":    {200, "text/html", page, unreadTurn},
			"mid-stream":  {200, fakemodel.Medium(dialect), string(failed), append(slices.Clone(brokenTurn[:5]), fault[2])},
			"no JSON":     {200, "application/json", page, []string{fault[0], fault[1], brokenTurn[5]}},
			"empty":       {200, fakemodel.Medium(dialect), "", []string{fault[0], fault[1], brokenTurn[5]}},
			"unknown 299": {299, fakemodel.Medium(dialect), string(fakemodel.Stream(dialect, hello)), helloTurn},
		} {
			t.Run(dialect+" "+name, func(t *testing.T) {
				f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", tt.media)
					w.WriteHeader(tt.status)
					io.WriteString(w, tt.body)
				}))
				resp, got := f.post(f.proxy.URL, request(dialect, true, user("Hi.")))
				if resp.StatusCode != tt.status || string(got) != tt.body {
					t.Errorf("the client got %d %q", resp.StatusCode, got)
				}
				f.end(tt.told...)
			})
		}
	}
}

// An answer of 100 MB takes no memory to speak of, streamed or in one piece.
func TestProxyLargeAnswers(t *testing.T) {
	const size = 100 << 20
	for _, media := range []string{"text/event-stream", "application/json"} {
		line := []byte(`data: {"choices":[{"index":0,"delta":{"reasoning":"` + strings.Repeat("x", 8<<10) + `"}}]}` + "\n\n")
		f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", media)
			if media == "application/json" {
				io.WriteString(w, `{"choices":[{"index":0,"message":{"content":"`)
				line = bytes.Repeat([]byte("x"), 8<<10)
			}
			for n := 0; n < size; n += len(line) {
				w.Write(line)
			}
		}))
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		resp := f.begin(f.proxy.URL, request(fakemodel.Chat, true, user("Hi.")))
		h, most := sha256.New(), uint64(0)
		n := int64(0)
		for {
			m, err := io.CopyN(h, resp.Body, 10<<20)
			n += m
			runtime.GC()
			runtime.ReadMemStats(&after)
			most = max(most, after.HeapAlloc)
			if err != nil {
				break
			}
		}
		resp.Body.Close()
		if n < size {
			t.Errorf("the client read %d bytes", n)
		}
		if grown := int64(most) - int64(before.HeapAlloc); grown > 64<<20 {
			t.Errorf("%s: the heap grew by %d MiB", media, grown>>20)
		}
		if media == "application/json" {
			f.end(unreadTurn...)
		} else {
			f.end("start: Working on a request.", "thinking", "failed: transient: The answer broke off before its end.")
		}
	}
}

// A client that goes away ends the provider's work, and the session.
func TestProxyClientLeaves(t *testing.T) {
	gone := make(chan struct{})
	f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(fakemodel.Stream(fakemodel.Chat, cut))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	ctx, leave := context.WithCancel(t.Context())
	resp := f.begin(f.proxy.URL, request(fakemodel.Chat, true, user("Hi.")).WithContext(ctx))
	resp.Body.Read(make([]byte, 1))
	leave()
	<-gone
	f.waitTold("cancelled by producer")
	f.end(append(slices.Clone(brokenTurn[:5]), "cancelled by producer")...)
}

// A call whose arguments are no JSON, or none that a call has, passes as it is, and is named.
func TestProxyBrokenCalls(t *testing.T) {
	broken := fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "delete file", Args: `{"path": "/srv/pl`}}}
	data := map[string][]byte{
		fakemodel.Gemini: []byte(`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"delete file",` +
			`"args":"{\"path\": \"/srv/pl"}}]},"finishReason":"STOP"}]}` + "\n\n"),
		fakemodel.Ollama: []byte(`{"message":{"tool_calls":[{"function":{"name":"delete file",` +
			`"arguments":["/srv/pl"]}}]},"done":true,"done_reason":"stop"}` + "\n"),
	}
	for _, dialect := range []string{fakemodel.Chat, fakemodel.Responses, fakemodel.Messages} { // who send text there
		data[dialect] = fakemodel.Stream(dialect, broken)
	}
	for dialect, want := range data {
		f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", fakemodel.Medium(dialect))
			w.Write(want)
		}))
		if _, got := f.post(f.proxy.URL, request(dialect, true, user("Hi."))); !bytes.Equal(got, want) {
			t.Errorf("%s: the client got %q", dialect, got)
		}
		f.waitTold("invoked: delete_file")
	}
}

// Two conversations over one connection, or of two programs, stay apart, though the provider calls
// the first tool of every answer by the same id, and both began with the same words.
func TestProxyConversations(t *testing.T) {
	wants := func(name string) fakemodel.Answer {
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_0", Name: name, Args: `{}`}}}
	}
	says := func(text string) fakemodel.Answer { return fakemodel.Answer{Says: []string{text}} }
	for _, programs := range [][2]string{{"One/1", "One/1"}, {"One/1", "Two/1"}} {
		for _, dialect := range fakemodel.Dialects {
			t.Run(dialect+programs[1], func(t *testing.T) {
				f := newProxyFixture(t, fakemodel.New(wants("weather"), wants("clock"), says("Noon."), says("Sun.")))
				f.client.Transport.(*http.Transport).MaxConnsPerHost = 1
				ask := func(program string, lines ...line) {
					r := request(dialect, true, append([]line{user("Hello."), model(says("Hi."))}, lines...)...)
					r.Header.Set("User-Agent", program)
					f.post(f.proxy.URL, r)
				}
				weather, clock := user("How is the weather?"), user("What is the time?")
				ask(programs[0], weather)
				f.waitTold("invoked: weather")
				ask(programs[1], clock)
				f.waitTold("invoked: clock")
				ask(programs[1], clock, model(wants("clock")), gives("call_0", "clock", "12"))
				f.waitTold("say: Noon.")
				ask(programs[0], weather, model(wants("weather")), gives("call_0", "weather", "sun"))
				f.waitTold("say: Sun.")
				f.mu.Lock()
				if want := []string{"2", "1"}; !slices.Equal(f.spoke, want) {
					t.Errorf("the answers are in the sessions %v, want %v", f.spoke, want)
				}
				var starts []string
				for _, said := range f.told {
					if about, ok := strings.CutPrefix(said, "start: Working on a request from "); ok {
						starts = append(starts, strings.TrimSuffix(about, ".")+"/1")
					}
				}
				f.mu.Unlock()
				f.mu.Lock()
				// What was told before Sun was of the second program, and before Noon too.
				if named := slices.Contains(f.told, "writing_output: The answer to One."); named != (programs[1] == "Two/1") ||
					slices.Contains(f.told, "writing_output: The answer to Two.") {
					t.Errorf("whose the answers are is told by %q", f.told)
				}
				f.mu.Unlock()
				if !slices.Equal(starts, programs[:]) {
					t.Errorf("the sessions are about %v, want %v", starts, programs)
				}
			})
		}
	}
}

// Twenty programs at once each have their own answer.
func TestProxyAtOnce(t *testing.T) {
	f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Messages []struct{ Content string } }
		json.NewDecoder(r.Body).Decode(&in)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(fakemodel.Stream(fakemodel.Chat, fakemodel.Answer{Says: []string{"You said ", in.Messages[0].Content}}))
	}))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			said := fmt.Sprintf("number %d.", i)
			r := request(fakemodel.Chat, true, user(said))
			at, _ := url.Parse(f.proxy.URL)
			r.URL.Scheme, r.URL.Host, r.Host = at.Scheme, at.Host, ""
			resp, err := f.client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), said) {
				t.Errorf("the client got %q, %v", body, err)
			}
		})
	}
	all.Wait()
	for i := range 20 {
		f.waitTold(fmt.Sprintf("say: You said number %d.", i))
	}
}

// The address of a provider may be given with a path, and a client may add the same one.
func TestProxyPaths(t *testing.T) {
	for from, to := range map[string]string{
		" /v1/x": "/v1/x", "/ /v1/x": "/v1/x", "/v1 /v1/x": "/v1/x", "/v1 /x": "/v1/x", "/api/v1 /v1/x": "/api/v1/x",
		"/api /v1/x": "/api/v1/x", "/v1 /v1beta/x": "/v1/v1beta/x", "/v1/ /v1": "/v1/v1",
		" /a%2Fb/x?q=%zz&b;c": "/a%2Fb/x?q=%zz&b;c", "/api/v1 /api/v1/x": "/api/v1/x",
	} {
		above, below, _ := strings.Cut(from, " ")
		got := ""
		provider := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = r.RequestURI
		}))
		upstream, _ := url.Parse(provider.URL + above)
		rec := httptest.NewRecorder()
		newTap(t).Proxy(upstream, nil).ServeHTTP(rec, httptest.NewRequest("GET", below, nil))
		provider.Close()
		if got != to {
			t.Errorf("%q before %q leads to %q, want %q", above, below, got, to)
		}
	}
}

func newTap(t *testing.T) *llm.Tap {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
	if err != nil {
		t.Fatal(err)
	}
	return llm.New(p)
}
