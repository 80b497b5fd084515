package delivery

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/shaper"
)

// attachStream makes stream the stream of the subscription and sets the cursor to what the
// subscriber has not received; see beginFirstStream and continueOnStream. The owner calls it,
// holding no lock; it asks the Agent and the Subscriber, and may wait for the log.
func (sub *Subscription) attachStream(stream *eventStream) {
	first := !sub.opened
	sub.opened, sub.untaken = true, false
	sub.setConnected(true)
	sub.attached, sub.before = time.Now(), sub.d.Log.End()
	last := stream.LastEventID()
	sub.d.Log.AwaitShown(last)
	if first {
		sub.beginFirstStream(last)
		return
	}
	reportResumed := sub.d.Resumed()
	defer func() { reportResumed(nil) }()
	sub.continueOnStream(last)
}

// beginFirstStream continues after the event with id last, if the log has it: it belongs to a
// subscription that ended with its link or with the process. Otherwise the stream begins with what
// was prepared at registration, without the questions that were settled since.
func (sub *Subscription) beginFirstStream(last string) {
	prepared := sub.first
	sub.first = nil
	if cursor, skip, ok := sub.d.Locate(last); ok {
		sub.continueFrom(cursor, skip)
		return
	}
	for _, e := range prepared {
		if !sub.d.Agent.IsSettled(e.Event) {
			sub.shaper.Push(time.Now(), e)
		}
	}
}

// continueOnStream continues on a stream that is not the first, after the event with id last, which
// is "" where the subscriber names none. What left after that event is sent again, if the history
// has it. Otherwise it is made anew from the log, or from now on if the log does not have that
// either.
func (sub *Subscription) continueOnStream(last string) {
	if sub.resendAfter(last) {
		sub.keepLogFromCursor()
		return
	}
	cursor, skip, ok := sub.d.Locate(last)
	switch {
	case last == "" && sub.continuesOther: // nothing that left has reached it, or it could name an event
		sub.resetDelivery(false)
		sub.continueFrom(sub.start, sub.startSkip)
	case last == "" && !sub.sentNamable: // it has received nothing it could name: from the start
		sub.resetDelivery(false)
		sub.cursor = sub.start
		_, entries, _ := sub.d.Agent.States(sub.cursor)
		sub.pushSituation(entries)
	case ok:
		sub.resetDelivery(true)
		sub.cursor, sub.skip = cursor, skip
	default:
		sub.resend = nil
		sub.catchUpToNow(cmp.Or(cursor, sub.cursor))
	}
	if sub.cursor < sub.start { // it named a question that was put before it was registered
		sub.cursor, sub.skip = sub.start, 0
	}
	sub.keepLogFromCursor()
	sub.subscriber.RepeatQuestions()
}

// keepLogFromCursor has the log keep what comes after the cursor. If it has forgotten some of that,
// the stream goes on from now.
func (sub *Subscription) keepLogFromCursor() {
	sub.needs.Store(sub.cursor)
	if _, _, err := sub.d.Log.Read(sub.cursor, 0); err != nil {
		sub.catchUpToNow(sub.cursor)
	}
}

// resendAfter schedules every event that left after the one with id last to be sent again, and
// reports whether the history has them; otherwise it changes nothing. The stream then goes on as if
// it had not broken. An empty last means all events; that is false where one has left that the
// subscriber could name.
func (sub *Subscription) resendAfter(last string) bool {
	number, ok := sub.history.numberAfter(last)
	if last == "" {
		number, ok = 0, !sub.sentNamable && sub.history.isComplete()
	}
	if ok {
		sub.resend = slices.Clone(sub.history.eventsSince(number))
	}
	return ok
}

// resetDelivery forgets how far the stream has come: what follows is made anew from the log, and
// its text may be cut at other places. named says that the subscriber named an event to go on
// after.
func (sub *Subscription) resetDelivery(named bool) {
	sub.shaper.Reset(named)
	sub.shaper.Heard(0, newForm())
	sub.history.reset()
	sub.resend, sub.skip, sub.early = nil, 0, nil
}

// newForm returns a random number that makes the ids of events that are made anew differ from those
// they had before, and is not zero; see shaper.Shaper.Heard.
func newForm() uint32 { return rand.Uint32() | 1 }

// Locate returns where a stream goes on after the event with the id after: a cursor, and how many
// bytes of the next entry's text belong to that event. ok is false for an event that the log does
// not know, whose cursor is zero, and where only what came after it is gone, whose cursor is right.
func (d *Dispatcher) Locate(after string) (cursor uint64, skip int, ok bool) {
	place, _, ok := d.Log.Locate(after)
	if cursor, skip = place.Pos, place.Offset; skip > 0 {
		cursor-- // the event is a part of the entry, whose rest is to be sent
	}
	if ok {
		_, _, err := d.Log.Read(cursor, 0)
		ok = err == nil
	}
	return cursor, skip, ok
}

// continueFrom makes a subscription begin where another one ended: cursor and skip are as for
// beginAt. It is not sent what the agent is doing, for it knows that, but the open questions that
// the cursor has passed: only now can it answer those here. The owner calls it.
func (sub *Subscription) continueFrom(cursor uint64, skip int) {
	sub.beginAt(cursor, skip)
	sub.subscriber.PutOpenQuestions()
}

// beginAt sets where a subscription begins that goes on after an event of another one: the cursor,
// and how many bytes of the next entry's text it has already.
func (sub *Subscription) beginAt(cursor uint64, skip int) {
	sub.start, sub.startSkip, sub.cursor, sub.skip, sub.continuesOther = cursor, skip, cursor, skip, true
	sub.shaper.Heard(sub.replayed, newForm())
}

// maxHistory is how many events from before the subscription may wait for its rate. More are not
// read from the log meanwhile: a subscription that goes on where it was days ago is behind, and not
// too slow.
const maxHistory = 256

// maxEarly is how many entries askOpenEarly looks back for what a question must not overtake:
// enough for hours at the rates that users ask for.
const maxEarly = 1 << 16

// askOpenEarly gives the Shaper the open questions that the cursor has not reached and that this
// stream's terms let be answered: the time to answer them does not wait until all that was before
// has been heard. What has to leave in front of a question goes with it; see bringForward. The
// owner calls it.
func (c *logCursor) askOpenEarly() {
	shown := c.d.Log.End()
	for _, question := range c.d.Agent.OpenQuestions() {
		mayAnswer := c.terms.MayReply(question.Event.Type() == aaep.TypeAwaitingConfirmation)
		omit, _ := c.withholds(question.Event)
		ahead := question.Pos > c.cursor && question.Pos <= shown && !c.early[question.Pos]
		if mayAnswer && !omit && ahead {
			c.bringForward(question)
		}
	}
}

// bringForward gives the Shaper a question before the cursor reaches it, and before that what D-50
// has leave in front of it: the start of its session, the critical events of that, and its changes
// of state, those that follow each other as one. Without these, a user would take the end of an
// earlier question for that of this one. Changes of state get ids of their own: a subscriber that
// had one of them before a cut, under its id in the log, would leave it out and have the rest in
// the wrong order. The owner calls it; it may read the log's store.
func (c *logCursor) bringForward(question shaper.Entry) {
	if c.early == nil {
		c.early = map[uint64]bool{}
	}
	var folded *aaep.Event // the changes of state that were read last, as one; nil: none
	push := func(ev *aaep.Event, at uint64) {
		c.shaper.Push(time.Now(), shaper.Entry{Event: ev, At: at})
	}
	flush := func() {
		if folded != nil {
			push(folded, 0)
		}
		folded = nil
	}
	from := c.cursor
	if question.Pos > maxEarly {
		from = max(from, question.Pos-maxEarly)
	}
	for pos, ev := range c.d.readEntries(from, question.Pos) {
		change, isState := ev.Payload.(*aaep.StateChanged)
		leads := isState || ev.Type() == aaep.TypeSessionStarted || ev.Critical() || shaper.HighImpact(ev)
		omit, _ := c.withholds(ev)
		if ev.SessionID != question.Event.SessionID || !leads || omit || c.early[pos] {
			continue
		}
		c.early[pos] = true
		switch {
		case pos != question.Pos && c.isPast(pos) && c.d.Agent.IsSettled(ev):
			// A question of before that was settled is never sent: the cursor skips what is early.
		case !isState:
			flush()
			push(ev, pos)
		case change.FromState == aaep.StateAwaitingInput: // never folded: it says how a question ended
			flush()
			push(foldStates(ev, ev), 0)
		default:
			folded = foldStates(cmp.Or(folded, ev), ev)
		}
	}
	flush()
	if !c.early[question.Pos] { // it could not be read
		c.early[question.Pos] = true
		push(question.Event, question.Pos)
	}
}

// readEntries yields the entries after from, up to upTo, each with its position. It ends early
// where the log no longer has the next, or does not have it yet.
func (d *Dispatcher) readEntries(from, upTo uint64) iter.Seq2[uint64, *aaep.Event] {
	return func(yield func(uint64, *aaep.Event) bool) {
		for pos := from; pos < upTo; {
			events, _, err := d.Log.Read(pos, maxHistory)
			if err != nil || len(events) == 0 {
				return
			}
			for _, ev := range events[:min(uint64(len(events)), upTo-pos)] {
				if pos++; !yield(pos, ev) {
					return
				}
			}
		}
	}
}

// foldStates returns one event for two changes of state that follow each other, with an id of its
// own, or nil if they lead back. Given the same event twice, it returns that under another id.
func foldStates(old, ev *aaep.Event) *aaep.Event {
	both, change := *ev, *ev.Payload.(*aaep.StateChanged)
	if change.FromState = old.Payload.(*aaep.StateChanged).FromState; change.FromState == change.ToState {
		return nil
	}
	both.EventID, both.Payload = newEventID(), &change
	return &both
}

// overtakingForm and lostForm change the form in the id of an event that withDeliveryTag has
// changed: its bytes differ, so its id must too.
const (
	overtakingForm = 0x6d61726b
	lostForm       = 0x6c6f7374
)

// withDeliveryTag returns out with a member of the delivery extension's data set to value, a JSON
// value, and an id of its own made with form. For a subscriber that did not name that extension it
// returns out unchanged. The event in out is not changed.
func (c *logCursor) withDeliveryTag(out shaper.Out, member, value string, form uint32) shaper.Out {
	delivery := extensions.DeliveryVocabulary
	if !slices.Contains(c.terms.Extensions, delivery.URI) {
		return out
	}
	ev, data := *out.Event, map[string]json.RawMessage{}
	if existing := ev.Extensions[delivery.Prefix]; existing != nil {
		_ = jsonv2.Unmarshal(existing, &data) // the Shaper leaves out what is not an object
	} else {
		ev.Context = append(slices.Clip(ev.Context), delivery.URI)
		if len(ev.Context) == 1 { // an event without contexts has the core context, which comes first
			ev.Context = []string{aaep.CoreContext, delivery.URI}
		}
	}
	data[member] = json.RawMessage(value)
	marked, err := jsonv2.Marshal(data, jsonv2.Deterministic(true))
	if err != nil {
		return out
	}
	ev.Extensions = maps.Clone(ev.Extensions)
	if ev.Extensions == nil {
		ev.Extensions = map[string]json.RawMessage{}
	}
	ev.Extensions[delivery.Prefix] = marked
	if place, _, ok := c.d.Log.Locate(ev.EventID); ok { // an event outside the log is sent once
		place.Form ^= form // an event may get both marks, and then has a third id
		ev.EventID = c.d.Log.EventID(place)
	}
	return shaper.Out{Event: &ev, Resumable: out.Resumable}
}

// maxSituations is how often the states of all sessions are read again because one has changed
// meanwhile.
const maxSituations = 10

// catchUpToNow makes the stream go on from now, and marks a gap if that leaves out entries after
// since. What is to be sent again still is. After that come the ends of the sessions that ended
// after since, then for each session that is under way what the agent is doing (§8.7, D-29) and
// what it is waiting for. The owner calls it, holding no lock.
func (sub *Subscription) catchUpToNow(since uint64) {
	var entries []shaper.Entry
	var changed uint64
	sub.cursor, entries, changed = sub.d.Agent.States(math.MaxUint64)
	for tries := 0; changed > sub.cursor && tries < maxSituations; tries++ { // a state changed meanwhile
		sub.d.Log.Wait(changed)
		sub.cursor, entries, changed = sub.d.Agent.States(math.MaxUint64)
	}
	sub.shaper.Reset(false)
	sub.history.reset() // sub.resend stays: it is sent before this
	sub.skip, sub.early, sub.gap = 0, nil, since < sub.cursor
	sub.d.pushEndsSince(since, sub.cursor, func(e shaper.Entry) { sub.shaper.Push(time.Now(), e) })
	sub.pushSituation(entries)
}

// pushEndsSince calls push with the ends of the sessions that began before since and ended up to
// upTo, as far as memory has them: a subscriber that missed what came between still learns that
// they are over. It reads no store, which may hold millions of events.
func (d *Dispatcher) pushEndsSince(since, upTo uint64, push func(shaper.Entry)) {
	hasBegun := map[string]bool{}
	for pos, ev := range d.readEntries(max(since, d.Log.MemoryStart()), upTo) {
		switch {
		case ev.Type() == aaep.TypeSessionStarted:
			hasBegun[ev.SessionID] = true
		case ev.Type().Terminal() && !hasBegun[ev.SessionID]:
			push(shaper.Entry{Event: ev, At: pos})
		}
	}
}

// pushSituation gives the Shaper the states in situation, and then the open questions. The owner
// calls it, holding no lock.
func (sub *Subscription) pushSituation(situation []shaper.Entry) {
	for _, e := range situation {
		sub.Push(e)
	}
	sub.subscriber.PutOpenQuestions()
}

// detachStream marks the subscription as without a stream, and returns by when another one has to
// come. A stream that broke within Grace, and brought the subscription no further, does not extend
// that time: otherwise a question could wait for this subscriber for ever. The owner calls it.
func (sub *Subscription) detachStream() time.Time {
	sub.setConnected(false)
	sub.detached = time.Now()
	left := sub.left.Load()
	progressed := left > sub.leftAtGrace || left == sub.d.Log.End()
	lastedLong := sub.detached.Sub(sub.attached) >= sub.d.Grace
	if sub.grace.IsZero() || progressed || lastedLong {
		sub.grace, sub.leftAtGrace = sub.detached.Add(sub.d.Grace), left
	}
	return sub.grace
}

// setConnected sets whether there is a stream and wakes the goroutines that wait for the
// subscription to progress. Without a stream, the log need keep nothing for it.
func (sub *Subscription) setConnected(connected bool) {
	sub.mu.Lock()
	sub.connected = connected
	sub.mu.Unlock()
	if sub.watched.Load() {
		sub.d.Moved.Broadcast()
	}
	if !connected {
		sub.needs.Store(math.MaxUint64) // it resumes from what the log still keeps when it is back
	}
}
