package coalesce

import (
	"strings"
)

// This file reads what stands around a boundary: references, links and answers that still belong to
// the sentence before it, and unusual beginnings of the next one.

// skipLeadingMark returns the offset behind the mark of class c that begins a sentence at pos, as
// in .NET, .5, "...and then" or an image, and the class by which to judge the beginning. It returns
// pos and c if the mark begins none.
func (l *lookahead) skipLeadingMark(pos int, c class) (int, class) {
	_, _, size := l.peek(pos)
	i := pos + size
	r, next, size := l.peek(i)
	switch {
	case c == clBang:
		if r == '[' {
			return i, clTag
		}
		return pos, c
	case c == clStop && (next == clUpper || next == clDigit):
		return i, next
	case c == clStop && next == clLower: // .gitignore
		return i, clUpper
	case c == clStop && next == clStop:
		if _, next, _ = l.peek(i + size); next != clStop {
			return pos, c
		}
		i += size + 1
		_, next, _ = l.peek(i)
	case c == clStop:
		return pos, c
	}
	if next == clUpper || next == clLower {
		return i, clUpper
	}
	return pos, c
}

// isOmission reports whether ". . . " and a capital stand at pos. The sentence ends before
// the dots then.
func (l *lookahead) isOmission(pos int) bool {
	for range 3 {
		if _, c, _ := l.peek(pos); c != clStop {
			return false
		}
		_, c, size := l.peek(pos + 1)
		if c != clSpace {
			return false
		}
		pos += 1 + size
	}
	_, c := l.skipOpeners(pos)
	return c == clUpper
}

// attachUpTo makes the text before offset end part of the sentence that the newest marks end,
// unless pastEnd says that more text is needed to be sure. gap says that the text stands for white
// space, as <br> does.
func (d *detector) attachUpTo(end int, gap bool) {
	if !d.pastEnd {
		d.attachedUpTo, d.attachedSpace = end, gap
	}
}

// skipAside returns the offset behind what belongs to the sentence before it though white space
// stands between: [5], ([source](address)), :-). It returns 0 if nothing of the kind stands at pos.
func (d *detector) skipAside(pos int) (end int) {
	if end = d.skipChoice(pos); end > 0 {
		return end
	}
	switch r, _, _ := d.peekRune(pos); r {
	case '[':
		end, _ = d.skipAttached(pos)
	case '(':
		if end = d.skipSources(pos + 1); end == 0 || !d.isSpace(end) {
			return 0
		}
	case ':', ';', '<':
		next, _, size := d.peekRune(pos + 1)
		if end = pos + 1 + size; next == '-' {
			next, _, size = d.peekRune(end)
			end += size
		}
		if r == '<' && next != '3' || r != '<' && !strings.ContainsRune(")(DPpo|/*3", next) || !d.isSpace(end) {
			return 0
		}
	}
	if d.pastEnd {
		return 0
	}
	return end
}

// skipChoice returns the offset behind the answers that a question offers, as in "Proceed? (y/N)",
// or 0 if there are none at pos or the newest mark is no question mark.
func (d *detector) skipChoice(pos int) (end int) {
	if !d.scan.marks.question && !d.scan.marks.fullQuestion {
		return 0
	}
	_, c, size := d.peek(pos)
	slash := false
	for n := 0; c == clOpen && n < 16; n++ {
		pos += size
		var r rune
		switch r, c, size = d.peekRune(pos); {
		case r == '/' || r == '／':
			slash = n > 0
		case c == clClose && slash:
			return pos + size
		case !isLetter[c] && c != clExtend:
			return 0
		}
		c = clOpen
	}
	return 0
}

// skipSources returns the offset behind links with commas or semicolons between, and the bracket
// that closes them: [one](address), [two](address)). It returns 0 if something else stands at pos,
// or they are longer than 2*maxSpan.
func (l *lookahead) skipSources(pos int) int {
	for start := pos; pos < start+2*maxSpan; {
		if r, _, _ := l.peek(pos); r != '[' {
			return 0
		}
		pos, _ = l.skipBrackets(pos, maxSpan)
		if r, _, _ := l.peekRune(pos); pos == 0 || r != '(' {
			return 0
		}
		if pos, _ = l.skipBrackets(pos, 2*maxSpan); pos == 0 {
			return 0
		}
		r, _, _ := l.peekRune(pos)
		pos++
		switch r {
		case ')':
			return pos
		case ',', ';':
			if _, c, _ := l.peek(pos); c == clSpace {
				pos++
			}
		default:
			return 0
		}
	}
	return 0
}

// skipAttached returns the offset behind what stands close to a sentence's final marks and belongs
// to the sentence: a reference such as [12] or 【3†source】 with its address, the answers that a
// question offers, a closing tag, &nbsp;. gap says that it stands for white space. It returns 0
// where none of these stands at pos.
func (d *detector) skipAttached(pos int) (end int, gap bool) {
	r, c, _ := d.peek(pos)
	if end = d.skipChoice(pos); end > 0 {
		return end, false
	}
	switch {
	case r == '[' || r == '【':
		return d.skipReference(pos), false
	case r == '(' && d.scan.last == ']': // the address of a reference
		end, _ = d.skipBrackets(pos, 2*maxSpan)
		return end, false
	case c == clTag:
		return d.skipAttachedTag(pos)
	case c == clOther:
		const space = "&nbsp;"
		for i := range len(space) {
			if r, _, _ := d.peekRune(pos + i); r != rune(space[i]) {
				return 0, false
			}
		}
		return pos + len(space), true
	}
	return 0, false
}

// skipReference returns the offset behind a reference in brackets, of at most 40 characters: [12],
// [[12]], [^note], 【3†source】. It returns 0 for anything else: brackets may also hold a link that
// begins the next sentence, or words of the text.
func (d *detector) skipReference(pos int) int {
	open, _, _ := d.peekRune(pos)
	if next, _, _ := d.peekRune(pos + 1); open == '[' && next == '[' { // [[1]](address)
		if inner, _, _ := d.peekRune(pos + 2); inner == '[' {
			return 0
		}
		end, _ := d.skipAttached(pos + 1)
		if end == 0 {
			return 0
		}
		if r, _, _ := d.peekRune(end); r != ']' {
			return 0
		}
		return end + 1
	}

	const longest = 40                     // code points
	i, name, before := pos, false, clOther // name: it has letters, so it may be a link's text
	for n := range longest {
		r, c, size := d.peekRune(i)
		i += size
		switch {
		case n == 0:
		case r == ']' || r == '】':
			if name {
				if next, _, _ := d.peekRune(i); next == '(' {
					return 0 // it is a link of the next sentence
				}
			}
			if n == 1 {
				return 0
			}
			return i
		case size == 0 || c == clLine:
			return 0
		case open != '[':
		case n > 12 || c == clUpper || c == clSpace && before != clClause,
			!isLetter[c] && c != clDigit && c != clSpace && !strings.ContainsRune("^,-–", r):
			return 0
		}
		before, name = c, name || isLetter[c] && open == '['
	}
	return 0
}

// skipAttachedTag returns the offset behind a closing tag, a line break or a raised reference (sup)
// of HTML at pos, or 0 if none stands there. gap says that the tag stands for white space, as that
// of a paragraph does.
func (l *lookahead) skipAttachedTag(pos int) (end int, gap bool) {
	if r, _, _ := l.peekRune(pos); r != '<' {
		return 0, false
	}
	next, _, _ := l.peekRune(pos + 1)
	if end = l.skipTag(pos); end == 0 {
		return 0, false
	}
	switch name := l.tagName(pos + 1); name {
	case "br", "/p", "/li", "/div", "/td", "/tr", "/ul", "/ol", "br/":
		return end, true
	case "sup":
		for range 24 {
			r, c, size := l.peekRune(end)
			if size == 0 || c == clLine {
				break
			}
			if r == '<' {
				return l.skipTag(end), false
			}
			end += size
		}
		return 0, false
	}
	if next == '/' {
		return end, false
	}
	return 0, false
}
