package braille

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

const transfer = "Confirm transfer of 500 dollars to savings."

func layOut(words []word, width int) []string {
	var lines []string
	for _, p := range layOutPages(words, width) {
		lines = append(lines, string(p.cells))
	}
	return lines
}

// I18N-012: a cluster stays whole.
func TestPages(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int // of the text alone
		want  []string
	}{
		{transfer, 12, []string{"Confirm", "transfer of", "500 dollars", "to savings."}},
		{transfer, 18, []string{"Confirm transfer", "of 500 dollars to", "savings."}},
		{transfer, 38, []string{"Confirm transfer of 500 dollars to", "savings."}},
		{transfer, 43, []string{transfer}},
		{"", 12, nil},
		{" \t\n", 12, nil},
		{"  two   spaces\n", 12, []string{"two spaces"}},
		{"exactly12cel", 12, []string{"exactly12cel"}},
		{"you owe 1 234 567 crowns", 12, []string{"you owe", "1 234 567", "crowns"}},
		{"you owe 1\u202f234\u202f567 crowns", 12, []string{"you owe", "1 234 567", "crowns"}},
		{"pages 12 40 of", 8, []string{"pages 12", "40 of"}},
		{"in 300 days", 6, []string{"in 300", "days"}},
		{"room 12 300 km", 7, []string{"room", "12 300", "km"}},
		{"abc-1,234.56 def", 10, []string{"abc", "-1,234.56", "def"}},
		{"total$1,234.56now", 10, []string{"total", "$1,234.56n", "ow"}},
		{"2026-11-21T10:15", 12, []string{"2026-11-21T", "10:15"}},
		{"123456789012345", 12, []string{"123456789012", "345"}}, // cannot fit
		{"well-being-centered", 12, []string{"well-being-", "centered"}},
		{"/share/ada/report.txt", 12, []string{"/share/ada/", "report.txt"}},
		{"internationalization", 12, []string{"internationa", "lization"}},
		{"aaaaaaaaaaae\u0301b", 12, []string{"aaaaaaaaaaaé", "b"}},       // composed: one cell
		{"aaaaaaaaaaaẹ\u0300b", 12, []string{"aaaaaaaaaaa", "ẹ\u0300b"}}, // has no composed form
		{"ab\u200b\u200fc", 12, []string{"abc"}},                         // no cells
		{"👩\u200d👩\u200d👧 ok", 12, []string{"👩👩👧 ok"}},                   // one cluster
		{"x", 1, []string{"x"}},
		{"ab c", 1, []string{"a", "b", "c"}},
	} {
		if got := layOut(textWords(removeInvisible(tc.text)), tc.width); !slices.Equal(got, tc.want) {
			t.Errorf("%q at %d cells: %q, want %q", tc.text, tc.width, got, tc.want)
		}
	}
}

// A very long word is laid out in no time.
func TestLongWord(t *testing.T) {
	for _, piece := range []string{"a", "-", "1", "1-", "e\u0301", "$"} {
		start := time.Now()
		layOutPages(textWords(removeInvisible(strings.Repeat(piece, 100_000))), 14)
		if took := time.Since(start); took > time.Minute { // 20 ms on a quiet machine; where it grows with the square, minutes
			t.Errorf("of %q: %v", piece, took)
		}
	}
}

// In dots, a number sign holds its digits, and a prefix what it belongs to.
func TestDotPages(t *testing.T) {
	for _, tc := range []struct {
		word  string
		width int
		want  []string
	}{
		{"⠁⠃⠉⠼⠁⠃⠉⠙⠑⠋", 8, []string{"⠁⠃⠉", "⠼⠁⠃⠉⠙⠑⠋"}},
		{"⠁⠃⠉⠼⠁⠂⠚⠚⠚⠲⠑⠚", 9, []string{"⠁⠃⠉", "⠼⠁⠂⠚⠚⠚⠲⠑⠚"}},
		{"⠁⠃⠉⠙⠐⠍⠁", 5, []string{"⠁⠃⠉⠙", "⠐⠍⠁"}},
		{"⠁⠃⠉⠙⠸⠠⠍⠁", 6, []string{"⠁⠃⠉⠙", "⠸⠠⠍⠁"}},
		{"⠼⠁⠃⠉⠙⠑⠋⠛", 4, []string{"⠼⠁⠃⠉", "⠙⠑⠋⠛"}},
	} {
		if got := layOut([]word{dotWord([]rune(tc.word))}, tc.width); !slices.Equal(got, tc.want) {
			t.Errorf("%s at %d cells: %q, want %q", tc.word, tc.width, got, tc.want)
		}
	}
}

func joinPieces(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// Every character is shown once and in order, no page is too wide, and no number that fits is
// broken.
func TestPagesProperties(t *testing.T) {
	piece := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z]{1,30}`),
		rapid.StringMatching(`[$+-]?[0-9]{1,3}(,[0-9]{3}){0,4}(\.[0-9]{1,3})?%?`),
		rapid.StringMatching(`[ \n]{1,3}`), rapid.StringMatching(`[-/_.:;(){}]`), rapid.String(),
		rapid.SampledFrom([]string{"ẹ\u0300", "ṣẹ́", "कि", "مرحبا", "12 345 678", "👩\u200d👧", "1\u202f000", "\u00a0",
			"'"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "text"), "")
		width := rapid.IntRange(1, 80).Draw(t, "width")
		pages := layOutPages(textWords(removeInvisible(text)), width)
		var all strings.Builder
		for i, p := range pages {
			if len(p.cells) == 0 || len(p.cells) > width {
				t.Fatalf("page %d has %d cells of %d: %q", i, len(p.cells), width, string(p.cells))
			}
			if before := len([]rune(joinPieces(all.String()))); p.start != before {
				t.Fatalf("page %d says that it starts at %d, after %d characters", i, p.start, before)
			}
			all.WriteString(string(p.cells))
		}
		if got, want := joinPieces(all.String()), joinPieces(removeInvisible(text)); got != want {
			t.Fatalf("shown %q of %q", got, want)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.StringMatching(`[$€+-]?[0-9]{1,3}(,[0-9]{3}){0,3}(\.[0-9]{2})?%?`).Draw(t, "number")
		before := rapid.StringMatching(`[a-z]{0,30} ?[a-z]{0,20}`).Draw(t, "before")
		after := rapid.StringMatching(`(| [a-z]{0,30}|[a-z]{1,30})`).Draw(t, "after")
		width := rapid.IntRange(len([]rune(n)), 40).Draw(t, "width")
		lines := layOut(textWords(removeInvisible(before+n+after)), width)
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, n) }) {
			t.Fatalf("%q is broken: %q", n, lines)
		}
	})
}
