// Package plaintext makes text of bytes that a program prints or a keyboard sends: escape sequences
// and control characters are left out, wherever a read or a write cuts them.
package plaintext

import (
	"io"
	"sync"
	"unicode/utf8"
)

// Writer makes text of what a program prints: terminal escapes are left out, control characters
// dropped, and bytes that are not UTF-8 replaced. Its methods may be called at once.
type Writer struct {
	// Out gets the text. It is set before the first Write, and closed by Close.
	Out io.WriteCloser
	// Tee, if it is set before the first Write, gets what came in as it was, until it fails.
	Tee io.Writer

	mu      sync.Mutex
	held    []byte // the beginning of a character
	filter  Filter
	strange int // bytes that were not text
	closed  bool
}

// Strange returns how many bytes were not text.
func (w *Writer) Strange() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.strange
}

// Filter tells the characters of text from those of escape sequences. The zero Filter is at the
// beginning of a text.
type Filter struct{ escape escape }

// Begun reports whether an escape character came, and nothing since.
func (f *Filter) Begun() bool { return f.escape == started }

// Reset ends the sequence that has begun, if there is one.
func (f *Filter) Reset() { f.escape = ground }

type escape uint8

const (
	ground   escape = iota
	started         // after ESC
	sequence        // in a control sequence, until its final byte
	str             // in a string (title, hyperlink), until its end or that of the line
	device          // in a device control string, which may hold lines
)

// Write writes the text in p to Out, without escape sequences and control characters. The bytes of
// a character that p does not end are kept for the next Write.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, io.ErrClosedPipe
	}
	if w.Tee != nil {
		if _, err := w.Tee.Write(p); err != nil {
			w.Tee = nil // its reader has gone; the listeners have not
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
		if w.filter.Keep(r) {
			text = utf8.AppendRune(text, r)
		}
	}
	w.held = append([]byte(nil), data...)
	if len(text) > 0 {
		if _, err := w.Out.Write(text); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Keep reports whether a character is text, following escape sequences to their end (ECMA-48). One
// that is cut short ends with its line, so that a program's mistake does not silence it. Filter is
// for one goroutine at a time.
func (f *Filter) Keep(r rune) bool {
	switch {
	case r == 0x1b:
		f.escape = started // whatever was before
		return false
	case r == 0x18 || r == 0x1a: // CAN and SUB break a sequence off
		f.escape = ground
		return false
	case r == '\n' && f.escape != device:
		f.escape = ground
	}
	switch f.escape {
	case started:
		switch {
		case r >= 0x20 && r <= 0x2f: // an intermediate byte; the final one follows
			return false
		case r > 0x7e || r < 0x20: // no sequence
			f.escape = ground
		default:
			f.openSequence(r)
			return false
		}
	case sequence:
		switch {
		case r >= 0x20 && r <= 0x3f:
			return false
		case r >= 0x40 && r <= 0x7e:
			f.escape = ground
			return false
		}
		f.escape = ground
	case str, device:
		if r == '\a' || r == 0x9c {
			f.escape = ground
		}
		return false
	}
	if r >= 0x80 && r <= 0x9f { // ESC and a letter in one
		f.openSequence(r - 0x40)
		return false
	}
	return r == '\n' || r == '\t' || r == '\r' || r >= 0x20 && r != 0x7f
}

// openSequence begins the escape sequence that ESC and a letter open; a letter that opens none is a
// sequence by itself.
func (f *Filter) openSequence(letter rune) {
	switch letter {
	case '[':
		f.escape = sequence
	case ']', 'X', '^', '_':
		f.escape = str
	case 'P':
		f.escape = device
	default:
		f.escape = ground
	}
}

// Close ends the text and closes Out: a character that is cut short is replaced, and what is
// written later is refused. The error is that of Out.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if len(w.held) > 0 {
		w.strange += len(w.held)
		w.held = nil
		if _, err := w.Out.Write([]byte("\uFFFD")); err != nil {
			return err
		}
	}
	return w.Out.Close()
}
