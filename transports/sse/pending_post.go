package sse

import (
	"context"
	"fmt"
)

// A pendingPost is a POST that waits for the producer's answer.
type pendingPost struct {
	first     bool          // the subscription.request, not a renegotiation
	abandoned bool          // no handler waits for the answer any more; guarded by link.mu
	answer    chan answer   // holds one, so that answering never waits
	settled   chan struct{} // closed when another renegotiation may be queued
}

// newPendingPost returns a pendingPost without an answer.
func newPendingPost() *pendingPost {
	return &pendingPost{answer: make(chan answer, 1), settled: make(chan struct{})}
}

// settlePending gives the answer a to the POST q. It reports whether a must go on the stream
// instead, because its POST was abandoned. The caller holds l.mu.
func (l *link) settlePending(q *pendingPost, a answer) (onStream bool, err error) {
	if a.accepted != nil {
		id := a.accepted.SubscriptionID
		if q.first && !l.srv.registerID(id, l) {
			return false, fmt.Errorf("sse: subscription_id %q is in use; choose an unused one", id)
		}
		if !q.first && id != l.id {
			return false,
				fmt.Errorf("sse: subscription_id is %q; a renegotiated subscription keeps its id, %q", id, l.id)
		}
		l.id = id
	}
	l.pending = nil
	close(q.settled)
	if q.abandoned {
		return true, nil
	}
	q.answer <- a
	return false, nil
}

// postRenegotiation queues a renegotiation and makes it the POST that the next answer belongs to.
// It waits for the one before.
func (l *link) postRenegotiation(ctx context.Context, msg []byte) (*pendingPost, error) {
	q := newPendingPost()
	for {
		l.mu.Lock()
		before := l.pending
		if before == nil {
			l.pending = q
		}
		l.mu.Unlock()
		if before == nil {
			break
		}
		select {
		case <-before.settled:
		case <-l.done:
			return nil, errGone
		case <-ctx.Done():
			return nil, errBusy
		}
	}
	_, err := l.queuePosted(ctx, msg)
	if err != nil {
		l.mu.Lock()
		if l.pending == q {
			l.pending = nil
			close(q.settled)
		}
		l.mu.Unlock()
	}
	return q, err
}

// awaitAnswer waits for the answer to q until ctx is done or the link ends. A late answer still
// finds its own POST, so that it cannot be taken for the answer to the next one.
func (l *link) awaitAnswer(ctx context.Context, q *pendingPost) (answer, bool) {
	select {
	case a := <-q.answer:
		return a, true
	case <-ctx.Done():
	case <-l.done:
	}
	l.mu.Lock()
	q.abandoned = true
	l.mu.Unlock()
	select {
	case a := <-q.answer:
		return a, true
	default:
		return answer{}, false
	}
}

// withAnswerTimeout bounds the ctx of a POST by the time that a producer has for it.
func (s *Server) withAnswerTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.o.AnswerTimeout)
}
