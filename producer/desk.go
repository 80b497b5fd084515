package producer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/producer/audit"
)

// The desk owns the ledger: one goroutine, one timer. The asker waits on a channel that gets the
// one outcome. What settles is recorded, claimed and handed out by a goroutine of its own, so that
// no other question, and no one who comes or leaves, waits for that.
type desk struct {
	orders     chan order
	stop, done chan struct{}
	trail      *trail
	asleep     func() time.Duration        // how long the machine has been suspended
	awake      time.Duration               // of that, before the desk was opened
	waiting    map[aaep.ReplyToken]*waiter // run's

	// claim, where the agent is more than one process, settles a question for all of them, and says what settled it; nil is
	// nothing that counts here.
	claim   func(*ledger.Outcome, *waiter) *ledger.Outcome
	forget  func(aaep.ReplyToken) // is told of each question that is open no longer
	handing sync.WaitGroup        // the outcomes that are on their way
}

// lookUp is how often an open question is looked at though it is not due: a timer does not run while the machine
// sleeps, but the time to answer does (D-79).
const lookUp = 5 * time.Second

// now is the time by which answers are judged: it runs on while the machine sleeps, and no clock that is set
// moves it.
func (d *desk) now() time.Time { return time.Now().Add(d.asleep() - d.awake) }

// An order is something to do on the desk's goroutine, to the ledger and to waiting. It must not
// wait; ready is closed when it is done.
type order struct {
	do    func(*ledger.Ledger, time.Time) []*ledger.Outcome
	ready chan struct{}
}

// waiter is who waits for the outcome of a question.
type waiter struct {
	answer    chan *ledger.Outcome
	asked     audit.Record
	by        *audit.Subscription // whose reply settled it, once that is known
	lost      error               // why that did not settle it after all
	replied   func(lost error)    // is told when the effect of that reply is on record; nil where no reply settles it
	settled   chan struct{}       // closed when all processes know; the record may not be kept yet
	abandoned atomic.Bool         // the asker takes no outcome any more; see giveUp
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
			d.deliver(book.Withdraw(d.now(), "", "")) // nothing is open but what has an asker that would wait for ever
			return
		case o := <-d.orders:
			// A question that is due is due before anything that comes now (§6.4).
			now := d.now()
			settled = append(book.Expire(now), o.do(&book, now)...)
			close(o.ready)
			d.deliver(settled)
			continue
		case <-timer.C:
			settled = book.Expire(d.now())
		}
		d.deliver(settled)
	}
}

// deliver has outcomes handed out, each once it is on record, and claimed where that takes more
// than this process.
func (d *desk) deliver(settled []*ledger.Outcome) {
	for _, out := range settled {
		w := d.waiting[out.Question.Token]
		delete(d.waiting, out.Question.Token)
		d.handing.Go(func() { d.hand(out, w) })
	}
}

// hand records the reply, claims the question, records what came of it and hands that out. What
// cannot be recorded is a rejection.
func (d *desk) hand(out *ledger.Outcome, w *waiter) {
	if d.forget != nil {
		d.forget(out.Question.Token)
	}
	if w.by != nil {
		out.Unrecorded = d.trail.replied(*w.by, out.Reply, nil) != nil
	}
	if d.claim != nil {
		out = d.claim(out, w)
	}
	close(w.settled)
	if out != nil {
		d.trail.settled(out, w.asked, w.by)
		w.answer <- out // it has room for the one outcome
		if w.abandoned.Load() {
			d.notTaken(w)
		}
	}
	if w.replied != nil {
		w.replied(w.lost)
	}
}

// giveUp says that the asker takes no outcome any more, for its session is over. An acceptance that
// comes all the same is on record as not done.
func (d *desk) giveUp(w *waiter) {
	w.abandoned.Store(true) // before the look: of the two who look, one finds the outcome
	d.notTaken(w)
}

func (d *desk) notTaken(w *waiter) {
	select {
	case out := <-w.answer:
		if out.Question.Confirmation != nil && out.Decision == aaep.Accept {
			d.trail.notDone(w.asked)
		}
	default:
	}
}

// do runs f on the ledger, and returns when that is done; or at once, where the desk is closed.
func (d *desk) do(f func(*ledger.Ledger, time.Time) []*ledger.Outcome) {
	o := order{f, make(chan struct{})}
	select {
	case d.orders <- o:
		<-o.ready
	case <-d.done:
	}
}

// open adds a question and returns who waits for its one outcome.
func (d *desk) open(q *ledger.Question, asked audit.Record) (*waiter, error) {
	w := &waiter{answer: make(chan *ledger.Outcome, 1), asked: asked, settled: make(chan struct{})}
	err := ErrClosed
	d.do(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		if err = l.Open(now, q); err == nil {
			d.waiting[q.Token] = w
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
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

// reply hands in a reply, and returns who waits for it. Replied is told when its effect is settled
// and on record. The error is for the audit record alone.
func (d *desk) reply(by audit.Subscription, m aaep.Message, replied func(lost error)) (w *waiter, err error) {
	err = ErrClosed
	d.do(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		var out *ledger.Outcome
		if out, err = l.Reply(now, by.SubscriptionID, by.Principal, m); err != nil {
			return nil
		}
		w = d.waiting[out.Question.Token]
		w.by, w.replied = &by, replied
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

// close ends the desk, once every outcome has been handed out; orders that come later do nothing.
func (d *desk) close() { close(d.stop); <-d.done; d.handing.Wait() }
