package subscriber

import (
	"context"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/closes"
)

// ErrNoMoreTime is returned by MoreTime where the producer gives no more time.
var ErrNoMoreTime = closes.ErrNoMoreTime

// MoreTime asks for as much time again to answer a question, on behalf of a user who needs it. A
// producer of this SDK gives it ten times (WCAG 2.2.1), and tells how much there is in an event;
// one that does not know the timing extension gives none, which is ErrNoMoreTime. What Renegotiate
// says of errors holds here too.
func (q *Question) MoreTime(ctx context.Context) error {
	if q == nil || q.sub == nil {
		return ErrUnknownEvent
	}
	s := q.sub
	s.mu.Lock()
	pending := s.findPending(q.Event)
	isAnswered := pending != nil && pending.answered
	declared := s.wanted.Extensions[extensions.TimingVocabulary.Prefix]
	s.mu.Unlock()
	switch {
	case pending == nil:
		return ErrUnknownEvent
	case isAnswered:
		return errAnswered
	}
	token, _ := closes.Token(q.Event)
	var timing extensions.Timing
	if declared != nil {
		if err := extensions.TimingVocabulary.Read(declared, &timing); err != nil {
			return err
		}
	}
	lasting, err := declareTiming(timing)
	if err != nil {
		return err
	}
	timing.MoreTimeFor = token
	change, err := declareTiming(timing)
	if err != nil {
		return err
	}

	accepted, err := s.renegotiateTerms(ctx, change, lasting)
	if err != nil {
		return err
	}
	var honored extensions.Timing
	data := accepted.HonoredCapabilities.Extensions[extensions.TimingVocabulary.Prefix]
	isGranted := data != nil && extensions.TimingVocabulary.Read(data, &honored) == nil && honored.MoreTimeFor == token
	if !isGranted {
		return ErrNoMoreTime
	}
	s.mu.Lock()
	pending.time.grants++
	s.mu.Unlock()
	return nil
}

// declareTiming returns terms that have the timing extension and nothing else.
func declareTiming(t extensions.Timing) (aaep.Capabilities, error) {
	data, err := jsonv2.Marshal(t)
	return aaep.Capabilities{Extensions: map[string]json.RawMessage{extensions.TimingVocabulary.Prefix: data}}, err
}
