package coalesce

import (
	"strings"
)

// This file reads what stands around a boundary: references, links and answers that still belong to
// the sentence before it, and unusual beginnings of the next one.

// skipLeadingMark returns the offset behind a mark of class c that begins a sentence, as in .NET,
// .5, "...and then" or an image, and the class by which to judge the beginning. The offset is at if
// the mark at offset at begins none.
func (l *lookahead) skipLeadingMark(at int, c class) (int, class) {
	_, _, size := l.peek(at)
	i := at + size
	r, next, size := l.peek(i)
	switch {
	case c == clBang:
		if r == '[' {
			return i, clTag
		}
		return at, c
	case c == clStop && (next == clUpper || next == clDigit):
		return i, next
	case c == clStop && next == clLower: // .gitignore
		return i, clUpper
	case c == clStop && next == clStop:
		if _, next, _ = l.peek(i + size); next != clStop {
			return at, c
		}
		i += size + 1
		_, next, _ = l.peek(i)
	case c == clStop:
		return at, c
	}
	if next == clUpper || next == clLower {
		return i, clUpper
	}
	return at, c
}

// isOmission reports whether ". . . " and a capital stand at offset at. The sentence ends before
// the dots then.
func (l *lookahead) isOmission(at int) bool {
	for range 3 {
		if _, c, _ := l.peek(at); c != clStop {
			return false
		}
		_, c, size := l.peek(at + 1)
		if c != clSpace {
			return false
		}
		at += 1 + size
	}
	_, c := l.skipOpeners(at)
	return c == clUpper
}

// attachUpTo makes the text before offset end a part of the sentence before it, unless more text is
// needed to be sure. Gap says that it stands for white space.
func (d *detector) attachUpTo(end int, gap bool) {
	if !d.pastEnd {
		d.attachedUpTo, d.attachedSpace = end, gap
	}
}

// skipAside returns the offset behind what belongs to a sentence though white space stands between:
// [5], ([source](address)), :-).
func (d *detector) skipAside(at int) (end int) {
	if end = d.skipChoice(at); end > 0 {
		return end
	}
	switch r, _, _ := d.peekRune(at); r {
	case '[':
		end, _ = d.skipAttached(at)
	case '(':
		if end = d.skipSources(at + 1); end == 0 || !d.isSpace(end) {
			return 0
		}
	case ':', ';', '<':
		next, _, size := d.peekRune(at + 1)
		if end = at + 1 + size; next == '-' {
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

// skipChoice returns the offset behind the answers that a question offers, as in "Proceed? (y/N)".
func (d *detector) skipChoice(at int) (end int) {
	if !d.scan.marks.question && !d.scan.marks.fullQuestion {
		return 0
	}
	_, c, size := d.peek(at)
	slash := false
	for n := 0; c == clOpen && n < 16; n++ {
		at += size
		var r rune
		switch r, c, size = d.peekRune(at); {
		case r == '/' || r == '／':
			slash = n > 0
		case c == clClose && slash:
			return at + size
		case !isLetter[c] && c != clExtend:
			return 0
		}
		c = clOpen
	}
	return 0
}

// skipSources returns the offset behind links with commas between, and the bracket that closes
// them: [one](address), [two](address)).
func (l *lookahead) skipSources(at int) int {
	for start := at; at < start+2*maxSpan; {
		if r, _, _ := l.peek(at); r != '[' {
			return 0
		}
		at, _ = l.skipBrackets(at, maxSpan)
		if r, _, _ := l.peekRune(at); at == 0 || r != '(' {
			return 0
		}
		if at, _ = l.skipBrackets(at, 2*maxSpan); at == 0 {
			return 0
		}
		r, _, _ := l.peekRune(at)
		at++
		switch r {
		case ')':
			return at
		case ',', ';':
			if _, c, _ := l.peek(at); c == clSpace {
				at++
			}
		default:
			return 0
		}
	}
	return 0
}

// skipAttached returns the offset behind what stands close to a sentence's final marks and belongs
// to it: a reference such as [12] or 【3†source】, a closing tag, a line break. Gap says that it
// stands for white space, as a line break does.
func (d *detector) skipAttached(at int) (end int, gap bool) {
	r, c, _ := d.peek(at)
	if end = d.skipChoice(at); end > 0 {
		return end, false
	}
	switch {
	case r == '[' || r == '【':
		return d.skipReference(at), false
	case r == '(' && d.scan.last == ']': // the address of a reference
		end, _ = d.skipBrackets(at, 2*maxSpan)
		return end, false
	case c == clTag:
		return d.skipAttachedTag(at)
	case c == clOther:
		const space = "&nbsp;"
		for i := range len(space) {
			if r, _, _ := d.peekRune(at + i); r != rune(space[i]) {
				return 0, false
			}
		}
		return at + len(space), true
	}
	return 0, false
}

// skipReference returns the offset behind a reference in brackets: [12], [[12]], [^note],
// 【3†source】. What stands in brackets may also be a link that begins the next sentence, or words of
// its own.
func (d *detector) skipReference(at int) int {
	open, _, _ := d.peekRune(at)
	if next, _, _ := d.peekRune(at + 1); open == '[' && next == '[' { // [[1]](address)
		if inner, _, _ := d.peekRune(at + 2); inner == '[' {
			return 0
		}
		end, _ := d.skipAttached(at + 1)
		if end == 0 {
			return 0
		}
		if r, _, _ := d.peekRune(end); r != ']' {
			return 0
		}
		return end + 1
	}
	i, name, before := at, false, clOther
	for n := range 40 {
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

// skipAttachedTag returns the offset behind a closing tag, a line break or a raised reference of
// HTML. Gap says that it stands for white space.
func (l *lookahead) skipAttachedTag(at int) (end int, gap bool) {
	if r, _, _ := l.peekRune(at); r != '<' {
		return 0, false
	}
	next, _, _ := l.peekRune(at + 1)
	if end = l.skipTag(at); end == 0 {
		return 0, false
	}
	switch name := l.tagName(at + 1); name {
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
