package producer

import (
	"testing"
	"time"
)

// T-LOG: of the warning about too little time there are ten a minute, and then how many more there
// were.
func TestWarnings(t *testing.T) {
	var f warnings
	now := time.Unix(0, 0)
	for i := range 100 {
		if write, left := f.countWarning(now.Add(time.Duration(i) * 599 * time.Millisecond)); write != (i < 10) || left > 0 {
			t.Fatalf("the warning %d: %v, %d left out", i, write, left)
		}
	}
	now = now.Add(time.Minute)
	for i := range 11 {
		want := 0
		if i == 0 {
			want = 90
		}
		if write, left := f.countWarning(now); write != (i < 10) || left != want {
			t.Errorf("after a minute, the warning %d: %v, %d left out", i, write, left)
		}
	}
}
