package sse

import (
	"bytes"
	"crypto/subtle"
	"slices"
	"sync"

	"github.com/aaep-go/aaep"
)

// A sentHistory is what a subscription without a handshake has sent to its client. The client names
// no subscription: its replies find the right one by their token, and its EventSource by its last
// event.
type sentHistory struct {
	request []byte // what the client is taken to have asked for

	mu     sync.Mutex
	tokens []aaep.ReplyToken // of the newest questions
	ids    []string          // of the newest events
}

// historySize is how many tokens and ids are remembered; a client lags behind by less.
const historySize = 1024

// record notes the id of an event and the token of its question.
func (t *sentHistory) record(event []byte, id string) {
	var token aaep.ReplyToken
	if bytes.Contains(event, []byte("reply_token")) {
		if m, err := aaep.Decode(event); err == nil {
			token = tokenOf(m)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if id != "" {
		t.ids = appendBounded(t.ids, id)
	}
	if token != "" {
		t.tokens = appendBounded(t.tokens, token)
	}
}

// tokenOf returns the reply token of a question, or "".
func tokenOf(m aaep.Message) aaep.ReplyToken {
	if ev, ok := m.(*aaep.Event); ok {
		switch q := ev.Payload.(type) {
		case *aaep.AwaitingConfirmation:
			return q.ReplyToken
		case *aaep.AwaitingClarification:
			return q.ReplyToken
		}
	}
	return ""
}

// appendBounded appends v, and drops the oldest values where there are too many.
func appendBounded[T any](list []T, v T) []T {
	if len(list) == 2*historySize {
		list = slices.Delete(list, 0, historySize)
	}
	return append(list, v)
}

// hasAsked reports whether the question with this token was sent here. It compares in constant
// time.
func (t *sentHistory) hasAsked(token aaep.ReplyToken) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.tokens, func(known aaep.ReplyToken) bool {
		return subtle.ConstantTimeCompare([]byte(known), []byte(token)) == 1
	})
}

// hasSent reports whether the event id was sent here, to a client that asks for the same.
func (t *sentHistory) hasSent(id string, request []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Equal(t.request, request) && slices.Contains(t.ids, id)
}
