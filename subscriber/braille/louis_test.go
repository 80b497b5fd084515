package braille_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/internal/realtest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/braille"
)

// newTranslatingDisplay opens a display whose text liblouis translates.
func newTranslatingDisplay(t *testing.T, cells int, lacks string, tables map[string]string) (*brailletest.Server,
	*braille.Display) {
	realtest.Need(t, "lou_translate", "stdbuf")
	s := brailletest.New(cells)
	s.Lacks = lacks
	d, err := braille.Open(t.Context(), braille.Options{Dial: s.Dial, Manual: true, Tables: tables})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return s, d
}

// readPages returns a text as pages, of which the person reads one after the other.
func readPages(t *testing.T, s *brailletest.Server, d *braille.Display, u announce.Utterance) []string {
	t.Helper()
	from := len(s.States())
	result := make(chan error, 1)
	go func() { result <- d.Present(t.Context(), u) }()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		select {
		case err := <-result:
			if err != nil {
				t.Fatal(err)
			}
			var pages []string
			for _, state := range s.States()[from:] {
				if line := []rune(state.Line); state.Ours && strings.TrimSpace(state.Line) != "" {
					pages = append(pages, strings.TrimSpace(string(line[:len(line)-2])))
				}
			}
			return pages
		default:
			if len(s.States()) > from && strings.TrimSpace(s.Now().Line) != "" {
				s.Press(brailletest.Forward)
			}
		}
	}
	t.Fatal("it has not ended")
	return nil
}

// I18N-018: the language of the utterance chooses the table.
func TestLouis(t *testing.T) {
	t.Parallel()
	s, d := newTranslatingDisplay(t, 14, "", braille.DefaultTables())
	for _, tc := range []struct {
		language, text string
		want           []string
	}{
		{"en-GB", transfer, []string{"⠠⠒⠋⠊⠗⠍", "⠞⠗⠁⠝⠎⠋⠻ ⠷", "⠼⠑⠚⠚ ⠙⠕⠇⠇⠜⠎", "⠞⠕ ⠎⠁⠧⠬⠎⠲"}},
		{"en", `a\x0041b`, []string{"⠁⠸⠡⠭⠼⠚⠚⠙⠁⠰⠃"}}, // not read as a code
		{"es", "fueron 1 234 euros", []string{"⠋⠥⠑⠗⠕⠝", "⠼⠁ ⠼⠃⠉⠙", "⠑⠥⠗⠕⠎"}},
		{"es", "mañana", []string{"⠍⠁⠻⠁⠝⠁"}},
	} {
		if got := readPages(t, s, d, announce.Utterance{Text: tc.text, Language: tc.language}); !slices.Equal(got,
			tc.want) {
			t.Errorf("%s: %q", tc.text, got)
		}
	}
	// A text of many lines comes whole.
	var long []string
	for i := range 200 {
		long = append(long, strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprintf("%08d", i)))
	}
	got := strings.Fields(strings.Join(readPages(t, s, d,
		announce.Utterance{Text: strings.Join(long, " "), Language: "es"}), " "))
	if len(got) != 200 || got[199] != "⠁⠁⠁⠁⠁⠃⠚⠚" {
		t.Errorf("of 200 words came %d", len(got))
	}
}

// What a table lacks is shown without its marks, or as a question mark; never as a hexadecimal
// code.
func TestLouisLacks(t *testing.T) {
	t.Parallel()
	s, d := newTranslatingDisplay(t, 80, "", map[string]string{"en": "en-ueb-g1.ctb", "yo": "en-ueb-g1.ctb"})
	got := readPages(t, s, d, announce.Utterance{Text: "ẹ kú àárọ̀ \U0001f600 日", Language: "yo"})
	if want := []string{"⠑ ⠅⠘⠌⠥ ⠘⠡⠁⠘⠌⠁⠗⠘⠡⠕ ⠰⠦ ⠰⠦"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Each of the usual tables is in liblouis, and has its language's letters; there is none for
// Yoruba, Hausa and Igbo.
func TestTables(t *testing.T) {
	t.Parallel()
	var all strings.Builder // so that no letter counts that BRLTTY has
	for r := '!'; r < 0xd800; r++ {
		all.WriteRune(r)
	}
	_, d := newTranslatingDisplay(t, 40, all.String(), braille.DefaultTables())
	for tag := range braille.DefaultTables() {
		if !d.Speaks(tag) {
			t.Errorf("no table for %s", tag)
		}
	}
	for _, tag := range []string{"yo", "yo-NG", "ha", "ig", "tlh", "nonsense tag"} {
		if d.Speaks(tag) {
			t.Errorf("a table for %s", tag)
		}
	}
	_, d = newTranslatingDisplay(t, 40, all.String(), map[string]string{"en": "no-such-table.ctb"})
	if d.Speaks("en") {
		t.Error("a table that does not exist")
	}
	_, d = newTranslatingDisplay(t, 40, "ẹ", map[string]string{"en": "en-ueb-g2.ctb"})
	if !d.Speaks("ln") || d.Speaks("yo") {
		t.Error("without a table the letters that BRLTTY has do not count")
	}
}
