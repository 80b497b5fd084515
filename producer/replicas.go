package producer

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/questions"
	"github.com/aaep-go/aaep/internal/replica"
	"github.com/aaep-go/aaep/producer/audit"
)

// meetTime is how long replicas have to find an agent that has begun.
const meetTime = 3 * time.Second

// replicaAgent is the Producer as its replica.Leader knows it.
type replicaAgent struct{ p *Producer }

// ApplyPresence puts the open questions to a replica that it can answer only now, and takes it out
// of those that it can answer no longer.
func (a replicaAgent) ApplyPresence(now replica.Presence) {
	a.p.board.UpdateReplica(now, a.p.leader.Apply)
}

// ExtendQuestion gives a question more time for the asker, a subscription of the replica id, and
// reports whether it did; see questions.Board.
func (a replicaAgent) ExtendQuestion(id string, asker audit.Subscription, token aaep.ReplyToken) bool {
	return a.p.board.Extend(id, asker, token)
}

// IsLogOverdue reports whether the log does not answer.
func (a replicaAgent) IsLogOverdue() bool { return a.p.log.Overdue() }

// leadReplicas makes this process the agent among several: the replicas read its profile, and it
// receives their messages and what they settle. resumeOrFollow calls it.
func (p *Producer) leadReplicas() error {
	profile, err := json.Marshal(p.agentProfile())
	if err == nil {
		err = p.shared.SetProfile(profile)
	}
	if err == nil {
		// A question that another process has settled is withdrawn here. Its claim then returns the
		// outcome.
		err = p.shared.Claims(func(token string) { p.broker.Withdraw(aaep.ReplyToken(token), "") })
	}
	if err == nil {
		err = p.shared.Receive(p.leader.HandleMessage)
	}
	return err
}

// serversEvery is how often it is looked whether all servers of the log have a copy of it.
const serversEvery = 10 * time.Second

// watchServers warns of servers that should have a copy of the log and have none that is up to date
// for two looks in a row, where the log has several, until the Producer ends: with one less than
// now nothing might be kept. Once all have one again, that is logged too. The error of a look is
// that of a log that does not answer, which Leader.Watch logs. It is a goroutine of its own.
func (p *Producer) watchServers() {
	servers, ok := p.cfg.Log.(replicated)
	if !ok {
		return
	}
	tick := time.NewTicker(serversEvery)
	defer tick.Stop()
	for before, told := "", ""; ; {
		select {
		case <-tick.C:
		case <-p.done:
			return
		}
		ctx, cancel := context.WithTimeout(p.claims, serversEvery/2)
		names, err := servers.ServersBehind(ctx)
		cancel()
		now := strings.Join(names, ", ")
		switch {
		case err != nil || now != before || now == told:
		case now == "":
			p.cfg.Logger.Warn("all servers of the log have a copy that is up to date again")
			told = now
		default:
			p.cfg.Logger.Warn("a server of the log has no copy that is up to date: is it down, or its disk full?",
				"servers", now)
			told = now
		}
		if err == nil {
			before = now
		}
	}
}

// isCutOff reports whether it is the agent that is cut off, and not the replicas that are silent:
// nothing that it sends comes back, its log takes nothing, or nothing that is kept can be read. It
// waits as long as within at most. Leader.Watch calls it.
func (p *Producer) isCutOff(within time.Duration) bool {
	ctx, cancel := context.WithTimeout(p.claims, within)
	defer cancel()
	return replica.IsCutOff(ctx, p.shared) || p.log.Overdue()
}

// awaitReplicas waits, if this process cannot put a question of this kind to any recipient, until
// it can, ctx is done, or meetTime has passed since New. It only waits for an agent that has
// replicas. askQuestion calls it, holding no lock.
func (p *Producer) awaitReplicas(ctx context.Context, isConfirmation bool) {
	if p.shared == nil {
		return
	}
	for {
		moved := p.delivery.Moved.Changed()
		left := time.Until(p.born.Add(meetTime))
		if p.board.CanAsk(isConfirmation) || left <= 0 {
			return
		}
		select {
		case <-moved:
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}

// replicaHost is the Producer as its replica.Follower knows it.
type replicaHost struct{ p *Producer }

// Presence returns what the subscriptions of this replica can answer, how much time their users
// need, and how many there are. The Follower sends it to the leader.
func (h replicaHost) Presence() replica.Presence {
	now := replica.Presence{Needs: replica.Needs{Patience: 1000, Pace: questions.UsualPace}}
	for _, sub := range *h.p.audience.Load() {
		sub.includeIn(&now)
		now.Listeners++
	}
	return now
}

// AnnounceLink announces, in every session that is under way, that the agent cannot be reached, or
// can be reached again. It takes Producer.mu and the locks of announceOutsideLog.
func (h replicaHost) AnnounceLink(away bool) {
	h.p.mu.Lock()
	sessions := slices.Clone(h.p.sessions)
	h.p.mu.Unlock()
	if away {
		h.p.announceOutsideLog(phrase.LinkLost, sessions)
	} else {
		h.p.announceOutsideLog(phrase.LinkBack, sessions)
	}
}

// includeIn adds the subscription to a presence, and reports whether that changes it.
func (sub *subscription) includeIn(now *replica.Presence) bool {
	return now.IncludeListener(sub.MayBeAsked(true), sub.MayBeAsked(false), sub.Needs())
}

// Needs returns what the subscription's user needs to answer. Any goroutine may call it.
func (sub *subscription) Needs() replica.Needs {
	return replica.Needs{Patience: sub.patience.Load(), Least: sub.least.Load(), Pace: sub.pace.Load()}
}

// announceOutsideLog makes an event with the phrase id in each of the sessions, outside the log,
// and wakes the streams. In a session with an open question the event is critical, for an answer
// may not get through. It takes each Session's mu.
func (p *Producer) announceOutsideLog(id phrase.ID, sessions []*Session) {
	words := p.speechOrPhrase(aaep.Text{}, id, "")
	payload := func(tag string) *aaep.ProgressUpdated {
		text, _ := phrase.In(tag, id, "")
		return &aaep.ProgressUpdated{Progress: aaep.Progress{Description: text}}
	}
	words.setPayloads(func(tag string) (aaep.Payload, bool) { return payload(tag), true })
	var events []*aaep.Event
	for _, s := range sessions {
		s.mu.Lock()
		words.urgent = len(s.machine.OpenQuestions()) > 0
		ev, err := s.buildEvent(words, payload(words.wordings[0].lang))
		s.mu.Unlock()
		if err != nil {
			p.cfg.Logger.Error("it was not told", "session_id", s.id, "error", err)
			continue
		}
		ev.EventID = newID("evt_")
		events = append(events, ev)
	}
	p.delivery.Announce(events...)
}
