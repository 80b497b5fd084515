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
//
// A Board is in board.go, a Recipient in recipient.go, what is known of one question in pending.go,
// what settles it in claim.go for several processes, and what goes on the audit record in
// audit_log.go. The time that a machine slept is in the files suspended_*.go.
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
	// the outcome that counts; nil is an outcome that is not recorded and handed out here. It may
	// wait. A nil Claim is for an agent that is one process. Set it before the first question.
	Claim func(*ledger.Outcome, *Waiter) *ledger.Outcome
	// Forget is called with each question that is no longer open, before its outcome is recorded,
	// on a goroutine of that outcome. It may be nil. Set it before the first question.
	Forget func(aaep.ReplyToken)

	commands        chan command
	stop, done      chan struct{}
	suspended       func() time.Duration        // how long the machine has been suspended since it was started
	suspendedBefore time.Duration               // how long of that before the Broker was made
	waiters         map[aaep.ReplyToken]*Waiter // of the open questions; the goroutine of run alone uses it
	delivering      sync.WaitGroup              // counts the goroutines of deliver
}

// LookAgain is how often an open question is looked at though it is not due: a timer does not run
// while the machine is suspended, but the time to answer does (D-79).
const LookAgain = 5 * time.Second

// A command is a call of the ledger that run makes on its goroutine. do gets the present time and
// returns the outcomes of the questions that it settles; it must not wait. done is closed when do
// has returned.
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

	// replied is called when the effect of the reply that settled it is on record, with Lost; nil
	// where no reply has.
	replied   func(lost error)
	abandoned atomic.Bool // the asker receives no outcome any more; see GiveUp
}

// NewBroker returns a Broker without questions, and starts its goroutine, which Close ends.
// suspended returns how long the machine has been suspended since it was started; nil asks the
// operating system, where that knows.
func NewBroker(log *AuditLog, suspended func() time.Duration) *Broker {
	if suspended == nil {
		suspended = suspendedTime
	}
	b := &Broker{Log: log, commands: make(chan command), stop: make(chan struct{}), done: make(chan struct{}),
		suspended: suspended, suspendedBefore: suspended(), waiters: map[aaep.ReplyToken]*Waiter{}}
	go b.run()
	return b
}

// Now returns the time by which answers are judged. It runs on while the machine is suspended, and
// setting the machine's clock does not change it.
func (b *Broker) Now() time.Time { return time.Now().Add(b.suspended() - b.suspendedBefore) }

// run is the Broker's goroutine, which owns the ledger: it runs the commands one after the other,
// and settles each question whose deadline comes. When Close ends it, it withdraws the rest. It
// waits for nothing but commands and time, and takes no lock: callers wait for it with locks held.
func (b *Broker) run() {
	var questions ledger.Ledger
	// A timer that is made with 0 fires on this goroutine; in a synctest bubble two that do so at
	// once bring down the race detector (golang/go#78156).
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	defer close(b.done)
	for {
		if next := questions.Next(); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(min(next.Sub(b.Now()), LookAgain))
		}
		select {
		case <-b.stop:
			// The asker of a question that is still open would wait for ever.
			b.deliverAll(questions.Withdraw(b.Now(), "", ""))
			return
		case c := <-b.commands:
			// A question that is due is due before anything that comes now (§6.4).
			now := b.Now()
			settled := append(questions.Expire(now), c.do(&questions, now)...)
			close(c.done)
			b.deliverAll(settled)
		case <-timer.C:
			b.deliverAll(questions.Expire(b.Now()))
		}
	}
}

// deliverAll starts a goroutine for each outcome, which hands it out, and forgets the Waiter of its
// question. Only run calls it.
func (b *Broker) deliverAll(settled []*ledger.Outcome) {
	for _, out := range settled {
		w := b.waiters[out.Question.Token]
		delete(b.waiters, out.Question.Token)
		b.delivering.Go(func() { b.deliver(out, w) })
	}
}

// deliver is the goroutine of one outcome: it records the reply, claims the question, records the
// outcome and hands it to w.Answer. An outcome that cannot be recorded is a rejection. It holds no
// lock, and waits for the audit log and for Claim.
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
		w.Answer <- out // the channel has room for the one outcome
		if w.abandoned.Load() {
			b.recordUntaken(w)
		}
	}
	if w.replied != nil {
		w.replied(w.Lost)
	}
}

// GiveUp says that the asker receives no outcome any more, for its session is over. An acceptance
// that comes all the same is recorded as not done, by this call or by deliver.
func (b *Broker) GiveUp(w *Waiter) {
	w.abandoned.Store(true) // first, so that either this goroutine or that of deliver finds the outcome
	b.recordUntaken(w)
}

// recordUntaken receives the outcome in place of the asker, if it is there, and records an
// acceptance as not done. GiveUp and deliver call it, on any goroutine; it never waits for the
// outcome.
func (b *Broker) recordUntaken(w *Waiter) {
	select {
	case out := <-w.Answer:
		if out.Question.Confirmation != nil && out.Decision == aaep.Accept {
			b.Log.RecordNotDone(w.Asked)
		}
	default:
	}
}

// runCommand has f called with the ledger and the present time, on the goroutine of run, and
// returns when f has returned. If the Broker is closed it returns without that. All methods that
// follow go through it; any goroutine may call them, with locks held that f does not take.
func (b *Broker) runCommand(f func(*ledger.Ledger, time.Time) []*ledger.Outcome) {
	c := command{f, make(chan struct{})}
	select {
	case b.commands <- c:
		<-c.done
	case <-b.done:
	}
}

// Open adds a question, whose time to answer runs from now on, and returns where its outcome will
// be. asked is its audit record. The error is ErrClosed, or says that the token was used before.
func (b *Broker) Open(q *ledger.Question, asked audit.Record) (*Waiter, error) {
	return b.openWith((*ledger.Ledger).Open, q, asked)
}

// Reopen adds a question again that a reply has settled here, where Claim could not keep that and
// returns nil. The results are as those of Open, with a new Waiter.
func (b *Broker) Reopen(q *ledger.Question, asked audit.Record) (*Waiter, error) {
	return b.openWith((*ledger.Ledger).Reopen, q, asked)
}

// openWith opens a question in the ledger with open, which is Ledger.Open or Ledger.Reopen, and
// returns the Waiter that gets its outcome; asked is its audit record. It waits for the broker's
// goroutine. The error is open's, or ErrClosed where that goroutine has ended.
func (b *Broker) openWith(open func(*ledger.Ledger, time.Time, *ledger.Question) error, q *ledger.Question,
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

// ExpectRecipient keeps a question open for a subscription that is being recorded as asked. It is
// no recipient until AddRecipient makes it one; DismissRecipient and RemoveSubscription end that
// too.
func (b *Broker) ExpectRecipient(token aaep.ReplyToken, subscription string) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		l.Expect(token, subscription)
		return nil
	})
}

// DismissRecipient ends what ExpectRecipient began, for a subscription that could not be recorded
// as asked. A question for which no other subscription is left is settled. A subscription that was
// asked before stays a recipient.
func (b *Broker) DismissRecipient(token aaep.ReplyToken, subscription string) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome { return l.Dismiss(now, token, subscription) })
}

// AddRecipient lets a subscription, or a replica, that is asked later than the first recipients
// answer a question. It does nothing if the question is settled.
func (b *Broker) AddRecipient(token aaep.ReplyToken, subscription string) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		l.Join(token, subscription)
		return nil
	})
}

// Extend gives a question more time for one of its recipients, and returns how much is left now. It
// reports false where there is no more to give; see ledger.Ledger.Extend.
func (b *Broker) Extend(subscription string, token aaep.ReplyToken) (left time.Duration, ok bool) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		left, ok = l.Extend(now, subscription, token)
		return nil
	})
	return left, ok
}

// Reply hands in a reply m of the subscription sender, and returns the Waiter of the question that
// it settles. replied is then called, on another goroutine, when the effect of the reply is settled
// and on record, with why it has none after all, or nil. The error says why the reply does not
// count, and is for the audit record alone; it is ErrClosed where no reply counts any more. With an
// error replied is not called.
func (b *Broker) Reply(sender audit.Subscription, m aaep.Message, replied func(lost error)) (w *Waiter, err error) {
	err = ErrClosed
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		var out *ledger.Outcome
		if out, err = l.Reply(now, sender.SubscriptionID, sender.Principal, m); err != nil {
			return nil
		}
		w = b.waiters[out.Question.Token]
		w.By, w.replied = &sender, replied
		return []*ledger.Outcome{out}
	})
	return w, err
}

// RemoveSubscription takes a subscription that has ended out of the recipients of every question. A
// question that it was the last recipient of is settled.
func (b *Broker) RemoveSubscription(subscription string) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome { return l.Gone(now, subscription) })
}

// NarrowAbilities takes a subscription or replica that can no longer answer confirmations,
// clarifications or both out of the recipients of those.
func (b *Broker) NarrowAbilities(subscription string, confirmations, clarifications bool) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		return l.Unable(now, subscription, confirmations, clarifications)
	})
}

// Withdraw withdraws the open question with this token if it is one of the session or session is
// "", or, where token is "", all of the session. It does not wait until the outcomes are handed
// out.
func (b *Broker) Withdraw(token aaep.ReplyToken, session string) {
	b.runCommand(func(l *ledger.Ledger, now time.Time) []*ledger.Outcome {
		return l.Withdraw(now, token, session)
	})
}

// Close withdraws what is open, and returns once every outcome has been handed out. Methods that
// are called later do nothing.
func (b *Broker) Close() { close(b.stop); <-b.done; b.delivering.Wait() }
