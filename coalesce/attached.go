package coalesce

import (
	"bytes"
	"strings"
)

// What stands around a boundary: what still belongs to the sentence before it, and what begins the next one in an unusual way.

// lead finds what begins with a mark of class c at offset at: .NET, .5, "...and then", an image. Its offset is at if nothing does.
func (s *Segmenter) lead(at int, c class) (int, class) {
	_, _, size := s.peek(at)
	i := at + size
	r, next, size := s.peek(i)
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
		if _, next, _ = s.peek(i + size); next != clStop {
			return at, c
		}
		i += size + 1
		_, next, _ = s.peek(i)
	case c == clStop:
		return at, c
	}
	if next == clUpper || next == clLower {
		return i, clUpper
	}
	return at, c
}

// omission says whether ". . . " and a capital stand at offset at: the sentence goes before the dots then.
func (s *Segmenter) omission(at int) bool {
	for range 3 {
		if _, c, _ := s.peek(at); c != clStop {
			return false
		}
		_, c, size := s.peek(at + 1)
		if c != clSpace {
			return false
		}
		at += 1 + size
	}
	_, c := s.core(at)
	return c == clUpper
}

// attach lets what stands before offset end belong to the sentence before it.
func (s *Segmenter) attach(end int, gap bool) {
	if !s.ran {
		s.glue, s.gap = end, gap
	}
}

// dialogue says whether a dash begins a new turn at offset at.
func (s *Segmenter) dialogue(at int) bool {
	_, _, size := s.peek(at)
	at += size
	if _, c, size := s.peek(at); c == clSpace {
		at += size
	}
	i, c := s.core(at)
	r, _, _ := s.rune(i)
	return (c == clUpper || c == clLetter && s.scan.marks.single() || r == '¿' || r == '¡') && !s.scan.marks.quoted && (s.scan.kind == abNone || !s.scan.marks.single()) // 9 a.m. – Lunch
}

// heads says whether the pictures at offset at begin the next sentence: ⚠️ does, and any where the last one began so.
func (s *Segmenter) heads(at int) bool {
	r, _, _ := s.rune(at)
	return s.scan.pictured || strings.ContainsRune("⚠ℹ👉👇💡📌📝➡▶🔹🔸🔍🔎📋📁📂📊📈📉🔧🛠⚙⏳⌛⏰📅📍🔗📦🔒🔑📖📚", r)
}

// aside returns the offset behind what follows a sentence and its white space but belongs to it: [5], ([source](address)), :-).
func (s *Segmenter) aside(at int) (end int) {
	if end = s.choice(at); end > 0 {
		return end
	}
	switch r, _, _ := s.rune(at); r {
	case '[':
		end, _ = s.attachedTo(at)
	case '(':
		if end = s.sources(at + 1); end == 0 || !s.white(end) {
			return 0
		}
	case ':', ';', '<':
		next, _, size := s.rune(at + 1)
		if end = at + 1 + size; next == '-' {
			next, _, size = s.rune(end)
			end += size
		}
		if r == '<' && next != '3' || r != '<' && !strings.ContainsRune(")(DPpo|/*3", next) || !s.white(end) {
			return 0
		}
	}
	if s.ran {
		return 0
	}
	return end
}

// choice returns the offset behind the answers that a question allows, at offset at: Proceed? (y/N)
func (s *Segmenter) choice(at int) (end int) {
	if !s.scan.marks.ask && !s.scan.marks.query {
		return 0
	}
	_, c, size := s.peek(at)
	slash := false
	for n := 0; c == clOpen && n < 16; n++ {
		at += size
		var r rune
		switch r, c, size = s.rune(at); {
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

// sources returns the offset behind the links, with commas between, and the bracket at offset at: [one](address), [two](address)).
func (s *Segmenter) sources(at int) int {
	for start := at; at < start+2*longest; {
		if r, _, _ := s.peek(at); r != '[' {
			return 0
		}
		at, _ = s.balanced(at, longest)
		if r, _, _ := s.rune(at); at == 0 || r != '(' {
			return 0
		}
		if at, _ = s.balanced(at, 2*longest); at == 0 {
			return 0
		}
		r, _, _ := s.rune(at)
		at++
		switch r {
		case ')':
			return at
		case ',', ';':
			if _, c, _ := s.peek(at); c == clSpace {
				at++
			}
		default:
			return 0
		}
	}
	return 0
}

// gesture says whether a picture or a smiley, and white space, stand before offset at: it may stand for the mark that ends a sentence.
func (s *Segmenter) gesture(at int) bool {
	switch sc := &s.scan; {
	case sc.words == 0, sc.pictured:
	case sc.prev == clEmoji:
		return true
	case sc.last == ')', sc.last == '(', sc.last == 'D', sc.last == 'P':
		return smiley(s.buf[:at])
	}
	return false
}

// face says whether a picture stands last that tells how something is meant or went: a face, a hand, ✅. A sentence seldom goes on behind
// it, as it does behind that of a thing.
func (sc *scanner) face() bool {
	r := sc.last
	return sc.prev == clEmoji && (0x1F600 <= r && r <= 0x1F64F || 0x1F90C <= r && r <= 0x1F92F || 0x1F970 <= r && r <= 0x1F97A ||
		0x1F44A <= r && r <= 0x1F450 || 0x1FAE0 <= r && r <= 0x1FAF8 || strings.ContainsRune("✅❌✨☺🎉🎊💪💯🔥🚀", r))
}

// smiley says whether b ends in a smiley.
func smiley(b []byte) bool {
	b = bytes.TrimRight(b, " ")
	switch string(b[bytes.LastIndexByte(b, ' ')+1:]) {
	case ":)", ":-)", ";)", ";-)", ":(", ":-(", ":D", ":-D", ";D", ":P", ":-P", ";P":
		return true
	}
	return false
}

// emoji returns the offset behind the pictures at offset at, and the class of what follows them.
func (s *Segmenter) emoji(at int) (end int, c class) {
	for end = at; end < at+64; {
		var size int
		if _, c, size = s.peek(end); c != clEmoji && c != clExtend {
			return end, c
		}
		end += size
	}
	return 0, clOther
}

// attachedTo returns the offset behind what belongs to the sentence whose final marks stand before
// offset at: a reference such as [12] or 【3†source】, a closing tag, a line break; gap says that the
// latter stands for white space.
func (s *Segmenter) attachedTo(at int) (end int, gap bool) {
	r, c, _ := s.peek(at)
	if end = s.choice(at); end > 0 {
		return end, false
	}
	switch {
	case r == '[' || r == '【':
		if next, _, _ := s.rune(at + 1); r == '[' && next == '[' { // [[1]](address)
			if inner, _, _ := s.rune(at + 2); inner == '[' {
				return 0, false
			}
			if end, _ = s.attachedTo(at + 1); end == 0 {
				return 0, false
			}
			if r, _, _ := s.rune(end); r != ']' {
				return 0, false
			}
			return end + 1, false
		}
		i, name, before := at, false, clOther
		for n := range 40 {
			r, c, size := s.rune(i)
			i += size
			switch {
			case n == 0:
			case r == ']' || r == '】':
				if name {
					if next, _, _ := s.rune(i); next == '(' {
						return 0, false // a link
					}
				}
				if n == 1 {
					return 0, false
				}
				return i, false
			case r == '】' || size == 0 || c == clLine:
				return 0, false
			case s.buf[at] != '[':
			case n > 12 || c == clSpace && before != clClause || c == clUpper || !isLetter[c] && c != clDigit && c != clSpace && r != '^' && r != ',' && r != '-' && r != '–':
				return 0, false
			}
			before, name = c, name || isLetter[c] && s.buf[at] == '['
		}
	case r == '(' && s.scan.last == ']': // the address of [1]
		end, _ = s.balanced(at, 2*longest)
		return end, false
	case c == clTag:
		if r, _, _ := s.rune(at); r != '<' {
			return 0, false
		}
		next, _, _ := s.rune(at + 1)
		if end = s.tag(at); end == 0 {
			return 0, false
		}
		switch name := s.name(at + 1); name {
		case "br", "/p", "/li", "/div", "/td", "/tr", "/ul", "/ol", "br/":
			return end, true
		case "sup":
			for range 24 {
				r, c, size := s.rune(end)
				if size == 0 || c == clLine {
					break
				}
				if r == '<' {
					end = s.tag(end)
					return end, false
				}
				end += size
			}
			return 0, false
		}
		if next == '/' {
			return end, false
		}
	case c == clOther:
		const space = "&nbsp;"
		for i := range len(space) {
			if r, _, _ := s.rune(at + i); r != rune(space[i]) {
				return 0, false
			}
		}
		return at + len(space), true
	}
	return 0, false
}
