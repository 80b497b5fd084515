package sse

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/transports"
)

// openRaw opens a subscription by hand and returns its event stream as bytes.
func openRaw(t *testing.T, o ServerOptions, id string) (s *Server, url string, p transports.Resumable, st transports.Stream,
	body io.Reader) {
	t.Helper()
	s, url = serveLoopback(t, o)
	conn := make(chan transports.Resumable, 1)
	go func() { conn <- dealAtOnce(acceptWith(t, s, acceptance(id))) }()
	resp, _ := sendRequest(t, nil, "POST", url+"/aaep/v1/subscriptions", request)
	resp, _ = sendRequest(t, nil, "GET", url+resp.Header.Get("Location"), "", "Last-Event-ID: evt_0")
	p = <-conn
	st = nextStream(t, p)
	if st.LastEventID() != "evt_0" {
		t.Errorf("LastEventID = %q, want evt_0", st.LastEventID())
	}
	return s, url, p, st, resp.Body
}

// The bytes on the wire. SSE-006, D-55, D-64, D-65, D-82, TR-003, TR-004
func TestStreamBytes(t *testing.T) {
	_, url, p, st, body := openRaw(t, ServerOptions{}, "sub_1")
	requireNoError(t, st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(1), ID: "evt_1"}}))
	wantBytes(t, body, "event: aaep.event\nid: evt_1\ndata: "+string(numberedData(1))+"\n\n")
	requireNoError(t, st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(2)}})) // overtook others
	wantBytes(t, body, "event: aaep.event\ndata: "+string(numberedData(2))+"\n\n")
	requireNoError(t, st.SendEvents(t.Context(), []transports.Event{{Message: []byte("{\r\n\"n\":\n3\r}"), ID: "evt\n3"}}))
	wantBytes(t, body, "event: aaep.event\ndata: {\ndata: \"n\":\ndata: 3\ndata: }\n\n")
	requireNoError(t, p.Send(t.Context(), []byte("not JSON"))) // not for a transport to judge
	wantBytes(t, body, "event: aaep.event\ndata: not JSON\n\n")
	if err := st.SendEvents(t.Context(),
		[]transports.Event{{Message: make([]byte, transports.MaxMessage+1), ID: "x"}}); err != transports.ErrTooLarge {
		t.Errorf("SendEvents = %v, want ErrTooLarge", err)
	}
	if err := p.Send(t.Context(), make([]byte, transports.MaxMessage+1)); err != transports.ErrTooLarge {
		t.Errorf("Send = %v, want ErrTooLarge", err)
	}

	// A producer's close: without id, written before Close; then the stream ends and is not found
	// again.
	bye := fmt.Sprintf(closing, "sub_1")
	requireNoError(t, p.Send(t.Context(), []byte(bye)))
	requireNoError(t, p.Close())
	if got := readAll(t, body); got != "event: aaep.event\ndata: "+bye+"\n\n" {
		t.Errorf("at the end the stream has %q, want the close message only", got)
	}
	<-st.Done()
	if err := st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(4), ID: "evt_4"}}); !errors.Is(err,
		transports.ErrInterrupted) {
		t.Errorf("SendEvents = %v, want ErrInterrupted", err)
	}
	if resp, _ := sendRequest(t, nil, "GET", url+"/aaep/v1/events?subscription_id=sub_1", ""); resp.StatusCode != 404 {
		t.Errorf("GET after Close: %d, want 404", resp.StatusCode)
	}
	if resp, _ := sendRequest(t, nil, "POST", url+"/aaep/v1/replies", fmt.Sprintf(renegot, "sub_1")); resp.StatusCode != 404 {
		t.Errorf("renegotiate after Close: %d, want 404", resp.StatusCode)
	}
	for _, err := range []error{p.Send(t.Context(), numberedData(1)), errorOf(p.Receive(t.Context())),
		errorOf(p.NextStream(t.Context()))} {
		if err != transports.ErrClosed {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
	}
	requireNoError(t, p.Close())
}

// errorOf returns the error of a call with two results.
func errorOf[T any](_ T, err error) error { return err }

// A new GET takes over: the old stream is done, its response ends. D-65
func TestStreamReplaced(t *testing.T) {
	_, url, p, old, oldBody := openRaw(t, ServerOptions{}, "sub_1")
	resp, _ := sendRequest(t, nil, "GET", url+"/aaep/v1/events?subscription_id=sub_1", "")
	st := nextStream(t, p)
	<-old.Done()
	if got := readAll(t, oldBody); got != "" {
		t.Errorf("the old stream ended with %q, want nothing", got)
	}
	requireNoError(t, st.SendEvents(t.Context(), []transports.Event{{Message: numberedData(1)}}))
	wantBytes(t, resp.Body, "event: aaep.event\ndata: "+string(numberedData(1))+"\n\n")
	if st.LastEventID() != "" {
		t.Errorf("LastEventID = %q, want none", st.LastEventID())
	}
}

// A stream whose peer went away is done, and Send says that it can come back. TR-011
func TestStreamLost(t *testing.T) {
	_, _, p, st, body := openRaw(t, ServerOptions{}, "sub_1")
	requireNoError(t, body.(io.Closer).Close())
	<-st.Done()
	for l := linkOf(p); ; {
		l.mu.Lock()
		gone := l.stream == nil
		l.mu.Unlock()
		if gone {
			break
		}
		runtime.Gosched() // the handler is on its way out
	}
	if err := p.Send(t.Context(), numberedData(1)); !errors.Is(err, transports.ErrInterrupted) {
		t.Errorf("Send = %v, want ErrInterrupted", err)
	}
	if err := p.Send(t.Context(), fmt.Appendf(nil, closing, "sub_1")); err != nil {
		t.Errorf("Send(close) = %v; want nil, a later GET gets 404", err)
	}
}

// Events arrive in order and unchanged, up to 1 MiB. TR-001, TR-006, TR-020, TR-021
func TestEndToEnd(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	p, sub, st := openPair(t, s, Dialer{URL: url}, "sub_1")
	sizes := []int{64 << 10, 64<<10 + 1, transports.MaxMessage - 1, transports.MaxMessage}
	go func() {
		for i := range 100 {
			if err := st.SendEvents(t.Context(),
				[]transports.Event{{Message: numberedData(i), ID: fmt.Sprint("evt_", i)}}); err != nil {
				t.Errorf("SendEvents: %v", err)
			}
		}
		for _, n := range sizes {
			if err := st.SendEvents(t.Context(), []transports.Event{{Message: padTo(n)}}); err != nil {
				t.Errorf("SendEvents of %d bytes: %v", n, err)
			}
		}
	}()
	for i := range 100 {
		wantMessage(t, sub, string(numberedData(i)))
	}
	for _, n := range sizes {
		wantMessage(t, sub, string(padTo(n)))
	}
	for i := range 20 {
		reply := strings.Replace(fmt.Sprintf(replyTo, "sub_1"), "rpl_1", fmt.Sprint("rpl_", i), 1)
		requireNoError(t, sub.Send(t.Context(), []byte(reply)))
		wantMessage(t, p, reply)
	}
	if err := sub.Send(t.Context(), make([]byte, transports.MaxMessage+1)); err != transports.ErrTooLarge {
		t.Errorf("Send = %v, want ErrTooLarge", err)
	}
	big := fmt.Sprintf(replyTo, "sub_1")
	big = "{" + strings.Repeat(" ", transports.MaxMessage-len(big)) + big[1:]
	requireNoError(t, sub.Send(t.Context(), []byte(big)))
	wantMessage(t, p, big)
}

// The same over TLS and HTTP/2, where stream and replies share a connection. TR-018
func TestHTTP2(t *testing.T) {
	s := NewServer(ServerOptions{})
	protos := make(chan string, 9)
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protos <- r.Proto
		s.ServeHTTP(w, r)
	}))
	ts.EnableHTTP2 = true
	ts.StartTLS()
	t.Cleanup(ts.Close)
	p, sub, st := openPair(t, s, Dialer{URL: ts.URL, Client: ts.Client()}, "sub_1")
	sent := make(chan error, 1)
	go func() {
		sent <- st.SendEvents(t.Context(), []transports.Event{{Message: padTo(transports.MaxMessage), ID: "evt_1"}})
	}()
	wantMessage(t, sub, string(padTo(transports.MaxMessage)))
	requireNoError(t, <-sent)
	reply := fmt.Sprintf(replyTo, "sub_1")
	requireNoError(t, sub.Send(t.Context(), []byte(reply)))
	wantMessage(t, p, reply)
	requireNoError(t, sub.Reopen(t.Context()))
	if st = nextStream(t, p); st.LastEventID() != "evt_1" {
		t.Errorf("LastEventID = %q, want evt_1", st.LastEventID())
	}
	requireNoError(t, p.Close())
	if _, err := sub.Receive(t.Context()); !errors.Is(err, transports.ErrInterrupted) {
		t.Errorf("Receive = %v, want ErrInterrupted", err)
	}
	if err := sub.Reopen(t.Context()); err == nil || errors.Is(err, transports.ErrInterrupted) {
		t.Errorf("Reopen = %v, want an error for good", err)
	}
	requireNoError(t, sub.Close())
	for len(protos) > 0 {
		if proto := <-protos; proto != "HTTP/2.0" {
			t.Errorf("spoke %s, want HTTP/2.0", proto)
		}
	}
}

// Renegotiation is answered in the response to its POST. D-54, D-55
func TestRenegotiate(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	p, sub, _ := openPair(t, s, Dialer{URL: url}, "sub_1")
	ask := fmt.Sprintf(renegot, "sub_1")
	answers := [][]byte{acceptance("sub_1"), rejection("capabilities_incompatible", 0)}
	for _, a := range answers {
		sent := make(chan error, 1)
		go func() { sent <- sub.Send(t.Context(), []byte(ask)) }()
		wantMessage(t, p, ask)
		if err := p.Send(t.Context(), acceptance("sub_2")); err == nil {
			t.Error("a renegotiated subscription got another id")
		}
		requireNoError(t, p.Send(t.Context(), a))
		requireNoError(t, <-sent)
		wantMessage(t, sub, string(a))
	}
	// An answer that is not asked for, or no longer, comes on the stream.
	requireNoError(t, p.Send(t.Context(), answers[0]))
	wantMessage(t, sub, string(answers[0]))

	done := make(chan struct{})
	go func() { defer close(done); wantMessage(t, p, ask); requireNoError(t, p.Send(t.Context(), answers[0])) }()
	resp, body := sendRequest(t, nil, "POST", url+"/aaep/v1/replies", ask)
	<-done
	if resp.StatusCode != 200 || body != string(answers[0]) || resp.Header.Get("Location") != "" {
		t.Errorf("%d %q, want 200 and the accepted message", resp.StatusCode, body)
	}
	if resp, body := sendRequest(t, nil, "POST", url+"/aaep/v1/replies",
		fmt.Sprintf(renegot, "sub_2")); resp.StatusCode != 404 || strings.Contains(body, "rejected") {
		t.Errorf("unknown subscription: %d %s, want 404 and no subscription.rejected", resp.StatusCode, body)
	}
}

// Several renegotiations at once: every one gets its own answer, and ending answers the rest.
func TestRenegotiateAtOnce(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	p, sub, _ := openPair(t, s, Dialer{URL: url}, "sub_1")
	const n = 8
	sent := make(chan error, n+1)
	for range n {
		go func() { sent <- sub.Send(t.Context(), fmt.Appendf(nil, renegot, "sub_1")) }()
	}
	for range n {
		wantMessage(t, p, fmt.Sprintf(renegot, "sub_1"))
		requireNoError(t, p.Send(t.Context(), acceptance("sub_1")))
		wantMessage(t, sub, string(acceptance("sub_1")))
	}
	for range n {
		requireNoError(t, <-sent)
	}
	go func() { sent <- sub.Send(t.Context(), fmt.Appendf(nil, renegot, "sub_1")) }()
	wantMessage(t, p, fmt.Sprintf(renegot, "sub_1"))
	requireNoError(t, p.Close())
	if err := <-sent; err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("renegotiation of a closed subscription: %v, want status 404", err)
	}
}

// The first answer must be an answer, under an id of its own.
func TestFirstAnswer(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	openPair(t, s, Dialer{URL: url}, "sub_1")
	sub := dialConn(t, Dialer{URL: url})
	sent := make(chan error, 1)
	go func() { sent <- sub.Send(t.Context(), []byte(request)) }()
	p, err := s.Accept(t.Context())
	requireNoError(t, err)
	defer p.Close()
	for _, msg := range [][]byte{numberedData(1), []byte("{"), acceptance("sub_1")} {
		if err := p.Send(t.Context(), msg); err == nil {
			t.Errorf("Send(%s) as the first answer: nil error", msg)
		}
	}
	requireNoError(t, p.Send(t.Context(), acceptance("sub_2")))
	requireNoError(t, <-sent)
}

// A subscriber's close: delivered, then EOF; the subscription is unknown at once. D-38, D-55
func TestSubscriberCloses(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	p, sub, _ := openPair(t, s, Dialer{URL: url}, "sub_1")
	bye := fmt.Sprintf(closing, "sub_1")
	requireNoError(t, sub.Send(t.Context(), []byte(bye)))
	wantMessage(t, p, bye)
	for range 2 {
		if _, err := p.Receive(t.Context()); err != io.EOF {
			t.Errorf("Receive = %v, want EOF", err)
		}
	}
	var statuses []int
	for _, at := range []string{"GET /events?subscription_id=sub_1", "POST /replies"} {
		method, path, _ := strings.Cut(at, " ")
		body := ""
		if method == "POST" {
			body = fmt.Sprintf(renegot, "sub_1")
		}
		resp, _ := sendRequest(t, nil, method, url+"/aaep/v1"+path, body)
		statuses = append(statuses, resp.StatusCode)
	}
	if !slices.Equal(statuses, []int{404, 404}) {
		t.Errorf("after the close: %v, want 404", statuses)
	}
	requireNoError(t, p.Close())
	if _, err := sub.Receive(t.Context()); err != io.EOF {
		t.Errorf("the subscriber's Receive = %v, want EOF", err)
	}
	if err := sub.Reopen(t.Context()); err == nil || errors.Is(err, transports.ErrInterrupted) {
		t.Errorf("Reopen = %v, want an error for good", err)
	}
}
