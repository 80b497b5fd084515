package coalesce

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A language says what ends a sentence in one language, for the cases in which marks, capitals and
// white space are not enough. All columns are lists of whole words, divided by spaces, as they are
// written in running text: capitals count, and the last full stop is left out ("Dr", "z.B"). Where an
// abbreviation has spaces inside ("z. B."), an underscore stands for them and the full stop before ("z_B").
//
// Everything here also helps texts whose language is not known, so a word that is an ordinary word
// in another language must have a ~ in front: then it counts only where the language is given.
// To mend or add a language see docs/sentences.md.
type language struct {
	// tags are the primary subtags of BCP 47 the table is for.
	tags string

	// before: abbreviations that stand before what they belong to, so that no sentence ever ends
	// with them: titles, "e.g."
	before string
	// number: those that stand before a number, a numeral or a single letter ("Fig. 2", "No. 5");
	// before anything else they may end a sentence. Months belong here.
	number string
	// may: those that end a sentence only if one of starts comes next ("etc.", "Ltd.").
	may string
	// close: those that end a name or stand behind a year ("Inc.", "S.p.A.", "г."): a sentence also ends with them where a capitalised word
	// and a small one follow.
	close string
	// clock: as "a.m.": they also end a sentence of some length before any other capital.
	clock string
	// list: those that end a list or an amount ("etc.", "min."): a sentence ends with them before any capital but a currency's.
	list string
	// words: single letters that are words, where they are initials or abbreviations otherwise.
	words string
	// starts: words by which many sentences start and few names: articles, pronouns, question words.
	starts string
	// said: words by which a sentence goes on behind a quotation that ends in ! or ? ("said", "asked").
	said string
	// letters: nouns before a letter that is a name and no initial ("Plan B").
	letters string
	// dated: what stands behind or before a number with a full stop that means "third", such as
	// months ("3. Oktober") and articles ("das 3. Quartal"). Only in languages that write so.
	dated string
	// small says that a single small letter with a full stop is an abbreviation ("s. 5", "u. a.")
	// and not a word.
	small bool
	// years says that a date begins with the year, each part with a full stop: 2026. 12. 3.
	years bool
}

// abbr is what a word with a full stop behind it is.
type abbr uint8

const (
	abNone    abbr = iota // an ordinary word
	abBefore              // never ends a sentence
	abNumber              // goes before a number; ends a sentence otherwise
	abCut                 // goes before a number, else it is a word: tbl. 4
	abMay                 // ends a sentence if a usual first word follows
	abClose               // as abMay, and in a long sentence if any first word follows that a small one goes on from
	abClock               // as abMay, and in a long sentence before other capitals too
	abList                // ends a sentence before any capital
	abInitial             // a person's initial, as abMay
	abOrdinal             // a number that may mean "third"
	abMarker              // the marker of a list item
)

// rules is a language made ready.
type rules struct {
	abbrs               map[string]abbr
	starts, said, dated map[string]bool
	letters             map[string]bool // false for those in the table with a capital only
	heads               map[string]bool // the first parts of abbreviations of two parts
	small, years        bool
	scripts             []rune // in which its words are written; of unknown, those of several languages
	latin               bool   // one of them is Latin
}

var (
	// shared rules go for every language.
	shared = &language{
		before: "MR MRS DR PROF Mr Mrs Ms Mx Dr Prof e.g i.e E.g I.e cf Cf vs P.S N.B",
		number: "No Nr nr Nos Fig fig Vol vol Ver N° n° Nº nº №",
		list:   "etc",
		may:    "MS Co Jr Sr",
		close:  "al Inc Corp Ltd Ph.D M.Sc B.Sc",
		clock:  "a.m p.m A.M P.M",
	}
	unknown    = compile(append([]*language{shared}, languages...), false)
	languageOf = func() map[string]*rules {
		t := map[string]*rules{}
		for _, l := range languages {
			r := compile([]*language{shared, l}, true)
			for tag := range strings.FieldsSeq(l.tags) {
				t[tag] = r
			}
		}
		return t
	}()
	// byScript has the rules of the one language with a table that is written so, or else unknown.
	byScript = func() map[rune]*rules {
		t := map[rune]*rules{}
		for _, l := range languages {
			r := languageOf[strings.Fields(l.tags)[0]]
			for _, script := range r.scripts {
				if t[script] == nil {
					t[script] = r
				} else {
					t[script] = unknown
				}
			}
		}
		for script, r := range t {
			if r == unknown {
				unknown.scripts = append(unknown.scripts, script)
			}
		}
		unknown.latin = true
		return t
	}()
)

// of returns the rules for a word that begins with r: if its script is not of the language l, whoever said which language it is was wrong.
func (l *rules) of(r rune) *rules {
	script := scriptOf(r)
	if slices.Contains(l.scripts, script) {
		return l
	}
	if other := byScript[script]; other != nil {
		return other
	}
	return unknown
}

// rulesFor returns the rules of a language by its BCP 47 tag; for others the union of all that is safe.
func rulesFor(tag string) *rules {
	primary, _, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-")
	if r := languageOf[strings.ToLower(primary)]; r != nil {
		return r
	}
	return unknown
}

func compile(list []*language, known bool) *rules {
	r := &rules{abbrs: map[string]abbr{}, starts: map[string]bool{}, said: map[string]bool{}, letters: map[string]bool{}, dated: map[string]bool{}, heads: map[string]bool{}}
	words := func(column string, add func(string)) {
		for w := range strings.FieldsSeq(column) {
			word, tilde := strings.CutPrefix(w, "~")
			if known || !tilde {
				add(word)
			}
		}
	}
	for _, l := range list {
		for _, first := range l.before + l.number + l.said {
			if script := scriptOf(first); known && l != shared && isLetter[classOf(first)] && !slices.Contains(r.scripts, script) {
				r.scripts = append(r.scripts, script)
				r.latin = r.latin || script == 'a'
			}
		}
		for _, c := range []struct {
			words string
			abbr  abbr
		}{{l.before, abBefore}, {l.number, abNumber}, {l.may, abMay}, {l.close, abClose}, {l.clock, abClock}, {l.list, abList}, {l.words, abNone}} {
			words(c.words, func(w string) {
				if old, ok := r.abbrs[w]; !ok || known || c.abbr > old { // in doubt the one that ends sooner
					r.abbrs[w] = c.abbr
				}
				if head, _, ok := strings.Cut(w, "_"); ok {
					r.heads[head] = true
				}
			})
		}
		for _, c := range []struct {
			words string
			set   map[string]bool
		}{{l.starts, r.starts}, {l.said, r.said}, {l.letters, r.letters}, {l.dated, r.dated}} {
			words(c.words, func(w string) { c.set[w] = true })
		}
		words(l.letters, func(w string) { // Plan B, plan B
			first, size := utf8.DecodeRuneInString(w)
			if small := string(unicode.ToLower(first)) + w[size:]; !r.letters[small] {
				r.letters[small] = false
			}
		})
		r.small, r.years = r.small || l.small && known, r.years || l.years && known
	}
	return r
}

// ordinals says whether a number with a full stop may mean "third".
func (l *rules) ordinals() bool { return len(l.dated) > 0 || l.years }

// classify says what the word before a full stop is; first: the sentence has no other word yet.
func (l *rules) classify(word []byte, first bool) abbr {
	if a, ok := l.abbrs[string(word)]; ok {
		return a
	}
	if i := bytes.LastIndexAny(word, "'’"); i >= 0 { // l'art. 12
		_, size := utf8.DecodeRune(word[i:])
		if a, ok := l.abbrs[string(word[i+size:])]; ok && len(word) > i+size+1 {
			return a
		}
	}
	r, size := utf8.DecodeRune(word)
	if a, ok := l.abbrs[string(word[size:])]; ok && r == 'و' {
		return a // ود. ليلى
	}
	c := classOf(r)
	if first && c == clUpper { // Art. 3 begins a sentence
		small := utf8.AppendRune(make([]byte, 0, len(spelled{}.b)), unicode.ToLower(r))
		if a := l.abbrs[string(append(small, word[size:]...))]; a == abBefore && size < len(word) {
			return abMay
		} else if a == abNumber && size < len(word) {
			return a
		} else if _, ok := consonants(word); a == abMay && size < len(word) && !ok {
			return abCut
		}
	}
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
			return abNone
		}
		long = max(long, part)
	}
	switch {
	case letters == 0 && dots == 0 && digits == 4 && l.years:
		return abOrdinal
	case letters == 0 && dots == 0 && digits <= 3:
		if first {
			return abMarker // "1." begins a list item
		}
		return abOrdinal
	case dots > 0 && digits == 0 && long == 1 && (c == clUpper || c == clLower):
		return abMay // U.S, a.k.a
	case dots > 0 && digits == 0 && long <= 2 && c == clLetter:
		return abBefore // พล.ต.อ
	case dots > 0 && digits == 0:
		return l.compound(word)
	case dots > 0 || digits > 0:
		return abNone
	case first && len(word) <= 4 && strings.Trim(string(word), "ivx") == "":
		return abMarker
	case len(word) > 1 && strings.Trim(string(word), "IVXLC") == "":
		return abOrdinal
	case letters > 1:
		if l != unknown {
			switch unknown.abbrs[string(word)] {
			case abNumber: // "Abs. 3" in another language
				return abCut
			case abBefore:
				return abMay
			}
		}
		return abNone
	case first && size == 1:
		return abMarker // "a." does too
	case c == clUpper:
		return abInitial
	case c == clLower:
		if l.small {
			return abBefore
		}
		return abNone // in Yoruba, Igbo and Hausa it is a word
	case wideScript(r) == 0 && !unicode.Is(unicode.Ethiopic, r) && !unicode.Is(unicode.Hangul, r):
		return abBefore // an initial in a script without capitals
	}
	return abNone
}

// compound says what a word is whose parts end in full stops: PGS.TS, D.Lgs, Dipl.-Kfm.
func (l *rules) compound(word []byte) abbr {
	before, capitals, short := true, true, false
	if i := bytes.LastIndex(word, []byte(".–")); i > 0 { // Jan.–Feb. 2026
		a, ok := l.abbrs[string(word[:i])]
		if last, both := l.abbrs[string(word[i+len(".–"):])]; ok && both {
			return max(a, last)
		}
	}
	for part := range bytes.SplitSeq(word, []byte(".")) {
		r, size := utf8.DecodeRune(part)
		behind, hyphen := bytes.CutPrefix(part, []byte("-")) // Dipl.-Kfm
		before = before && (hyphen && len(behind) > 0 || l.abbrs[string(part)] == abBefore)
		capitals = capitals && unicode.IsUpper(r) && utf8.RuneCount(part) <= 4
		short = short || size == len(part)
	}
	switch {
	case before:
		return abBefore
	case capitals && short:
		return abMay
	}
	return abNone
}

// called says whether a word at the beginning of a line is what an item is called by: 2.1, Q1, II, §3.
func called(word []byte) bool {
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

// consonants says whether a word is two to four letters of which none is a vowel, such as tbl and Hr, and no acronym.
func consonants(word []byte) (capital, ok bool) {
	n := 0
	for i, r := range string(word) {
		small := unicode.ToLower(r)
		switch inside := i > 0 && i+utf8.RuneLen(r) < len(word); {
		case (small < 'a' || small > 'z') && !unicode.Is(unicode.Cyrillic, r), strings.ContainsRune("aeiouwyаеёиоуыэюяіїє", small),
			r != small && i > 0, inside && strings.ContainsRune("rlрл", r): // vlk and prst are words
			return false, false
		}
		n++
		capital = capital || unicode.IsUpper(r)
	}
	return capital, 2 <= n && n <= 4
}

// pair looks up an abbreviation of two parts, such as "z. B".
func (l *rules) pair(first, second []byte) (abbr, bool) {
	if len(first) == 0 || len(first)+len(second) > 24 {
		return 0, false
	}
	var key [25]byte
	n := copy(key[:], first)
	key[n] = '_'
	n += 1 + copy(key[n+1:], second)
	a, ok := l.abbrs[string(key[:n])]
	return a, ok
}
