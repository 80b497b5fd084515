package producer

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/audit"
)

// replica is another process that serves the agent's subscribers. To the agent it is one recipient
// of its questions. Which of its subscribers may answer is decided there, and it needs what the one
// that needs most does. Producer.mu guards it.
type replica struct {
	presence
	seen time.Time // when it last reported its presence
	// told has, by position, the tool calls that it has delivered, with the subscriptions that do
	// not have them.
	told map[uint64][]audit.Subscription
}

// presence is what a replica reports of itself, every presenceEvery and when it changes.
type presence struct {
	ID        string `json:"id"`
	Node      string `json:"node"`
	From      uint64 `json:"from"`      // where the log ended when it began
	Listeners int    `json:"listeners"` // how many subscriptions it serves
	Confirm   bool   `json:"confirm"`   // a confirmation may be put to one of them
	Clarify   bool   `json:"clarify"`   // a clarification may
	Patience  int64  `json:"patience"`  // these three as in recipientNeeds
	Least     int64  `json:"least"`
	Pace      int64  `json:"pace"`
}

// replicaMessage is a message of a replica to the agent. It has one of Presence, Left and More; one
// with none only finds out whether the agent answers.
type replicaMessage struct {
	Presence *presence `json:"presence,omitzero"`
	// Left is the position of a tool call that has left. Untold are the subscriptions that it has
	// not left for.
	Left   uint64               `json:"left,omitzero"`
	Untold []audit.Subscription `json:"untold,omitzero"`
	// More is the token of a question that more time is asked for.
	More aaep.ReplyToken     `json:"more,omitzero"`
	By   *audit.Subscription `json:"by,omitzero"` // which subscription asks for More
	ID   string              `json:"id,omitzero"` // of the replica
}

const (
	// presenceEvery is how often a replica reports its presence.
	presenceEvery = 2 * time.Second
	// presenceKept is how long after its last report a replica counts as gone.
	presenceKept = 10 * time.Second
	// keptTold is over how many positions of the log it is kept which tool calls a replica has
	// delivered.
	keptTold = 10_000
	// meetTime is how long replicas have to find an agent that has begun.
	meetTime = 3 * time.Second
)

// include adds what one more recipient needs: thousandths, seconds and words per minute. A pace of
// zero was not declared, and changes nothing.
func (s *recipientNeeds) include(patience, least, pace int64) {
	s.patience, s.least = max(s.patience, patience), max(s.least, least)
	if pace > 0 {
		s.pace = min(s.pace, pace)
	}
}

// mayBeAsked reports whether a question of this kind may be put to the replica, with Producer.mu
// held.
func (p *replica) mayBeAsked(isConfirmation bool) bool {
	if isConfirmation {
		return p.Confirm
	}
	return p.Clarify
}

// auditIdentity returns the replica as a recipient in the audit log.
func (p *replica) auditIdentity() audit.Subscription {
	return audit.Subscription{SubscriptionID: p.ID, Node: p.Node}
}

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
		err = p.shared.Receive(p.handleReplicaMessage)
	}
	return err
}

// handleReplicaMessage handles one message of a replica and returns the answer, "yes" or "no".
// Config.Log calls it, for one message at a time.
func (p *Producer) handleReplicaMessage(msg []byte) []byte {
	var n replicaMessage
	ok := jsonv2.Unmarshal(msg, &n) == nil
	switch {
	case !ok:
	case n.Presence != nil:
		p.applyPresence(*n.Presence)
	case n.Left > 0:
		p.mu.Lock()
		if party := p.replicas[n.ID]; party != nil {
			party.told[n.Left] = n.Untold
			maps.DeleteFunc(party.told, func(pos uint64, _ []audit.Subscription) bool { return pos+keptTold < n.Left })
		}
		p.mu.Unlock()
		p.delivery.Moved.Broadcast()
	case n.More != "" && n.By != nil:
		ok = p.extendQuestion(n.ID, *n.By, n.More)
	}
	if ok {
		return []byte("yes")
	}
	return []byte("no")
}

// applyPresence applies what a replica reports of itself, or that it has gone, which is no
// subscriptions. It puts the open questions to it that it can answer only now, and takes it out of
// those that it can answer no longer. It takes putting, and Producer.mu within that.
func (p *Producer) applyPresence(now presence) {
	p.putting.Lock() // the recipients must not change while a question is put
	defer p.putting.Unlock()
	p.mu.Lock()
	was := p.replicas[now.ID]
	is := &replica{presence: now, seen: time.Now(), told: map[uint64][]audit.Subscription{}}
	if was != nil {
		is.told = was.told
	} else {
		was = &replica{}
	}
	if now.Listeners > 0 {
		p.replicas[now.ID] = is
	} else {
		delete(p.replicas, now.ID)
	}
	var join []aaep.ReplyToken
	for token, put := range p.asked {
		if kind := put.Event.Type() == aaep.TypeAwaitingConfirmation; is.mayBeAsked(kind) && !was.mayBeAsked(kind) {
			join = append(join, token)
			put.replicas = append(put.replicas, now.ID)
		}
	}
	p.mu.Unlock()
	for _, token := range join {
		p.broker.AddRecipient(token, now.ID)
	}
	if was.Confirm && !is.Confirm || was.Clarify && !is.Clarify {
		p.broker.NarrowAbilities(now.ID, !is.Confirm, !is.Clarify)
	}
	p.delivery.Moved.Broadcast()
}

// watchReplicas is a goroutine of an agent with replicas: it drops replicas that have not reported
// for too long, and logs when the log does not answer. resumeOrFollow starts it; it ends with
// Shutdown. While the agent itself is cut off, all replicas count as having just reported.
func (p *Producer) watchReplicas() {
	tick := time.NewTicker(presenceEvery)
	defer tick.Stop()
	for late := false; ; {
		select {
		case <-tick.C:
		case <-p.done:
			return
		}
		if now := p.log.Overdue(); now != late {
			late = now
			if late {
				p.cfg.Logger.Warn(
					"the log does not answer: whoever listens at another process hears nothing new for now")
			} else {
				p.cfg.Logger.Warn("the log answers again, and has everything")
			}
		}
		gone := p.silentReplicas()
		if len(gone) > 0 && p.isCutOff() {
			p.mu.Lock()
			for _, party := range p.replicas {
				party.seen = time.Now()
			}
			p.mu.Unlock()
			continue
		}
		for _, one := range gone {
			p.cfg.Logger.Warn("a process that served listeners is gone", "node", one.Node)
			p.applyPresence(one)
		}
	}
}

// silentReplicas returns the replicas that have not reported for too long, each as a report without
// subscriptions.
func (p *Producer) silentReplicas() (gone []presence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, party := range p.replicas {
		if time.Since(party.seen) > presenceKept {
			gone = append(gone, presence{ID: id, Node: party.Node})
		}
	}
	return gone
}

// isCutOff reports whether it is the agent that is cut off: nothing that it sends comes back, its
// log takes nothing, or nothing that is kept can be read. It waits presenceEvery at most.
func (p *Producer) isCutOff() bool {
	ctx, cancel := context.WithTimeout(p.claims, presenceEvery)
	defer cancel()
	_, err := p.shared.Send(ctx, []byte("{}"))
	if err == nil {
		_, err = p.shared.Profile(ctx)
	}
	return err != nil || p.log.Overdue()
}

// awaitReplicas waits, if this process cannot put a question of this kind to any recipient, until
// it can, ctx is done, or meetTime has passed since New. It only waits for an agent that has
// replicas. askQuestion calls it, holding no lock.
func (p *Producer) awaitReplicas(ctx context.Context, isConfirmation bool) {
	if p.shared == nil {
		return
	}
	for {
		moved, some := p.delivery.Moved.Changed(), false
		p.mu.Lock()
		for _, sub := range *p.audience.Load() {
			some = some || sub.mayBeAsked(isConfirmation)
		}
		for _, party := range p.replicas {
			some = some || party.mayBeAsked(isConfirmation)
		}
		p.mu.Unlock()
		left := time.Until(p.born.Add(meetTime))
		if some || left <= 0 {
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

// replicasToAsk returns the replicas that a question can be put to, in the order of their ids, and
// includes what they need in need, which may be nil. It takes Producer.mu.
func (p *Producer) replicasToAsk(isConfirmation bool, need *recipientNeeds) (able []*replica) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(p.replicas)) {
		if party := p.replicas[id]; party.mayBeAsked(isConfirmation) {
			if able = append(able, party); need != nil {
				need.include(party.Patience, party.Least, party.Pace)
			}
		}
	}
	return able
}
