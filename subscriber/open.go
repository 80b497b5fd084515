package subscriber

import (
	"context"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
)

// Open lasts for as long as a question that was received waits for an answer: it ends when that was answered or settled,
// when its subscription is gone, be it because the agent was started again, and when s ends. Whoever waits for the user's
// answer waits no longer than this, or the next answer would be taken for one to a question that is gone. For any other
// event it has ended.
func (s *Subscription) Open(ev *aaep.Event) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ev != nil {
		if token, asks := closes.Token(ev); asks && s.open[token].asks(ev) {
			return s.open[token].open
		}
	}
	return ended
}

var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// forget takes a question away that is open no longer. With s.mu held.
func (s *Subscription) forget(token aaep.ReplyToken) {
	if q := s.open[token]; q != nil {
		q.close()
		delete(s.open, token)
	}
}
