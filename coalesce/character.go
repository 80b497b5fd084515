package coalesce

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// class is what a character is to the rules of boundaries. The classes are those of Sentence_Break
// in UAX #29, divided further where speech needs it.
type class uint8

const (
	clOther      class = iota // symbols
	clEmoji                   // pictures
	clTag                     // ` $ { < \ # | and others by which Markdown, HTML or JSON may begin
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
	clNote                    // raised digits, which refer to a note
	clExtend                  // combining marks and joiners
	clFormat                  // other invisible characters, direction marks among them
	clWordSep                 // ፡ and ་, which stand between words instead of a space
	clEnd                     // the end of the text
	classes
)

// Sets of classes, indexed by class.
var (
	isLetter = [classes]bool{clUpper: true, clLower: true, clLetter: true, clWide: true}
	// visible is all but white space.
	visible = func() (t [classes]bool) {
		for c := range t {
			t[c] = class(c) != clSpace && class(c) != clLine
		}
		return t
	}()
	// isMark are the marks that may end a sentence.
	isMark = [classes]bool{clStop: true, clBang: true, clAsk: true, clFull: true, clEllipsis: true}
	// opener may begin a sentence; only what follows it tells.
	opener = [classes]bool{
		clOpen: true, clOpenQuote: true, clCloseQuote: true, clQuote: true, clEmphasis: true, clFormat: true,
	}
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
	// settled composes with nothing, so the character is known before what follows it.
	settled = func() [classes]bool {
		t := closing
		t[clOpen], t[clDigit], t[clFullClause] = true, true, true
		return t
	}()
)

// characterTable has the answers of computeClass and computeIsNormal for the alphabets of Europe
// and the Near East, the Devanagari and Ethiopic scripts and the common marks, made when the
// program starts. classOf and isNormal look there first.
var characterTable = func() (t [len(tableBlocks) * tableBlockSize]struct {
	class  class
	simple bool
}) {
	for block, start := range tableBlocks {
		for i := range tableBlockSize {
			r := rune(start*tableBlockSize + i)
			t[block*tableBlockSize+i].class = computeClass(r)
			t[block*tableBlockSize+i].simple = computeIsNormal(r)
		}
	}
	return t
}()

// tableBlockSize is how many code points a block of characterTable has.
const tableBlockSize = 128

// tableBlocks are the blocks in characterTable, by their number in Unicode.
var tableBlocks = [...]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 18, 36, 37, 38, 60, 61, 64, 96, 97}

// tableIndex has, by the number of a block, its place in characterTable plus one, or 0 if it is not
// there.
var tableIndex = func() (t [128]uint8) {
	for i, start := range tableBlocks {
		t[start] = uint8(i) + 1
	}
	return t
}()

// classOf returns the class of a character: from a table, or else from computeClass.
func classOf(r rune) class {
	if uint32(r) < 128*tableBlockSize {
		if i := tableIndex[r/tableBlockSize]; i != 0 {
			return characterTable[int(i-1)*tableBlockSize+int(r%tableBlockSize)].class
		}
	}
	if 0x4E00 <= r && r <= 0x9FFF { // common ideographs
		return clWide
	}
	if 0xAC00 <= r && r <= 0xD7A3 { // Hangul syllables
		return clLetter
	}
	return computeClass(r)
}

// isNormal reports whether r is in NFC and joins with nothing before it.
func isNormal(r rune) bool {
	if uint32(r) < 128*tableBlockSize {
		if i := tableIndex[r/tableBlockSize]; i != 0 {
			return characterTable[int(i-1)*tableBlockSize+int(r%tableBlockSize)].simple
		}
	}
	return 0x4E00 <= r && r <= 0x9FFF || 0xAC00 <= r && r <= 0xD7A3
}

// computeIsNormal computes from the tables of package norm what isNormal returns. characterTable
// is filled by it when the program starts; characters outside of that do not come here.
func computeIsNormal(r rune) bool {
	var b [utf8.UTFMax]byte
	p := norm.NFC.Properties(b[:utf8.EncodeRune(b[:], r)])
	return p.BoundaryBefore() && p.CCC() == 0 && norm.NFC.IsNormal(b[:utf8.RuneLen(r)])
}

// computeClass computes the class of a character from the tables of package unicode: letters, marks
// and digits first, then the characters that have a class of their own, then the other categories.
// Where two cases fit, the first counts.
func computeClass(r rune) class {
	if c := letterClass(r); c != clOther {
		return c
	}
	if c := signClass(r); c != clOther {
		return c
	}
	return categoryClass(r)
}

// letterClass returns the class of a letter, a mark or a digit, and clOther for all else.
func letterClass(r rune) class {
	switch {
	case wideScript(r) != 0:
		return clWide
	case r == 0xFF9E, r == 0xFF9F: // the halfwidth voiced sound marks are letters that extend
		return clExtend
	case 0x10D0 <= r && r <= 0x10FF: // the capitals of Georgian begin no sentence
		return clLetter
	case r == 'ℹ':
		return clEmoji
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
	return clOther
}

// signClass returns the class of a character that is not classified by its category, such as a full
// stop, a comma or a line end, and clOther for all others.
func signClass(r rune) class {
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
	case '、', '，', '；', '：', '､', '၊', '،', '؛', '፣', '፤', '፥', '፦', '︐', '︑', '︓', '︔':
		return clFullClause
	case '`', '\u1FEF', '$', '{', '<', '≮', '\\', '#', '|': // U+1FEF and U+226E for the sake of NFC
		return clTag
	case '¹', '²', '³', '⁰', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹', '†', '‡':
		return clNote
	case '፡', '་':
		return clWordSep
	case '។', '៕', // Khmer, a Sentence_Terminal since Unicode 16
		'།', '༎': // Tibetan, which may end less, but nothing else ends there
		return clFull
	}
	return clOther
}

// categoryClass returns the class of a character by its category in Unicode: white space, brackets,
// quotation marks, dashes, pictures, and clOther for the rest.
func categoryClass(r rune) class {
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
	case r >= 0x1F000, 0x2600 <= r && r <= 0x27BF, 0x2B05 <= r && r <= 0x2B55, 0x231A <= r && r <= 0x23FF:
		return clEmoji
	}
	return clOther
}

// The scripts of clWide, as wideScript returns them.
const (
	han = 1 + iota
	hiragana
	katakana
	sameKana // the length mark goes on with either kana
)

// wideScript returns which script of ideographs or kana r belongs to: han, hiragana, katakana,
// sameKana for the marks of both kana, or 0 for any other character.
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
	case 0x30A1 <= r && r <= 0x30FA, r == 0x30FD, r == 0x30FE, r == 0x30FF, 0x31F0 <= r && r <= 0x31FF,
		0xFF66 <= r && r <= 0xFF9D:
		return katakana
	}
	return 0
}

// scriptOf returns a code point that identifies the script of the letter r: it is equal for all
// letters of a script. Scripts are distinguished only as far as the detection of languages needs
// it.
func scriptOf(r rune) rune {
	switch {
	case r < 0x370, 0x1E00 <= r && r < 0x1F00:
		return 'a'
	case r < 0x400, 0x1F00 <= r && r < 0x2000:
		return 'α'
	case r < 0x530:
		return 'а'
	case r < 0x590:
		return 'ա'
	case r < 0x600:
		return 'א'
	case r < 0x780:
		return 'ا'
	case 0x1200 <= r && r < 0x13A0:
		return 'ሀ'
	case 0xAC00 <= r && r < 0xD7B0:
		return '가'
	case wideScript(r) != 0:
		return '一'
	}
	return r &^ 0x7F // the scripts of India and its neighbours have blocks of 128
}
