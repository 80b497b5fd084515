package auth_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

const (
	request     = `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"reader-1","capabilities":{}}`
	accepted    = `{"type":"subscription.accepted","subscription_id":"sub_1","aaep_version":"1.0.0","producer":{"agent_id":"agent"},"honored_capabilities":{}}`
	reply       = `{"type":"confirmation.reply","reply_token":"rpl_1","decision":"accept","subscription_id":"sub_1","timestamp":"2026-05-24T14:22:25.000Z"}`
	renegotiate = `{"type":"subscription.renegotiate","subscription_id":"sub_1","capabilities":{}}`
	closing     = `{"type":"subscription.close","subscription_id":"sub_1","reason_code":"subscriber_shutdown","reason_message":"bye"}`
)

// site is a listener over TLS.
type site struct {
	url   string
	trust *ca
	sse   *sse.Server
	cut   func()
}

// newSite serves Server-Sent Events and WebSockets over TLS, to clients whose certificates clients
// has signed.
func newSite(t *testing.T, who auth.Authenticator, clients *ca, journal *journal) *site {
	t.Helper()
	s := &site{trust: newCA(t, "servers")}
	cert, key := s.trust.pairOf(t, host, x509.ExtKeyUsageServerAuth)
	conf, err := auth.ServerTLS(cert, key, clients.file, journal.logger())
	requireNoError(t, err)
	s.sse = sse.NewServer(sse.ServerOptions{Authenticate: who, Logger: journal.logger()})
	ws := websocket.NewServer(websocket.ServerOptions{Authenticate: who, Logger: journal.logger()})
	mux := http.NewServeMux()
	mux.Handle("/aaep/v1/", s.sse)
	mux.Handle(websocket.DefaultPath, ws)
	srv := httptest.NewUnstartedServer(mux)
	srv.TLS, srv.EnableHTTP2, srv.Config.ErrorLog = conf, true, log.New(journal, "", 0)
	srv.StartTLS()
	s.url, s.cut = srv.URL, srv.CloseClientConnections
	t.Cleanup(func() { _, _ = s.sse.Close(), ws.Close(); srv.CloseClientConnections(); srv.Close() })
	return s
}

// clientTLS returns the configuration of a client that trusts the site and shows the certificate in
// certFile.
func (s *site) clientTLS(t *testing.T, certFile, keyFile string) *tls.Config {
	t.Helper()
	conf, err := auth.ClientTLS(s.trust.file, certFile, keyFile, nil)
	requireNoError(t, err)
	return conf
}

// subscribe makes a subscription; its producer deals with each message at once and answers
// renegotiations.
func (s *site) subscribe(t *testing.T, d sse.Dialer) (sub transports.Reopener, producer transports.Resumable,
	got chan string) {
	t.Helper()
	c, err := d.Dial(t.Context())
	requireNoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	sent := make(chan error, 1)
	go func() { sent <- c.Send(t.Context(), []byte(request)) }()
	p, err := s.sse.Accept(t.Context())
	requireNoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	got = make(chan string, 100)
	go func() {
		for {
			msg, err := p.Receive(context.Background())
			if err != nil {
				return
			}
			if m, _ := aaep.Decode(msg); m != nil && m.MessageType() != "confirmation.reply" {
				_ = p.Send(context.Background(), []byte(accepted))
			}
			got <- string(msg)
		}
	}()
	requireNoError(t, <-sent)
	wantMessage(t, c, accepted)
	<-got
	return c.(transports.Reopener), p.(transports.Resumable), got
}

// wantMessage receives a message, which must be msg.
func wantMessage(t *testing.T, c transports.Conn, msg string) {
	t.Helper()
	got, err := c.Receive(t.Context())
	if err != nil || string(got) != msg {
		t.Fatalf("Receive = %.200q, %v; want %.200q", got, err, msg)
	}
}

// A token or a certificate changes on both sides while a subscription lives: no connection is
// dropped, the old one is good for nothing, and the subscription is still its principal's alone.
// TR-015, SEC-016, INV-43, T1, T8
func TestRotationUnderASubscription(t *testing.T) {
	clients := newCA(t, "clients")
	for _, kind := range []string{"token", "certificate"} {
		t.Run(kind, func(t *testing.T) {
			journal := &journal{}
			theirs := newFile(t, "ada "+tokenA+"\nbob "+tokenB)
			tokens, err := auth.TokenFile(theirs, journal.logger())
			requireNoError(t, err)
			s := newSite(t, auth.Any(auth.ClientCertificate, tokens), clients, journal)

			ada := names{uris: []string{"spiffe://bank.example/ada"}}
			mine := newFile(t, tokenA)
			cert, key := "", ""
			d := sse.Dialer{URL: s.url, Credentials: auth.BearerFile(mine)}
			bob := sse.Dialer{URL: s.url, TLS: s.clientTLS(t, "", ""), Credentials: auth.Bearer(tokenB)}
			if kind == "certificate" {
				cert, key = clients.pairOf(t, ada, x509.ExtKeyUsageClientAuth)
				d.Credentials = nil
				bobCert, bobKey := clients.pairOf(t, names{uris: []string{"spiffe://bank.example/bob"}},
					x509.ExtKeyUsageClientAuth)
				bob = sse.Dialer{URL: s.url, TLS: s.clientTLS(t, bobCert, bobKey)}
			}
			d.TLS = s.clientTLS(t, cert, key)
			sub, producer, got := s.subscribe(t, d)
			first, err := producer.NextStream(t.Context())
			requireNoError(t, err)
			requireNoError(t, first.SendEvents(t.Context(), []transports.Event{{Message: []byte(`{"n":1}`), ID: "evt_1"}}))
			wantMessage(t, sub, `{"n":1}`)

			// Both sides get new credentials.
			if kind == "token" {
				replaceFile(t, theirs, []byte("ada "+tokenC+"\nbob "+tokenB))
				if status := s.requestStatus(t, d.TLS, auth.Bearer(tokenA), "POST", "/replies",
					reply); status != http.StatusUnauthorized {
					t.Errorf("the old token: %d, want 401", status)
				}
				replaceFile(t, mine, []byte(tokenC))
			} else {
				clients.renew(t, ada, x509.ExtKeyUsageClientAuth, cert, key)
			}
			requireNoError(t, first.SendEvents(t.Context(), []transports.Event{{Message: []byte(`{"n":2}`), ID: "evt_2"}}))
			wantMessage(t, sub, `{"n":2}`)
			requireNoError(t, sub.Send(t.Context(), []byte(reply)))
			if msg := <-got; msg != reply {
				t.Errorf("the producer got %q", msg)
			}
			s.cut()
			if _, err := sub.Receive(t.Context()); !errors.Is(err, transports.ErrInterrupted) {
				t.Fatalf("Receive = %v, want an interruption", err)
			}
			requireNoError(t, sub.Reopen(t.Context()))
			second, err := producer.NextStream(t.Context())
			requireNoError(t, err)
			if second.LastEventID() != "evt_2" {
				t.Errorf("reopened after %q", second.LastEventID())
			}

			// Another principal has nothing of it.
			for at, status := range map[string]int{"GET /events?subscription_id=sub_1 ": 404,
				"POST /replies " + renegotiate: 404, "POST /replies " + reply: 204, "POST /replies " + closing: 204} {
				part := strings.SplitN(at, " ", 3)
				if got := s.requestStatus(t, bob.TLS, bob.Credentials, part[0], part[1], part[2]); got != status {
					t.Errorf("bob, %s: %d, want %d", at, got, status)
				}
			}
			requireNoError(t, second.SendEvents(t.Context(), []transports.Event{{Message: []byte(`{"n":3}`), ID: "evt_3"}}))
			wantMessage(t, sub, `{"n":3}`)
			requireNoError(t, sub.Send(t.Context(), []byte(renegotiate)))
			wantMessage(t, sub, accepted)
			if msg := <-got; msg != renegotiate {
				t.Errorf("the producer got %q, want nothing of bob's", msg)
			}
			requireNoError(t, sub.Send(t.Context(), []byte(closing)))
			if msg := <-got; msg != closing {
				t.Errorf("the producer got %q", msg)
			}
		})
	}
}

// requestStatus sends one request and returns the status.
func (s *site) requestStatus(t *testing.T, conf *tls.Config, give func(context.Context) (http.Header, error), method, path,
	body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+"/aaep/v1"+path, strings.NewReader(body))
	requireNoError(t, err)
	if give != nil {
		r.Header, err = give(t.Context())
		requireNoError(t, err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := newClient(t, conf).Do(r)
	requireNoError(t, err)
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// Who is refused learns no more than that, and no token is in any log or error, whatever was wrong
// with it. TR-016, INV-36, INV-37
func TestNoTokenIsTold(t *testing.T) {
	journal := &journal{}
	path := filepath.Join(t.TempDir(), "tokens")
	replaceFile(t, path, []byte("ada "+tokenA))
	tokens, err := auth.TokenFile(path, journal.logger())
	requireNoError(t, err)
	s := newSite(t, auth.Any(auth.ClientCertificate, tokens), newCA(t, "clients"), journal)
	conf := s.clientTLS(t, "", "")
	canaries := []string{"canary", tokenA, tokenB}
	var told strings.Builder
	for _, token := range []string{tokenB, "canary", tokenA + "canary", "canary.canary.canary", "canary\x1b[2J",
		"canary canary", strings.Repeat("canary", 5000), "=canary"} {
		header := http.Header{"Authorization": {"Bearer " + token}}
		c, err := sse.Dialer{URL: s.url, TLS: conf, Header: header, Logger: journal.logger()}.Dial(t.Context())
		requireNoError(t, err)
		err = c.Send(t.Context(), []byte(request))
		if err == nil {
			var msg []byte
			msg, err = c.Receive(t.Context())
			told.Write(msg)
			if !strings.Contains(string(msg), "authentication_required") {
				t.Errorf("%.20q: %q, %v", token, msg, err)
			}
		}
		fmt.Fprintln(&told, err)
		requireNoError(t, c.Close())
		w, err := websocket.Dialer{URL: "wss" + strings.TrimPrefix(s.url, "https") + websocket.DefaultPath, TLS: conf,
			Header: header}.Dial(t.Context())
		if err == nil {
			var msg []byte
			msg, err = w.Receive(t.Context())
			told.Write(msg)
			requireNoError(t, w.Close())
		}
		fmt.Fprintln(&told, err)
	}
	for _, text := range []string{"ada canary", "canary " + tokenA + " " + tokenB, "ada " + tokenA + "\nbob " +
		tokenA, tokenB} {
		replaceFile(t, path, []byte(text))
		_, _ = tokens(requestWith("Bearer " + tokenA))
		_, err := auth.TokenFile(path, journal.logger())
		fmt.Fprintln(&told, err)
	}
	if !strings.Contains(journal.String(), "not known") || !strings.Contains(told.String(), "line 1") {
		t.Fatal("what was to be searched is not there")
	}
	for _, canary := range canaries {
		for where, text := range map[string]string{"the log": journal.String(),
			"an answer or an error": told.String()} {
			if i := strings.Index(text, canary); i >= 0 {
				t.Errorf("%s has %q: %q", where, canary, text[max(0, i-200):i+20])
			}
		}
	}
	if strings.ContainsAny(journal.String(), "\x1b\r") {
		t.Error("the log has raw control characters")
	}
}
