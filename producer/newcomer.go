package producer

import (
	"maps"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/producer/audit"
)

// putOpen puts the open questions that ask wants, and nil is all of them, to a subscription that can answer them, once it is on
// record that it was asked too. Ask returns the event that asks, or nil.
func (p *Producer) putOpen(sub *subscription, ask func(*pending) *aaep.Event, push func(shaper.Entry)) {
	p.mu.Lock()
	open := p.openQuestions()
	maps.DeleteFunc(sub.onRecord, func(token aaep.ReplyToken, _ string) bool { return p.asked[token] == nil })
	p.mu.Unlock()
	for _, put := range open {
		token, entry := put.token(), put.Entry
		if ask != nil {
			entry.Event = ask(put)
		}
		if entry.Event == nil || !sub.mayBeAsked(put.isConfirmation()) {
			continue
		}
		if entry.Event != put.Event {
			entry.Pos = 0 // it has no place in the log
		}
		who := sub.who(put.Event)
		if language, asked := sub.onRecord[token]; !asked || language != who.Language { // once, however often it comes back
			again := audit.Record{Kind: audit.Asked, SessionID: put.asked.SessionID, QuestionID: put.asked.QuestionID,
				Recipients: []audit.Subscription{who}}
			if p.desk.trail.record(again) != nil {
				continue
			}
			if sub.onRecord == nil {
				sub.onRecord = map[aaep.ReplyToken]string{}
			}
			sub.onRecord[token] = who.Language
		}
		p.desk.join(token, sub.id) // without p.mu: the desk may be waiting for what it records
		p.mu.Lock()
		if p.asked[token] == put && entry.Pos <= sub.cursor { // it has not been settled meanwhile, nor is yet to come
			if push(entry); !slices.Contains(put.subs, sub) {
				put.subs = append(put.subs, sub)
			}
		}
		p.mu.Unlock()
	}
}

// putAnew puts to a subscription with new terms the open questions that it can answer only now (D-34), and once more, with the
// same token, those that are told in another language now: whoever changes it while they decide wants to hear in it what they
// decide about.
func (sub *subscription) putAnew(was *handshake.Terms) {
	could := func(put *pending) bool {
		if put.isConfirmation() {
			return was.ConfirmationReply
		}
		return was.ClarificationReply
	}
	now := time.Now()
	maps.DeleteFunc(sub.beside, func(_ aaep.ReplyToken, ev *aaep.Event) bool { return sub.p.stale(ev) })
	sub.p.putOpen(sub, func(put *pending) *aaep.Event {
		switch ev := put.Event; {
		case !could(put):
			return ev
		case sub.opened && (put.Pos <= sub.cursor || sub.early[put.Pos]) &&
			handshake.ChooseLanguage(was.Languages, ev) != handshake.ChooseLanguage(sub.terms.Languages, ev):
			return sub.p.onceMore(put, now)
		}
		return nil
	}, func(e shaper.Entry) {
		if sub.beside == nil {
			sub.beside = map[aaep.ReplyToken]*aaep.Event{}
		}
		token, _ := closes.Token(e.Event)
		sub.beside[token] = e.Event
		sub.shaper.Push(now, e)
	})
}

// askBeside puts once more what putAnew did, to a subscription whose stream may have been cut before it had that.
func (sub *subscription) askBeside() {
	if len(sub.beside) == 0 {
		return
	}
	sub.p.putOpen(sub, func(put *pending) *aaep.Event { return sub.beside[put.token()] },
		func(e shaper.Entry) { sub.shaper.Push(time.Now(), shaper.Entry{Event: e.Event}) })
}

// onceMore is a question that is told once more, as an event of its own: with the time that is left.
func (p *Producer) onceMore(put *pending, now time.Time) *aaep.Event {
	p.mu.Lock()
	left := wholeSeconds(put.deadline.Sub(p.desk.now()))
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

// stale reports whether an event that a newcomer is about to be told asks what has been settled since.
func (p *Producer) stale(ev *aaep.Event) bool {
	token, asks := closes.Token(ev)
	if !asks {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, open := p.asked[token]
	return !open
}

// situation makes one state.changed for each session that is under way, for somebody who did not see how
// it came to where it is. A session that has changed state after the cursor tells that itself, though maybe not
// first; current is then false.
func (p *Producer) situation(cursor uint64) (entries []shaper.Entry, current bool) {
	p.mu.Lock()
	sessions := slices.Clone(p.sessions)
	p.mu.Unlock()
	current = true
	for _, s := range sessions {
		s.mu.Lock()
		t := s.told
		current = current && t.pos <= cursor
		if !s.over && t.pos > 0 && t.pos <= cursor {
			ev := *t.ev
			ev.EventID = newID("evt_") // with its own stamp: a question that it belongs to may come next, and is newer
			entries = append(entries, shaper.Entry{Event: &ev})
		}
		s.mu.Unlock()
	}
	return entries, current
}
