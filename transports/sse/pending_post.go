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

// settlePending gives the producer's answer a to post, which is l.pending, and lets the next
// renegotiation be queued. An acceptance makes the link reachable under its id. onStream says that
// post was abandoned, so that a must go on the stream instead. After an error, for an id that the
// producer must not choose, post still waits. The caller holds l.mu.
func (l *link) settlePending(post *pendingPost, a answer) (onStream bool, err error) {
	if a.accepted != nil {
		id := a.accepted.SubscriptionID
		if post.first && !l.srv.registerID(id, l) {
			return false, fmt.Errorf("sse: subscription_id %q is in use; choose an unused one", id)
		}
		if !post.first && id != l.id {
			return false,
				fmt.Errorf("sse: subscription_id is %q; a renegotiated subscription keeps its id, %q", id, l.id)
		}
		l.id = id
	}
	l.pending = nil
	close(post.settled)
	if post.abandoned {
		return true, nil
	}
	post.answer <- a
	return false, nil
}

// postRenegotiation queues the renegotiation msg for Receive and makes it the POST that the
// producer's next answer belongs to. It waits for the answer to the POST before it. The errors are
// errGone and errBusy, and the POST is not pending then.
func (l *link) postRenegotiation(ctx context.Context, msg []byte) (*pendingPost, error) {
	post := newPendingPost()
	for {
		l.mu.Lock()
		other := l.pending
		if other == nil {
			l.pending = post
		}
		l.mu.Unlock()
		if other == nil {
			break
		}
		select {
		case <-other.settled:
		case <-l.done:
			return nil, errGone
		case <-ctx.Done():
			return nil, errBusy
		}
	}
	_, err := l.queuePosted(ctx, msg)
	if err != nil {
		l.mu.Lock()
		if l.pending == post {
			l.pending = nil
			close(post.settled)
		}
		l.mu.Unlock()
	}
	return post, err
}

// awaitAnswer waits for the answer to post until ctx is done or the link ends, and reports whether
// it came. post is abandoned otherwise, but stays pending: a late answer is matched to its own
// POST, so that it cannot be taken for the answer to the next one, and goes on the stream.
func (l *link) awaitAnswer(ctx context.Context, post *pendingPost) (answer, bool) {
	select {
	case a := <-post.answer:
		return a, true
	case <-ctx.Done():
	case <-l.done:
	}
	l.mu.Lock()
	post.abandoned = true
	l.mu.Unlock()
	select {
	case a := <-post.answer:
		return a, true
	default:
		return answer{}, false
	}
}

// withAnswerTimeout bounds the ctx of a POST by the time that a producer has for it.
func (s *Server) withAnswerTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.o.AnswerTimeout)
}
