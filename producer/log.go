package producer

import (
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/log"
)

// appendEvent adds an event to the log and returns its position. It wakes the streams, unless the
// log has a store and wakeAsLogGrows does. It may be called with a Session's mu and Producer.mu
// held. It waits for a store only if that is yet to keep as many events as Config.KeepEvents.
func (p *Producer) appendEvent(ev *aaep.Event) uint64 {
	pos := p.log.Append(ev)
	if p.cfg.Log == nil { // with Config.Follow nothing is appended
		p.delivery.WakeAll()
	}
	return pos
}

// wakeAsLogGrows is a goroutine that wakes the streams as a Config.Log or Config.Follow shows
// events, which is later than they are appended. It also logs when the store fails; see
// log_failure.go. New starts it; it ends with Shutdown.
func (p *Producer) wakeAsLogGrows() {
	failed := p.log.Failed()
	for {
		end := p.log.End()
		p.delivery.WakeAll()
		_, more, _ := p.log.Read(end, 0)
		if more == nil {
			continue
		}
		select {
		case <-more:
		case <-failed:
			failed = nil
			p.logStoreFailure()
		case <-p.done:
			return
		}
	}
}

// Republish appends an event that was made elsewhere: a replay of a recording, or a bridge from
// another system. It gets an event id of its own and, being said now, the present time; everything
// else stays, and ev itself is not changed. The order of its session is the caller's affair, and so
// are its questions: a reply to one has no effect here. The error is an *aaep.InvalidError, or
// ErrClosed after Shutdown; with Config.Follow there always is one.
func (p *Producer) Republish(ev *aaep.Event) error {
	if !p.isMade() {
		return errNotMade
	}
	if p.isReplica() {
		return errFollows
	}
	if p.serving.Err() != nil {
		return ErrClosed
	}
	copied := *ev
	copied.EventID = "evt_0" // the log gives it its own
	copied.Timestamp = time.Now().UTC().Round(0).Truncate(time.Millisecond)
	copied.SequenceNumber = nil // it counts the events of another subscription
	if copied.Type().Critical() {
		copied.Urgency = aaep.UrgencyCritical
	}
	if err := p.validateEvent(&copied); err != nil {
		return err
	}
	p.republished.Store(true)
	p.appendEvent(&copied)
	return nil
}

// stores are the values of Config.Log that a Producer writes to.
var stores sync.Map

// claimStore keeps a second Producer from writing to the same store until release is called, for
// the two would write over each other's events. A store is told from another by its value, if Go
// can compare it.
func claimStore(store log.Store) (release func(), err error) {
	if store == nil || !reflect.ValueOf(store).Comparable() {
		return func() {}, nil
	}
	if _, taken := stores.LoadOrStore(store, nil); taken {
		return nil, errors.New("producer: another Producer writes to this Config.Log; open a log for each, " +
			"or call Shutdown on the other first")
	}
	return func() { stores.Delete(store) }, nil
}

// closeLog records in the log that no session is open, so that the next process need not look for
// any, and that the agent has ended in good order, and closes it. Where events were republished it
// is not known whether a session is open. What fails is logged. Shutdown calls it last; a replica
// has no log to close.
func (p *Producer) closeLog() {
	if p.isReplica() {
		return
	}
	var err error
	if !p.republished.Load() {
		err = p.log.Settle()
	}
	if closeErr := p.log.Close(); err == nil {
		err = closeErr
	}
	if markErr := p.log.MarkEnded(); err == nil {
		err = markErr
	}
	p.releaseStore()
	if err != nil {
		p.cfg.Logger.Error("the log is not kept whole", "error", err)
	}
}
