package serve_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/faultproxy"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// P7: of several listeners who are told the same over one wire, one does not read for a while. The
// others hear all of it meanwhile, and then it hears the same, to the byte, although what it was
// told began in the middle of a frame.
func TestFullLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("each has a goroutine of its own there")
	}
	w := listenEverywhere(t, producer.Config{})
	s := w.st.startSession("Telling.")
	for _, name := range wireNames {
		slow, px := w.newDialer(name, func(int) (up, down faultproxy.Line) { return })
		prompt, _ := w.newDialer(name, nil)
		var conns []transports.Conn
		receive := func(c transports.Conn) string {
			t.Helper()
			msg, err := c.Receive(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return string(msg)
		}
		for _, d := range []transports.Dialer{slow, prompt, prompt, prompt} {
			c, err := d.Dial(t.Context())
			check(t, err)
			check(t, c.Send(t.Context(), []byte(encodeMessage(t,
				&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: name,
					Capabilities: replyTerms(0, aaep.BoundaryNone)}))))
			receive(c)
			if state := receive(c); !strings.Contains(state, string(aaep.TypeStateChanged)) {
				t.Fatalf("%s: it is told first %s", name, state)
			}
			conns = append(conns, c)
		}
		for n := range 4 { // at a pace at which those who hear the same come together
			time.Sleep(50 * time.Millisecond)
			check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: int64(n + 1)}, 0))
			for _, c := range conns {
				receive(c)
			}
		}
		px.Hold(false, true)
		began := time.Now()
		const events = 100
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
		px.Hold(false, false)
		if held := time.Since(began); held > 8*time.Second {
			t.Logf("%s: this machine is too slow: who reads nothing for ten seconds is given up, and it was %v", name,
				held)
			for _, c := range conns {
				c.Close()
			}
			continue
		}
		listen(0)
		for i := range conns {
			if len(heard[i]) != len(heard[3]) || len(heard[i]) < events {
				t.Fatalf("%s: listener %d hears %d events, another %d", name, i, len(heard[i]), len(heard[3]))
			}
			for n, msg := range heard[i] {
				if msg != heard[3][n] || slices.Contains(heard[i][:n], msg) {
					t.Fatalf("%s: listener %d hears, as event %d, %.200s\nanother %.200s", name, i, n, msg, heard[3][n])
				}
			}
			check(t, conns[i].Close())
		}
	}
}
