package sse

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/transports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	request = `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"reader-1","capabilities":{}}`
	replyTo = `{"type":"confirmation.reply","reply_token":"rpl_1","decision":"accept","subscription_id":%q,"timestamp":"2026-05-24T14:22:25.000Z"}`
	clarify = `{"type":"clarification.reply","reply_token":"rpl_2","response":"yes","subscription_id":%q,"timestamp":"2026-05-24T14:22:25.000Z"}`
	renegot = `{"type":"subscription.renegotiate","subscription_id":%q,"capabilities":{"preferred_verbosity":"terse"}}`
	closing = `{"type":"subscription.close","subscription_id":%q,"reason_code":"subscriber_shutdown","reason_message":"bye"}`
)

// acceptance returns a subscription.accepted with this id.
func acceptance(id string) []byte {
	return fmt.Appendf(nil,
		`{"type":"subscription.accepted","subscription_id":%q,"aaep_version":"1.0.0",`+
			`"producer":{"agent_id":"agent"},"honored_capabilities":{"preferred_verbosity":"normal"}}`, id)
}

// rejection returns a subscription.rejected with this reason, and when to come again, in seconds; 0
// is never.
func rejection(code string, retry int) []byte {
	extra := ""
	if retry > 0 {
		extra = fmt.Sprintf(`,"retry_after_seconds":%d`, retry)
	}
	return fmt.Appendf(nil, `{"type":"subscription.rejected","reason_code":%q,"reason_message":"no"%s}`, code, extra)
}

// numberedData is data that looks like an event; this package does not look closer.
func numberedData(n int) []byte { return fmt.Appendf(nil, `{"type":"aaep:x","n":%d}`, n) }

// byName authenticates "Authorization: Bearer name"; mallory may do nothing.
func byName(r *http.Request) (string, error) {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok || name == "":
		return "", fmt.Errorf("no bearer token")
	case name == "mallory":
		return "", fmt.Errorf("policy: %w", aaep.AuthorizationDenied)
	}
	return name, nil
}

// serveLoopback runs a Server on loopback.
func serveLoopback(t *testing.T, o ServerOptions) (*Server, string) {
	t.Helper()
	s := NewServer(o)
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		_ = s.Close()
		ts.CloseClientConnections()
		ts.Close()
	})
	return s, ts.URL
}

// dialConn makes a subscriber's Conn that is closed at the end of the test.
func dialConn(t *testing.T, d Dialer) transports.Reopener {
	t.Helper()
	c, err := d.Dial(t.Context())
	requireNoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c.(transports.Reopener)
}

// acceptWith takes the next subscription and answers it.
func acceptWith(t *testing.T, s *Server, answer []byte) transports.Resumable {
	t.Helper()
	c, err := s.Accept(withinAMinute(t))
	requireNoError(t, err)
	msg, err := c.Receive(withinAMinute(t))
	requireNoError(t, err)
	if string(msg) != request {
		t.Errorf("Receive = %q, want the request unchanged", msg)
	}
	requireNoError(t, c.Send(withinAMinute(t), answer))
	t.Cleanup(func() { _ = c.Close() })
	return c.(transports.Resumable)
}

// prompt is a producer that deals with each message at once, as real ones do: a POST is answered
// when the producer asks for the next message.
type prompt struct {
	transports.Resumable
	got chan []byte
	end error // valid once got is closed
}

// dealAtOnce returns the producer's Conn c as one that deals with each message at once.
func dealAtOnce(c transports.Resumable) *prompt {
	p := &prompt{Resumable: c, got: make(chan []byte, 1024)}
	go func() {
		for {
			msg, err := c.Receive(context.Background())
			if err != nil {
				p.end = err
				close(p.got)
				return
			}
			p.got <- msg
		}
	}()
	return p
}

// Principal names the peer, as the link does.
func (p *prompt) Principal() string { return p.Resumable.(transports.Identified).Principal() }

// Receive returns the next message, which the link counts as dealt with already.
func (p *prompt) Receive(ctx context.Context) ([]byte, error) {
	select {
	case msg, ok := <-p.got:
		if !ok {
			return nil, p.end
		}
		return msg, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// openPair opens a subscription end to end, with its first stream.
func openPair(t *testing.T, s *Server, d Dialer, id string) (transports.Resumable, transports.Reopener, transports.Stream) {
	t.Helper()
	sub := dialConn(t, d)
	p := openSubscription(t, s, sub, id)
	return p, sub, nextStream(t, p)
}

// openSubscription sends a request on sub and accepts it under id; it returns the producer's Conn.
func openSubscription(t *testing.T, s *Server, sub transports.Conn, id string) transports.Resumable {
	t.Helper()
	sent := make(chan error, 1)
	go func() { sent <- sub.Send(withinAMinute(t), []byte(request)) }()
	p := acceptWith(t, s, acceptance(id))
	requireNoError(t, <-sent)
	wantMessage(t, sub, string(acceptance(id)))
	return dealAtOnce(p)
}

// nextStream returns the producer's next stream.
func nextStream(t *testing.T, p transports.Resumable) transports.Stream {
	t.Helper()
	st, err := p.NextStream(withinAMinute(t))
	requireNoError(t, err)
	return st
}

// withinAMinute ends within a minute: what a test waits for comes sooner, or never.
func withinAMinute(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// wantMessage receives a message, which must be want.
func wantMessage(t *testing.T, c transports.Conn, want string) {
	t.Helper()
	got, err := c.Receive(withinAMinute(t))
	requireNoError(t, err)
	if string(got) != want {
		t.Fatalf("Receive = %.200q, want %.200q", got, want)
	}
}

// requireNoError ends the test if err is not nil.
func requireNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sendRequest sends one raw HTTP request; header lines are "Name: value".
func sendRequest(t *testing.T, c *http.Client, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	requireNoError(t, err)
	if body == "" {
		req.Body, req.GetBody = nil, nil
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		case name == "Origin", name == lastEventID:
			req.Header.Add(name, value)
		default:
			req.Header.Set(name, value)
		}
	}
	if c == nil {
		tr := &http.Transport{DisableKeepAlives: true}
		c = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	}
	resp, err := c.Do(req)
	requireNoError(t, err)
	if resp.Header.Get("Content-Type") == streamType {
		t.Cleanup(func() { resp.Body.Close() })
		return resp, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	requireNoError(t, err)
	return resp, string(b)
}

// wantBytes reads exactly want from a stream.
func wantBytes(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(r, got)
	if err != nil || string(got) != want {
		t.Fatalf("stream has %.300q, %v; want %.300q", got[:n], err, want)
	}
}

// reasonOf returns the reason_code of body, which must be a subscription.rejected.
func reasonOf(t *testing.T, body string) string {
	t.Helper()
	var m struct {
		Type   string `json:"type"`
		Reason string `json:"reason_code"`
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.Type != "subscription.rejected" {
		t.Errorf("body %q is not a subscription.rejected", body)
	}
	return m.Reason
}

// serveInMemory serves h in memory; the client reaches it as http://localhost.
func serveInMemory(t *testing.T, h http.Handler) *http.Client {
	t.Helper()
	return serveInMemoryWith(t, &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second})
}

// serveInMemoryWith is serveInMemory, over the protocols of the server.
func serveInMemoryWith(t *testing.T, srv *http.Server) *http.Client {
	t.Helper()
	l := memnet.Listen()
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		<-served
	})
	client := l.Client(t)
	client.Transport.(*http.Transport).Protocols = srv.Protocols
	return client
}

// padTo returns a message of n bytes.
func padTo(n int) []byte {
	b := []byte(`{"type":"aaep:x","pad":"`)
	return append(append(b, bytes.Repeat([]byte("a"), n-len(b)-2)...), `"}`...)
}

// readAll returns all that comes from r.
func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	requireNoError(t, err)
	return string(b)
}

// linkOf returns the link below a prompt.
func linkOf(p transports.Resumable) *link { return p.(*prompt).Resumable.(*link) }
