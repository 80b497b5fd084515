package producer

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/producer/audit"
)

// A party is a process elsewhere that serves the agent's listeners. To the agent it is one recipient of its questions: who of
// its listeners may answer is its own affair, and what they need is what the one who needs most does.
type party struct {
	presence
	seen time.Time
	told map[uint64][]audit.Subscription // tool calls that it has told of, with those who do not have them
}

// presence is what a party says of itself, every now and then and when it changes.
type presence struct {
	ID        string `json:"id"`
	Node      string `json:"node"`
	From      uint64 `json:"from"` // where the log ended when it began
	Listeners int    `json:"listeners"`
	Confirm   bool   `json:"confirm"` // somebody may be asked
	Clarify   bool   `json:"clarify"`
	Patience  int64  `json:"patience"` // see slowest
	Least     int64  `json:"least"`
	Pace      int64  `json:"pace"`
}

// note is what a party tells the agent: one of these.
type note struct {
	Presence *presence `json:"presence,omitzero"`
	// Left says that the event at this position, a tool call, has left; Untold for whom it has not.
	Left   uint64               `json:"left,omitzero"`
	Untold []audit.Subscription `json:"untold,omitzero"`
	// More asks for more time to answer.
	More aaep.ReplyToken     `json:"more,omitzero"`
	By   *audit.Subscription `json:"by,omitzero"` // who does
	ID   string              `json:"id,omitzero"` // of the party
}

const (
	presenceEvery = 2 * time.Second
	presenceKept  = 10 * time.Second // after that a party is gone
	keptTold      = 10_000           // positions of tool calls that were told of
	meetTime      = 3 * time.Second  // for the parties to find an agent that has begun
)

// add adds the needs of somebody who is asked too.
func (s *slowest) add(patience, least, pace int64) {
	s.patience, s.least = max(s.patience, patience), max(s.least, least)
	if pace > 0 {
		s.pace = min(s.pace, pace)
	}
}

func (p *party) mayBeAsked(isConfirmation bool) bool {
	if isConfirmation {
		return p.Confirm
	}
	return p.Clarify
}

func (p *party) who() audit.Subscription {
	return audit.Subscription{SubscriptionID: p.ID, Node: p.Node}
}

// lead makes this the agent among several processes.
func (p *Producer) lead() error {
	profile, err := json.Marshal(p.profile())
	if err == nil {
		err = p.shared.SetProfile(profile)
	}
	if err == nil {
		err = p.shared.Claims(func(token string) { p.desk.withdraw(aaep.ReplyToken(token), "") }) // and that finds out what settled it
	}
	if err == nil {
		err = p.shared.Receive(p.takeNote)
	}
	return err
}

// takeNote deals with what a party tells.
func (p *Producer) takeNote(msg []byte) []byte {
	var n note
	ok := jsonv2.Unmarshal(msg, &n) == nil
	switch {
	case !ok:
	case n.Presence != nil:
		p.present(*n.Presence)
	case n.Left > 0:
		p.mu.Lock()
		if party := p.parties[n.ID]; party != nil {
			party.told[n.Left] = n.Untold
			maps.DeleteFunc(party.told, func(pos uint64, _ []audit.Subscription) bool { return pos+keptTold < n.Left })
		}
		p.mu.Unlock()
		p.moved.give()
	case n.More != "" && n.By != nil:
		ok = p.moreTime(n.ID, *n.By, n.More)
	}
	if ok {
		return []byte("yes")
	}
	return []byte("no")
}

// present takes what a party says of itself.
func (p *Producer) present(now presence) {
	p.putting.Lock() // nobody comes while a question is put
	defer p.putting.Unlock()
	p.mu.Lock()
	was := p.parties[now.ID]
	is := &party{presence: now, seen: time.Now(), told: map[uint64][]audit.Subscription{}}
	if was != nil {
		is.told = was.told
	} else {
		was = &party{}
	}
	if now.Listeners > 0 {
		p.parties[now.ID] = is
	} else {
		delete(p.parties, now.ID)
	}
	var join []aaep.ReplyToken
	for token, put := range p.asked {
		if kind := put.Event.Type() == aaep.TypeAwaitingConfirmation; is.mayBeAsked(kind) && !was.mayBeAsked(kind) {
			join = append(join, token)
			put.parties = append(put.parties, now.ID)
		}
	}
	p.mu.Unlock()
	for _, token := range join {
		p.desk.join(token, now.ID)
	}
	if was.Confirm && !is.Confirm || was.Clarify && !is.Clarify {
		p.desk.unable(now.ID, !is.Confirm, !is.Clarify)
	}
	p.moved.give()
}

// watchParties drops those that are not heard of any more, until the end of Shutdown. While the agent itself cannot be reached, or
// is on the smaller side of a network that is torn, it is not they who are away.
func (p *Producer) watchParties() {
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
				p.cfg.Logger.Warn("the log does not answer: whoever listens at another process hears nothing new for now")
			} else {
				p.cfg.Logger.Warn("the log answers again, and has everything")
			}
		}
		gone := p.unheard()
		if len(gone) > 0 && p.cutOff() {
			p.mu.Lock()
			for _, party := range p.parties {
				party.seen = time.Now()
			}
			p.mu.Unlock()
			continue
		}
		for _, one := range gone {
			p.cfg.Logger.Warn("a process that served listeners is gone", "node", one.Node)
			p.present(one)
		}
	}
}

// unheard are those that have not been heard of for too long, as they are to be told gone.
func (p *Producer) unheard() (gone []presence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, party := range p.parties {
		if time.Since(party.seen) > presenceKept {
			gone = append(gone, presence{ID: id, Node: party.Node})
		}
	}
	return gone
}

// cutOff reports whether it is the agent that is cut off: nothing that it sends comes back, its log takes nothing, or nothing
// that is kept can be read.
func (p *Producer) cutOff() bool {
	ctx, cancel := context.WithTimeout(p.claims, presenceEvery)
	defer cancel()
	_, err := p.shared.Send(ctx, []byte("{}"))
	if err == nil {
		_, err = p.shared.Profile(ctx)
	}
	return err != nil || p.log.Overdue()
}

// awaitParties waits for the parties of an agent that has just begun, where nobody else could be asked.
func (p *Producer) awaitParties(ctx context.Context, isConfirmation bool) {
	if p.shared == nil {
		return
	}
	for {
		moved, some := p.moved.wait(), false
		p.mu.Lock()
		for _, sub := range *p.audience.Load() {
			some = some || sub.mayBeAsked(isConfirmation)
		}
		for _, party := range p.parties {
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

// ableParties returns the parties that can be asked, and adds what they need.
func (p *Producer) ableParties(q *ledger.Question, need *slowest) (able []*party) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(p.parties)) {
		if party := p.parties[id]; party.mayBeAsked(q.Confirmation != nil) {
			able = append(able, party)
			need.add(party.Patience, party.Least, party.Pace)
		}
	}
	return able
}
