package eventlog_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/producer/log"
)

// INV-20, INV-21: readers that follow the log while several write get every event once, in order.
// They wait for the log to change and never poll.
func TestConcurrentFollowers(t *testing.T) {
	const writers, each, readers = 4, 500, 8
	l := eventlog.New(writers * each)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				ev := &aaep.Event{SessionID: fmt.Sprint(w), CorrelationID: fmt.Sprint(i)}
				pos := l.Append(ev)
				if got, _, ok := l.Locate(ev.EventID); !ok || got != placeAt(pos) {
					t.Errorf("Locate(%q) = %v, %v; want %d", ev.EventID, got, ok, pos)
				}
			}
		})
	}
	for r := range readers {
		all.Go(func() {
			next := map[string]int{} // per writer
			for cursor := uint64(0); cursor < writers*each; {
				events, changed, err := l.Read(cursor, r+1)
				if err != nil {
					t.Errorf("reader %d at %d: %v", r, cursor, err)
					return
				}
				if changed != nil {
					<-changed
					continue
				}
				for _, ev := range events {
					cursor++
					if ev.EventID != l.EventID(placeAt(cursor)) || ev.CorrelationID != fmt.Sprint(next[ev.SessionID]) {
						t.Errorf("reader %d at %d: event %s of writer %s, %q", r, cursor, ev.CorrelationID,
							ev.SessionID, ev.EventID)
						return
					}
					next[ev.SessionID]++
				}
			}
		})
	}
	all.Wait()
}

// P7, P8: a reader that falls behind is told so, never given a wrong event, and can go on from the
// start.
func TestConcurrentTrimming(t *testing.T) {
	const count, size = 20000, 16
	l := eventlog.New(size)
	var all sync.WaitGroup
	all.Go(func() {
		for p := 1; p <= count; p++ {
			l.Append(&aaep.Event{SessionID: fmt.Sprint(p)})
		}
	})
	for range 4 {
		all.Go(func() {
			for cursor := uint64(0); cursor < count; {
				events, changed, err := l.Read(cursor, 5)
				switch {
				case errors.Is(err, log.ErrTrimmed):
					start := l.Start()
					if start <= cursor {
						t.Errorf("cursor %d is trimmed, yet the log starts at %d", cursor, start)
						return
					}
					cursor = start
				case changed != nil:
					<-changed
				default:
					for _, ev := range events {
						if cursor++; ev.SessionID != fmt.Sprint(cursor) {
							t.Errorf("at %d: event %s", cursor, ev.SessionID)
							return
						}
					}
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkAppend(b *testing.B) {
	l := eventlog.New(1024)
	b.ReportAllocs()
	for b.Loop() {
		l.Append(&aaep.Event{})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := filledLog(1024, 2000)
			b.ReportAllocs()
			for b.Loop() {
				if events, _, err := l.Read(1500, n); len(events) != n || err != nil {
					b.Fatal(len(events), err)
				}
			}
		})
	}
}

func BenchmarkLocate(b *testing.B) {
	l := filledLog(16, 100)
	id := l.EventID(eventlog.Place{Pos: 50, Offset: 17})
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := l.Locate(id); !ok {
			b.Fatal("not found")
		}
	}
}
