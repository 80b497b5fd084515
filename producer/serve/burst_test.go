package serve_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// TestBurst has a program write 20,000 lines, 709 KB, as fast as it can, to listeners without a
// rate on every wire. Each of them reads all of it and the end, on the subscription that it began
// with, although the log keeps only 64 events for those who come back (INV-21, P8).
func TestBurst(t *testing.T) {
	w := listenEverywhere(t, producer.Config{KeepEvents: 64})
	type heard struct {
		text string
		err  error
	}
	var subs []*subscriber.Subscription
	var ends []<-chan heard
	for _, wire := range wireNames {
		d, _ := w.newDialer(wire, nil)
		sub, err := subscriber.Dial(context.Background(), d, subscriber.Config{ID: wire, Capabilities: everything})
		check(t, err)
		t.Cleanup(func() { sub.Close() })
		end := make(chan heard, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			var text strings.Builder
			for ev, err := range sub.Events(ctx) {
				if err != nil {
					end <- heard{text.String(), err}
					return
				}
				if p, ok := ev.Payload.(*aaep.OutputStreaming); ok {
					text.WriteString(p.Chunk)
				}
				if ev.Type() == aaep.TypeSessionCompleted {
					break
				}
			}
			end <- heard{text.String(), nil}
		}()
		subs, ends = append(subs, sub), append(ends, end)
	}
	s := w.st.startSession("Counting.")
	out := s.Output()
	var whole strings.Builder
	for i := range 20_000 {
		line := fmt.Sprintf("This is the line with number %d.\n", i)
		whole.WriteString(line)
		_, err := out.WriteString(line)
		check(t, err)
	}
	check(t, out.Close())
	check(t, s.Complete(aaep.Say("Counted.")))
	for i, end := range ends {
		got := <-end
		if got.err != nil || got.text != whole.String() {
			t.Errorf("%s: %d bytes of %d, then %v", wireNames[i], len(got.text), whole.Len(), got.err)
		}
		if status, _ := subs[i].Status(); status.Subscribed != 1 {
			t.Errorf("%s: %d subscriptions, want 1", wireNames[i], status.Subscribed)
		}
	}
}
