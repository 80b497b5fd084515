package announce

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A markRun is a run of one of the characters that mark emphasis, *, _ or ~, in a text.
type markRun struct {
	at, n  int // where what is left of it begins, and how many that are
	all    int // how many there were
	char   byte
	begins bool // it stands at the beginning of a line
	opens  bool // it may begin emphasis
	ends   bool // it may end emphasis
}

// namedCharacters are the characters that HTML has a name for and that agents write so. There are
// more: the rest is said as it is written.
var namedCharacters = map[string]string{"amp": "&", "lt": "<", "gt": ">", "quot": `"`, "apos": "'", "nbsp": " ",
	"copy": "©", "reg": "®", "trade": "™", "deg": "°", "hellip": "…", "mdash": "—", "ndash": "–", "lsquo": "‘",
	"rsquo": "’", "ldquo": "“", "rdquo": "”", "laquo": "«", "raquo": "»", "times": "×", "larr": "←", "rarr": "→",
	"bull": "•", "middot": "·", "euro": "€", "sect": "§", "para": "¶"}

var (
	characterReference = regexp.MustCompile(`&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,6}));`)
	lineBreak          = regexp.MustCompile(`(?i)<br ?/?>`)
)

// decodeReferences returns text with the characters that the references of HTML stand for, as in
// &amp; and &#233;, and a space for a tag that breaks a line. One that names no character stays as
// it is.
func decodeReferences(text string) string {
	if !strings.ContainsAny(text, "&<") {
		return text
	}
	text = lineBreak.ReplaceAllString(text, " ")
	return characterReference.ReplaceAllStringFunc(text, func(s string) string {
		m := characterReference.FindStringSubmatch(s)
		if m[3] != "" {
			return cmp.Or(namedCharacters[m[3]], s)
		}
		code, err := strconv.ParseUint(m[1], 10, 32)
		if m[2] != "" {
			code, err = strconv.ParseUint(m[2], 16, 32)
		}
		if r := rune(code); err == nil && r > 0 && utf8.ValidRune(r) {
			return string(r)
		}
		return s
	})
}

// dropEmphasis returns text without the marks of emphasis, which it finds as CommonMark does
// (§6.2), and without those of code, within which nothing else is one. It differs where a voice
// would lose what was meant: between two letters or digits that words are spaced by, a mark is none
// (2*3*4, foo**bar), and in a script without spaces either side will do. Of a piece of an answer,
// the other end of a ** may be in another piece, and a backslash before a mark is dropped: what is
// not an answer, such as a question, is told to the letter. In an answer, what stands for a
// character outside of code is that; see decodeReferences.
func dropEmphasis(text string, answer bool) string {
	if !strings.ContainsAny(text, "*_~`\\&<") {
		return text
	}
	dropped, code := findMarks(text, answer)
	decode := func(plain string) string { return plain }
	if answer {
		decode = decodeReferences
	}
	var b strings.Builder
	from := 0
	for _, span := range code {
		b.WriteString(decode(withoutDropped(text, dropped, from, span.begin)))
		b.WriteString(withoutDropped(text, dropped, span.begin, span.end))
		from = span.end
	}
	b.WriteString(decode(withoutDropped(text, dropped, from, len(text))))
	return b.String()
}

// withoutDropped returns the bytes of text from one index to another that are not dropped.
func withoutDropped(text string, dropped []bool, from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		if !dropped[i] {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// codeSpan is where code within a line begins and ends, with its marks.
type codeSpan struct{ begin, end int }

// findMarks returns which bytes of text are marks to be dropped, and where code is. Emphasis ends
// with its paragraph, and a backslash makes the mark behind it text; of an answer the backslash is
// dropped.
func findMarks(text string, answer bool) (dropped []bool, code []codeSpan) {
	dropped = make([]bool, len(text))
	var runs []markRun
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '\\':
			if i+1 < len(text) && strings.IndexByte("*_`#[]~|>\n", text[i+1]) >= 0 {
				dropped[i] = answer
				i++ // the next is no mark; before the end of a line it says that the line ends there
			}
			i++
		case '\n':
			if strings.HasPrefix(text[i:], "\n\n") { // emphasis ends with its paragraph
				matchRuns(runs, dropped, answer)
				runs = runs[:0]
			}
			i++
		case '`':
			begin := i
			if i = skipCodeSpan(text, i, dropped); dropped[begin] {
				code = append(code, codeSpan{begin, i})
			}
		case '*', '_', '~':
			n := len(text[i:]) - len(strings.TrimLeft(text[i:], string(c)))
			if r := newMarkRun(text, i, n); r.opens || r.ends {
				runs = append(runs, r)
			}
			i += n
		default:
			i++
		}
	}
	matchRuns(runs, dropped, answer)
	return dropped, code
}

// skipCodeSpan returns the index behind the code span that begins with a run of backticks at i, and
// marks the backticks around it as dropped. A run to which no equal one follows in its paragraph is
// text; the index is then that behind the run.
func skipCodeSpan(text string, i int, dropped []bool) int {
	n := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
	for j := i + n; j < len(text); {
		k := strings.IndexByte(text[j:], '`')
		if k < 0 || strings.Contains(text[j:j+k], "\n\n") {
			break
		}
		j += k
		m := len(text[j:]) - len(strings.TrimLeft(text[j:], "`"))
		if m == n {
			for k := range n {
				dropped[i+k], dropped[j+k] = true, true
			}
			return j + m
		}
		j += m
	}
	return i + n
}

// newMarkRun returns the run of n marks of emphasis at byte i of text, with whether it may open and
// whether it may end emphasis, by the characters around it. Between two letters of a script with
// spaces it can do neither. dropEmphasis calls it.
func newMarkRun(text string, i, n int) markRun {
	r := markRun{at: i, n: n, all: n, char: text[i], begins: i == 0 || text[i-1] == '\n'}
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+n:])
	isSpace := func(c rune) bool { return c == utf8.RuneError || unicode.IsSpace(c) }
	isSign := func(c rune) bool { return unicode.IsPunct(c) || unicode.IsSymbol(c) }
	spaced := func(c rune) bool { return (unicode.IsLetter(c) || unicode.IsDigit(c)) && !isUnspaced(c) }
	if r.char == '~' && n != 2 || spaced(before) && spaced(after) {
		return r
	}
	canOpen := !isSpace(after) && (!isSign(after) || isSpace(before) || isSign(before))
	canClose := !isSpace(before) && (!isSign(before) || isSpace(after) || isSign(after))
	r.opens, r.ends = canOpen, canClose
	if r.char == '_' {
		r.opens, r.ends = canOpen && (!canClose || isSign(before)), canClose && (!canOpen || isSign(after))
	}
	if r.char != '_' && (isUnspaced(before) || isUnspaced(after)) { // no space says on which side it is
		r.opens, r.ends = !isSpace(after), !isSpace(before)
	}
	return r
}

// isUnspaced reports whether a letter is of a script that puts no space between words.
func isUnspaced(c rune) bool {
	return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar)
}

// matchRuns pairs the marks that begin emphasis with those that end it, and sets dropped for each
// byte of a pair. Of an answer it also drops a ** without its other end, which may be in another
// piece.
func matchRuns(runs []markRun, dropped []bool, answer bool) {
	drop := func(start, n int) {
		for i := range n {
			dropped[start+i] = true
		}
	}
	for e := range runs {
		end := &runs[e]
		for end.ends && end.n > 0 {
			o := findOpener(runs, e)
			if o < 0 {
				break
			}
			begin := &runs[o]
			n := 1
			if begin.n > 1 && end.n > 1 {
				n = 2
			}
			begin.n -= n
			drop(begin.at+begin.n, n)
			drop(end.at, n)
			end.at, end.n = end.at+n, end.n-n
			for i := o + 1; i < e; i++ { // what is between them matches nothing outside
				runs[i].opens = false
			}
		}
	}
	for _, r := range runs { // a sentence may end within what is marked
		isWholeDouble := r.n == 2 && r.all == 2
		mayPairElsewhere := r.begins && r.opens || r.ends && !r.opens
		if answer && isWholeDouble && mayPairElsewhere {
			drop(r.at, 2)
		}
	}
}

// findOpener returns the index of the last run before the one at e that can begin what that ends,
// or -1.
func findOpener(runs []markRun, e int) int {
	for o := e - 1; o >= 0; o-- {
		r := runs[o]
		if r.char == runs[e].char && r.opens && r.n > 0 && !cannotPair(r, runs[e]) {
			return o
		}
	}
	return -1
}

// cannotPair reports whether two runs are no pair, by the rule of CommonMark about those that may
// both begin and end emphasis.
func cannotPair(begin, end markRun) bool {
	mayDoBoth := begin.ends || end.opens
	areThrees := begin.all%3 == 0 && end.all%3 == 0
	return mayDoBoth && (begin.all+end.all)%3 == 0 && !areThrees
}
