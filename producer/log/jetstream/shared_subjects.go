package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aaep-go/aaep/producer/log"
)

// sharedSubjects is the log.Shared of an agent: the subjects of NATS by which its processes share
// claims, messages and the profile.
type sharedSubjects struct {
	cluster *Cluster
	name    string // of the agent, as a token

	mu   sync.Mutex
	subs []*nats.Subscription // what unsubscribeAll ends
}

// newSharedSubjects returns the shared subjects of an agent, without a subscription.
func newSharedSubjects(c *Cluster, agent string) *sharedSubjects {
	return &sharedSubjects{cluster: c, name: subjectToken(agent)}
}

// nonceHeader names the call of Claim that sent a claim: one that was not acknowledged may have won
// all the same.
const nonceHeader = "Aaep-Nonce"

// Claim is that of log.Shared. The stream takes one message on the subject of each token. Whether
// the claim was taken or refused, the message that is there is read: it is the first claim. Where
// there is none, Claim tries again: the one that caused the refusal may not have arrived.
func (h *sharedSubjects) Claim(ctx context.Context, tok string, claim []byte) (first log.Claim, mine bool, err error) {
	subject := "aaep.r." + h.name + "." + subjectToken(tok)
	nonce := nats.NewInbox()
	err = h.cluster.retryUntil(ctx, func(ctx context.Context) error {
		m := nats.NewMsg(subject)
		m.Data = claim
		m.Header.Set(nonceHeader, nonce)
		_, failure := h.cluster.js.PublishMsg(withTimeout(ctx, publishTime), m,
			jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithRetryAttempts(0))
		if errors.Is(failure, nats.ErrMaxPayload) {
			return failure
		}
		winner, err := h.cluster.newestMessage(ctx, repliesStream, subject) // read after a win too, for its time
		switch {
		case err != nil:
			return err
		case winner == nil: // the message that refused this one is not there yet, or will not be
			if failure != nil && isPassing(failure) {
				return failure
			}
			return fmt.Errorf("%w: %v", nats.ErrTimeout, failure)
		}
		first, mine = log.Claim{Data: winner.Data, At: winner.Time}, winner.Header.Get(nonceHeader) == nonce
		return nil
	}, "aaep.r."+h.name, repliesStream)
	if err != nil {
		return first, false, h.cluster.explainError("a question cannot be settled", err)
	}
	return first, mine, nil
}

// Claims has f called with the tokens that are settled from now on, as log.Shared demands: the
// servers publish each message of repliesStream again, on a subject of its own.
func (h *sharedSubjects) Claims(f func(token string)) error {
	return h.subscribeTo("aaep.w."+h.name+".*", func(m *nats.Msg) {
		f(agentOf(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]))
	})
}

// Send sends msg to the agent's process and waits at most answerTime for the answer, as log.Shared
// demands.
func (h *sharedSubjects) Send(ctx context.Context, msg []byte) ([]byte, error) {
	m, err := h.cluster.nc.RequestWithContext(withTimeout(ctx, answerTime), "aaep.a."+h.name, msg)
	if err != nil {
		return nil, fmt.Errorf("the agent does not answer: %w", err)
	}
	return m.Data, nil
}

// Receive has f answer the messages of Send, as log.Shared demands.
func (h *sharedSubjects) Receive(f func(msg []byte) []byte) error {
	return h.subscribeTo("aaep.a."+h.name, func(m *nats.Msg) { m.Respond(f(m.Data)) })
}

// subscribeTo has f called with the messages on a subject until unsubscribeAll, in a goroutine of
// the client. It returns once the servers know of the subscription, or have refused it.
func (h *sharedSubjects) subscribeTo(subject string, f nats.MsgHandler) error {
	began := time.Now()
	sub, err := h.cluster.nc.Subscribe(subject, f)
	if err == nil {
		err = h.cluster.nc.FlushTimeout(answerTime)
	}
	if r := refusalOf(h.cluster.nc.LastError()); err == nil && r != nil && r.subject == subject {
		h.cluster.refused.Store(r)
		err = h.cluster.deniedError(began, subject)
	}
	if err != nil {
		return h.cluster.explainError("cannot listen to other processes", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs = append(h.subs, sub)
	return nil
}

// SetProfile keeps what the agent says of itself, as log.Shared demands, in metaStream. It tries
// until the servers answer or refuse.
func (h *sharedSubjects) SetProfile(data []byte) error {
	err := h.cluster.retryUntil(context.Background(), func(ctx context.Context) error {
		_, err := h.cluster.js.Publish(withTimeout(ctx, publishTime), "aaep.p."+h.name, data,
			jetstream.WithRetryAttempts(0))
		return err
	}, "aaep.p."+h.name)
	if err != nil {
		return h.cluster.explainError("cannot say who the agent is", err)
	}
	return nil
}

// Profile returns what SetProfile kept last, or nil.
func (h *sharedSubjects) Profile(ctx context.Context) (data []byte, err error) {
	err = h.cluster.retryUntil(ctx, func(ctx context.Context) error {
		m, err := h.cluster.newestMessage(ctx, metaStream, "aaep.p."+h.name)
		if m != nil {
			data = m.Data
		}
		return err
	}, metaStream)
	return data, err
}

// Node is Options.Node, as log.Shared demands.
func (h *sharedSubjects) Node() string { return h.cluster.opts.Node }

// unsubscribeAll ends all subscriptions of subscribeTo. It takes h.mu.
func (h *sharedSubjects) unsubscribeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, sub := range h.subs {
		sub.Unsubscribe()
	}
	h.subs = nil
}
