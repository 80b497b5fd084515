package coalesce

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// abbreviation is the kind of a word with a full stop behind it: it says when the full stop ends a
// sentence. Where files of two languages disagree about a word, the greater kind counts, which ends
// a sentence sooner. endsAfterStop decides by it.
type abbreviation uint8

const (
	notAbbreviation  abbreviation = iota // an ordinary word
	abbrNeverEnds                        // never ends a sentence
	abbrBeforeNumber                     // ends a sentence but before a number or numeral
	abbrBeforeDigit                      // is an abbreviation before digits (tbl. 4), and else a word
	abbrMayEnd                           // ends a sentence if a usual first word follows
	// abbrEndsName is as abbrMayEnd, and ends a long sentence before a capital that a small word
	// follows.
	abbrEndsName
	abbrTimeOfDay  // as abbrMayEnd, and ends a long sentence before most capitals
	abbrEndsList   // ends a sentence before any capital
	abbrInitial    // a person's initial, which ends a sentence as abbrMayEnd does
	abbrOrdinal    // a number that may mean "third"
	abbrItemMarker // the marker of a list item
)

// hasOrdinals reports whether a number with a full stop may mean "third" in the language.
func (l *rules) hasOrdinals() bool { return len(l.words[ordinalWords]) > 0 || l.yearFirst }

// classifyWord returns the kind of the word before a full stop: by the files of the languages, or
// if they do not have the word, by its letters. first says that the sentence has no other word.
func (l *rules) classifyWord(word []byte, first bool) abbreviation {
	if a, ok := l.lookUpWord(word, first); ok {
		return a
	}
	return l.classifyShape(word, first)
}

// lookUpWord returns the kind of a word that the files of the languages have, also where the word
// stands behind an apostrophe, is joined to "and", or begins the sentence with a capital and is
// small in the files. It returns false if they have no such word.
func (l *rules) lookUpWord(word []byte, first bool) (abbreviation, bool) {
	if a, ok := l.abbreviations[string(word)]; ok {
		return a, true
	}
	if i := bytes.LastIndexAny(word, "'’"); i >= 0 { // l'art. 12
		_, size := utf8.DecodeRune(word[i:])
		if a, ok := l.abbreviations[string(word[i+size:])]; ok && len(word) > i+size+1 {
			return a, true
		}
	}
	r, size := utf8.DecodeRune(word)
	if a, ok := l.abbreviations[string(word[size:])]; ok && r == 'و' {
		return a, true // Arabic joins "and" to the word: ود. ليلى
	}
	if first && classOf(r) == clUpper && size < len(word) { // "Art. 3 says so."
		small := utf8.AppendRune(make([]byte, 0, len(wordBuffer{}.b)), unicode.ToLower(r))
		switch a := l.abbreviations[string(append(small, word[size:]...))]; a {
		case abbrNeverEnds:
			return abbrMayEnd, true
		case abbrBeforeNumber:
			return a, true
		case abbrMayEnd:
			if _, ok := isAllConsonants(word); !ok {
				return abbrBeforeDigit, true
			}
		}
	}
	return notAbbreviation, false
}

// classifyShape returns the kind of a word that the files do not have, by its letters, digits and
// full stops. A word with any other character is no abbreviation. first says that the word begins a
// line or sentence, where "1." and "a." mark an item. Where the language is unknown, words that
// abbreviate in other languages count too.
func (l *rules) classifyShape(word []byte, first bool) abbreviation {
	r, size := utf8.DecodeRune(word)
	c := classOf(r)
	shape, ok := shapeOf(word)
	if !ok {
		return notAbbreviation
	}
	switch digits, letters, dots := shape.digits, shape.letters, shape.dots; {
	case letters == 0 && dots == 0 && digits == 4 && l.yearFirst:
		return abbrOrdinal
	case letters == 0 && dots == 0 && digits <= 3:
		if first {
			return abbrItemMarker // "1." begins a list item
		}
		return abbrOrdinal
	case dots > 0 && digits == 0 && shape.longestPart == 1 && (c == clUpper || c == clLower):
		return abbrMayEnd // U.S, a.k.a
	case dots > 0 && digits == 0 && shape.longestPart <= 2 && c == clLetter:
		return abbrNeverEnds // พล.ต.อ
	case dots > 0 && digits == 0:
		return l.classifyCompound(word)
	case dots > 0 || digits > 0:
		return notAbbreviation
	case first && len(word) <= 4 && strings.Trim(string(word), "ivx") == "":
		return abbrItemMarker
	case len(word) > 1 && strings.Trim(string(word), "IVXLC") == "":
		return abbrOrdinal
	case letters > 1:
		if l.known {
			switch l.set.unknown.abbreviations[string(word)] {
			case abbrBeforeNumber: // it is one in another language, as in "See Abs. 3"
				return abbrBeforeDigit
			case abbrNeverEnds:
				return abbrMayEnd
			}
		}
		return notAbbreviation
	case first && size == 1:
		return abbrItemMarker // and so does "a."
	case c == clUpper:
		return abbrInitial
	case c == clLower:
		if l.smallLetters {
			return abbrNeverEnds
		}
		return notAbbreviation // Yoruba, Igbo and Hausa have words of one letter
	case wideScript(r) == 0 && !unicode.Is(unicode.Ethiopic, r) && !unicode.Is(unicode.Hangul, r):
		return abbrNeverEnds // it is an initial in a script without capitals
	}
	return notAbbreviation
}

// wordShape is what classifyShape counts of a word.
type wordShape struct {
	digits, letters, dots int
	longestPart           int // the most letters between two full stops
}

// shapeOf returns the shape of a word of letters, digits and full stops, and of hyphens behind full
// stops. ok is false for a word with any other character.
func shapeOf(word []byte) (shape wordShape, ok bool) {
	part := 0 // letters since the last full stop
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		i += size
		switch {
		case unicode.IsDigit(r):
			shape.digits++
		case unicode.IsLetter(r):
			shape.letters++
			part++
		case r == '.':
			shape.dots++
			part = 0
		case unicode.IsMark(r):
		case (r == '-' || r == '–') && part == 0 && shape.dots > 0: // J.-P. Sartre, Mon.–Fri.
		default:
			return shape, false
		}
		shape.longestPart = max(shape.longestPart, part)
	}
	return shape, true
}

// classifyCompound returns the kind of a word of several parts with full stops between: PGS.TS,
// D.Lgs, Dipl.-Kfm. A compound whose parts all never end a sentence never ends one; one of capitals
// with a single letter among them may; any other is no abbreviation.
func (l *rules) classifyCompound(word []byte) abbreviation {
	if i := bytes.LastIndex(word, []byte(".–")); i > 0 { // Jan.–Feb. 2026
		a, ok := l.abbreviations[string(word[:i])]
		if last, both := l.abbreviations[string(word[i+len(".–"):])]; ok && both {
			return max(a, last)
		}
	}
	allNeverEnd, allCapitals, hasLetter := true, true, false // hasLetter: a part is a single letter
	for part := range bytes.SplitSeq(word, []byte(".")) {
		r, size := utf8.DecodeRune(part)
		behind, hyphen := bytes.CutPrefix(part, []byte("-")) // Dipl.-Kfm
		allNeverEnd = allNeverEnd && (hyphen && len(behind) > 0 || l.abbreviations[string(part)] == abbrNeverEnds)
		allCapitals = allCapitals && unicode.IsUpper(r) && utf8.RuneCount(part) <= 4
		hasLetter = hasLetter || size == len(part)
	}
	switch {
	case allNeverEnd:
		return abbrNeverEnds
	case allCapitals && hasLetter:
		return abbrMayEnd
	}
	return notAbbreviation
}

// isItemLabel reports whether a word at the beginning of a line is the label of an item: 2.1, Q1,
// II, §3.
func isItemLabel(word []byte) bool {
	if number, ok := bytes.CutPrefix(word, []byte("§")); ok {
		return len(bytes.TrimLeft(number, "0123456789")) <= 1 // §3a
	}
	dots, digits := 0, 0 // digits since the last full stop
	rest := word         // without the capital that it begins with
	for i, b := range word {
		switch {
		case '0' <= b && b <= '9':
			if digits++; digits > 2 {
				return false
			}
		case b == '.' && digits > 0:
			dots, digits = dots+1, 0
		case i == 0 && 'A' <= b && b <= 'Z':
			rest = word[1:]
		default:
			return len(word) > 1 && len(bytes.Trim(word, "IVXLC")) == 0 // a Roman numeral
		}
	}
	return digits > 0 && (dots > 0 || len(rest) < len(word))
}

// isAllConsonants reports whether a word of Latin or Cyrillic letters has two to four letters and
// no vowel, such as tbl and Hr, and is no acronym: such a word is short for something. capital says
// that it begins with a capital.
func isAllConsonants(word []byte) (capital, ok bool) {
	n := 0
	for i, r := range string(word) {
		small := unicode.ToLower(r)
		inside := i > 0 && i+utf8.RuneLen(r) < len(word)
		switch {
		case (small < 'a' || small > 'z') && !unicode.Is(unicode.Cyrillic, r),
			r != small && i > 0, // a capital inside: an acronym
			strings.ContainsRune("aeiouwyаеёиоуыэюяіїє", small),
			inside && strings.ContainsRune("rlрл", r): // vlk and prst are words of Slavic languages
			return false, false
		}
		n++
		capital = capital || unicode.IsUpper(r)
	}
	return capital, 2 <= n && n <= 4
}

// classifyPair returns the kind of an abbreviation of two words, such as "z. B". It returns false
// if the two words are none. The map has them joined by an underscore.
func (l *rules) classifyPair(first, second []byte) (abbreviation, bool) {
	if len(first) == 0 || len(first)+len(second) > longestWord {
		return 0, false
	}
	var key [longestWord + 1]byte
	n := copy(key[:], first)
	key[n] = '_'
	n += 1 + copy(key[n+1:], second)
	a, ok := l.abbreviations[string(key[:n])]
	return a, ok
}
