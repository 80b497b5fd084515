package listen

import (
	"context"
	"errors"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber"
)

// invalidMessages are messages of an agent that are not valid, and so are no events. The goroutine
// that reads the link fills it, and the listener's loop empties it.
type invalidMessages struct {
	came chan error      // what was wrong with each; what does not fit in is one too many to be told of
	told map[string]bool // the kinds that were told of
}

// newInvalidMessages returns an empty queue of errors of messages.
func newInvalidMessages() invalidMessages {
	return invalidMessages{make(chan error, 64), map[string]bool{}}
}

// noteInvalid takes the error of one message. It never blocks the goroutine that reads the link.
func (g invalidMessages) noteInvalid(err error) {
	select {
	case g.came <- err:
	default:
	}
}

// watchInvalid has the listener's loop announce the messages that could not be read, until ctx is
// done. It is a goroutine of its own.
func (f *FollowedAgent) watchInvalid(ctx context.Context) {
	for {
		select {
		case err := <-f.invalid.came:
			f.runInLoop(ctx, func() { f.announceInvalid(err) })
		case <-ctx.Done():
			return
		}
	}
}

// announceInvalid says that something is missing, once for each kind of message. A person must know
// that they were asked something, though they cannot answer what is not whole.
func (f *FollowedAgent) announceInvalid(err error) {
	if errors.Is(err, subscriber.ErrFlood) {
		f.informOfLink(f.PhraseText(phrase.AgentFloods, ""))
		return
	}
	kind := ""
	var invalid *aaep.InvalidError
	if errors.As(err, &invalid) {
		kind = invalid.Message
	}
	if f.invalid.told[kind] || len(f.invalid.told) > 32 {
		return
	}
	f.invalid.told[kind] = true
	id, problem := phrase.MessageLeftOut, firstProblem(err)
	switch {
	case strings.HasSuffix(kind, ".awaiting.confirmation"), strings.HasSuffix(kind, ".awaiting.clarification"):
		id = phrase.QuestionLeftOut
	case kind != "":
		problem = embedPeerText(kind) + ", " + problem
	}
	f.informOfLink(words.Sentence(f.PhraseText(id, problem)))
}

// firstProblem returns the first violation of an invalid message, in words, for a person; of any
// other error its plain words.
func firstProblem(err error) string {
	var invalid *aaep.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Violations) == 0 {
		return exits.PlainError(err)
	}
	v := invalid.Violations[0]
	return words.OneLine(strings.TrimSpace(strings.NewReplacer("_", " ", "/", " ").Replace(v.Pointer) + " " +
		v.Problem))
}
