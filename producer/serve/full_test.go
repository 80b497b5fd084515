package serve_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// P7: of several listeners who are told the same over one wire, one does not read for a while. The others hear all of it meanwhile,
// and then it hears the same, to the byte, although what it was told began in the middle of a frame.
func TestFullLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("each has a goroutine of its own there")
	}
	st := start(t, producer.Config{})
	socket, err := ipc.Listen(filepath.Join(t.TempDir(), "aaep", "agent.sock"), nil)
	check(t, err)
	go st.p.Serve(context.Background(), socket)
	s := st.session("Telling.")
	for name, d := range map[string]transports.Dialer{"sse": sse.Dialer{URL: "http://" + st.addr}, "websocket": websocket.Dialer{URL: "ws://" + st.addr}, "ipc": ipc.Dialer{Path: socket.Addr()}} {
		var conns []transports.Conn
		receive := func(c transports.Conn) string {
			t.Helper()
			msg, err := c.Receive(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return string(msg)
		}
		for range 4 {
			c, err := d.Dial(t.Context())
			check(t, err)
			defer c.Close()
			check(t, c.Send(t.Context(), []byte(encode(t, &aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: name, Capabilities: terms(0, aaep.BoundaryNone)}))))
			receive(c)
			if state := receive(c); !strings.Contains(state, string(aaep.TypeStateChanged)) {
				t.Fatalf("%s: it is told first %s", name, state)
			}
			conns = append(conns, c)
		}
		const events = 800
		out := s.Output()
		for n := range events {
			_, err := out.WriteString(fmt.Sprint(n, " ", strings.Repeat("word ", 3000)))
			check(t, err)
		}
		check(t, out.Close())
		heard := make([][]string, len(conns))
		listen := func(i int) {
			for len(heard[i]) == 0 || !strings.Contains(heard[i][len(heard[i])-1], `"complete":true`) {
				msg, err := conns[i].Receive(t.Context())
				if err != nil {
					t.Errorf("%s: listener %d, after %d events: %v", name, i, len(heard[i]), err)
					return
				}
				heard[i] = append(heard[i], string(msg))
			}
		}
		var others sync.WaitGroup
		for i := range conns[1:] {
			others.Go(func() { listen(i + 1) })
		}
		others.Wait()
		listen(0)
		for i := range conns {
			if len(heard[i]) != len(heard[3]) || len(heard[i]) < events {
				t.Fatalf("%s: listener %d hears %d events, another %d", name, i, len(heard[i]), len(heard[3]))
			}
			for n, msg := range heard[i] {
				if msg != heard[3][n] {
					t.Fatalf("%s: listener %d hears, as event %d, %.200s\nanother %.200s", name, i, n, msg, heard[3][n])
				}
			}
		}
	}
}
