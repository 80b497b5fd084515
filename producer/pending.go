package producer

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/producer/audit"
)

// pending is a question that is open.
type pending struct {
	coalesce.Entry
	answer <-chan *ledger.Outcome
	asked  audit.Record
	more   chan time.Duration // there is so much time left, after somebody asked for more
	slowest

	deadline time.Time // as far as it is known here, by the desk's clock; with the Producer's mu held
}

func (put *pending) isConfirmation() bool { return put.Event.Type() == aaep.TypeAwaitingConfirmation }

func (put *pending) token() aaep.ReplyToken {
	token, _ := closes.Token(put.Event)
	return token
}

// slowest are the needs of those who are asked: each of them waits for the one who needs most.
type slowest struct {
	patience int64 // by which the time to answer is stretched, in thousandths
	least    int64 // that it is, in seconds
	pace     int64 // in words per minute
}

// open puts a question to every subscription that can answer it. prepare makes its event, if there is anybody; the
// result is nil if nobody can answer, or nobody any more.
func (p *Producer) open(q *ledger.Question, prepare func(slowest) (*aaep.Event, error)) (*pending, error) {
	p.putting.Lock()
	defer p.putting.Unlock()
	put := &pending{more: make(chan time.Duration, 1), slowest: slowest{patience: 1000, pace: usualPace}}
	var able []*subscription
	for _, sub := range *p.audience.Load() {
		if sub.mayBeAsked(q.Confirmation != nil) {
			able = append(able, sub)
			put.slowest.add(sub.patience.Load(), sub.least.Load(), sub.pace.Load())
		}
	}
	elsewhere := p.ableParties(q, &put.slowest)
	if len(able)+len(elsewhere) == 0 {
		return nil, nil
	}
	ev, err := prepare(put.slowest)
	if err != nil {
		return nil, err
	}
	q.Stamp, put.asked = ev.Timestamp, audit.Question(ev)
	for _, sub := range able {
		put.asked.Recipients = append(put.asked.Recipients, sub.who(ev))
	}
	for _, party := range elsewhere {
		put.asked.Recipients = append(put.asked.Recipients, party.who())
		q.Recipients = append(q.Recipients, party.ID)
	}
	if err := p.desk.trail.record(put.asked); err != nil { // which may take a while: p.mu is for those who deliver
		return nil, ErrNotRecorded
	}
	for _, sub := range able {
		if !sub.hungUp.Load() { // it has not left meanwhile
			q.Recipients = append(q.Recipients, sub.id)
		}
	}
	if len(q.Recipients) == 0 {
		return nil, nil
	}
	// The book is open before the event is out, so that no reply can come too early. The desk may be waiting for what it
	// records, so p.mu is not held.
	if put.answer, err = p.desk.open(q, put.asked); err != nil {
		return nil, err
	}
	p.mu.Lock()
	put.deadline = p.desk.now().Add(closes.Given(ev))
	put.Entry = coalesce.Entry{Pos: p.append(ev), Event: ev}
	p.asked[q.Token] = put
	p.mu.Unlock()
	p.log.Wait(put.Pos) // whoever comes after it is asked too, and must find it
	for _, sub := range able {
		if sub.hungUp.Load() { // it left before it was in the book
			p.desk.gone(sub.id)
		}
	}
	return put, nil
}

// openQuestions are in the order in which they were put. With p.mu held.
func (p *Producer) openQuestions() []*pending {
	return slices.SortedFunc(maps.Values(p.asked), func(a, b *pending) int { return cmp.Compare(a.Pos, b.Pos) })
}

// forget drops a question from those that later subscribers are asked.
func (p *Producer) forget(token aaep.ReplyToken) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, token)
}
