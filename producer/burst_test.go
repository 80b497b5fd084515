package producer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// A subscriber that reads is not closed while a program writes in a loop many times what the log
// keeps of the past: it receives all of it, in order, to the end. P8, INV-21, INV-26
func TestBurst(t *testing.T) {
	for name, each := range map[string]func(i int) string{
		"lines":  func(i int) string { return fmt.Sprintf("This is line %d.\n", i) },
		"tokens": func(i int) string { return string(rune('a' + i%26)) },
	} {
		t.Run(name, func(t *testing.T) {
			parts := 50_000
			if testing.Short() {
				parts = 10_000
			}
			bubbleWith(t, producer.Config{KeepEvents: 64}, func(t *testing.T, st *stage) {
				listeners := []*listener{st.addWatcher(), st.listen(allEvents()), st.listen(termsWith(0, aaep.BoundarySentence))}
				_, open := st.listenResumable(allEvents())
				stream := open("")
				s := st.startSession("Counting.")
				out := s.Output()
				var want strings.Builder
				for i := range parts {
					part := each(i)
					want.WriteString(part)
					if _, err := out.WriteString(part); err != nil {
						t.Fatal(err)
					}
					if i == parts/2 {
						s.Progress(aaep.Text{}, aaep.Progress{Step: 1}, 0)
					}
				}
				out.Close()
				s.Complete(aaep.Say("Counted."))
				time.Sleep(time.Minute)
				all := [][]*aaep.Event{stream.events()}
				for _, l := range listeners {
					all = append(all, l.events())
				}
				for i, evs := range all {
					if err := onlyText(evs, want.String()); err != nil {
						t.Errorf("listener %d: %.300v", i, err)
					}
					if len(evs) == 0 || evs[len(evs)-1].Type() != aaep.TypeSessionCompleted {
						t.Errorf("listener %d does not hear the end", i)
					}
				}
			})
		})
	}
}

// A subscription that has a stream and does not read delays neither the agent nor a subscription
// that reads. Text is gathered for it, so that the log does not grow by an event for each word. P7,
// INV-26, P10
func TestBurstThatIsNotRead(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		stalled, reads := st.listen(allEvents()), st.listen(allEvents())
		stalled.stopReading()
		s := st.startSession("Counting.")
		out := s.Output()
		began := time.Now()
		for range 100_000 {
			out.WriteString("word ")
		}
		out.Close()
		s.Complete(aaep.Text{})
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("the agent waited for %v", waited)
		}
		if err := onlyText(reads.events(), strings.Repeat("word ", 100_000)); err != nil {
			t.Errorf("%.300v", err)
		}
		if late := reads.arrivals()[len(reads.arrivals())-1].at.Sub(began); late > time.Second {
			t.Errorf("who reads heard the end after %v", late)
		}
		if n := st.p.Stats().Produced; n > 20_000 {
			t.Errorf("%d events for 100,000 words", n)
		}
	})
}
