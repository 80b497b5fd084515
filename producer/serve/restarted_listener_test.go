package serve_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// P8, SSE-012: assistive technology that is killed and started again again and again asks for what
// follows the place that Subscription.ResumeAfter said, and misses nothing: neither what it had
// received and not yet handed on, nor what a question overtook.
func TestListenerStartedAgain(t *testing.T) {
	for name, dialer := range map[string]func(addr string) transports.Dialer{
		"sse":       func(addr string) transports.Dialer { return sse.Dialer{URL: "http://" + addr} },
		"websocket": func(addr string) transports.Dialer { return websocket.Dialer{URL: "ws://" + addr} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := startFixture(t, producer.Config{})
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			const text = "One. Two. Three. Four. Five. Six. Seven. Eight."
			var heard [len(text)]byte // by position
			kept, starts, asked := "", 0, false
			life := func() (over bool) {
				wants := subscriber.ScreenReader("en-US").With(aaep.Capabilities{MaxEventsPerSecond: 3})
				if kept != "" {
					check(t, wants.AddExtension(extensions.DeliveryVocabulary, extensions.Delivery{ResumeAfter: kept}))
				}
				sub, err := subscriber.Dial(ctx, dialer(st.addr), subscriber.Config{ID: "reader", Capabilities: wants})
				check(t, err)
				defer sub.Close()
				if starts++; starts == 1 {
					if kept := sub.ResumeAfter(); kept != "" {
						t.Errorf("it would go on after %s, and has had nothing", kept)
					}
					s := st.startSession("Counting.")
					out := s.Output()
					for word := range strings.SplitAfterSeq(text, " ") {
						_, err := io.WriteString(out, word)
						check(t, err)
					}
					check(t, out.Close())
					go func() {
						s.Tool(ctx, producer.Tool{Name: "pay", Irreversible: true, Risk: aaep.RiskHigh,
							Action: aaep.Say("Pay."), Consequence: aaep.Say("It is gone.")}, succeed)
						s.Complete(aaep.Say("Counted."))
					}()
				} else if got, _ := sub.Status(); !got.Resumed && kept != "" {
					t.Errorf("it does not go on after %s", kept)
				}
				for n := 0; n < 5; n++ {
					ev, err := sub.Next(ctx)
					check(t, err)
					switch p := ev.Payload.(type) {
					case *aaep.OutputStreaming:
						copy(heard[p.Position:], p.Chunk)
					case *aaep.AwaitingConfirmation:
						if err := sub.Question(ev).Reject(ctx); err != nil &&
							!errors.Is(err, subscriber.ErrUnknownEvent) { // the life before left it open, and so it was rejected
							t.Error(err)
						}
						if !asked {
							asked, n = true, 5 // just when others are held
						}
					}
					kept = sub.ResumeAfter()
					if isOver(ev) {
						return true
					}
				}
				return false
			}
			for !life() {
			}
			if string(heard[:]) != text || !asked || starts < 3 {
				t.Errorf("of %q it heard %q, in %d lives; asked: %v", text, heard, starts, asked)
			}
		})
	}
}
