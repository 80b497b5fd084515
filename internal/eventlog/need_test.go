package eventlog

import (
	"math"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// The log keeps more than its size where a live reader needs it, lets go of it when that has read
// on, and keeps no more than 64 MiB for any. INV-21, P10
func TestNeed(t *testing.T) {
	need, text := uint64(0), "x"
	l := New(10)
	l.SetNeeded(func() uint64 { return need })
	add := func(n int) {
		for range n {
			l.Append(&aaep.Event{Summary: aaep.Say(text)})
		}
	}
	add(5000)
	if got := l.Start(); got != 0 {
		t.Errorf("with a reader at 0, the log begins after %d", got)
	}
	if evs, _, err := l.Read(0, 5000); err != nil || len(evs) != 5000 || evs[4999] == nil {
		t.Errorf("it reads %d events, %v", len(evs), err)
	}
	need = 3000
	add(pageSize)
	if got := l.Start(); got != 3000 {
		t.Errorf("with a reader at 3000, the log begins after %d", got)
	}
	need = math.MaxUint64
	add(pageSize)
	if got := l.Start(); got != l.End()-10 {
		t.Errorf("without a reader it keeps %d events of 10", l.End()-got)
	}
	if n := len(l.pages); n > 2 {
		t.Errorf("%d pages are kept for 10 events", n)
	}
	came := l.End()
	need = came
	add(5000)
	if got := l.Start(); got > came {
		t.Errorf("a reader that came at %d finds the log to begin after %d", came, got)
	}
	need, text = l.End(), strings.Repeat("x", 1<<20)
	add(200)
	if l.bytes > maxBytes {
		t.Errorf("%d bytes are kept for a reader that stalls", l.bytes)
	}
}
