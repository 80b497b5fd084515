package producer

import (
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// agentLink is what a process that follows an agent knows of the way to it.
type agentLink struct {
	mu     sync.Mutex // guards what follows; Session.mu and Producer.mu are taken while it is held
	lost   bool       // the agent's log cannot be reached
	silent time.Time  // since when the agent does not answer; zero: it answers
	told   bool       // it has been announced that the link is interrupted
}

// setLogLost notes that the agent's log cannot be reached for the time being, or that it can again.
// The goroutine that reads the log calls it.
func (p *Producer) setLogLost(away bool) { p.updateLink(func(l *agentLink) { l.lost = away }) }

// noteContact notes whether the agent answered when it was last sent a message. reportPresence
// calls it.
func (p *Producer) noteContact(yes bool) {
	p.updateLink(func(l *agentLink) {
		if yes {
			l.silent = time.Time{}
		} else if l.silent.IsZero() {
			l.silent = time.Now()
		}
	})
}

// agentIsSilent reports whether the agent did not answer when it was last sent a message.
// sendAccepted calls it, to note that in the answer to a subscriber. It takes link.mu.
func (p *Producer) agentIsSilent() bool {
	p.follower.link.mu.Lock()
	defer p.follower.link.mu.Unlock()
	return !p.follower.link.silent.IsZero()
}

// updateLink changes what is known of the link, and announces that it has become interrupted, or
// whole again. It takes the link's mu and calls change with it held.
func (p *Producer) updateLink(change func(*agentLink)) {
	p.follower.link.mu.Lock()
	defer p.follower.link.mu.Unlock()
	change(&p.follower.link)
	away := p.follower.link.lost ||
		!p.follower.link.silent.IsZero() && time.Since(p.follower.link.silent) >= presenceKept
	if away == p.follower.link.told {
		return
	}
	p.follower.link.told = away
	if away {
		p.cfg.Logger.Warn("the agent cannot be reached; those who listen here have been told",
			"log_answers", !p.follower.link.lost)
		p.announceLink(phrase.LinkLost)
	} else {
		p.cfg.Logger.Warn("the agent can be reached again")
		p.announceLink(phrase.LinkBack)
	}
}

// announceLink announces the phrase id about the link in every session that is under way.
// updateLink calls it with link.mu held; it takes the locks of announceOutsideLog.
func (p *Producer) announceLink(id phrase.ID) {
	p.mu.Lock()
	sessions := slices.Clone(p.sessions)
	p.mu.Unlock()
	p.announceOutsideLog(id, sessions)
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
	var told []*aaep.Event
	for _, s := range sessions {
		s.mu.Lock()
		words.urgent = len(s.machine.OpenQuestions()) > 0
		ev, err := s.buildEvent(words, payload(words.in[0].lang))
		s.mu.Unlock()
		if err != nil {
			p.cfg.Logger.Error("it was not told", "session_id", s.id, "error", err)
			continue
		}
		ev.EventID = newID("evt_")
		told = append(told, ev)
	}
	p.delivery.Announce(told...)
}
