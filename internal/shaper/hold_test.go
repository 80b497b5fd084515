package shaper

import (
	"slices"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// What is held back for a moment leaves whole to a listener without a rate, and as little as may be
// to one with a rate. What is critical does not wait, and overtakes nothing of a listener without a
// rate. P3, D-50, EVT-038
func TestHold(t *testing.T) {
	for rate, want := range map[int64][]string{
		0: {"idle>thinking", "thinking>calling_tool", "progress 1", "progress 2", "b: session.errored"},
		3: {"b: session.errored", "idle>calling_tool", "progress 2"},
	} {
		now := harnessStart
		s := New(paced(rate, aaep.BoundaryNone), partID)
		s.Hold(now.Add(time.Second))
		for i, ev := range []*aaep.Event{change(idle, thinking), change(thinking, calling), advance("1"),
			advance("2")} {
			s.Push(now, Entry{Pos: uint64(i + 1), Event: ev})
		}
		if out, next := s.Pop(now); out.Event != nil || !next.Equal(now.Add(time.Second)) || s.Ready(now) != 0 {
			t.Errorf("at %d a second %v leaves, and more at %v", rate, out.Event, next)
		}
		s.Push(now, Entry{Pos: 5, Event: in("b", failed())})
		var got []string
		for out, _ := s.Pop(now); out.Event != nil; out, _ = s.Pop(now) {
			got = append(got, line(out.Event))
		}
		if !slices.Contains(got, "b: session.errored") || rate > 0 && len(got) > 1 {
			t.Errorf("at %d a second %q leaves with what is critical", rate, got)
		}
		now = now.Add(time.Second)
		for out, _ := s.Pop(now); out.Event != nil; out, _ = s.Pop(now) {
			got = append(got, line(out.Event))
		}
		if !slices.Equal(got, want) {
			t.Errorf("at %d a second %q leaves, want %q", rate, got, want)
		}
	}
}
