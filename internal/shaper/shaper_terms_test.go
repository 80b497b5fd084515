package shaper

import (
	"slices"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// §5.7.2: new boundaries hold for everything that has not left; no text is lost or doubled.
func TestShaperSetBoundaries(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to []aaep.Boundary
		want     []string
	}{
		{"finer", []aaep.Boundary{paragraph}, []aaep.Boundary{sentence},
			[]string{`o@0 "One. " sentence`, `o@5 "Two. " sentence`, `o@10 "Three. " sentence`,
				`o@17 "Four" completion complete`}},
		{"coarser", []aaep.Boundary{sentence}, []aaep.Boundary{paragraph, completion},
			[]string{`o@0 "One. " sentence`, `o@5 "Two. Three. Four" completion complete`}},
		{"to none", []aaep.Boundary{sentence}, []aaep.Boundary{none},
			[]string{`o@0 "One. " sentence`, `o@5 "Two." none`, `o@9 " Three. " none`,
				`o@17 "Four" completion complete`}},
		{"from none", []aaep.Boundary{none}, []aaep.Boundary{sentence},
			[]string{`o@0 "One. T" none`, `o@6 "wo." none`, `o@9 " Three. " sentence`,
				`o@17 "Four" completion complete`}},
		{"same", []aaep.Boundary{sentence}, []aaep.Boundary{sentence},
			[]string{`o@0 "One. " sentence`, `o@5 "Two. " sentence`, `o@10 "Three. " sentence`,
				`o@17 "Four" completion complete`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, w := newHarness(t, listener(c.from...)), newWriter()
			r.push(w.say("One. T"), w.say("wo."))
			r.s.SetTerms(r.now, listener(c.to...))
			r.push(w.say(" Three. "), w.close("Four"))
			r.want(c.want...)
			r.checkOut()
		})
	}
}

// What waits is labelled in the words of the new terms, and a sentence that is whole for them
// leaves.
func TestShaperSetTermsWhileHeld(t *testing.T) {
	r, w := newHarness(t, paced(1, sentence)), newWriter()
	r.push(tool("t"), w.say("One. "), w.say("Two. "), w.say("Three x"))
	r.s.SetTerms(r.now, paced(1, paragraph))
	r.wait(time.Second)
	r.want("tool t", `o@0 "One. Two. " none`)

	r, w = newHarness(t, listener(completion)), newWriter()
	r.push(w.say("One."))
	r.wait(time.Second)
	r.s.SetTerms(r.now, listener(sentence))
	r.wait(0)
	r.want(`o@0 "One." sentence`)
	r.checkOut()
}

// New filters and flags hold for what waits; what they refuse is counted, and no longer in the way.
func TestShaperSetFilters(t *testing.T) {
	terms := paced(1, sentence)
	r, w := newHarness(t, terms), newWriter()
	r.push(tool("t"), tool("u"), advance("1"), w.say("One. "), w.say("Tw"))
	terms.Filters.Exclude = []string{"aaep:agent.output.*", "aaep:agent.progress.*"}
	r.s.SetTerms(r.now, terms)
	r.push(w.say("o. "), tool("v"))
	r.wait(time.Minute)
	r.want("tool t", "tool u", "tool v")
	for _, d := range r.out[1:] {
		if !d.Resumable {
			t.Errorf("%s is not resumable", line(d.Event))
		}
	}
	if got := r.s.Stats(); got != (Stats{Delivered: 3, Filtered: 4}) {
		t.Errorf("%+v", got)
	}
	terms.Filters.Exclude = nil // the output goes on from here
	r.s.SetTerms(r.now, terms)
	r.push(w.close("Three."))
	r.wait(time.Minute)
	r.want(`o@10 "Three." completion complete`)
	r.checkOut()

	terms = paced(1, sentence)
	r = newHarness(t, terms)
	r.manual = true
	r.push(event("a", &aaep.AwaitingConfirmation{}), event("a", &aaep.AwaitingClarification{}), handoff())
	terms.ConfirmationReply = false
	r.s.SetTerms(r.now, terms)
	r.pop()
	r.want("awaiting.clarification", "handoff.requested")
	terms.ConfirmationReply, terms.ClarificationReply = true, false
	r.s.SetTerms(r.now, terms)
	r.push(event("a", &aaep.AwaitingConfirmation{}), event("a", &aaep.AwaitingClarification{}))
	r.pop()
	r.want("awaiting.confirmation")
	r.checkOut()
}

// A new rate counts at once, and so does a new verbosity, for what waits too.
func TestShaperSetRate(t *testing.T) {
	r := newHarness(t, paced(1, sentence))
	r.push(tool("1"), tool("2"), tool("3"))
	r.s.SetTerms(r.now, paced(2, sentence))
	r.pop()
	r.want("tool 1", "tool 2")
	terms := listener(sentence)
	terms.Verbosity = aaep.VerbosityTerse
	r.s.SetTerms(r.now, terms)
	r.pop()
	r.want("tool 3")
	if got := r.out[2].Event.Verbosity; got != aaep.VerbosityTerse {
		t.Errorf("verbosity %s", got)
	}
}

// Reset forgets what waits, not the budget and not the stamps.
func TestShaperReset(t *testing.T) {
	r, w := newHarness(t, paced(1, sentence)), newWriter()
	r.push(tool("1"), tool("2"), w.say("One. T"), in("b", tool("3")))
	r.s.Reset(true)
	if !r.s.Idle() || r.s.Oldest() != 0 || r.s.Stats().Held != 0 {
		t.Errorf("after Reset: idle %t, oldest %d, %+v", r.s.Idle(), r.s.Oldest(), r.s.Stats())
	}
	r.shown = len(r.out)
	r.wait(999 * time.Millisecond)
	for pos := uint64(2); pos <= 4; pos++ { // as a resumed listener gets them
		r.pushEntry(Entry{Pos: pos, Event: r.log[pos-1]})
	}
	r.want()
	r.wait(time.Minute)
	r.want("tool 2", `o@0 "One. " sentence`, "b: tool 3")
	r.push(w.close("wo")) // the place of what is held is known
	r.want(`o@5 "Two" completion complete`)
	for i, want := range []bool{true, true, true, false, true} {
		if r.out[i].Resumable != want {
			t.Errorf("%s: resumable %t", line(r.out[i].Event), r.out[i].Resumable)
		}
	}
	r.s.Reset(true)
	r.s.Heard(0, 1)
	r.pushEntry(Entry{Pos: 1, Event: r.log[0]}) // from further back
	r.wait(time.Minute)
	if !r.out[len(r.out)-1].Resumable {
		t.Error("an event told again is not resumable")
	}
}

// An entry made for this subscription alone has no place: no subscriber can resume after it, and it
// hides nothing.
func TestShaperWithoutPlace(t *testing.T) {
	r := newHarness(t, paced(1, sentence))
	situation := change(idle, thinking)
	situation.EventID = "evt_situation"
	r.push(tool("t"))
	r.pushEntry(Entry{Event: situation})
	r.push(change(thinking, calling))
	alarm := in("b", handoff())
	r.push(alarm)
	r.want("tool t", "b: handoff.requested")
	if r.out[1].Resumable {
		t.Error("resuming after the handoff would lose the state held before it")
	}
	r.push(handoff())
	// it comes first, and nothing folds into it (INV-22)
	r.want("idle>thinking", "thinking>calling_tool", "handoff.requested")
	r.s.Push(r.now, Entry{Event: situation})
	out, _ := r.s.Pop(r.now.Add(time.Hour))
	if out.Resumable || out.Event.EventID != "evt_situation" {
		t.Errorf("%+v", out)
	}
}

// A question asked long ago is put to a listener that can answer only now: the resume point stays.
func TestShaperOldQuestion(t *testing.T) {
	r := newHarness(t, listener(sentence))
	question := event("a", &aaep.AwaitingConfirmation{})
	question.EventID = r.id(1, 0, 0)
	r.log, r.copies = append(r.log, question), append(r.copies, dumpEvent(question))
	r.push(tool("t"))
	r.pushEntry(Entry{Pos: 1, Event: question})
	r.want("tool t", "awaiting.confirmation")
	if r.out[1].Resumable {
		t.Error("the resume point goes back")
	}
}

// D-51: the bound of the queue.
func TestShaperOverflow(t *testing.T) {
	r := newHarness(t, paced(1, sentence))
	for range 1 + 1024 {
		r.push(tool("t"))
		r.push(handoff())
	}
	if r.s.Overflow() {
		t.Error("1024 waiting events are too many")
	}
	r.push(tool("t"))
	if !r.s.Overflow() {
		t.Error("1025 waiting events are not too many")
	}
	r.wait(time.Second)
	if r.s.Overflow() {
		t.Error("1024 waiting events are too many")
	}
}

// Oldest is what a tool waits for: it must never be past an event that has not left.
func TestShaperOldest(t *testing.T) {
	r, w := newHarness(t, paced(1, sentence)), newWriter()
	want := func(pos uint64, idle bool) {
		t.Helper()
		if r.s.Oldest() != pos || r.s.Idle() != idle {
			t.Errorf("oldest %d, idle %t; want %d, %t", r.s.Oldest(), r.s.Idle(), pos, idle)
		}
	}
	want(0, true)
	r.push(tool("1"), w.say("Two. "), w.say("Three")) // output does not count
	want(0, false)
	r.push(tool("4"), tool("5"))
	want(4, false)
	r.manual = true
	r.push(handoff())
	want(4, false)
	r.manual = false
	r.wait(2 * time.Second)
	want(5, false)
	r.wait(time.Second)
	want(0, true)
	r.manual = true
	r.push(handoff())
	want(7, false)
}

// Text is cut at the finest boundary asked for, whatever their order, and its label is the coarsest
// of them that it reached.
func TestLabel(t *testing.T) {
	all := []aaep.Boundary{none, word, sentence, paragraph, completion}
	for mask := range 1 << len(all) {
		var set []aaep.Boundary
		for i, b := range all {
			if mask&(1<<i) != 0 {
				set = append(set, b)
			}
		}
		cut := boundaryFor(negotiation.Terms{Boundaries: set})
		slices.Reverse(set) // their order means nothing
		if got := boundaryFor(negotiation.Terms{Boundaries: set}); got != cut || len(set) > 0 && cut != set[len(set)-1] {
			t.Errorf("%v: cut at %s and %s", set, cut, got)
		}
		for i, reached := range all {
			want := none
			if reached == word && !slices.Contains(set, none) {
				want = word // what must not be held any longer
			}
			for _, b := range all[:i+1] {
				if slices.Contains(set, b) {
					want = b
				}
			}
			if got := coarsestListed(set, reached); got != want {
				t.Errorf("%v, reached %s: %s, want %s", set, reached, got, want)
			}
		}
	}
}
