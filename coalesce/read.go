package coalesce

// readArrived reads the text that has arrived, character by character, and cuts at the boundaries
// in it. It stops, and sets waiting, where a decision needs text that has not arrived. Text up to
// s.read has been read; what is in s.next is looked at, and not read. normalizeRaw and the ends of
// the text call it.
func (s *Segmenter) readArrived() {
	s.waiting = false
	sc := &s.scan
	for {
		r, c, size := s.peek(s.read.offset)
		if size == 0 {
			return
		}

		if !s.boundaryDecided {
			if !s.insideWord() || !isLetter[c] || c == clWide {
				s.pastEnd = false
				if !s.decideBoundary(c) {
					s.waiting = true
					return
				}
			}
			s.boundaryDecided = true
		}
		if s.read.offset >= len(s.buf) {
			return // r is s.next, which is not in buf yet
		}

		mayOpen := c == clTag || c == clOpen || sc.lineStart && visible[c] || s.itemBegins
		if mayOpen {
			if !s.openingDecided {
				s.pastEnd = false
				if s.openLineOrSpan(); s.pastEnd {
					s.waiting = true
					return
				}
				s.openingDecided = true
			}
		}
		s.readNext(r, c, size)
	}
}

// insideWord reports whether a letter was read last. No boundary stands in front of another one
// then.
func (d *detector) insideWord() bool {
	sc := &d.scan
	afterLetter := sc.prev == clLower || sc.prev == clUpper || sc.prev == clLetter
	return afterLetter && !sc.space && !sc.marks.any && sc.clause == 0
}

// readNext moves s.read behind r, of class c and so many bytes, and has the scanner read it: as
// attached to the marks before it, as hidden from the rules, or as ordinary text. What stands in
// front of r has been decided.
func (s *Segmenter) readNext(r rune, c class, size int) {
	sc := &s.scan
	pos := s.read.offset
	s.read.offset += size
	s.read.runes++
	if visible[c] {
		s.visibleRunes = s.read.runes
	}
	s.boundaryDecided, s.openingDecided, s.itemBegins = false, false, false
	switch {
	case pos < s.attachedUpTo:
		sc.marks.closed = true
		sc.prev, sc.last, sc.cr = c, r, false
		sc.space, sc.lines = s.read.offset >= s.attachedUpTo && s.attachedSpace, 0
		if sc.space {
			sc.endWord()
		}
	case pos < s.hiddenUpTo || sc.insideBlock():
		sc.readHidden(r, c)
		if s.read.offset == s.hiddenUpTo && sc.hiddenTail != 0 {
			sc.marks = marks{any: true, closed: true}
			sc.addMark(sc.hiddenTail)
			sc.hiddenTail = 0
		}
	default:
		sc.read(r, c)
	}
}
