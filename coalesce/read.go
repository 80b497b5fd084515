package coalesce

import "unicode/utf8"

// peek returns the character at offset i of the text that has arrived. Behind the last it returns clEnd
// and size 0, and remembers that the answer sought may change. While marks may still be joined to the
// last, its class is known, but r may be unsure.
func (s *Segmenter) peek(i int) (r rune, c class, size int) {
	s.examined++
	switch {
	case i < len(s.buf):
		if b := s.buf[i]; b < utf8.RuneSelf {
			return rune(b), quick[b].class, 1
		}
		r, size = utf8.DecodeRune(s.buf[i:])
		return r, classOf(r), size
	case i == len(s.buf) && s.next >= 0:
		if c = classOf(s.next); settled[c] {
			return s.next, c, 1
		}
		return unsure, c, 1
	}
	s.ran = s.ran || !s.over
	return unsure, clEnd, 0
}

const unsure = -1

// rune is peek for those who must know the character itself.
func (s *Segmenter) rune(i int) (r rune, c class, size int) {
	r, c, size = s.peek(i)
	s.ran = s.ran || r == unsure && size > 0
	return r, c, size
}

// advance reads what has arrived, as far as it can be understood.
func (s *Segmenter) advance() {
	s.stuck = false
	sc := &s.scan
	for {
		r, c, size := s.peek(s.read.at)
		if size == 0 {
			return
		}
		if !s.looked {
			if !s.insideWord() || !isLetter[c] || c == clWide {
				s.ran = false
				if !s.look(c) {
					s.stuck = true
					return
				}
			}
			s.looked = true
		}
		if s.read.at >= len(s.buf) {
			return
		}
		if c == clTag || c == clOpen || sc.lineStart && visible[c] || s.item {
			if !s.opened {
				s.ran = false
				if s.open(); s.ran {
					s.stuck = true
					return
				}
				s.opened = true
			}
		}
		s.consume(r, c, size)
	}
}

// insideWord says whether a letter was read last, so that nothing can stand in front of another one.
func (s *Segmenter) insideWord() bool {
	sc := &s.scan
	return (sc.prev == clLower || sc.prev == clUpper || sc.prev == clLetter) && !sc.space && !sc.marks.any && sc.clause == 0
}

// plainly says whether the next n bytes, if they are letters, can only go on with the word being read.
func (s *Segmenter) plainly(n int) bool {
	return s.insideWord() && !s.stuck && s.read.at == len(s.buf) && s.read.at >= s.hide && !s.scan.hidden() &&
		(s.max == 0 || len(s.buf)+n <= s.max) && (s.maxRunes == 0 || s.count+n <= s.maxRunes)
}

// addLetters is add for the small letters of ASCII at the beginning of b, if they only go on with a word,
// and returns how many it took. The letter before the end, or before a mark that may join it, is left. It
// only saves time, as does addLetter.
func (s *Segmenter) addLetters(b []byte) (n int) {
	sc := &s.scan
	if !s.plainly(len(b)) {
		return 0
	}
	for n+1 < len(b) && 'a' <= b[n] && b[n] <= 'z' && b[n+1] < utf8.RuneSelf {
		sc.word.addByte(b[n])
		n++
	}
	if n > 0 {
		s.buf = append(s.buf, b[:n]...)
		s.count += n
		s.read.at += n
		s.read.runes += n
		s.shown = s.read.runes
		s.begun, s.looked, sc.alnum, sc.prev, sc.last = true, false, true, clLower, rune(b[n-1])
		if sc.letter == 0 {
			sc.letter = clLower
		}
	}
	return n
}

// addLetter is add for any letter or mark that only goes on with a word.
func (s *Segmenter) addLetter(r rune, char []byte) bool {
	sc := &s.scan
	c := classOf(r)
	if c != clLower && c != clLetter && c != clExtend || !s.plainly(len(char)) || sc.word.n == 0 || !sc.alnum {
		return false
	}
	s.buf = append(s.buf, char...)
	s.count++
	s.read.at += len(char)
	s.read.runes++
	s.shown = s.read.runes
	s.begun, s.looked = true, false
	sc.word.add(r)
	if c != clExtend {
		sc.prev, sc.last = c, r
	}
	return true
}

// consume reads one character.
func (s *Segmenter) consume(r rune, c class, size int) {
	sc := &s.scan
	at := s.read.at
	s.read.at += size
	s.read.runes++
	if visible[c] {
		s.shown = s.read.runes
	}
	s.looked, s.opened, s.item = false, false, false
	switch {
	case at < s.glue:
		sc.marks.closed = true
		sc.prev, sc.last, sc.cr = c, r, false
		sc.space, sc.lines = s.read.at >= s.glue && s.gap, 0
		if sc.space {
			sc.endWord()
		}
	case at < s.hide || sc.hidden():
		sc.skip(r, c)
		if s.read.at == s.hide && sc.tail != 0 {
			sc.marks = marks{any: true, closed: true}
			sc.mark(sc.tail)
			sc.tail = 0
		}
	default:
		sc.update(r, c)
	}
}
