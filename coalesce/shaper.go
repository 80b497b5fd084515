// Package coalesce turns what an agent says into what one listener can follow (§5.6). It holds three
// pure machines: a Segmenter finds sentences in a stream of text, a Budget counts events per second,
// and a Shaper uses both to make the stream of one subscription: filter, tailor, merge, pace.
//
//	log ─ Push ─▶ filter ─▶ tailor ─▶ merge ─▶ budget ─ Pop ─▶ the wire
//	                └── critical events go straight through ──▶
//
// Nothing here knows a clock: the caller passes now, and learns when to ask again.
package coalesce

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

const (
	// maxChunk is the most text in one output event, in bytes (§3.7).
	maxChunk = 16384
	// maxHeld is how many events may wait for the budget before the listener counts as too slow.
	maxHeld = 1024
	// pauseAfter is how long a stream must be quiet before a sentence counts as finished without
	// seeing what comes next.
	pauseAfter = 400 * time.Millisecond
)

// Entry is one event as the session log holds it. The event is shared: a Shaper changes copies only.
type Entry struct {
	// Pos is the event's place in the log, from 1; zero for an event made for this subscription alone.
	Pos   uint64
	Event *aaep.Event
	// Skip is how many bytes of an output event's chunk this subscription had before it resumed.
	Skip int
}

// Out is one event on its way to the listener.
type Out struct {
	Event *aaep.Event
	// Resumable says that nothing older is still held, so that a listener that saw this event misses
	// nothing by resuming after it.
	Resumable bool
}

// Stats counts what became of the events pushed into a Shaper.
type Stats struct {
	// Delivered events left. Merged ones left inside another event or were superseded by it. Filtered ones
	// were not wanted. Held ones still wait.
	Delivered, Merged, Filtered, Held int
}

// A Shaper makes the stream of one subscription. It is not safe for concurrent use.
type Shaper struct {
	terms   handshake.Terms
	wanted  func(*aaep.Event) bool
	cut     aaep.Boundary
	id      func(pos uint64, offset int) string
	budget  *Budget
	urgent  []*item
	queue   []*item
	streams []*stream
	stamps  map[string]time.Time
	stats   Stats
	spent   bool // the last Pop spent a token
}

// mark is a place in the log: after the first offset bytes of the chunk at pos, or, where whole, after
// all of the entry at pos.
type mark struct {
	pos    uint64
	offset int
	whole  bool
}

// before reports whether what is held from m on would be missed by resuming at after.
func (m mark) before(after mark) bool {
	switch {
	case m.pos == 0: // not in the log
		return false
	case m.pos == after.pos:
		return after.whole || m.offset < after.offset
	}
	return m.pos < after.pos
}

type kind uint8

const (
	plain kind = iota
	text
	state
	progress
)

// item is one event waiting to leave, made of one or more events of the log.
type item struct {
	kind  kind
	event *aaep.Event
	from  mark // the start of its oldest part
	to    mark // the end of its newest part
	parts int  // events of the log that end in it
}

// NewShaper returns a Shaper for terms. id names the part of an entry that ends after offset bytes of
// its chunk; it must give each place one name and never the same name to two places.
func NewShaper(terms handshake.Terms, id func(pos uint64, offset int) string) *Shaper {
	s := &Shaper{id: id, budget: NewBudget(int(terms.MaxEventsPerSecond)), stamps: map[string]time.Time{}}
	s.adopt(terms)
	return s
}

func (s *Shaper) adopt(terms handshake.Terms) {
	s.terms, s.wanted, s.cut = terms, wants(terms), finest(terms)
}

// SetTerms applies renegotiated terms to everything that has not left yet (§5.7.2).
func (s *Shaper) SetTerms(now time.Time, terms handshake.Terms) {
	s.adopt(terms)
	s.budget.SetRate(int(terms.MaxEventsPerSecond))
	keep := func(list []*item) []*item {
		return slices.DeleteFunc(list, func(it *item) bool {
			if s.wanted(it.event) {
				return false
			}
			s.stats.Filtered += it.parts
			return true
		})
	}
	s.queue, s.urgent = keep(s.queue), keep(s.urgent)
	for _, st := range s.streams {
		if cut := s.cut; st.cut != cut {
			s.release(now, st, st.recut(cut), false)
		}
	}
}

// Push takes the next event of the log.
func (s *Shaper) Push(now time.Time, e Entry) {
	ev := e.Event
	session := ev.SessionID
	if ev.Type() != aaep.TypeOutputStreaming {
		// The agent turned to something else: a finished sentence does not wait for the next one.
		s.pause(now, func(st *stream) bool { return st.session == session })
	}
	if !s.wanted(ev) {
		s.stats.Filtered++
		return
	}
	switch p := ev.Payload.(type) {
	case *aaep.OutputStreaming:
		s.pushOutput(now, e, p)
		return
	case *aaep.SessionErrored:
		s.hurry(now, session)
	}
	it := &item{event: ev, from: mark{pos: e.Pos}, to: mark{pos: e.Pos, whole: true}, parts: 1}
	switch {
	case ev.Critical():
		s.urgent = append(s.urgent, it)
		return
	case ev.Type() == aaep.TypeStateChanged:
		it.kind = state
	case ev.Type() == aaep.TypeProgressUpdated:
		it.kind = progress
	}
	s.enqueue(now, it)
}

// Pop returns the next event that may leave now. Without one, Event is nil and next is when to ask again;
// a zero next means after the next Push.
func (s *Shaper) Pop(now time.Time) (out Out, next time.Time) {
	s.pause(now, func(st *stream) bool { return !st.pauseAt.IsZero() && !now.Before(st.pauseAt) })
	switch {
	case len(s.urgent) > 0:
		it := s.urgent[0]
		s.spent = false
		s.urgent = slices.Delete(s.urgent, 0, 1)
		return s.leave(it), time.Time{}
	case len(s.queue) > 0 && s.budget.Take(now):
		it := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		s.spent = true
		return s.leave(it), time.Time{}
	case len(s.queue) > 0:
		next = s.budget.Next(now)
	}
	for _, st := range s.streams {
		if at := st.pauseAt; !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return Out{}, next
}

// Ready returns how many events Pop would return at now, one after the other.
func (s *Shaper) Ready(now time.Time) int {
	return len(s.urgent) + min(len(s.queue), s.budget.Free(now))
}

// Left says that the event of the last Pop has left at now, which may be later than it was taken.
func (s *Shaper) Left(now time.Time) {
	if s.spent {
		s.budget.Left(now)
	}
}

// Overflow reports whether more events wait than a listener can be expected to catch up with.
func (s *Shaper) Overflow() bool { return len(s.queue) > maxHeld }

// Oldest returns the place of the oldest event that is not output and has not left, or zero.
func (s *Shaper) Oldest() uint64 {
	var oldest uint64
	for _, list := range [][]*item{s.urgent, s.queue} {
		for _, it := range list {
			if it.kind != text && it.to.pos != 0 && (oldest == 0 || it.to.pos < oldest) {
				oldest = it.to.pos
			}
		}
	}
	return oldest
}

// Reset forgets what has not left, for a listener that goes on from another place. What it may have
// per second counts on.
func (s *Shaper) Reset() { s.queue, s.urgent, s.streams = nil, nil, nil }

// Idle reports whether nothing waits to leave. Text of an output that is still going on does not count.
func (s *Shaper) Idle() bool { return len(s.queue) == 0 && len(s.urgent) == 0 }

// Stats returns the counts so far.
func (s *Shaper) Stats() Stats {
	stats := s.stats
	for _, it := range slices.Concat(s.queue, s.urgent) {
		stats.Held += it.parts
	}
	for _, st := range s.streams {
		stats.Held += len(st.parts)
	}
	return stats
}

// enqueue adds an item behind the others. Where the budget makes it wait, it folds in what it makes
// superfluous (D-51).
func (s *Shaper) enqueue(now time.Time, it *item) {
	session := it.event.SessionID
	if len(s.queue) < s.budget.Free(now) {
		s.queue = append(s.queue, it)
		return
	}
	switch it.kind {
	case progress: // the newest wins
		if old := s.take(session, progress); old != nil {
			s.absorb(it, old)
		}
	case state: // A to B and B to C become A to C; a return to the start disappears
		if old := s.take(session, state); old != nil {
			p, was := *it.event.Payload.(*aaep.StateChanged), old.event.Payload.(*aaep.StateChanged)
			if was.FromState == p.ToState {
				s.stats.Merged += old.parts + it.parts
				return
			}
			ev := *it.event
			p.FromState = was.FromState
			ev.Payload = &p
			it.event = &ev
			s.absorb(it, old)
		}
	case text: // joins what waits of the same output, unless something of the session came between
		if i := s.last(session); i >= 0 && s.queue[i].kind == text && joins(s.queue[i], it) {
			old := s.queue[i]
			joined := *it.event.Payload.(*aaep.OutputStreaming)
			first := old.event.Payload.(*aaep.OutputStreaming)
			joined.Chunk, joined.Position = first.Chunk+joined.Chunk, first.Position
			ev := *it.event
			ev.Payload = &joined
			it.event = &ev
			it.from, it.parts = old.from, it.parts+old.parts
			s.queue[i] = it
			return
		}
	}
	s.queue = append(s.queue, it)
}

func (s *Shaper) absorb(it, old *item) {
	it.from = old.from
	s.stats.Merged += old.parts
}

func joins(a, b *item) bool {
	x, y := a.event.Payload.(*aaep.OutputStreaming), b.event.Payload.(*aaep.OutputStreaming)
	return x.OutputID == y.OutputID && x.Language == y.Language && x.ContentType == y.ContentType &&
		len(x.Chunk)+len(y.Chunk) <= maxChunk
}

// last returns the index of the session's last item in the queue, or -1.
func (s *Shaper) last(session string) int {
	for i := len(s.queue) - 1; i >= 0; i-- {
		if s.queue[i].event.SessionID == session {
			return i
		}
	}
	return -1
}

// take removes the session's waiting item of a kind that is there at most once.
func (s *Shaper) take(session string, k kind) *item {
	for i, it := range s.queue {
		if it.kind == k && it.event.SessionID == session {
			s.queue = slices.Delete(s.queue, i, i+1)
			return it
		}
	}
	return nil
}

// hurry makes way for a session's error, which is critical and must come last (D-50): progress and states
// that wait are superseded by it; everything else leaves now, as critical where the budget is spent.
func (s *Shaper) hurry(now time.Time, session string) {
	rest := s.queue[:0:0]
	for _, it := range s.queue {
		switch {
		case it.event.SessionID != session:
			rest = append(rest, it)
		case it.kind == state || it.kind == progress:
			s.stats.Merged += it.parts
		default:
			if !s.budget.Take(now) {
				ev := *it.event
				ev.Urgency = aaep.UrgencyCritical
				it.event = &ev
			}
			s.urgent = append(s.urgent, it)
		}
	}
	s.queue = rest
}

// leave finishes an event for the listener.
func (s *Shaper) leave(it *item) Out {
	s.stats.Delivered++
	s.stats.Merged += max(it.parts-1, 0)
	ev := *it.event
	if it.to.pos != 0 && it.kind == text {
		offset := 0
		if !it.to.whole {
			offset = it.to.offset
		}
		ev.EventID = s.id(it.to.pos, offset)
	}
	// An event that was overtaken leaves with the stamp of the one before it, so that stamps never
	// go backwards (D-09).
	if last := s.stamps[ev.SessionID]; ev.Timestamp.Before(last) {
		ev.Timestamp = last
	}
	if ev.Type().Terminal() {
		delete(s.stamps, ev.SessionID)
	} else {
		s.stamps[ev.SessionID] = ev.Timestamp
	}
	s.tailor(&ev)
	return Out{Event: &ev, Resumable: it.to.pos != 0 && !s.holdsBefore(it.to)}
}

func (s *Shaper) holdsBefore(after mark) bool {
	older := func(it *item) bool { return it.from.before(after) }
	return slices.ContainsFunc(s.queue, older) || slices.ContainsFunc(s.urgent, older) ||
		slices.ContainsFunc(s.streams, func(st *stream) bool { return len(st.parts) > 0 && st.parts[0].start().before(after) })
}

// tailor chooses the wording the listener asked for (§5.3.1.2).
func (s *Shaper) tailor(ev *aaep.Event) {
	ev.Verbosity = s.terms.Verbosity
	if s.terms.CognitiveLoad == aaep.LoadLow && ev.Verbosity == aaep.VerbosityNormal && ev.Summary.Terse != "" {
		ev.Verbosity = aaep.VerbosityTerse
	}
	if ev.Verbosity != aaep.VerbosityTerse {
		ev.Summary.Terse = ""
	}
	if ev.Verbosity != aaep.VerbosityDetailed {
		ev.Summary.Detailed = ""
	}
}

// wants returns the test an event must pass to be sent under terms.
func wants(t handshake.Terms) func(*aaep.Event) bool {
	return func(ev *aaep.Event) bool {
		switch ev.Type() {
		case aaep.TypeAwaitingConfirmation: // only to those who can answer (§5.3.1.4)
			return t.ConfirmationReply
		case aaep.TypeAwaitingClarification:
			return t.ClarificationReply
		}
		if ev.Critical() { // whatever the filters say (§5.5.4)
			return true
		}
		if t.CognitiveLoad == aaep.LoadLow && !worthALowLoad(ev) {
			return false
		}
		return t.Filters.Match(ev.Type())
	}
}

// worthALowLoad keeps progress, and states that say little, from people who asked for few events (D-53).
func worthALowLoad(ev *aaep.Event) bool {
	switch p := ev.Payload.(type) {
	case *aaep.ProgressUpdated:
		return false
	case *aaep.StateChanged:
		return notable(p.FromState) || notable(p.ToState)
	}
	return true
}

func notable(s aaep.State) bool {
	switch s {
	case aaep.StateThinking, aaep.StateCallingTool, aaep.StateWritingOutput, aaep.StateAwaitingInput:
		return true
	}
	return false
}

func runes(s string) int64 { return int64(utf8.RuneCountInString(s)) }
