// Package terminal presents as lines that stay, and hands on what a person types: an output for
// package present, for people who read with a screen reader, a braille display or their eyes.
//
//	t := terminal.Open(ctx, os.Stdin, os.Stdout, os.Stderr)
//	defer t.Close()
//	person := present.New(announce.Preferences{Reads: true, Unseen: t.Unseen})
//	go person.Run(ctx, t) // until the terminal is gone
//	go present.Follow(ctx, sub, "Planner", person)
//	t.Read(ctx, func(line terminal.Line) {
//		if !line.Key {
//			present.Answer(line.Began, line.Text, person)
//		}
//	})
//
// Lines are appended, and nothing else: no cursor is moved, but to take back a letter. Nothing of
// what a peer wrote reaches the terminal but as text. Whether an answer counts is the business of
// package announce; what counts of how it was typed is here.
package terminal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// Line is a line that a person typed, or a key of one that goes on.
type Line struct {
	Text string
	// Key says that this is a key that does not end a line; of it only the times are known.
	Key bool
	// At is when it was typed.
	At time.Time
	// Began is when the first key of the line was pressed, or, where keys are not seen, when the
	// line came. It is zero where the whole line was taken back.
	Began time.Time
	// Unseen says that the keys of the line were not seen one by one, so that it may have been
	// begun long before: it was pasted, typed ahead, or typed while this process did not run, or
	// comes from a program.
	Unseen bool
}

// Terminal is a terminal, or what stands for one: pipes and files. Its methods may be called at
// once.
type Terminal struct {
	// Out and Talk are where the lines of agents and those of this program go. What is printed on
	// them by others stands on lines of its own too, while a person types.
	Out, Talk io.Writer

	file     *os.File // nil is no terminal
	dumb     bool     // what is between it and the person hands on lines
	lines    <-chan Line
	label    string
	unseen   atomic.Bool // the keys of the line that Read hands on were not seen
	stopKeys func()
	closed   chan struct{}

	mu      sync.Mutex // guards how the terminal is set; nothing is printed while it is held
	screen  io.Writer  // while single keys are read, else nil
	restore func()
	done    bool // it is not taken any more

	printing sync.Mutex // is held while anything is printed, which may take long
	line     string     // that is being typed,
	hidden   bool       // and stands above something that was printed since
	ending   <-chan struct{}
}

// Open reads what is typed on in until ctx is done or Close is called, and prints on out, and on
// talk what the program says by itself. From a terminal it reads keys and shows them, as the
// terminal itself would; while that cannot be had, as in the background and where TERM is dumb, and
// from anything else, it reads lines.
func Open(ctx context.Context, in io.Reader, out, talk io.Writer) *Terminal {
	t := &Terminal{label: "aaep: ", closed: make(chan struct{}), stopKeys: func() {}, ending: ctx.Done()}
	t.Out, t.Talk = t.wrapWriter(out), t.wrapWriter(talk)
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		t.lines = readLines(ctx, in)
		return t
	}
	t.file, t.dumb = file, os.Getenv("TERM") == "dumb"
	t.takeTerminal()
	release := t.watchSuspension()
	running, stopped := &stalls{}, make(chan struct{})
	go running.watch(stopped)
	t.stopKeys = sync.OnceFunc(func() {
		close(stopped)
		release()
		t.releaseForGood()
	})
	context.AfterFunc(ctx, t.stopKeys) // a second Ctrl-C kills, and must not leave keys unseen
	t.lines = readKeys(ctx, file, t, running)
	return t
}

// wrapWriter returns a writer on which what is printed begins on a line of its own while a line is
// being typed, where w is a terminal.
func (t *Terminal) wrapWriter(w io.Writer) io.Writer {
	if file, ok := w.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return writer(func(b []byte) (int, error) { return t.write(w, b) })
	}
	return t.wrapScreen(w)
}

// errUnread is of what nothing read until the program was to end: as of a pipe whose reader has
// gone.
var errUnread = fmt.Errorf("nothing reads what is printed: %w", io.ErrClosedPipe)

// write writes to a terminal or a pipe, and waits until that takes it, however long that is. Once
// the program is to end it waits for a second more, and returns errUnread after that; the bytes may
// still be written then.
func (t *Terminal) write(w io.Writer, b []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	written := make(chan result, 1)
	b = bytes.Clone(b) // which may be written when the caller has gone on
	go func() {
		n, err := w.Write(b)
		written <- result{n, err}
	}()
	select {
	case done := <-written:
		return done.n, done.err
	case <-t.ending:
	}
	select {
	case done := <-written:
		return done.n, done.err
	case <-time.After(time.Second):
		return 0, errUnread
	}
}

// writer is a function that writes.
type writer func([]byte) (int, error)

func (f writer) Write(b []byte) (int, error) { return f(b) }

// Read calls do with each key, where keys are seen, and each line that is typed, one after the
// other, until the input ends, with true, or ctx does, with false.
func (t *Terminal) Read(ctx context.Context, do func(Line)) (ended bool) {
	for {
		select {
		case line, ok := <-t.lines:
			if !ok {
				return ctx.Err() == nil
			}
			t.unseen.Store(line.Unseen)
			do(line)
			t.unseen.Store(false)
		case <-ctx.Done():
			return false
		}
	}
}

// Attended reports whether a person can be at this terminal, because it is one.
func (t *Terminal) Attended() bool { return t.file != nil }

// keyScreen returns where the keys that are pressed now can be shown; nil is that they are not seen
// one by one.
func (t *Terminal) keyScreen() io.Writer {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen
}

// Unseen reports whether keys cannot be seen now, or were not of the line that Read hands on: it is
// for announce.Preferences.
func (t *Terminal) Unseen() bool { return t.keyScreen() == nil || t.unseen.Load() }

// Present prints a line. What an agent says goes to Out; what the program says to Talk, behind a
// label that no agent's text can have.
func (t *Terminal) Present(ctx context.Context, u announce.Utterance) error {
	select {
	case <-t.closed:
		return announce.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	out, label := t.Out, ""
	if u.Kind == announce.Notice {
		out, label = t.Talk, t.label
	}
	_, err := io.WriteString(out, label+aaep.SafeText(u.Text)+"\n")
	return err
}

// Speaks reports that text in any language can be printed.
func (t *Terminal) Speaks(string) bool { return true }

// Close gives the terminal back as it was.
func (t *Terminal) Close() error {
	t.stopKeys()
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.closed:
	default:
		close(t.closed)
	}
	return nil
}
