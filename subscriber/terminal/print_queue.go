package terminal

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/aaep-go/aaep/internal/phrase"
)

// A terminal that is stopped, as by Ctrl-S, and a pipe that nothing reads hold up what writes to
// them for as long as that lasts. So one goroutine prints, in the order in which it was asked to,
// and only Present and Flush wait for it: neither the keys, nor what others print on Out and Talk.
// What waits is bounded. How many lines found no room is said, in their place, when there is room.

// mostWaiting is how much of what others print waits for the terminal, in bytes, and how much of
// what is typed waits to be shown, in keys.
const mostWaiting = 64 << 10

// printJob is something to print: a text or keys. One with neither marks a place in the queue.
type printJob struct {
	out  *outlet
	text []byte
	keys []rune
	done chan error // gets what came of it and has room for that; nil where nothing waits for it
}

// printQueue prints for a Terminal. Its methods may be called at once.
type printQueue struct {
	screen func() io.Writer // returns where keys can be shown, or nil while they cannot
	ending <-chan struct{}  // is closed when the program is to end
	talk   *outlet          // where the queue says how much was left out

	mu       sync.Mutex
	jobs     []*printJob // those that are not begun
	bytes    int         // of all texts that nothing waits for, with that which is being printed
	keys     int         // of all jobs that are not begun
	runs     bool        // printJobs does
	leftOut  int         // lines that found no room, and of which that was not said
	keysLost bool        // keys found no room; those up to the next Enter are not shown
	language string      // in which leftOut is said; empty is English

	// printJobs alone uses what follows.
	typed  editor // the line that is being typed, as far as it was shown
	hidden bool   // it stands above something that was printed since
}

// outlet is where others print.
type outlet struct {
	queue    *printQueue
	w        io.Writer
	isScreen bool  // what is printed begins on a line of its own, also while a line is being typed
	err      error // of the first Write of w that failed; queue.mu guards it
}

// newOutlet returns an outlet on w, which is the screen where it is a terminal.
func (q *printQueue) newOutlet(w io.Writer) *outlet {
	file, ok := w.(*os.File)
	return &outlet{queue: q, w: w, isScreen: ok && term.IsTerminal(int(file.Fd()))}
}

// Write takes what is to be printed, and waits for nothing. An error is that of an earlier Write.
// Beyond mostWaiting bytes that are not printed yet it leaves the text out, and how many lines that
// were is printed later.
func (o *outlet) Write(b []byte) (int, error) {
	q := o.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case o.err != nil:
		return 0, o.err
	case q.leftOut > 0 || q.bytes > 0 && q.bytes+len(b) > mostWaiting:
		q.leftOut += max(bytes.Count(b, []byte("\n")), 1)
	default:
		q.bytes += len(b)
		q.addJob(&printJob{out: o, text: bytes.Clone(b)})
	}
	return len(b), nil
}

// addJob has a job done after all others. It is called with q.mu held.
func (q *printQueue) addJob(job *printJob) {
	q.jobs = append(q.jobs, job)
	if !q.runs {
		q.runs = true
		go q.printJobs()
	}
}

// showKey queues a key of the line that is being typed to be shown, and waits for nothing. Beyond
// mostWaiting keys it drops them, up to the next Enter.
func (q *printQueue) showKey(key rune) {
	q.mu.Lock()
	defer q.mu.Unlock()
	isFull, isEnter := q.keys >= mostWaiting, key == '\n' || key == '\r'
	if q.keysLost = isFull || q.keysLost && !isEnter; q.keysLost {
		return
	}
	q.keys++
	if n := len(q.jobs); n > 0 && q.jobs[n-1].keys != nil {
		q.jobs[n-1].keys = append(q.jobs[n-1].keys, key)
		return
	}
	q.addJob(&printJob{keys: []rune{key}})
}

// do has a job done after all others, and returns what came of it. A job that is not begun when ctx
// is done is dropped, with the error of ctx. Once the program is to end, do waits for a second more
// and returns errUnread after that; what was begun may still be printed then.
func (q *printQueue) do(ctx context.Context, job *printJob) error {
	job.done = make(chan error, 1)
	q.mu.Lock()
	q.addJob(job)
	q.mu.Unlock()
	select {
	case err := <-job.done:
		return err
	case <-ctx.Done():
		if q.dropJob(job) {
			return ctx.Err()
		}
	case <-q.ending:
	}
	select {
	case err := <-job.done:
		return err
	case <-q.ending:
	}
	select {
	case err := <-job.done:
		return err
	case <-time.After(time.Second):
		q.dropJob(job)
		return errUnread
	}
}

// dropJob drops a job that printJobs has not begun, and reports whether it did. Any goroutine may
// call it.
func (q *printQueue) dropJob(job *printJob) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.jobs, job)
	if i >= 0 {
		q.jobs = slices.Delete(q.jobs, i, i+1)
	}
	return i >= 0
}

// errUnread is of what nothing read until the program was to end: as of a pipe whose reader has
// gone.
var errUnread = fmt.Errorf("nothing reads what is printed: %w", io.ErrClosedPipe)

// printJobs does the jobs until there are none, and then says how many lines were left out
// meanwhile. It waits for the terminal, however long that is. addJob starts it as a goroutine where
// none runs.
func (q *printQueue) printJobs() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.jobs) > 0 {
		job := q.jobs[0]
		q.jobs[0], q.jobs = nil, q.jobs[1:]
		q.keys -= len(job.keys)
		q.mu.Unlock()
		err := q.printJob(job)
		q.mu.Lock()
		if job.out != nil {
			job.out.err = cmp.Or(job.out.err, err)
		}
		if job.done != nil {
			job.done <- err
			continue
		}
		q.bytes -= len(job.text)
		if q.bytes == 0 && q.leftOut > 0 {
			text := label + phrase.Counted(q.language, phrase.LinesLeftOut, q.leftOut, "line") + "\n"
			q.leftOut, q.bytes = 0, len(text)
			q.jobs = slices.Insert(q.jobs, 0, &printJob{out: q.talk, text: []byte(text)})
		}
	}
	q.runs = false
}

// printJob does one job: it shows keys, or writes text, in front of which a line that is being
// typed ends. The error is that of the write. Only printJobs calls it, with q.mu not held.
func (q *printQueue) printJob(job *printJob) error {
	screen := q.screen()
	switch {
	case job.keys != nil:
		q.printKeys(screen, job.keys)
		return nil
	case job.out == nil:
		return nil
	case job.out.isScreen && screen != nil && len(q.typed.line) > 0 && !q.hidden:
		q.hidden = true
		io.WriteString(screen, "\n")
	}
	_, err := job.out.w.Write(job.text)
	return err
}

// printKeys shows what keys put on the screen, and keeps the line that is typed so far. A line
// below which something was printed is shown anew, so that a screen reader and a braille display
// find it whole in one line. A nil screen shows nothing.
func (q *printQueue) printKeys(screen io.Writer, keys []rune) {
	var shows bytes.Buffer
	for _, key := range keys {
		shown, line, _ := q.typed.handleKey(key)
		if screen == nil {
			continue
		}
		if q.hidden && shown != "" {
			q.hidden = false
			shown = string(q.typed.line) // also where some of it was taken back
			if line != nil {
				shown = *line + "\n"
			}
		}
		shows.WriteString(shown)
	}
	if screen != nil {
		screen.Write(shows.Bytes())
	}
}
