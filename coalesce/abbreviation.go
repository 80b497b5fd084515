package coalesce

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// abbreviation is what a word with a full stop behind it is. Of two kinds, the greater ends a
// sentence sooner.
type abbreviation uint8

const (
	notAbbreviation  abbreviation = iota // an ordinary word
	abbrNeverEnds                        // never ends a sentence
	abbrBeforeNumber                     // ends none before a number or numeral
	abbrBeforeDigit                      // is an abbreviation before digits (tbl. 4), and else a word
	abbrMayEnd                           // ends one if a usual first word follows
	abbrEndsName                         // as abbrMayEnd, and in a long sentence before a capital that a small word follows
	abbrTimeOfDay                        // as abbrMayEnd, and in a long sentence before other capitals too
	abbrEndsList                         // ends one before any capital
	abbrInitial                          // a person's initial, which ends one as abbrMayEnd does
	abbrOrdinal                          // a number that may mean "third"
	abbrItemMarker                       // the marker of a list item
)

// hasOrdinals reports whether a number with a full stop may mean "third".
func (l *rules) hasOrdinals() bool { return len(l.words[ordinalWords]) > 0 || l.yearFirst }

// classifyWord tells what the word before a full stop is. First says that the sentence has no other
// word.
func (l *rules) classifyWord(word []byte, first bool) abbreviation {
	if a, ok := l.lookUpWord(word, first); ok {
		return a
	}
	return l.classifyShape(word, first)
}

// lookUpWord tells what a word is that the files of the languages have, also behind an apostrophe,
// joined to "and", or with a capital where they have it small. It returns false if they have no
// such word.
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
	if first && classOf(r) == clUpper { // it may be an abbreviation that is small elsewhere: "Art. 3 says so."
		small := utf8.AppendRune(make([]byte, 0, len(wordBuffer{}.b)), unicode.ToLower(r))
		if a := l.abbreviations[string(append(small, word[size:]...))]; a == abbrNeverEnds && size < len(word) {
			return abbrMayEnd, true
		} else if a == abbrBeforeNumber && size < len(word) {
			return a, true
		} else if _, ok := isAllConsonants(word); a == abbrMayEnd && size < len(word) && !ok {
			return abbrBeforeDigit, true
		}
	}
	return notAbbreviation, false
}

// classifyShape tells what a word is by its letters, digits and full stops alone.
func (l *rules) classifyShape(word []byte, first bool) abbreviation {
	r, size := utf8.DecodeRune(word)
	c := classOf(r)
	digits, letters, dots, part, long := 0, 0, 0, 0, 0
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		i += size
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
			part++
		case r == '.':
			dots++
			part = 0
		case unicode.IsMark(r):
		case (r == '-' || r == '–') && part == 0 && dots > 0: // J.-P. Sartre, Mon.–Fri.
		default:
			return notAbbreviation
		}
		long = max(long, part)
	}
	switch {
	case letters == 0 && dots == 0 && digits == 4 && l.yearFirst:
		return abbrOrdinal
	case letters == 0 && dots == 0 && digits <= 3:
		if first {
			return abbrItemMarker // "1." begins a list item
		}
		return abbrOrdinal
	case dots > 0 && digits == 0 && long == 1 && (c == clUpper || c == clLower):
		return abbrMayEnd // U.S, a.k.a
	case dots > 0 && digits == 0 && long <= 2 && c == clLetter:
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

// classifyCompound tells what a word of several parts with full stops is: PGS.TS, D.Lgs, Dipl.-Kfm.
func (l *rules) classifyCompound(word []byte) abbreviation {
	before, capitals, short := true, true, false
	if i := bytes.LastIndex(word, []byte(".–")); i > 0 { // Jan.–Feb. 2026
		a, ok := l.abbreviations[string(word[:i])]
		if last, both := l.abbreviations[string(word[i+len(".–"):])]; ok && both {
			return max(a, last)
		}
	}
	for part := range bytes.SplitSeq(word, []byte(".")) {
		r, size := utf8.DecodeRune(part)
		behind, hyphen := bytes.CutPrefix(part, []byte("-")) // Dipl.-Kfm
		before = before && (hyphen && len(behind) > 0 || l.abbreviations[string(part)] == abbrNeverEnds)
		capitals = capitals && unicode.IsUpper(r) && utf8.RuneCount(part) <= 4
		short = short || size == len(part)
	}
	switch {
	case before:
		return abbrNeverEnds
	case capitals && short:
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
	dots, digits, rest := 0, 0, word
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
			return len(word) > 1 && len(bytes.Trim(word, "IVXLC")) == 0
		}
	}
	return digits > 0 && (dots > 0 || len(rest) < len(word))
}

// isAllConsonants reports whether a word has two to four letters and no vowel, such as tbl and Hr,
// and is no acronym. Such a word is short for something.
func isAllConsonants(word []byte) (capital, ok bool) {
	n := 0
	for i, r := range string(word) {
		small := unicode.ToLower(r)
		switch inside := i > 0 && i+utf8.RuneLen(r) < len(word); {
		case (small < 'a' || small > 'z') && !unicode.Is(unicode.Cyrillic, r), r != small && i > 0,
			strings.ContainsRune("aeiouwyаеёиоуыэюяіїє", small),
			inside && strings.ContainsRune("rlрл", r): // vlk and prst are words of Slavic languages
			return false, false
		}
		n++
		capital = capital || unicode.IsUpper(r)
	}
	return capital, 2 <= n && n <= 4
}

// classifyPair tells what an abbreviation of two parts is, such as "z. B". It returns false if the
// two words are none.
func (l *rules) classifyPair(first, second []byte) (abbreviation, bool) {
	if len(first) == 0 || len(first)+len(second) > 24 {
		return 0, false
	}
	var key [25]byte
	n := copy(key[:], first)
	key[n] = '_'
	n += 1 + copy(key[n+1:], second)
	a, ok := l.abbreviations[string(key[:n])]
	return a, ok
}
