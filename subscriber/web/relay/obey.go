package relay

import (
	"context"
	"errors"
	"io"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/subscriber"
)

// A question may be answered while there is room for it: as many of them as events that a page may have missed.
type question struct {
	event *aaep.Event
	token aaep.ReplyToken
	size  int
}

// ask remembers a question, and forgets those of a session that is over.
func (v *visit) ask(ev *aaep.Event, size int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ev.Type().Terminal() {
		v.asked = slices.DeleteFunc(v.asked, func(q question) bool { return q.event.SessionID == ev.SessionID })
	}
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		v.asked = append(v.asked, question{ev, p.ReplyToken, size})
	case *aaep.AwaitingClarification:
		v.asked = append(v.asked, question{ev, p.ReplyToken, size})
	}
	bytes := 0
	for i, q := range slices.Backward(v.asked) {
		if bytes += q.size; bytes > keptBytes && i < len(v.asked)-1 || len(v.asked)-i > keptCount {
			v.asked = slices.Delete(v.asked, 0, i+1)
			return
		}
	}
}

// obey passes on what the page says, and returns why no more can be. What was answered may have arrived or not when that
// failed: a new subscription is told whether the question is still open.
func (v *visit) obey(ctx context.Context) error {
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
			err = v.sub.Reply(ctx, v.question(m.ReplyToken), m.Decision)
		case *aaep.ClarificationReply:
			err = v.sub.Answer(ctx, v.question(m.ReplyToken), m.Response)
		case *aaep.SubscriptionRenegotiate:
			err = v.renegotiate(ctx, m.Capabilities)
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

func (v *visit) question(token aaep.ReplyToken) *aaep.Event {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, q := range slices.Backward(v.asked) {
		if q.token == token {
			return q.event
		}
	}
	return nil
}

// renegotiate asks for other terms, or for more time, and tells the page what holds then.
func (v *visit) renegotiate(ctx context.Context, wanted aaep.Capabilities) error {
	var timing extensions.Timing
	data := wanted.Extensions[extensions.TimingVocabulary.Prefix]
	if data != nil && jsonv2.Unmarshal(data, &timing) == nil && timing.MoreTimeFor != "" {
		err := v.sub.MoreTime(ctx, v.question(timing.MoreTimeFor))
		if err != nil && !errors.Is(err, subscriber.ErrNoMoreTime) && !errors.Is(err, subscriber.ErrUnknownEvent) {
			return err
		}
		return v.accept(ctx)
	}
	if _, err := v.sub.Renegotiate(ctx, wanted.With(v.r.cfg.Capabilities)); err != nil {
		var refused *aaep.Rejection
		if errors.As(err, &refused) {
			send(ctx, v.conn, refusal(err))
		}
		return err
	}
	return v.accept(ctx)
}
