package cli

import (
	"io"
	"sync"
	"unicode/utf8"
)

// textWriter makes text of whatever a program prints: terminal escapes are left out, control
// characters dropped, and bytes that are not UTF-8 replaced. What came in goes on to tee as it was.
type textWriter struct {
	mu      sync.Mutex
	out     io.WriteCloser
	tee     io.Writer
	held    []byte // the beginning of a character
	escape  escape
	strange int // bytes that were not text
	closed  bool
}

type escape uint8

const (
	ground   escape = iota
	started         // after ESC
	sequence        // in a control sequence, until its final byte
	str             // in a string (title, hyperlink), until its end or that of the line
	device          // in a device control string, which may hold lines
)

func (w *textWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, io.ErrClosedPipe
	}
	if w.tee != nil {
		if _, err := w.tee.Write(p); err != nil {
			w.tee = nil // its reader has gone; the listeners have not
		}
	}
	data := append(w.held, p...)
	text := make([]byte, 0, len(data))
	for len(data) > 0 && (utf8.FullRune(data) || len(data) >= utf8.UTFMax) {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			w.strange++
		}
		data = data[size:]
		if w.keepRune(r) {
			text = utf8.AppendRune(text, r)
		}
	}
	w.held = append([]byte(nil), data...)
	if len(text) > 0 {
		if _, err := w.out.Write(text); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// keepRune reports whether a character is text, following escape sequences to their end (ECMA-48).
// One that is cut short ends with its line, so that a program's mistake does not silence it.
func (w *textWriter) keepRune(r rune) bool {
	switch {
	case r == 0x1b:
		w.escape = started // whatever was before
		return false
	case r == 0x18 || r == 0x1a: // CAN and SUB break a sequence off
		w.escape = ground
		return false
	case r == '\n' && w.escape != device:
		w.escape = ground
	}
	switch w.escape {
	case started:
		switch {
		case r >= 0x20 && r <= 0x2f: // an intermediate byte; the final one follows
			return false
		case r > 0x7e || r < 0x20: // no sequence
			w.escape = ground
		default:
			w.openSequence(r)
			return false
		}
	case sequence:
		switch {
		case r >= 0x20 && r <= 0x3f:
			return false
		case r >= 0x40 && r <= 0x7e:
			w.escape = ground
			return false
		}
		w.escape = ground
	case str, device:
		if r == '\a' || r == 0x9c {
			w.escape = ground
		}
		return false
	}
	if r >= 0x80 && r <= 0x9f { // ESC and a letter in one
		w.openSequence(r - 0x40)
		return false
	}
	return r == '\n' || r == '\t' || r == '\r' || r >= 0x20 && r != 0x7f
}

// openSequence begins the escape sequence that ESC and a letter open.
func (w *textWriter) openSequence(letter rune) {
	switch letter {
	case '[':
		w.escape = sequence
	case ']', 'X', '^', '_':
		w.escape = str
	case 'P':
		w.escape = device
	default:
		w.escape = ground
	}
}

// Close ends the text. What comes later is refused.
func (w *textWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if len(w.held) > 0 {
		w.strange += len(w.held)
		w.held = nil
		if _, err := w.out.Write([]byte("\uFFFD")); err != nil {
			return err
		}
	}
	return w.out.Close()
}
