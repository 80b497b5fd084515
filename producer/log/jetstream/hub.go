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

// hub is what an agent's processes share besides the log: log.Shared.
type hub struct {
	cluster *Cluster
	name    string // of the agent, as a token

	mu   sync.Mutex
	subs []*nats.Subscription
}

func newHub(c *Cluster, agent string) *hub { return &hub{cluster: c, name: token(agent)} }

// nonceHeader tells who claimed, for a claim that is not acknowledged may have won all the same.
const nonceHeader = "Aaep-Nonce"

// Claim is that of log.Shared. The stream takes one message on each subject. Who is refused reads
// the one that is there; and tries again where there is none, for the one that was on its way may
// not have come.
func (h *hub) Claim(ctx context.Context, tok string, claim []byte) (first log.Claim, mine bool, err error) {
	subject := "aaep.r." + h.name + "." + token(tok)
	nonce := nats.NewInbox()
	err = h.cluster.retry(ctx, func(ctx context.Context) error {
		m := nats.NewMsg(subject)
		m.Data = claim
		m.Header.Set(nonceHeader, nonce)
		_, failure := h.cluster.js.PublishMsg(timeout(ctx, publishTime), m,
			jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithRetryAttempts(0))
		if errors.Is(failure, nats.ErrMaxPayload) {
			return failure
		}
		there, err := h.cluster.newest(ctx, repliesStream, subject) // after a win too: its time is wanted
		switch {
		case err != nil:
			return err
		case there == nil: // refused by what is on its way, whatever the refusal says
			return fmt.Errorf("%w: %v", nats.ErrTimeout, failure)
		}
		first, mine = log.Claim{Data: there.Data, At: there.Time}, there.Header.Get(nonceHeader) == nonce
		return nil
	}, "aaep.r."+h.name, repliesStream)
	if err != nil {
		return first, false, h.cluster.explain("a question cannot be settled", err)
	}
	return first, mine, nil
}

// Claims is that of log.Shared.
func (h *hub) Claims(f func(token string)) error {
	return h.subscribe("aaep.w."+h.name+".*", func(m *nats.Msg) {
		f(agentOf(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]))
	})
}

// Send is that of log.Shared.
func (h *hub) Send(ctx context.Context, msg []byte) ([]byte, error) {
	m, err := h.cluster.nc.RequestWithContext(timeout(ctx, answerTime), "aaep.a."+h.name, msg)
	if err != nil {
		return nil, fmt.Errorf("the agent does not answer: %w", err)
	}
	return m.Data, nil
}

// Receive is that of log.Shared.
func (h *hub) Receive(f func(msg []byte) []byte) error {
	return h.subscribe("aaep.a."+h.name, func(m *nats.Msg) { m.Respond(f(m.Data)) })
}

func (h *hub) subscribe(subject string, f nats.MsgHandler) error {
	began := time.Now()
	sub, err := h.cluster.nc.Subscribe(subject, f)
	if err == nil {
		err = h.cluster.nc.FlushTimeout(answerTime)
	}
	if last := h.cluster.nc.LastError(); err == nil && errors.Is(last, nats.ErrPermissionViolation) &&
		strings.Contains(last.Error(), subject) {
		h.cluster.overhear(nil, nil, last)
		err = h.cluster.denied(began, subject)
	}
	if err != nil {
		return h.cluster.explain("cannot listen to other processes", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs = append(h.subs, sub)
	return nil
}

// SetProfile is that of log.Shared.
func (h *hub) SetProfile(data []byte) error {
	err := h.cluster.retry(context.Background(), func(ctx context.Context) error {
		_, err := h.cluster.js.Publish(timeout(ctx, publishTime), "aaep.p."+h.name, data,
			jetstream.WithRetryAttempts(0))
		return err
	}, "aaep.p."+h.name)
	if err != nil {
		return h.cluster.explain("cannot say who the agent is", err)
	}
	return nil
}

// Profile is that of log.Shared.
func (h *hub) Profile(ctx context.Context) (data []byte, err error) {
	err = h.cluster.retry(ctx, func(ctx context.Context) error {
		m, err := h.cluster.newest(ctx, metaStream, "aaep.p."+h.name)
		if m != nil {
			data = m.Data
		}
		return err
	}, metaStream)
	return data, err
}

// Node is that of log.Shared.
func (h *hub) Node() string { return h.cluster.opts.Node }

// close ends what was subscribed to.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, sub := range h.subs {
		sub.Unsubscribe()
	}
	h.subs = nil
}
