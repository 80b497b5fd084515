package replica

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

// Host is what a Follower asks of the process that it is in.
type Host interface {
	// Presence returns what the subscriptions that are here can answer and need; the Follower fills
	// in what names the replica.
	Presence() Presence
	// AnnounceLink announces to the subscribers that the agent cannot be reached any more, or can
	// be reached again. It is called for one change at a time, with a lock held that IsSilent,
	// IsAway and HasLog take.
	AnnounceLink(away bool)
}

// Follower reports to the agent, in another process, which subscribers are here. On a nil Follower,
// that of a process which follows no agent, all methods do nothing and return zero, but for HasLog.
type Follower struct {
	host    Host
	shared  log.Shared
	logger  *slog.Logger
	id      string          // by which the agent knows the replica
	from    uint64          // where the log ended when the replica began
	ctx     context.Context // of the messages to the agent
	changed chan struct{}   // holds one: RunHeartbeat is to report at once
	link    link

	reporting   sync.Mutex // held while the presence is reported; guards the two below
	reported    Presence   // the last presence that the agent has received
	contactedAt time.Time  // when a report was last sent
}

// link is what a replica knows of the way to the agent.
type link struct {
	mu     sync.Mutex // guards what follows; taken after Follower.reporting
	lost   bool       // the agent's log cannot be reached
	silent time.Time  // since when the agent does not answer; zero: it answers
	away   bool       // it has been announced that the link is interrupted
}

// NewFollower returns a Follower that has reported nothing. ctx ends what it sends to the agent; id
// and from are what the agent knows of the replica, see Presence.
func NewFollower(
	ctx context.Context, host Host, shared log.Shared, logger *slog.Logger, id string, from uint64) *Follower {
	return &Follower{host: host, shared: shared, logger: logger, id: id, from: from, ctx: ctx,
		changed: make(chan struct{}, 1)}
}

// accepted is the answer of an agent that has handled a message; any other refuses it.
const accepted = "yes"

// errRefused is the error of a message that the agent answered with no.
var errRefused = errors.New("producer: the agent said no")

// send sends a message to the agent and waits for its answer, half of presenceEvery at most.
// Without an error the agent has handled the message; errRefused says that it has not.
func (f *Follower) send(m message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(f.ctx, presenceEvery/2)
	defer cancel()
	answer, err := f.shared.Send(ctx, data)
	if err == nil && string(answer) != accepted {
		err = errRefused
	}
	return err
}

// AskMoreTime asks the agent for more time for a question, and reports whether there was more to
// give. It waits for the agent.
func (f *Follower) AskMoreTime(asker audit.Subscription, token aaep.ReplyToken) bool {
	return f.send(message{More: token, By: &asker, ID: f.id}) == nil
}

// ReportDelivered reports to the agent that the tool call at pos has left, but for untold. It tries
// until the agent has the report, or the process ends.
func (f *Follower) ReportDelivered(pos uint64, untold []audit.Subscription) {
	for f.send(message{Left: pos, Untold: untold, ID: f.id}) != nil {
		select {
		case <-time.After(presenceEvery / 4):
		case <-f.ctx.Done():
			return
		}
	}
}

// RunHeartbeat reports the presence to the agent, every presenceEvery and when RequestReport was
// called, until following is done.
func (f *Follower) RunHeartbeat(following context.Context) {
	tick := time.NewTicker(presenceEvery)
	defer tick.Stop()
	for {
		f.Report()
		select {
		case <-tick.C:
		case <-f.changed:
		case <-following.Done():
			return
		}
	}
}

// RequestReport makes RunHeartbeat report soon, for the presence has changed. Any goroutine may
// call it, with any lock held; it never waits.
func (f *Follower) RequestReport() {
	if f == nil {
		return
	}
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// spokenLately is how old the last report may be for a new subscription to need none of its own to
// find out whether the agent answers.
const spokenLately = presenceEvery / 8

// Report reports to the agent which subscriptions are here, and notes whether it answered. The
// caller holds no lock; it waits for the agent.
func (f *Follower) Report() {
	if f == nil {
		return
	}
	f.reporting.Lock()
	defer f.reporting.Unlock()
	f.reportLocked()
}

// ReportNew does what Report does, for a subscription that is new or has new terms, where the agent
// needs that at once. It sends nothing if the last report is recent and the subscription changes
// nothing in it: changes includes the subscription in that presence and reports whether it does.
// While another report is under way it leaves this one to RunHeartbeat. The caller holds no lock.
func (f *Follower) ReportNew(changes func(known *Presence) bool) {
	if f == nil {
		return
	}
	if !f.reporting.TryLock() {
		f.RequestReport() // the caller must not wait in line for an agent that is silent
		return
	}
	defer f.reporting.Unlock()
	if known := f.reported; known.Listeners == 0 || time.Since(f.contactedAt) >= spokenLately || changes(&known) {
		f.reportLocked() // thousands may come at once, and each would look at all subscriptions
	}
}

// reportLocked sends the agent the present Presence, and notes whether it answered, with
// f.reporting held. Report and ReportNew call it; it waits for the agent.
func (f *Follower) reportLocked() {
	now := f.host.Presence()
	now.ID, now.Node, now.From = f.id, f.shared.Node(), f.from
	f.contactedAt = time.Now()
	// The agent need not know a replica without subscriptions. An empty message finds out whether
	// the agent answers.
	if now.Listeners == 0 && f.reported.Listeners == 0 {
		f.noteContact(f.send(message{}) == nil)
		return
	}
	err := f.send(message{Presence: &now})
	f.noteContact(err == nil)
	if err != nil {
		f.logger.Debug("the agent does not know who listens here", "error", err)
		return
	}
	f.reported = now
}

// SetLogLost notes that the agent's log cannot be reached for the time being, or that it can again.
// The goroutine that reads the log calls it.
func (f *Follower) SetLogLost(lost bool) { f.updateLink(func(l *link) { l.lost = lost }) }

// noteContact notes whether the agent answered when it was last sent a message, and since when it
// does not. It takes the link's mu.
func (f *Follower) noteContact(answered bool) {
	f.updateLink(func(l *link) {
		if answered {
			l.silent = time.Time{}
		} else if l.silent.IsZero() {
			l.silent = time.Now()
		}
	})
}

// updateLink changes what is known of the link, and has it announced that it has become
// interrupted, or whole again. It takes the link's mu and calls change with it held.
func (f *Follower) updateLink(change func(*link)) {
	l := &f.link
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
	away := l.lost || !l.silent.IsZero() && time.Since(l.silent) >= presenceKept
	if away == l.away {
		return
	}
	l.away = away
	if away {
		f.logger.Warn("the agent cannot be reached; those who listen here have been told", "log_answers", !l.lost)
	} else {
		f.logger.Warn("the agent can be reached again")
	}
	f.host.AnnounceLink(away)
}

// IsSilent reports whether the agent did not answer when it was last sent a message.
func (f *Follower) IsSilent() bool {
	if f == nil {
		return false
	}
	f.link.mu.Lock()
	defer f.link.mu.Unlock()
	return !f.link.silent.IsZero()
}

// IsAway reports whether it has been announced that the agent cannot be reached; false for a nil
// Follower, which the agent itself has.
func (f *Follower) IsAway() bool {
	if f == nil {
		return false
	}
	f.link.mu.Lock()
	defer f.link.mu.Unlock()
	return f.link.away
}

// HasLog reports whether the agent's log can be reached; true for a nil Follower, which the agent
// itself has.
func (f *Follower) HasLog() bool {
	if f == nil {
		return true
	}
	f.link.mu.Lock()
	defer f.link.mu.Unlock()
	return !f.link.lost
}
