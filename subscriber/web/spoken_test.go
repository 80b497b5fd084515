package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	lasting "github.com/aaep-go/aaep/internal/spoken"
	"github.com/aaep-go/aaep/producer"
)

// TestReading: the page has the table of how long a text takes to be heard as Go has it, and comes
// to the same with it: for each character that both know, and for texts in which the characters
// around one count.
func TestReading(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("static/spoken.js")
	check(t, err)
	var table strings.Builder
	for _, r := range lasting.Table {
		fmt.Fprintf(&table, "  [%d, %q, %q],\n", r.Cost, r.Of, r.Kind)
	}
	fmt.Fprintf(&table, "];\nconst spelled = %d;\n\nconst named = [\n", lasting.Spelled)
	for _, r := range lasting.Named {
		fmt.Fprintf(&table, "  [%d, %q, %q],\n", r.Cost, r.Of, r.By)
	}
	if !strings.Contains(string(page), table.String()) {
		t.Fatalf("static/spoken.js has another table, want\n%s", table.String())
	}
	texts := []string{"", " ", "Transfer $500 to Ada. IBAN DE89370400440532013000", "PAYALL PAY ALL aGVsbG8gd29ybGQ xkcdq McDonald iPhone I a Ünïcödé ÄÖÜ",
		"דחוף: RealPix שלום", "Caps Lock уключаны", "付款 Microsoft 公司", "Pay 付款", "ｆｕｌｌ ＷＩＤＥ", "e\u0301é a\u0301b PA\u0301Y", "👩‍👩‍👧‍👦👍🏽🇩🇪", "ſtop Kelvin ıI",
		"а б ВГД", "1½²Ⅷ٧७", "\x00\u2028\ufeff\ufffd\u0378", "Pay\u200byoü", "\u1100\u1161\u11a8 각", strings.Repeat("word ", 50)}
	var known []rune
	step := rune(1)
	if testing.Short() { // make test-all asks for each character
		step = 17
	}
	for r := rune(0); r <= unicode.MaxRune; r += step {
		if unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf) {
			known = append(known, r)
		}
	}
	for some := range slices.Chunk(known, 16) { // a mark, a letter and a sign of any kind beside each other, too
		texts = append(texts, string(some))
	}
	for _, r := range known {
		texts = append(texts, string(r))
	}
	const pace = 60000 // a hundredth of a word is ten microseconds
	p := newBrowser(t).open(start(t, producer.Config{}).page, "")
	p.until(connected)
	for some := range slices.Chunk(texts, 20000) {
		data, err := json.Marshal(some)
		check(t, err)
		for _, voice := range []string{"", "en-US", "ar", "ja", "yo", "ka"} {
			says, takes := fmt.Sprintf(`readingBy(s, %d, %q)`, pace, voice), lasting.TimeBy
			if voice == "" {
				says, takes = fmt.Sprintf(`reading(s, %d)`, pace), func(text string, pace int64, _ ...string) time.Duration { return lasting.Time(text, pace) }
			}
			got := eval[[]float64](p, fmt.Sprintf(`import("./text.js").then(({ reading, readingBy }) => %s.map((s) => %s))`, data, says))
			for i, text := range some {
				if want := takes(text, pace, voice); (time.Duration(got[i]*1e6) - want).Abs() > time.Microsecond {
					t.Errorf("%+q by the voice %q: the page says %v ms, want %v", text, voice, got[i], want)
				}
			}
		}
	}
}
