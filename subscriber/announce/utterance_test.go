package announce_test

import (
	"testing"
	"time"

	"github.com/aaep-go/aaep/subscriber/announce"
)

// An utterance takes as long as its words are spoken, figures and scripts without spaces included.
func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"One two three.": 3 * time.Second, "": 0} {
		if got := (announce.Utterance{Text: text}).Duration(60); got != want {
			t.Errorf("%q takes %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"Mooring 1234", "你好吗今天"} {
		if got := (announce.Utterance{Text: text}).Duration(60); got <= 2*time.Second {
			t.Errorf("%q takes %v, as if it were two words", text, got)
		}
	}
}
