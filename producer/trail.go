package producer

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/budget"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/producer/audit"
)

// ErrNotRecorded is returned by Tool, Confirm and Clarify where Config.Audit could not keep what must be on record
// first: nothing was run.
var ErrNotRecorded = errors.New("producer: it could not be recorded, and was not done")

// A trail writes the records of questions and deeds. Package audit says which must be kept before what.
type trail struct {
	sink   audit.Sink
	logger *slog.Logger
	lost   atomic.Int64 // records that could not be written
}

func (t *trail) record(r audit.Record) error {
	err := t.sink.Record(r)
	if err != nil {
		t.lost.Add(1)
		t.logger.Error("not recorded", "kind", r.Kind, "session_id", r.SessionID, "question_id", r.QuestionID, "error", err)
	}
	return err
}

// settled records an outcome, and whose reply it was where that is known; one that could not be recorded is a rejection.
func (t *trail) settled(out *ledger.Outcome, asked audit.Record, by *audit.Subscription) {
	r := audit.Record{Kind: audit.Settled, Time: out.At, SessionID: out.Question.SessionID, QuestionID: audit.QuestionID(out.Question.Token),
		Tool: asked.Tool, ToolCallID: asked.ToolCallID, ShownDigest: asked.ShownDigest,
		Cause: string(out.Cause), Decision: out.Decision, Response: out.Response}
	if by != nil && by.SubscriptionID == out.By {
		r.By = by
	}
	for _, who := range asked.Recipients {
		if who.SubscriptionID == out.By {
			r.By = &who
		}
	}
	if r.By == nil && out.By != "" { // who came later
		r.By = &audit.Subscription{SubscriptionID: out.By, Principal: out.Principal}
	}
	if out.Unrecorded || t.record(r) != nil {
		out.Decision, out.Response, out.Unrecorded = aaep.Reject, nil, true
	}
}

// replied records a reply, and why it did not count, if it did not.
func (t *trail) replied(by audit.Subscription, m aaep.Message, refused error) error {
	r := audit.Reply(m)
	r.By, r.Counted = &by, refused == nil
	if refused != nil {
		r.Refused = refused.Error()
	}
	return t.record(r)
}

// refusals keeps a flood of replies that do not count from filling the trail: those of one subscription that are not
// recorded are counted with the next that is.
type refusals struct {
	pace      *budget.Budget
	more      int
	recording atomic.Bool // one of them is, and what comes meanwhile is counted
}

func (f *refusals) note(err error) error {
	if f.more == 0 {
		return err
	}
	defer func() { f.more = 0 }()
	return fmt.Errorf("%w; and so did %d before it", err, f.more)
}

// notDone records that what was accepted has not begun, and will not.
func (t *trail) notDone(asked audit.Record) {
	t.record(audit.Record{Kind: audit.NotDone, SessionID: asked.SessionID, Tool: asked.Tool, ToolCallID: asked.ToolCallID,
		QuestionID: asked.QuestionID, ShownDigest: asked.ShownDigest})
}

// leftUndone is what a process before this one had accepted and not begun, by tool call, as far as the sink knows.
func (t *trail) leftUndone() map[string]audit.Record {
	all := map[string]audit.Record{}
	if sink, ok := t.sink.(audit.Recovering); ok {
		for _, r := range sink.LeftUndone() {
			all[r.ToolCallID] = r
		}
	}
	return all
}

// who describes a subscription, and the language in which it is shown an event.
func (sub *subscription) who(ev *aaep.Event) audit.Subscription {
	who := audit.Subscription{SubscriptionID: sub.id, SubscriberID: sub.subscriberID, Principal: sub.principal}
	if ev == nil {
		return who
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	who.Language = ev.Language()
	if i := handshake.ChooseLanguage(sub.terms.Languages, ev); i > 0 {
		who.Language = ev.Translations[i-1].Language()
	}
	return who
}
