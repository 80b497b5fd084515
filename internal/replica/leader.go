package replica

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

// Agent is what a Leader asks of the agent. It holds no lock meanwhile.
type Agent interface {
	// ApplyPresence calls Leader.Apply and puts the open questions to the replica that it can
	// answer only now, and takes it out of those that it can answer no longer.
	ApplyPresence(now Presence)
	// ExtendQuestion gives a question more time for a subscription of a replica, and reports
	// whether there was more to give.
	ExtendQuestion(replica string, by audit.Subscription, token aaep.ReplyToken) bool
	// IsLogOverdue reports whether the log takes or shows nothing at present.
	IsLogOverdue() bool
}

// Leader is what the agent's process knows of its replicas. Any goroutine may use it.
type Leader struct {
	agent   Agent
	logger  *slog.Logger
	changed func() // called when a replica has come, gone or delivered something

	mu       sync.Mutex         // a leaf; guards what follows
	replicas map[string]*member // those that have subscribers, by id
}

// member is a replica as the agent knows it.
type member struct {
	Presence
	seen time.Time // when it last reported its presence
	// delivered has, by position in the log, the tool calls that it is done with, each with the
	// subscriptions for which the call has not left.
	delivered map[uint64][]audit.Subscription
}

// keptDelivered is over how many positions of the log it is kept which tool calls a replica has
// delivered.
const keptDelivered = 10_000

// NewLeader returns a Leader without replicas, which calls changed when something in it changes.
func NewLeader(agent Agent, logger *slog.Logger, changed func()) *Leader {
	return &Leader{agent: agent, logger: logger, changed: changed, replicas: map[string]*member{}}
}

// HandleMessage handles one message of a replica and returns the answer: "no" if it cannot be read,
// or asks for more time that there is not, and "yes" otherwise, also to an empty message, which
// asks only whether the agent is there. The shared log calls it, for one message at a time.
func (l *Leader) HandleMessage(msg []byte) []byte {
	var m message
	ok := jsonv2.Unmarshal(msg, &m) == nil
	switch {
	case !ok:
	case m.Presence != nil:
		l.agent.ApplyPresence(*m.Presence)
		l.changed()
	case m.Left > 0:
		l.noteDelivered(m.ID, m.Left, m.Untold)
		l.changed()
	case m.More != "" && m.By != nil:
		ok = l.agent.ExtendQuestion(m.ID, *m.By, m.More)
	}
	if ok {
		return []byte(accepted)
	}
	return []byte("no")
}

// noteDelivered notes that the replica with this id is done with the tool call at pos, which has
// not left for the subscriptions in untold, and forgets what is further back than keptDelivered. It
// takes l.mu.
func (l *Leader) noteDelivered(id string, pos uint64, untold []audit.Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.replicas[id]; r != nil {
		r.delivered[pos] = untold
		maps.DeleteFunc(r.delivered, func(at uint64, _ []audit.Subscription) bool { return at+keptDelivered < pos })
	}
}

// Apply keeps what a replica reports of itself, or forgets a replica that has no subscriptions any
// more. It returns what the replica reported before, the zero Presence if that was nothing. The
// agent calls it, in ApplyPresence.
func (l *Leader) Apply(now Presence) (before Presence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delivered := map[uint64][]audit.Subscription{}
	if known := l.replicas[now.ID]; known != nil {
		before, delivered = known.Presence, known.delivered
	}
	if now.Listeners > 0 {
		l.replicas[now.ID] = &member{Presence: now, seen: time.Now(), delivered: delivered}
	} else {
		delete(l.replicas, now.ID)
	}
	return before
}

// Watch drops replicas that have not reported for too long, and logs when the shared log stops
// answering and when it answers again, until done is closed. While the agent itself is cut off, as
// isCutOff says, no report can arrive: all replicas count as having just reported then. isCutOff
// may wait for within.
func (l *Leader) Watch(done <-chan struct{}, isCutOff func(within time.Duration) bool) {
	tick := time.NewTicker(presenceEvery)
	defer tick.Stop()
	for wasOverdue := false; ; {
		select {
		case <-tick.C:
		case <-done:
			return
		}
		switch isOverdue := l.agent.IsLogOverdue(); {
		case isOverdue && !wasOverdue:
			l.logger.Warn("the log does not answer: whoever listens at another process hears nothing new for now")
			wasOverdue = true
		case !isOverdue && wasOverdue:
			l.logger.Warn("the log answers again, and has everything")
			wasOverdue = false
		}
		silent := l.findSilent()
		if len(silent) > 0 && isCutOff(presenceEvery) {
			l.markAllSeen()
			continue
		}
		for _, gone := range silent {
			l.logger.Warn("a process that served listeners is gone", "node", gone.Node)
			l.agent.ApplyPresence(gone)
			l.changed()
		}
	}
}

// markAllSeen has every replica count as having just reported. It takes l.mu.
func (l *Leader) markAllSeen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.replicas {
		r.seen = time.Now()
	}
}

// findSilent returns the replicas that have not reported for presenceKept, each as a report without
// subscriptions, which Apply drops it for.
func (l *Leader) findSilent() (gone []Presence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, r := range l.replicas {
		if time.Since(r.seen) > presenceKept {
			gone = append(gone, Presence{ID: id, Node: r.Node})
		}
	}
	return gone
}

// Present returns the replicas that have subscribers, in the order of their ids.
func (l *Leader) Present() (all []Presence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.replicas)) {
		all = append(all, l.replicas[id].Presence)
	}
	return all
}

// Identify returns the replica with this id as a recipient in the audit log, also one that has
// gone.
func (l *Leader) Identify(id string) audit.Subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.replicas[id]; r != nil {
		return r.AuditIdentity()
	}
	return audit.Subscription{SubscriptionID: id}
}

// HasDelivered reports whether the replica with this id is there, whether it is done with the tool
// call at pos, and for which of its subscriptions that has not left. A replica that began after the
// call has nothing to deliver.
func (l *Leader) HasDelivered(id string, pos uint64) (present, done bool, untold []audit.Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.replicas[id]
	if r == nil {
		return false, false, nil
	}
	for _, recipient := range r.delivered[pos] {
		recipient.Node = r.Node
		untold = append(untold, recipient)
	}
	_, done = r.delivered[pos]
	return true, done || pos <= r.From, untold
}

// IsCutOff reports whether this process is cut off from the others: nothing that it sends comes
// back, or nothing that is kept can be read. It waits for the shared log, until ctx is done at
// most.
func IsCutOff(ctx context.Context, shared log.Shared) bool {
	_, err := shared.Send(ctx, []byte("{}"))
	if err == nil {
		_, err = shared.Profile(ctx)
	}
	return err != nil
}
