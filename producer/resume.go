package producer

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/transports"
)

// attach points the cursor at what the subscriber has not seen.
func (sub *subscription) attach(stream transports.Stream, first bool) {
	sub.setConnected(true)
	sub.attached = time.Now()
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
	sub.shaper.Reset()
	sub.skip, sub.early = 0, nil
	switch {
	case last == "" && sub.goesOn: // whatever left since did not reach it, or it could name that
		sub.goOn(sub.start, sub.startSkip)
	case last == "" && !sub.resumed: // it has seen nothing it could name: from the start
		sub.cursor = sub.start
		entries, _ := sub.p.situation(sub.cursor)
		sub.situate(entries)
	case !ok:
		sub.catchUp()
	default:
		sub.cursor, sub.skip = cursor, skip
	}
	if sub.cursor < sub.start { // it was shown a question from before its time
		sub.cursor, sub.skip = sub.start, 0
	}
	if _, _, err := sub.p.log.Read(sub.cursor, 0); err != nil {
		sub.catchUp()
	}
	sub.askBeside()
}

// place is where a stream goes on after an event: a cursor, and how many bytes of the next entry came before. It reports
// false for an event that the log does not know, or no longer has what came after.
func (p *Producer) place(after string) (cursor uint64, skip int, ok bool) {
	cursor, skip, ok = p.log.Locate(after)
	switch {
	case skip >= anewOffset:
		skip = 0
	case skip > 0:
		cursor--
	}
	if ok {
		_, _, err := p.log.Read(cursor, 0)
		ok = err == nil
	}
	return cursor, skip, ok
}

// anewOffset is where the offsets begin that are none: they only make the ids of what is told anew differ, see coalesce.Shaper.Heard.
const anewOffset = 1 << 30

// goOn makes a subscription begin where another one ended. It is not told what the agent is doing, for it knows, but what
// is still asked, for only now can it answer that here.
func (sub *subscription) goOn(cursor uint64, skip int) {
	sub.beginAt(cursor, skip)
	sub.p.putOpen(sub, nil, func(e coalesce.Entry) { sub.shaper.Push(time.Now(), e) })
}

func (sub *subscription) beginAt(cursor uint64, skip int) {
	sub.start, sub.startSkip, sub.cursor, sub.skip, sub.goesOn = cursor, skip, cursor, skip, true
	sub.behind.Store(cursor < sub.replayed)
	sub.shaper.Heard(sub.replayed, anewOffset|rand.IntN(anewOffset))
}

// atPlace reports whether the subscription begins right after the event that its request names, or why not, in a note.
func (sub *subscription) atPlace() (yes bool, note string) {
	after := sub.terms.ResumeAfter
	pos, offset, _ := sub.p.log.Locate(after)
	switch {
	case after == "":
		return false, ""
	case !sub.goesOn:
		note = "What came after the event in resume_after is not known here any more."
	case sub.p.log.EventID(pos, offset) != after:
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
			c.shaper.Push(time.Now(), coalesce.Entry{Event: put.Event}) // without its place, which is yet to come
		}
	}
}

// overtaking says on an event that it is no place to go on after, for those who named the extension that says so. A stream
// that can be resumed says it without (D-82).
func (c *course) overtaking(out coalesce.Out) coalesce.Out {
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
	data["resumable"] = json.RawMessage("false")
	marked, err := jsonv2.Marshal(data, jsonv2.Deterministic(true))
	if err != nil {
		return out
	}
	ev.Extensions = maps.Clone(ev.Extensions)
	if ev.Extensions == nil {
		ev.Extensions = map[string]json.RawMessage{}
	}
	ev.Extensions[delivery.Prefix] = marked
	return coalesce.Out{Event: &ev} // nobody else gets it like this
}

// catchUp goes on from now, and tells first for each session what the agent is doing (§8.7, D-29) and what it is
// waiting for.
func (sub *subscription) catchUp() {
	sub.skip = 0
	var entries []coalesce.Entry
	current := false
	for tries := 0; !current && tries < 10; tries++ { // a state that changes in between would not come first
		sub.cursor = sub.p.log.End()
		entries, current = sub.p.situation(sub.cursor)
	}
	sub.shaper.Missed(sub.cursor)
	sub.situate(entries)
}

// situate tells what the agent is doing and waiting for at the cursor.
func (sub *subscription) situate(situation []coalesce.Entry) {
	push := func(e coalesce.Entry) { sub.shaper.Push(time.Now(), e) }
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
}
