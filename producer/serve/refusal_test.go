package serve_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// TestLoopbackOnly: a listener for other machines does not open (INV-47, D-71, SEC-001).
func TestLoopbackOnly(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	check(t, err)
	defer p.Shutdown(context.Background())
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		if err := serve.ListenAndServe(context.Background(), addr, p); err == nil ||
			!strings.Contains(err.Error(), "not a loopback address") {
			t.Errorf("ListenAndServe(%q) = %v, want that it is not loopback", addr, err)
		}
	}
	for _, addr := range []string{"192.0.2.1:0", "127.0.0.1:99999", "127.0.0.1", "nowhere.invalid:0"} {
		if err := serve.ListenAndServe(context.Background(), addr, p); err == nil {
			t.Errorf("ListenAndServe(%q) = nil", addr)
		}
	}
	wide, err := net.Listen("tcp", "0.0.0.0:0")
	check(t, err)
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	check(t, err)
	for _, ln := range []net.Listener{wide, socket} {
		if err := serve.Serve(context.Background(), ln, p); err == nil {
			t.Errorf("Serve(%v) = nil", ln.Addr())
		}
		if _, err := ln.Accept(); err == nil {
			t.Errorf("%v still listens", ln.Addr())
		}
	}
}

// TestRefusalIsSaid: who writes "go serve.Serve" still learns why the agent cannot be followed, and
// nothing else.
func TestRefusalIsSaid(t *testing.T) {
	var said bytes.Buffer
	usual := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&said, nil)))
	defer slog.SetDefault(usual)
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	check(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer ln.Close()
	if err := serve.ListenAndServe(context.Background(), ln.Addr().String(), p); err == nil {
		t.Error("two agents are served at one address")
	}
	if got := said.String(); !strings.Contains(got, "cannot be followed") ||
		!strings.Contains(got, ln.Addr().String()) {
		t.Errorf("said %q", got)
	}
	said.Reset()
	if err := serve.Serve(context.Background(), nil, p); err == nil || !strings.Contains(said.String(), "net.Listen") {
		t.Errorf("without a listener: %v, said %q", err, &said) // as where the error of net.Listen is not looked at
	}
	said.Reset()
	over, stop := context.WithCancel(context.Background())
	stop()
	serve.ListenAndServe(over, "127.0.0.1:0", p) // as asked
	p.Shutdown(context.Background())
	serve.ListenAndServe(context.Background(), "127.0.0.1:0", p)
	if said.Len() > 0 {
		t.Errorf("said of what was asked for: %s", &said)
	}
}

// TestHostAndOrigin: a page that had its name point to this machine (DNS rebinding), or that comes
// from elsewhere, reads nothing and changes nothing, on any route (INV-44).
func TestHostAndOrigin(t *testing.T) {
	st := startFixture(t, producer.Config{})
	r := subscribeRaw(t, st.addr, everything)
	events := r.openStream("")
	s := st.startSession("Asking.")
	defer s.Close()
	agent := runAsync(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
	_, q := events.findQuestion()
	_, port, _ := net.SplitHostPort(st.addr)
	routes := []struct{ method, path, body string }{
		{"POST", "/aaep/v1/subscriptions", `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"page","capabilities":{}}`},
		{"GET", r.location, ""},
		{"POST", "/aaep/v1/replies", r.sendReply(q.ReplyToken, aaep.Accept)},
		{"POST", "/aaep/v1/replies", encodeMessage(t,
			&aaep.SubscriptionClose{SubscriptionID: r.id, ReasonCode: aaep.SubscriberShutdown, ReasonMessage: "Bye."})},
		{"OPTIONS", "/aaep/v1/replies", ""},
		{"GET", "/", ""},
	}
	for _, header := range []string{
		"Host: rebound.example:" + port, "Host: rebound.example", "Host: 127.0.0.1.rebound.example:" + port,
		"Host: localhost.rebound.example:" + port, "Host: 127.0.0.1:1", "Host: 127.0.0.2:" + port,
		"Host: 0.0.0.0:" + port,
		"Origin: http://rebound.example", "Origin: null", "Origin: http://localhost:1",
		"Origin: https://" + st.addr + ".rebound.example",
		"Sec-Fetch-Site: cross-site",
	} {
		for _, route := range routes {
			resp, body := sendRequest(t, route.method, st.addr, route.path, route.body, header)
			if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s with %s: %s %s, want 403", route.method, route.path, header, resp.Status, body)
			}
		}
	}
	select {
	case r := <-agent:
		t.Fatalf("a page has answered: %v", r.err)
	default:
	}
	if all := st.p.Subscriptions(); len(all) != 1 || !all[0].Connected {
		t.Errorf("the subscriptions are %+v", all)
	}
	for _, host := range []string{st.addr, "localhost:" + port, "LOCALHOST:" + port, "[::1]:" + port} {
		if resp, body := sendRequest(t, "POST", st.addr, "/aaep/v1/replies", r.sendReply("rpl_1", aaep.Accept),
			"Host: "+host, "Origin: http://"+host); resp.StatusCode != http.StatusNoContent {
			t.Errorf("as %s: %s %s, want 204", host, resp.Status, body)
		}
	}
	r.postMessage(r.sendReply(q.ReplyToken, aaep.Reject))
	awaitResult(t, agent)
}

// A client that comes again and again under names that are not ours makes us look into the
// certificate once.
func TestForeignHostsAreCheap(t *testing.T) {
	server, client := newCertificate(t, "agent.example")
	var asked atomic.Int32
	plain := server.Clone()
	server.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { asked.Add(1); return plain, nil }
	_, addr := serveRemote(t, &serve.Server{TLS: server, Authenticate: authenticateAlice}, producer.Config{})
	https := httpsClient(t, client)
	before := int32(0)
	for n := range 10 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+addr+manifest.Path, nil)
		check(t, err)
		req.Host = fmt.Sprint("rebound", n, ".example")
		resp, err := https.Do(req)
		check(t, err)
		_, err = io.Copy(io.Discard, resp.Body) // or the next needs another connection
		check(t, err)
		resp.Body.Close()
		if n == 0 {
			before = asked.Load()
		}
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("Host %s: status %d", req.Host, resp.StatusCode)
		}
	}
	if more := asked.Load() - before; more > 0 {
		t.Errorf("asked for the certificate %d times more", more)
	}
}

// INV-44, D-66: what tells of the agent can be read by a listed page too, with headers that need
// leave, and by no other.
func TestListedOriginReads(t *testing.T) {
	const page = "https://reader.example"
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	check(t, err)
	defer p.Shutdown(context.Background())
	handler, err := (&serve.Server{Origins: []string{page}}).Handler(p)
	check(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	addr := server.Listener.Addr().String()
	for origin, want := range map[string]int{page: http.StatusOK, "https://evil.example": http.StatusForbidden} {
		resp, _ := sendRequest(t, "GET", addr, manifest.Path, "", "Origin: "+origin, "Sec-Fetch-Site: cross-site")
		shared := resp.Header.Get("Access-Control-Allow-Origin")
		if resp.StatusCode != want || (shared == page) != (want == http.StatusOK) {
			t.Errorf("%s: %s, shared with %q", origin, resp.Status, shared)
		}
		resp, _ = sendRequest(t, "OPTIONS", addr, manifest.Path, "", "Origin: "+origin, "Sec-Fetch-Site: cross-site",
			"Access-Control-Request-Method: GET", "Access-Control-Request-Headers: authorization")
		if (resp.StatusCode == http.StatusNoContent) != (want == http.StatusOK) {
			t.Errorf("%s: preflight: %s", origin, resp.Status)
		}
	}
	if resp, _ := sendRequest(t, "POST", addr, manifest.Path, "{}"); resp.StatusCode != http.StatusMethodNotAllowed ||
		resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %s, Allow %q", resp.Status, resp.Header.Get("Allow"))
	}
}

// TestNothingToServe: what is nil is refused in words, and no panic.
func TestNothingToServe(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	check(t, err)
	defer p.Shutdown(t.Context())
	for _, none := range []*producer.Producer{nil, {}} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		if h, err := new(serve.Server).Handler(none); err == nil || h != nil || !strings.Contains(err.Error(), "producer.New") {
			t.Errorf("Handler = %v", err)
		}
		if err := new(serve.Server).Serve(t.Context(), ln, none); err == nil || !strings.Contains(err.Error(), "producer.New") {
			t.Errorf("Serve = %v", err)
		}
	}
	if err := new(serve.Server).Serve(t.Context(), nil, p); err == nil || !strings.Contains(err.Error(), "net.Listen") {
		t.Errorf("without a listener Serve = %v", err)
	}
}
