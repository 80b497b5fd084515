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
//
// What is printed and in which order is in print_queue.go, what is typed and taken back in
// keyboard.go.
package terminal

import (
	"cmp"
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
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
	// them by others stands on lines of its own too, while a person types. A Write waits for
	// nothing: where the terminal takes nothing, some lines wait, and of the others it is said
	// later how many were left out; see Flush. An error is that of an earlier Write.
	Out, Talk io.Writer

	out, talk *outlet // the same
	prints    *printQueue
	file      *os.File // nil is no terminal
	dumb      bool     // what is between it and the person hands on lines
	lines     <-chan Line
	unseen    atomic.Bool // the keys of the line that Read hands on were not seen
	stopKeys  func()
	closed    chan struct{}

	suspended sync.Mutex // is held from when the program is stopped until it goes on
	resumed   func()     // what OnResume set, or nil; guarded by mu

	mu      sync.Mutex // guards how the terminal is set
	screen  io.Writer  // while single keys are read, else nil
	restore func()
	done    bool // it is not taken any more
}

// Open reads what is typed on in until ctx is done or Close is called, and prints on out, and on
// talk what the program says by itself. From a terminal it reads keys and shows them, as the
// terminal itself would; while that cannot be had, as in the background and where TERM is dumb, and
// from anything else, it reads lines.
func Open(ctx context.Context, in io.Reader, out, talk io.Writer) *Terminal {
	t := newTerminal(ctx.Done(), out, talk)
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

// newTerminal returns a Terminal that prints and reads nothing; ending is closed when the program
// is to end.
func newTerminal(ending <-chan struct{}, out, talk io.Writer) *Terminal {
	t := &Terminal{closed: make(chan struct{}), stopKeys: func() {}}
	t.prints = &printQueue{screen: t.keyScreen, ending: ending}
	t.out, t.talk = t.prints.newOutlet(out), t.prints.newOutlet(talk)
	t.prints.talk, t.Out, t.Talk = t.talk, t.out, t.talk
	return t
}

// Read calls do with each key, where keys are seen, and each line that is typed, one after the
// other, until the input ends, with true, or ctx does, with false.
func (t *Terminal) Read(ctx context.Context, do func(Line)) (ended bool) {
	for {
		select {
		case line, ok := <-t.lines:
			if !ok {
				return ctx.Err() == nil
			}
			t.suspended.Lock() // a line that was typed since the program goes on comes after what that brings
			t.suspended.Unlock()
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

// OnResume has do called whenever the program goes on after it was stopped, as by Ctrl-Z and "fg",
// before Read hands on another line; nil ends that. Presenter.Run sets it.
func (t *Terminal) OnResume(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resumed = do
}

// noteResumed calls what OnResume set. watchSuspension calls it when the program goes on.
func (t *Terminal) noteResumed() {
	t.mu.Lock()
	do := t.resumed
	t.mu.Unlock()
	if do != nil {
		do()
	}
}

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

// label is what begins each line of this program. No agent's text can have it.
const label = "aaep: "

// Present prints a line, and returns when the terminal has taken it. What an agent says goes to
// Out; what the program says to Talk, behind a label that no agent's text can have.
func (t *Terminal) Present(ctx context.Context, u announce.Utterance) error {
	select {
	case <-t.closed:
		return announce.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	job := &printJob{out: t.out, text: []byte(aaep.SafeText(u.Text) + "\n")}
	if u.Kind == announce.Notice {
		job.out, job.text = t.talk, append([]byte(label), job.text...)
	}
	return t.prints.do(ctx, job)
}

// Flush returns once all that was printed before has been taken, with the first error of printing;
// or ctx is done, with its error. A program that ends calls it before Close.
func (t *Terminal) Flush(ctx context.Context) error {
	if err := t.prints.do(ctx, &printJob{}); err != nil {
		return err
	}
	t.prints.mu.Lock()
	defer t.prints.mu.Unlock()
	return cmp.Or(t.out.err, t.talk.err)
}

// SetLanguage says what the Terminal speaks by itself: the first of the person's languages that it
// knows; without one, English.
func (t *Terminal) SetLanguage(languages ...string) {
	t.prints.mu.Lock()
	defer t.prints.mu.Unlock()
	t.prints.language = phrase.Best(languages)
}

// Speaks reports that text in any language can be printed.
func (t *Terminal) Speaks(string) bool { return true }

// Close gives the terminal back as it was. What is still to be printed has a second to leave.
func (t *Terminal) Close() error {
	t.stopKeys()
	t.mu.Lock()
	select {
	case <-t.closed:
	default:
		close(t.closed)
	}
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	t.Flush(ctx)
	return nil
}
