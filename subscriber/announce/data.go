package announce

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// A data makes words of an answer that is JSON, in whatever pieces it comes: names and values in
// their order, without what holds them together. What is no JSON stays as it is, as far as its
// letters and numbers go.
type data struct {
	open   []bool // the objects and arrays around what comes next, outermost first; true is an object
	named  bool   // a string that comes now is a name
	quoted bool   // what comes next is within a string
	escape string // an escape that has begun, and is not whole; or ""
	high   rune   // the first half of a character that is escaped in two halves, or 0
	last   rune   // the character that was said last
}

// mostOpen is how deep objects are told from arrays.
const mostOpen = 256

// speakChunk returns the words for the next piece of JSON: names and values without brackets, in
// short sentences. A piece may end anywhere: d keeps the state in between. Text that is no JSON
// comes out with its signs left out. addAnswerChunk calls it.
func (d *data) speakChunk(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case d.escape != "":
			d.escape += string(r)
			d.writeEscaped(&b)
		case d.quoted && r == '\\':
			d.escape = `\`
		case r == '"':
			d.quoted = !d.quoted
		case d.quoted && d.named && r == '_':
			d.writeRune(&b, ' ')
		case d.quoted:
			d.writeRune(&b, r)
		case r == '{', r == '[':
			if len(d.open) < mostOpen {
				d.open = append(d.open, r == '{')
			}
			d.named = r == '{'
		case r == '}', r == ']':
			d.open = d.open[:max(len(d.open)-1, 0)]
		case r == ':':
			d.named = false
			b.WriteString(": ")
		case r == ',':
			d.named = len(d.open) > 0 && d.open[len(d.open)-1]
			if strings.ContainsRune(".!?。؟।", d.last) {
				b.WriteByte('\n') // the next name begins no sentence else, being small
			} else {
				b.WriteString("; ")
			}
		case !unicode.IsSpace(r):
			d.writeRune(&b, r)
		}
	}
	return b.String()
}

// writeRune says a character.
func (d *data) writeRune(b *strings.Builder, r rune) {
	b.WriteRune(r)
	d.last = r
}

// writeEscaped writes to b the character that a backslash began, once all of it has arrived, and
// nothing before. The escapes of blanks become a space; two halves of a surrogate pair become one
// character. speakChunk calls it after each character of the escape.
func (d *data) writeEscaped(b *strings.Builder) {
	spelled, is4 := strings.CutPrefix(d.escape, `\u`)
	switch {
	case !is4:
		switch r := d.escape[1]; r {
		case 'n', 'r', 't', 'b', 'f':
			d.writeRune(b, ' ')
		default:
			for _, r := range d.escape[1:] {
				d.writeRune(b, r)
			}
		}
	case len(spelled) < 4:
		return
	default:
		n, _ := strconv.ParseUint(spelled, 16, 16)
		r := rune(n)
		if char := utf16.DecodeRune(d.high, r); char != unicode.ReplacementChar {
			d.writeRune(b, char)
			r = 0
		}
		if d.high = 0; utf16.IsSurrogate(r) {
			d.high = r
		} else if r != 0 {
			d.writeRune(b, r)
		}
	}
	d.escape = ""
}
