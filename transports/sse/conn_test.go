package sse

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/transports"
)

// producer is a stand-in whose endpoints a test writes itself; nil ones answer as a good one would.
type producer struct {
	location              string
	subscriptions, events http.HandlerFunc
	replies               http.HandlerFunc
}

// serveStandIn serves the stand-in on loopback until the test ends, and returns its URL.
func (p producer) serveStandIn(t *testing.T) string {
	t.Helper()
	h := http.NewServeMux()
	or := func(f, def http.HandlerFunc) http.HandlerFunc {
		if f != nil {
			return f
		}
		return def
	}
	h.HandleFunc("/aaep/v1/subscriptions", or(p.subscriptions, func(w http.ResponseWriter, _ *http.Request) {
		if p.location != "" {
			w.Header().Set("Location", p.location)
		}
		w.WriteHeader(201)
		_, _ = w.Write(acceptance("sub_1"))
	}))
	h.HandleFunc("/", or(p.events, func(w http.ResponseWriter, r *http.Request) {
		beginStream(w, "")
		<-r.Context().Done()
	}))
	h.HandleFunc("/aaep/v1/replies", or(p.replies, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }))
	ts := httptest.NewServer(h)
	t.Cleanup(func() { ts.CloseClientConnections(); ts.Close() })
	return ts.URL
}

// beginStream writes the head of an event stream, and body as its beginning.
func beginStream(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/event-stream;charset=utf-8")
	_, _ = io.WriteString(w, body)
	_ = http.NewResponseController(w).Flush()
}

// dialAccepted sends the request and receives the acceptance.
func (p producer) dialAccepted(t *testing.T, h http.Header) (transports.Reopener, string) {
	t.Helper()
	url := p.serveStandIn(t)
	c := dialConn(t, Dialer{URL: url, Header: h})
	requireNoError(t, c.Send(t.Context(), []byte(request)))
	wantMessage(t, c, string(acceptance("sub_1")))
	return c, url
}

// What a stream request and a reply carry; an odd Location is followed. SSE-005, SSE-009, SSE-015
func TestRequestHeaders(t *testing.T) {
	got := make(chan *http.Request, 3)
	p := producer{
		location: "/odd/path?x=1#here",
		events: func(w http.ResponseWriter, r *http.Request) {
			got <- r
			beginStream(w, "")
			<-r.Context().Done()
		},
		replies: func(w http.ResponseWriter, r *http.Request) { got <- r; w.WriteHeader(204) },
	}
	c, _ := p.dialAccepted(t, http.Header{"Authorization": {"Bearer a"}, "Accept": {"x/y"}})
	r := <-got
	if r.Method != "GET" || r.URL.String() != "/odd/path?x=1" || r.Header.Get("Accept") != "text/event-stream" ||
		r.Header.Get("Cache-Control") != "no-cache" || r.Header.Get("Authorization") != "Bearer a" ||
		r.Header["Last-Event-Id"] != nil {
		t.Errorf("stream request %s %s %v", r.Method, r.URL, r.Header)
	}
	requireNoError(t, c.Send(t.Context(), fmt.Appendf(nil, replyTo, "sub_1")))
	r = <-got
	if r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" ||
		r.Header.Get("Authorization") != "Bearer a" {
		t.Errorf("reply %s %v", r.Method, r.Header)
	}
}

// Without a Location the stream is where B.1 says. The data of any event counts, if it is an
// object. SSE-008
func TestReceiveWhatIsAnObject(t *testing.T) {
	p := producer{events: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/aaep/v1/events?subscription_id=sub_1" {
			t.Errorf("GET %s", r.URL)
		}
		beginStream(w, "event: other\nid: e1\ndata: {\"a\":\"\xff\"}\n\ndata: text\n\ndata:\n\ndata:  \ndata: {}\n\n"+
			"id: e2\ndata: {"+strings.Repeat(" ", transports.MaxMessage)+"}\n\ndata: {\"b\":1}\n\n")
		<-r.Context().Done()
	}}
	c, _ := p.dialAccepted(t, nil)
	for _, want := range []string{"{\"a\":\"\xff\"}", " \n{}", `{"b":1}`} {
		wantMessage(t, c, want)
	}
}

// Where no answer said where the stream is and it is not where B.1 says, the error says that.
// SSE-005
func TestStreamNotFoundWithoutLocation(t *testing.T) {
	for at, want := range map[string]string{"": "no Location", "/elsewhere": "has ended"} {
		p := producer{location: at, events: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }}
		c, _ := p.dialAccepted(t, nil)
		if _, err := c.Receive(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with Location %q: %v, want one with %q", at, err, want)
		}
	}
}

// ENV-063: an event that is dropped for its size is told to an operator, with the reason, and costs
// only itself.
func TestTooLargeIsLogged(t *testing.T) {
	var logged strings.Builder
	p := producer{events: func(w http.ResponseWriter, r *http.Request) {
		beginStream(w, "data: {"+strings.Repeat(" ", transports.MaxMessage)+"}\n\ndata: {\"after\":1}\n\n")
		<-r.Context().Done()
	}}
	c := dialConn(t, Dialer{URL: p.serveStandIn(t), Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	requireNoError(t, c.Send(t.Context(), []byte(request)))
	wantMessage(t, c, string(acceptance("sub_1")))
	wantMessage(t, c, `{"after":1}`)
	requireNoError(t, c.Close())
	if got := logged.String(); strings.Count(got, "event dropped") != 1 ||
		!strings.Contains(got, transports.ErrTooLarge.Error()) {
		t.Errorf("logged %q", got)
	}
}

// A cancelled Receive loses nothing.
func TestReceiveCancelled(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	p, sub, st := openPair(t, s, Dialer{URL: url}, "sub_1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	go func() {
		for i := range 50 {
			_ = st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(i)}})
		}
	}()
	for i := 0; i < 50; {
		msg, err := sub.Receive(ctx)
		if err != nil {
			msg, err = sub.Receive(t.Context())
		}
		if err != nil || string(msg) != string(numberedData(i)) {
			t.Fatalf("Receive = %q, %v; want event %d", msg, err, i)
		}
		i++
	}
	if _, err := p.Receive(ctx); err != context.Canceled {
		t.Errorf("Receive = %v, want context.Canceled", err)
	}
	if _, err := p.NextStream(ctx); err != context.Canceled {
		t.Errorf("NextStream = %v, want context.Canceled", err)
	}
	if err := st.SendEvents(ctx, []transports.Event{{Message: numberedData(1)}}); err != context.Canceled {
		t.Errorf("SendEvents = %v, want context.Canceled", err)
	}
}

// What a producer may answer to the request. D-56
func TestRequestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string // "" for an error of Send
	}{
		{"rejected", 422, string(rejection("version_unsupported", 0)), string(rejection("version_unsupported", 0))},
		{"rejected with 200", 200, string(rejection("unknown", 0)), string(rejection("unknown", 0))},
		{"a web page", 200, "<html>", ""},
		{"another message", 201, string(numberedData(1)), ""},
		{"nothing", 404, "", ""},
		{"too large", 201, string(padTo(transports.MaxMessage + 1)), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := producer{subscriptions: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}}
			c := dialConn(t, Dialer{URL: p.serveStandIn(t)})
			err := c.Send(t.Context(), []byte(request))
			if tt.want == "" {
				if err == nil || !strings.Contains(err.Error(), fmt.Sprint(tt.status)) ||
					!strings.Contains(err.Error(), "want 201") {
					t.Errorf("Send = %v; want status %d and what was expected", err, tt.status)
				}
				return
			}
			requireNoError(t, err)
			wantMessage(t, c, tt.want)
			if _, err := c.Receive(t.Context()); err != io.EOF {
				t.Errorf("Receive = %v, want EOF", err)
			}
			if err := c.Send(t.Context(), []byte(request)); err == nil {
				t.Error("a second request was taken")
			}
		})
	}
}

// What came of a reply, as far as this side can know. D-36
func TestReplyErrors(t *testing.T) {
	p := producer{replies: func(w http.ResponseWriter, r *http.Request) {
		switch b, _ := io.ReadAll(r.Body); {
		case strings.Contains(string(b), "clarification"):
			http.Error(w, "bad \x1b[31m reply", http.StatusBadRequest)
		case strings.Contains(string(b), "confirmation"):
			panic(http.ErrAbortHandler)
		case strings.Contains(string(b), "renegotiate"):
			w.WriteHeader(422)
			_, _ = w.Write(rejection("capabilities_incompatible", 0))
		default:
			_, _ = w.Write([]byte(`{"status":"received"}`))
		}
	}}
	c, _ := p.dialAccepted(t, nil)
	requireNoError(t, c.Send(t.Context(), []byte(`{"any":"thing"}`)))
	err := c.Send(t.Context(), fmt.Appendf(nil, clarify, "sub_1"))
	if err == nil || !strings.Contains(err.Error(), "not delivered: status 400") ||
		strings.Contains(err.Error(), "\x1b") {
		t.Errorf("Send = %v, want not delivered: status 400", err)
	}
	err = c.Send(t.Context(), fmt.Appendf(nil, replyTo, "sub_1"))
	if err == nil || !strings.Contains(err.Error(), "unknown whether") {
		t.Errorf("Send = %v, want that its fate is unknown", err)
	}
	requireNoError(t, c.Send(t.Context(), fmt.Appendf(nil, renegot, "sub_1")))
	wantMessage(t, c, string(rejection("capabilities_incompatible", 0)))

	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c = dialConn(t, Dialer{URL: gone.URL})
	if err := c.Send(t.Context(), []byte(request)); err == nil ||
		!strings.Contains(err.Error(), "sse: not delivered: dial tcp 127.0.0.1:") {
		t.Errorf("Send = %v, want not delivered", err)
	}
}

// The order of things on a new Conn, and that Close ends it all.
func TestConnBeforeAndAfter(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	c := dialConn(t, Dialer{URL: url})
	if err := c.Reopen(t.Context()); err == nil {
		t.Error("Reopen of nothing: nil error")
	}
	if err := c.Send(t.Context(), numberedData(1)); err == nil || !strings.Contains(err.Error(), "subscription.request") {
		t.Errorf("Send of an event first: %v", err)
	}
	openSubscription(t, s, c, "sub_1")
	result := make(chan error, 1)
	go func() { _, err := c.Receive(t.Context()); result <- err }()
	requireNoError(t, c.Close())
	requireNoError(t, c.Close())
	for _, err := range []error{<-result, errorOf(c.Receive(t.Context())), c.Send(t.Context(), numberedData(1)),
		c.Reopen(t.Context())} {
		if err != transports.ErrClosed {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
	}
}

// Close unblocks a Send that waits for its answer.
func TestCloseUnblocksSend(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	c := dialConn(t, Dialer{URL: url})
	sent := make(chan error, 1)
	go func() { sent <- c.Send(t.Context(), []byte(request)) }()
	p, err := s.Accept(t.Context())
	requireNoError(t, err)
	if err := c.Send(t.Context(), []byte(request)); err == nil {
		t.Error("a second request while one is under way: nil error")
	}
	requireNoError(t, c.Close())
	if err := <-sent; err != transports.ErrClosed {
		t.Errorf("Send = %v, want ErrClosed", err)
	}
	wantMessage(t, p, request)
	if _, err := p.Receive(t.Context()); err == nil {
		t.Error("the producer's Conn lives on without its subscriber")
	}
}

// A producer's close is a clean end. D-55
func TestProducerCloses(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	p, sub, _ := openPair(t, s, Dialer{URL: url}, "sub_1")
	bye := fmt.Sprintf(closing, "sub_1")
	requireNoError(t, p.Send(t.Context(), []byte(bye)))
	wantMessage(t, sub, bye)
	if _, err := sub.Receive(t.Context()); err != io.EOF {
		t.Errorf("Receive = %v, want EOF", err)
	}
	requireNoError(t, p.Close())
}
