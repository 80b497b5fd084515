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

// Pending is a question that is open, or is about to be. Until Open or OpenFollowed lists it on the
// Board, it belongs to the goroutine that made it. At a replica it stands for a question of the
// agent.
type Pending struct {
	shaper.Entry
	*Waiter // nil where no subscription is asked
	// Record is the audit record of the question, with the recipients of the first record.
	Record audit.Record
	// More holds one: how much time is left since a subscriber was given more. The goroutine that
	// waits for the outcome takes it. It is nil at a replica.
	More chan time.Duration
	// Needs are those of the recipients that could be asked until it was put; zero at a replica.
	replica.Needs
	given int64        // how much time to answer the agent gives, in seconds; zero at a replica
	late  []*Recipient // they may be asked, and are not on record yet; Open withholds it from them

	// Board.mu guards what follows.
	deadline   time.Time            // as far as it is known here, by the Broker's clock
	recipients []*Recipient         // it has been put to these
	replicas   []string             // and to these replicas, by their ids
	recorded   []audit.Subscription // these were on record as asked from the first
	recording  []audit.Subscription // the first record is being written for these; see OpenFollowed
}

// NewPending returns a question of this agent that is not open yet, with the event that asks it.
func NewPending(ev *aaep.Event) *Pending {
	return &Pending{Entry: shaper.Entry{Event: ev}, Record: audit.Question(ev), More: make(chan time.Duration, 1),
		Needs: replica.Needs{Patience: 1000, Pace: UsualPace}, given: int64(closes.Given(ev) / time.Second)}
}

// IsConfirmation reports whether it is a confirmation; otherwise it is a clarification.
func (put *Pending) IsConfirmation() bool {
	return put.Event.Type() == aaep.TypeAwaitingConfirmation
}

// IsOnRecord reports whether there is a recipient that is on record as asked.
func (put *Pending) IsOnRecord() bool { return len(put.recorded) > 0 }

// MarkRecorded notes that these recipients are on record as asked.
func (put *Pending) MarkRecorded(fresh []audit.Subscription) {
	put.recorded = append(put.recorded, fresh...)
	put.Record.Recipients = put.recorded
}

// RecordOf returns the record that fresh recipients are asked, from now on. The first one has the
// words of the question; those after it repeat no words.
func (put *Pending) RecordOf(fresh []audit.Subscription) audit.Record {
	r := put.Record
	if put.IsOnRecord() {
		r = put.laterRecord()
	}
	r.Recipients, r.Deadline = fresh, time.Now().Add(closes.Given(put.Event))
	return r
}

// laterRecord returns the record of recipients that came later, still without these and without the
// deadline.
func (put *Pending) laterRecord() audit.Record {
	return audit.Record{Kind: audit.Asked, SessionID: put.Record.SessionID, QuestionID: put.Record.QuestionID}
}

// isRecorded reports whether the subscription or replica with this id was on record as asked from
// the first. Board.mu is held, or the question is not listed yet.
func (put *Pending) isRecorded(id string) bool {
	return indexOf(put.recorded, id) >= 0
}

// isRecordedAs reports whether a subscription was on record from the first as asked in the language
// that it is shown.
func (put *Pending) isRecordedAs(who audit.Subscription) bool {
	return slices.ContainsFunc(put.recorded, func(on audit.Subscription) bool {
		return on.SubscriptionID == who.SubscriptionID && on.Language == who.Language
	})
}

// indexOf returns where all has the subscription or replica with this id, or -1.
func indexOf(all []audit.Subscription, id string) int {
	return slices.IndexFunc(all, func(who audit.Subscription) bool { return who.SubscriptionID == id })
}

// token returns the token that a reply to the question names.
func (put *Pending) token() aaep.ReplyToken {
	token, _ := closes.Token(put.Event)
	return token
}

// StretchTimeout gives a question that is not out yet, in every language, as much time to answer as
// its recipients need, up to a day (D-42).
func (put *Pending) StretchTimeout() {
	seconds := min(max((put.given*put.Patience+999)/1000, put.Least), 86400)
	set := func(p aaep.Payload) {
		switch p := p.(type) {
		case *aaep.AwaitingConfirmation:
			p.TimeoutSeconds = seconds
		case *aaep.AwaitingClarification:
			p.TimeoutSeconds = seconds
		}
	}
	set(put.Event.Payload)
	for _, t := range put.Event.Translations {
		set(t.Payload)
	}
}

// WholeSeconds returns a time to answer as the protocol has it: in seconds, rounded up, from one to
// a day.
func WholeSeconds(d time.Duration) int64 {
	return min(max(int64(min(d, 48*time.Hour)+time.Second-1)/int64(time.Second), 1), 86400)
}

// repeat returns an event that asks the question once more: with an id and a stamp of its own, the
// same token, and the time that is left to answer, in seconds.
func (put *Pending) repeat(id string, now time.Time, left int64) *aaep.Event {
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
	ev := *put.Event
	ev.EventID, ev.Timestamp = id, now.UTC().Round(0).Truncate(time.Millisecond)
	ev.Payload, ev.Translations = limited(ev.Payload), slices.Clone(ev.Translations)
	for i, t := range ev.Translations {
		ev.Translations[i].Payload = limited(t.Payload)
	}
	return &ev
}
