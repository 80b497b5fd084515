package serve_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/web"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// Two agents on one listener are two: each is followed below its own path, over both transports,
// and one's end is not the other's. TR-024, INV-43
func TestServeAll(t *testing.T) {
	agents := map[string]*producer.Producer{}
	for _, name := range []string{"planner", "bank"} {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: name}})
		check(t, err)
		defer p.Shutdown(t.Context())
		agents[name] = p
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	served := runAsync(func() (string, error) {
		return "",
			new(serve.Server).ServeAll(context.Background(), ln, agents)
	})
	addr := ln.Addr().String()
	hear := func(d transports.Dialer) *subscriber.Subscription {
		t.Helper()
		sub, err := subscriber.Dial(t.Context(), d, subscriber.Config{ID: "ear", Capabilities: everything})
		check(t, err)
		t.Cleanup(func() { sub.Close() })
		return sub
	}
	subs := map[string][]*subscriber.Subscription{}
	for name := range agents {
		subs[name] = []*subscriber.Subscription{hear(sse.Dialer{URL: "http://" + addr + "/" + name}),
			hear(websocket.Dialer{URL: "ws://" + addr + "/" + name + "/ws"})}
	}
	for name, p := range agents {
		s, err := p.StartSession(t.Context(), aaep.Say("I am "+name+"."))
		check(t, err)
		check(t, s.Complete(aaep.Text{}))
	}
	for name := range agents {
		for _, sub := range subs[name] {
			for _, ev := range mustCollect(t, sub, isOver) {
				if ev.Producer.AgentID != name {
					t.Errorf("%s: %v", name, ev)
				}
			}
		}
		if _, body := sendRequest(t, "GET", addr, "/"+name+"/.well-known/aaep-manifest.json",
			""); !strings.Contains(body, `"agent_id":"`+name+`"`) || !strings.Contains(body, `"/`+name+`/ws"`) {
			t.Errorf("the manifest of %s: %s", name, body)
		}
	}
	check(t, agents["bank"].Shutdown(t.Context()))
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/planner/healthz": http.StatusOK,
		"/bank/healthz": http.StatusServiceUnavailable,
		"/readyz":       http.StatusOK, "/planner/readyz": http.StatusOK, "/bank/readyz": http.StatusServiceUnavailable,
		"/": http.StatusOK, "/aaep/v1/events": http.StatusNotFound, "/missing": http.StatusNotFound} {
		if resp, body := sendRequest(t, "GET", addr, path, ""); resp.StatusCode != want {
			t.Errorf("%s: %d %s, want %d", path, resp.StatusCode, body, want)
		}
	}
	if _, body := sendRequest(t, "GET", addr, "/", ""); body != "/bank\n/planner\n" {
		t.Errorf("the agents there are: %q", body)
	}
	const elsewhere, names = "each is below its own name, where a request for a subscription goes to /NAME/subscriptions", "; there are /bank, /planner"
	if _, body := sendRequest(t, "POST", addr, "/aaep/v1/subscriptions", "{}"); !strings.Contains(body, elsewhere+names) {
		t.Errorf("who asks where no agent is hears %q", body)
	}
	if _, body := sendRequest(t, "GET", addr, "/missing", "", "Host: evil.example"); !strings.Contains(body, elsewhere) ||
		strings.Contains(body, names) {
		t.Errorf("a page elsewhere that asks where no agent is hears %q", body)
	}
	if resp, body := sendRequest(t, "GET", addr, "/", "",
		"Host: evil.example"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a page elsewhere learns what agents there are: %d %q", resp.StatusCode, body)
	}
	if resp, _ := sendRequest(t, "GET", addr, "/planner/healthz", "",
		"Host: evil.example"); resp.StatusCode != http.StatusOK {
		t.Errorf("a health check is asked for a name: %d", resp.StatusCode)
	}
	check(t, agents["planner"].Shutdown(t.Context()))
	check(t, awaitResult(t, served).err)
}

// What cannot be told apart is refused in words.
func TestServeAllRefuses(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "a"}})
	check(t, err)
	defer p.Shutdown(t.Context())
	for name, tc := range map[string]struct {
		server *serve.Server
		want   string
	}{
		"a/b":     {&serve.Server{}, "cannot be a path"},
		"":        {&serve.Server{}, "cannot be a path"},
		"..":      {&serve.Server{}, "cannot be a path"},
		"healthz": {&serve.Server{}, "cannot be a path"},
		"readyz":  {&serve.Server{}, "cannot be a path"},
		"page":    {&serve.Server{Page: web.Handler()}, "for one agent"},
		"root":    {&serve.Server{RootLayout: &aaep.Capabilities{}}, "for one agent"},
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		if err := tc.server.ServeAll(t.Context(), ln, map[string]*producer.Producer{name: p}); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// INV-41: of several agents on one host each proves who it is by keys below its own path, and no
// other's vouch for it.
func TestServeAllProves(t *testing.T) {
	agents, paths := map[string]*producer.Producer{}, []string{"/planner", "/bank"}
	for _, at := range paths {
		own := []*manifest.Signer{newSigner(t)}
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: at[1:]},
			Signers: func() []*manifest.Signer { return own }})
		check(t, err)
		defer p.Shutdown(context.Background())
		agents[at[1:]] = p
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	go new(serve.Server).ServeAll(context.Background(), ln, agents)
	host := "http://" + ln.Addr().String()
	for _, at := range paths {
		data, err := manifest.Discover(t.Context(), host+at, nil)
		check(t, err)
		if m, _, err := manifest.ParseUnverified(data); err != nil || m.AgentID != at[1:] {
			t.Errorf("the manifest at %s: %s, %v", at, data, err)
		}
		for _, by := range append(paths, "") {
			keys, err := manifest.Beside(host+by, manifest.KeysPath)
			check(t, err)
			trust := &manifest.Trust{}
			trust.Source, err = manifest.RemoteKeys(keys, nil)
			check(t, err)
			sub, err := subscriber.Dial(t.Context(), sse.Dialer{URL: host + at},
				subscriber.Config{ID: "ear", Capabilities: demanding, Trust: trust})
			if err == nil {
				sub.Close()
			}
			if at == by && err != nil || at != by && !errors.Is(err, manifest.ErrUnknownKey) {
				t.Errorf("%s by the keys of %q: %v", at, by, err)
			}
		}
	}
	if _, err := manifest.Discover(t.Context(), host, nil); !errors.Is(err, manifest.ErrNone) {
		t.Errorf("a manifest for the whole host: %v", err)
	}
}

// An agent that a proxy puts below a path, and that does not know of it, is followed and proves who
// it is there.
func TestBelowAPath(t *testing.T) {
	own := newSigner(t)
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"},
		Signers: func() []*manifest.Signer { return []*manifest.Signer{own} }})
	check(t, err)
	defer p.Shutdown(context.Background())
	proxy := httptest.NewUnstartedServer(nil)
	defer proxy.Close()
	h, err := (&serve.Server{Hosts: []string{proxy.Listener.Addr().String()}}).Handler(p)
	check(t, err)
	agent := httptest.NewServer(h)
	defer agent.Close()
	behind, err := url.Parse(agent.URL)
	check(t, err)
	proxy.Config.Handler = http.StripPrefix("/planner", &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error {
			if at := r.Header.Get("Location"); strings.HasPrefix(at, "/") {
				r.Header.Set("Location", "/planner"+at)
			}
			return nil
		}})
	proxy.Start()
	at := proxy.URL + "/planner/aaep/v1"
	keys, err := manifest.Beside(at, manifest.KeysPath)
	check(t, err)
	trust := &manifest.Trust{}
	trust.Source, err = manifest.RemoteKeys(keys, nil)
	check(t, err)
	for _, d := range []transports.Dialer{sse.Dialer{URL: at},
		websocket.Dialer{URL: "ws" + strings.TrimPrefix(at, "http") + "/ws"}} {
		sub, err := subscriber.Dial(t.Context(), d, subscriber.Config{ID: "ear", Capabilities: demanding, Trust: trust})
		check(t, err)
		s, err := p.StartSession(t.Context(), aaep.Say("Planning."))
		check(t, err)
		check(t, s.Complete(aaep.Text{}))
		mustCollect(t, sub, isOver)
		check(t, sub.Close())
	}
}

// The page and its server agree where it is, though neither imports the other.
func TestPagePath(t *testing.T) {
	if serve.PagePath != web.Path {
		t.Errorf("the server has its page at %s, and the page is at %s", serve.PagePath, web.Path)
	}
}
