package producer

import (
	"context"
	"time"

	"github.com/aaep-go/aaep"
)

// append adds an event to the log, and tells the subscribers unless follow does.
func (p *Producer) append(ev *aaep.Event) uint64 {
	pos := p.log.Append(ev)
	if p.cfg.Log == nil { // nothing is appended where a log is followed
		p.tellAll()
	}
	return pos
}

// follow tells the subscribers what a Config.Log or Follow shows, which is later than it is appended.
func (p *Producer) follow() {
	for {
		end := p.log.End()
		p.tellAll()
		_, more, _ := p.log.Read(end, 0)
		if more == nil {
			continue
		}
		select {
		case <-more:
		case <-p.done:
			return
		}
	}
}

func (p *Producer) tellAll() {
	for _, g := range *p.groups.all.Load() {
		g.wake()
	}
	for _, sub := range *p.audience.Load() {
		if sub.group.Load() == nil {
			sub.wake()
		}
	}
}

// waitLeft waits until the event at pos has left on every live subscription, ctx is done, or limit is over; a zero
// limit is none (D-49). Not waited for is who came after it and is told all of the session first (Config.FromStart), and who
// is still being told what they missed while they were away.
func (p *Producer) waitLeft(ctx context.Context, pos uint64, limit time.Duration) error {
	var timeout <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		timeout = t.C
	}
	for {
		moved, left := p.moved.wait(), true
		for _, sub := range *p.audience.Load() {
			sub.watched.Store(true) // before the look, or the step in between would wake nobody
			c := &sub.course
			if g := sub.group.Load(); g != nil {
				c = &g.course
				c.watched.Store(true)
			}
			before := sub.replayed < pos && !sub.behind.Load()
			if before && c.left.Load() < pos {
				left = false
				break // until this one gets on, nobody has to look at the others
			}
		}
		left = left && p.partiesLeft(pos)
		if left {
			return nil
		}
		select {
		case <-moved:
		case <-timeout:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Republish appends an event that was made elsewhere: a replay of a recording, or a bridge from another system.
// It gets an event id of its own and, being said now, the present time; everything else stays, and ev itself is
// not changed. The order of its session is the caller's affair, and so are its questions: a reply to one has no
// effect here. The error is an *aaep.InvalidError, or ErrClosed after Shutdown; with Config.Follow there always is one.
func (p *Producer) Republish(ev *aaep.Event) error {
	if p.cfg.Follow != nil {
		return errFollows
	}
	if p.serving.Err() != nil {
		return ErrClosed
	}
	said := *ev
	said.EventID = "evt_0" // the log gives it its own
	said.Timestamp = time.Now().UTC().Round(0).Truncate(time.Millisecond)
	said.SequenceNumber = nil // it counts what another subscription had
	if said.Type().Critical() {
		said.Urgency = aaep.UrgencyCritical
	}
	if err := p.check(&said); err != nil {
		return err
	}
	p.republished.Store(true)
	p.append(&said)
	return nil
}

// WaitLogFailed waits until Config.Log cannot keep what happens any more, and returns why: a full disk, for example. The
// agent goes on, and its listeners hear all of it; but a restart loses what comes from then on. Whoever does not want that
// calls Shutdown. The error is that of ctx if that is done first; without a Config.Log, it always is.
func (p *Producer) WaitLogFailed(ctx context.Context) error {
	select {
	case <-p.log.Failed():
		return p.log.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closeLog says that no session is open, so that the next process need not look for any; of those that were republished
// nobody knows.
func (p *Producer) closeLog() {
	if p.cfg.Follow != nil {
		return
	}
	var err error
	if !p.republished.Load() {
		err = p.log.Settle()
	}
	if closing := p.log.Close(); err == nil {
		err = closing
	}
	if err != nil {
		p.cfg.Logger.Error("the log is not kept whole", "error", err)
	}
}
