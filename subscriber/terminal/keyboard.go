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

// takeTerminal switches the terminal to single keys, if that can be had now; where it cannot, lines
// are read as the terminal edits them. It takes t.mu. Open calls it, and watchSuspension after a
// suspension.
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

// readKeys hands on the keys that are read from in, and the lines that they make, until the input
// or ctx ends. A line was typed here key by key if its first key began a piece that was read, and
// its Enter ended a later one. Any other was pasted, typed ahead, or comes from a program that
// hands on lines; a long paste comes in several pieces, which end anywhere. A first key that is
// read while s has stalled may be as old as that.
func readKeys(ctx context.Context, in io.Reader, t *Terminal, s *stalls) <-chan Line {
	keys := make(chan Line, 1024)
	go func() {
		defer close(keys)
		var e editor
		var began time.Time       // when the first key of the line came
		var piece, firstPiece int // the number of the piece that was read, and of the one with the line's first key
		beginsPiece := true       // nothing came in this piece before this key
		firstBegan := false       // the first key of the line began its piece
		var partial []byte        // the beginning of a character, whose end is in the next piece
		for buf := make([]byte, 4096); ; piece++ {
			n, err := in.Read(buf)
			now := time.Now()
			data := append(partial, buf[:n]...)
			beginsPiece = beginsPiece || len(partial) == 0
			for len(data) > 0 && (utf8.FullRune(data) || err != nil) {
				r, size := utf8.DecodeRune(data)
				data = data[size:]
				wasEmpty := len(e.line) == 0
				_, line, ended := e.handleKey(r)
				if ended {
					return
				}
				t.prints.showKey(r)
				if wasEmpty {
					began, firstPiece, firstBegan = now, piece, beginsPiece && !s.hasStalled(now)
				}
				beginsPiece = false
				next := Line{At: now, Began: began, Key: line == nil}
				if line != nil {
					next.Text, next.Unseen = *line, *line != "" && (firstPiece == piece || !firstBegan || len(data) > 0)
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
			partial = append([]byte(nil), data...)
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

// watch calls noteRunning every beatEvery until done is closed, so that a stop of the whole program
// shows as a gap. It is a goroutine of its own.
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

// noteRunning records that the process runs at now; a long time since the last call was a stall,
// during which no key was read.
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
	line   []rune           // what is typed so far
	escape plaintext.Filter // drops escape sequences
	shift  bool             // the next character belongs to the key before, as of ESC O P
}

// handleKey takes a key. shown is what the screen has to print for it, line is the line if the key
// ends one, else nil, and ended says that the key ends the input.
func (e *editor) handleKey(r rune) (shown string, line *string, ended bool) {
	if r == '\n' || r == '\r' { // which ends whatever another key began
		e.escape.Reset()
		e.shift = false
	}
	shifted := e.shift && r > 0x1f && r < 0x7f
	e.shift = e.escape.Begun() && (r == 'N' || r == 'O') || r == 0x8e || r == 0x8f
	if !e.escape.Keep(r) && r != '\b' && r != 0x7f && r != 0x15 && r != 0x17 && r != 0x04 || shifted {
		return "", nil, false
	}
	takeBack := func(n int) {
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
		takeBack(n)
	case 0x15: // Ctrl-U
		takeBack(len(e.line))
	case 0x17: // Ctrl-W
		kept := strings.TrimRightFunc(string(e.line), unicode.IsSpace)
		kept = kept[:strings.LastIndexFunc(kept, unicode.IsSpace)+1]
		takeBack(len(e.line) - len([]rune(kept)))
	default:
		if len(e.line) < longestTyped {
			e.line = append(e.line, r)
			shown = string(r)
		}
	}
	return shown, nil, false
}

// columnsOf returns how many cells of the terminal a letter takes: 0 for a combining mark, 2 for a
// wide script, else 1.
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
		for ended := false; !ended; {
			text := ""
			for more := true; more; {
				piece, goesOn, err := in.ReadLine()
				if more, ended = goesOn, err != nil; ended && text == "" {
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
