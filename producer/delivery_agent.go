package producer

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/shaper"
)

// deliveryAgent is the Producer as its delivery.Dispatcher knows it.
type deliveryAgent struct{ p *Producer }

// States returns what the agent is doing; see delivery.Agent. It takes the locks of all sessions.
func (a deliveryAgent) States(upTo uint64) (cursor uint64, entries []shaper.Entry, changed uint64) {
	sessions, release := a.p.holdSessions()
	defer release()
	cursor = min(upTo, a.p.log.End())
	entries, changed = statesAt(sessions, cursor)
	return cursor, entries, changed
}

// OpenQuestions returns the questions that are open, in the order in which they were put.
func (a deliveryAgent) OpenQuestions() []shaper.Entry { return a.p.board.Entries() }

// IsSettled reports whether ev asks a question that is not open here; see questions.Board. What
// came before a subscription is shown without it.
func (a deliveryAgent) IsSettled(ev *aaep.Event) bool { return a.p.board.IsSettled(ev) }

// StampsInOrder reports whether the events of a session are stamped in order, here: not where they
// were republished, or another process stamps them.
func (a deliveryAgent) StampsInOrder() bool {
	return !a.p.isReplica() && !a.p.republished.Load()
}

// LastStamp returns the stamp of the newest event of a session if cursor is past all its events,
// and else zero; zero too for a session that is over. certain is false where another goroutine has
// the Session locked, so that it may be emitting. See delivery.Agent. It takes Producer.mu, and
// tries to take the Session's.
func (a deliveryAgent) LastStamp(session string, cursor uint64) (stamp time.Time, certain bool) {
	a.p.mu.Lock()
	i := slices.IndexFunc(a.p.sessions, func(s *Session) bool { return s.id == session })
	var s *Session
	if i >= 0 {
		s = a.p.sessions[i]
	}
	a.p.mu.Unlock()
	if s == nil {
		return stamp, true
	}
	if !s.mu.TryLock() {
		return stamp, false
	}
	defer s.mu.Unlock()
	if s.pos <= cursor { // all its events were read; the next is stamped no earlier
		stamp = s.last
	}
	return stamp, true
}

// holdSessions locks the sessions that are under way, until release is called, in the order in
// which they began: no other code holds two. The caller does nothing meanwhile that waits. It takes
// Producer.mu first, and releases it.
func (p *Producer) holdSessions() (sessions []*Session, release func()) {
	p.mu.Lock()
	sessions = slices.Clone(p.sessions)
	p.mu.Unlock()
	for _, s := range sessions {
		s.mu.Lock()
	}
	return sessions, func() {
		for _, s := range sessions {
			s.mu.Unlock()
		}
	}
}

// statesAt returns one state.changed for each of the sessions, which the caller holds, and the
// position of the newest change of state after cursor; see States of delivery.Agent.
func statesAt(sessions []*Session, cursor uint64) (entries []shaper.Entry, changed uint64) {
	for _, s := range sessions {
		switch state := s.lastState; {
		case s.over || state.pos == 0:
		case state.pos > cursor:
			changed = max(changed, state.pos)
		default:
			ev := *state.ev
			// It keeps its stamp: a question that it belongs to may come next, and must be newer.
			ev.EventID = newID("evt_")
			entries = append(entries, shaper.Entry{Event: &ev})
		}
	}
	return entries, changed
}
