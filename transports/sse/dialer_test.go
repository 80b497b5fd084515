package sse

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TR-018, INV-49: a URL may lack the path; one that would send credentials in clear, or has them,
// is an error that does not quote them.
func TestDialerURL(t *testing.T) {
	for _, tt := range []struct{ url, base, problem string }{
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080/aaep/v1", ""},
		{"http://localhost/", "http://localhost/aaep/v1", ""},
		{"http://[::1]:1/x/", "http://[::1]:1/x", ""},
		{"https://bank.example/aaep/v1", "https://bank.example/aaep/v1", ""},
		{"http://bank.example", "", "not encrypted"},
		{"https://user:secret@bank.example", "", "Dialer.Credentials"},
		{"https://bank.example?a=b", "", "query"},
		{"ws://bank.example", "", "http or https"},
		{"bank.example", "", "http or https"},
		{"https:bank.example", "", "http or https"},
		{"https://", "", "http or https"},
		{"https://secret:x y@z", "", "http or https"},
		{"", "", "http or https"},
	} {
		c, err := Dialer{URL: tt.url}.Dial(t.Context())
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v, want an error with %q", tt.url, err, tt.problem)
			}
			continue
		}
		requireNoError(t, err)
		if got := c.(*conn).base.String(); got != tt.base {
			t.Errorf("%s: base %s, want %s", tt.url, got, tt.base)
		}
		requireNoError(t, c.Close())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Dialer{URL: "http://localhost"}).Dial(ctx); err != context.Canceled {
		t.Errorf("Dial = %v, want context.Canceled", err)
	}
}

// No environment proxy for loopback. INV-49
func TestOwnTransport(t *testing.T) {
	tr := ownTransport(nil)
	for _, url := range []string{"http://localhost:1", "http://127.0.0.2", "http://[::1]"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		requireNoError(t, err)
		if p, err := tr.Proxy(r); p != nil || err != nil {
			t.Errorf("%s goes over the proxy %v, %v", url, p, err)
		}
	}
}

// Two ends that are ours and left as they are speak TLS 1.3. TR-019
func TestTLSVersion(t *testing.T) {
	s := NewServer(ServerOptions{})
	versions := make(chan uint16, 8)
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		versions <- r.TLS.Version
		s.ServeHTTP(w, r)
	}))
	ts.StartTLS()
	t.Cleanup(func() { _ = s.Close(); ts.CloseClientConnections(); ts.Close() })
	tr := ownTransport(nil)
	tr.TLSClientConfig.RootCAs = ts.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	t.Cleanup(tr.CloseIdleConnections)
	openPair(t, s, Dialer{URL: ts.URL, Client: &http.Client{Transport: tr}}, "sub_1")
	for range 2 { // the request and the stream
		if v := <-versions; v != tls.VersionTLS13 {
			t.Errorf("%s, want TLS 1.3", tls.VersionName(v))
		}
	}
}

// Location on another origin is refused, credentials stay. SSE-005, D-66, INV-49
func TestLocationElsewhere(t *testing.T) {
	for _, at := range []string{"http://127.0.0.1:1/aaep/v1/events", "https://127.0.0.1/x", "//evil.example/x",
		"http://a:b@127.0.0.1/x", "http://%zz"} {
		c := dialConn(t, Dialer{URL: producer{location: at}.serveStandIn(t)})
		if err := c.Send(t.Context(), []byte(request)); err == nil || !strings.Contains(err.Error(), "Location") {
			t.Errorf("Location %s: Send = %v, want an error", at, err)
		}
	}
}

// A POST is not sent on, whatever the redirect. INV-19
func TestRedirectOfPost(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a message left its subscription: %s %v", r.Method, r.Header)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{elsewhere.URL, "/elsewhere"} {
			redirect := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) }
			c, _ := producer{replies: redirect}.dialAccepted(t, nil)
			err := c.Send(t.Context(), fmt.Appendf(nil, replyTo, "sub_1"))
			if err == nil || !strings.Contains(err.Error(), "not delivered") {
				t.Errorf("%d to %s: Send = %v, want not delivered", status, to, err)
			}
			c = dialConn(t, Dialer{URL: producer{subscriptions: redirect}.serveStandIn(t)})
			if err := c.Send(t.Context(), []byte(request)); err == nil {
				t.Errorf("%d to %s: the request was sent on", status, to)
			}
		}
	}
}
