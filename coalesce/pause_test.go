package coalesce

import (
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// What is held when nothing more comes for a moment is said if it reads as a whole sentence, and
// else waits.
func TestSegmenterPause(t *testing.T) {
	const none = ""
	for _, tt := range []struct {
		text string
		want aaep.Boundary
	}{
		{"Hello.", aaep.BoundarySentence},
		{"Hello. ", aaep.BoundarySentence},
		{"Hello.\n", aaep.BoundarySentence},
		{"Hello.\n\n", aaep.BoundaryParagraph},
		{"Title\n", aaep.BoundarySentence},
		{"Really?!", aaep.BoundarySentence},
		{"He said \"Go.\" ", aaep.BoundarySentence},
		{"(So.)", aaep.BoundarySentence},
		{"**So.**", aaep.BoundarySentence},
		{"It helps.[1]", aaep.BoundarySentence},
		{"Let me think...", aaep.BoundarySentence},
		{"No.", aaep.BoundarySentence},
		{"It is 3. ", aaep.BoundarySentence},
		{"هل هو جاهز؟", aaep.BoundarySentence},
		{"شكرا.\u200f", aaep.BoundarySentence},
		{"ተቀምጧል።", aaep.BoundarySentence},
		{"ልላከው፧ ", aaep.BoundarySentence},
		{"वह है।", aaep.BoundarySentence},
		{"はい。」", aaep.BoundarySentence},
		{"本当？", aaep.BoundarySentence},
		{"Ẹ ṣé!", aaep.BoundarySentence},
		{"", none},
		{" \n\n", none},
		{"Hello", none},
		{"Hello ", none},
		{"Hello, ", none},
		{"It is done. 🎉", aaep.BoundarySentence},
		{"It is done! 👩🏽‍💻 ", aaep.BoundarySentence},
		{"It is done!🎉🎉", aaep.BoundarySentence},
		{"Sounds good 👍🏽", aaep.BoundarySentence},
		{"A flag. 🇳🇬", aaep.BoundarySentence},
		{"I love it ❤\ufe0f", aaep.BoundarySentence},
		{"Thanks! :)", aaep.BoundarySentence},
		{"Thanks ;-) ", aaep.BoundarySentence},
		{"Now I run `make`.", aaep.BoundarySentence},
		{"See [the plan](https://a.b/3).", aaep.BoundarySentence},
		{"Es geht um Rechtsschutzversicherungsgesellschaften.", aaep.BoundarySentence},
		{"Шкода відшкодовується.", aaep.BoundarySentence},
		{"It is from 2020.", aaep.BoundarySentence},
		{"Pens, paper, etc.", aaep.BoundarySentence},
		{"Let me look at the tests:", aaep.BoundarySentence},
		{"Let me look at `main.go`:", aaep.BoundarySentence},
		{"Let me look at: ", none},
		{"I am 6 ft.", none},
		{"See https://a.b/c.", none},
		{"我来看一下测试：", aaep.BoundarySentence},
		{"It starts at 12:", none},
		{"It is at https:", none},
		{"It is version 20.1234.", none},
		{"Half a flag. 🇳", none},
		{"A family. 👩\u200d", none},
		{"See `x. 🎉", none},
		{"Note:", none},
		{"(see f(x:)", none},
		{"It is 3.", none},
		{"1.", none},
		{"1. ", none},
		{"a) ", none},
		{"Ask Dr.", none},
		{"Ask Dr. ", none},
		{"One, e.g. ", none},
		{"See Fig. ", none},
		{"In the U.S. ", none},
		{"In the U.S. I", none},
		{"by J.", none},
		{"Done. \"", none},
		{"It helps.[1", none},
		{"One\r", none},
		{"👩‍👩‍👧‍👦", none},
		{"Cafe\u0301", none},
	} {
		for _, cut := range []aaep.Boundary{aaep.BoundaryWord, aaep.BoundarySentence} {
			s := NewSegmenter(cut, 0)
			before := s.Write(tt.text)
			text := tt.text
			for _, p := range before {
				text = text[p.Source:]
			}
			got := s.Pause()
			switch {
			case tt.want == none && len(got) > 0, tt.want != none && (cut == aaep.BoundarySentence || len(got) == 0) && (len(got) != 1 || got[0] != Piece{text, tt.want, len(text)}),
				tt.want != none && got[len(got)-1].Boundary != tt.want, tt.want != none && s.Held() > 0:
				t.Errorf("%q, cut %s: Pause() = %+v, want %q", tt.text, cut, got, tt.want)
			}
		}
		for _, cut := range []aaep.Boundary{aaep.BoundaryParagraph, aaep.BoundaryCompletion} {
			s := NewSegmenter(cut, 0)
			s.Write(tt.text)
			if got := s.Pause(); len(got) > 0 {
				t.Errorf("%q, cut %s: Pause() = %+v", tt.text, cut, got)
			}
		}
	}
}

// A pause without a complete sentence changes nothing, and one behind a sentence nothing after it.
func TestSegmenterAfterPause(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Pi is 3.⏸14. |Ok", "Pi is 3.14. |Ok"},
		{"Done.⏸\u0301 Ok", "Done.|\u0301 Ok"},
		{"Cafe⏸\u0301 is. ⏸Ok", "Café is. |Ok"},
		{"Ask Dr. ⏸Ade. ⏸|Ok", "Ask Dr. Ade. |Ok"},
		{"One.⏸ Two. Three", "One.| Two. |Three"},
		{"One.\n⏸\n1. Two", "One.\n|\n1. Two"},
		{"One.\r⏸\nTwo", "One.\r\n|Two"},
		{"They went to the U.S. ⏸I|t was. ", "They went to the U.S. |It was. "},
	} {
		s := NewSegmenter(aaep.BoundarySentence, 0)
		var got []string
		for part := range strings.SplitSeq(strings.ReplaceAll(tt.text, "|", ""), "⏸") {
			for _, p := range append(s.Write(part), s.Pause()...) {
				got = append(got, p.Text)
			}
		}
		for _, p := range s.Flush(true) {
			got = append(got, p.Text)
		}
		if s := strings.Join(got, "|"); s != tt.want {
			t.Errorf("%q\ngot  %q\nwant %q", tt.text, s, tt.want)
		}
	}
}

// Flush hands out all that is held and says with which boundary it ends: what it reads as, or that
// it is the end.
func TestSegmenterFlush(t *testing.T) {
	for _, tt := range []struct {
		text       string
		cut        aaep.Boundary
		more, last string // not final, final
	}{
		{"", aaep.BoundarySentence, "", ""},
		{"Hello", aaep.BoundaryWord, "Hello/none", "Hello/completion"},
		{"Hello ", aaep.BoundaryWord, "Hello /word", "Hello /completion"},
		{"Hello ", aaep.BoundarySentence, "Hello /none", "Hello /completion"},
		{"Hello.", aaep.BoundarySentence, "Hello./sentence", "Hello./completion"},
		{"Hello. ", aaep.BoundaryParagraph, "Hello. /none", "Hello. /completion"},
		{"Hello.\n\n", aaep.BoundarySentence, "Hello.\n\n/paragraph", "Hello.\n\n/completion"},
		{"Hello.\n\n", aaep.BoundaryCompletion, "Hello.\n\n/none", "Hello.\n\n/completion"},
		{"Ask Dr.", aaep.BoundarySentence, "Ask Dr./none", "Ask Dr./completion"},
		{"In the U.S. It", aaep.BoundarySentence, "In the U.S. /sentence|It/none", "In the U.S. /sentence|It/completion"},
		{"In the U.S. I", aaep.BoundaryWord, "U.S. /sentence|I/none", "U.S. /sentence|I/completion"},
		{"In the U.S. Sen", aaep.BoundaryWord, "U.S. /word|Sen/none", "U.S. /word|Sen/completion"},
		{"Done. \"", aaep.BoundarySentence, "Done. \"/sentence", "Done. \"/completion"},
		{"はい。", aaep.BoundarySentence, "はい。/sentence", "はい。/completion"},
		{" \n", aaep.BoundarySentence, " \n/sentence", " \n/completion"},
		{"Cafe\u0301", aaep.BoundarySentence, "Café/none", "Café/completion"},
		{"x\xe2\x80", aaep.BoundarySentence, "x\xe2\x80/none", "x\xe2\x80/completion"},
	} {
		for _, final := range []bool{false, true} {
			s := NewSegmenter(tt.cut, 0)
			s.Write(tt.text)
			want := tt.more
			if final {
				want = tt.last
			}
			if got := formatPieces(s.Flush(final)); got != want || s.Held() != 0 {
				t.Errorf("%q, cut %s: Flush(%t) = %q, want %q; %d held", tt.text, tt.cut, final, got, want, s.Held())
			}
			if got := s.Flush(final); len(got) > 0 {
				t.Errorf("%q: Flush(%t) again = %+v", tt.text, final, got)
			}
		}
	}
}

// After a final Flush nothing is left of the text before.
func TestSegmenterReuse(t *testing.T) {
	s := NewSegmenter(aaep.BoundarySentence, 30)
	for range 3 {
		for _, text := range []string{"Ask Dr.", "1. One", "\u0301x. Y", "e.g. so"} {
			got := append(s.Write(text), s.Flush(true)...)
			if want := segment(aaep.BoundarySentence, 30, text); !slices.Equal(got, want) {
				t.Errorf("%q = %+v, want %+v", text, got, want)
			}
		}
	}
}

// Text split by a Flush in between goes on as one text: marks and sentence starts are remembered.
func TestSegmenterGoesOnAfterFlush(t *testing.T) {
	s := NewSegmenter(aaep.BoundarySentence, 0)
	got := append(s.Write("Ask Dr"), s.Flush(false)...)
	got = append(got, s.Write(". Ade. Then")...)
	got = append(got, s.Flush(true)...)
	if want := "Ask Dr/none|. Ade. /sentence|Then/completion"; formatPieces(got) != want {
		t.Errorf("got %q, want %q", formatPieces(got), want)
	}
}

// hardTexts repeats what a rescan would make quadratic.
var hardTexts = map[string]string{
	"letters": "a", "spaces": " ", "dots": ".", "quotes": "\"", "lines": "\n", "crlf": "\r\n", "marks": "\u0301", "jamo": "\u1161",
	"ideographs": "漢", "joiners": "👩\u200d", "flags": "🇳", "words": "ab ", "commas": "a, ", "openers": ". (", "cites": ".[1", "invalid": "\x80",
	"nukta": "\u0958", "kana": "か\u3099", "zwsp": "\u200b", "waits": "U.S. Aaa", "code": "`a. B ", "ticks": "`", "braces": "{ ", "links": "[a](b. C", "tags": "x. <b ", "money": "$x ", "markers": "1. ", "quoted": "> ",
	"loose": ". . ", "said": "\"a!\" Bob ", "fences": "```\nx. Y\n", "rows": "| a. B\n", "wrapped": "Aaa bb cc dd\ne", "emoji": "A! 🎉",
	"sources": ". ([a](b), [c](d), ", "source": ". ([a](b))", "formula": "$$\na = b. C\\\\ ", "dollars": "\n$$ x = y ", "begins": "\n\\begin{align} a. B ", "members": "\n\"a\": x. Y ",
	"objects": "\n{\"a. B ", "comments": "A. <!-- b. C ", "double": ".[[1]", "names": "A. abcdefghijklmnopqrstuvw ", "leads": "A. .Net ...a ", "faces": "A. :- ", "smileys": "a :) B", "pictures": "A!🎉", "closes": "Aa bb cc dd Ee Inc. Ffffffffffffffffff g ", "counts": "1. a to 2. B ",
	"delimiters": "\n--- | :-: ", "dashes": "\n" + strings.Repeat("- ", 70) + "x", "bare rows": "\n-|-\n" + strings.Repeat("ab ", 50), "choices": "A? (a/b", "scripts": "ab. вг. ", "trailers": "\n```\n``` x. Y",
}

// countExamined feeds text byte by byte and returns how many characters were examined and bytes
// came out.
func countExamined(t *testing.T, cut aaep.Boundary, limit int, text string) (examined, n int) {
	s := NewSegmenter(cut, limit)
	for i := range len(text) {
		for _, p := range s.Write(text[i : i+1]) {
			n += p.Source
		}
		if limit > 0 && s.Held() > limit+200 {
			t.Fatalf("holds %d bytes at limit %d", s.Held(), limit)
		}
	}
	for _, p := range s.Flush(true) {
		n += p.Source
	}
	return s.examined, n
}

// The work is linear and memory bounded: four times the text has about four times as many
// characters examined (a rescan of all that is held would have 16 times), and no more than the
// looks ahead explain.
func TestSegmenterLinear(t *testing.T) {
	for name, unit := range hardTexts {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(unit, 1<<13/len(unit))
			for _, cut := range boundaryCuts {
				for _, limit := range []int{0, 1000} {
					small, n := countExamined(t, cut, limit, text[:len(text)/4])
					if n != len(text)/4 {
						t.Fatalf("%d of %d bytes came out", n, len(text)/4)
					}
					large, _ := countExamined(t, cut, limit, text)
					if large > 5*small+1000 || large > 1000*len(text) {
						t.Errorf("cut %s, limit %d: %d characters examined for %d bytes, %d for %d", cut, limit, small, len(text)/4, large, len(text))
					}
				}
			}
		})
	}
}
