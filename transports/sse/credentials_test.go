package sse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aaep-go/aaep/transports"
)

// rotateTokens gives a token after the other, and stays at the last.
func rotateTokens(tokens ...string) (give func(context.Context) (http.Header, error), asked *atomic.Int32) {
	asked = new(atomic.Int32)
	return func(context.Context) (http.Header, error) {
		n := min(int(asked.Add(1)), len(tokens)) - 1
		if tokens[n] == "" {
			return nil, errors.New("the file is gone")
		}
		return http.Header{"authorization": {"Bearer " + tokens[n]}}, nil
	}, asked
}

// knows accepts one token and notes what came.
type knows struct {
	token string
	came  chan string // method, path and token of each request
	then  http.HandlerFunc
}

// ServeHTTP notes the request, and serves it if it has the token.
func (k knows) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got := strings.Join(r.Header.Values("Authorization"), "|")
	body, _ := io.ReadAll(r.Body)
	k.came <- fmt.Sprintf("%s %s %d", r.Method, got, len(body))
	if got != "Bearer "+k.token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	k.then(w, r)
}

// Each request has the credentials of its moment, in the place of fixed ones. INV-49
func TestCredentialsOfTheMoment(t *testing.T) {
	came := make(chan string, 10)
	stream := func(w http.ResponseWriter, r *http.Request) { beginStream(w, ""); <-r.Context().Done() }
	ok := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = io.WriteString(w, body) }
	}
	give, _ := rotateTokens("one", "two", "three")
	d := Dialer{Credentials: give, Header: http.Header{"Authorization": {"Bearer fixed"}}, URL: producer{
		subscriptions: knows{"one", came, ok(201, string(acceptance("sub_1")))}.ServeHTTP,
		events:        knows{"two", came, stream}.ServeHTTP,
		replies:       knows{"three", came, ok(204, "")}.ServeHTTP,
	}.serveStandIn(t)}
	c := dialConn(t, d)
	requireNoError(t, c.Send(t.Context(), []byte(request)))
	wantMessage(t, c, string(acceptance("sub_1")))
	for _, want := range []string{fmt.Sprintf("POST Bearer one %d", len(request)), "GET Bearer two 0"} {
		if got := <-came; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	requireNoError(t, c.Send(t.Context(), fmt.Appendf(nil, replyTo, "sub_1")))
	if got := <-came; !strings.HasPrefix(got, "POST Bearer three") {
		t.Errorf("%s, want the third token", got)
	}
}

// After a 401 a request is sent once more, whole, if there are other credentials by then; and never
// twice more. INV-52
func TestFreshCredentialsAfter401(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tokens []string
		want   []string
		err    bool
	}{
		{"fresh ones", []string{"old", "new"}, []string{"old", "new"}, false},
		{"the same", []string{"old", "old", "new"}, []string{"old"}, true},
		{"fresh ones, no better", []string{"old", "older", "new"}, []string{"old", "older"}, true},
		{"none any more", []string{"old", "", "new"}, []string{"old"}, true},
	} {
		for _, kind := range []string{"reply", "stream"} {
			t.Run(tt.name+"/"+kind, func(t *testing.T) {
				came := make(chan string, 10)
				var enter atomic.Bool // at first everyone is let in
				guarded := func(then http.HandlerFunc) http.HandlerFunc {
					return func(w http.ResponseWriter, r *http.Request) {
						if !enter.Load() {
							then(w, r)
							return
						}
						knows{"new", came, then}.ServeHTTP(w, r)
					}
				}
				var give atomic.Pointer[func(context.Context) (http.Header, error)]
				first, _ := rotateTokens("first")
				give.Store(&first)
				c := dialConn(t, Dialer{
					URL: producer{
						events: guarded(func(w http.ResponseWriter, r *http.Request) {
							beginStream(w, "data: {}\n\n")
							<-r.Context().Done()
						}),
						replies: guarded(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }),
					}.serveStandIn(t),
					Credentials: func(ctx context.Context) (http.Header, error) { return (*give.Load())(ctx) },
				})
				requireNoError(t, c.Send(t.Context(), []byte(request)))
				wantMessage(t, c, string(acceptance("sub_1")))
				wantMessage(t, c, "{}")
				enter.Store(true)
				second, _ := rotateTokens(tt.tokens...)
				give.Store(&second)
				reply := fmt.Appendf(nil, replyTo, "sub_1")
				var err error
				size := 0
				if kind == "reply" {
					err, size = c.Send(t.Context(), reply), len(reply)
				} else {
					err = c.Reopen(t.Context())
				}
				if (err != nil) != tt.err || errors.Is(err, transports.ErrInterrupted) {
					t.Errorf("%v, want an error: %v", err, tt.err)
				}
				for _, token := range tt.want {
					if got := <-came; !strings.HasSuffix(got, fmt.Sprintf(" Bearer %s %d", token, size)) {
						t.Errorf("got %s, want %s with %d bytes", got, token, size)
					}
				}
				if len(came) > 0 {
					t.Errorf("one request too many: %s", <-came)
				}
			})
		}
	}
}

// Without credentials nothing is sent. A stream may be tried again, for a file may come back.
func TestNoCredentials(t *testing.T) {
	give, _ := rotateTokens("one", "two", "")
	c := dialConn(t, Dialer{URL: producer{}.serveStandIn(t), Credentials: give})
	requireNoError(t, c.Send(t.Context(), []byte(request)))
	wantMessage(t, c, string(acceptance("sub_1")))
	for { // until the first stream has asked
		err := c.Send(t.Context(), fmt.Appendf(nil, replyTo, "sub_1"))
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), "not delivered") || !strings.Contains(err.Error(), "the file is gone") {
			t.Errorf("Send = %v, want not delivered, and why", err)
		}
		break
	}
	if err := c.Reopen(t.Context()); !errors.Is(err, transports.ErrInterrupted) ||
		!strings.Contains(err.Error(), "the file is gone") {
		t.Errorf("Reopen = %v, want one that may be tried again", err)
	}
}

// Credentials leave this machine encrypted or not at all. TR-018, INV-49
func TestCredentialsInClear(t *testing.T) {
	give, asked := rotateTokens("one")
	for url, ok := range map[string]bool{"http://bank.example": false, "http://10.0.0.1:80": false,
		"https://bank.example": true, "http://127.0.0.1:1": true, "http://localhost": true} {
		c, err := Dialer{URL: url, Credentials: give}.Dial(t.Context())
		if (err == nil) != ok {
			t.Errorf("%s: %v, want allowed: %v", url, err, ok)
		}
		if err == nil {
			requireNoError(t, c.Close())
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("credentials were asked for %d times before anything was sent", n)
	}
	if _, err := (Dialer{URL: "https://bank.example", Client: &http.Client{}, TLS: &tls.Config{}}).Dial(
		t.Context()); err == nil {
		t.Error("a Client and TLS: one of them would not be used")
	}
	if conf := ownTransport(&tls.Config{MinVersion: tls.VersionTLS10,
		ServerName: "x"}).TLSClientConfig; conf.MinVersion != tls.VersionTLS12 || conf.ServerName != "x" {
		t.Errorf("TLS from %x, for %q", conf.MinVersion, conf.ServerName)
	}
}

// A redirect within the origin keeps the credentials, one that leaves it gets none: there is no
// request. INV-49
func TestCredentialsOverRedirect(t *testing.T) {
	elsewhere := producer{events: func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("left: %v", r.Header)
	}}.serveStandIn(t)
	give, _ := rotateTokens("one")
	c := dialConn(t, Dialer{Credentials: give, URL: producer{events: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"/aaep/v1/events", http.StatusTemporaryRedirect)
	}}.serveStandIn(t)})
	requireNoError(t, c.Send(t.Context(), []byte(request)))
	wantMessage(t, c, string(acceptance("sub_1")))
	if _, err := c.Receive(t.Context()); err == nil || !strings.Contains(err.Error(), "another origin") {
		t.Errorf("Receive = %v, want the redirect refused", err)
	}
}
