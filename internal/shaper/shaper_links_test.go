package shaper

import (
	"cmp"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"pgregory.net/rapid"
)

// A reader follows one log over links that break anywhere. It leaves out what it has had by its id,
// and believes the rest in the order in which it comes.
type reader struct {
	t      *rapid.T
	r      *harness
	subs   int
	resets uint32

	// over all subscriptions
	had      map[string]bool
	heard    map[uint64]bool       // by place in the log
	bytes    map[string]string     // what an id meant
	state    map[string]aaep.State // by session
	progress map[string]string

	// of the subscription there is
	place place                 // where to go on
	from  uint64                // and where it began: after so many events
	chain map[string]aaep.State // by session
	over  map[string]bool       // likewise: it heard the end
}

func (rd *reader) subscribe() {
	rd.subs++
	again := newHarness(rd.t, rd.r.terms)
	again.log, again.copies, again.places, again.now = rd.r.log, rd.r.copies, rd.r.places, rd.r.now
	if rd.subs > 1 {
		again.s.Heard(uint64(len(rd.r.log)), uint32(rd.subs))
	}
	rd.r = again
	rd.beginHere()
}

// beginHere begins a chain of states where the reader goes on.
func (rd *reader) beginHere() {
	rd.from = rd.place.pos
	if rd.place.offset > 0 {
		rd.from--
	}
	rd.chain, rd.over = map[string]aaep.State{}, map[string]bool{}
	for _, ev := range rd.r.log[:rd.from] {
		if p, ok := ev.Payload.(*aaep.StateChanged); ok {
			rd.chain[ev.SessionID] = p.ToState
		}
	}
}

// goOn pushes what the reader has not seen, as far as it knows.
func (rd *reader) goOn() {
	r, skip, pos := rd.r, rd.place.offset, rd.place.pos
	if skip == 0 {
		pos++
	}
	r.out, r.shown = nil, 0
	rd.t.Logf("a link after %v", rd.place)
	r.manual = rd.r.terms.MaxEventsPerSecond > 0 && rapid.Bool().Draw(rd.t, "backlog at once")
	for ; pos > 0 && pos <= uint64(len(r.log)); pos++ {
		r.pushEntry(Entry{Pos: pos, Event: r.log[pos-1], Skip: skip})
		skip = 0
		if !r.manual && rapid.IntRange(0, 3).Draw(rd.t, "time passes") == 0 {
			r.wait(400 * time.Millisecond)
		}
	}
	r.manual = false
}

// hear takes the first n events of the link.
func (rd *reader) hear(n int) {
	t := rd.t
	for i, d := range rd.r.out {
		t.Logf("subscription %d: %s is %s, resumable %t, lost %t", rd.subs, d.Event.EventID, line(d.Event),
			d.Resumable, i >= n)
	}
	for _, d := range rd.r.out[:n] {
		ev := d.Event
		if d.Resumable {
			rd.place = rd.r.places[ev.EventID]
			if rd.place.offset >= 1 {
				rd.place.offset = 0
			}
		}
		now := bytesOf(ev)
		if was, again := rd.bytes[ev.EventID]; again && was != now {
			t.Fatalf("subscription %d: the id %s was\n%s\nand is\n%s (INV-23)", rd.subs, ev.EventID, was, now)
		}
		rd.bytes[ev.EventID] = now
		if ev.Type() != aaep.TypeOutputStreaming {
			if rd.over[ev.SessionID] {
				t.Fatalf("subscription %d: %s (%s) after the end of its session", rd.subs, now, ev.EventID)
			}
			rd.over[ev.SessionID] = ev.Type().Terminal()
		}
		first := !rd.had[ev.EventID]
		rd.had[ev.EventID], rd.heard[rd.r.places[ev.EventID].pos] = true, true
		switch p := ev.Payload.(type) {
		case *aaep.StateChanged:
			was := cmp.Or(rd.chain[ev.SessionID], aaep.StateIdle)
			if p.FromState != was || p.FromState == p.ToState {
				t.Fatalf("subscription %d, which began after %d: %s (%s) after %s", rd.subs, rd.from, line(ev),
					ev.EventID, was)
			}
			rd.chain[ev.SessionID] = p.ToState
			if first {
				rd.state[ev.SessionID] = p.ToState
			}
		case *aaep.ProgressUpdated:
			if first {
				rd.progress[ev.SessionID] = p.Progress.Description
			}
		}
	}
}

// drawChanges makes a log of sessions that change their states more often than a listener may hear
// of, beside texts that are held.
func drawChanges(t *rapid.T) (steps []step) {
	states := []aaep.State{aaep.StateIdle, aaep.StateThinking, aaep.StateCallingTool, aaep.StateWritingOutput,
		aaep.StateAwaitingInput}
	now, texts := map[string]aaep.State{}, map[string]*writer{}
	ends := 0
	for i := range rapid.IntRange(10, 60).Draw(t, "steps") {
		session := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session") + fmt.Sprint(ends)
		emit := func(ev *aaep.Event) { steps = append(steps, step{ev: in(session, ev)}) }
		switch what := rapid.IntRange(0, 15).Draw(t, "what"); {
		case what < 6:
			was := cmp.Or(now[session], aaep.StateIdle)
			to := rapid.SampledFrom(states).Filter(func(s aaep.State) bool { return s != was }).Draw(t, "state")
			now[session] = to
			emit(change(was, to))
		case what < 9:
			emit(advance(fmt.Sprint(i)))
		case what == 9:
			emit(tool(fmt.Sprint(i)))
		case what == 10:
			emit(handoff())
		case what < 14 && texts[session] == nil:
			texts[session] = &writer{session: session, output: fmt.Sprint("o", i), lang: "en"}
			emit(texts[session].say(rapid.SampledFrom([]string{"Half a sentence", "A whole one. "}).Draw(t, "text")))
		case what < 14:
			emit(texts[session].close("."))
			delete(texts, session)
		case what < 15:
			steps = append(steps, step{wait: time.Duration(rapid.IntRange(100, 3000).Draw(t, "ms")) * time.Millisecond})
		case rapid.IntRange(0, 3).Draw(t, "end") == 0:
			if w := texts[session]; w != nil {
				emit(w.close("."))
			}
			if rapid.IntRange(0, 2).Draw(t, "fails") == 0 {
				emit(failed())
			} else {
				emit(done())
			}
			ends++
			clear(texts)
		}
	}
	return steps
}

// INV-21, INV-23, D-29, D-51: however often a link breaks, and whatever of what left was lost on
// the way, a listener that goes on after the last event that it can go on after, on the same
// subscription or on a new one, is told of states that form a chain, and in the end of what is.
func TestShaperLinks(t *testing.T) {
	for range 10 { // what goes wrong takes several breaks at the wrong time
		rapid.Check(t, checkLinks)
	}
}

func checkLinks(t *rapid.T) {
	terms := drawTerms(t)
	terms.MaxChunk = 0
	steps := drawChanges(t)
	if rapid.Bool().Draw(t, "talks") {
		steps = drawScenario(t, false, true).steps
	}
	types := rapid.Bool().Draw(t, "types")
	if types {
		terms.Quiet = 5 * time.Second
	}
	rd := &reader{t: t, r: newHarness(t, terms), had: map[string]bool{}, heard: map[uint64]bool{},
		bytes: map[string]string{}, state: map[string]aaep.State{}, progress: map[string]string{}}
	rd.subscribe()
	for _, what := range steps {
		rd.r.runSteps([]step{what})
		if types && rapid.IntRange(0, 9).Draw(t, "types now") == 0 {
			rd.r.s.SetQuiet(
				rd.r.now.Add(time.Duration(rapid.SampledFrom([]int{500, 5000}).Draw(t, "quiet")) * time.Millisecond))
		}
		if rapid.IntRange(0, 5).Draw(t, "cut") > 0 {
			continue
		}
		rd.hear(len(rd.r.out) - min(len(rd.r.out),
			rapid.SampledFrom([]int{0, 0, 1, 2, 9, 99}).Draw(t, "lost on the way")))
		if rapid.IntRange(0, 2).Draw(t, "which subscription") == 0 {
			rd.subscribe()
		} else {
			rd.resets++
			rd.r.s.Reset(true)
			rd.r.s.Heard(0, 1<<16|rd.resets)
			rd.beginHere()
		}
		rd.goOn()
	}
	rd.r.wait(10 * time.Minute)
	rd.hear(len(rd.r.out))
	state, progress := map[string]aaep.State{}, map[string]string{}
	for _, ev := range rd.r.log {
		switch p := ev.Payload.(type) {
		case *aaep.StateChanged:
			state[ev.SessionID] = p.ToState
			continue
		case *aaep.ProgressUpdated:
			progress[ev.SessionID] = p.Progress.Description
			continue
		case *aaep.OutputStreaming:
			continue
		case *aaep.SessionErrored: // which tells what counts
			delete(state, ev.SessionID)
			delete(progress, ev.SessionID)
		}
		if !rd.heard[rd.r.places[ev.EventID].pos] {
			t.Fatalf("%s (%s) was not heard", line(ev), ev.EventID)
		}
	}
	for session, want := range state {
		if got := cmp.Or(rd.state[session], aaep.StateIdle); got != want {
			t.Fatalf("session %s: believes %q in the end, and it is %q", session, got, want)
		}
		if got := cmp.Or(rd.chain[session], aaep.StateIdle); got != want {
			t.Fatalf("session %s: the last subscription tells %q in the end, and it is %q", session, got, want)
		}
	}
	for session, want := range progress {
		if got := rd.progress[session]; got != want {
			t.Fatalf("session %s: believes progress %q in the end, and it is %q", session, got, want)
		}
	}
}

// A subscriber that another Shaper told that A became C is not told that B became C under the id of
// that: they would leave that out, and believe that A became B (INV-21, INV-23).
func TestShaperTellsAnew(t *testing.T) {
	r := newHarness(t, paced(1, completion))
	r.push(tool("t"), in("b", newWriter().say("Half a sentence")), change(idle, thinking), change(thinking, calling),
		advance("1"), advance("2"))
	r.wait(time.Minute)
	r.want("tool t", "idle>calling_tool", "progress 2")
	heard := map[string]bool{}
	for _, d := range r.out {
		heard[d.Event.EventID] = true
	}
	other := newHarness(t, r.terms)
	other.s.Heard(6, 1)
	for i, ev := range r.log[1:] {
		other.wait(time.Minute)
		other.pushEntry(Entry{Pos: uint64(i + 2), Event: ev})
	}
	for _, d := range other.out {
		if heard[d.Event.EventID] {
			t.Errorf("%s comes under an id that was heard", line(d.Event))
		}
	}
	other.want("idle>thinking", "thinking>calling_tool", "progress 1", "progress 2")
}

// bytesOf is what would be written of an event.
func bytesOf(ev *aaep.Event) string {
	payload, err := json.Marshal(ev.Payload)
	if err != nil {
		panic(err)
	}
	hints, err := json.Marshal(ev.LocalizationHints)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s %s %s %s %s %v %s %s %v", ev.Type(), ev.SessionID, ev.Timestamp.Format(time.RFC3339Nano),
		ev.Verbosity, ev.Urgency, ev.Summary, payload, hints, ev.Extensions)
}
