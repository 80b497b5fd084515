package coalesce

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
)

// HS-071: whatever sentence a picture or a smiley ends, a pause lets all of it out, and the picture
// with it.
func TestSegmenterPauseBehindPicture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"Done", "it", "Ado", "ist", "да", "ok", "نعم", "좋아요", "ठीक", "3.5", "U.S.", "x_y", "(so)"}), 1, 6).Draw(t, "words")
		text := strings.Join(words, " ") + rapid.SampledFrom([]string{" ", ". ", "! ", "!", "? ", "… ", "।", "。"}).Draw(t, "mark") +
			rapid.SampledFrom([]string{"🎉", "👍🏽", "❤️", "👩‍👩‍👧‍👦", "🇳🇬", "🎉🎉 ", "✅"}).Draw(t, "picture")
		s := NewSegmenter(aaep.BoundarySentence, 0)
		var got []Piece
		for _, tok := range divideAtRandom(t, text) {
			got = append(got, s.Write(tok)...)
		}
		if got = append(got, s.Pause()...); s.Held() > 0 || len(got) == 0 {
			t.Fatalf("%q: %d bytes are held behind %+v", text, s.Held(), got)
		}
		if last := got[len(got)-1]; utf8.RuneCountInString(last.Text) < 3 || last.Boundary != aaep.BoundarySentence {
			t.Fatalf("%q: the picture is left alone in %+v", text, got)
		}
	})
}

// Of code that goes on only whole lines are yielded, whatever comes and whenever it is asked for;
// what begins with a fence and is joined is the text, and prose behind it is cut as ever.
func TestSegmenterYieldsCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"x. Y", "  a := 1. ", "", "`", "# Done! Next", "| a. b |", "$$", "{\"a\"", "``", "- it", "Ọ̀r. 🎉"}), 0, 12).Draw(t, "lines")
		fence := rapid.SampledFrom([]string{"```", "~~~", "````"}).Draw(t, "fence")
		code := fence + "go\n" + strings.Join(append(lines, fence), "\n") + "\n"
		s := NewSegmenter(aaep.BoundarySentence, 0)
		var joined string
		for _, tok := range divideAtRandom(t, code) {
			pieces := s.Write(tok)
			if rapid.Bool().Draw(t, "waited") {
				pieces = append(pieces, s.Pause()...)
				yielded := s.Yield()
				for _, p := range yielded {
					if !strings.HasSuffix(strings.TrimRight(p.Text, " "), "\n") || strings.Count(p.Text, "\n") < 2 {
						t.Fatalf("of %q %q was yielded", code, p.Text)
					}
				}
				pieces = append(pieces, yielded...)
			}
			for _, p := range pieces {
				joined += p.Text
			}
		}
		got := append(s.Write("One. Two."), s.Flush(true)...)
		var rest []string
		for _, p := range got {
			rest = append(rest, p.Text)
		}
		all := joined + strings.Join(rest, "")
		if all != nfc(code+"One. Two.") || len(rest) < 2 || !strings.HasSuffix(rest[len(rest)-2], "One. ") || rest[len(rest)-1] != "Two." {
			t.Fatalf("%q became %q and %q", code, joined, rest)
		}
	})
}

// After a longer wait a final mark is taken for the end, whatever it may be else: no listener hears
// "It costs" and never how much.
func TestSegmenterYield(t *testing.T) {
	for text, want := range map[string]string{
		"Pi is about 3.":                        "Pi is about 3./sentence",
		"It costs $5.":                          "It costs $5./sentence",
		"It starts at 5 p.m.":                   "It starts at 5 p.m./sentence",
		"I would rather choose B. ":             "I would rather choose B. /sentence",
		"I would rather ask Dr.":                "I would rather ask /word",
		"I would rather ask":                    "I would rather /word",
		"I ask `a. B":                           "",
		"Consider the sum of $x + y. ":          "",
		"We have:\n$$\na = b.\n":                "",
		"1.":                                    "",
		"```\na\n":                              "",
		"Look:\n```\na. B\nc\n  d":              "```\na. B\nc\n  /word",
		"| a. | b":                              "",
		"A | B\n-|-\na | b\nI would rather ask": "I would rather /word",
		"| a. | b and several others.":          "| a. | b and several /word",
	} {
		s := NewSegmenter(aaep.BoundarySentence, 0)
		s.Write(text)
		s.Pause()
		if got := formatPieces(s.Yield()); got != want {
			t.Errorf("%q: Yield() = %q, want %q", text, got, want)
		}
	}
}
