package producer

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/producer/audit"
)

// asks are the questions that a subscription is asked besides those that were put to it from the
// first. A question is put to a subscription only once that is on record. Until then it is withheld
// from the subscription's stream, and the record is written on a goroutine; askLate puts the
// question when the record is kept. Nothing else waits for it.
type asks struct {
	// These belong to the owner of the subscription.
	overfull  bool                            // too many questions are withheld; handlePending ends it
	onRecord  map[aaep.ReplyToken]string      // the language in which it is on record as asked
	recording map[aaep.ReplyToken]string      // the language for which a record is being written
	toAsk     map[aaep.ReplyToken]*aaep.Event // the event that asks once the record is kept
	failed    map[aaep.ReplyToken]bool        // the record failed; askLate does not try again
	beside    map[aaep.ReplyToken]*aaep.Event // the event that asked outside the log; see askAside

	askAgain atomic.Bool // askLate has to look at kept, or for a question that is withheld and open

	// The subscription's mu guards these.
	withheld []aaep.ReplyToken // the log must not show it these questions; the newest is last
	kept     []keptAsk         // results of records that the owner is yet to note
}

// keptAsk is the result of a record: whether it is on record that a subscription is asked a
// question in a language.
type keptAsk struct {
	token    aaep.ReplyToken
	language string
	is       bool
}

const (
	// maxWithheld is how many questions may have been settled, at most, that are still withheld
	// from a subscription, for they could not be put to it before. With more, the subscription
	// ends: the log must never show it one of them.
	maxWithheld = 256
	// recordSoon is how long a record is waited for if no other is known to take longer. A question
	// whose record is kept within that time keeps its place in the order of events.
	recordSoon = 20 * time.Millisecond
)

// recordSoon has a record written, and waits for that for recordSoon at most, or not at all while
// another record is known to take long. If it is kept in that time, known is true and err is its
// result. Otherwise later is called with the result, on a goroutine that Shutdown waits for. The
// owner of a subscription calls it, and openFollowedQuestion between beginRecord and
// recording.Done: Shutdown waits for these first, so that it misses no record.
func (p *Producer) recordSoon(r audit.Record, later func(error)) (err error, known bool) {
	kept, begun := make(chan error, 1), make(chan struct{})
	p.recording.Go(func() {
		close(begun)
		kept <- p.broker.Log.Record(r)
	})
	<-begun // on a busy machine the goroutine may take longer to start than the record to be kept
	if p.slowRecords.Load() == 0 {
		timer := time.NewTimer(recordSoon)
		defer timer.Stop()
		select {
		case err = <-kept:
			return err, true
		case <-timer.C:
		}
	}
	p.slowRecords.Add(1)
	p.recording.Go(func() {
		err := <-kept
		p.slowRecords.Add(-1)
		later(err)
	})
	return nil, false
}

// withhold keeps the log from showing a question to the subscription, until askLate puts it. Any
// goroutine may call it that does not hold sub.mu.
func (sub *subscription) withhold(token aaep.ReplyToken) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if !slices.Contains(sub.withheld, token) {
		sub.withheld = append(sub.withheld, token)
	}
}

// release lets the log show a question again that was withheld. It takes sub.mu; Producer.mu is
// held, with which the caller has made sure that the question is open and the subscription is
// asked.
func (sub *subscription) release(token aaep.ReplyToken) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.withheld = slices.DeleteFunc(sub.withheld, func(t aaep.ReplyToken) bool { return t == token })
}

// IsWithheld reports whether the log must not show a question to the subscription. Any goroutine
// may call it that does not hold sub.mu.
func (sub *subscription) IsWithheld(token aaep.ReplyToken) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return slices.Contains(sub.withheld, token)
}

// keeps hands the result of a record to the owner, which tookRecord then notes. It is called on the
// goroutine that waited for the record, holding no lock.
func (sub *subscription) keeps(k keptAsk) {
	sub.mu.Lock()
	sub.kept = append(sub.kept, k)
	sub.mu.Unlock()
	sub.lookAgain()
}

// lookAgain makes the owner of the subscription call askLate. Any goroutine may call it, with any
// lock held; it never waits.
func (sub *subscription) lookAgain() {
	sub.askAgain.Store(true)
	sub.Wake()
}

// askLate puts to the subscription the questions that are on record by now, and begins to record
// those that have been withheld since. The owner calls it in handlePending, holding no lock; it
// takes Producer.mu and sub.mu, and may wait for the audit log for recordSoon.
func (sub *subscription) askLate() {
	sub.mu.Lock()
	kept := sub.kept
	sub.kept = nil
	sub.mu.Unlock()
	for _, k := range kept {
		sub.tookRecord(k)
	}
	sub.p.putOpenQuestions(sub, func(put *pendingQuestion) *aaep.Event {
		token := put.replyToken()
		switch {
		case sub.toAsk[token] == nil && (sub.failed[token] || !sub.IsWithheld(token)):
			return nil
		case sub.HasStream() && sub.HasShown(put.Pos):
			return sub.p.repeatQuestion(put, time.Now()) // with the time that is left now
		}
		return put.Event
	}, func(e shaper.Entry) {
		if !sub.HasStream() {
			sub.Push(e)
			return
		}
		sub.askAside(e)
	})
}

// tookRecord notes the result of a record. The owner calls it.
func (sub *subscription) tookRecord(k keptAsk) {
	switch language, begun := sub.recording[k.token]; {
	case language == k.language:
		delete(sub.recording, k.token)
	case begun && !k.is:
		return // that of another language is still being written
	}
	if sub.onRecord == nil {
		sub.onRecord, sub.failed = map[aaep.ReplyToken]string{}, map[aaep.ReplyToken]bool{}
	}
	if k.is {
		sub.onRecord[k.token] = k.language
	} else {
		delete(sub.toAsk, k.token)
		sub.failed[k.token] = true
		sub.p.broker.DismissRecipient(k.token, sub.id)
	}
}

// askAside pushes a question outside its place in the log, and keeps it in beside, from where
// RepeatQuestions pushes it again. The owner calls it, with Producer.mu held.
func (sub *subscription) askAside(e shaper.Entry) {
	if sub.beside == nil {
		sub.beside = map[aaep.ReplyToken]*aaep.Event{}
	}
	token, _ := closes.Token(e.Event)
	sub.beside[token] = e.Event
	sub.Push(e)
}

// putOpenQuestions puts the open questions to a subscription that can answer them: at once those
// for which it is on record that it is asked, and the others by askLate, once their records are
// kept. ask returns the event that asks a question, or nil to leave the question out; a nil ask is
// all questions, each by its own event. push gives an event to the stream, and is called with
// Producer.mu held. It is not called for a question that the log is yet to show. The owner calls
// putOpenQuestions, and registerSubscription before there is an owner, holding no lock. It takes
// Producer.mu and sub.mu, and may wait for the audit log for recordSoon.
func (p *Producer) putOpenQuestions(sub *subscription, ask func(*pendingQuestion) *aaep.Event,
	push func(shaper.Entry)) {
	p.mu.Lock()
	open := p.questionsInOrder()
	settled := func(token aaep.ReplyToken) bool { return p.asked[token] == nil }
	maps.DeleteFunc(sub.onRecord, func(token aaep.ReplyToken, _ string) bool { return settled(token) })
	maps.DeleteFunc(sub.failed, func(token aaep.ReplyToken, _ bool) bool { return settled(token) })
	maps.DeleteFunc(sub.toAsk, func(token aaep.ReplyToken, _ *aaep.Event) bool { return settled(token) })
	sub.mu.Lock()
	if over := len(sub.withheld) - len(open); over > maxWithheld {
		sub.overfull = true
	}
	sub.mu.Unlock()
	p.mu.Unlock()
	for _, put := range open {
		token, entry := put.replyToken(), put.Entry
		if ask != nil {
			entry.Event = ask(put)
		}
		if entry.Event == nil || !sub.mayBeAsked(put.isConfirmation()) {
			continue
		}
		if entry.Event != put.Event {
			entry.Pos = 0 // it has no place in the log
		}
		if !sub.isOnRecord(put, entry.Event) {
			continue
		}
		delete(sub.toAsk, token)
		p.broker.AddRecipient(token, sub.id)
		p.mu.Lock()
		if p.asked[token] == put { // it has not been settled meanwhile
			if sub.release(token); !slices.Contains(put.subs, sub) {
				put.subs = append(put.subs, sub)
			}
			if sub.HasPassed(entry.Pos) { // otherwise the log shows it later
				push(entry)
			}
		}
		p.mu.Unlock()
	}
}

// isOnRecord reports whether it is on record that the subscription is asked the question of put, in
// the language that it is shown. If not, it has that recorded, once for each language, and ev is
// the event that asks when the record is kept; until then the question is withheld, and stays open
// for this subscription. A record that is kept at once counts. The owner calls it, holding no lock.
func (sub *subscription) isOnRecord(put *pendingQuestion, ev *aaep.Event) bool {
	p, token, who := sub.p, put.replyToken(), sub.auditIdentity(put.Event)
	language, is := sub.onRecord[token]
	p.mu.Lock()
	if i := indexOf(put.recorded, sub.id); i >= 0 && !is {
		if language, is = put.recorded[i].Language, true; put.isRecordedAs(who) {
			language = who.Language
		}
	}
	soon, left := among(put.recording, sub.id), put.deadline.Sub(p.broker.Now())
	p.mu.Unlock()
	if is && language == who.Language {
		return true
	}
	sub.withhold(token)
	if soon { // openFollowedQuestion releases it, or has askLate look at it
		return false
	}
	if sub.toAsk == nil {
		sub.toAsk, sub.recording = map[aaep.ReplyToken]*aaep.Event{}, map[aaep.ReplyToken]string{}
	}
	sub.toAsk[token] = ev
	if language, begun := sub.recording[token]; begun && language == who.Language {
		return false
	}
	p.broker.ExpectRecipient(token, sub.id)
	r := put.askedAlso()
	r.Recipients, r.Deadline = []audit.Subscription{who}, time.Now().Add(left)
	sub.recording[token] = who.Language
	err, known := p.recordSoon(r, func(err error) { sub.keeps(keptAsk{token, who.Language, err == nil}) })
	if known {
		sub.tookRecord(keptAsk{token, who.Language, err == nil})
	}
	return known && err == nil
}

// putForNewTerms puts open questions to a subscription whose terms have changed from was: those
// that it can answer only now (D-34), and those that were to come, or have come, in another
// language than they would now. What has come is put again, with the same token: a user who changes
// the language while deciding wants to hear in the new one what is to be decided. What has not left
// yet waits until the new language is on record. applyChange calls it, after the answer to the
// change; nothing has left since the terms are new.
func (sub *subscription) putForNewTerms(was *negotiation.Terms) {
	if !sub.HasStream() { // what is prepared for the first stream is prepared anew
		sub.Discard(func(ev *aaep.Event) bool {
			_, asks := closes.Token(ev)
			return asks
		})
		sub.PutOpenQuestions()
		return
	}
	terms := sub.terms.Load()
	reworded := func(ev *aaep.Event) bool {
		return negotiation.ChooseLanguage(was.Languages, ev) != negotiation.ChooseLanguage(terms.Languages, ev)
	}
	if !slices.Equal(was.Languages, terms.Languages) {
		sub.Discard(func(ev *aaep.Event) bool {
			_, asks := closes.Token(ev)
			return asks && reworded(ev)
		})
	}
	could := func(put *pendingQuestion) bool {
		if put.isConfirmation() {
			return was.ConfirmationReply
		}
		return was.ClarificationReply
	}
	now := time.Now()
	maps.DeleteFunc(sub.beside, func(_ aaep.ReplyToken, ev *aaep.Event) bool { return sub.p.isSettledQuestion(ev) })
	sub.p.putOpenQuestions(sub, func(put *pendingQuestion) *aaep.Event {
		switch ev := put.Event; {
		case !could(put):
			return ev
		case !reworded(ev):
			return nil
		case sub.HasShown(put.Pos):
			return sub.p.repeatQuestion(put, now)
		default: // the log shows it when it is on record
			return ev
		}
	}, sub.askAside)
}

// PutOpenQuestions puts the open questions that the cursor has passed to a subscription that can
// answer them. They take the place of the events in beside. The owner calls it, and
// registerSubscription, holding no lock.
func (sub *subscription) PutOpenQuestions() {
	clear(sub.beside)
	sub.p.putOpenQuestions(sub, nil, sub.Push)
}

// RepeatQuestions puts the open questions of beside once more, for the stream may have broken
// before they arrived and the log does not have these events. The owner calls it when it makes a
// stream anew.
func (sub *subscription) RepeatQuestions() {
	if len(sub.beside) == 0 {
		return
	}
	sub.p.putOpenQuestions(sub, func(put *pendingQuestion) *aaep.Event {
		if !sub.HasPassed(put.Pos) { // the log shows it, in its place
			delete(sub.beside, put.replyToken())
		}
		return sub.beside[put.replyToken()]
	},
		func(e shaper.Entry) { sub.Push(shaper.Entry{Event: e.Event, At: e.Pos}) })
}

// repeatQuestion returns an event that asks a question once more: with an id and a stamp of its
// own, the same token, and the time that is left to answer. It takes Producer.mu.
func (p *Producer) repeatQuestion(put *pendingQuestion, now time.Time) *aaep.Event {
	p.mu.Lock()
	left := wholeSeconds(put.deadline.Sub(p.broker.Now()))
	p.mu.Unlock()
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
	ev.EventID, ev.Timestamp = newID("evt_"), now.UTC().Round(0).Truncate(time.Millisecond)
	ev.Payload, ev.Translations = limited(ev.Payload), slices.Clone(ev.Translations)
	for i, t := range ev.Translations {
		ev.Translations[i].Payload = limited(t.Payload)
	}
	return &ev
}
