package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber"
)

// garbled are messages of an agent that are not valid, and so told as no event.
type garbled struct {
	came chan error      // what was wrong with each; what does not fit in is one too many to be told of
	told map[string]bool // the kinds that were told of
}

func newGarbled() garbled { return garbled{make(chan error, 64), map[string]bool{}} }

// note takes one from the goroutine that reads the link.
func (g garbled) note(err error) {
	select {
	case g.came <- err:
	default:
	}
}

// watchGarbled lets the listener know of them until ctx is done.
func (f *following) watchGarbled(ctx context.Context) {
	for {
		select {
		case err := <-f.garbled.came:
			f.post(ctx, func() { f.tellGarbled(err) })
		case <-ctx.Done():
			return
		}
	}
}

// tellGarbled says that something is missing, once for each kind of message. A person must know that they were asked
// something, though they cannot answer what is not whole.
func (f *following) tellGarbled(err error) {
	if errors.Is(err, subscriber.ErrFlood) {
		f.note(f.phrase(phrase.AgentFloods, ""))
		return
	}
	kind := ""
	var invalid *aaep.InvalidError
	if errors.As(err, &invalid) {
		kind = invalid.Message
	}
	if f.garbled.told[kind] || len(f.garbled.told) > 32 {
		return
	}
	f.garbled.told[kind] = true
	what, why := phrase.MessageLeftOut, problem(err)
	switch {
	case strings.HasSuffix(kind, ".awaiting.confirmation"), strings.HasSuffix(kind, ".awaiting.clarification"):
		what = phrase.QuestionLeftOut
	case kind != "":
		why = embedded(kind) + ", " + why
	}
	f.note(words.Sentence(f.phrase(what, why)))
}

// problem is the first thing that is wrong with a message.
func problem(err error) string {
	var invalid *aaep.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Violations) == 0 {
		return plainError(err)
	}
	v := invalid.Violations[0]
	return words.OneLine(strings.TrimSpace(strings.NewReplacer("_", " ", "/", " ").Replace(v.Pointer) + " " + v.Problem))
}
