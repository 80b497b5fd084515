package producer

import (
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/producer/audit"
)

// The desk owns the ledger: one goroutine, one timer. Whoever asked waits on a channel that gets the one
// outcome.
type desk struct {
	orders     chan order
	stop, done chan struct{}
	trail      *trail
	asleep     func() time.Duration // how long the machine has been suspended
	awake      time.Duration        // of that, before the desk was opened
}

// lookUp is how often an open question is looked at though it is not due: a timer does not run while the machine
// sleeps, but the time to answer does (D-79).
const lookUp = 5 * time.Second

// now is the time by which answers are judged: it runs on while the machine sleeps, and no clock that is set
// moves it.
func (d *desk) now() time.Time { return time.Now().Add(d.asleep() - d.awake) }

type order struct {
	do    func(*ledger.Ledger, time.Time) []*ledger.Outcome
	ready chan struct{}
	// ask registers a question's channel before do runs.
	token  aaep.ReplyToken
	waiter waiter
}

// waiter is who waits for the outcome of a question.
type waiter struct {
	answer chan *ledger.Outcome
	asked  audit.Record
}

func newDesk(trail *trail, asleep func() time.Duration) *desk {
	d := &desk{trail: trail, orders: make(chan order), stop: make(chan struct{}), done: make(chan struct{}), asleep: asleep, awake: asleep()}
	go d.run()
	return d
}

func (d *desk) run() {
	var book ledger.Ledger
	waiting := map[aaep.ReplyToken]waiter{}
	timer := time.NewTimer(never)
	defer timer.Stop()
	defer close(d.done)
	for {
		if next := book.Next(); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(min(next.Sub(d.now()), lookUp))
		}
		var settled []*ledger.Outcome
		select {
		case <-d.stop:
			return
		case o := <-d.orders:
			if o.waiter.answer != nil {
				waiting[o.token] = o.waiter
			}
			// A question that is due is due before anything that comes now (§6.4).
			now := d.now()
			settled = append(book.Expire(now), o.do(&book, now)...)
			d.deliver(waiting, settled)
			close(o.ready)
			continue
		case <-timer.C:
			settled = book.Expire(d.now())
		}
		d.deliver(waiting, settled)
	}
}

// deliver hands out outcomes, each once it is on record.
func (d *desk) deliver(waiting map[aaep.ReplyToken]waiter, settled []*ledger.Outcome) {
	for _, out := range settled {
		w := waiting[out.Question.Token]
		d.trail.settled(out, w.asked)
		w.answer <- out // it has room for the one outcome
		delete(waiting, out.Question.Token)
	}
}

// do runs f on the ledger and returns when the outcomes have been handed out.
func (d *desk) do(o order) {
	o.ready = make(chan struct{})
	select {
	case d.orders <- o:
		<-o.ready
	case <-d.done:
	}
}

// open adds a question and returns where its one outcome will be.
func (d *desk) open(q *ledger.Question, asked audit.Record) (<-chan *ledger.Outcome, error) {
	answer := make(chan *ledger.Outcome, 1)
	err := ErrClosed
	d.do(order{token: q.Token, waiter: waiter{answer, asked}, do: func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		err = l.Open(now, q)
		return nil
	}})
	return answer, err
}

// join makes a later subscription a recipient.
func (d *desk) join(token aaep.ReplyToken, subscription string) {
	d.do(order{do: func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		l.Join(token, subscription)
		return nil
	}})
}

// extend gives a question more time, and returns how much there is now.
func (d *desk) extend(subscription string, token aaep.ReplyToken) (left time.Duration, ok bool) {
	d.do(order{do: func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		left, ok = l.Extend(now, subscription, token)
		return nil
	}})
	return left, ok
}

// reply hands in a reply. The error is for the audit record alone.
func (d *desk) reply(by audit.Subscription, m aaep.Message) error {
	err := ErrClosed
	d.do(order{do: func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		var out *ledger.Outcome
		if out, err = l.Reply(now, by.SubscriptionID, by.Principal, m); err != nil {
			return nil
		}
		out.Unrecorded = d.trail.replied(by, m, nil) != nil
		return []*ledger.Outcome{out}
	}})
	return err
}

// gone takes a subscription, or the kinds of question it can no longer answer, off the books.
func (d *desk) gone(subscription string) {
	d.do(order{do: func(l *ledger.Ledger, now time.Time) []*ledger.Outcome { return l.Gone(now, subscription) }})
}

func (d *desk) unable(subscription string, confirmations, clarifications bool) {
	d.do(order{do: func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		return l.Unable(now, subscription, confirmations, clarifications)
	}})
}

// withdraw takes back one question, or all of a session.
func (d *desk) withdraw(token aaep.ReplyToken, session string) {
	d.do(order{do: func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		return l.Withdraw(now, token, session)
	}})
}

// close ends the desk; orders that come later do nothing.
func (d *desk) close() { close(d.stop); <-d.done }
