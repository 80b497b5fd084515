package braille

import (
	"testing"
	"time"
)

// A key that was pressed before the display was given back, and comes after that, does not take it
// again.
func TestLateKey(t *testing.T) {
	now := time.Now()
	r := reader{perPage: time.Second, cells: 40}
	r.addText(&text{words: textWords("Saved."), over: func(error) {}})
	for next := r.advance(now); !next.IsZero(); next = r.advance(now) {
		now = next
	}
	if r.shown != nil {
		t.Fatalf("the display still shows %q", string(r.shown))
	}
	for _, k := range []key{keyBack, keyForward, keyHome, keyPrevious, keyNext} {
		if r.pressKey(k, now); r.shown != nil {
			t.Errorf("key %d shows %q", k, string(r.shown))
		}
	}
}
