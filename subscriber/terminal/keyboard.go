package terminal

import (
	"bufio"
	"context"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aaep-go/aaep/internal/plaintext"
)

// takeTerminal switches the terminal to single keys, if that can be had now.
func (t *Terminal) takeTerminal() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dumb || t.done || t.screen != nil {
		return
	}
	if screen, restore, err := eachKey(t.file); err == nil {
		t.screen, t.restore = screen, restore
	}
}

// releaseTerminal gives the terminal back as it was, for another program, until takeTerminal.
func (t *Terminal) releaseTerminal() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.screen != nil {
		t.restore()
		t.screen, t.restore = nil, nil
	}
}

// releaseForGood is releaseTerminal, after which takeTerminal does nothing.
func (t *Terminal) releaseForGood() {
	t.releaseTerminal()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = true
}

// showKey shows a key, and keeps the line that it makes. A line above which something was printed
// is shown anew, so that a screen reader and a braille display find it whole in one line.
func (t *Terminal) showKey(key, line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.line
	t.line = line
	if t.screen == nil {
		return
	}
	if t.hidden && key != "" {
		t.hidden = false
		if key == "\n" {
			line = before + key
		}
		key = line // also where some of it was taken back
	}
	io.WriteString(t.screen, key)
}

// wrapScreen returns a writer that ends the line that is being typed before it prints.
func (t *Terminal) wrapScreen(w io.Writer) io.Writer {
	return writer(func(b []byte) (int, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.screen != nil && t.line != "" && !t.hidden {
			t.hidden = true
			io.WriteString(t.screen, "\n")
		}
		return w.Write(b)
	})
}

// keysOf hands on the keys that are read, and the lines that they make. A line was typed here key
// by key if its first key began a piece that was read, and its Enter ended a later one. Any other
// was pasted, typed ahead, or comes from a program that hands on lines; a long paste comes in
// several pieces, which end anywhere. A first key that is read while s has stalled may be as old as
// that.
func keysOf(ctx context.Context, in io.Reader, t *Terminal, s *stalls) <-chan Line {
	keys := make(chan Line, 1024)
	go func() {
		defer close(keys)
		var e editor
		var began time.Time // the first key of the line
		var piece, first int
		begins, alone := true, false // nothing came in this piece before this key; nor before the first key of the line
		var held []byte              // the beginning of a character
		for buf := make([]byte, 4096); ; piece++ {
			n, err := in.Read(buf)
			now := time.Now()
			data := append(held, buf[:n]...)
			begins = begins || len(held) == 0
			for len(data) > 0 && (utf8.FullRune(data) || err != nil) {
				r, size := utf8.DecodeRune(data)
				data = data[size:]
				empty := len(e.line) == 0
				shown, line, over := e.handleKey(r)
				if t.showKey(shown, string(e.line)); over {
					return
				}
				if empty {
					began, first, alone = now, piece, begins && !s.hasStalled(now)
				}
				begins = false
				next := Line{At: now, Began: began, Key: line == nil}
				if line != nil {
					next.Text, next.Unseen = *line, *line != "" && (first == piece || !alone || len(data) > 0)
				} else if len(e.line) == 0 {
					next.Began = time.Time{}
				}
				if next.Key {
					select {
					case keys <- next:
					default: // the line has what matters of it
					}
					continue
				}
				select {
				case keys <- next:
				case <-ctx.Done():
					return
				}
			}
			held = append([]byte(nil), data...)
			if err != nil {
				return
			}
		}
	}()
	return keys
}

// stalls knows when this process was not run for a while, as after SIGSTOP or on a machine that
// stood still: a key that is read then may have been pressed long before. It may be used by several
// goroutines; the zero stalls knows of none.
type stalls struct {
	mu      sync.Mutex
	beat    time.Time // when noteRunning was called last; zero is never
	resumed time.Time // when it was, after a gap
}

const (
	beatEvery = 500 * time.Millisecond
	// longestGap is between two calls of noteRunning on a machine that is only busy.
	longestGap = 2 * time.Second
	// resumedFor is how long after a gap keys that were pressed in it may still be unread.
	resumedFor = time.Second
)

// watch calls noteRunning until done is closed.
func (s *stalls) watch(done <-chan struct{}) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		s.noteRunning(time.Now())
		select {
		case <-ticker.C:
		case <-done:
			return
		}
	}
}

// noteRunning notes that the process runs now.
func (s *stalls) noteRunning(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.beat.IsZero() && now.Sub(s.beat) > longestGap {
		s.resumed = now
	}
	s.beat = now
}

// hasStalled reports whether a key that is read now may have been pressed while the process did not
// run.
func (s *stalls) hasStalled(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.beat.IsZero() && now.Sub(s.beat) > longestGap || !s.resumed.IsZero() && now.Sub(s.resumed) < resumedFor
}

// editor makes lines of keys, as a terminal does: it knows the keys that take back a letter, a word
// or the line, and the end of input. Keys that move the cursor are left out.
type editor struct {
	line   []rune
	escape plaintext.Filter // which knows escape sequences
	shift  bool             // the next character belongs to the key before, as of ESC O P
}

// handleKey takes a key. Shown is what appears for it, and line is not nil if it ends one.
func (e *editor) handleKey(r rune) (shown string, line *string, over bool) {
	if r == '\n' || r == '\r' { // which ends whatever another key began
		e.escape.Reset()
		e.shift = false
	}
	shifted := e.shift && r > 0x1f && r < 0x7f
	e.shift = e.escape.Begun() && (r == 'N' || r == 'O') || r == 0x8e || r == 0x8f
	if !e.escape.Keep(r) && r != '\b' && r != 0x7f && r != 0x15 && r != 0x17 && r != 0x04 || shifted {
		return "", nil, false
	}
	take := func(n int) {
		var b strings.Builder
		for _, r := range e.line[len(e.line)-n:] {
			b.WriteString(strings.Repeat("\b \b", columnsOf(r)))
		}
		e.line, shown = e.line[:len(e.line)-n], b.String()
	}
	switch r {
	case '\n', '\r':
		text := string(e.line)
		e.line = nil
		return "\n", &text, false
	case 0x04: // Ctrl-D
		return "", nil, len(e.line) == 0
	case '\b', 0x7f:
		n := min(len(e.line), 1)
		for n > 0 && n < len(e.line) && columnsOf(e.line[len(e.line)-n]) == 0 { // marks go with their letter
			n++
		}
		take(n)
	case 0x15: // Ctrl-U
		take(len(e.line))
	case 0x17: // Ctrl-W
		rest := strings.TrimRightFunc(string(e.line), unicode.IsSpace)
		rest = rest[:strings.LastIndexFunc(rest, unicode.IsSpace)+1]
		take(len(e.line) - len([]rune(rest)))
	default:
		if len(e.line) < longestTyped {
			e.line = append(e.line, r)
			shown = string(r)
		}
	}
	return shown, nil, false
}

// columnsOf returns how many cells of the terminal a letter takes.
func columnsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
		return 2
	}
	return 1
}

// longestTyped is how much of a line is read: what is longer was pasted by mistake, and is taken as
// an empty one, upon which a question is put again.
const longestTyped = 1 << 20 // bytes

// readLines hands on the lines a person types, until the input ends. A read that waits for a person
// cannot be cancelled; the goroutine ends with the program.
func readLines(ctx context.Context, r io.Reader) <-chan Line {
	lines := make(chan Line, 64) // so that a line knows when it was typed, not when it was wanted
	go func() {
		defer close(lines)
		in := bufio.NewReader(r)
		for over := false; !over; {
			text := ""
			for more := true; more; {
				piece, goesOn, err := in.ReadLine()
				if more, over = goesOn, err != nil; over && text == "" {
					return
				}
				if len(text) <= longestTyped {
					text += string(piece)
				}
			}
			if len(text) > longestTyped {
				text = ""
			}
			select {
			case lines <- Line{Text: text, At: time.Now(), Began: time.Now(), Unseen: true}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
