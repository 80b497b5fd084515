package serve_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// Behind a proxy that is trusted, the log and Authenticate know who came by the address that the
// proxy says; of any other client the header says nothing.
func TestTrustedProxy(t *testing.T) {
	for name, tt := range map[string]struct {
		trusted []netip.Prefix
		want    string
	}{
		"trusted": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "203.0.113.9:0"},
		"another": {[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "127.0.0.1:"},
		"none":    {nil, "127.0.0.1:"},
	} {
		var mu sync.Mutex
		var logged bytes.Buffer
		logger := slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return logged.Write(b)
		}), nil))
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}, Logger: logger})
		check(t, err)
		var asked []string
		h, err := (&serve.Server{TrustedProxies: tt.trusted, Logger: logger,
			Authenticate: func(r *http.Request) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, r.RemoteAddr)
				if r.Header.Get("Authorization") == "Bearer wrong" {
					return "", errors.New("a wrong token")
				}
				return "ada", nil
			}}).Handler(p)
		check(t, err)
		at := httptest.NewServer(h)
		said := http.Header{"X-Forwarded-For": {"192.0.2.66, 203.0.113.9"}}
		for _, d := range []transports.Dialer{sse.Dialer{URL: at.URL, Header: said},
			websocket.Dialer{URL: "ws" + strings.TrimPrefix(at.URL, "http") + "/aaep/v1/ws", Header: said}} {
			sub, err := subscriber.Dial(t.Context(), d, subscriber.Config{ID: "real", Capabilities: everything})
			check(t, err)
			check(t, sub.Close())
		}
		wrong := said.Clone()
		wrong.Set("Authorization", "Bearer wrong")
		if _, err := subscriber.Dial(t.Context(), sse.Dialer{URL: at.URL, Header: wrong},
			subscriber.Config{ID: "real"}); err == nil {
			t.Error("a wrong token is taken")
		}
		check(t, p.Shutdown(context.Background()))
		at.CloseClientConnections()
		at.Close()
		mu.Lock()
		for _, line := range strings.Split(logged.String(), "\n") {
			tells := strings.Contains(line, "subscription opened") || strings.Contains(line, "subscription closed") ||
				strings.Contains(line, "not authenticated")
			if tells && !strings.Contains(line, "peer="+tt.want) || strings.Contains(line, "192.0.2.66") {
				t.Errorf("%s: logged is %s, want the peer %s", name, line, tt.want)
			}
		}
		if n := strings.Count(logged.String(), "subscription opened"); n != 2 {
			t.Errorf("%s: %d are logged as opened", name, n)
		}
		for _, peer := range asked {
			if !strings.HasPrefix(peer, tt.want) {
				t.Errorf("%s: Authenticate was asked of %s, want %s", name, peer, tt.want)
			}
		}
		mu.Unlock()
	}
	if _, err := (&serve.Server{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("::/0")}}).Handler(nil); err == nil || !strings.Contains(err.Error(), "TrustedProxies") {
		t.Errorf("everybody is trusted: %v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
