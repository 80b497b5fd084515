package coalesce

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is what a character is to its neighbours. The classes are those of UAX #29's Sentence_Break,
// divided where speech needs it.
type class uint8

const (
	clOther      class = iota // symbols, emoji
	clUpper                   // capitals
	clLower                   // small letters
	clLetter                  // letters of scripts without case
	clWide                    // ideographs and kana
	clDigit                   // decimal digits
	clSpace                   // white space that ends no line
	clLine                    // line ends
	clStop                    // full stops that need white space
	clBang                    // ! and its kin
	clAsk                     // ?
	clFull                    // final marks that need no white space
	clEllipsis                // …
	clOpen                    // opening brackets
	clOpenQuote               // “ « ‘, which close in some languages
	clClose                   // closing brackets
	clCloseQuote              // ” » ’, which open in some languages
	clQuote                   // straight quotes
	clEmphasis                // Markdown emphasis
	clClause                  // , ; :
	clFullClause              // 、 and others that need no white space
	clContinue                // dashes
	clExtend                  // combining marks and joiners
	clFormat                  // other invisible characters, direction marks among them
	clWordSep                 // ፡ and ་, which stand between words instead of a space
	clEnd                     // the end of the text
	classes
)

var (
	isLetter = [classes]bool{clUpper: true, clLower: true, clLetter: true, clWide: true}
	isMark   = [classes]bool{clStop: true, clBang: true, clAsk: true, clFull: true, clEllipsis: true}
	// opener may begin a sentence, but only what follows says whether it does.
	opener = [classes]bool{clOpen: true, clOpenQuote: true, clCloseQuote: true, clQuote: true, clEmphasis: true, clFormat: true}
	// quotish is an opener that may as well close.
	quotish = [classes]bool{clCloseQuote: true, clQuote: true, clOpenQuote: true}
	// attached never begins a sentence or a word.
	attached = [classes]bool{
		clStop: true, clBang: true, clAsk: true, clFull: true, clEllipsis: true, clClause: true, clFullClause: true,
		clContinue: true, clClose: true, clExtend: true,
	}
	// closing may stand last in a complete sentence, and composes with nothing.
	closing = [classes]bool{
		clStop: true, clBang: true, clAsk: true, clFull: true, clEllipsis: true, clClose: true, clCloseQuote: true,
		clQuote: true, clEmphasis: true, clOpenQuote: true, clFormat: true, clSpace: true, clLine: true,
	}
)

var asciiClass = func() (t [utf8.RuneSelf]class) {
	for r := range t {
		t[r] = slowClass(rune(r))
	}
	return t
}()

func classOf(r rune) class {
	if r < utf8.RuneSelf {
		return asciiClass[r]
	}
	return slowClass(r)
}

func slowClass(r rune) class {
	switch {
	case wideScript(r) != 0:
		return clWide
	case r == 0xFF9E, r == 0xFF9F: // the halfwidth voiced sound marks: letters that extend
		return clExtend
	case unicode.IsLetter(r):
		switch {
		case unicode.IsLower(r):
			return clLower
		case unicode.IsUpper(r), unicode.IsTitle(r):
			return clUpper
		}
		return clLetter
	case unicode.IsMark(r), r == '\u200C', r == '\u200D', 0x1F3FB <= r && r <= 0x1F3FF:
		return clExtend
	case unicode.IsDigit(r):
		return clDigit
	}
	switch r {
	case '\n', '\r', '\u0085', '\u2028', '\u2029':
		return clLine
	case '.', '\u2024', '\uFE52':
		return clStop
	case '!', '‼', '⁉', '‽', '︕', '﹗':
		return clBang
	case '?', '⁇', '⁈', '︖', '﹖':
		return clAsk
	case '…', '⋯':
		return clEllipsis
	case '"', '\'':
		return clQuote
	case '*', '_', '~':
		return clEmphasis
	case ',', ';', ':', '\u037e': // the Greek question mark is a semicolon in NFC
		return clClause
	case '、', '，', '；', '：', '､', '،', '؛', '፣', '፤', '፥', '፦', '︐', '︑', '︓', '︔':
		return clFullClause
	case '፡', '་':
		return clWordSep
	case '។', '៕': // Khmer, a Sentence_Terminal since Unicode 16
		return clFull
	}
	switch {
	case unicode.IsSpace(r):
		return clSpace
	case unicode.Is(unicode.STerm, r):
		return clFull
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return clOther
	case unicode.Is(unicode.Cf, r):
		return clFormat
	case unicode.Is(unicode.Ps, r):
		return clOpen
	case unicode.Is(unicode.Pe, r):
		return clClose
	case unicode.Is(unicode.Pi, r):
		return clOpenQuote
	case unicode.Is(unicode.Pf, r):
		return clCloseQuote
	case unicode.Is(unicode.Pd, r):
		return clContinue
	}
	return clOther
}

// The scripts of clWide.
const (
	han = 1 + iota
	hiragana
	katakana
	sameKana // the length mark, which goes on with either kana
)

func wideScript(r rune) int {
	switch {
	case r < 0x3005:
		return 0
	case r == 0x3005, r == 0x3007, 0x3400 <= r && r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF,
		0xF900 <= r && r <= 0xFAFF, 0x20000 <= r && r <= 0x323AF:
		return han
	case r == 0x30FC, r == 0xFF70:
		return sameKana
	case 0x3041 <= r && r <= 0x3096, r == 0x309D, r == 0x309E, r == 0x309F:
		return hiragana
	case 0x30A1 <= r && r <= 0x30FA, r == 0x30FD, r == 0x30FE, r == 0x30FF, 0x31F0 <= r && r <= 0x31FF, 0xFF66 <= r && r <= 0xFF9D:
		return katakana
	}
	return 0
}

// abbr is what a word with a full stop behind it is.
type abbr uint8

const (
	abUnknown abbr = iota
	abNone         // an ordinary word
	abNever        // never ends a sentence
	abNumber       // goes before a number; ends a sentence otherwise
	abMaybe        // ends a sentence if a usual first word follows
	abInitial      // a person's initial, as abMaybe
	abMarker       // the marker of a list item
)

// abbreviations is deliberately short: whole words, as they are written, in English and in what many
// languages share. Words that are also ordinary ones are left out.
var abbreviations = table(map[abbr]string{
	abNever: "Mr Mrs Ms Mx Dr Prof Rev Hon Gen Col Capt Lt Sgt Gov Sen Rep Pres St Mt Messrs Mme Mlle Sr Sra " +
		"e.g E.g i.e I.e cf Cf viz vs approx ca resp incl z Bw np dott sig डॉ",
	abNumber: "No no Nos nos Nr nr p pp Fig fig Figs figs Sec sec Eq eq Vol vol Ch Art art Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec ext",
	abMaybe:  "etc al Inc Co Corp Ltd Jr dept est Ph.D M.Sc B.Sc",
})

// starters are the words by which a sentence behind "U.S." or "etc." is known.
var starters = func() map[string]bool {
	t := map[string]bool{}
	for w := range strings.FieldsSeq("I It He She We They You The This That These Those There Then And But So If When While My Your His Her " +
		"Our Their How What Where Why Who Which Is Are Do Does Did Can Could Would Will Please However Here For To In On At As After " +
		"Before Now Next No Not Yes Let") {
		t[w] = true
	}
	return t
}()

func table(lists map[abbr]string) map[string]abbr {
	t := map[string]abbr{}
	for a, list := range lists {
		for w := range strings.FieldsSeq(list) {
			t[w] = a
		}
	}
	return t
}

// abbreviation classifies the word before a full stop; first: the sentence has no other word yet.
func abbreviation(word string, first bool) abbr {
	if a, ok := abbreviations[word]; ok {
		return a
	}
	r, size := utf8.DecodeRuneInString(word)
	switch {
	case first && len(word) <= 3 && strings.Trim(word, "0123456789") == "":
		return abMarker // "1." begins a list item
	case first && len(word) <= 4 && strings.Trim(word, "ivx") == "":
		return abMarker
	case strings.Contains(word, "."):
		for part := range strings.SplitSeq(word, ".") {
			if utf8.RuneCountInString(part) > 1 {
				return abNone
			}
		}
		return abMaybe // U.S, a.m
	case size < len(word) || !unicode.IsLetter(r):
		return abNone
	case first && r < utf8.RuneSelf:
		return abMarker // "a." does too
	case unicode.IsUpper(r):
		return abInitial
	case !unicode.IsLower(r) && wideScript(r) == 0 && !unicode.Is(unicode.Ethiopic, r):
		return abNever // an initial in a script without capitals
	}
	return abNone // a small letter is a word in Yoruba, Igbo and Hausa
}
