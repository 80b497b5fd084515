package producer

import (
	"fmt"
	"testing"
	"time"
)

// INV-50: however many principals come by, the meter stays small, counts the first ones each alone,
// and lets no more through than its count for each; when they are gone it is as before.
func TestMeterIsBounded(t *testing.T) {
	m, now := newRequestMeter(2), time.Now()
	through := 0
	for i := range 100_000 {
		if m.countRequest(now, fmt.Sprint("p", i)) == 0 {
			through++
		}
	}
	if len(m.each) > maxPrincipals || through != maxPrincipals+2 {
		t.Errorf("%d principals are kept, %d requests came through; want %d and %d", len(m.each), through, maxPrincipals, maxPrincipals+2)
	}
	if m.countRequest(now, "p0") != 0 || m.countRequest(now, "p0") != time.Second {
		t.Error("the others used up what is one's own")
	}
	now = now.Add(time.Second)
	if m.countRequest(now, "late") != 0 || len(m.each) != 1 {
		t.Errorf("a second later %d are kept, want the newest alone", len(m.each))
	}
	m = newRequestMeter(1_000_000) // more than a Budget counts
	m.countRequest(now, "gone")
	if m.countRequest(now.Add(time.Second), "late"); len(m.each) != 1 {
		t.Errorf("under a high rate %d are kept a second later, want the newest alone", len(m.each))
	}
}

// A request that was refused costs nothing: who goes on asking is served as often as one who waits.
func TestMeterAfterRefusal(t *testing.T) {
	m, now, served := newRequestMeter(10), time.Now(), 0
	for range 1000 {
		if m.countRequest(now, "alice") == 0 {
			served++
		}
		now = now.Add(10 * time.Millisecond)
	}
	if served != 100 {
		t.Errorf("%d were served in 10 seconds, want 100", served)
	}
}
