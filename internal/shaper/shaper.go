// Package shaper makes the stream of one subscription from the events of the log (§5.6): it filters
// them, chooses the wording that was agreed, merges what cannot leave one by one, and keeps the
// agreed rate.
//
//	log ─ Push ─▶ filter ─▶ tailor ─▶ merge ─▶ budget ─ Pop ─▶ the wire
//	                └── critical events go straight through ──▶
//
// Where events are held, how a question ended goes straight through like what is critical, and so
// does that a tool of high impact begins. They overtake only events that are held: by the rate, by
// quiet that was asked for, by a text boundary, or by a full link. The start of the session and the
// changes of its state, where they are held, leave in front of them (D-50).
//
// Two Shapers of equal terms that would make the same stream can be replaced by one, and parted
// again: see Share and Split.
//
// The package knows no clock, lock or link. The goroutine that delivers to the subscription owns
// its Shaper, passes now, and learns from Pop when to call again. Begin reading at Push and Pop.
//
// Filters and the choice of language and boundaries are in shaper_terms.go, held events and what
// supersedes them in queue.go, text that streams and where it is cut in stream.go, release in a
// pause in pause.go, what leaves in out.go, and sharing in share.go and share_step.go.
package shaper

import (
	"math"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/budget"
	"github.com/aaep-go/aaep/internal/negotiation"
)

const (
	// maxChunk is the most text in one output event, in bytes (§3.7).
	maxChunk = 16384
	// maxHeld is how many events may wait for the rate before the subscriber counts as too slow.
	maxHeld = 1024
	// maxPieces is how many pieces for a display may wait: one entry alone may have maxChunk.
	maxPieces = maxChunk
	// maxApart is how many events may wait before they merge although the budget has room for them
	// all: one entry may hold more words than maxHeld.
	maxApart = 64
	// pauseAfter is how long a stream must be quiet before a sentence counts as finished without
	// seeing what comes next.
	pauseAfter = 400 * time.Millisecond
)

// Entry is one event as the session log holds it. The event is shared: a Shaper changes copies
// only. The chunks of an output, joined, must be NFC: positions count on that.
type Entry struct {
	// Pos is the event's place in the log, from 1; zero for an event made for this subscription
	// alone, which is never output.
	Pos   uint64
	Event *aaep.Event
	// Skip is how many bytes of an output event's chunk this subscription received before it
	// resumed.
	Skip int
	// At is, where Pos is zero, the place of an event of the log that is sent before its turn and
	// not a second time. It gets the id of that place.
	At uint64
}

// Stats counts what became of the events pushed into a Shaper.
type Stats struct {
	// Delivered events left. Merged ones left inside another event or were superseded by it.
	// Filtered ones were not wanted. Held ones still wait. Every event pushed is in one of the
	// four, unless Reset forgot it; one whose text leaves in several events is in Delivered once
	// for each.
	Delivered, Merged, Filtered, Held int
}

// A Shaper makes the stream of one subscription. It is not safe for concurrent use.
type Shaper struct {
	terms    negotiation.Terms
	boundary aaep.Boundary // where output text is cut
	// language is the choice made for the last event that had translations.
	language languageChoice
	// eventID returns the id of a place in a form; see New.
	eventID       func(pos uint64, offset int, form uint32) string
	budget        *budget.Budget
	urgent, queue []*item                  // events that leave before the queue, and events that wait for the rate
	streams       []*stream                // the outputs that are not complete
	sessions      map[string]*sessionState // by session id
	reworded      bool                     // SetTerms changed the words or the extension data of events
	// mayFold says that there is or was a rate or quiet: states and progress may have left merged.
	mayFold    bool
	stampFloor time.Time // no event leaves with an earlier stamp
	// folded are the newest ranges of the log that left merged, or not at all.
	folded   []foldedRange
	resumeAt uint64 // the place of the newest resumable event that left
	// heardUpTo is up to where the subscriber may have received entries before; see Heard.
	heardUpTo      uint64
	repeat         uint32    // goes into the ids of states and progress up to heardUpTo
	newest         uint64    // the place of the newest entry that was pushed
	quietUntil     time.Time // until then only critical events leave, as was asked for
	heldUntil      time.Time // until then only critical events leave; see Hold
	linkFull       bool      // see SetFull
	stats          Stats
	spentSinceLeft int // tokens taken since the last call of Left
}

// New returns a Shaper for terms. id returns the id of the event that is made of the entry at pos,
// up to offset bytes of its chunk, in a form; zero is all of it, and the form of the entry as it
// is. It must return the same id for the same arguments, and never the same for others.
func New(terms negotiation.Terms, id func(pos uint64, offset int, form uint32) string) *Shaper {
	s := &Shaper{eventID: id, budget: budget.New(int(terms.MaxEventsPerSecond)), sessions: map[string]*sessionState{}}
	s.adoptTerms(terms)
	return s
}

// adoptTerms sets the terms and what follows from them. New and SetTerms call it.
func (s *Shaper) adoptTerms(terms negotiation.Terms) {
	s.terms, s.boundary, s.language = terms, boundaryFor(terms), languageChoice{}
	s.mayFold = s.mayFold || terms.MaxEventsPerSecond > 0 || terms.Quiet > 0
}

// SetTerms applies renegotiated terms to everything that has not left yet (§5.7.2): it drops what
// they do not let through, and counts it as filtered. Text that waits is cut anew where the display
// is now narrower, held text also where the boundary is another.
func (s *Shaper) SetTerms(now time.Time, terms negotiation.Terms) {
	isOtherWidth := s.terms.MaxChunk != terms.MaxChunk
	s.reworded = s.reworded || s.terms.Verbosity != terms.Verbosity || s.terms.CognitiveLoad != terms.CognitiveLoad ||
		s.terms.Profile() != terms.Profile() || !slices.Equal(s.terms.Languages, terms.Languages)
	s.adoptTerms(terms)
	s.budget.SetRate(int(terms.MaxEventsPerSecond))
	s.dropUnwanted()
	if isOtherWidth && terms.MaxChunk > 0 {
		s.queue, s.urgent = splitItems(s.queue, terms.MaxChunk), splitItems(s.urgent, terms.MaxChunk)
	}
	s.sortStreams()
	for _, st := range s.streams {
		if st.boundary != s.boundary || isOtherWidth {
			s.queuePieces(now, st, st.recutAt(s.boundary, terms.MaxChunk), false)
			if st.pauseAt = (time.Time{}); len(st.parts) > 0 {
				st.pauseAt = st.lastText.Add(pauseAfter) // what is held may be a whole sentence for the new boundary
			}
		}
	}
}

// dropUnwanted drops the events and the held text that the terms do not let through, and counts
// them as filtered. It forgets the sessions whose end is among them, or was filtered before.
func (s *Shaper) dropUnwanted() {
	for _, ev := range s.Discard(func(ev *aaep.Event) bool { return !s.isWanted(ev) }) {
		if t := s.sessions[ev.SessionID]; ev.Type().Terminal() || t != nil && t.ended {
			s.forgetSession(ev.SessionID)
		}
	}
	s.streams = slices.DeleteFunc(s.streams, func(st *stream) bool {
		if len(st.parts) == 0 || s.isWanted(st.parts[0].entry.Event) {
			return false
		}
		s.stats.Filtered += len(st.parts)
		return true
	})
}

// splitItems returns the items of a list, each cut by splitAt. Once there are more pieces than
// Overflow allows, which ends the subscription, it leaves the others as they are.
func splitItems(list []*item, limit int) (pieces []*item) {
	for _, it := range list {
		if len(pieces) > maxHeld+maxPieces {
			pieces = append(pieces, it)
			continue
		}
		pieces = append(pieces, it.splitAt(limit)...)
	}
	return pieces
}

// Discard takes out the waiting events for which match is true, counts them as filtered and returns
// them. It does not look at text that a stream still holds.
func (s *Shaper) Discard(match func(*aaep.Event) bool) (gone []*aaep.Event) {
	keep := func(list []*item) []*item {
		return slices.DeleteFunc(list, func(it *item) bool {
			if !match(it.event) {
				return false
			}
			s.stats.Filtered += it.parts
			gone = append(gone, it.event)
			return true
		})
	}
	s.queue, s.urgent = keep(s.queue), keep(s.urgent)
	return gone
}

// SetQuiet holds back what is not critical until a time; a time that is past ends it.
func (s *Shaper) SetQuiet(until time.Time) { s.quietUntil = until }

// Hold holds back what is not critical until a time, a moment from now, beside SetQuiet. Meanwhile
// events merge for a subscriber with a rate, as they do where that is spent. For a subscriber
// without a rate nothing merges, and a critical event lets all go that waits before it.
func (s *Shaper) Hold(until time.Time) { s.heldUntil = until }

// SetFull says whether the link is full. While it is, critical events also overtake what could
// leave now.
func (s *Shaper) SetFull(full bool) { s.linkFull = full }

// silentUntil returns until when only critical events leave.
func (s *Shaper) silentUntil() time.Time {
	if s.heldUntil.After(s.quietUntil) {
		return s.heldUntil
	}
	return s.quietUntil
}

// HighImpact reports whether an event tells of a tool that is irreversible or of high risk and
// about to run. Like what is critical, and how a question ended, it does not wait for the rate
// (D-49).
func HighImpact(ev *aaep.Event) bool {
	p, ok := ev.Payload.(*aaep.ToolInvoked)
	return ok && (p.RiskLevel == aaep.RiskHigh || p.Irreversible != nil && *p.Irreversible)
}

// Push gives the Shaper the next entry of the log, which Pop lets go later. An event that the terms
// do not let through is counted as filtered and dropped. Critical events, tools of high impact and,
// where events may be held, changes that end a question overtake what waits. Text is cut and
// merged. Before the end of a session the text that its outputs hold is queued, before any other
// event the sentences that are finished.
func (s *Shaper) Push(now time.Time, e Entry) {
	ev := e.Event
	session := ev.SessionID
	s.newest = max(s.newest, e.Pos)
	switch t := ev.Type(); {
	case t.Terminal():
		s.finishOutputs(now, session)
	case t != aaep.TypeOutputStreaming: // the agent turned to something else
		s.releasePaused(now, func(st *stream) bool { return st.session == session })
	}
	if !s.isWanted(ev) {
		s.stats.Filtered++
		if ev.Type().Terminal() {
			s.forgetSession(session)
		}
		return
	}
	switch p := ev.Payload.(type) {
	case *aaep.OutputStreaming:
		s.pushOutput(now, e, p)
		return
	case *aaep.SessionErrored:
		if s.mayHold(now) { // or all of it leaves with the error
			s.dropSuperseded(session, e.Pos)
		}
	}
	it := &item{event: ev, parts: 1, since: e.Pos, at: e.At,
		from: mark{pos: e.Pos}, to: mark{pos: e.Pos, whole: true}}
	switch {
	case ev.Critical() || HighImpact(ev) || endsQuestion(ev) && s.mayHold(now):
		s.expediteBefore(now, ev)
		s.urgent = append(s.urgent, it)
		return
	case e.Pos == 0: // made for this subscriber alone: it never merges
	case ev.Type() == aaep.TypeStateChanged && !endsQuestion(ev):
		it.kind = state
	case ev.Type() == aaep.TypeProgressUpdated:
		it.kind = progress
	}
	s.enqueue(now, it)
}

// Pop takes out the next event that may leave at now: what is urgent first, whatever the budget,
// then the queue within it. Where none may, out.Event is nil and next is when to ask again; a zero
// next means after the next Push. It first queues the held text of streams that have paused.
func (s *Shaper) Pop(now time.Time) (out Out, next time.Time) {
	s.releasePaused(now, func(st *stream) bool { return !st.pauseAt.IsZero() && !now.Before(st.pauseAt) })
	switch {
	case len(s.urgent) > 0:
		it := s.urgent[0]
		s.urgent = slices.Delete(s.urgent, 0, 1)
		// What is not critical itself counts as critical where the budget is spent, and how a
		// question ended where it overtakes what is held (D-49, D-50).
		paced := !it.event.Critical()
		spent := paced && s.budget.Take(now)
		if spent {
			s.spentSinceLeft++
		}
		overtakes := paced && endsQuestion(it.event) && s.holdsBefore(it.to)
		return s.buildOut(it, paced && !spent || overtakes), time.Time{}
	case len(s.queue) > 0 && now.Before(s.silentUntil()):
		next = s.silentUntil()
	case len(s.queue) > 0 && s.budget.Take(now):
		it := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		s.spentSinceLeft++
		return s.buildOut(it, false), time.Time{}
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

// Urgent returns the session of the first event that waits and does not wait for the rate: a
// critical one, or one that must leave before it. It reports false where there is none.
func (s *Shaper) Urgent() (session string, ok bool) {
	if len(s.urgent) == 0 {
		return "", false
	}
	return s.urgent[0].event.SessionID, true
}

// Spend takes a token for an event that the owner sends again, and that is not critical, as if Pop
// had returned it. If it may not leave now, ok is false and next is when to ask again.
func (s *Shaper) Spend(now time.Time) (ok bool, next time.Time) {
	if until := s.silentUntil(); now.Before(until) {
		return false, until
	}
	if !s.budget.Take(now) {
		return false, s.budget.Next(now)
	}
	s.spentSinceLeft++
	return true, next
}

// Ready returns how many waiting events Pop would return at now, one after the other, without those
// that a stream still holds.
func (s *Shaper) Ready(now time.Time) int {
	if now.Before(s.heldUntil) {
		return len(s.urgent)
	}
	return len(s.urgent) + min(len(s.queue), s.spareTokens(now))
}

// spareTokens returns how many events of the queue may leave at now: freeTokens less the tokens
// that the events in urgent will take. math.MaxInt stands for no limit.
func (s *Shaper) spareTokens(now time.Time) int {
	free := s.freeTokens(now)
	if free == math.MaxInt {
		return free
	}
	for _, it := range s.urgent {
		if !it.event.Critical() {
			free--
		}
	}
	return max(free, 0)
}

// mayHold reports whether events that are not critical can have to wait: for a rate, or because of
// quiet that was asked for.
func (s *Shaper) mayHold(now time.Time) bool { return s.freeTokens(now) < math.MaxInt }

// freeTokens returns how many events that are not critical may leave at now: none in a quiet that
// was asked for, nor, with a rate, while Hold holds them; math.MaxInt without a rate.
func (s *Shaper) freeTokens(now time.Time) int {
	if now.Before(s.quietUntil) || s.budget.Limited() && now.Before(s.heldUntil) {
		return 0
	}
	return s.budget.Free(now)
}

// Left says that the events that Pop returned since the last Left have left at now, which may be
// later than their tokens were taken.
func (s *Shaper) Left(now time.Time) {
	if s.spentSinceLeft > 0 {
		s.budget.Postpone(now, s.spentSinceLeft)
		s.spentSinceLeft = 0
	}
}

// Overflow reports whether more events wait than a subscriber can be expected to catch up with:
// over maxPieces pieces of text for a display, or over maxHeld others. Events that were made for
// this subscriber alone, as at its beginning, and urgent ones are not counted. Package delivery
// then ends the subscription as too slow.
func (s *Shaper) Overflow() bool {
	if len(s.queue) <= maxHeld {
		return false
	}
	pieces, outsideLog := 0, 0
	for _, it := range s.queue {
		switch {
		case it.source != nil:
			pieces++
		case it.to.pos == 0:
			outsideLog++
		}
	}
	return len(s.queue)-pieces-outsideLog > maxHeld || pieces > maxPieces
}

// Oldest returns the place of the oldest event of the log that waits and is not output, or zero.
func (s *Shaper) Oldest() uint64 { return oldestPlace(s.urgent, s.queue) }

// oldestPlace returns the place of the oldest item in the lists that is neither text nor made for
// this subscription alone, or zero.
func oldestPlace(lists ...[]*item) (oldest uint64) {
	for _, list := range lists {
		for _, it := range list {
			if it.kind != text && it.to.pos != 0 && (oldest == 0 || it.to.pos < oldest) {
				oldest = it.to.pos
			}
		}
	}
	return oldest
}

// OldestUrgent returns what Oldest does, of the events alone that do not wait for the rate.
func (s *Shaper) OldestUrgent() uint64 { return oldestPlace(s.urgent) }

// Reset forgets what has not left, for a subscription that resumes elsewhere in the log. The budget
// stays as it was. Stamps do not go back, unless named says that the subscriber named the event it
// resumes after: what leaves again then keeps its own stamp.
func (s *Shaper) Reset(named bool) {
	for _, t := range s.sessions {
		if t.stamp.After(s.stampFloor) {
			s.stampFloor = t.stamp
		}
	}
	if named {
		s.stampFloor = time.Time{}
	}
	s.queue, s.urgent, s.streams, s.folded, s.resumeAt = nil, nil, nil, nil, 0
	clear(s.sessions)
}

// Heard says, of a new Shaper or after Reset, that the subscriber resumes after a resumable event
// and received some of the entries up to pos before. What leaves again unchanged has the same id,
// by which the subscriber drops it. Which states were folded then is not known, and the old ids
// would mislead: a subscriber that received "A to C" and "C to D", and now gets "A to B", "B to C"
// and "C to D" again, would drop the last and be left with C. So states and progress up to pos
// leave under new ids, which again makes distinct: it differs each time and is not zero. Where the
// terms never had a rate or quiet, nothing was folded, and ids stay as they are.
func (s *Shaper) Heard(pos uint64, again uint32) {
	s.heardUpTo = max(s.heardUpTo, s.newest, pos)
	if s.mayFold {
		s.repeat = again
	}
}

// Idle reports whether nothing waits to leave. Text of an output that is still going on does not
// count.
func (s *Shaper) Idle() bool { return len(s.queue) == 0 && len(s.urgent) == 0 }

// Stats returns the counts up to now. Held counts what waits and what streams hold.
func (s *Shaper) Stats() Stats {
	stats := s.stats
	for _, list := range [...][]*item{s.queue, s.urgent} {
		for _, it := range list {
			stats.Held += it.parts
		}
	}
	for _, st := range s.streams {
		stats.Held += len(st.parts)
	}
	return stats
}
