package relay

import (
	"context"
	"errors"
	"io"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/subscriber"
)

// A question may be answered while there is room for it: as many are kept as events that a page may
// have missed.
type question struct {
	event *aaep.Event
	token aaep.ReplyToken
	size  int
}

// rememberQuestion keeps the question of an event, which takes size bytes, so that the page can
// answer it, and drops those of a session that has ended; any other event changes nothing. Beyond
// maxKeptEvents or maxKeptBytes the oldest go, but not the newest. keepFrame calls it; it takes
// v.mu.
func (v *visit) rememberQuestion(ev *aaep.Event, size int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ev.Type().Terminal() {
		v.questions = slices.DeleteFunc(v.questions, func(q question) bool { return q.event.SessionID == ev.SessionID })
	}
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		v.questions = append(v.questions, question{ev, p.ReplyToken, size})
	case *aaep.AwaitingClarification:
		v.questions = append(v.questions, question{ev, p.ReplyToken, size})
	}
	bytes := 0
	for _, q := range v.questions {
		bytes += q.size
	}
	for len(v.questions) > 1 && (len(v.questions) > maxKeptEvents || bytes > maxKeptBytes) {
		bytes -= v.questions[0].size
		v.questions = v.questions[1:]
	}
}

// forwardReplies passes on what the page sends, and returns why no more can be: io.EOF where the
// page closes its subscription. An answer to a question that is not open any more is dropped:
// events tell what came of it. A reply may have arrived or not when that failed: a new subscription
// learns whether the question is still open.
func (v *visit) forwardReplies(ctx context.Context) error {
	for {
		data, err := v.conn.Receive(ctx)
		if err != nil {
			return err
		}
		m, err := aaep.Decode(data)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *aaep.ConfirmationReply:
			err = replies.Send(ctx, v.sub.Question(v.findQuestion(m.ReplyToken)), m.Decision, nil)
		case *aaep.ClarificationReply:
			err = replies.Send(ctx, v.sub.Question(v.findQuestion(m.ReplyToken)), "", m.Response)
		case *aaep.SubscriptionRenegotiate:
			err = v.renegotiateTerms(ctx, m.Capabilities)
		case *aaep.SubscriptionClose:
			return io.EOF
		default:
			err = errMisfit
		}
		if err != nil && !errors.Is(err, subscriber.ErrUnknownEvent) { // which is answered, or over: events tell what came of it
			return err
		}
	}
}

// findQuestion returns the event that asked with a token, the newest if there are several, or nil.
// It takes v.mu.
func (v *visit) findQuestion(token aaep.ReplyToken) *aaep.Event {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, q := range slices.Backward(v.questions) {
		if q.token == token {
			return q.event
		}
	}
	return nil
}

// renegotiateTerms asks the agent for other terms, or, where they hold that wish, only for more
// time to answer, and sends the page the terms that hold then. A refusal of other terms is sent to
// the page and returned; that there is no more time is neither. forwardReplies calls it.
func (v *visit) renegotiateTerms(ctx context.Context, wanted aaep.Capabilities) error {
	var timing extensions.Timing
	data := wanted.Extensions[extensions.TimingVocabulary.Prefix]
	asksMoreTime := data != nil && jsonv2.Unmarshal(data, &timing) == nil && timing.MoreTimeFor != ""
	if asksMoreTime {
		err := v.sub.Question(v.findQuestion(timing.MoreTimeFor)).MoreTime(ctx)
		if err != nil && !errors.Is(err, subscriber.ErrNoMoreTime) && !errors.Is(err, subscriber.ErrUnknownEvent) {
			return err
		}
		return v.sendAccepted(ctx)
	}
	if _, err := v.sub.Renegotiate(ctx, wanted.With(v.r.cfg.Capabilities)); err != nil {
		var refused *aaep.Rejection
		if errors.As(err, &refused) {
			sendMessage(ctx, v.conn, rejectionOf(err))
		}
		return err
	}
	return v.sendAccepted(ctx)
}
