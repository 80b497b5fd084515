package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// newCertificate makes a key and a certificate for names, signed by itself, and the client's
// configuration that trusts it.
func newCertificate(t testing.TB, names ...string) (*tls.Config, *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "agent"},
		NotAfter: time.Now().Add(time.Hour), DNSNames: names}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	check(t, err)
	leaf, err := x509.ParseCertificate(der)
	check(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}}},
		&tls.Config{RootCAs: pool}
}

// authenticateAlice knows alice by her token, and refuses all others.
func authenticateAlice(r *http.Request) (string, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer alice":
		return "alice", nil
	case "Bearer mallory":
		return "", aaep.AuthorizationDenied
	}
	return "", errors.New("no such token")
}

// serveRemote serves where other machines could come in, and returns the address under which this
// one does.
func serveRemote(t *testing.T, s *serve.Server, cfg producer.Config) (*producer.Producer, string) {
	t.Helper()
	cfg.Agent = aaep.Agent{AgentID: "tester"}
	p, err := producer.New(cfg)
	check(t, err)
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	check(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(context.Background(), ln, p) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p.Shutdown(ctx)
		if err := <-ended; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return p, "agent.example:" + port
}

// toHere dials this machine whatever the name.
func toHere(ctx context.Context, network, addr string) (net.Conn, error) {
	_, port, _ := net.SplitHostPort(addr)
	return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
}

func httpsClient(t testing.TB, conf *tls.Config) *http.Client {
	tr := &http.Transport{TLSClientConfig: conf, DialContext: toHere, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// TR-015, TR-016, TR-018, INV-47: a door to other machines opens with TLS and an authenticator, and
// says what is missing without.
func TestRemoteNeedsBoth(t *testing.T) {
	server, _ := newCertificate(t, "agent.example")
	nameless, _ := newCertificate(t)
	wild, _ := newCertificate(t, "*.agents.example")
	old := server.Clone()
	old.MinVersion = tls.VersionTLS11
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	check(t, err)
	defer p.Shutdown(context.Background())
	for name, c := range map[string]struct {
		s    serve.Server
		says string
	}{
		"neither":        {serve.Server{}, "set Server.TLS and Server.Authenticate"},
		"no TLS":         {serve.Server{Authenticate: authenticateAlice}, "set Server.TLS and Server.Authenticate"},
		"wildcard":       {serve.Server{TLS: wild, Authenticate: authenticateAlice}, "set Server.Hosts"},
		"no names":       {serve.Server{TLS: nameless, Authenticate: authenticateAlice}, "set Server.Hosts"},
		"no credentials": {serve.Server{TLS: server}, "set Server.TLS and Server.Authenticate"},
		"origin": {serve.Server{TLS: server, Authenticate: authenticateAlice,
			Origins: []string{"reader.example"}}, `the origin "reader.example" must be`},
		"old TLS": {serve.Server{TLS: old, Authenticate: authenticateAlice}, "below TLS 1.2"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := c.s.ListenAndServe(ctx, "0.0.0.0:0", p); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: ListenAndServe = %v, want that it says %q", name, err, c.says)
		}
		cancel()
	}
}

// TR-015, TR-018, TR-019: over TLS, a client with credentials follows and answers, over both
// transports; no other does, and TLS 1.3 is what two of ours speak.
func TestRemote(t *testing.T) {
	server, client := newCertificate(t, "agent.example")
	p, addr := serveRemote(t, &serve.Server{TLS: server, Authenticate: authenticateAlice}, producer.Config{})
	https := httpsClient(t, client)
	good, bad := http.Header{"Authorization": {"Bearer alice"}}, http.Header{"Authorization": {"Bearer eve"}}
	local := strings.Replace(addr, "agent.example", "127.0.0.1", 1)
	byName := client.Clone()
	byName.ServerName = "agent.example"
	dial := map[string]func(http.Header) transports.Dialer{
		"sse": func(h http.Header) transports.Dialer {
			return sse.Dialer{URL: "https://" + addr, Client: https, Header: h}
		},
		"websocket": func(h http.Header) transports.Dialer {
			return websocket.Dialer{URL: "wss://" + local, TLS: byName, Header: withHeader(h, "Host", addr)}
		},
	}
	for name, d := range dial {
		for _, h := range []http.Header{nil, bad} {
			if _, err := subscriber.Dial(t.Context(), d(h),
				subscriber.Config{ID: "x", Capabilities: everything}); !errors.Is(err, aaep.AuthenticationRequired) {
				t.Errorf("%s with %v: %v, want authentication_required", name, h, err)
			}
		}
		if _, err := subscriber.Dial(t.Context(), d(http.Header{"Authorization": {"Bearer mallory"}}),
			subscriber.Config{ID: "x", Capabilities: everything}); !errors.Is(err, aaep.AuthorizationDenied) {
			t.Errorf("%s: %v, want authorization_denied", name, err)
		}
		sub, err := subscriber.Dial(t.Context(), d(good), subscriber.Config{ID: name, Capabilities: everything})
		check(t, err)
		s, err := p.StartSession(context.Background(), aaep.Say("Paying."))
		check(t, err)
		paid := runAsync(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
		_, err = readUntil(sub, func(ev *aaep.Event) bool {
			if ev.Type() == aaep.TypeAwaitingConfirmation {
				check(t, sub.Question(ev).Accept(t.Context()))
			}
			return ev.Type() == aaep.TypeToolCompleted
		})
		check(t, err)
		check(t, awaitResult(t, paid).err)
		check(t, s.Complete(aaep.Say("Paid.")))
		check(t, sub.Close())
	}
	resp, err := https.Get("https://" + addr + "/healthz")
	check(t, err)
	resp.Body.Close()
	if resp.TLS.Version != tls.VersionTLS13 {
		t.Errorf("two of ours speak %s", tls.VersionName(resp.TLS.Version))
	}
	old := client.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS11, tls.VersionTLS11
	if resp, err := httpsClient(t, old).Get("https://" + addr + "/healthz"); err == nil {
		resp.Body.Close()
		t.Error("TLS 1.1 is spoken")
	}
}

// withHeader returns a copy of h with one more member.
func withHeader(h http.Header, name, value string) http.Header {
	h = h.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set(name, value)
	return h
}

// INV-44: a certificate that is renewed brings its names with it, over every transport; the names
// of before stay.
func TestNamesOfARenewedCertificate(t *testing.T) {
	first, _ := newCertificate(t, "agent.example")
	renewed, client := newCertificate(t, "agent.example", "new.example")
	var now atomic.Pointer[tls.Config]
	now.Store(first)
	server := first.Clone()
	server.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		_ = hello.Conn.RemoteAddr().String() // as an application may
		return now.Load(), nil
	}
	_, addr := serveRemote(t, &serve.Server{TLS: server, Authenticate: authenticateAlice}, producer.Config{})
	now.Store(renewed)
	https := httpsClient(t, client)
	good := http.Header{"Authorization": {"Bearer alice"}}
	for host, want := range map[string]bool{"agent.example": true, "new.example": true, "rebound.example": false} {
		at := strings.Replace(addr, "agent.example", "127.0.0.1", 1)
		as := client.Clone()
		as.ServerName = "agent.example"
		for name, d := range map[string]transports.Dialer{
			"sse": sse.Dialer{URL: "https://" + strings.Replace(addr, "agent.example", host, 1), Client: https,
				Header: good},
			"websocket": websocket.Dialer{URL: "wss://" + at, TLS: as,
				Header: withHeader(good, "Host", strings.Replace(addr, "agent.example", host, 1))},
		} {
			sub, err := subscriber.Dial(t.Context(), d, subscriber.Config{ID: name, Capabilities: everything})
			if (err == nil) != want {
				t.Errorf("%s as %s: %v", name, host, err)
			}
			if err == nil {
				check(t, sub.Close())
			}
		}
	}
}

// INV-44: with TLS the names are those of the certificate, on every route that says something.
func TestNamesOfTheCertificate(t *testing.T) {
	server, client := newCertificate(t, "agent.example")
	_, addr := serveRemote(t, &serve.Server{TLS: server, Authenticate: authenticateAlice}, producer.Config{})
	https := httpsClient(t, client)
	for host, want := range map[string]int{addr: http.StatusOK, "agent.example": http.StatusOK,
		"localhost": http.StatusForbidden, "rebound.example": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+addr+manifest.Path, nil)
		check(t, err)
		req.Host = host
		resp, err := https.Do(req)
		check(t, err)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("Host %s: status %d, want %d", host, resp.StatusCode, want)
		}
	}
}

// XT-001, HS-089, HS-090, SSE-002, VER-010: what is at the well-known path says what is served and
// where. VER-007
func TestManifestIsPublished(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner", AgentName: "Planner"},
		Languages: []string{"es"}, MaxSubscriptions: 7})
	check(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	p.AddEndpoint(manifest.Unix, manifest.Endpoint{Address: "unix:/run/aaep/planner.sock", Framing: "length"})
	ended := make(chan error, 1)
	go func() { ended <- serve.Serve(context.Background(), ln, p) }()
	data, err := manifest.Discover(t.Context(), "http://"+ln.Addr().String()+"/aaep/v1", nil)
	check(t, err)
	m, err := manifest.Parse(data)
	check(t, err)
	at, err := m.Endpoints()
	check(t, err)
	if m.AgentID != "planner" || m.AgentName != "Planner" || strings.Join(m.LanguagesSupported, " ") != "en-US es" ||
		m.MaxConcurrentSubscriptions != 7 ||
		m.AAEPVersionsSupported[0] != aaep.Version || at[manifest.SSE].Address != "/aaep/v1" ||
		at[manifest.WebSocket].Address != "/aaep/v1/ws" ||
		at[manifest.Unix].Framing != "length" { // IPC-010
		t.Errorf("the manifest is %s", data)
	}
	health := func() (int, string) {
		resp, err := http.Get("http://" + ln.Addr().String() + "/healthz")
		check(t, err)
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if status, body := health(); status != http.StatusOK || !strings.Contains(body, "ok") {
		t.Errorf("/healthz: %d %s", status, body)
	}
	http.DefaultClient.CloseIdleConnections()
	p.Shutdown(context.Background())
	check(t, <-ended)
}

// TestMounted: an application that has a server of its own mounts the handler, and p.Shutdown ends
// what that started.
func TestMounted(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	check(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	handler, err := new(serve.Server).Handler(p)
	check(t, err)
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	go srv.Serve(ln)
	for name, d := range map[string]transports.Dialer{"sse": sse.Dialer{URL: "http://" + ln.Addr().String()},
		"websocket": websocket.Dialer{URL: "ws://" + ln.Addr().String()}} {
		sub, err := subscriber.Dial(t.Context(), d, subscriber.Config{ID: name, Capabilities: everything})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check(t, sub.Close())
	}
	p.Shutdown(context.Background())
	srv.Close()
}

// D-63, D-64: clients that know no handshake are served beside the others, where that is asked for;
// ours finds either.
func TestRootLayout(t *testing.T) {
	for _, served := range []bool{true, false} {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, FromStart: true})
		check(t, err)
		s := &serve.Server{}
		if served {
			s.RootLayout = &aaep.Capabilities{CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryNone}}
		}
		handler, err := s.Handler(p)
		check(t, err)
		behind := http.NewServeMux()
		behind.Handle("/", handler)
		behind.Handle("/aaep/", http.NotFoundHandler()) // as a published server is
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		srv := &http.Server{Handler: behind, ReadHeaderTimeout: time.Second}
		go srv.Serve(ln)
		sub, err := subscriber.Dial(t.Context(), sse.Dialer{URL: "http://" + ln.Addr().String(), RootLayout: true},
			subscriber.Config{ID: "x"})
		if (err == nil) != served {
			t.Errorf("served %t: Dial = %v", served, err)
		}
		if err == nil {
			session, err := p.StartSession(t.Context(), aaep.Say("Working."))
			check(t, err)
			check(t, session.Complete(aaep.Say("Done.")))
			evs, err := readUntil(sub, isOver)
			if err != nil || len(evs) < 2 {
				t.Errorf("%d events, %v", len(evs), err)
			}
			sub.Close()
		}
		p.Shutdown(context.Background())
		srv.Close()
	}
}

// Behind a proxy every client seems to be on this machine, and one that writes "Host: localhost"
// under the proxy's own name: so clients without credentials are not served beside one (INV-47,
// T-PROXY).
func TestRootLayoutBehindProxy(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	check(t, err)
	defer p.Shutdown(context.Background())
	for host, right := range map[string]bool{"agent.example": false, "agent.example:8443": false, "10.0.0.1": false,
		"[fd00::1]": false, "localhost.example": false,
		"localhost": true, "127.0.0.1:8080": true, "[::1]": true} {
		_, err := (&serve.Server{Hosts: []string{"localhost", host}, RootLayout: &aaep.Capabilities{}}).Handler(p)
		if (err == nil) != right || err != nil && !strings.Contains(err.Error(), host) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// A page for people is where they look for it, under the agent's own names alone, and nowhere if
// there is none.
func TestPage(t *testing.T) {
	for _, there := range []bool{true, false} {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
		check(t, err)
		s := &serve.Server{}
		if there {
			s.Page = http.HandlerFunc(func(w http.ResponseWriter,
				r *http.Request) {
				io.WriteString(w, "page "+r.URL.Path)
			})
		}
		handler, err := s.Handler(p)
		check(t, err)
		ask := func(host, path string) (int, string) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "http://"+host+path, nil)
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey,
				&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}))
			handler.ServeHTTP(w, r)
			return w.Code, w.Header().Get("Location") + w.Body.String()
		}
		if status, body := ask("localhost", "/aaep/web/x"); (status == http.StatusOK && body == "page x") != there {
			t.Errorf("there %t: %d %s", there, status, body)
		}
		if status, body := ask("localhost", "/"); (status == http.StatusSeeOther &&
			strings.HasPrefix(body, "/aaep/web/")) != there {
			t.Errorf("there %t: / is %d %s", there, status, body)
		}
		if status, _ := ask("rebound.example", "/aaep/web/x"); status == http.StatusOK {
			t.Errorf("there %t: it is shown under a foreign name", there) // INV-44
		}
		p.Shutdown(context.Background())
	}
}
