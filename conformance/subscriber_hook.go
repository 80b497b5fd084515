package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// Hook is how the runner learns what a person gets, and does what that person would. Both ways it
// is one JSON object in a line; what a target must tell and do is in docs/conformance.md. A target
// without it can still be judged by what it sends, and the cases that need more are inconclusive.
type Hook struct {
	recorder *recorder
	acts     chan []byte
	lines    atomic.Int64
	oddLine  sync.Once // for the first line that is none of the hook's

	mu    sync.Mutex
	texts map[string]string // what was presented, by event
}

// newHook returns the hook of one scenario run. Its acts are buffered, so that the runner never
// waits for a target that reads none.
func newHook(t *recorder) *Hook {
	return &Hook{recorder: t, acts: make(chan []byte, 64), texts: map[string]string{}}
}

// hookLink is the Entry.Link of what passes the hook.
const hookLink = -1

// quitAct is what the user does to end the target.
var quitAct = object{"quit": true}

const (
	maxHookLine  = 256 << 10 // bytes of a line that is kept
	maxHookLines = 3000      // lines that are kept of a scenario run
)

// Tell takes a line from the target: {"event_id":"evt_…","text":"…","kind":"…"} for what it
// presents, {"log":"…"} for what an operator can read. Lines that are neither are ignored, so that
// a program may print other things too.
func (h *Hook) Tell(line []byte) {
	var o object
	if len(line) > maxHookLine || jsonv2.Unmarshal(line, &o) != nil {
		h.noteOddLine(line)
		return
	}
	id, presents := o["event_id"].(string)
	_, logs := o["log"].(string)
	if (presents || logs) && h.lines.Add(1) <= maxHookLines {
		h.mu.Lock() // a scenario run may end as soon as it is seen, and then it must be in the recording
		defer h.mu.Unlock()
		if text, _ := o["text"].(string); text != "" {
			h.texts[id] += text + " "
		}
		h.recorder.addEntry(Entry{Link: hookLink, Data: append([]byte{}, line...)})
		return
	}
	h.noteOddLine(line)
}

// noteOddLine keeps what a target printed that is not of the hook. Programs may; but one that
// prints nothing else has misunderstood it.
func (h *Hook) noteOddLine(line []byte) {
	if text := strings.TrimSpace(strings.ToValidUTF8(string(line[:min(len(line), 100)]), "\uFFFD")); text != "" {
		h.oddLine.Do(func() {
			h.recorder.addEntry(Entry{Link: hookLink, Note: noteOddLine + quoteText(text)})
		})
	}
}

const noteOddLine = "the target prints lines, but none that has an event_id and is one JSON object, or a log: the first is "

// Next returns what the user does next, as JSON without a line end. It waits for that until ctx
// ends, with ctx's error. A program for a subscriber of another language calls it in a loop.
func (h *Hook) Next(ctx context.Context) ([]byte, error) {
	select {
	case act := <-h.acts:
		return act, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// presentedText returns all that was presented of an event so far.
func (h *Hook) presentedText(eventID string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.texts[eventID]
}

// isUsed reports whether the target has used the hook in this scenario run.
func (h *Hook) isUsed() bool {
	return h.lines.Load() > 0
}

// presentedLines returns the lines by which the target said that it presented text of an event, in
// order; nil where there are none.
func (r *Recording) presentedLines(eventID string) (list []message) {
	for _, m := range r.messagesOn(hookLink, false) {
		if _, ok := m.members["text"].(string); ok && m.stringMember("event_id") == eventID {
			list = append(list, m)
		}
	}
	return list
}

// CommandSubscriber starts a program for every scenario run, with URL as its last argument. What it
// prints is told to the hook, line by line, and what the user does is written to its standard
// input. A program that does not use the hook is ended by a signal where it should end by itself;
// at the end of a scenario run every program is killed. What it said last on its standard error is
// in the error of one that fails.
type CommandSubscriber struct {
	Command []string
	URL     string
	// Stderr gets what the program says beside; nil discards it.
	Stderr io.Writer
}

// Run runs the subscriber's program to its end: the user's acts go to its standard input, and lines
// of its standard output are what it presents. It ends with the program; the error is how that
// failed, with its last line. On ctx's end the program is killed. SIGTERM is how a program that
// does not use the hook is told to quit.
func (s CommandSubscriber) Run(ctx context.Context, h *Hook) error {
	if len(s.Command) == 0 {
		return errors.New("there is no command")
	}
	ctx, stop := context.WithCancel(ctx)
	var writing sync.WaitGroup
	defer writing.Wait()
	defer stop()
	cmd := exec.CommandContext(ctx, s.Command[0], append(s.Command[1:len(s.Command):len(s.Command)], s.URL)...)
	cmd.WaitDelay = time.Second // what it started may still hold its output
	last := &lastLine{also: s.Stderr}
	cmd.Stderr = last
	out := &lineWriter{line: h.Tell}
	cmd.Stdout = out
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	writing.Go(func() {
		defer in.Close()
		for {
			act, err := h.Next(ctx)
			if err != nil {
				return
			}
			if bytes.Equal(act, encodeObject(quitAct)) && !h.isUsed() && runtime.GOOS != "windows" {
				_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
				continue
			}
			if _, err := in.Write(append(act, '\n')); err != nil {
				return // it reads no more
			}
		}
	})
	err = cmd.Wait()
	out.flushLine()
	if said := last.String(); err != nil && said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// lastLine keeps the end of what is written.
type lastLine struct {
	also io.Writer // nil is none
	tail []byte
}

// Write keeps the last KiB of what is written, for the error of a program that fails, and passes
// all on to w.also, if there is one.
func (w *lastLine) Write(b []byte) (int, error) {
	const most = 1 << 10
	w.tail = append(w.tail, b[max(0, len(b)-most):]...)
	w.tail = w.tail[max(0, len(w.tail)-most):]
	if w.also != nil {
		return w.also.Write(b)
	}
	return len(b), nil
}

// String returns the last line that was written and is not empty, printable.
func (w *lastLine) String() string {
	all := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(w.tail), "\uFFFD")), "\n")
	last := all[len(all)-1]
	return oneLine(last[:min(len(last), 300)])
}

// lineWriter cuts what is written into lines. A line that is too long is lost.
type lineWriter struct {
	line    func([]byte)
	rest    []byte
	tooLong bool
}

// Write calls line for each whole line, without its end; a line of more than maxHookLine bytes is
// dropped. Its error is always nil.
func (w *lineWriter) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, after, whole := bytes.Cut(b, []byte("\n"))
		if w.tooLong = w.tooLong || len(w.rest)+len(line) > maxHookLine; !w.tooLong {
			w.rest = append(w.rest, line...)
		}
		if !whole {
			return n, nil
		}
		w.flushLine()
		b = after
	}
}

// flushLine hands on the line that has been gathered, unless it was too long.
func (w *lineWriter) flushLine() {
	if len(w.rest) > 0 && !w.tooLong {
		w.line(w.rest)
	}
	w.rest, w.tooLong = w.rest[:0], false
}

// HTTPHook is a hook for a target that the runner cannot start, such as a screen reader that runs
// already. The target must come again after each scenario run. It POSTs its lines to
// {path}/presented, and GETs {path}/user, which is answered with what the user does next, or with
// 204 after a while.
type HTTPHook struct {
	mu   sync.Mutex
	hook *Hook // of the scenario run that is run
}

// Run connects the HTTP handler to the hook of one scenario run until ctx ends. It starts no
// subscriber: that was started by its user.
func (s *HTTPHook) Run(ctx context.Context, h *Hook) error {
	set := func(h *Hook) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hook = h
	}
	set(h)
	defer set(nil)
	<-ctx.Done()
	return nil
}

const (
	userWait     = 20 * time.Second       // that a GET waits for the user
	betweenPlays = 100 * time.Millisecond // that it waits for the next scenario run
)

// ServeHTTP serves POST presented and GET user, whatever the path before their names. GET user
// waits up to userWait for the user's next act, and then has no content. Between two scenario runs,
// both have no content.
func (s *HTTPHook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h := s.hook
	s.mu.Unlock()
	w.Header().Set("Cache-Control", "no-store")
	switch _, name := path.Split(r.URL.Path); {
	case h == nil: // between two scenario runs
		select {
		case <-time.After(betweenPlays):
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNoContent)
	case name == "presented" && r.Method == http.MethodPost:
		body, err := io.ReadAll(io.LimitReader(r.Body, maxHookLine))
		if err != nil {
			http.Error(w, "the lines did not arrive whole", http.StatusBadRequest)
			return
		}
		lines := &lineWriter{line: h.Tell}
		lines.Write(body)
		lines.flushLine()
		w.WriteHeader(http.StatusNoContent)
	case name == "user" && r.Method == http.MethodGet:
		ctx, cancel := context.WithTimeout(r.Context(), userWait)
		defer cancel()
		act, err := h.Next(ctx)
		if err != nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(append(act, '\n'))
	default:
		http.Error(w, "POST presented, or GET user", http.StatusNotFound)
	}
}
