package producer

import (
	"sync"
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
	asleep     func() time.Duration        // how long the machine has been suspended
	awake      time.Duration               // of that, before the desk was opened
	waiting    map[aaep.ReplyToken]*waiter // run's

	// claim, where the agent is more than one process, settles a question for all of them, and says what settled it; nil is
	// nothing that counts here.
	claim    func(*ledger.Outcome, *waiter) *ledger.Outcome
	claiming sync.WaitGroup
}

// lookUp is how often an open question is looked at though it is not due: a timer does not run while the machine
// sleeps, but the time to answer does (D-79).
const lookUp = 5 * time.Second

// now is the time by which answers are judged: it runs on while the machine sleeps, and no clock that is set
// moves it.
func (d *desk) now() time.Time { return time.Now().Add(d.asleep() - d.awake) }

// An order is something to do on the desk's goroutine, to the ledger and to waiting; its outcomes are handed out before ready is
// closed.
type order struct {
	do    func(*ledger.Ledger, time.Time) []*ledger.Outcome
	ready chan struct{}
}

// waiter is who waits for the outcome of a question.
type waiter struct {
	answer chan *ledger.Outcome
	asked  audit.Record
	by     *audit.Subscription // whose reply settled it, once that is known
	lost   error               // why that did not settle it after all
	handed chan struct{}       // closed when the outcome has been handed out
}

func newDesk(trail *trail, asleep func() time.Duration) *desk {
	d := &desk{trail: trail, orders: make(chan order), stop: make(chan struct{}), done: make(chan struct{}), asleep: asleep, awake: asleep(),
		waiting: map[aaep.ReplyToken]*waiter{}}
	go d.run()
	return d
}

func (d *desk) run() {
	var book ledger.Ledger
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
			// A question that is due is due before anything that comes now (§6.4).
			now := d.now()
			settled = append(book.Expire(now), o.do(&book, now)...)
			d.deliver(settled)
			close(o.ready)
			continue
		case <-timer.C:
			settled = book.Expire(d.now())
		}
		d.deliver(settled)
	}
}

// deliver hands out outcomes, each once it is on record, and claimed where that takes more than this process.
func (d *desk) deliver(settled []*ledger.Outcome) {
	for _, out := range settled {
		w := d.waiting[out.Question.Token]
		delete(d.waiting, out.Question.Token)
		if d.claim == nil {
			d.hand(out, w)
			continue
		}
		d.claiming.Go(func() { d.hand(d.claim(out, w), w) })
	}
}

func (d *desk) hand(out *ledger.Outcome, w *waiter) {
	if out != nil {
		d.trail.settled(out, w.asked, w.by)
		w.answer <- out // it has room for the one outcome
	}
	close(w.handed)
}

// do runs f on the ledger, and returns when the outcomes have been handed out; or at once, where the desk is closed.
func (d *desk) do(f func(*ledger.Ledger, time.Time) []*ledger.Outcome) {
	o := order{f, make(chan struct{})}
	select {
	case d.orders <- o:
		<-o.ready
	case <-d.done:
	}
}

// open adds a question and returns where its one outcome will be.
func (d *desk) open(q *ledger.Question, asked audit.Record) (<-chan *ledger.Outcome, error) {
	w := &waiter{answer: make(chan *ledger.Outcome, 1), asked: asked, handed: make(chan struct{})}
	err := ErrClosed
	d.do(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		if err = l.Open(now, q); err == nil {
			d.waiting[q.Token] = w
		}
		return nil
	})
	return w.answer, err
}

// join makes a later subscription a recipient.
func (d *desk) join(token aaep.ReplyToken, subscription string) {
	d.do(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		l.Join(token, subscription)
		return nil
	})
}

// extend gives a question more time, and returns how much there is now.
func (d *desk) extend(subscription string, token aaep.ReplyToken) (left time.Duration, ok bool) {
	d.do(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		left, ok = l.Extend(now, subscription, token)
		return nil
	})
	return left, ok
}

// reply hands in a reply, and returns who waits for it: handed says when its effect is settled, and lost then why it has none.
// The error is for the audit record alone.
func (d *desk) reply(by audit.Subscription, m aaep.Message) (w *waiter, err error) {
	err = ErrClosed
	d.do(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		var out *ledger.Outcome
		if out, err = l.Reply(now, by.SubscriptionID, by.Principal, m); err != nil {
			return nil
		}
		out.Unrecorded = d.trail.replied(by, m, nil) != nil
		w = d.waiting[out.Question.Token]
		w.by = &by
		return []*ledger.Outcome{out}
	})
	return w, err
}

// gone takes a subscription, or the kinds of question it can no longer answer, off the books.
func (d *desk) gone(subscription string) {
	d.do(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome { return l.Gone(now, subscription) })
}

func (d *desk) unable(subscription string, confirmations, clarifications bool) {
	d.do(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		return l.Unable(now, subscription, confirmations, clarifications)
	})
}

// withdraw takes back one question, or all of a session.
func (d *desk) withdraw(token aaep.ReplyToken, session string) {
	d.do(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		return l.Withdraw(now, token, session)
	})
}

// close ends the desk; orders that come later do nothing.
func (d *desk) close() { close(d.stop); <-d.done; d.claiming.Wait() }
