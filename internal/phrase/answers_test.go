package phrase

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever two languages are taken at once, no word for a yes in one is a word for a no in the
// other.
func TestNoYesIsANo(t *testing.T) {
	for _, a := range Languages() {
		for _, b := range Languages() {
			for _, yes := range catalogueFor(a).yes {
				if got, ok := Answer(yes, a, b); !got || !ok {
					t.Errorf("%q of %s, where %s is taken too: %v, %v; want a yes", yes, a, b, got, ok)
				}
				if got, ok := Answer(yes, b, a); !got || !ok {
					t.Errorf("%q of %s, where %s is taken before: %v, %v; want a yes", yes, a, b, got, ok)
				}
				for _, no := range catalogueFor(b).no {
					if foldAccents(yes) == foldAccents(no) {
						t.Errorf("%q is a yes in %s, and %q is a no in %s", yes, a, no, b)
					}
				}
			}
			for _, no := range catalogueFor(b).no {
				if got, ok := Answer(no, a, b); got || !ok {
					t.Errorf("%q of %s, where %s is taken too: %v, %v; want a no", no, b, a, got, ok)
				}
			}
		}
	}
}

func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		line, tags string
		yes, ok    bool
	}{
		{"y", "", true, true}, {" YES ", "es", true, true}, {"n", "ar", false, true}, {"No", "fr-CA", false, true},
		{"s", "es-MX", true, true}, {"Sí", "es", true, true}, {"si\u0301", "es", true, true}, {"SI", "es", true, true},
		{"j", "de", true, true}, {"Nein", "de-AT", false, true}, {"o", "fr", true, true}, {"ن", "ar", true, true}, {"لا", "ar-EG", false, true},
		{"Bẹ́ẹ̀ni", "yo", true, true}, {"rara", "yo", false, true}, {"ja", "es de", true, true},
		{"Bee ni", "yo", true, true}, {"bẹẹkọ", "yo", false, true}, {"bee ko", "yo", false, true}, {"نَعَم", "ar", true, true}, {"لأ", "ar", false, true},
		{"Yes.", "", true, true}, {"Sí.", "es", true, true}, {"Non.", "fr", false, true}, // dictated

		{"s", "", false, false}, {"s", "de", false, false}, {"o", "es", false, false}, {"ja", "fr", false, false}, // of a language that this user does not speak
		{"sip", "es", false, false}, {"se", "es", false, false}, {"yep", "es", false, false}, {"j.", "de", false, false}, {"yes?", "", false, false}, {"yes..", "", false, false}, // nothing is guessed
		{"b", "yo", false, false}, {"bẹ́ẹ̀", "yo", false, false}, {"ö", "fr", false, false}, {"ñ", "es", false, false}, {".", "es", false, false},
		{"s s", "es", false, false}, {"", "es", false, false}, {"ſ", "de", false, false}, {"s", "xx", false, false},
	} {
		if yes, ok := Answer(tt.line, strings.Fields(tt.tags)...); yes != tt.yes || ok != tt.ok {
			t.Errorf("Answer(%q, %s) = %v, %v; want %v, %v", tt.line, tt.tags, yes, ok, tt.yes, tt.ok)
		}
	}
}

// What a sentence offers is what is taken, in that language alone.
func TestOffered(t *testing.T) {
	for _, c := range catalogues() {
		yes, no := c.yes[0], c.no[0]
		for _, id := range []ID{Decide, YesOrNo} {
			if words := strings.Fields(c.text(id)); !slices.Contains(words, yes) || !slices.Contains(words, no) {
				t.Errorf("%s: %q must offer %q and %q as words of their own", c.tag, c.text(id), yes, no)
			}
		}
		if !slices.Contains(strings.Fields(c.text(DecideAgain)), yes) {
			t.Errorf("%s: %q must offer %q", c.tag, c.text(DecideAgain), yes)
		}
		if got, ok := Answer(yes, c.tag); !got || !ok {
			t.Errorf("%s offers %q, which is not taken for a yes", c.tag, yes)
		}
		if got, ok := Answer(no, c.tag); got || !ok {
			t.Errorf("%s offers %q, which is not taken for a no", c.tag, no)
		}
	}
}

// A word by which an answer is told is one to a question whether something shall be done, and to no
// other.
func TestDecision(t *testing.T) {
	for _, c := range catalogues() {
		for id, want := range map[ID]bool{SaidAccept: true, SaidYes: true, SaidReject: false, SaidNo: false} {
			word, others := c.text(id), Languages()
			if got, ok := Decision(word, c.tag); got != want || !ok {
				t.Errorf("Decision(%q, %s) = %v, %v; want %v", word, c.tag, got, ok, want)
			}
			if got, ok := Decision(word, append(others, c.tag)...); got != want || !ok {
				t.Errorf("Decision(%q) = %v, %v with every language; want %v", word, got, ok, want)
			}
			if _, ok := Answer(word, c.tag); ok != (id == SaidYes || id == SaidNo) {
				t.Errorf("Answer(%q, %s) is one: %v", word, c.tag, ok)
			}
		}
	}
	if _, ok := Decision("accepter", "es"); ok {
		t.Error("a word of a language that nobody speaks here is taken")
	}
}

// The words that can be a yes are enough not to be guessed, unlike each other also without accents,
// and no answers in any language. None begins with the letter that is a yes or a no there or in
// English: who types the first letter alone would mean both. The sentence that offers one has it in
// place of the usual yes, and the no as ever.
func TestAcceptWords(t *testing.T) {
	for _, tag := range Languages() {
		list, seen := Words(tag), map[string]bool{}
		if len(list) < 40 {
			t.Errorf("%s has %d words", tag, len(list))
		}
		for _, word := range list {
			if seen[foldAccents(word)] {
				t.Errorf("%s has %s twice", tag, word)
			}
			seen[foldAccents(word)] = true
			if _, ok := Decision(word, Languages()...); ok {
				t.Errorf("%s of %s is an answer", word, tag)
			}
			first, _ := utf8.DecodeRuneInString(foldAccents(word))
			if _, ok := Answer(string(first), tag); ok {
				t.Errorf("%s of %s begins with an answer", word, tag)
			}
			says := strings.Fields(DecideBy(tag, word))
			if !slices.Contains(says, word) || slices.Contains(says, catalogueFor(tag).yes[0]) || !slices.Contains(says, catalogueFor(tag).no[0]) || !Is(" "+strings.ToUpper(word)+". ", word) {
				t.Errorf("%s: %q", tag, says)
			}
		}
	}
	if !slices.Equal(Words("xx"), Words("en")) || DecideBy("xx", "moon") != DecideBy("en-GB", "moon") {
		t.Error("of an unknown language it is not English")
	}
}
