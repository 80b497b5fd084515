package questions

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/replica"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/producer/audit"
)

// UsualPace is how fast a user is taken to listen who declared no pace, in words per minute.
const UsualPace = 170

// Pending is a question that is open, or is about to be, with the event that asks it. Until Open or
// OpenFollowed lists it on the Board, it belongs to the goroutine that made it. At a replica it
// stands for a question of the agent.
type Pending struct {
	shaper.Entry
	*Waiter // where its outcome goes; nil where no subscription is asked
	// Record is the audit record of the question, with the recipients of the first record.
	Record audit.Record
	// More holds one: how much time is left, after a subscriber was given more. The goroutine that
	// waits for the outcome receives it. It is nil at a replica.
	More chan time.Duration
	// Needs are those of the recipients that could be asked until it was put; zero at a replica.
	replica.Needs
	given      int64        // how much time to answer the agent gives, in seconds; zero at a replica
	unrecorded []*Recipient // may be asked, and are not on record yet; Open withholds it from them

	// Board.mu guards what follows once the question is listed.
	deadline   time.Time            // as far as it is known here, by the Broker's clock
	recipients []*Recipient         // the subscriptions that it has been put to
	replicas   []string             // the ids of the replicas that it has been put to
	recorded   []audit.Subscription // who was on record as asked before it was put
	recording  []audit.Subscription // for whom OpenFollowed is writing that record
}

// NewPending returns a question of this agent that is not open yet; ev is the event that asks it.
func NewPending(ev *aaep.Event) *Pending {
	return &Pending{Entry: shaper.Entry{Event: ev}, Record: audit.Question(ev), More: make(chan time.Duration, 1),
		Needs: replica.Needs{Patience: 1000, Pace: UsualPace}, given: int64(closes.Given(ev) / time.Second)}
}

// IsConfirmation reports whether it is a confirmation; otherwise it is a clarification.
func (pending *Pending) IsConfirmation() bool {
	return pending.Event.Type() == aaep.TypeAwaitingConfirmation
}

// IsOnRecord reports whether a recipient is on record as asked.
func (pending *Pending) IsOnRecord() bool { return len(pending.recorded) > 0 }

// MarkRecorded notes that fresh recipients are on record as asked, beside those that were before.
func (pending *Pending) MarkRecorded(fresh []audit.Subscription) {
	pending.recorded = append(pending.recorded, fresh...)
	pending.Record.Recipients = pending.recorded
}

// RecordOf returns the record that fresh recipients are asked, with the deadline as of now. The
// first record of a question has its words; those after it repeat none. It changes nothing.
func (pending *Pending) RecordOf(fresh []audit.Subscription) audit.Record {
	r := pending.Record
	if pending.IsOnRecord() {
		r = pending.laterRecord()
	}
	r.Recipients, r.Deadline = fresh, time.Now().Add(closes.Given(pending.Event))
	return r
}

// laterRecord returns the record that more recipients are asked. The caller fills in these and the
// deadline.
func (pending *Pending) laterRecord() audit.Record {
	return audit.Record{Kind: audit.Asked, SessionID: pending.Record.SessionID, QuestionID: pending.Record.QuestionID}
}

// isRecorded reports whether the subscription or replica with this id is among recorded. Board.mu
// is held, or the question is not listed yet; so it is for isRecordedAs.
func (pending *Pending) isRecorded(id string) bool {
	return indexOf(pending.recorded, id) >= 0
}

// isRecordedAs reports whether a subscription is among recorded, as asked in the language in which
// it is shown the question; identity has both.
func (pending *Pending) isRecordedAs(identity audit.Subscription) bool {
	return slices.ContainsFunc(pending.recorded, func(recorded audit.Subscription) bool {
		return recorded.SubscriptionID == identity.SubscriptionID && recorded.Language == identity.Language
	})
}

// indexOf returns the index of the subscription or replica with this id, or -1.
func indexOf(all []audit.Subscription, id string) int {
	return slices.IndexFunc(all, func(who audit.Subscription) bool { return who.SubscriptionID == id })
}

// token returns the token that a reply to the question names.
func (pending *Pending) token() aaep.ReplyToken {
	token, _ := closes.Token(pending.Event)
	return token
}

// StretchTimeout sets, in the payload of every language, the time to answer of a question that is
// not out yet to what the agent gives, or what its recipients need if that is more, up to a day
// (D-42).
func (pending *Pending) StretchTimeout() {
	patient := (pending.given*pending.Patience + 999) / 1000 // Patience is in thousandths; rounded up
	seconds := min(max(patient, pending.Least), 86400)
	set := func(p aaep.Payload) {
		switch p := p.(type) {
		case *aaep.AwaitingConfirmation:
			p.TimeoutSeconds = seconds
		case *aaep.AwaitingClarification:
			p.TimeoutSeconds = seconds
		}
	}
	set(pending.Event.Payload)
	for _, t := range pending.Event.Translations {
		set(t.Payload)
	}
}

// WholeSeconds returns a time to answer as the protocol has it: in seconds, rounded up, from one to
// a day.
func WholeSeconds(d time.Duration) int64 {
	return min(max(int64(min(d, 48*time.Hour)+time.Second-1)/int64(time.Second), 1), 86400)
}

// repeatEvent returns an event that asks the question once more: with an id and a stamp of its own,
// the same token, and the time that is left to answer, in seconds.
func (pending *Pending) repeatEvent(id string, now time.Time, left int64) *aaep.Event {
	limited := func(payload aaep.Payload) aaep.Payload {
		switch q := payload.(type) {
		case *aaep.AwaitingConfirmation:
			limited := *q
			limited.TimeoutSeconds = left
			return &limited
		case *aaep.AwaitingClarification:
			limited := *q
			limited.TimeoutSeconds = left
			return &limited
		}
		return payload
	}
	ev := *pending.Event
	ev.EventID, ev.Timestamp = id, now.UTC().Round(0).Truncate(time.Millisecond)
	ev.Payload, ev.Translations = limited(ev.Payload), slices.Clone(ev.Translations)
	for i, t := range ev.Translations {
		ev.Translations[i].Payload = limited(t.Payload)
	}
	return &ev
}
