package producer

import (
	"maps"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/producer/audit"
)

// join puts the questions of some kinds that are open to a subscription that could not answer them when
// they were asked (D-34), once it is on record that it was asked too.
func (p *Producer) join(sub *subscription, confirmations, clarifications bool, push func(coalesce.Entry)) {
	p.mu.Lock()
	open := maps.Clone(p.asked)
	p.mu.Unlock()
	maps.DeleteFunc(sub.onRecord, func(token aaep.ReplyToken, _ bool) bool { return open[token] == nil })
	for token, put := range open {
		isConfirmation := put.Event.Type() == aaep.TypeAwaitingConfirmation
		if isConfirmation && !confirmations || !isConfirmation && !clarifications || !sub.mayBeAsked(isConfirmation) {
			continue
		}
		if !sub.onRecord[token] { // once, however often it comes back
			again := audit.Record{Kind: audit.Asked, SessionID: put.asked.SessionID, QuestionID: put.asked.QuestionID,
				Recipients: []audit.Subscription{sub.who(put.Event)}}
			if p.desk.trail.record(again) != nil {
				continue
			}
			if sub.onRecord == nil {
				sub.onRecord = map[aaep.ReplyToken]bool{}
			}
			sub.onRecord[token] = true
		}
		p.desk.join(token, sub.id) // without p.mu: the desk may be waiting for what it records
		p.mu.Lock()
		if p.asked[token] == put && put.Pos <= sub.cursor { // it has not been settled meanwhile
			push(put.Entry)
		}
		p.mu.Unlock()
	}
}

// stale reports whether an event that a newcomer is about to be told asks what has been settled since.
func (p *Producer) stale(ev *aaep.Event) bool {
	var token aaep.ReplyToken
	switch q := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		token = q.ReplyToken
	case *aaep.AwaitingClarification:
		token = q.ReplyToken
	default:
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
func (p *Producer) situation(cursor uint64) (entries []coalesce.Entry, current bool) {
	p.mu.Lock()
	sessions := append([]*Session(nil), p.sessions...)
	p.mu.Unlock()
	current = true
	for _, s := range sessions {
		s.mu.Lock()
		t := s.told
		current = current && t.pos <= cursor
		if !s.over && t.pos > 0 && t.pos <= cursor {
			ev := *t.ev
			ev.EventID, ev.Timestamp = newID("evt_"), s.now()
			s.last = ev.Timestamp // nothing that comes after it is stamped before
			entries = append(entries, coalesce.Entry{Event: &ev})
		}
		s.mu.Unlock()
	}
	return entries, current
}
