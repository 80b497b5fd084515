package plaintext

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

type textBuffer struct {
	strings.Builder
	closed bool
}

func (b *textBuffer) Close() error { b.closed = true; return nil }

// written is what listeners and the tee get of some pieces of output.
func written(t *testing.T, pieces ...string) (text, tee string, strange int) {
	t.Helper()
	var out textBuffer
	var raw bytes.Buffer
	w := &Writer{Out: &out, Tee: &raw}
	for _, piece := range pieces {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", piece, n, err)
		}
	}
	if err := w.Close(); err != nil || !out.closed {
		t.Fatalf("Close = %v, closed %v", err, out.closed)
	}
	return out.String(), raw.String(), w.Strange()
}

// Text is the same wherever a program's writes happen to be cut.
func TestWriter(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		strange        int
	}{
		{"plain", "One.\tTwo.\r\nThree.\n", "One.\tTwo.\r\nThree.\n", 0},
		{"scripts", "Grüße, 日本, \U0001F469\u200d\U0001F680", "Grüße, 日本, \U0001F469\u200d\U0001F680", 0},
		{"controls", "a\x00b\x07c\x08d\x7fe", "abcde", 0},
		{"colour", "\x1b[1;31mred\x1b[0m", "red", 0},
		{"control sequence with an intermediate byte", "a\x1b[2 qb", "ab", 0},
		{"private control sequence", "a\x1b[?25lb\x1b[>4;2mc", "abc", 0},
		{"charset", "a\x1b(Bb", "ab", 0},
		{"two bytes", "a\x1bMb\x1b7c", "abc", 0},
		{"title, BEL", "a\x1b]0;title\ab", "ab", 0},
		{"title, ST", "a\x1b]0;title\x1b\\b", "ab", 0},
		{"title, C1 ST", "a\x1b]0;title\u009cb", "ab", 0},
		{"link", "\x1b]8;;https://a.example/?q=\u00fc\x1b\\here\x1b]8;;\x1b\\.", "here.", 0},
		{"device string over lines", "a\x1bPq#0\n~~\nx\x1b\\b", "ab", 0},
		{"application and privacy strings", "a\x1b_x\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\d", "abcd", 0},
		{"C1 CSI", "a\u009b31mb", "ab", 0},
		{"C1 OSC", "a\u009d0;title\u009cb", "ab", 0},
		{"C1 DCS", "a\u0090q\n\u009cb", "ab", 0},
		{"C1 alone", "a\u0085b\u0084c", "abc", 0},
		{"ESC ESC begins anew", "a\x1b\x1b[31mb", "ab", 0},
		{"ESC within a control sequence", "a\x1b[3\x1b[31mb", "ab", 0},
		{"ESC within a string", "a\x1b]0;title\x1b[31mb", "ab", 0},
		{"cancelled", "a\x1b[31\x18b\x1b]0;x\x1ac", "abc", 0},
		{"unfinished sequence ends with its line", "a\x1b[31\nb", "a\nb", 0},
		{"unfinished title ends with its line", "a\x1b]0;title\nb", "a\nb", 0},
		{"not a sequence", "a\x1b[3é\x1bß", "aéß", 0},
		{"half at the end", "a\x1b[3", "a", 0},
		{"not UTF-8", "a\xff\xfeb\xc0\xafc", "a\uFFFD\uFFFDb\uFFFD\uFFFDc", 4},
		{"surrogate", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD", 3},
		{"half a character at the end", "a\xe2\x82", "a\uFFFD", 2},
		{"half a character, then another", "\xe2\x82ab", "\uFFFD\uFFFDab", 2},
		{"the replacement character itself", "\uFFFD", "\uFFFD", 0},
		{"nothing", "", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cuts := [][]string{{tt.in}, strings.Split(tt.in, "")}
			var bytewise []string
			for i := range len(tt.in) {
				cuts = append(cuts, []string{tt.in[:i], tt.in[i:]})
				bytewise = append(bytewise, tt.in[i:i+1])
			}
			for _, pieces := range append(cuts, bytewise) {
				text, tee, strange := written(t, pieces...)
				if text != tt.want || strange != tt.strange {
					t.Errorf("%q: %q, %d strange bytes; want %q, %d", pieces, text, strange, tt.want, tt.strange)
				}
				if tee != tt.in {
					t.Errorf("%q: standard output is %q", pieces, tee)
				}
			}
		})
	}
}

type failing struct{ n int }

func (f *failing) Write([]byte) (int, error) { f.n++; return 0, errors.New("gone") }

// A reader of standard output that goes away costs the listeners nothing.
func TestWriterWithoutReader(t *testing.T) {
	var out textBuffer
	tee := &failing{}
	w := &Writer{Out: &out, Tee: tee}
	for _, piece := range []string{"One. ", "Two."} {
		if _, err := io.WriteString(w, piece); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != "One. Two." || tee.n != 1 {
		t.Errorf("listeners get %q after %d writes to nobody, want %q after 1", out.String(), tee.n, "One. Two.")
	}
	w.Close()
	if _, err := io.WriteString(w, "late"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write after Close = %v, want io.ErrClosedPipe", err)
	}
}

// FuzzWriter: whatever a program prints, listeners get text, the same wherever it is cut.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("a\x1b[1;31mb\x1b]0;t\ac\xe2\x82\xac\xff"), uint8(5))
	f.Add([]byte("\x1bPq\n\x1b\\\u009b1m\u009dx\n"), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, at uint8) {
		cut := min(int(at), len(in))
		text, tee, strange := written(t, string(in))
		again, _, strangeAgain := written(t, string(in[:cut]), string(in[cut:]))
		if text != again || strange != strangeAgain || tee != string(in) {
			t.Errorf("%q: %q and %q, cut at %d %q and %d", in, text, tee, cut, again, strangeAgain)
		}
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
			return r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0
		}) {
			t.Errorf("%q: %q is not text", in, text)
		}
	})
}
