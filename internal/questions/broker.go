// Package questions keeps the open questions of an agent: to whom each was put, who may answer it,
// until when, and what settles it. What has to be on the audit record before it takes effect is
// written there, and what cannot be written is a rejection.
//
// A Board has the questions that are open. Of each subscription that may be asked it has a
// Recipient, which puts a question to that subscription once that is on record. A Broker, with a
// goroutine of its own, takes the replies and lets internal/ledger decide; each question has one
// Outcome. Claims make that outcome the same for all processes of an agent.
//
// The package decides nothing about answers itself: internal/ledger does. It knows no session and
// no transport: package producer announces a question in its session, then has it opened here, and
// waits for the outcome. Begin reading at Board.Open, then at Broker.deliver; how a subscription is
// asked that came later is in Recipient.
package questions

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/producer/audit"
)

// ErrClosed is returned by Open and Reply once the Broker has been closed.
var ErrClosed = errors.New("the agent is shutting down")

// A Broker owns the ledger of open questions. One goroutine runs every command on it, with one
// timer for the next deadline, so that what comes first counts. Each outcome is recorded, claimed
// and handed out by a goroutine of its own: no other question, and no subscription that begins or
// ends, waits for a disk. All methods may be called at once.
type Broker struct {
	// Log is where replies and outcomes are recorded.
	Log *AuditLog
	// Claim settles a question for all processes of the agent, where there are several, and returns
	// what settled it; nil is an outcome that means nothing to this process. A nil Claim is for an
	// agent that is one process. Set it before the first question.
	Claim func(*ledger.Outcome, *Waiter) *ledger.Outcome
	// Forget is called with each question that is no longer open, before its outcome is recorded.
	// It may be nil. Set it before the first question.
	Forget func(aaep.ReplyToken)

	commands        chan command
	stop, done      chan struct{}
	suspended       func() time.Duration        // how long the machine has been suspended
	suspendedBefore time.Duration               // of that, before the Broker was made
	waiters         map[aaep.ReplyToken]*Waiter // of the open questions; the goroutine of run alone uses it
	delivering      sync.WaitGroup              // the outcomes that are on their way
}

// LookAgain is how often an open question is looked at though it is not due: a timer does not run
// while the machine is suspended, but the time to answer does (D-79).
const LookAgain = 5 * time.Second

// A command is something to do to the ledger, on the goroutine of run. It must not wait. Done is
// closed when it has been run.
type command struct {
	do   func(*ledger.Ledger, time.Time) []*ledger.Outcome
	done chan struct{}
}

// A Waiter is where the outcome of one open question goes.
type Waiter struct {
	// Answer gets the one outcome, unless Broker.Claim dropped it.
	Answer chan *ledger.Outcome
	// Asked is the audit record of the question.
	Asked audit.Record
	// By says whose reply settled it. It is set when the ledger has decided; a Claim may change it.
	By *audit.Subscription
	// Lost is why that reply did not settle it after all. A Claim may set it.
	Lost error
	// Settled is closed when all processes know the outcome; its record may not be kept yet.
	Settled chan struct{}

	replied   func(lost error) // is called when the effect of the reply is on record; nil where no reply settles it
	abandoned atomic.Bool      // the asker takes no outcome any more; see GiveUp
}

// NewBroker returns a Broker without questions, and starts its goroutine, which Close ends.
// Suspended says how long the machine has been suspended since it was started; nil asks the
// operating system, where it knows.
func NewBroker(log *AuditLog, suspended func() time.Duration) *Broker {
	if suspended == nil {
		suspended = suspendedTime
	}
	b := &Broker{Log: log, commands: make(chan command), stop: make(chan struct{}), done: make(chan struct{}),
		suspended: suspended, suspendedBefore: suspended(), waiters: map[aaep.ReplyToken]*Waiter{}}
	go b.run()
	return b
}

// Now is the time by which answers are judged: it runs on while the machine is suspended, and no
// clock that is set moves it.
func (b *Broker) Now() time.Time { return time.Now().Add(b.suspended() - b.suspendedBefore) }

// run is the Broker's goroutine.
func (b *Broker) run() {
	var open ledger.Ledger
	// A timer that is made with 0 fires on this goroutine; in a synctest bubble two that do so at
	// once bring down the race detector (golang/go#78156).
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	defer close(b.done)
	for {
		if next := open.Next(); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(min(next.Sub(b.Now()), LookAgain))
		}
		select {
		case <-b.stop:
			b.deliverAll(open.Withdraw(b.Now(), "", "")) // a question that is still open has an asker that would wait for ever
			return
		case c := <-b.commands:
			// A question that is due is due before anything that comes now (§6.4).
			now := b.Now()
			settled := append(open.Expire(now), c.do(&open, now)...)
			close(c.done)
			b.deliverAll(settled)
		case <-timer.C:
			b.deliverAll(open.Expire(b.Now()))
		}
	}
}

// deliverAll starts a goroutine for each outcome, which hands it out. It runs on the goroutine of
// run.
func (b *Broker) deliverAll(settled []*ledger.Outcome) {
	for _, out := range settled {
		w := b.waiters[out.Question.Token]
		delete(b.waiters, out.Question.Token)
		b.delivering.Go(func() { b.deliver(out, w) })
	}
}

// deliver records the reply, claims the question, records its outcome and hands that out. What
// cannot be recorded is a rejection.
func (b *Broker) deliver(out *ledger.Outcome, w *Waiter) {
	if b.Forget != nil {
		b.Forget(out.Question.Token)
	}
	if w.By != nil {
		out.Unrecorded = b.Log.RecordReply(*w.By, out.Reply, nil) != nil
	}
	if b.Claim != nil {
		out = b.Claim(out, w)
	}
	close(w.Settled)
	if out != nil {
		b.Log.RecordOutcome(out, w.Asked, w.By)
		w.Answer <- out // it has room for the one outcome
		if w.abandoned.Load() {
			b.recordUntaken(w)
		}
	}
	if w.replied != nil {
		w.replied(w.Lost)
	}
}

// GiveUp says that the asker takes no outcome any more, for its session is over. An acceptance that
// comes all the same is on record as not done.
func (b *Broker) GiveUp(w *Waiter) {
	w.abandoned.Store(true) // before the look: either this goroutine or that of deliver finds the outcome
	b.recordUntaken(w)
}

// recordUntaken takes the outcome that the asker does not take, if it is there.
func (b *Broker) recordUntaken(w *Waiter) {
	select {
	case out := <-w.Answer:
		if out.Question.Confirmation != nil && out.Decision == aaep.Accept {
			b.Log.RecordNotDone(w.Asked)
		}
	default:
	}
}

// runCommand runs f on the ledger, and returns when that is done; or at once, where the Broker is
// closed.
func (b *Broker) runCommand(f func(*ledger.Ledger, time.Time) []*ledger.Outcome) {
	c := command{f, make(chan struct{})}
	select {
	case b.commands <- c:
		<-c.done
	case <-b.done:
	}
}

// Open adds a question, whose time to answer runs from now on. The error is ErrClosed, or says that
// its token is taken.
func (b *Broker) Open(q *ledger.Question, asked audit.Record) (*Waiter, error) {
	return b.openBy((*ledger.Ledger).Open, q, asked)
}

// Reopen adds a question again that a reply settled here, for that reply could not be claimed. It
// is for a Claim that returns nil.
func (b *Broker) Reopen(q *ledger.Question, asked audit.Record) (*Waiter, error) {
	return b.openBy((*ledger.Ledger).Reopen, q, asked)
}

// openBy adds a question with a method of the ledger.
func (b *Broker) openBy(open func(*ledger.Ledger, time.Time, *ledger.Question) error, q *ledger.Question,
	asked audit.Record) (*Waiter, error) {
	w := &Waiter{Answer: make(chan *ledger.Outcome, 1), Asked: asked, Settled: make(chan struct{})}
	err := ErrClosed
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		if err = open(l, now, q); err == nil {
			b.waiters[q.Token] = w
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// ExpectRecipient keeps a question open for a subscription that is being put on record as asked. It
// is no recipient until AddRecipient makes it one; DismissRecipient and RemoveSubscription end the
// waiting.
func (b *Broker) ExpectRecipient(token aaep.ReplyToken, subscription string) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		l.Expect(token, subscription)
		return nil
	})
}

// DismissRecipient ends what ExpectRecipient began, for a subscription that could not be put on
// record. A question for which no other subscription is left is settled. A subscription that was
// asked before stays a recipient.
func (b *Broker) DismissRecipient(token aaep.ReplyToken, subscription string) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome { return l.Dismiss(now, token, subscription) })
}

// AddRecipient lets a subscription that came later answer a question.
func (b *Broker) AddRecipient(token aaep.ReplyToken, subscription string) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		l.Join(token, subscription)
		return nil
	})
}

// Extend gives a question more time, and returns how much there is now. It reports false where
// there is no more to give.
func (b *Broker) Extend(subscription string, token aaep.ReplyToken) (left time.Duration, ok bool) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		left, ok = l.Extend(now, subscription, token)
		return nil
	})
	return left, ok
}

// Reply hands in a reply, and returns the Waiter of the question that it settles. Replied is called
// when the effect of the reply is settled and on record, with why it has none after all. The error
// says why the reply does not count, and is for the audit record alone; it is ErrClosed where
// nothing counts any more.
func (b *Broker) Reply(by audit.Subscription, m aaep.Message, replied func(lost error)) (w *Waiter, err error) {
	err = ErrClosed
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		var out *ledger.Outcome
		if out, err = l.Reply(now, by.SubscriptionID, by.Principal, m); err != nil {
			return nil
		}
		w = b.waiters[out.Question.Token]
		w.By, w.replied = &by, replied
		return []*ledger.Outcome{out}
	})
	return w, err
}

// RemoveSubscription takes a subscription that has ended from the recipients of every question. A
// question that it was the last recipient of is settled.
func (b *Broker) RemoveSubscription(subscription string) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome { return l.Gone(now, subscription) })
}

// NarrowAbilities takes a subscription that can no longer answer confirmations, clarifications or
// both from the recipients of those.
func (b *Broker) NarrowAbilities(subscription string, confirmations, clarifications bool) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		return l.Unable(now, subscription, confirmations, clarifications)
	})
}

// Withdraw takes back one question by its token or, where that is empty, all of a session.
func (b *Broker) Withdraw(token aaep.ReplyToken, session string) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		return l.Withdraw(now, token, session)
	})
}

// Close withdraws what is open, and returns once every outcome has been handed out. What is called
// later does nothing.
func (b *Broker) Close() { close(b.stop); <-b.done; b.delivering.Wait() }
