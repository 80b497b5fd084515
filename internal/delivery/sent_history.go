package delivery

import (
	"slices"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/shaper"
)

// sentHistory keeps the events that left last on a stream, as they were. A subscriber that comes
// back after one of them is sent what came after it again, byte for byte, and the stream goes on as
// if it had not broken. They could not be made again: merging, boundaries and stamps depend on when
// entries were read and on what else was held.
//
// What it keeps is bounded. Among the events that may have been lost on the way, that is as much as
// any link holds between two ends that talk. Events after the newest one that can be resumed after
// are kept longer: the subscriber may have received any of them, and cannot say so.
//
// Events are numbered from 0 in the order in which they were added. It belongs to the owner of the
// stream.
type sentHistory struct {
	events []sentEvent // oldest first; events[:head] are forgotten
	head   int
	bytes  int    // the length of all messages that are kept
	number uint64 // of events[head]
	last   uint64 // the number of the newest event that can be resumed after
}

// sentEvent is one event as it left.
type sentEvent struct {
	message     []byte // the event in JSON
	id, session string // of the event
	resumable   bool   // the subscriber can go on after it
	critical    bool
	overtakes   bool // it is a question or a handoff, which overtakes what waits for the rate
	leads       bool // it is the start of a session or a state, which no question of it overtakes
}

// newSentEvent returns an event that is about to leave, encoded as msg.
func newSentEvent(msg []byte, out shaper.Out) sentEvent {
	typ := out.Event.Type()
	return sentEvent{message: msg, id: out.Event.EventID, session: out.Event.SessionID,
		resumable: out.Resumable, critical: out.Event.Critical(),
		overtakes: typ.Critical() && typ != aaep.TypeSessionErrored,
		leads:     typ == aaep.TypeSessionStarted || typ == aaep.TypeStateChanged}
}

// nextCritical returns the index of the event that leaves next where the others wait for the rate:
// the first question or handoff or, before that, the first start or state of its session; or -1.
// Text that is critical does not overtake, and neither does an error, which ends its session.
func nextCritical(events []sentEvent) int {
	critical := slices.IndexFunc(events, func(ev sentEvent) bool { return ev.overtakes })
	if critical < 0 {
		return -1
	}
	session := events[critical].session
	leads := func(ev sentEvent) bool { return ev.leads && ev.session == session }
	if first := slices.IndexFunc(events[:critical], leads); first >= 0 {
		return first
	}
	return critical
}

const (
	// sentEvents and sentBytes bound what is kept, as a number of events and the sum of their
	// lengths.
	sentEvents, sentBytes = 1024, 256 << 10
	// runEvents and runBytes bound it where all of that is after the newest event that can be
	// resumed after.
	runEvents, runBytes = 4096, 1 << 20
)

// nextNumber returns the number that the next event will have.
func (s *sentHistory) nextNumber() uint64 { return s.number + uint64(len(s.events)-s.head) }

// add appends an event that is about to leave, and forgets the oldest events that are beyond the
// bounds. nextEvent calls it for every event that the Shaper lets go.
func (s *sentHistory) add(ev sentEvent) {
	if ev.resumable {
		s.last = s.nextNumber()
	}
	if s.head > 64 && 2*s.head >= len(s.events) {
		n := copy(s.events, s.events[s.head:])
		clear(s.events[n:])
		s.events, s.head = s.events[:n], 0
	}
	s.events = append(s.events, ev)
	s.bytes += len(ev.message)
	for n := len(s.events) - s.head; s.isOverBounds(n); n-- {
		s.bytes -= len(s.events[s.head].message)
		s.events[s.head] = sentEvent{}
		s.head++
		s.number++
	}
}

// isOverBounds reports whether the oldest event has to go where n events are kept.
func (s *sentHistory) isOverBounds(n int) bool {
	if s.number < s.last { // it is older than the newest that can be resumed after
		return n > sentEvents || s.bytes > sentBytes
	}
	return n > runEvents || s.bytes > runBytes
}

// numberAfter returns the number of the event that follows the one with this id. It reports false
// if that one is not kept.
func (s *sentHistory) numberAfter(id string) (number uint64, ok bool) {
	all := s.events[s.head:]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].id == id {
			return s.number + uint64(i) + 1, true
		}
	}
	return 0, false
}

// eventsSince returns the events from a number on, as far as they are kept. The slice is valid
// until add.
func (s *sentHistory) eventsSince(number uint64) []sentEvent {
	return s.events[s.head+int(max(number, s.number)-s.number):]
}

// appendFrom appends what another stream was sent from a number on. If the other has forgotten some
// of that, s forgets what it had before, so that what it keeps has no gap.
func (s *sentHistory) appendFrom(other *sentHistory, number uint64) {
	if other.number > number {
		s.reset()
	}
	for _, ev := range other.eventsSince(number) {
		s.add(ev)
	}
}

// reset forgets all events, so that isComplete is false afterwards. It is called when what follows
// is made anew.
func (s *sentHistory) reset() {
	n := max(s.nextNumber(), 1)
	*s = sentHistory{number: n, last: n}
}

// isComplete reports whether every event that ever left is kept, so that a stream can be sent again
// from its beginning.
func (s *sentHistory) isComplete() bool { return s.number == 0 }
