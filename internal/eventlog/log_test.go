package eventlog_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/producer/log"
)

// filledLog returns a log of the given size after n events; event p has the session id "p".
func filledLog(size, n int) *eventlog.Log {
	l := eventlog.New(size)
	for p := 1; p <= n; p++ {
		l.Append(&aaep.Event{SessionID: fmt.Sprint(p)})
	}
	return l
}

// positionsOf returns the session ids of the events, which tell them apart.
func positionsOf(events []*aaep.Event) string {
	var s []string
	for _, ev := range events {
		s = append(s, ev.SessionID)
	}
	return strings.Join(s, " ")
}

const far = ^uint64(0)

// INV-21, P8: a cursor gets what comes after it, or is told that it is gone.
func TestRead(t *testing.T) {
	for _, tc := range []struct {
		size, appended int
		cursor         uint64
		n              int
		want           string
		waits, trimmed bool
	}{
		{3, 0, 0, 9, "", true, false},
		{3, 0, 7, 9, "", true, false},
		{3, 1, 0, 9, "1", false, false},
		{3, 1, 1, 9, "", true, false},
		{3, 2, 0, 9, "1 2", false, false},
		{3, 3, 0, 9, "1 2 3", false, false}, // full, nothing lost
		{3, 3, 2, 9, "3", false, false},
		{3, 4, 0, 9, "", false, true}, // the first is gone
		{3, 4, 1, 9, "2 3 4", false, false},
		{3, 4, 4, 9, "", true, false},
		{3, 4, 5, 9, "", true, false}, // from the future
		{3, 4, far, 9, "", true, false},
		{3, 10, 6, 9, "", false, true},
		{3, 10, 7, 9, "8 9 10", false, false},
		{3, 10, 7, 1, "8", false, false},
		{3, 10, 7, 2, "8 9", false, false},
		{3, 10, 7, 3, "8 9 10", false, false},
		{3, 10, 7, 0, "", false, false}, // asks only whether the cursor is good
		{3, 10, 6, 0, "", false, true},
		{3, 10, 10, 0, "", true, false},
		{3, 10, 7, -1, "", false, false},
		{1, 5, 4, 9, "5", false, false},
		{1, 5, 3, 9, "", false, true},
		{0, 2, 1, 9, "2", false, false}, // a log keeps at least one event
		{0, 2, 0, 9, "", false, true},
		{-3, 1, 0, 9, "1", false, false},
	} {
		l := filledLog(tc.size, tc.appended)
		events, changed, err := l.Read(tc.cursor, tc.n)
		if positionsOf(events) != tc.want || (changed != nil) != tc.waits ||
			errors.Is(err, log.ErrTrimmed) != tc.trimmed ||
			err != nil && err != log.ErrTrimmed {
			t.Errorf("size %d, %d appended: Read(%d, %d) = %q, waits %v, %v", tc.size, tc.appended, tc.cursor, tc.n,
				positionsOf(events), changed != nil, err)
		}
	}
}

// The log against a slice that forgets nothing.
func TestReadProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, 20).Draw(t, "size")
		l, all := eventlog.New(size), []*aaep.Event{}
		kept := size
		if size == 0 {
			kept = 1
		}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "append") {
				ev := &aaep.Event{SessionID: fmt.Sprint(len(all) + 1)}
				all = append(all, ev)
				if pos := l.Append(ev); pos != uint64(len(all)) {
					t.Fatalf("Append = %d; want %d", pos, len(all))
				}
				continue
			}
			cursor, n := rapid.IntRange(0, len(all)+2).Draw(t, "cursor"), rapid.IntRange(1, 25).Draw(t, "n")
			events, changed, err := l.Read(uint64(cursor), n)
			var want []*aaep.Event
			gone := len(all)-cursor > kept
			if !gone && cursor < len(all) {
				want = all[cursor:min(cursor+n, len(all))]
			}
			if positionsOf(events) != positionsOf(want) || (err == log.ErrTrimmed) != gone ||
				(changed != nil) != (cursor >= len(all)) {
				t.Fatalf("size %d, %d appended: Read(%d, %d) = %q, waits %v, %v; want %q, gone %v",
					size, len(all), cursor, n, positionsOf(events), changed != nil, err, positionsOf(want), gone)
			}
			first := uint64(len(all) - min(len(all), kept))
			if l.End() != uint64(len(all)) || l.Start() != first {
				t.Fatalf("Start, End = %d, %d; want %d, %d", l.Start(), l.End(), first, len(all))
			}
			if _, _, err := l.Read(l.Start(), 1); err != nil {
				t.Fatalf("Read(Start) = %v", err)
			}
		}
	})
}

// A channel stands for the events after its cursor: it is closed by the next Append, and all who
// wait are woken.
func TestChanged(t *testing.T) {
	l := filledLog(3, 2)
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	_, a, _ := l.Read(2, 1)
	_, b, _ := l.Read(2, 0)
	_, future, _ := l.Read(9, 1)
	if closed(a) || closed(b) || closed(future) {
		t.Fatal("a channel is closed before there is anything")
	}
	l.Append(&aaep.Event{SessionID: "3"})
	if !closed(a) || !closed(b) || !closed(future) {
		t.Error("somebody was not woken")
	}
	if events, changed, _ := l.Read(2, 1); positionsOf(events) != "3" || changed != nil {
		t.Errorf("after the channel: %q, %v", positionsOf(events), changed)
	}
	_, c, _ := l.Read(3, 1)
	_, stillFuture, _ := l.Read(9, 1)
	if closed(c) || closed(stillFuture) {
		t.Error("a new channel is closed already")
	}
}

// What a reader was given stays as it was: the log writes over its ring, not over a reader's slice.
func TestReadIsACopy(t *testing.T) {
	l := filledLog(3, 3)
	events, _, _ := l.Read(0, 3)
	l.Append(&aaep.Event{SessionID: "4"})
	if got := positionsOf(events); got != "1 2 3" {
		t.Errorf("the reader's events became %q", got)
	}
}

// Room for events is made when they come, for a service may have a log for each of its users; and a
// ring that ends within a page is whole.
func TestPagesAreMadeOnDemand(t *testing.T) {
	const size = 100
	l := filledLog(size, 250)
	events, _, err := l.Read(150, size)
	if err != nil || len(events) != size || events[0].SessionID != "151" || events[size-1].SessionID != "250" {
		t.Errorf("after 150 there are %d events: %s, %v", len(events), positionsOf(events), err)
	}
	if _, _, err := l.Read(149, 1); !errors.Is(err, log.ErrTrimmed) {
		t.Errorf("after 149: %v", err)
	}
	var before, after runtime.MemStats
	const logs = 100
	kept := make([]*eventlog.Log, logs)
	runtime.ReadMemStats(&before)
	for i := range kept {
		kept[i] = eventlog.New(4096)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / logs; each > 8<<10 {
		t.Errorf("a log without an event takes %d bytes", each)
	}
	runtime.KeepAlive(kept)
}
