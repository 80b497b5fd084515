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
		var typed typedKeys
		var partial []byte // the beginning of a character, whose end is in the next piece
		for buf := make([]byte, 4096); ; {
			n, err := in.Read(buf)
			now := time.Now()
			data := append(partial, buf[:n]...)
			typed.beginPiece(len(partial) == 0)
			for len(data) > 0 && (utf8.FullRune(data) || err != nil) {
				r, size := utf8.DecodeRune(data)
				data = data[size:]
				next, ended := typed.addKey(r, now, s.hasStalled(now), len(data) > 0)
				if ended {
					return
				}
				t.prints.showKey(r)
				if !sendKey(ctx, keys, next) {
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

// sendKey hands on a key or a line. A line waits until there is room, or until ctx is done: it then
// returns false. A key without room is left out, for the line has what matters of it.
func sendKey(ctx context.Context, keys chan<- Line, next Line) bool {
	if next.Key {
		select {
		case keys <- next:
		default:
		}
		return true
	}
	select {
	case keys <- next:
		return true
	case <-ctx.Done():
		return false
	}
}

// typedKeys makes lines of keys, and tells those that were typed from those that came at once.
type typedKeys struct {
	editor
	piece       int  // the number of the piece that was read
	beginsPiece bool // nothing came in this piece before this key

	// Of the first key of the line:
	began      time.Time
	firstPiece int
	firstBegan bool // it began its piece, while the process ran
}

// beginPiece says that another piece was read. isWhole is false if it begins within a character,
// which then belongs to the piece before.
func (k *typedKeys) beginPiece(isWhole bool) {
	k.piece++
	k.beginsPiece = k.beginsPiece || isWhole
}

// addKey takes the next key of the piece, which was read now; stalled says that it may be older,
// and hasMore that another key follows in the piece. It returns the key or the line that it ends,
// or true if the key ends the input.
func (k *typedKeys) addKey(r rune, now time.Time, stalled, hasMore bool) (next Line, ended bool) {
	isFirst := len(k.line) == 0
	_, line, ended := k.handleKey(r)
	if ended {
		return Line{}, true
	}
	if isFirst {
		k.began, k.firstPiece, k.firstBegan = now, k.piece, k.beginsPiece && !stalled
	}
	k.beginsPiece = false
	next = Line{At: now, Began: k.began, Key: line == nil}
	if line != nil {
		cameAtOnce := k.firstPiece == k.piece || !k.firstBegan || hasMore
		next.Text, next.Unseen = *line, *line != "" && cameAtOnce
	} else if len(k.line) == 0 { // all was taken back
		next.Began = time.Time{}
	}
	return next, false
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
	stallsNow := !s.beat.IsZero() && now.Sub(s.beat) > longestGap
	justResumed := !s.resumed.IsZero() && now.Sub(s.resumed) < resumedFor
	return stallsNow || justResumed
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
const (
	keyEndInput  = 0x04 // Ctrl-D
	keyBackspace = '\b'
	keyDelete    = 0x7f
	keyTakeLine  = 0x15 // Ctrl-U
	keyTakeWord  = 0x17 // Ctrl-W
)

// handleKey takes a key. shown is what the screen has to print for it, line is the line if the key
// ends one, else nil, and ended says that the key ends the input.
func (e *editor) handleKey(r rune) (shown string, line *string, ended bool) {
	if e.skipsKey(r) {
		return "", nil, false
	}
	switch r {
	case '\n', '\r':
		text := string(e.line)
		e.line = nil
		return "\n", &text, false
	case keyEndInput:
		return "", nil, len(e.line) == 0
	case keyBackspace, keyDelete:
		n := min(len(e.line), 1)
		for n > 0 && n < len(e.line) && columnsOf(e.line[len(e.line)-n]) == 0 { // marks go with their letter
			n++
		}
		return e.takeBack(n), nil, false
	case keyTakeLine:
		return e.takeBack(len(e.line)), nil, false
	case keyTakeWord:
		kept := strings.TrimRightFunc(string(e.line), unicode.IsSpace)
		kept = kept[:strings.LastIndexFunc(kept, unicode.IsSpace)+1]
		return e.takeBack(len(e.line) - len([]rune(kept))), nil, false
	}
	if len(e.line) >= longestTyped {
		return "", nil, false
	}
	e.line = append(e.line, r)
	return string(r), nil, false
}

// skipsKey reports whether a character is neither text nor a key that edits: it belongs to an
// escape sequence, or is a control character. handleKey calls it for each character, for it also
// follows where sequences begin and end. Enter ends whatever another key began.
func (e *editor) skipsKey(r rune) bool {
	if r == '\n' || r == '\r' {
		e.escape.Reset()
		e.shift = false
	}
	isShifted := e.shift && r > 0x1f && r < 0x7f
	e.shift = e.escape.Begun() && (r == 'N' || r == 'O') || r == 0x8e || r == 0x8f // SS2 and SS3
	isText := e.escape.Keep(r)
	switch r {
	case keyEndInput, keyBackspace, keyDelete, keyTakeLine, keyTakeWord:
		return isShifted
	}
	return isShifted || !isText
}

// takeBack removes the last n characters of the line, and returns what removes them from the
// screen.
func (e *editor) takeBack(n int) (shown string) {
	var b strings.Builder
	for _, r := range e.line[len(e.line)-n:] {
		b.WriteString(strings.Repeat("\b \b", columnsOf(r)))
	}
	e.line = e.line[:len(e.line)-n]
	return b.String()
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
		for {
			text, err := readLine(in)
			if err != nil && text == "" {
				return
			}
			if len(text) > longestTyped {
				text = ""
			}
			select {
			case lines <- Line{Text: text, At: time.Now(), Began: time.Now(), Unseen: true}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine reads a line, with an error if the input ends in it. Of one that is longer than
// longestTyped it returns a beginning that is longer, too.
func readLine(in *bufio.Reader) (text string, err error) {
	for {
		piece, goesOn, err := in.ReadLine()
		if err != nil {
			return text, err
		}
		if len(text) <= longestTyped {
			text += string(piece)
		}
		if !goesOn {
			return text, nil
		}
	}
}
