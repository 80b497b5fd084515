package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
)

// readKeys is readLines for a terminal that hands on each key: so that whoever is told something can be left in peace while they
// type. It shows what is typed as the terminal itself would. Restore gives the terminal back; where it cannot be had, lines are
// read as ever.
func readKeys(ctx context.Context, in io.Reader) (lines <-chan typed, restore func()) {
	file, ok := in.(*os.File)
	if !ok {
		return readLines(ctx, in), func() {}
	}
	restore, err := eachKey(file)
	if err != nil {
		return readLines(ctx, in), func() {}
	}
	context.AfterFunc(ctx, restore) // a second Ctrl-C kills, and would leave a terminal that does not show what is typed
	return keysOf(ctx, file, file), restore
}

func keysOf(ctx context.Context, in io.Reader, echo io.Writer) <-chan typed {
	keys := make(chan typed, 64)
	go func() {
		defer close(keys)
		r := bufio.NewReader(in)
		var e editor
		for {
			key, _, err := r.ReadRune()
			if err != nil {
				return
			}
			shown, line, over := e.key(key)
			if io.WriteString(echo, shown); over {
				return
			}
			t := typed{at: time.Now(), key: true}
			if line != nil {
				t.text, t.key = *line, false
			}
			select {
			case keys <- t:
			case <-ctx.Done():
				return
			}
		}
	}()
	return keys
}

// editor makes lines of keys, as a terminal does: it knows the keys that take back a letter, a word or the line, and the end of
// input. Keys that move the cursor are left out.
type editor struct {
	line   []rune
	escape textWriter // which knows escape sequences
}

// key takes a key. Shown is what appears for it, and line is not nil if it ends one.
func (e *editor) key(r rune) (shown string, line *string, over bool) {
	if !e.escape.keep(r) && r != '\b' && r != 0x7f && r != 0x15 && r != 0x17 && r != 0x04 {
		return "", nil, false
	}
	take := func(n int) {
		var b strings.Builder
		for _, r := range e.line[len(e.line)-n:] {
			b.WriteString(strings.Repeat("\b \b", columns(r)))
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
		for n > 0 && n < len(e.line) && columns(e.line[len(e.line)-n]) == 0 { // marks go with their letter
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
		e.line = append(e.line, r)
		shown = string(r)
	}
	return shown, nil, false
}

// columns is how many cells of the terminal a letter takes.
func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
		return 2
	}
	return 1
}
