package sse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// The handshake over plain HTTP. SSE-003, SSE-004, SSE-016, D-56
func TestHandshake(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	done := make(chan struct{})
	go func() { defer close(done); acceptWith(t, s, acceptance("sub_a b")) }()
	resp, body := sendRequest(t, nil, "POST", url+"/aaep/v1/subscriptions", request,
		"Content-Type: application/json; charset=UTF-8")
	<-done
	if resp.StatusCode != 201 || body != string(acceptance("sub_a b")) {
		t.Errorf("status %d, body %q; want 201 and the accepted message", resp.StatusCode, body)
	}
	if got := resp.Header.Get("Location"); got != "/aaep/v1/events?subscription_id=sub_a+b" {
		t.Errorf("Location %q", got)
	}
	resp, _ = sendRequest(t, nil, "GET", url+resp.Header.Get("Location"), "")
	want := http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache, no-transform"},
		"X-Accel-Buffering": {"no"}}
	for k, v := range want {
		if !slices.Equal(resp.Header[k], v) {
			t.Errorf("%s %q, want %q", k, resp.Header[k], v)
		}
	}
	if resp.StatusCode != 200 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("status %d, headers %v; want 200 and no CORS", resp.StatusCode, resp.Header)
	}
}

// Every reason has its status, and the body is always the rejection. D-56
func TestRejectedStatuses(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	for _, tt := range []struct {
		code   string
		retry  int
		status int
	}{
		{"authentication_required", 0, 401}, {"authorization_denied", 0, 403}, {"rate_limit", 7, 429},
		{"transport_unavailable", 3, 503}, {"version_unsupported", 0, 422}, {"capabilities_incompatible", 0, 422},
		{"manifest_signature_required", 0, 422}, {"unknown", 0, 400}, {"quota_exceeded", 0, 422},
	} {
		t.Run(tt.code, func(t *testing.T) {
			conn := make(chan transports.Conn, 1)
			go func() { conn <- acceptWith(t, s, rejection(tt.code, tt.retry)) }()
			resp, body := sendRequest(t, nil, "POST", url+"/aaep/v1/subscriptions", request)
			if resp.StatusCode != tt.status || body != string(rejection(tt.code, tt.retry)) {
				t.Errorf("status %d, body %q; want %d and the rejection", resp.StatusCode, body, tt.status)
			}
			retry := ""
			if tt.retry > 0 {
				retry = fmt.Sprint(tt.retry)
			}
			if got := resp.Header.Get("Retry-After"); got != retry {
				t.Errorf("Retry-After %q, want %q", got, retry)
			}
			if (resp.Header.Get("WWW-Authenticate") != "") != (tt.status == 401) || resp.Header.Get("Location") != "" {
				t.Errorf("headers %v", resp.Header)
			}
			if _, err := (<-conn).Receive(t.Context()); err == nil || errors.Is(err, transports.ErrClosed) {
				t.Errorf("Receive after the rejection: %v, want EOF", err)
			}
		})
	}
	if len(s.links) != 0 {
		t.Errorf("%d links left after rejections", len(s.links))
	}
}

// The subscription is not accepted. D-56
func TestNeverAccepted(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{MaxWaiting: 1, MaxSubscriptions: 2})
	try := func() (int, string, string) {
		resp, body := sendRequest(t, nil, "POST", url+"/aaep/v1/subscriptions", request)
		return resp.StatusCode, reasonOf(t, body), resp.Header.Get("Retry-After")
	}
	blocked, _ := newLink(s, "", []byte(request), nil)
	if code := s.admitLink(blocked); code != "" {
		t.Fatalf("admit = %q", code)
	}
	if status, reason, _ := try(); status != 503 || reason != "transport_unavailable" {
		t.Errorf("full queue: %d %s, want 503 transport_unavailable", status, reason)
	}
	other, _ := newLink(s, "", []byte(request), nil)
	s.links[other] = struct{}{}
	if status, reason, retry := try(); status != 429 || reason != "rate_limit" || retry == "" {
		t.Errorf("too many: %d %s, Retry-After %q; want 429 rate_limit with it", status, reason, retry)
	}
	other.endLink(transports.ErrClosed)
	requireNoError(t, s.Close())
	requireNoError(t, s.Close())
	if status, reason, _ := try(); status != 503 || reason != "transport_unavailable" {
		t.Errorf("closed: %d %s, want 503 transport_unavailable", status, reason)
	}
	if _, err := s.Accept(t.Context()); err != transports.ErrClosed {
		t.Errorf("Accept = %v, want ErrClosed", err)
	}
	if _, err := blocked.Receive(t.Context()); err != transports.ErrClosed {
		t.Errorf("Receive of a waiting Conn = %v, want ErrClosed", err)
	}
}

func TestAcceptCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewServer(ServerOptions{}).Accept(ctx); err != context.Canceled {
		t.Errorf("Accept = %v, want context.Canceled", err)
	}
}

// Bodies that never become a Conn. SSE-009, INV-32, INV-45, D-36, D-56
func TestRefusedBodies(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	big := string(padTo(transports.MaxMessage + 1))
	for _, tt := range []struct {
		name, body string
		header     []string
		status     int
	}{
		{"form", request, []string{"Content-Type: application/x-www-form-urlencoded"}, 415},
		{"text", request, []string{"Content-Type: text/plain"}, 415},
		{"no type", request, []string{"Content-Type: "}, 415},
		{"JSON of another kind", request, []string{"Content-Type: application/problem+json"}, 415},
		{"other charset", request, []string{"Content-Type: application/json; charset=utf-16"}, 415},
		{"broken type", request, []string{"Content-Type: application/json; ;"}, 415},
		{"compressed", request, []string{"Content-Encoding: gzip"}, 415},
		{"too large", big, nil, 413},
		{"not JSON", "{", nil, 400},
		{"two messages", request + request, nil, 400},
		{"an event", string(numberedData(1)), nil, 400},
		{"another message", string(acceptance("sub_1")), nil, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := sendRequest(t, nil, "POST", url+"/aaep/v1/subscriptions", tt.body, tt.header...)
			if reason := reasonOf(t, body); resp.StatusCode != tt.status || reason != "unknown" || len(body) > 2000 {
				t.Errorf("subscriptions: %d %s, want %d unknown", resp.StatusCode, body, tt.status)
			}
			resp, body = sendRequest(t, nil, "POST", url+"/aaep/v1/replies", tt.body, tt.header...)
			if resp.StatusCode != tt.status {
				t.Errorf("replies: %d, want %d", resp.StatusCode, tt.status)
			}
			want := `{"error":"not a valid AAEP reply, renegotiation or close: `
			if tt.status == 400 && (!strings.HasPrefix(body, want) || len(body) > 2000) {
				t.Errorf("replies: %q, want %s and what is wrong with it", body, want)
			}
		})
	}
	t.Run("too large, length not announced", func(t *testing.T) {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Post(url+"/aaep/v1/replies", "application/json", io.MultiReader(strings.NewReader(big)))
		requireNoError(t, err)
		defer resp.Body.Close()
		if resp.StatusCode != 413 {
			t.Errorf("%d, want 413", resp.StatusCode)
		}
	})
	t.Run("long complaints", func(t *testing.T) {
		resp, body := sendRequest(t, nil, "POST", url+"/aaep/v1/subscriptions",
			`{"type":"`+strings.Repeat("é\u202e", 9999)+`"}`)
		if reason := reasonOf(t, body); resp.StatusCode != 400 || reason != "unknown" || len(body) > 3000 {
			t.Errorf("%d, %d bytes; want 400 and a short reason", resp.StatusCode, len(body))
		}
	})
	if len(s.queue) != 0 || len(s.links) != 0 {
		t.Errorf("%d Conns were made", len(s.links))
	}
	resp, body := sendRequest(t, nil, "POST", url+"/aaep/v1/subscriptions", `{"type":"subscription.request"}`)
	if resp.StatusCode != 400 || !strings.Contains(body, "subscriber_id") {
		t.Errorf("%d %s; want 400 that names what is missing", resp.StatusCode, body)
	}
	resp, body = sendRequest(t, nil, "POST", url+"/aaep/v1/replies", `{"type":"confirmation.reply","reply_token":"rpl_1"}`)
	if resp.StatusCode != 400 || !strings.Contains(body, `member \"decision\"`) {
		t.Errorf("%d %s; want 400 that names what a reply lacks", resp.StatusCode, body)
	}
}

// A terabyte announced is refused before a byte of it is read. INV-32
func TestAnnouncedLength(t *testing.T) {
	_, url := serveLoopback(t, ServerOptions{})
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	requireNoError(t, err)
	defer c.Close()
	_, err = fmt.Fprintf(c,
		"POST /aaep/v1/replies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "+
			"1000000000000\r\n\r\n{")
	requireNoError(t, err)
	wantBytes(t, c, "HTTP/1.1 413 ")
}

// SSE-001, B.1.1
func TestRoutes(t *testing.T) {
	_, url := serveLoopback(t, ServerOptions{Prefix: "/x/"})
	for _, tt := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/x/subscriptions", 405, "POST"}, {"GET", "/x/replies", 405, "POST"},
		{"PUT", "/x/replies", 405, "POST"},
		{"POST", "/x/events", 405, "GET"}, {"HEAD", "/x/events", 405, "GET"}, {"OPTIONS", "/x/replies", 405, "POST"},
		{"GET", "/x/events", 404, ""}, {"GET", "/x/events?subscription_id=sub_1", 404, ""},
		{"GET", "/aaep/v1/events", 404, ""}, {"POST", "/subscriptions", 404, ""}, {"POST", "/x/replies/", 404, ""},
		{"GET", "/", 404, ""},
	} {
		resp, _ := sendRequest(t, nil, tt.method, url+tt.path, "")
		if resp.StatusCode != tt.status || resp.Header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: %d, Allow %q; want %d, %q", tt.method, tt.path, resp.StatusCode, resp.Header.Get("Allow"),
				tt.status, tt.allow)
		}
	}
	resp, _ := sendRequest(t, nil, "GET", url+"/x/events", "{}")
	if resp.StatusCode != 400 {
		t.Errorf("GET with a body: %d, want 400", resp.StatusCode)
	}
}

// INV-33: a request that names two subscriptions, tickets or places is for none of them.
func TestAmbiguousStream(t *testing.T) {
	s, base := serveLoopback(t, ServerOptions{})
	openPair(t, s, Dialer{URL: base}, "sub_1")
	_, root := serveRootLoopback(t, RootOptions{})
	for _, url := range []string{
		base + "/aaep/v1/events?subscription_id=sub_1&subscription_id=sub_2",
		base + "/aaep/v1/events?subscription_id=sub_1&subscription_id=sub_1",
		base + "/aaep/v1/events?subscription_id=sub_1&subscription%5Fid=sub_2",
		base + "/aaep/v1/events?subscription_id=sub_1&ticket=a&ticket=b",
		base + "/aaep/v1/events?subscription_id=sub_1&last_event_id=a&last_event_id=b",
		base + "/aaep/v1/events?subscription_id=sub_1;subscription_id=sub_2",
		base + "/aaep/v1/events?subscription_id=sub_1&Subscription_ID=sub_2",
		base + "/aaep/v1/events?subscription_id=%zz", root + "/events?last_event_id=a&last_event_id=b",
	} {
		if resp, body := sendRequest(t, nil, "GET", url, ""); resp.StatusCode != 400 {
			t.Errorf("%s: %s %s", url, resp.Status, body)
		}
	}
	if resp, body := sendRequest(t, nil, "GET", base+"/aaep/v1/events?subscription_id=sub_1", "", "Last-Event-ID: a",
		"Last-Event-ID: b"); resp.StatusCode != 400 {
		t.Errorf("two places: %s %s", resp.Status, body)
	}
}

// Pages of other origins and rebound names get nothing, on any endpoint, GET included. INV-44, D-66
func TestHostAndOrigin(t *testing.T) {
	s, url := serveLoopback(t, ServerOptions{})
	p, _, _ := openPair(t, s, Dialer{URL: url}, "sub_1")
	host := strings.TrimPrefix(url, "http://")
	_, port, err := net.SplitHostPort(host)
	requireNoError(t, err)
	for _, tt := range []struct {
		name   string
		header []string
		ok     bool
	}{
		{"a program", nil, true},
		{"localhost with the port", []string{"Host: LocalHost:" + port}, true},
		{"[::1] without a port", []string{"Host: [::1]"}, true},
		{"own page", []string{"Origin: http://" + host, "Sec-Fetch-Site: same-origin"}, true},
		{"foreign Host", []string{"Host: evil.example"}, false},
		{"foreign Host and Origin that agree: rebinding",
			[]string{"Host: evil.example", "Origin: http://evil.example"}, false},
		{"a name that ends like ours", []string{"Host: evil-localhost:" + port}, false},
		{"a name that begins like ours", []string{"Host: localhost.evil.example:" + port}, false},
		{"another port", []string{"Host: localhost:1"}, false},
		{"foreign page", []string{"Origin: https://evil.example"}, false},
		{"page of another port", []string{"Origin: http://127.0.0.1:1"}, false},
		{"sandboxed page", []string{"Origin: null"}, false},
		{"two Origins", []string{"Origin: http://" + host, "Origin: http://evil.example"}, false},
		{"Origin with a path", []string{"Origin: http://" + host + "/"}, false},
		{"the browser says cross-site", []string{"Sec-Fetch-Site: cross-site"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := []int{204, 400, 404}
			if !tt.ok {
				want = []int{403, 403, 403}
			}
			r1, _ := sendRequest(t, nil, "POST", url+"/aaep/v1/replies", fmt.Sprintf(replyTo, "sub_1"), tt.header...)
			r2, why := sendRequest(t, nil, "POST", url+"/aaep/v1/subscriptions", "{}", tt.header...)
			r3, _ := sendRequest(t, nil, "GET", url+"/aaep/v1/events?subscription_id=none", "", tt.header...)
			var rejected aaep.SubscriptionRejected
			if err := json.Unmarshal([]byte(why), &rejected); !tt.ok && (err != nil || rejected.ReasonCode != aaep.AuthorizationDenied ||
				rejected.ReasonMessage == "" || !strings.Contains(why, `"type":"subscription.rejected"`)) {
				t.Errorf("the request to subscribe is refused with %s: %v", why, err)
			}
			if got := []int{r1.StatusCode, r2.StatusCode, r3.StatusCode}; !slices.Equal(got, want) {
				t.Errorf("statuses %v, want %v", got, want)
			}
			if tt.ok {
				wantMessage(t, p, fmt.Sprintf(replyTo, "sub_1"))
			}
		})
	}
	if n := len(linkOf(p).in); n != 0 {
		t.Errorf("%d refused replies got through", n)
	}
}

// CORS exists only for configured origins, and they are let in from any site. D-66, INV-44
func TestOrigins(t *testing.T) {
	const page = "https://reader.example"
	_, url := serveLoopback(t, ServerOptions{Origins: []string{page}})
	for _, site := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "X-No-Site: 1"} {
		preflight := []string{"Origin: " + page, site, "Access-Control-Request-Method: POST",
			"Access-Control-Request-Private-Network: true"}
		resp, _ := sendRequest(t, nil, "OPTIONS", url+"/aaep/v1/replies", "", preflight...)
		h := resp.Header
		if resp.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != page ||
			h.Get("Access-Control-Allow-Methods") != "POST" ||
			h.Get("Access-Control-Allow-Private-Network") != "true" || h.Get("Vary") != "Origin" {
			t.Errorf("%s: preflight: %d %v", site, resp.StatusCode, h)
		}
		resp, _ = sendRequest(t, nil, "POST", url+"/aaep/v1/replies", fmt.Sprintf(replyTo, "sub_1"), "Origin: "+page, site)
		if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != page ||
			resp.Header.Get("Access-Control-Allow-Credentials") != "true" {
			t.Errorf("%s: reply: %d %v", site, resp.StatusCode, resp.Header)
		}
		resp, _ = sendRequest(t, nil, "OPTIONS", url+"/aaep/v1/replies", "", "Origin: https://evil.example", site,
			"Access-Control-Request-Method: POST", "Access-Control-Request-Private-Network: true")
		if resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Origin") != "" ||
			resp.Header.Get("Access-Control-Allow-Private-Network") != "" {
			t.Errorf("%s: foreign preflight: %d %v", site, resp.StatusCode, resp.Header)
		}
	}
}

// Without an authenticator only loopback is served. D-71, INV-47, TR-016
func TestLoopbackOnly(t *testing.T) {
	for _, tt := range []struct {
		addr   net.Addr
		auth   func(*http.Request) (string, error)
		status int
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, nil, 404},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 80}, nil, 404},
		{&net.UnixAddr{Name: "/run/x", Net: "unix"}, nil, 404},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}, nil, 403},
		{nil, nil, 403},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}, byName, 404},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/aaep/v1/events", nil)
		r.Header.Set("Authorization", "Bearer a")
		if tt.addr != nil {
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, tt.addr))
		}
		w := httptest.NewRecorder()
		NewServer(ServerOptions{Authenticate: tt.auth}).ServeHTTP(w, r)
		if w.Code != tt.status {
			t.Errorf("%v: %d, want %d", tt.addr, w.Code, tt.status)
		}
	}
}
