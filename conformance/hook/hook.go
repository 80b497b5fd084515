// Package hook has a program that follows with package present be judged by "aaep conformance
// subscriber": it tells the suite what the person gets, and answers as the suite's user does.
//
//	judged := &hook.Hook{} // over standard input and output
//	go func() { gone(person.Run(ctx, judged.Output(voice))) }()
//	go func() { gone(judged.Obey(ctx, sub, person)) }()
//
// A program does that in place of reading its own keys, where a flag or its environment asks for
// it. What is sent and presented is the program's own all the same. docs/conformance.md has the
// lines that go to and fro. Obey is a goroutine of its own; what it shares with the output is
// guarded by Hook.mu.
package hook

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// fastest is the pace, in words a minute, of an output that is none, such as that of Output(nil).
const fastest = 1400

// lookAfter is how long Obey waits until it looks again whether an answer can be given. It is
// longer than two presses of a switch are apart.
const lookAfter = 250 * time.Millisecond

// hadFor is how long the person has had a question until Obey answers it.
const hadFor = time.Second

// Lines carries the lines of the hook, as a conformance.Hook does within one process.
type Lines interface {
	Next(ctx context.Context) ([]byte, error) // waits for what the user does next
	Tell(line []byte)                         // tells what is presented
}

// Hook tells a suite what a person gets over one output, and does what the suite's user does. The
// zero Hook uses standard input and output.
type Hook struct {
	Lines Lines
	// Switches has Obey answer by announce.Step and announce.Select alone, as a person with one or
	// two switches does.
	Switches bool

	standard sync.Once
	mu       sync.Mutex
	told     map[string]time.Time // when the newest words of each event were presented, by its id
}

// lines returns what carries the lines.
func (h *Hook) lines() Lines {
	h.standard.Do(func() {
		if h.Lines == nil {
			h.Lines = &streams{in: bufio.NewReader(os.Stdin), out: os.Stdout}
		}
	})
	return h.Lines
}

// streams are the lines of a program that the suite starts.
type streams struct {
	in  *bufio.Reader
	mu  sync.Mutex
	out io.Writer
}

// Next returns the next line of the suite, or io.EOF. It waits for it also where ctx is done, which
// the program that ends then need not wait for.
func (s *streams) Next(context.Context) ([]byte, error) { return s.in.ReadBytes('\n') }

// Tell writes a line to the suite.
func (s *streams) Tell(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Write(append(line[:len(line):len(line)], '\n'))
}

// Output returns an output that tells the suite each utterance, and presents it over out. Where
// that is nil it presents nothing, and takes as long as a very fast voice.
func (h *Hook) Output(out present.Output) present.Output { return output{h, out} }

type output struct {
	h   *Hook
	out present.Output
}

// Present tells the suite an utterance, presents it, and notes when that was over.
func (o output) Present(ctx context.Context, u announce.Utterance) error {
	if u.Event != nil {
		kind := string(u.Kind)
		if u.Critical {
			kind = "critical " + kind
		}
		o.h.tell(map[string]string{"event_id": u.Event.EventID, "text": u.Text, "kind": kind, "language": u.Language})
	}
	if err := o.present(ctx, u); err != nil {
		return err
	}
	if u.Event != nil {
		o.h.mu.Lock()
		defer o.h.mu.Unlock()
		if o.h.told == nil {
			o.h.told = map[string]time.Time{}
		}
		o.h.told[u.Event.EventID] = time.Now()
	}
	return nil
}

// present presents an utterance over the program's output.
func (o output) present(ctx context.Context, u announce.Utterance) error {
	if o.out != nil {
		return o.out.Present(ctx, u)
	}
	select {
	case <-time.After(u.Duration(fastest)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Speaks says what the program's output says; without one that it has every language.
func (o output) Speaks(language string) bool { return o.out == nil || o.out.Speaks(language) }

// Close closes the program's output.
func (o output) Close() error {
	if o.out == nil {
		return nil
	}
	return o.out.Close()
}

// Wordless reports whether the program's output tells no words.
func (o output) Wordless() bool {
	felt, ok := o.out.(interface{ Wordless() bool })
	return ok && felt.Wordless()
}

// OnResume is that of the program's output, where that has it.
func (o output) OnResume(do func()) {
	if r, ok := o.out.(interface{ OnResume(do func()) }); ok {
		r.OnResume(do)
	}
}

// tell tells the suite an object.
func (h *Hook) tell(object map[string]string) {
	if line, err := json.Marshal(object); err == nil {
		h.lines().Tell(line)
	}
}

// Logger returns a logger for subscriber.Config.Logger, of which the suite gets the lines.
func (h *Hook) Logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(logWriter{h}, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.MessageKey {
				a.Key = "log"
			}
			return a
		}}))
}

type logWriter struct{ h *Hook }

// Write tells the suite a line of the log.
func (w logWriter) Write(line []byte) (int, error) {
	w.h.lines().Tell(line[:max(len(line)-1, 0)])
	return len(line), nil
}

// act is what the suite's user does.
type act struct {
	EventID   string         `json:"event_id"`
	Decision  aaep.Decision  `json:"decision"`
	Response  any            `json:"response"`
	Verbosity aaep.Verbosity `json:"verbosity"`
	Quit      bool           `json:"quit"`
}

// Obey does what the suite's user does, until they quit, which is nil, there are no more lines, or
// ctx is done: it gives their answers to person.Answer, as a person would type them, once the
// question was had, and asks the agent of sub for other words. The program ends when it returns.
func (h *Hook) Obey(ctx context.Context, sub *subscriber.Subscription, person *present.Presenter) error {
	acts, over := make(chan act), make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { over <- h.readActs(ctx, acts) }()
	var wanted *act // the newest answer that has not been given
	for {
		select {
		case err := <-over:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case a := <-acts:
			if a.Verbosity != "" {
				_, _ = sub.Renegotiate(ctx, aaep.Capabilities{PreferredVerbosity: a.Verbosity}) // the terms stay where it is refused
				continue
			}
			wanted = &a
		case <-time.After(lookAfter):
		}
		if wanted != nil && h.isDone(person, *wanted) {
			wanted = nil
		}
	}
}

// readActs hands on what the user does, until they quit, there are no more lines or ctx is done.
func (h *Hook) readActs(ctx context.Context, acts chan<- act) error {
	for {
		line, err := h.lines().Next(ctx)
		if err != nil {
			return err
		}
		var a act
		if json.Unmarshal(line, &a) != nil {
			continue
		}
		if a.Quit {
			return nil
		}
		select {
		case acts <- a:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isDone gives an answer, or the next press of a switch for it, if the person has had the question,
// and reports whether nothing is left to do: it was given, or another question is put.
func (h *Hook) isDone(person *present.Presenter, a act) bool {
	h.mu.Lock()
	told := h.told[a.EventID]
	h.mu.Unlock()
	if told.IsZero() {
		return false
	}
	if _, question, _, _ := person.OpenQuestion(); question == nil || question.EventID != a.EventID {
		return true
	}
	if !h.Switches {
		if time.Since(told) < hadFor {
			return false
		}
		person.Answer(a.typed())
		return true
	}
	var value any = a.Decision
	if a.Response != nil {
		value = a.Response
	}
	var press string
	person.Plan(func(a *announce.Announcer, now time.Time) { press = a.PressFor(now, value) })
	if press != "" {
		person.Answer(press)
	}
	return false
}

// typed returns an answer as a person would type it.
func (a act) typed() string {
	switch r := a.Response.(type) {
	case bool:
		if r {
			return "yes"
		}
		return "no"
	case float64:
		return strconv.FormatFloat(r, 'f', -1, 64)
	case string:
		return r
	}
	return string(a.Decision)
}
