package producer

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/transports"
)

// attach points the cursor at what the subscriber has not seen.
func (sub *subscription) attach(stream transports.Stream, first bool) {
	sub.setConnected(true)
	sub.attached, sub.before = time.Now(), sub.p.log.End()
	last := stream.LastEventID()
	sub.p.log.Await(last)
	cursor, skip, ok := sub.p.place(last)
	if first {
		defer func() { sub.first = nil }()
		if ok { // of another subscription, which ended with its link or with the process
			sub.goOn(cursor, skip)
			return
		}
		for _, e := range sub.first {
			if !sub.p.stale(e.Event) { // the stream may have been long in coming
				sub.shaper.Push(time.Now(), e)
			}
		}
		return
	}
	resumed := sub.p.cfg.Observer.Began(Resume)
	defer func() { resumed(nil) }()
	if sub.sendAgain(last) {
		sub.needs.Store(sub.cursor)
		if _, _, err := sub.p.log.Read(sub.cursor, 0); err != nil {
			sub.catchUp(sub.cursor)
		}
		return
	}
	switch {
	case last == "" && sub.goesOn: // whatever left since did not reach it, or it could name that
		sub.reset(false)
		sub.goOn(sub.start, sub.startSkip)
	case last == "" && !sub.resumed: // it has seen nothing it could name: from the start
		sub.reset(false)
		sub.cursor = sub.start
		entries, _ := sub.p.situation(sub.cursor)
		sub.situate(entries)
	case ok:
		sub.reset(true)
		sub.cursor, sub.skip = cursor, skip
	default:
		sub.again = nil
		sub.catchUp(cmp.Or(cursor, sub.cursor))
	}
	if sub.cursor < sub.start { // it was shown a question from before its time
		sub.cursor, sub.skip = sub.start, 0
	}
	sub.needs.Store(sub.cursor)
	if _, _, err := sub.p.log.Read(sub.cursor, 0); err != nil {
		sub.catchUp(sub.cursor)
	}
	sub.askBeside()
}

// sendAgain has everything sent once more that left after an event, as it left, and reports whether it is kept. Then the stream goes on as
// if it had not been cut. Whoever could not name any event yet has all of it sent once more.
func (sub *subscription) sendAgain(last string) bool {
	number, ok := sub.history.after(last)
	if last == "" {
		number, ok = 0, !sub.resumed && sub.history.whole()
	}
	if ok {
		sub.again = slices.Clone(sub.history.since(number))
	}
	return ok
}

// reset forgets how far the stream has come: what follows is made anew, and may be cut otherwise.
func (sub *subscription) reset(named bool) {
	sub.shaper.Reset(named)
	sub.shaper.Heard(0, newForm())
	sub.history.forget()
	sub.again, sub.skip, sub.early = nil, 0, nil
}

// newForm makes the ids of what is told anew differ, see shaper.Shaper.Heard.
func newForm() uint32 { return rand.Uint32() | 1 }

// place is where a stream goes on after an event: a cursor, and how many bytes of the next entry came before. It reports
// false for an event that the log does not know, or no longer has what came after.
func (p *Producer) place(after string) (cursor uint64, skip int, ok bool) {
	at, _, ok := p.log.Locate(after)
	if cursor, skip = at.Pos, at.Offset; skip > 0 {
		cursor--
	}
	if ok {
		_, _, err := p.log.Read(cursor, 0)
		ok = err == nil
	}
	return cursor, skip, ok
}

// goOn makes a subscription begin where another one ended. It is not told what the agent is doing, for it knows, but what
// is still asked, for only now can it answer that here.
func (sub *subscription) goOn(cursor uint64, skip int) {
	sub.beginAt(cursor, skip)
	sub.p.putOpen(sub, nil, func(e shaper.Entry) { sub.shaper.Push(time.Now(), e) })
}

func (sub *subscription) beginAt(cursor uint64, skip int) {
	sub.start, sub.startSkip, sub.cursor, sub.skip, sub.goesOn = cursor, skip, cursor, skip, true
	sub.shaper.Heard(sub.replayed, newForm())
}

// atPlace reports whether the subscription begins right after the event that its request names, or why not, in a note.
func (sub *subscription) atPlace() (yes bool, note string) {
	after := sub.terms.ResumeAfter
	_, lost, _ := sub.p.log.Locate(after)
	switch {
	case after == "":
		return false, ""
	case !sub.goesOn:
		note = "What came after the event in resume_after is not known here any more."
	case lost:
		note = "What came right after the event in resume_after was lost in a crash; you get what followed that."
	default:
		return true, ""
	}
	if own := phrase.Best(sub.terms.Languages); !strings.HasPrefix(own, "en") { // what it means to a person
		note, _ = phrase.In(own, phrase.MayBeLost, "")
	}
	return false, note
}

// maxHistory is how many events from before the subscription wait for its rate: whoever goes on where they were days ago is
// behind, and not too slow.
const maxHistory = 256

// askEarly puts the questions that are open to who is far behind: their time does not wait until all that was before has
// been heard.
func (c *course) askEarly() {
	shown := c.p.log.End()
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	for _, put := range c.p.openQuestions() {
		able := c.terms.ClarificationReply
		if put.Event.Type() == aaep.TypeAwaitingConfirmation {
			able = c.terms.ConfirmationReply
		}
		if put.Pos > c.cursor && put.Pos <= shown && !c.early[put.Pos] && able {
			if c.early == nil {
				c.early = map[uint64]bool{}
			}
			c.early[put.Pos] = true
			c.shaper.Push(time.Now(), shaper.Entry{Event: put.Event, At: put.Pos}) // its turn is yet to come
		}
	}
}

// What a mark makes of the form of an event, for the bytes are others.
const (
	overtakingForm = 0x6d61726b
	lostForm       = 0x6c6f7374
)

// tagged says something about delivery on an event, for those who named the extension that says so. Nobody else gets the event like this.
func (c *course) tagged(out shaper.Out, member, value string, form uint32) shaper.Out {
	delivery := extensions.DeliveryVocabulary
	if !slices.Contains(c.terms.Extensions, delivery.URI) {
		return out
	}
	ev, data := *out.Event, map[string]json.RawMessage{}
	if had := ev.Extensions[delivery.Prefix]; had != nil {
		_ = jsonv2.Unmarshal(had, &data) // it is an object, or the Shaper had left it out
	} else {
		ev.Context = append(slices.Clip(ev.Context), delivery.URI)
		if len(ev.Context) == 1 {
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
	if at, _, ok := c.p.log.Locate(ev.EventID); ok { // else it is told once
		at.Form ^= form
		ev.EventID = c.p.log.EventID(at)
	}
	return shaper.Out{Event: &ev, Resumable: out.Resumable}
}

// catchUp goes on from now, and tells first which sessions have ended since a place, then for each of the others what the agent is doing
// (§8.7, D-29) and what it is waiting for.
func (sub *subscription) catchUp(since uint64) {
	var entries []shaper.Entry
	current := false
	for tries := 0; !current && tries < 10; tries++ { // a state that changes in between would not come first
		sub.cursor = sub.p.log.End()
		entries, current = sub.p.situation(sub.cursor)
	}
	sub.shaper.Reset(false)
	sub.history.forget() // but sub.again stays: it is told before this
	sub.skip, sub.early, sub.gap = 0, nil, since < sub.cursor
	sub.p.endsSince(since, sub.cursor, func(e shaper.Entry) { sub.shaper.Push(time.Now(), e) })
	sub.situate(entries)
}

// endsSince pushes the ends of the sessions that began before one place and ended after it, as far as memory has them: a subscriber that
// missed what came between is still told that they are over. It reads no store, which may hold millions of events.
func (p *Producer) endsSince(since, upTo uint64, push func(shaper.Entry)) {
	begun := map[string]bool{}
	for cursor := max(since, p.log.MemoryStart()); cursor < upTo; {
		events, _, err := p.log.Read(cursor, maxHistory)
		if err != nil || len(events) == 0 {
			return // memory let go of it meanwhile
		}
		for _, ev := range events {
			cursor++
			switch {
			case ev.Type() == aaep.TypeSessionStarted:
				begun[ev.SessionID] = true
			case ev.Type().Terminal() && !begun[ev.SessionID] && cursor <= upTo:
				push(shaper.Entry{Event: ev, At: cursor})
			}
		}
	}
}

// situate tells what the agent is doing and waiting for at the cursor.
func (sub *subscription) situate(situation []shaper.Entry) {
	push := func(e shaper.Entry) { sub.shaper.Push(time.Now(), e) }
	for _, e := range situation {
		push(e)
	}
	sub.p.putOpen(sub, nil, push)
}

// detach returns until when the stream has to be back. One that brought the subscription no further, and broke soon, gives
// no new time: what waits for this subscriber would wait for ever.
func (sub *subscription) detach() time.Time {
	sub.setConnected(false)
	sub.apart = time.Now()
	left := sub.left.Load()
	if sub.grace.IsZero() || left > sub.came || left == sub.p.log.End() || sub.apart.Sub(sub.attached) >= sub.p.cfg.Grace {
		sub.grace, sub.came = sub.apart.Add(sub.p.cfg.Grace), left
	}
	return sub.grace
}

func (sub *subscription) setConnected(yes bool) {
	sub.mu.Lock()
	sub.connected = yes
	sub.mu.Unlock()
	if sub.watched.Load() {
		sub.p.moved.give()
	}
	if !yes {
		sub.needs.Store(math.MaxUint64) // it resumes from what the log still keeps when it is back
	}
}
