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
	request []byte // the subscription.request that the Server wrote in the client's place

	mu     sync.Mutex        // a leaf: no other lock is taken while it is held
	tokens []aaep.ReplyToken // of the newest questions, oldest first
	ids    []string          // of the newest events, oldest first
}

// historySize is how many tokens and ids are remembered at least, and half of how many at most. A
// client lags behind by less.
const historySize = 1024

// record remembers the id of an encoded event, if it is not "", and the reply token of the question
// in it, if there is one. The goroutine that sends the event calls it before the write, so that a
// reply finds the token.
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

// tokenOf returns the reply token of m, or "" if m is not an event that asks a question.
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

// appendBounded appends v to list, and drops the oldest half first where list is full. It moves
// values only once every historySize calls.
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

// hasSent reports whether the event id was sent on this subscription, and request is what its
// client is taken to have asked for: a reconnecting EventSource may then continue it.
func (t *sentHistory) hasSent(id string, request []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Equal(t.request, request) && slices.Contains(t.ids, id)
}
