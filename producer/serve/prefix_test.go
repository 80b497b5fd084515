package serve_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/web"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// A handler below a path is followed there over both transports, its streams included, and every
// address that it gives out is below that path: that of the page, of the manifest, of what is not
// there. It makes no difference whether the path that is stripped ends with a slash.
func TestUnderAPrefix(t *testing.T) {
	for _, stripped := range []string{"/agent", "/agent/"} {
		t.Run(stripped, func(t *testing.T) { followUnderAPrefix(t, stripped) })
	}
}

func followUnderAPrefix(t *testing.T, stripped string) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}})
	check(t, err)
	defer p.Shutdown(context.Background())
	h, err := (&serve.Server{Page: web.Handler()}).Handler(p)
	check(t, err)
	mux := http.NewServeMux()
	mux.Handle("/agent/", http.StripPrefix(stripped, h))
	at := httptest.NewServer(mux)
	defer at.Close()
	var subs []*subscriber.Subscription
	for name, d := range map[string]transports.Dialer{
		"sse":       sse.Dialer{URL: at.URL + "/agent/aaep/v1"},
		"websocket": websocket.Dialer{URL: "ws" + strings.TrimPrefix(at.URL, "http") + "/agent/aaep/v1/ws"},
	} {
		sub, err := subscriber.Dial(t.Context(), d, subscriber.Config{ID: name, Capabilities: everything})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer sub.Close()
		subs = append(subs, sub)
	}
	s, err := p.StartSession(t.Context(), aaep.Say("Planning."))
	check(t, err)
	check(t, s.Complete(aaep.Text{}))
	for _, sub := range subs {
		if got := summarize(mustCollect(t, sub, isOver)); !strings.HasSuffix(got, "session.completed") {
			t.Errorf("followed is %s", got)
		}
	}
	for path, want := range map[string]string{
		"/":                               "200 /agent/aaep/web/",
		"/aaep/web":                       "200 /agent/aaep/web/",
		"/healthz":                        `200 "status":"ok"`,
		"/.well-known/aaep-manifest.json": `200 "/agent/aaep/v1/ws"`,
		"/aaep/v1/schemas/":               "200 schema.json",
		"/aaep/v1/nothing":                "404 /agent/aaep/v1/subscriptions",
	} {
		resp, err := http.Get(at.URL + "/agent" + path)
		check(t, err)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		status, has, _ := strings.Cut(want, " ")
		if got := resp.Status + " " + resp.Request.URL.Path + " " + string(body); !strings.HasPrefix(got, status) ||
			!strings.Contains(got, has) {
			t.Errorf("%s: %.300s, want %s", path, got, want)
		}
	}
}
