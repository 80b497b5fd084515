//go:build unix

package discover_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/transports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent publishes a manifest, or none if text is empty.
func agent(t *testing.T, text string) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text == "" || r.URL.Path != manifest.Path {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, text)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// told makes a manifest with transports and where they are.
func told(transports, endpoints string) string {
	return fmt.Sprintf(`{"@context":["https://aaep-protocol.org/context/v1",%q],"type":"aaep:producer.manifest","agent_id":"a","transports_supported":[%s],"extensions":{"endpoints":{%s}}}`,
		manifest.EndpointsVocabulary.URI, transports, endpoints)
}

// SSE-002, XT-002, D-59, T-DOWNGRADE: the manifest says which ways there are, the user in which
// order; one that leads elsewhere is none.
func TestWays(t *testing.T) {
	const everywhere = `"sse","websocket","unix-socket","grpc"`
	for name, c := range map[string]struct {
		manifest string
		order    []string
		want     string // HOST stands for the agent's
		says     string
	}{
		"no manifest":     {want: "sse http://HOST/aaep/v1, websocket ws://HOST/aaep/v1/ws"},
		"no JSON":         {manifest: "{", want: "sse http://HOST/aaep/v1, websocket ws://HOST/aaep/v1/ws"},
		"names nothing":   {manifest: told("", ""), want: "sse http://HOST/aaep/v1, websocket ws://HOST/aaep/v1/ws"},
		"usual places":    {manifest: told(everywhere, ""), want: "sse http://HOST/aaep/v1, websocket ws://HOST/aaep/v1/ws"},
		"user's order":    {manifest: told(everywhere, ""), order: []string{"websocket", "sse"}, want: "websocket ws://HOST/aaep/v1/ws, sse http://HOST/aaep/v1"},
		"one only":        {manifest: told(`"websocket"`, ""), want: "websocket ws://HOST/aaep/v1/ws"},
		"other prefix":    {manifest: told(`"sse"`, `"sse":{"address":"/x"}`), want: "sse http://HOST/x"},
		"socket":          {manifest: told(everywhere, `"unix-socket":{"address":"unix:/run/a.sock","framing":"length"}`), order: []string{"unix-socket"}, want: "unix-socket unix:/run/a.sock"},
		"other module":    {manifest: told(everywhere, `"grpc":{"address":"http://127.0.0.1:50051"}`), order: []string{"grpc"}, want: "grpc http://127.0.0.1:50051"},
		"other host":      {manifest: told(`"sse","websocket"`, `"sse":{"address":"https://elsewhere.example/aaep/v1"}`), want: "websocket ws://HOST/aaep/v1/ws"},
		"other port":      {manifest: told(`"sse","websocket"`, `"websocket":{"address":"ws://127.0.0.1:1/x"}`), want: "sse http://HOST/aaep/v1"},
		"credentials":     {manifest: told(`"sse","websocket"`, `"sse":{"address":"http://user:pw@HOST/"}`), want: "websocket ws://HOST/aaep/v1/ws"},
		"pipe as socket":  {manifest: told(everywhere, `"unix-socket":{"address":"telegraph:a"}`), order: []string{"unix-socket", "sse"}, want: "sse http://HOST/aaep/v1"},
		"nothing for us":  {manifest: told(`"telegraph"`, ""), says: "not reached over sse"},
		"not what I want": {manifest: told(`"sse"`, ""), order: []string{"websocket"}, says: `its manifest are "sse"`},
	} {
		t.Run(name, func(t *testing.T) {
			srv := agent(t, c.manifest)
			host := strings.TrimPrefix(srv.URL, "http://")
			ways, err := discover.Ways(t.Context(), srv.URL, discover.Options{Transports: c.order,
				More: map[string]func(*url.URL) transports.Dialer{"grpc": func(*url.URL) transports.Dialer { return nil }}})
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("Ways = %v, %v; want that it says %q", ways, err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range ways {
				got = append(got, w.Transport+" "+w.Address)
			}
			if want := strings.ReplaceAll(c.want, "HOST", host); strings.Join(got, ", ") != want {
				t.Errorf("Ways = %q, want %q", got, want)
			}
		})
	}
}

// INV-36: what a manifest says is told and logged in characters that do nothing.
func TestHostileNames(t *testing.T) {
	srv := agent(t, told(`"sse","tele\u009bgraph"`, `"sse":{"address":"https://\u202eelsewhere.example\u0085/"},"tele\u009bgraph":{"address":"x"}`))
	var log strings.Builder
	_, err := discover.Ways(t.Context(), srv.URL, discover.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	if err == nil {
		t.Fatal("the agent is reached")
	}
	for _, told := range []string{err.Error(), strings.TrimSpace(log.String())} {
		if !strings.Contains(told, "sse") || aaep.SafeText(told) != told || strings.Contains(told, "\n") {
			t.Errorf("told %+q", told)
		}
	}
}

// An address that names one way is not asked about; what is none says what would be one.
func TestAddresses(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	for address, want := range map[string]string{
		"ws://127.0.0.1:1":                      "websocket",
		"wss://agent.example/aaep/v1/ws":        "websocket",
		"http://127.0.0.1:1/agents/7":           "sse",
		"https://agent.example/aaep/v1":         "sse",
		"unix:/run/user/1000/aaep/planner.sock": "unix-socket",
		"unix:planner":                          "unix-socket",
	} {
		ways, err := discover.Ways(t.Context(), address, discover.Options{})
		if err != nil || len(ways) != 1 || ways[0].Transport != want {
			t.Errorf("Ways(%q) = %v, %v; want %s", address, ways, err, want)
		}
	}
	for address, says := range map[string]string{
		"": "no address", "planner": "no address", "127.0.0.1:8080": "no address", "ftp://x": "no address", "http://": "no address",
		"https://user:pw@x": "credentials", "unix:": "unix:planner", "http://bank.example:1": "use https", "ws://bank.example": "use wss",
	} {
		ways, err := discover.Ways(t.Context(), address, discover.Options{})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "pw") {
			t.Errorf("Ways(%q) = %v, %v; want that it says %q", address, ways, err, says)
		}
	}
}

// A manifest that does not come does not hold up a caller whose context has ended.
func TestNoPatience(t *testing.T) {
	hang := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer srv.Close()
	defer close(hang)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if ways, err := discover.Ways(ctx, srv.URL, discover.Options{}); err == nil {
		t.Errorf("Ways = %v", ways)
	}
}

func ExampleWays() {
	ctx := context.Background()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner", AgentName: "Planner"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler, err := new(serve.Server).Handler(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := httptest.NewServer(handler)
	defer srv.Close()
	defer p.Shutdown(ctx)

	ways, err := discover.Ways(ctx, srv.URL, discover.Options{Transports: []string{manifest.WebSocket, manifest.SSE}})
	if err != nil {
		fmt.Println(err)
		return
	}
	sub, err := subscriber.Dial(ctx, ways[0].Dialer, subscriber.Config{ID: "my-reader",
		Capabilities: subscriber.ScreenReader("en-US"), Fallback: discover.Dialers(ways[1:])})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sub.Close()
	status, _ := sub.Status()
	fmt.Println("Following", sub.Accepted().Producer.AgentName, "over", ways[status.Way].Transport)
	// Output: Following Planner over websocket
}

// XT-002: with WebSocket blocked on the way, the subscriber comes up over Server-Sent Events and
// says so.
func TestBlockedWebSocket(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}})
	if err != nil {
		t.Fatal(err)
	}
	behind, err := new(serve.Server).Handler(p)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Connection"), "Upgrade") {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		behind.ServeHTTP(w, r)
	}))
	defer srv.Close()
	defer p.Shutdown(context.Background())
	ways, err := discover.Ways(t.Context(), srv.URL, discover.Options{Transports: []string{manifest.WebSocket, manifest.SSE}})
	if err != nil || len(ways) != 2 {
		t.Fatal(ways, err)
	}
	sub, err := subscriber.Dial(t.Context(), ways[0].Dialer, subscriber.Config{ID: "x", Fallback: discover.Dialers(ways[1:])})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if st, _ := sub.Status(); ways[st.Way].Transport != manifest.SSE {
		t.Errorf("Status = %+v of %v", st, slices.Collect(slices.Values(ways)))
	}
}
