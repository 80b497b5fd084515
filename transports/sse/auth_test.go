package sse

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aaep-go/aaep/transports"
)

// Who is not known gets 401, who may not gets 403, and an id alone opens nothing. TR-015, SEC-013,
// SEC-014, SEC-016, INV-43, CONF-011, CONF-023, HS-061
func TestAuthentication(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{Authenticate: byName})
	p, _, _ := openPair(t, s, Dialer{URL: url, Header: http.Header{"Authorization": {"Bearer alice"}}}, "sub_1")
	if got := p.(transports.Identified).Principal(); got != "alice" {
		t.Errorf("Principal = %q, want alice", got)
	}
	for _, tt := range []struct {
		name   string
		header []string
		status int
		reason string
	}{
		{"no credentials", nil, 401, "authentication_required"},
		{"wrong scheme", []string{"Authorization: Basic alice"}, 401, "authentication_required"},
		{"not allowed", []string{"Authorization: Bearer mallory"}, 403, "authorization_denied"},
	} {
		resp, body := sendRequest(t, nil, "POST", url+"/aaep/v1/subscriptions", request, tt.header...)
		if resp.StatusCode != tt.status || reasonOf(t, body) != tt.reason || strings.Contains(body, "policy") {
			t.Errorf("%s: %d %s, want %d %s and no cause", tt.name, resp.StatusCode, body, tt.status, tt.reason)
		}
		for _, at := range []string{"GET /events?subscription_id=sub_1", "POST /replies"} {
			method, path, _ := strings.Cut(at, " ")
			resp, _ := sendRequest(t, nil, method, url+"/aaep/v1"+path, "", tt.header...)
			if resp.StatusCode != tt.status {
				t.Errorf("%s, %s: %d, want %d", tt.name, at, resp.StatusCode, tt.status)
			}
		}
	}
	bob := "Authorization: Bearer bob"
	if resp, _ := sendRequest(t, nil, "GET", url+"/aaep/v1/events?subscription_id=sub_1", "", bob); resp.StatusCode != 404 {
		t.Errorf("another principal's stream: %d, want 404", resp.StatusCode)
	}
	if resp, _ := sendRequest(t, nil, "POST", url+"/aaep/v1/replies", fmt.Sprintf(renegot, "sub_1"),
		bob); resp.StatusCode != 404 {
		t.Errorf("another principal's renegotiation: %d, want 404", resp.StatusCode)
	}
	if resp, _ := sendRequest(t, nil, "POST", url+"/aaep/v1/replies", fmt.Sprintf(closing, "sub_1"),
		bob); resp.StatusCode != 204 {
		t.Errorf("another principal's close: %d, want 204", resp.StatusCode)
	}
	nameless := func(*http.Request) (string, error) { return "", nil }
	_, url = serveLoopback(t, ServerOptions{Authenticate: nameless})
	if resp, _ := sendRequest(t, nil, "POST", url+"/aaep/v1/subscriptions", request); resp.StatusCode != 401 {
		t.Errorf("an authenticator that names nobody: %d, want 401", resp.StatusCode)
	}
}

// All well-formed replies get the same bytes; only the owner's go anywhere. SSE-010, SSE-011,
// INV-10, D-36
func TestUniformReplies(t *testing.T) {
	var told safeBuffer
	s, url := serveLoopback(t, ServerOptions{Authenticate: byName, Logger: slog.New(slog.NewTextHandler(&told, nil))})
	p, _, _ := openPair(t, s, Dialer{URL: url, Header: http.Header{"Authorization": {"Bearer alice"}}}, "sub_1")
	raw := func(who, body string) string {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
		requireNoError(t, err)
		defer c.Close()
		_, err = fmt.Fprintf(c,
			"POST /aaep/v1/replies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer "+
				"%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", who, len(body), body)
		requireNoError(t, err)
		var lines []string
		for line := range strings.SplitSeq(readAll(t, c), "\r\n") {
			if !strings.HasPrefix(line, "Date: ") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "\n")
	}
	good := fmt.Sprintf(replyTo, "sub_1")
	want := raw("alice", good)
	if !strings.HasPrefix(want, "HTTP/1.1 204 ") || !strings.HasSuffix(want, "\n\n") {
		t.Errorf("answer %q, want 204 without a body", want)
	}
	wantMessage(t, p, good)
	for name, got := range map[string]string{
		"unknown subscription":   raw("alice", fmt.Sprintf(replyTo, "sub_2")),
		"foreign subscription":   raw("bob", good),
		"no handshake":           raw("alice", fmt.Sprintf(replyTo, implicitID)), // D-37: only at a RootServer
		"clarification, unknown": raw("alice", fmt.Sprintf(clarify, "sub_2")),
		"used again":             raw("alice", good),
	} {
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	wantMessage(t, p, good)
	requireNoError(t, p.Close())
	if got := raw("alice", good); got != want {
		t.Errorf("after the end: %q, want %q", got, want)
	}
	// The sender is told nothing; the operator's log says it, where it is not this process that the
	// sender listens at.
	if n := strings.Count(told.String(),
		"level=WARN msg=\"sse: a reply came for a subscription that is not here"); n != 5 ||
		!strings.Contains(told.String(), "principal=bob") {
		t.Errorf("the log tells of %d: %s", n, told.String())
	}
}

// safeBuffer may be written and read at once.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p.
func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns what was written so far.
func (b *safeBuffer) String() string { b.mu.Lock(); defer b.mu.Unlock(); return b.b.String() }
