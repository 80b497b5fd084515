package proof

import (
	"bytes"
	"testing"
)

// INV-36: a recording has every byte as it came, and a terminal gets none that it would obey.
func TestCaptureOnATerminal(t *testing.T) {
	for _, tt := range []struct{ came, shown string }{
		{"{\"a\":\"\u009b2J\u202e b\"}", `{"a":"\u009b2J\u202e b"}`},
		{"{\"a\": \"é\\u001b\"}", "{\"a\": \"é\\u001b\"}"},
		{"{ \x1b]0;x\a no JSON", `{ \u001b]0;x\u0007 no JSON`},
		{"{\x9b2J\xff", "{\uFFFD2J\uFFFD"},
	} {
		for _, shown := range []bool{false, true} {
			var out bytes.Buffer
			(&captureWriter{out: &out, shown: shown}).writeMessage([]byte(tt.came))
			want := tt.came
			if shown {
				want = tt.shown
			}
			if got := out.String(); got != want+"\n" {
				t.Errorf("on a terminal %t: %+q, want %+q", shown, got, want)
			}
		}
	}
}
