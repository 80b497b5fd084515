package websocket

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep/internal/violation"
)

// WS-002, WS-009: a Dialer reports which rule of the binding is broken.
func TestViolations(t *testing.T) {
	const rejected, closed = `{"type":"subscription.rejected"}`, `{"type":"subscription.close"}`
	for _, tt := range []struct {
		protocol, last string
		code           int // 0 is no close frame at all
		want           string
	}{
		{"", "", closeClean, "WS-002"},
		{Subprotocol, rejected, gorilla.CloseNormalClosure, "WS-009"},
		{Subprotocol, rejected, closeRejected, ""},
		{Subprotocol, rejected, closeNotAuthorized, ""},
		{Subprotocol, closed, gorilla.CloseNormalClosure, "WS-009"},
		{Subprotocol, closed, 0, "WS-009"},
		{Subprotocol, closed, closeClean, ""},
		{Subprotocol, closed, closeViolation, ""},
		{Subprotocol, closed, gorilla.CloseGoingAway, ""},
		{Subprotocol, `{"type":"aaep:agent.session.completed"}`, 0, ""},
	} {
		t.Run(fmt.Sprintf("%q %s %d", tt.protocol, tt.last, tt.code), func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				up := gorilla.Upgrader{Subprotocols: []string{tt.protocol}}
				ws, err := up.Upgrade(w, r, nil)
				if err != nil {
					return
				}
				defer ws.Close()
				ws.WriteMessage(gorilla.TextMessage, []byte(tt.last))
				if tt.code != 0 {
					ws.WriteControl(gorilla.CloseMessage, gorilla.FormatCloseMessage(tt.code, ""),
						time.Now().Add(time.Second))
				}
			})}
			go srv.Serve(ln)
			defer srv.Close()
			told := make(chan string, 9)
			ctx, _ := violation.WithReporter(t.Context(), func(requirement, _ string) { told <- requirement })
			c, err := Dialer{URL: "ws://" + ln.Addr().String()}.Dial(ctx)
			for err == nil {
				_, err = c.Receive(t.Context())
			}
			if c != nil {
				c.Close()
			}
			close(told)
			if got := <-told; got != tt.want || len(told) > 0 {
				t.Errorf("%q is told, want %q", got, tt.want)
			}
		})
	}
}
