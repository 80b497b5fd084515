package producer

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/internal/phrase"
)

// notices are events that are told beside the log, and have no place in it: nobody goes on after one.
type notices struct {
	all  []*aaep.Event // the newest
	last uint64        // how many there have been
}

// keptNotices is how many are kept for those who are slow.
const keptNotices = 64

// linkAway tells, in every session that is under way, that the agent cannot be heard for the time being, or that it can again.
// Where a question is open, that must be told at once: an answer may not get through.
func (p *Producer) linkAway(away bool) {
	id := phrase.LinkBack
	if away {
		id = phrase.LinkLost
		p.cfg.Logger.Warn("the agent's log cannot be reached; those who listen here have been told")
	} else {
		p.cfg.Logger.Warn("the agent's log can be reached again")
	}
	p.mu.Lock()
	sessions := slices.Clone(p.sessions)
	p.mu.Unlock()
	words := p.words(aaep.Text{}, id, "")
	payload := func(tag string) *aaep.ProgressUpdated {
		text, _ := phrase.In(tag, id, "")
		return &aaep.ProgressUpdated{Progress: aaep.Progress{Description: text}}
	}
	words.translate(func(tag string) (aaep.Payload, bool) { return payload(tag), true })
	var told []*aaep.Event
	for _, s := range sessions {
		s.mu.Lock()
		words.urgent = len(s.machine.OpenQuestions()) > 0
		ev, err := s.build(words, payload(words.in[0].lang))
		s.mu.Unlock()
		if err != nil {
			p.cfg.Logger.Error("it was not told", "session_id", s.id, "error", err)
			continue
		}
		ev.EventID = newID("evt_")
		told = append(told, ev)
	}
	p.mu.Lock()
	now := &notices{all: append(slices.Clone(p.notices.Load().all), told...), last: p.notices.Load().last + uint64(len(told))}
	now.all = now.all[max(0, len(now.all)-keptNotices):]
	p.notices.Store(now)
	p.mu.Unlock()
	p.tellAll()
}

// notice hands the shaper the notices that it has not had.
func (c *course) notice(now time.Time) {
	n := c.p.notices.Load()
	if n.last == c.noticed {
		return
	}
	for _, ev := range n.all[len(n.all)-int(min(n.last-c.noticed, uint64(len(n.all)))):] {
		c.shaper.Push(now, coalesce.Entry{Event: ev})
	}
	c.noticed = n.last
}
