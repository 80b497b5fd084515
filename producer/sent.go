package producer

// sent keeps what a stream was given last, as it was: a subscriber that comes back after one of these events is given what came after
// it once more, byte for byte, and then the stream goes on as if it had not been cut. Merging, boundaries and stamps depend on when
// things were read and what else was held; they could not be made the same a second time.
//
// What it keeps is bounded. Of what may have been lost on the way, that is what any link holds between two ends that talk. Events after
// the newest that can be resumed after are kept longer: the subscriber may have had any of them, and cannot say so.
type sent struct {
	events []sentEvent // oldest first; events[:head] are forgotten
	head   int
	bytes  int
	number uint64 // of events[head], counted from 0 over all that were ever added
	last   uint64 // the number of the newest that can be resumed after
}

// A sentEvent is one event as it left.
type sentEvent struct {
	message             []byte
	id, session         string
	resumable, critical bool
}

const (
	sentEvents, sentBytes = 1024, 256 << 10 // kept of what left lately,
	runEvents, runBytes   = 4096, 1 << 20   // and since the newest event that can be resumed after
)

// end is the number of the event that is added next.
func (s *sent) end() uint64 { return s.number + uint64(len(s.events)-s.head) }

func (s *sent) add(ev sentEvent) {
	if ev.resumable {
		s.last = s.end()
	}
	if s.head > 64 && 2*s.head >= len(s.events) {
		n := copy(s.events, s.events[s.head:])
		clear(s.events[n:])
		s.events, s.head = s.events[:n], 0
	}
	s.events = append(s.events, ev)
	s.bytes += len(ev.message)
	for n := len(s.events) - s.head; n > runEvents || s.bytes > runBytes || s.number < s.last && (n > sentEvents || s.bytes > sentBytes); n-- {
		s.bytes -= len(s.events[s.head].message)
		s.events[s.head] = sentEvent{}
		s.head++
		s.number++
	}
}

// after returns the number of the event that follows the one with an id, if that is kept.
func (s *sent) after(id string) (number uint64, ok bool) {
	all := s.events[s.head:]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].id == id {
			return s.number + uint64(i) + 1, true
		}
	}
	return 0, false
}

// since returns the events from a number on; of those, what is not kept any more is left out.
func (s *sent) since(number uint64) []sentEvent {
	return s.events[s.head+int(max(number, s.number)-s.number):]
}

// follow adds what another stream was given from a number on, and forgets all that was before a gap.
func (s *sent) follow(other *sent, number uint64) {
	if other.number > number {
		s.forget()
	}
	for _, ev := range other.since(number) {
		s.add(ev)
	}
}

// forget forgets everything.
func (s *sent) forget() {
	n := max(s.end(), 1)
	*s = sent{number: n, last: n}
}

// whole reports whether everything that ever left is kept.
func (s *sent) whole() bool { return s.number == 0 }
