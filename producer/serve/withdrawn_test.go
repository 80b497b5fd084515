package serve_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports/websocket"
)

// TestWithdrawnIsLogged checks that the log says of a subscription whose credentials were withdrawn
// that they were, and not that its subscriber left.
func TestWithdrawnIsLogged(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, v *virtualServer){
		"sse": func(t *testing.T, v *virtualServer) {
			c, _ := v.openStream(v.subscribe(aaep.Capabilities{}))
			t.Cleanup(func() { c.Close() })
		},
		"websocket": func(t *testing.T, v *virtualServer) {
			dialer := gorilla.Dialer{NetDialContext: v.ln.Dial, Subprotocols: []string{websocket.Subprotocol}}
			ws, resp, err := dialer.Dial("ws://localhost"+websocket.DefaultPath, nil)
			check(t, err)
			resp.Body.Close()
			t.Cleanup(func() { ws.Close() })
			check(t, ws.WriteMessage(gorilla.TextMessage, []byte(encodeMessage(t,
				&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw"}))))
			go io.Copy(io.Discard, reader{ws})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gone atomic.Bool
				var said syncBuffer
				p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"},
					Logger: slog.New(slog.NewTextHandler(&said, nil))})
				check(t, err)
				ln := memnet.Listen()
				v := &virtualServer{t: t, p: p, ln: ln, client: ln.Client(t)}
				srv := &serve.Server{Authenticate: func(*http.Request) (string, error) {
					if gone.Load() {
						return "", aaep.AuthenticationRequired
					}
					return "ada", nil
				}}
				ended := make(chan error, 1)
				go func() { ended <- srv.Serve(context.Background(), ln, p) }()
				open(t, v)
				synctest.Wait()
				gone.Store(true)
				time.Sleep(time.Minute)
				if log := said.String(); strings.Count(log, `msg="subscription closed"`) != 1 ||
					!strings.Contains(log, "reason=authentication_required") || !strings.Contains(log, "its credentials were withdrawn") {
					t.Errorf("the log says %s", log)
				}
				check(t, p.Shutdown(context.Background()))
				if err := <-ended; err != nil {
					t.Errorf("Serve = %v", err)
				}
			})
		})
	}
}

// reader reads the messages of a WebSocket until its end.
type reader struct{ ws *gorilla.Conn }

func (r reader) Read(b []byte) (int, error) {
	_, msg, err := r.ws.ReadMessage()
	return copy(b, msg), err
}

// syncBuffer is a log that several goroutines write to.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
