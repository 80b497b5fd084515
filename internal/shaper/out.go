package shaper

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// Out is one event on its way to the subscriber.
type Out struct {
	Event *aaep.Event
	// Resumable says that nothing older is still held, so that a subscriber that received this
	// event misses nothing by resuming after it. It may be sent again what left after the last such
	// event: an event that is the same to the byte has the same id; any other has another id, and
	// text that was cut elsewhere shows by its position what of it came before. With one session
	// and one output at a time text is always resumable, except the text that lies between
	// changes of state which have merged, and the text that leaves before an error which has made
	// older states superfluous.
	Resumable bool
	// Shape says what the event was made of. Two events of one log whose Shapes are equal are the
	// same, so that one encoding serves all subscribers that get it alike. The zero Shape is equal
	// to no other.
	Shape Shape
}

// A mark is a place in the log: after the first offset bytes of the chunk of the entry at pos or,
// if whole, after all of that entry. The zero mark is no place.
type mark struct {
	pos    uint64
	offset int
	whole  bool
}

// before reports whether m, where held text or an event begins, is before the mark after: a
// subscriber that resumes there would miss some of it. The zero mark is before none.
func (m mark) before(after mark) bool {
	switch {
	case m.pos == 0: // not in the log
		return false
	case m.pos == after.pos:
		return after.whole || m.offset < after.offset
	}
	return m.pos < after.pos
}

// A Shape is compared and hashed; no other code looks at what it has.
type Shape struct {
	to                 mark  // the end of the newest part; zero only in the zero Shape
	position           int64 // of text, in code points
	stamp              time.Time
	from               aaep.State // the state that a folded change of state began with
	hint               aaep.Boundary
	complete, critical bool
	verbosity          aaep.Verbosity
	language           int    // index of the translation; 0 is the event's own language
	extensions         string // the profile of extensions that were agreed
	form               uint32 // see form
}

// Hash returns the same number for equal Shapes, and mostly different ones for others.
func (s Shape) Hash() uint64 { return s.to.pos }

// IsZero reports whether it is the zero Shape.
func (s Shape) IsZero() bool { return s.to.pos == 0 }

// buildOut makes the event of an item as the subscriber is sent it: in the subscriber's language
// and wording, with a stamp no earlier than that of the event before and an id for exactly these
// bytes. It counts the event as delivered. With raise the event gets the urgency critical, because
// it leaves past the rate. The item must no longer be in a queue. Pop calls it.
func (s *Shaper) buildOut(it *item, raise bool) Out {
	s.stats.Delivered++
	s.stats.Merged += max(it.parts-1, 0)
	ev := *it.event
	shape := Shape{to: it.to, language: s.chooseLanguage(&ev), extensions: s.terms.Profile()}
	var form form
	s.buildPayload(it, &ev, &shape, &form)
	// An event that was overtaken leaves with the stamp of the one before it, so that stamps never
	// go backwards (D-09).
	session := s.sessionStateOf(ev.SessionID)
	if ev.Timestamp.Before(session.stamp) {
		ev.Timestamp = session.stamp
		form.addNumber(uint64(session.stamp.UnixNano()))
	}
	session.stamp = ev.Timestamp
	resumable := it.to.pos != 0 && it.to.pos >= s.resumeAt && !s.holdsBefore(it.to)
	if ev.Type().Terminal() || session.ended && !s.hasWaiting(ev.SessionID) {
		delete(s.sessions, ev.SessionID)
	}
	s.tailorText(&ev)
	if raise { // last: the event itself says nothing urgent, so extensions must not see it as critical
		ev.Urgency = aaep.UrgencyCritical
		form.addText(string(ev.Urgency))
	}
	if s.reworded && it.idPlace().pos <= s.heardUpTo { // it may have left in other words
		form.addNumber(uint64(shape.language) + 1)
		form.addText(string(ev.Verbosity))
		form.addExtensions(&ev)
	}
	shape.form = form.sum()
	if place := it.idPlace(); place.pos != 0 && (place.offset != 0 || shape.form != 0) {
		ev.EventID = s.eventID(place.pos, place.offset, shape.form)
	}
	if resumable {
		s.resumeAt = it.to.pos
	}
	shape.stamp, shape.critical, shape.verbosity = ev.Timestamp, ev.Urgency == aaep.UrgencyCritical, ev.Verbosity
	return Out{Event: &ev, Resumable: resumable, Shape: shape}
}

// buildPayload gives ev, the event of the item, the payload that leaves: for text the passage, with
// the direction of its own words. It notes in shape and form what sets it apart from the log's.
func (s *Shaper) buildPayload(it *item, ev *aaep.Event, shape *Shape, form *form) {
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		shape.from = p.FromState
		if it.folded {
			form.addText(string(p.FromState))
		}
		form.addNumber(uint64(s.repeatMark(it.to.pos)))
	case *aaep.ProgressUpdated:
		form.addNumber(uint64(s.repeatMark(it.to.pos)))
	case *aaep.OutputStreaming:
		q := it.outputPayload(p, s.terms.Boundaries)
		form.addPassage(q, p)
		shape.position, shape.hint, shape.complete = q.Position, q.CoalesceHint, q.Complete
		ev.Payload = q
		if h := ev.LocalizationHints; h != nil {
			if d := negotiation.Direction(h.PrimaryLanguage, q.Chunk); d != h.TextDirection {
				cut := *h
				cut.TextDirection = d
				ev.LocalizationHints = &cut
			}
		}
	}
}

// repeatMark returns what makes the id of the state or progress at pos a new one, where the
// subscriber may have received that event from another Shaper; otherwise zero. See Heard.
func (s *Shaper) repeatMark(pos uint64) uint32 {
	if pos != 0 && pos <= s.heardUpTo {
		return s.repeat
	}
	return 0
}

// idPlace returns the place in the log that the item's id names. An item made for this subscription
// alone has none, unless it stands for an event that is sent before its turn.
func (it *item) idPlace() mark {
	if it.to.pos == 0 {
		return mark{pos: it.at}
	}
	return it.to
}

// holdsBefore reports whether something is held, or was folded, that a subscriber would miss if it
// resumed after the mark after. buildOut calls it to find out whether an event is resumable.
func (s *Shaper) holdsBefore(after mark) bool {
	older := func(it *item) bool { return it.from.before(after) }
	isIn := func(folded foldedRange) bool { return folded.from <= after.pos && after.pos < folded.to }
	if slices.ContainsFunc(s.folded, isIn) {
		return true
	}
	return slices.ContainsFunc(s.queue, older) || slices.ContainsFunc(s.urgent, older) ||
		slices.ContainsFunc(s.streams, func(st *stream) bool {
			return len(st.parts) > 0 && st.parts[0].start().before(after)
		})
}
