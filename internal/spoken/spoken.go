// Package spoken knows how long a text takes to be heard, in every script. The terminal, the
// presenters, the web page and the agent's check of its own time limits share it, so that none of
// them takes a question for heard before a voice can have said it. It never asks for the language
// of the text, which is often unknown: the script says enough. That of the voice counts where it
// has no words for a script, and names each letter.
//
// The unit is the word of a pace in words a minute, which is about four and a half letters of
// English.
//
// The costs come from eSpeak NG 1.51 at 170 words a minute: of 1,089 interface sentences in 79
// languages, the ones that take longest decide the cost of their script. Scripts for which it has
// no voice cost what the most similar script does. The tests of this package measure again, and a
// test of the page compares it with Table, character by character.
package spoken

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/language"
)

// A Row says what each of some characters costs, in hundredths of a word.
type Row struct {
	Cost int
	// Of lists general categories, scripts and ranges of code points in hexadecimal; the first two
	// as package unicode and regular expressions name them.
	Of string
	// Kind is "attached" for what belongs to the character before it, "alphabet" for letters of
	// which a voice spells what is no word, "script" for other letters, and empty for anything
	// else.
	Kind string
}

// Table is read from its first row: the first row that lists a character decides, and the last
// where none does.
var Table = []Row{
	{0, "Mn Mc Me Cf 1F3FB-1F3FF", "attached"},
	{0, "Cc Zs Zl Zp", ""},
	// Several words in one, such as circled letters and ligatures.
	{600, "Nl 24B6-24E9 2800-28FF 3200-33FF FB00-FB06 FDF0-FDFD", ""},
	{660, "1D00-1DBF 2C60-2C7F 1D400-1D7CB", ""}, // letters of another style, which a voice names
	{460, "A9 AE 2100-214F", ""},                 // signs made of letters
	{220, "Nd", ""},                              // "seventy-seven", and some languages say more
	{300, "No", ""},
	{120, "2B0-2FF", ""}, // such as an apostrophe that is a letter
	{120, "Han Yi Tangut Nushu", "script"},
	{40, "Hiragana Katakana", "script"},
	{25, "1100-11FF A960-A97F D7B0-D7FF", "script"}, // parts of Hangul syllables
	{56, "Hangul", "script"},
	{60, "Myanmar Khmer", "script"}, // of two letters, one is often written below the other
	{46, "Thai Lao Tibetan Tai_Le New_Tai_Lue Tai_Tham Tai_Viet Ethiopic", "script"},
	{46, "Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala", "script"},
	{38, "Arabic Hebrew Syriac Thaana Nko", "script"}, // which leave vowels out
	{22, "Latin", "alphabet"},
	{25, "Cyrillic", "alphabet"},
	{22, "Greek", "alphabet"},
	{25, "Armenian Georgian", "alphabet"},
	{60, "Lu Ll Lt Lm Lo", "script"},
	{90, "21 2E 3F 61F 6D4 964-965 2026 3002 FF01 FF0E FF1F", ""}, // a voice pauses there
	{60, "22 27-2A 2C 3A 3B 60C 61B 3001 FF0C FF1A FF1B Pc Pd Ps Pe Pi Pf", ""},
	{400, "1F000-1FAFF", ""}, // "smiling face with smiling eyes"
	{150, "0-10FFFF", ""},    // a sign, which has a name
}

// Spelled is what a letter costs that is spelled, in hundredths of a word.
const Spelled = 110

// Named is Table for a voice of another language: what a character costs of which it says the name.
// As eSpeak NG's voices of other languages were measured, some name each letter of a script; where
// they read words, the cost is zero. By lists the scripts and languages whose voices read it or,
// after an exclamation mark, those whose voices alone take so long. The first row that lists a
// character decides.
var Named = []struct {
	Cost   int
	Of, By string
}{
	{480, "1A0-1B0 300-36F 1E00-1EFF", "vi yo ig"}, // letters with a horn, a dot below or two marks
	{260, "180-24F 250-2AF", "az ha ff ee ak bm fon ro hr zh se"},
	{470, "FF21-FF3A FF41-FF5A FF66-FFDC", "Jpan Hans Hant Kore"}, // of full and half width
	{620, "460-481 48A-52F A640-A69F", "uk kk ky tt ba mn tg cv sah os ab ce"},
	{500, "400-40F 450-45F", "Cyrl"},
	{275, "Cyrillic", "Cyrl"},
	{530, "1F00-1FFF", "Grek"},
	{110, "Greek", "Grek"},
	{450, "FB50-FDCF FE70-FEFC", ""}, // shapes of Arabic letters
	{520, "66E-6D3 6EE-6FF 750-77F 8A0-8FF", "fa ur ug ps sd ku ckb pnb ks"},
	{330, "Arabic", "Arab Aran"},
	{390, "Hebrew", "Hebr"},
	{600, "Syriac Thaana Nko", "Syrc Thaa Nkoo"},
	{730, "Yi Tangut Nushu", "Yiii Tang Nshu"},
	{500, "F900-FAFF", "Hans Hant Hani Jpan Kore"},
	{310, "Han Bopomofo", "Hans Hant Hani Jpan Kore"},
	{450, "Hiragana Katakana", "Jpan"},
	{310, "1100-11FF A960-A97F D7B0-D7FF", "Kore"},
	{170, "3131-318E", "Kore"},
	{100, "Hangul", "Kore"},
	{510, "Thai", "Thai"},
	{600, "Lao Tibetan Tai_Le New_Tai_Lue Tai_Tham Tai_Viet", "Laoo Tibt"},
	{540, "Myanmar", "Mymr"},
	{620, "Khmer", "Khmr"},
	{810, "Ethiopic", "Ethi"},
	{540, "Oriya", "Orya"},
	{230, "Telugu", "Telu"},
	{550, "10A0-10C5", "Geor"}, // capitals of old
	{100, "Georgian", "Geor"},
	{190, "Armenian", "Armn"},
	{0, "Latin Devanagari Bengali Gurmukhi Gujarati Tamil Kannada Malayalam Sinhala", ""},
	{660, "Mongolian Canadian_Aboriginal Cherokee Vai Tifinagh Ol_Chiki Balinese Javanese Sundanese Batak Lisu Adlam",
		"Mong Cans Cher Vaii Tfng Olck Bali Java Sund Batk Lisu Adlm"},
	{820, "Lu Ll Lt Lm Lo", ""},
	{440, "2F 5C", "!ka lt te bg lv ltg et sl nb no nn da sv id smj is af"}, // the signs of paths
}

// Time is how long it takes at most to hear a text at a pace in words a minute, from a voice that
// speaks its language. A second of it is the silence before and after.
func Time(text string, wordsPerMinute int64) time.Duration {
	return convertToTime(countHundredths(text), wordsPerMinute)
}

// TimeBy is Time where the voice is known to speak some languages alone, or, without any, none but
// what every voice can read: one that has to name the letters takes several times as long.
func TimeBy(text string, wordsPerMinute int64, languages ...string) time.Duration {
	return convertToTime(countHundredths(text)+countExtra(text, languages), wordsPerMinute)
}

// convertToTime turns hundredths of a word into a time at a pace, with a second more.
func convertToTime(hundredths int, wordsPerMinute int64) time.Duration {
	return time.Duration(hundredths)*time.Minute/time.Duration(100*wordsPerMinute) + time.Second
}

// countExtra returns what a text costs, in hundredths of a word, beyond what countHundredths says,
// where the voice speaks only these languages: characters of a script that none of them reads are
// named one by one.
func countExtra(text string, languages []string) (extra int) {
	reads := make([]bool, len(named))
	for i, row := range Named {
		list, slow := strings.CutPrefix(row.By, "!")
		isListed := slices.ContainsFunc(languages, func(tag string) bool {
			t := language.Make(tag)
			base, _ := t.Base()
			script, _ := t.Script()
			return slices.Contains(strings.Fields(list), base.String()) || slices.Contains(strings.Fields(list), script.String())
		})
		reads[i] = isListed != slow && len(languages) > 0
	}
	for _, r := range text {
		i := slices.IndexFunc(named, func(of []*unicode.RangeTable) bool { return unicode.In(r, of...) })
		if i >= 0 && !reads[i] {
			extra += max(Named[i].Cost-rows[rowOf(r)].cost, 0)
		}
	}
	return extra
}

// Words is how many words of a pace a text usually is, rounded up: of the sentences that were
// measured, those in the middle take five sixths of what the table says.
func Words(text string) int { return (countHundredths(text)*5/6 + 99) / 100 }

// countHundredths returns how long a text takes at most, in hundredths of a word: the cost of each
// character by Table, and that of a letter that is spelled where a voice may spell a word, or all
// of an alphabet that the text is not mainly written in.
func countHundredths(text string) (sum int) {
	var word []rune     // letters of one alphabet that a voice reads as one word, or spells
	var letters [32]int // by row of Table, how many characters there are
	var spelled [32]int // by row, how many of those are spelled
	last := -1          // the row of the newest character
	endWord := func() {
		if spells(word) {
			spelled[last] += len(word)
		}
		word = word[:0]
	}
	for _, r := range text {
		i := rowOf(r)
		if rows[i].kind == "attached" {
			continue
		}
		humped := len(word) > 0 && unicode.IsUpper(r) && !unicode.IsUpper(word[len(word)-1]) // as the N of fileName
		if i != last || humped {
			endWord()
		}
		if last = i; rows[i].kind == "alphabet" {
			word = append(word, r)
		}
		letters[i]++
	}
	endWord()

	allLetters := 0
	for i, row := range rows {
		if row.kind != "" {
			allLetters += letters[i]
		}
	}
	for i, row := range rows {
		if row.kind == "alphabet" && 3*letters[i] < 2*allLetters { // foreign words; some voices spell them
			spelled[i] = letters[i]
		}
		sum += letters[i]*row.cost + spelled[i]*(Spelled-row.cost)
	}
	return sum
}

// spells reports whether a voice may spell a word: a letter alone, a short one in capitals, or one
// without a vowel.
func spells(word []rune) bool {
	capitals, vowel := true, false
	for _, r := range word {
		capitals = capitals && unicode.IsUpper(r)
		vowel = vowel || r > unicode.MaxASCII || strings.ContainsRune("aeiouyAEIOUY", r)
	}
	isShortName := capitals && len(word) <= 5
	return len(word) == 1 || len(word) > 0 && (isShortName || !vowel)
}

// row is a Row whose characters are range tables.
type row struct {
	cost int
	kind string
	of   []*unicode.RangeTable
}

// rows are the rows of Table, in its order.
var rows = func() (rows []*row) {
	for _, r := range Table {
		rows = append(rows, &row{cost: r.Cost, kind: r.Kind, of: parseCharacters(r.Of)})
	}
	return rows
}()

// named are the characters of each row of Named.
var named = func() (all [][]*unicode.RangeTable) {
	for _, row := range Named {
		all = append(all, parseCharacters(row.Of))
	}
	return all
}()

// parseCharacters returns the characters that the Of of a row lists: names of categories and
// scripts, and code points in hex, single or as ranges.
func parseCharacters(list string) (of []*unicode.RangeTable) {
	var ranges unicode.RangeTable
	for name := range strings.FieldsSeq(list) {
		if t := cmp.Or(unicode.Categories[name], unicode.Scripts[name]); t != nil {
			of = append(of, t)
			continue
		}
		from, to, _ := strings.Cut(name, "-")
		ranges.R32 = append(ranges.R32, unicode.Range32{Lo: parseCodePoint(from), Hi: parseCodePoint(cmp.Or(to, from)), Stride: 1})
	}
	if len(ranges.R32) > 0 {
		of = append(of, &ranges)
	}
	return of
}

// parseCodePoint reads a code point in hexadecimal. It panics at anything else, for the tables are
// written here.
func parseCodePoint(hexadecimal string) uint32 {
	n, err := strconv.ParseUint(hexadecimal, 16, 32)
	if err != nil {
		panic(err)
	}
	return uint32(n)
}

// rowOf returns the index of the row of Table that decides for a character: the first that has it,
// else the last row.
func rowOf(r rune) int {
	for i, row := range rows[:len(rows)-1] {
		if unicode.In(r, row.of...) {
			return i
		}
	}
	return len(rows) - 1
}
