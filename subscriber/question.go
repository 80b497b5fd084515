package subscriber

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
)

// Question is a question to the user that came over a subscription, and takes one answer. All its
// methods may be called at once; asking whether it is open changes nothing. Of one that
// Subscription did not make, they return ErrUnknownEvent.
//
// A Question does not know whether the user has heard it: Accept sends a yes at once. A program
// that asks a person, by voice, touch, lines or lights, gives what they press or say to
// present.Presenter.Answer instead, be it one of two buttons: that counts nothing but a no before
// they had the whole, and sends it by these methods. On their own they are for a program that
// answers by a policy of its user's (AutoReply), or for one that itself sees to it that the whole
// was heard, and that the answer was begun after that.
type Question struct {
	// Event asks it: its Payload is an *aaep.AwaitingConfirmation, which Accept and Reject answer,
	// or an *aaep.AwaitingClarification, which AnswerText, AnswerYesNo and AnswerNumber do.
	Event *aaep.Event

	sub  *Subscription   // nil in one that no Subscription made
	open context.Context // done once the question is open no longer
}

// Question returns the question that an event of Next or Events asks. Of an event that asks
// nothing, came over another subscription, or asked what is open no longer, Done is closed and Err
// is ErrUnknownEvent.
func (s *Subscription) Question(ev *aaep.Event) *Question {
	if !s.isDialed() {
		return &Question{Event: ev}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &Question{Event: ev, sub: s, open: endedContext}
	if pending := s.findPending(ev); pending != nil {
		q.open = pending.open
	}
	return q
}

// Questions yields the questions that are open, and each that comes, in their order, until the
// subscription is over or ctx is done. They are yielded before the user has heard anything of them:
// see Question, and present.Follow for a program that asks a person. One that closes before its
// turn is left out; so a loop that answers in its body asks one at a time, and one that starts a
// goroutine for each asks all at once. A question comes once more where it is asked in another
// language, and after the producer was subscribed to anew, for only then can it be answered there.
//
// Next and Events hand on the events that ask, too. A program that calls neither takes no other
// event: what is more than may wait is dropped while it ranges over Questions.
func (s *Subscription) Questions(ctx context.Context) iter.Seq[*Question] {
	return func(yield func(*Question) bool) {
		if !s.isDialed() {
			return
		}
		defer s.inbox.dropUnread()()
		for last := 0; ; {
			q, number, changed, held := s.nextQuestion(last)
			if q != nil {
				if last = number; !yield(q) {
					return
				}
				continue
			}
			var release <-chan time.Time
			if held > 0 {
				release = time.After(held)
			}
			select {
			case <-changed:
			case <-release:
			case <-ctx.Done():
				return
			case <-s.done:
				return
			}
		}
	}
}

// nextQuestion returns the first open question whose number is greater than after, and that number;
// Questions calls it in a loop. Where there is none, changed is closed once another has come, and
// held is how long the next one is still held because it may be settled already; zero where none is
// held.
func (s *Subscription) nextQuestion(after int) (_ *Question, number int, changed <-chan struct{}, held time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = slices.DeleteFunc(s.asked, func(a askedQuestion) bool {
		return a.open.Err() != nil || s.findPending(a.event) == nil
	})
	for _, a := range s.asked {
		if a.number <= after {
			continue
		}
		if held = time.Until(a.heldUntil); held > 0 {
			break // those behind it wait for their turn
		}
		return &Question{Event: a.event, sub: s, open: a.open}, a.number, nil, 0
	}
	if s.askedMore == nil {
		s.askedMore = make(chan struct{})
	}
	return nil, 0, s.askedMore, held
}

// An askedQuestion is an open question in the order in which they came.
type askedQuestion struct {
	event     *aaep.Event
	open      context.Context
	number    int
	heldUntil time.Time
}

// noteAsked lets Questions yield the question of an event that is handed on, and wakes those that
// wait for one. One that is no longer open is left out. handleEvent calls it; it takes s.mu.
func (s *Subscription) noteAsked(a arrival) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := s.findPending(a.event)
	if pending == nil || pending.open.Err() != nil {
		return
	}
	s.asked = slices.DeleteFunc(s.asked, func(a askedQuestion) bool { // or it is asked anew
		return a.open.Err() != nil || a.open == pending.open
	})
	s.askedCount++
	s.asked = append(s.asked, askedQuestion{a.event, pending.open, s.askedCount, a.heldUntil})
	if s.askedMore != nil {
		close(s.askedMore)
		s.askedMore = nil
	}
}

// Done returns a channel that is closed when the question is open no longer: it was answered or
// settled, its subscription is gone, be it because the agent was started again, or all is over. A
// program that waits for the user's answer waits no longer than this, or the next answer would be
// taken for one to a question that is gone.
func (q *Question) Done() <-chan struct{} {
	if q == nil || q.open == nil {
		return endedContext.Done()
	}
	return q.open.Done()
}

// Err returns nil while an answer may be sent, and else why not: the error that Accept would return
// for that.
func (q *Question) Err() error {
	if q == nil || q.sub == nil {
		return ErrUnknownEvent
	}
	q.sub.mu.Lock()
	defer q.sub.mu.Unlock()
	_, err := q.sub.checkOpen(q.Event)
	return err
}

// Deadline returns until when the question may be answered, as far as is known here; ok is false
// where it has no end. More time moves it.
func (q *Question) Deadline() (at time.Time, ok bool) {
	if q == nil || q.sub == nil {
		return at, false
	}
	q.sub.mu.Lock()
	defer q.sub.mu.Unlock()
	if p := q.sub.findPending(q.Event); p != nil && p.timeLimit() > 0 {
		return p.time.from.Add(p.timeLimit()), true
	}
	return at, false
}

// endedContext is the context of a question that is not open.
var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// findPending returns the question that an event asks, if it is remembered. It is called with s.mu
// held.
func (s *Subscription) findPending(ev *aaep.Event) *pendingQuestion {
	if ev != nil {
		if token, asks := closes.Token(ev); asks && s.questions[token].isAskedBy(ev) {
			return s.questions[token]
		}
	}
	return nil
}

// checkOpen returns the question that an event asks, or why it cannot be answered: ErrUnknownEvent,
// which stands for an answered one too, ErrLate, or that this subscription did not offer to answer.
// It is called with s.mu held.
func (s *Subscription) checkOpen(ev *aaep.Event) (*pendingQuestion, error) {
	q := s.findPending(ev)
	switch {
	case q == nil:
		return nil, ErrUnknownEvent
	case q.answered:
		return nil, errAnswered
	case !s.mayAnswer(ev):
		return nil, errors.New("subscriber: this subscription did not offer to answer, so somebody else will be asked")
	case q.isLate():
		return nil, ErrLate
	}
	return q, nil
}

// forgetQuestion closes a question that is no longer open. It is called with s.mu held.
func (s *Subscription) forgetQuestion(token aaep.ReplyToken) {
	if q := s.questions[token]; q != nil {
		q.close()
		delete(s.questions, token)
	}
}
