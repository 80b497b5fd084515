package producer

import (
	"time"

	"github.com/aaep-go/aaep"
)

// Republish appends an event that was made elsewhere: a replay of a recording, or a bridge from another system.
// It gets an event id of its own and, being said now, the present time; everything else stays, and ev itself is
// not changed. The order of its session is the caller's affair, and so are its questions: a reply to one has no
// effect here. The error is an *aaep.InvalidError, or ErrClosed after Shutdown.
func (p *Producer) Republish(ev *aaep.Event) error {
	if p.cfg.Follow != nil {
		return ErrFollows
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
