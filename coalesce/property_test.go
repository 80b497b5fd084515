package coalesce

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
)

// Every cut between words is one of UAX #29's, an independent implementation says.
func TestSegmenterWordsAreUAX29(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := norm.NFC.String(drawText(t))
		bounds := map[int]bool{}
		for w := words.FromString(text); w.Next(); {
			bounds[w.End()] = true
		}
		at := 0
		for _, p := range segment(aaep.BoundaryWord, 0, text) {
			at += len(p.Text)
			if r, _ := utf8.DecodeRuneInString(text[at:]); unicode.Is(unicode.Cf, r) {
				continue // WB4 leaves a direction mark with the space before it, we give it to its word
			}
			if p.Boundary == aaep.BoundaryWord && !bounds[at] {
				t.Fatalf("%q is cut at %d, inside a word", text, at)
			}
		}
	})
}

// drawText draws text of mixed alphabets, rich in what is hard.
func drawText(t *rapid.T) string {
	part := rapid.SampledFrom([]string{
		".", ". ", "...", "…", "!", "? ", "?", " ", " ", "  ", "\n", "\n\n", "\r\n", "\r", "\u2029", "\u00a0", "\u3000", "\u200b", "\u200f",
		"\"", "'", "”", "“", "«", "»", "(", ")", "[", "]", "*", "_", ",", ", ", ";", ":", "-", "—", "`", "$", "1", "3.14", "٣", "[1]",
		"a", "b", "The", "It ", "he ", "U.S.", "Dr.", "etc. ", "e.g. ", "No. ", "J.", "Bob", "x", "É", "e\u0301", "\u0301", "\u0323\u0301", "\u0316",
		"a\u0302\u0301", "Ọ̀", "ṣ", "。", "！", "？", "、", "「", "」", "東", "京", "か", "ka\u3099", "か\u3099", "カ", "ー", "ﾞ", "と", "と\u3099", "。」", "っ",
		"።", "፡", "፤", "ሰ", "ላ", "؟", "،", "م", "لا", "ُ", "।", "॥", "क", "क\u094d", "ष", "\u093c", "ि", "क़", "ไ", "ย", "ำ", "ខ", "។",
		"`", "`", "``", "```", "\n```\n", "$", "$", "{", "}", "<b>", "</b>", "<br>", "<", "](", "| ", "\n# ", "\n> ", "\n- ", "\n1. ", " 2. ", "1. ", "a) ",
		"z. B. ", "z. ", "i. d. ", "S. ", "V. ", "3. ", "Mai", "said", "She", "\"A!\" ", ". . . ", "[^a]", "【4†s】", "&nbsp;", "¹", "٣. ", "— ", "» ", "« ", "·", "• ",
		"\n$$\n", "$$", "$$\n", "x = y", "\\[\n", "\n\\[", "\\]", "\n\\begin{align}", "\\end{align}", "\n{\"a\"", "\n\"a\": ", "<!--", "-->", "![", "([", "](u))", "[[1]]", "(u)", "[2, 3]",
		".NET", "iOS", "'t ", "...a", ":) ", ";-)", "<3", "⚠️ ", "✅ ", "— ", "–", "\nII. ", "\n1.1. ", "\nQ1. ", " v. ", "5 min. ", "EUR", "hän", "ر.س. ", "م. ", "‘‘", "「", "…」",
		"\n--- | :-:\n", "a. | B", "\n``` x", "go ```go\n", "? (y/n)", "？（はい／いいえ）", "👍", "好的👍", "H. G. ", "Mon.–Fri. ", "г. ", "Москва", "ود. ", "٣ ", "https://",
		"I-", "I", "Aaa bb cc dd", "\ndate:", "\nx", "\n> ```\n", "\n> x", ":```go\n", ": ", "🎉", "😊 ", " :) ", " ;-)", "Inc. ", "S.p.A. ", "1990 г. ", "Shares rose ", "version ", "Then go", "👩", "\u200d", "👧", "👍🏽", "🇳", "🇬", "️", "1️⃣", "‼️", "ᄀ", "ᅡ", "ᆨ", "한", "\u0600", "\u037e", "\u1100\u1161", "𝅗𝅥", "\u0344", "\u034f", "\u0e33",
	})
	return strings.Join(rapid.SliceOfN(part, 0, 40).Draw(t, "parts"), "")
}

// checkSegmenter checks what holds for any text, limit, cut and division into tokens.
func checkSegmenter(t interface{ Fatalf(string, ...any) }, cut aaep.Boundary, limit int, tokens []string) []Piece {
	text := strings.Join(tokens, "")
	s := NewSegmenter(cut, limit)
	var pieces []Piece
	fed, used := 0, 0
	for _, tok := range tokens {
		got := s.Write(tok)
		fed += len(tok)
		for _, p := range got {
			used += p.Source
		}
		if (s.Held() == 0) != (fed == used) || limit > 0 && s.Held() > max(limit, utf8.UTFMax)+200 {
			t.Fatalf("Held() = %d after %d of %d bytes", s.Held(), used, fed)
		}
		pieces = append(pieces, got...)
	}
	pieces = append(pieces, s.Flush(true)...)
	if s.Held() != 0 {
		t.Fatalf("Held() = %d after Flush", s.Held())
	}

	var joined strings.Builder
	source := 0
	for i, p := range pieces {
		joined.WriteString(p.Text)
		source += p.Source
		switch last := i == len(pieces)-1; {
		case p.Text == "" || p.Source < 0:
			t.Fatalf("piece %d of %q is %+v", i, text, p)
		case limit > 0 && len(p.Text) > max(limit, utf8.UTFMax):
			t.Fatalf("piece %d has %d bytes, limit %d", i, len(p.Text), limit)
		case last != (p.Boundary == aaep.BoundaryCompletion):
			t.Fatalf("piece %d of %d is labelled %q", i, len(pieces), p.Boundary)
		case p.Boundary == aaep.BoundaryNone && limit <= 0, p.Boundary != aaep.BoundaryNone && p.Boundary.Rank() < cut.Rank():
			t.Fatalf("piece %d is labelled %q at cut %q", i, p.Boundary, cut)
		case !last && limit <= 0 && strings.TrimSpace(p.Text) == "":
			t.Fatalf("piece %d of %q is blank", i, text)
		}
	}
	if joined.String() != nfc(text) { // I18N-010, INV-28
		t.Fatalf("pieces of %+q are %+q, want %+q", text, joined.String(), nfc(text))
	}
	if source != len(text) {
		t.Fatalf("sources of %q sum to %d, want %d", text, source, len(text))
	}
	edges, longest := map[int]bool{}, 0
	for g := graphemes.FromString(joined.String()); g.Next(); {
		edges[g.End()] = true
		longest = max(longest, len(g.Value()))
	}
	at, whole := 0, utf8.ValidString(text) && (limit <= 0 || longest <= limit)
	for _, p := range pieces { // INV-28, I18N-013
		if at += len(p.Text); whole && !edges[at] {
			t.Fatalf("%+q: a cluster is split at %d", joined.String(), at)
		}
	}
	return pieces
}

// HS-071: a limit in code points, in any language, keeps what a limit in bytes keeps.
func TestSegmenterMaxRunes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		limit := rapid.SampledFrom([]int{1, 5, 20, 60}).Draw(t, "runes")
		lang := rapid.SampledFrom([]string{"", "en", "de", "ja", "ar", "yo", "nl", "sv", "ru", "hu"}).Draw(t, "language")
		run := func(tokens []string) (pieces []string) {
			s := NewSegmenter(aaep.BoundarySentence, 0)
			s.SetLanguage(lang)
			s.SetMaxRunes(limit)
			add := func(got []Piece) {
				for _, p := range got {
					pieces = append(pieces, p.Text)
				}
			}
			for _, tok := range tokens {
				add(s.Write(tok))
			}
			add(s.Flush(true))
			return pieces
		}
		want := run([]string{text})
		if norm.NFC.String(text) != strings.Join(want, "") {
			t.Fatalf("%+q became %+q", text, want)
		}
		for _, p := range want {
			if n := utf8.RuneCountInString(strings.TrimSpace(p)); n > limit {
				t.Fatalf("%+q has %d code points, limit %d", p, n, limit)
			}
		}
		for _, tokens := range append(splitWays(text), divideAtRandom(t, text)) {
			if got := run(tokens); !slices.Equal(got, want) {
				t.Fatalf("%+q by %q\ngot  %+q\nwant %+q", text, tokens, got, want)
			}
		}
	})
}

// divideAtRandom draws a way to divide text into tokens, which may end inside a character.
func divideAtRandom(t *rapid.T, text string) (tokens []string) {
	for len(text) > 0 {
		n := min(rapid.IntRange(1, 12).Draw(t, "token"), len(text))
		tokens = append(tokens, text[:n])
		text = text[n:]
	}
	return tokens
}

// INV-28, HS-071: the division into tokens changes nothing, nothing is lost, no cluster is split.
func TestSegmenterProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		cut := rapid.SampledFrom(boundaryCuts).Draw(t, "cut")
		limit := rapid.SampledFrom([]int{0, 0, 1, 4, 7, 16, 40, 100}).Draw(t, "limit")
		want := checkSegmenter(t, cut, limit, []string{text})
		for _, tokens := range append(splitWays(text), divideAtRandom(t, text)) {
			if got := checkSegmenter(t, cut, limit, tokens); !slices.Equal(got, want) {
				t.Fatalf("%+q by %d tokens %q\ngot  %+v\nwant %+v", text, len(tokens), tokens, got, want)
			}
		}
	})
}

// A pause may change the pieces, but loses nothing, splits no cluster, and says nothing unfinished.
func TestSegmenterPauseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		s := NewSegmenter(rapid.SampledFrom(boundaryCuts).Draw(t, "cut"), 0)
		var joined string
		source, edges := 0, []int(nil)
		add := func(pieces []Piece) {
			for _, p := range pieces {
				joined += p.Text
				source += p.Source
				edges = append(edges, len(joined))
			}
		}
		for _, tok := range divideAtRandom(t, text) {
			add(s.Write(tok))
			if !rapid.Bool().Draw(t, "pause") {
				continue
			}
			pieces := s.Pause()
			if len(pieces) > 0 && s.Held() > 0 {
				t.Fatalf("Pause() = %+v, and %d bytes held", pieces, s.Held())
			}
			add(pieces)
			if again := s.Pause(); len(again) > 0 {
				t.Fatalf("Pause again = %+v", again)
			}
		}
		add(s.Flush(true))
		// A mark that comes after a pause can no longer count towards an overflow of marks before
		// it.
		if joined != nfc(text) || source != len(text) {
			t.Fatalf("%+q became %+q, %d bytes of %d", text, joined, source, len(text))
		}
	})
}

// FuzzSegmenter is TestSegmenterProperties for arbitrary bytes.
func FuzzSegmenter(f *testing.F) {
	for _, marked := range sentenceTexts {
		text, _ := splitMarked(marked)
		f.Add(text, uint8(1), uint16(0), uint8(3))
	}
	for _, l := range readLanguages(f) {
		for _, sentence := range l.sentences[:min(len(l.sentences), 12)] {
			f.Add(strings.ReplaceAll(sentence.marked, "¦", ""), uint8(1), uint16(40), uint8(3))
		}
	}
	f.Add("a\xff\x80. B", uint8(0), uint16(5), uint8(1))
	f.Add("a"+strings.Repeat("\u0301", 40)+" b", uint8(1), uint16(20), uint8(1))
	f.Add(strings.Repeat("\u1161", 70)+".", uint8(1), uint16(0), uint8(2))
	f.Add("\xf0\x9f\x91", uint8(1), uint16(0), uint8(1))
	f.Fuzz(func(t *testing.T, text string, cut uint8, limit uint16, step uint8) {
		b := boundaryCuts[int(cut)%len(boundaryCuts)]
		want := checkSegmenter(t, b, int(limit), []string{text})
		for _, n := range []int{1, int(step)%9 + 1, -1, -int(step)%5 - 1} {
			if got := checkSegmenter(t, b, int(limit), splitEvery(text, n)); !slices.Equal(got, want) {
				t.Fatalf("%+q by %d\ngot  %+v\nwant %+v", text, n, got, want)
			}
		}
	})
}

// Long runs of combining marks get the joiners of the Stream-Safe Text Format, as norm.NFC gives
// them.
func TestSegmenterStreamSafe(t *testing.T) {
	for _, text := range []string{
		"a" + strings.Repeat("\u0301", 100) + ". B",
		strings.Repeat("\u0323\u0301", 50),
		strings.Repeat("\u1161", 100) + "x",
		"e" + strings.Repeat("\u0305", 34) + "\u0316 b",
		"a" + strings.Repeat("\u0344", 15) + " b", // twice as long in NFC
	} {
		for _, tokens := range splitWays(text) {
			checkSegmenter(t, aaep.BoundarySentence, 0, tokens)
			checkSegmenter(t, aaep.BoundarySentence, 50, tokens)
			checkSegmenter(t, aaep.BoundarySentence, 4, tokens)
		}
	}
}

// Deciding in front of a character before its marks are there needs that marks change no class, and
// ending a pause there needs that nothing composes with what stands last.
func TestClassesSurviveComposition(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		nfd, nfc := []rune(norm.NFD.String(string(r))), []rune(norm.NFC.String(string(r)))
		if a, b := classOf(r), classOf(nfc[0]); a != b || wideScript(r) != wideScript(nfc[0]) {
			t.Errorf("%U is of class %d, %U of class %d", r, a, nfc[0], b)
		}
		if len(nfd) < 2 || len(nfc) > 1 {
			continue
		}
		base := nfd[0]
		if a, b := classOf(base), classOf(r); a != b || wideScript(base) != wideScript(r) {
			t.Errorf("%U is of class %d, %U of class %d", base, a, r, b)
		}
		if closing[classOf(base)] {
			t.Errorf("%U ends a sentence and composes to %U", base, r)
		}
	}
}

// nfc is norm.NFC for each stretch of UTF-8: after a byte that is none, norm leaves U+0344 as it
// is.
func nfc(text string) string {
	var b strings.Builder
	for text != "" {
		n := 0
		for n < len(text) {
			r, size := utf8.DecodeRuneInString(text[n:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		b.WriteString(norm.NFC.String(text[:n]))
		if n < len(text) {
			b.WriteByte(text[n])
			n++
		}
		text = text[n:]
	}
	return b.String()
}
