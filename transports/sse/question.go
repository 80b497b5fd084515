package sse

import (
	"context"
	"fmt"
)

// question is a POST that waits for the producer's answer.
type question struct {
	first  bool          // the subscription.request, not a renegotiation
	left   bool          // nobody waits any more; guarded by link.mu
	answer chan answer   // holds one, so that answering never waits
	over   chan struct{} // closed when another may be asked
}

func newQuestion() *question {
	return &question{answer: make(chan answer, 1), over: make(chan struct{})}
}

// settle gives a to q. It reports whether a must go on the stream instead. The caller holds l.mu.
func (l *link) settle(q *question, a answer) (onStream bool, err error) {
	if a.accepted != nil {
		id := a.accepted.SubscriptionID
		if q.first && !l.srv.enter(id, l) {
			return false, fmt.Errorf("sse: subscription_id %q is in use; choose an unused one", id)
		}
		if !q.first && id != l.id {
			return false,
				fmt.Errorf("sse: subscription_id is %q; a renegotiated subscription keeps its id, %q", id, l.id)
		}
		l.id = id
	}
	l.asked = nil
	close(q.over)
	if q.left {
		return true, nil
	}
	q.answer <- a
	return false, nil
}

// ask queues a renegotiation and makes it the question that the next answer belongs to.
func (l *link) ask(ctx context.Context, msg []byte) (*question, error) {
	q := newQuestion()
	for {
		l.mu.Lock()
		before := l.asked
		if before == nil {
			l.asked = q
		}
		l.mu.Unlock()
		if before == nil {
			break
		}
		select {
		case <-before.over:
		case <-l.done:
			return nil, errGone
		case <-ctx.Done():
			return nil, errBusy
		}
	}
	_, err := l.deliver(ctx, msg)
	if err != nil {
		l.mu.Lock()
		if l.asked == q {
			l.asked = nil
			close(q.over)
		}
		l.mu.Unlock()
	}
	return q, err
}

// wait waits for the answer to q until ctx is done or the link ends. A late answer still finds its
// own question, so that it cannot be taken for the answer to the next one.
func (l *link) wait(ctx context.Context, q *question) (answer, bool) {
	select {
	case a := <-q.answer:
		return a, true
	case <-ctx.Done():
	case <-l.done:
	}
	l.mu.Lock()
	q.left = true
	l.mu.Unlock()
	select {
	case a := <-q.answer:
		return a, true
	default:
		return answer{}, false
	}
}

// bounded gives a POST's ctx the time that a producer has for it.
func (s *Server) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.o.AnswerTimeout)
}
