package producer

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/producer/audit"
)

// asks are the questions that a subscription is asked beside those that it was asked from the
// first. What is not on record is not asked: such a question is withheld, recorded on a goroutine,
// and put when that is done. Nothing else waits for it.
type asks struct {
	// For the owner of the subscription alone.
	onRecord  map[aaep.ReplyToken]string      // in which language it is on record that it was asked,
	recording map[aaep.ReplyToken]string      // or is about to be,
	toAsk     map[aaep.ReplyToken]*aaep.Event // and what asks then
	failed    map[aaep.ReplyToken]bool        // what could not be recorded, until it is tried again
	beside    map[aaep.ReplyToken]*aaep.Event // what it was asked in between, or when its terms had changed

	askAgain atomic.Bool // there is something in kept, or a question that is withheld and open

	// With the subscription's mu held.
	withheld []aaep.ReplyToken // what the log must not show it, the newest last
	kept     []keptAsk
}

// A keptAsk says that it is on record in which language a subscription is asked, or not.
type keptAsk struct {
	token    aaep.ReplyToken
	language string
	is       bool
}

const (
	// maxWithheld is how many questions are withheld from a subscription, most of which were
	// settled before they could be put to it.
	maxWithheld = 256
	// recordSoon is how long a record is waited for, where none is known to take longer: then what
	// it is for keeps its place in the order.
	recordSoon = 20 * time.Millisecond
)

// recordSoon has a record written, and waits for it for a moment. Where it takes longer, known is
// false, and later is called when it is kept, with the error, on a goroutine that Shutdown waits
// for.
func (p *Producer) recordSoon(r audit.Record, later func(error)) (err error, known bool) {
	kept, begun := make(chan error, 1), make(chan struct{})
	p.recording.Go(func() {
		close(begun)
		kept <- p.broker.Log.Record(r)
	})
	<-begun // on a busy machine that may take longer than the record
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

// withhold keeps the log from showing a question to a subscription, until askLate puts it.
func (sub *subscription) withhold(token aaep.ReplyToken) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if !slices.Contains(sub.withheld, token) {
		sub.withheld = append(sub.withheld[max(0, len(sub.withheld)-maxWithheld+1):], token)
	}
}

func (sub *subscription) release(token aaep.ReplyToken) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.withheld = slices.DeleteFunc(sub.withheld, func(t aaep.ReplyToken) bool { return t == token })
}

func (sub *subscription) isWithheld(token aaep.ReplyToken) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return slices.Contains(sub.withheld, token)
}

// withholds has a question that is withheld left out of what the log shows.
func (sub *subscription) withholds(token aaep.ReplyToken) (is, wait bool) {
	return sub.isWithheld(token), false
}

// keeps takes what came of a record.
func (sub *subscription) keeps(k keptAsk) {
	sub.mu.Lock()
	sub.kept = append(sub.kept, k)
	sub.mu.Unlock()
	sub.lookAgain()
}

// lookAgain has the owner of the subscription call askLate.
func (sub *subscription) lookAgain() {
	sub.askAgain.Store(true)
	sub.wake()
}

// askLate puts what is on record by now, and has that recorded which has just been withheld.
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
		switch ev := sub.toAsk[token]; {
		case ev != nil && ev != put.Event:
			return sub.p.repeatQuestion(put, time.Now()) // with the time that is left now
		case ev != nil || !sub.failed[token] && sub.isWithheld(token):
			return put.Event
		}
		return nil
	}, func(e shaper.Entry) {
		if !sub.opened {
			sub.first = append(sub.first, e)
			return
		}
		sub.askAside(e)
	})
}

// tookRecord notes what came of a record.
func (sub *subscription) tookRecord(k keptAsk) {
	if sub.recording[k.token] == k.language {
		delete(sub.recording, k.token)
	}
	if sub.onRecord == nil {
		sub.onRecord, sub.failed = map[aaep.ReplyToken]string{}, map[aaep.ReplyToken]bool{}
	}
	if k.is {
		sub.onRecord[k.token] = k.language
	} else {
		delete(sub.toAsk, k.token)
		sub.failed[k.token] = true
	}
}

// askAside puts a question that is not where the log has it.
func (sub *subscription) askAside(e shaper.Entry) {
	if sub.beside == nil {
		sub.beside = map[aaep.ReplyToken]*aaep.Event{}
	}
	token, _ := closes.Token(e.Event)
	sub.beside[token] = e.Event
	sub.shaper.Push(time.Now(), e)
}

// putOpenQuestions puts the open questions that ask wants, and nil is all of them, to a subscription that
// can answer them: those for which it is on record that it was asked too, and the others by
// askLate, once that is. Ask returns the event that asks, or nil.
func (p *Producer) putOpenQuestions(sub *subscription, ask func(*pendingQuestion) *aaep.Event, push func(shaper.Entry)) {
	p.mu.Lock()
	open := p.questionsInOrder()
	settled := func(token aaep.ReplyToken) bool { return p.asked[token] == nil }
	maps.DeleteFunc(sub.onRecord, func(token aaep.ReplyToken, _ string) bool { return settled(token) })
	maps.DeleteFunc(sub.failed, func(token aaep.ReplyToken, _ bool) bool { return settled(token) })
	maps.DeleteFunc(sub.toAsk, func(token aaep.ReplyToken, _ *aaep.Event) bool { return settled(token) })
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
			if entry.Pos <= sub.cursor { // nor is yet to come
				push(entry)
			}
		}
		p.mu.Unlock()
	}
}

// isOnRecord reports whether it is on record that the subscription is asked by ev, in the language
// that it hears. If not, it has that recorded: once, however often it comes back.
func (sub *subscription) isOnRecord(put *pendingQuestion, ev *aaep.Event) bool {
	p, token, who := sub.p, put.replyToken(), sub.auditIdentity(put.Event)
	language, is := sub.onRecord[token]
	p.mu.Lock()
	if i := indexOf(put.recorded, sub.id); i >= 0 && !is {
		language, is = put.recorded[i].Language, true
	}
	soon := among(put.recording, sub.id)
	p.mu.Unlock()
	switch {
	case is && language == who.Language:
		return true
	case !is:
		sub.withhold(token)
	}
	if sub.toAsk == nil {
		sub.toAsk, sub.recording = map[aaep.ReplyToken]*aaep.Event{}, map[aaep.ReplyToken]string{}
	}
	sub.toAsk[token] = ev
	if language, begun := sub.recording[token]; soon || begun && language == who.Language {
		return false
	}
	r := put.askedAlso()
	r.Recipients = []audit.Subscription{who}
	sub.recording[token] = who.Language
	err, known := p.recordSoon(r, func(err error) { sub.keeps(keptAsk{token, who.Language, err == nil}) })
	if known {
		sub.tookRecord(keptAsk{token, who.Language, err == nil})
	}
	return known && err == nil
}

// putForNewTerms puts to a subscription with new terms the open questions that it can answer only now (D-34), and once more, with the
// same token, those that are told in another language now: whoever changes it while they decide wants to hear in it what they
// decide about.
func (sub *subscription) putForNewTerms(was *handshake.Terms) {
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
		case sub.opened && (put.Pos <= sub.cursor || sub.early[put.Pos]) &&
			handshake.ChooseLanguage(was.Languages, ev) != handshake.ChooseLanguage(sub.terms.Languages, ev):
			return sub.p.repeatQuestion(put, now)
		}
		return nil
	}, sub.askAside)
}

// repeatOutsideLog puts once more what putAnew did, to a subscription whose stream may have been cut before it had that.
func (sub *subscription) repeatOutsideLog() {
	if len(sub.beside) == 0 {
		return
	}
	sub.p.putOpenQuestions(sub, func(put *pendingQuestion) *aaep.Event { return sub.beside[put.replyToken()] },
		func(e shaper.Entry) { sub.shaper.Push(time.Now(), shaper.Entry{Event: e.Event, At: e.Pos}) })
}

// repeatQuestion is a question that is told once more, as an event of its own: with the time that is left.
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

// isSettledQuestion reports whether an event that a newcomer is about to be told asks what has been settled since.
func (p *Producer) isSettledQuestion(ev *aaep.Event) bool {
	token, asks := closes.Token(ev)
	if !asks {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, open := p.asked[token]
	return !open
}

// currentStates makes one state.changed for each session that is under way, for a subscriber that did
// not see how it came to where it is. A session that has changed state after the cursor tells that
// itself, though maybe not first; changed is then the position of the newest such change, and 0 if
// there is none.
func (p *Producer) currentStates(cursor uint64) (entries []shaper.Entry, changed uint64) {
	p.mu.Lock()
	sessions := slices.Clone(p.sessions)
	p.mu.Unlock()
	for _, s := range sessions {
		s.mu.Lock()
		t := s.lastState
		switch {
		case s.over || t.pos == 0:
		case t.pos > cursor:
			changed = max(changed, t.pos)
		default:
			ev := *t.ev
			ev.EventID = newID("evt_") // with its own stamp: a question that it belongs to may come next, and is newer
			entries = append(entries, shaper.Entry{Event: &ev})
		}
		s.mu.Unlock()
	}
	return entries, changed
}
