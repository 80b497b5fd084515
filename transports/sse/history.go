package sse

import (
	"bytes"
	"crypto/subtle"
	"slices"
	"sync"

	"github.com/aaep-go/aaep"
)

// A sentHistory is what a subscription without a handshake has told its client. The client names no
// subscription: its replies find the right one by their token, and its EventSource by the last
// event.
type sentHistory struct {
	request []byte // what the client is taken to have asked for

	mu     sync.Mutex
	tokens []aaep.ReplyToken // of the newest questions
	ids    []string          // of the newest events
}

// historySize is how many tokens and ids are remembered; a client lags behind by less.
const historySize = 1024

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

func appendBounded[T any](list []T, v T) []T {
	if len(list) == 2*historySize {
		list = slices.Delete(list, 0, historySize)
	}
	return append(list, v)
}

// hasAsked reports whether the question went this way.
func (t *sentHistory) hasAsked(token aaep.ReplyToken) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.tokens, func(known aaep.ReplyToken) bool {
		return subtle.ConstantTimeCompare([]byte(known), []byte(token)) == 1
	})
}

// hasSent reports whether a client that asks for the same has had this event from here.
func (t *sentHistory) hasSent(id string, request []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Equal(t.request, request) && slices.Contains(t.ids, id)
}
