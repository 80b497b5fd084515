package llm_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aaep-go/aaep/internal/fakemodel"
)

// passBody sends a request through a proxy whose provider answers with body, without a network, and
// returns what the client got and whether its link then broke.
func (st *stage) passBody(dialect string, stream bool, body io.Reader) (got []byte, broke bool) {
	upstream, _ := url.Parse("https://model.example")
	media := "application/json"
	if stream {
		media = fakemodel.Medium(dialect)
	}
	r := request(dialect, stream, user("Hi."))
	r = r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, &http.Server{})) // as one that serves it
	rec := httptest.NewRecorder()
	defer func() {
		got, broke = rec.Body.Bytes(), recover() != nil // with which a handler breaks the link
	}()
	st.tap.Proxy(upstream, roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Request: r,
			Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(body)}, nil
	})).ServeHTTP(rec, r)
	return nil, false
}

// slowBody gives ten bytes every ten minutes.
type slowBody struct{ left []byte }

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.left) == 0 {
		return 0, io.EOF
	}
	time.Sleep(10 * time.Minute)
	n := copy(p, b.left[:min(10, len(b.left))])
	b.left = b.left[n:]
	return n, nil
}

// A provider that takes days for an answer is waited for, and what it says is told whole.
func TestProxySlow(t *testing.T) {
	for _, dialect := range fakemodel.Dialects {
		for _, stream := range []bool{true, false} {
			data := fakemodel.Whole(dialect, hello)
			if stream {
				data = fakemodel.Stream(dialect, hello)
			}
			play(t, func(st *stage) {
				began := time.Now()
				got, broke := st.passBody(dialect, stream, &slowBody{data})
				if broke || !bytes.Equal(got, data) {
					t.Errorf("%s: the client got %q", dialect, got)
				}
				if took, want := time.Since(began), time.Duration((len(data)+9)/10)*10*time.Minute; took != want {
					t.Errorf("%s: the answer took %s, want %s", dialect, took, want)
				}
				st.heard(helloTurn...)
			})
		}
	}
}

// An answer that is cut at any byte reaches the client up to there, with the link broken after it.
// The session ends once: as finished where all of the answer was there, and else as broken off.
func TestProxyCut(t *testing.T) {
	for _, dialect := range fakemodel.Dialects {
		for _, stream := range []bool{true, false} {
			data := fakemodel.Whole(dialect, hello)
			if stream {
				data = fakemodel.Stream(dialect, hello)
			}
			play(t, func(st *stage) {
				for at := 0; at < len(data); at += 17 {
					cut := io.MultiReader(bytes.NewReader(data[:at]), iotest.ErrReader(errors.New("reset")))
					got, broke := st.passBody(dialect, stream, cut)
					if !broke || !bytes.Equal(got, data[:at]) {
						t.Fatalf("%s: of %d bytes the client got %q, broken: %t", dialect, at, got, broke)
					}
				}
				st.p.Shutdown(context.Background())
				begun, ended := 0, 0
				for _, said := range st.toldSoFar() {
					switch {
					case strings.HasPrefix(said, "start: "):
						begun++
					case said == helloTurn[5], said == brokenTurn[5]:
						ended++
					case strings.HasPrefix(said, "failed"), strings.HasPrefix(said, "session."), strings.HasPrefix(said, "cancelled"):
						t.Errorf("%s: a session ended with %q", dialect, said)
					case strings.HasPrefix(said, "say: ") && !strings.HasPrefix("say: Hello there.", said):
						t.Errorf("%s: told %q", dialect, said)
					}
				}
				if want := (len(data) + 16) / 17; begun != want || ended != want {
					t.Errorf("%s: %d sessions began and %d ended, want %d", dialect, begun, ended, want)
				}
			})
		}
	}
}

// A message in twenty thousand parts takes memory in proportion to its length, in a request and in
// an answer.
func TestProxyManyParts(t *testing.T) {
	const n = 20_000
	parts := strings.Repeat(`{"type":"text","text":"word "},`, n-1) + `{"type":"text","text":"end."}`
	answer := `{"choices":[{"index":0,"message":{"role":"assistant","content":[` + parts + `]},"finish_reason":"stop"}]}`
	asks := `{"messages":[{"role":"user","content":[` + parts + `]}]}`
	play(t, func(st *stage) {
		upstream, _ := url.Parse("https://model.example")
		proxy := st.tap.Proxy(upstream, roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Request: r,
				Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer))}, nil
		}))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rec := httptest.NewRecorder()
		proxy.ServeHTTP(rec, rawRequest("/v1/chat/completions", asks))
		if told := st.toldSoFar(); !slices.Contains(told, "session.completed: The agent finished.") {
			t.Errorf("told %.500q", told)
		}
		runtime.ReadMemStats(&after)
		if rec.Body.String() != answer {
			t.Errorf("the client got %d bytes, want %d", rec.Body.Len(), len(answer))
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 400<<20 {
			t.Errorf("%d parts took %d MiB", n, took>>20)
		}
	})
}

// A client that goes away before the answer's head has come ends the provider's work, and the
// session.
func TestProxyClientLeavesEarly(t *testing.T) {
	asked, gone := make(chan struct{}), make(chan struct{})
	f := newProxyFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
		close(gone)
	}))
	ctx, leave := context.WithCancel(t.Context())
	context.AfterFunc(t.Context(), leave)
	go func() { <-asked; leave() }()
	r := request(fakemodel.Chat, true, user("Hi.")).WithContext(ctx)
	at, _ := url.Parse(f.proxy.URL)
	r.URL.Scheme, r.URL.Host, r.Host = at.Scheme, at.Host, ""
	if _, err := f.client.Do(r); !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	<-gone
	f.end("start: Working on a request.", "thinking", "cancelled by producer")
}

// Two answers at once, over one connection of HTTP/2 on each side, piece by piece in turn: each
// client has its own, and each is told in its own session. One of them breaks off, and the other
// goes on.
func TestProxyOneConnection(t *testing.T) {
	whole := fakemodel.Answer{Says: slices.Repeat([]string{"one "}, 20)}
	broken := fakemodel.Answer{Says: slices.Repeat([]string{"two "}, 20), Breaks: true}
	turns := map[string]chan struct{}{"whole": make(chan struct{}, 1), "broken": make(chan struct{}, 1)}
	next := map[string]string{"whole": "broken", "broken": "whole"}
	data := map[string][]byte{}
	connections := make(chan string, 2)
	provider := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections <- r.RemoteAddr
		body, _ := io.ReadAll(r.Body)
		which := "whole"
		if bytes.Contains(body, []byte("broken")) {
			which = "broken"
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range bytes.SplitAfter(data[which], []byte("\n\n")) {
			<-turns[which]
			w.Write(event)
			w.(http.Flusher).Flush()
			select {
			case turns[next[which]] <- struct{}{}:
			default: // the other is over
			}
		}
		if which == "broken" {
			close(turns["whole"]) // which goes on alone
			panic(http.ErrAbortHandler)
		}
	}))
	data["whole"], data["broken"] = fakemodel.Stream(fakemodel.Chat, whole), fakemodel.Stream(fakemodel.Chat, broken)
	provider.EnableHTTP2 = true
	provider.StartTLS()
	f := newProxyBefore(t, provider, provider.Client().Transport)
	overH2 := &http.Transport{Protocols: new(http.Protocols)}
	overH2.Protocols.SetUnencryptedHTTP2(true)
	f.client = &http.Client{Transport: overH2}
	defer f.client.CloseIdleConnections()
	turns["whole"] <- struct{}{} // so the head of the other comes only once this was asked for
	bodies := map[string]*http.Response{}
	for _, which := range []string{"whole", "broken"} {
		bodies[which] = f.begin(f.proxy.URL, request(fakemodel.Chat, true, user(which)))
	}
	for which, resp := range bodies {
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !bytes.Equal(got, data[which]) || (err == nil) != (which == "whole") {
			t.Errorf("the client of %s got %q, %v", which, got, err)
		}
	}
	if first, second := <-connections, <-connections; first != second {
		t.Errorf("the provider has two connections, %s and %s", first, second)
	}
	f.waitTold("say: " + strings.Join(whole.Says, ""))
	f.waitTold("say: " + strings.Join(broken.Says, ""))
	f.waitTold(brokenTurn[5])
	f.waitTold(helloTurn[5])
}
