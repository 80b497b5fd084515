package coalesce

import (
	"bytes"
	"strings"
)

// pictureStartsSentence reports whether the pictures at pos begin the next sentence: some
// always do, and any does where the sentence before began with a picture.
func (d *detector) pictureStartsSentence(pos int) bool {
	r, _, _ := d.peekRune(pos)
	return d.scan.beganWithPicture || strings.ContainsRune(headingPictures, r)
}

// headingPictures head a line more often than they end one.
const headingPictures = "⚠ℹ👉👇💡📌📝➡▶🔹🔸🔍🔎📋📁📂📊📈📉🔧🛠⚙⏳⌛⏰📅📍🔗📦🔒🔑📖📚"

// followsGesture reports whether a picture or a smiley, and white space, stand before pos.
// They may stand for the mark that ends a sentence.
func (d *detector) followsGesture(pos int) bool {
	switch sc := &d.scan; {
	case sc.wordCount == 0, sc.beganWithPicture:
	case sc.prev == clEmoji:
		return true
	case sc.last == ')', sc.last == '(', sc.last == 'D', sc.last == 'P':
		return endsInSmiley(d.buf[:pos])
	}
	return false
}

// isFace reports whether the last character is a picture of how something is meant or went: a face,
// a hand, ✅. A sentence seldom goes on behind one, as it does behind the picture of a thing.
func (sc *scanner) isFace() bool {
	r := sc.last
	return sc.prev == clEmoji && (0x1F600 <= r && r <= 0x1F64F || 0x1F90C <= r && r <= 0x1F92F ||
		0x1F970 <= r && r <= 0x1F97A || 0x1F44A <= r && r <= 0x1F450 || 0x1FAE0 <= r && r <= 0x1FAF8 ||
		strings.ContainsRune("✅❌✨☺🎉🎊💪💯🔥🚀", r))
}

// endsInSmiley reports whether the last word of b, spaces behind it aside, is a smiley such as :-).
func endsInSmiley(b []byte) bool {
	b = bytes.TrimRight(b, " ")
	switch string(b[bytes.LastIndexByte(b, ' ')+1:]) {
	case ":)", ":-)", ";)", ";-)", ":(", ":-(", ":D", ":-D", ";D", ":P", ":-P", ";P":
		return true
	}
	return false
}

// skipPictures returns the offset behind the pictures at pos, and the class of what follows. Where
// they take 64 bytes or more, it returns 0 and clOther.
func (l *lookahead) skipPictures(pos int) (end int, c class) {
	for end = pos; end < pos+64; {
		var size int
		if _, c, size = l.peek(end); c != clEmoji && c != clExtend {
			return end, c
		}
		end += size
	}
	return 0, clOther
}
