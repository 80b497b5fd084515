package endpoint_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/endpoint"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/transports/websocket"
)

const (
	firstRequest = `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"first","capabilities":{}}`
	asJSON       = "Content-Type: application/json"
)

// rawClient is a raw client that makes the mistakes of a first subscriber.
type rawClient struct {
	ln *memnet.Listener
	at string
}

func (n rawClient) do(ctx context.Context, method, path, body string, header ...string) *http.Response {
	req, err := http.NewRequestWithContext(ctx, method, n.at+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DialContext: n.ln.Dial, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return &http.Response{Header: http.Header{}, Body: http.NoBody}
	}
	return resp
}

// subscribed asks as is right, and returns where the stream is.
func (n rawClient) subscribed(ctx context.Context) string {
	resp := n.do(ctx, "POST", "/aaep/v1/subscriptions", firstRequest, asJSON)
	resp.Body.Close()
	return resp.Header.Get("Location")
}

func (n rawClient) dialer(subprotocols ...string) *gorilla.Dialer {
	return &gorilla.Dialer{NetDialContext: n.ln.Dial, Subprotocols: subprotocols}
}

// A target that goes wrong on the way in is told at once what came and what would be right, by the
// requirement, and is not waited for for long, in virtual time. SSE-003, SSE-005, WS-002, CONF-014.
func TestWrongWays(t *testing.T) {
	for _, tt := range []struct {
		name, listen string
		does         func(ctx context.Context, n rawClient)
		want         string
	}{
		{"another path", "", func(ctx context.Context,
			n rawClient) {
			n.do(ctx, "POST", "/subscribe", firstRequest, asJSON)
		}, "POST /subscribe was answered with 404; a subscription is asked for with a subscription.request to POST /aaep/v1/subscriptions, as application/json (SSE-003)"},
		{"another method", "", func(ctx context.Context, n rawClient) { n.do(ctx, "GET", "/aaep/v1/subscriptions", "") },
			"(SSE-003)"},
		{"a form", "", func(ctx context.Context, n rawClient) {
			n.do(ctx, "POST", "/aaep/v1/subscriptions", firstRequest, "Content-Type: application/x-www-form-urlencoded")
		}, "answered with 415 (Content-Type must be application/json"},
		{"no JSON", "", func(ctx context.Context,
			n rawClient) {
			n.do(ctx, "POST", "/aaep/v1/subscriptions", "{'type'}", asJSON)
		}, "(SSE-003)"},
		{"another type", "", func(ctx context.Context, n rawClient) {
			n.do(ctx, "POST", "/aaep/v1/subscriptions", `{"type":"subscribe"}`, asJSON)
		}, "(the type of the message is subscribe)"},
		{"no capabilities", "", func(ctx context.Context, n rawClient) {
			n.do(ctx, "POST", "/aaep/v1/subscriptions",
				`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"first"}`, asJSON)
		}, `"capabilities" is missing`},
		{"too large", "", func(ctx context.Context, n rawClient) {
			n.do(ctx, "POST", "/aaep/v1/subscriptions", strings.Repeat(" ", 2<<20)+firstRequest, asJSON)
		}, "larger than 1 MiB"},
		{"another name", "", func(ctx context.Context, n rawClient) {
			n.do(ctx, "POST", "/aaep/v1/subscriptions", firstRequest, asJSON, "Origin: http://elsewhere.example")
		}, "was answered with 403"},
		{"TLS", "", func(ctx context.Context, n rawClient) {
			if c, err := n.ln.Dial(ctx, "", ""); err == nil {
				tls.Client(c, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
			}
		}, "speaks TLS, and this address is one without: it begins with http://, not https://"},
		{"JSON without HTTP", "", func(ctx context.Context, n rawClient) {
			if c, err := n.ln.Dial(ctx, "", ""); err == nil {
				fmt.Fprintln(c, firstRequest)
			}
		}, "does not speak HTTP: it begins with 0x7b"},
		{"another stream", "", func(ctx context.Context, n rawClient) {
			n.subscribed(ctx)
			n.do(ctx, "GET", "/events", "", "Accept: text/event-stream")
		}, "the target opened no event stream; GET /events was answered with 404; the stream is at the Location"},
		{"a stream by POST", "", func(ctx context.Context,
			n rawClient) {
			n.do(ctx, "POST", n.subscribed(ctx), "{}", asJSON)
		}, "asked for with GET (SSE-005)"},
		{"no stream, and is gone", "", func(ctx context.Context, n rawClient) { n.subscribed(ctx) },
			"the target opened no event stream"},
		{"without the subprotocol", "ws", func(ctx context.Context, n rawClient) {
			n.dialer().DialContext(ctx, n.at, nil)
		}, "(WS-002)"},
		{"a WebSocket elsewhere", "ws", func(ctx context.Context, n rawClient) {
			d := n.dialer(websocket.Subprotocol)
			d.DialContext(ctx, strings.Replace(n.at, websocket.DefaultPath, "/ws", 1), nil)
		}, "the WebSocket is at /aaep/v1/ws"},
		{"a layout without a handshake", "bare", func(ctx context.Context, n rawClient) {
			n.do(ctx, "POST", "/aaep/v1/subscriptions", firstRequest, asJSON)
		}, "here are GET /events and POST /messages"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				address := map[string]string{"": "http://127.0.0.1:0", "ws": "ws://127.0.0.1:0",
					"bare": "http://127.0.0.1:0/events"}[tt.listen]
				ln := memnet.Listen()
				s, err := endpoint.ListenOn(ln, address)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				began := time.Now()
				report, err := conformance.SubscriberRun{Listener: s, Level: 1,
					Subscriber: conformance.SubscriberFunc(func(ctx context.Context, _ *conformance.Hook) error {
						tt.does(ctx, rawClient{ln, s.URL()})
						<-ctx.Done()
						return nil
					})}.Prove(t.Context())
				said := ""
				if err != nil && !errors.Is(err, conformance.ErrUnreachable) {
					t.Fatal(err)
				} else if err != nil {
					said = err.Error()
				} else {
					var b bytes.Buffer
					report.WriteText(&b)
					said = b.String()
				}
				if !strings.Contains(said, tt.want) {
					t.Errorf("it was told:\n%s\nwant %q", said, tt.want)
				}
				if took := time.Since(began); took > 15*time.Second { // the time to come, of each play, is 20
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
