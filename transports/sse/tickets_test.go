package sse

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

const streamURL = "/aaep/v1/events?subscription_id=sub_1"

// buyTicket gets a ticket for sub_1 with the credentials of a name.
func buyTicket(t *testing.T, c *http.Client, url, name string) (status int, location string) {
	t.Helper()
	resp, body := sendRequest(t, c, "POST", url+streamURL, "", "Authorization: Bearer "+name)
	if resp.StatusCode == 201 && (body != "" || resp.Header.Get("Cache-Control") != "no-store") {
		t.Errorf("a ticket came with %q, %v", body, resp.Header)
	}
	return resp.StatusCode, resp.Header.Get("Location")
}

// With a ticket, and nothing else, a page opens its own stream, once, within 30 s. D-83, INV-43,
// INV-49
func TestTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		s := NewServer(ServerOptions{Authenticate: byName,
			Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		client := serveInMemory(t, s)
		p, sub, _ := openPair(t, s,
			Dialer{URL: local, Client: client, Header: http.Header{"Authorization": {"Bearer alice"}}}, "sub_1")
		defer p.Close()
		defer sub.Close()
		open := func(location string, header ...string) int {
			t.Helper()
			resp, _ := sendRequest(t, client, "GET", local+location, "", header...)
			return resp.StatusCode
		}
		status, ticket := buyTicket(t, client, local, "alice")
		if status != 201 || !strings.HasPrefix(ticket, streamURL+"&ticket=") {
			t.Fatalf("%d, Location %q", status, ticket)
		}
		_, other := buyTicket(t, client, local, "alice")
		secret := strings.TrimPrefix(ticket, streamURL+"&ticket=")
		if len(secret) < 26 || other == ticket {
			t.Errorf("tickets %q and %q", ticket, other)
		}
		for name, header := range map[string]string{"foreign page": "Origin: https://evil.example",
			"rebound": "Host: evil.example", "cross-site": "Sec-Fetch-Site: cross-site"} {
			if got := open(ticket, header); got != 403 {
				t.Errorf("%s: %d, want 403", name, got)
			}
		}
		for name, location := range map[string]string{
			"another's subscription": "/aaep/v1/events?subscription_id=sub_2&ticket=" + secret, "no ticket": streamURL,
			"empty":   streamURL + "&ticket=",
			"guessed": streamURL + "&ticket=" + strings.Repeat("A", len(secret)),
			"cut":     strings.TrimSuffix(ticket, secret[20:]), "longer": ticket + "A",
		} {
			if got := open(location); got != 401 {
				t.Errorf("%s: %d, want 401", name, got)
			}
		}
		if resp, _ := sendRequest(t, client, "POST", local+"/aaep/v1/replies?ticket="+secret,
			request); resp.StatusCode != 401 {
			t.Errorf("a reply with a ticket: %d, want 401", resp.StatusCode)
		}
		if resp, _ := sendRequest(t, client, "POST", local+ticket, ""); resp.StatusCode != 401 {
			t.Errorf("a ticket for a ticket: %d, want 401", resp.StatusCode)
		}
		resp, _ := sendRequest(t, client, "GET", local+ticket+"&last_event_id=e7", "")
		if st := nextStream(t, p); resp.StatusCode != 200 || st.LastEventID() != "e7" {
			t.Errorf("the ticket opened %d after %q, want 200 after e7", resp.StatusCode, st.LastEventID())
		}
		if got := open(ticket); got != 401 {
			t.Errorf("replayed: %d, want 401", got)
		}
		time.Sleep(30 * time.Second) // virtual
		if got := open(other); got != 401 {
			t.Errorf("expired: %d, want 401", got)
		}
		_, last := buyTicket(t, client, local, "alice")
		time.Sleep(29 * time.Second)
		if got := open(last, "Last-Event-ID: e9"); got != 200 {
			t.Errorf("after 29 s: %d, want 200", got)
		}
		if st := nextStream(t, p); st.LastEventID() != "e9" {
			t.Errorf("LastEventID = %q, want the header's", st.LastEventID())
		}
		buyTicket(t, client, local, "alice")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		l := s.byID["sub_1"]
		l.mu.Lock()
		if len(l.tickets) > 0 {
			t.Errorf("%d requests are kept for tickets that have expired", len(l.tickets))
		}
		l.mu.Unlock()
		if strings.Contains(logged.String(), "ticket=") || strings.Contains(logged.String(), secret) {
			t.Errorf("a ticket was logged: %s", logged.String())
		}
	})
}

// Who may buy, and how many. D-83, INV-50
func TestTicketLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerOptions{Authenticate: byName, Origins: []string{"https://reader.example"}})
		client := serveInMemory(t, s)
		p, sub, _ := openPair(t, s,
			Dialer{URL: local, Client: client, Header: http.Header{"Authorization": {"Bearer alice"}}}, "sub_1")
		defer p.Close()
		defer sub.Close()
		for name, want := range map[string]int{"bob": 404, "": 401, "mallory": 403} {
			if got, location := buyTicket(t, client, local, name); got != want || location != "" {
				t.Errorf("%q: %d %s, want %d", name, got, location, want)
			}
		}
		if resp, _ := sendRequest(t, client, "POST", local+streamURL, "{}",
			"Authorization: Bearer alice"); resp.StatusCode != 400 {
			t.Errorf("with a body: %d, want 400", resp.StatusCode)
		}
		if resp, _ := sendRequest(t, client, "POST", local+streamURL, "", "Authorization: Bearer alice",
			"Origin: https://evil.example"); resp.StatusCode != 403 {
			t.Errorf("for a foreign page: %d, want 403", resp.StatusCode)
		}
		resp, _ := sendRequest(t, client, "OPTIONS", local+streamURL, "", "Origin: https://reader.example",
			"Access-Control-Request-Method: POST")
		if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Methods") != "GET, POST" {
			t.Errorf("preflight: %d %v", resp.StatusCode, resp.Header)
		}
		var first string
		for n := range maxTickets {
			status, location := buyTicket(t, client, local, "alice")
			if status != 201 {
				t.Errorf("ticket %d: %d", n, status)
			}
			first = location
		}
		resp, _ = sendRequest(t, client, "POST", local+streamURL, "", "Authorization: Bearer alice")
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "30" {
			t.Errorf("one too many: %d %v", resp.StatusCode, resp.Header)
		}
		if resp, _ := sendRequest(t, client, "GET", local+first, ""); resp.StatusCode != 200 {
			t.Errorf("a ticket: %d", resp.StatusCode)
		}
		if status, _ := buyTicket(t, client, local, "alice"); status != 201 {
			t.Errorf("after one was used: %d, want 201", status)
		}
		time.Sleep(30 * time.Second) // virtual
		if status, _ := buyTicket(t, client, local, "alice"); status != 201 {
			t.Errorf("after they expired: %d, want 201", status)
		}
	})
	_, url := serveLoopback(t, ServerOptions{})
	if resp, _ := sendRequest(t, nil, "POST", url+streamURL, ""); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET" {
		t.Errorf("where nobody is asked for credentials: %d, want 405", resp.StatusCode)
	}
}

// A stream ends when the credentials that it was opened with, or its ticket was bought with, are
// withdrawn. Others go on.
func TestWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		s := NewServer(ServerOptions{Authenticate: func(r *http.Request) (string, error) {
			name, err := byName(r)
			if name == "alice" && gone.Load() {
				return "", aaep.AuthenticationRequired
			}
			return name, err
		}})
		client := serveInMemory(t, s)
		as := func(name, id string) (transports.Resumable, transports.Stream) {
			p, _, st := openPair(t, s,
				Dialer{URL: local, Client: client, Header: http.Header{"Authorization": {"Bearer " + name}}}, id)
			return p, st
		}
		alice, first := as("alice", "sub_1")
		defer alice.Close()
		bob, his := as("bob", "sub_2")
		defer bob.Close()
		lost := func(st transports.Stream) bool {
			select {
			case <-st.Done():
				return true
			default:
				return false
			}
		}
		time.Sleep(time.Hour)
		_, ticket := buyTicket(t, client, local, "alice")
		resp, _ := sendRequest(t, client, "GET", local+ticket, "")
		second := nextStream(t, alice)
		if !lost(first) || lost(second) || resp.StatusCode != 200 {
			t.Fatal("the ticket opens no stream in place of the first")
		}
		gone.Store(true)
		time.Sleep(10 * time.Second)
		if !lost(second) || lost(his) {
			t.Errorf("the stream of who is gone has ended: %t; that of another: %t", lost(second), lost(his))
		}
	})
}
