package subscriber

import (
	"context"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
)

// Open lasts for as long as a question that was received waits for an answer: it ends when that was
// answered or settled, when its subscription is gone, be it because the agent was started again,
// and when s ends. A program that waits for the user's answer waits no longer than this, or the
// next answer would be taken for one to a question that is gone. For any other event it has ended.
func (s *Subscription) Open(ev *aaep.Event) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ev != nil {
		if token, asks := closes.Token(ev); asks && s.questions[token].isAskedBy(ev) {
			return s.questions[token].open
		}
	}
	return endedContext
}

// endedContext is the context of a question that is not open.
var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// forgetQuestion closes a question that is no longer open. It is called with s.mu held.
func (s *Subscription) forgetQuestion(token aaep.ReplyToken) {
	if q := s.questions[token]; q != nil {
		q.close()
		delete(s.questions, token)
	}
}
