package shaper

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/budget"
	"github.com/aaep-go/aaep/internal/negotiation"
	"pgregory.net/rapid"
)

// A subscription is one listener: what its stream is made by, alone or with others, and a Shaper of
// its own that shows how it must be.
type subscription struct {
	name  string
	terms int
	alone *Shaper
	maker *maker
	past  *ShareRecord // while it shares
	start uint64
}

// A maker is a Shaper with those whose stream it makes.
type maker struct {
	shaper *Shaper
	cursor uint64
	heard  []*subscription
}

type sharingHarness struct {
	*rapid.T
	terms  []negotiation.Terms
	log    []*aaep.Event
	now    time.Time
	last   map[string]time.Time // stamps, by session
	placed map[string]uint64    // the newest event of each session
	makers []*maker
	all    []*subscription
	forms  uint32
	shared int // events that left for several
	steps  int // times one fell into step with others
}

func (w *sharingHarness) since(cursor uint64) func(string) time.Time {
	if rapid.IntRange(0, 3).Draw(w.T, "knows stamps") == 0 {
		return nil
	}
	return func(session string) time.Time {
		if w.placed[session] > cursor {
			return time.Time{}
		}
		return w.last[session]
	}
}

func partID(pos uint64, offset int, form uint32) string {
	return fmt.Sprintf("evt_%dx%dx%x", pos, offset, form)
}

// subscribe comes at the end of the log, and is told what goes on; or goes on where it heard of the
// log elsewhere.
func (w *sharingHarness) subscribe() {
	h := &subscription{name: fmt.Sprint("listener ", len(w.all)),
		terms: rapid.IntRange(0, len(w.terms)-1).Draw(w.T, "terms"),
		start: uint64(len(w.log))}
	h.alone = New(w.terms[h.terms], partID)
	h.maker = &maker{shaper: New(w.terms[h.terms], partID), cursor: h.start, heard: []*subscription{h}}
	w.all, w.makers = append(w.all, h), append(w.makers, h.maker)
	if rapid.IntRange(0, 3).Draw(w.T, "was elsewhere") == 0 {
		h.start = rapid.Uint64Range(0, h.start).Draw(w.T, "begins after")
		h.maker.cursor = h.start
		again := w.form()
		for _, s := range []*Shaper{h.alone, h.maker.shaper} {
			s.Heard(uint64(len(w.log)), again)
		}
		return
	}
	for _, session := range []string{"a", "b"} {
		if w.placed[session] > 0 && rapid.Bool().Draw(w.T, "is told the state") {
			w.pushOwn(h, session)
		}
	}
}

// form is another each time.
func (w *sharingHarness) form() uint32 {
	w.forms++
	return w.forms
}

// pushOwn tells one listener, who is alone, what is made for it.
func (w *sharingHarness) pushOwn(h *subscription, session string) {
	ev := in(session, change(aaep.StateIdle, aaep.StateThinking))
	ev.EventID, ev.Timestamp = fmt.Sprint("evt_own", w.now.UnixNano()), w.stamp(session)
	for _, s := range []*Shaper{h.alone, h.maker.shaper} {
		s.Push(w.now, Entry{Event: ev})
	}
}

func (w *sharingHarness) stamp(session string) time.Time {
	if w.now.After(w.last[session]) {
		w.last[session] = w.now
	}
	return w.last[session]
}

// runMaker has a maker read on, and tell what is due.
func (w *sharingHarness) runMaker(m *maker) {
	w.Helper()
	shapers := []*Shaper{m.shaper}
	for _, h := range m.heard {
		shapers = append(shapers, h.alone)
	}
	each := func(f func(*Shaper)) {
		for _, s := range shapers {
			f(s)
		}
	}
	upTo := uint64(len(w.log))
	if rapid.IntRange(0, 7).Draw(w.T, "reads a part") == 0 {
		upTo = rapid.Uint64Range(m.cursor, upTo).Draw(w.T, "reads up to")
	}
	for ; m.cursor < upTo; m.cursor++ {
		each(func(s *Shaper) { s.Push(w.now, Entry{Pos: m.cursor + 1, Event: w.log[m.cursor]}) })
	}
	popped := 0
	for most := rapid.SampledFrom([]int{1, 1000, 1000, 1000, 1000, 1000}).Draw(w.T, "takes"); popped < most; popped++ {
		want, next := m.shaper.Pop(w.now)
		for i, h := range m.heard {
			got, then := h.alone.Pop(w.now)
			if describeOut(got) != describeOut(want) || got.Resumable != want.Resumable || got.Shape != want.Shape ||
				!then.Equal(next) {
				w.Fatalf("%s would hear, alone,\n%s %v, then at %v; it hears with %d others\n%s %v, then at %v", h.name,
					describeOut(got), got.Resumable, then, len(m.heard)-1, describeOut(want), want.Resumable, next)
			}
			if want.Event != nil && i > 0 {
				w.shared++
			}
		}
		if want.Event == nil {
			break
		}
		if rapid.IntRange(0, 9).Draw(w.T, "has a full link") == 0 { // in the middle of it
			w.splitOff(m)
			shapers = shapers[:1]
			for _, h := range m.heard {
				shapers = append(shapers, h.alone)
			}
		}
	}
	late := w.now.Add(time.Duration(rapid.IntRange(0, 300).Draw(w.T, "late")) * time.Millisecond)
	each(func(s *Shaper) { s.Left(late) })
	w.checkAgreement(m)
}

func describeOut(out Out) string {
	if out.Event == nil {
		return "nothing"
	}
	ev := *out.Event
	ev.Payload, ev.LocalizationHints = nil, nil
	return fmt.Sprintf("%+v %s %+v", ev, out.Event.Language(), out.Event.Payload)
}

// checkAgreement wants the counts of each to be as if it were alone.
func (w *sharingHarness) checkAgreement(m *maker) {
	w.Helper()
	for _, h := range m.heard {
		got := m.shaper.Stats()
		if h.past != nil {
			got = h.past.Stats(got)
		}
		if want := h.alone.Stats(); got != want || m.shaper.Oldest() != h.alone.Oldest() {
			w.Fatalf("%s: %+v, oldest %d; alone %+v, oldest %d", h.name, got, m.shaper.Oldest(), want, h.alone.Oldest())
		}
		if got, want := free(m.shaper, w.now), free(h.alone, w.now); h.past == nil && got != want {
			w.Fatalf("%s could spend %d under new terms, alone %d", h.name, got, want)
		}
	}
}

// free is how much could be spent if that were limited from now on.
func free(s *Shaper, now time.Time) int {
	b := s.budget.Clone()
	b.SetRate(1000)
	return b.Free(now)
}

// splitOff has one of several go on alone.
func (w *sharingHarness) splitOff(m *maker) {
	if len(m.heard) == 0 || m.heard[0].past == nil {
		return
	}
	i := rapid.IntRange(0, len(m.heard)-1).Draw(w.T, "leaves")
	h := m.heard[i]
	m.heard = slices.Delete(m.heard, i, i+1)
	h.maker = &maker{shaper: m.shaper.Split(h.past), cursor: m.cursor, heard: []*subscription{h}}
	w.makers, h.past = append(w.makers, h.maker), nil
	if w.steps > 0 { // what others made the group put off is put off no longer
		w.postponeSpends(h.alone.budget, h.maker.shaper.budget)
		h.alone.budget = h.maker.shaper.budget.Clone()
	}
	w.checkAgreement(h.maker)
	if got, want := stateOf(h.maker.shaper, w.now), stateOf(h.alone, w.now); got != want {
		w.Fatalf("%s goes on with\n%s\nalone it would with\n%s", h.name, got, want)
	}
	if path := differenceOf(m.shaper, h.maker.shaper); path != "" {
		w.Fatalf("%s goes on, and shares %s", h.name, path)
	}
}

// postponeSpends wants what was spent alone to have been spent by one who left its group, or
// shortly before: each that fell into step may have put it off.
func (w *sharingHarness) postponeSpends(alone, left *budget.Budget) {
	w.Helper()
	for rate := 1; rate <= 20; rate++ {
		a, l := alone.Clone(), left.Clone()
		a.SetRate(rate)
		l.SetRate(rate)
		if d := a.Next(w.now).Sub(l.Next(w.now)); d < 0 || d > time.Duration(w.steps)*maxDrift {
			w.Fatalf("at %d a second it could go on %v before itself, alone", rate, d)
		}
	}
}

// tryShare has one that is alone share, with whom it can.
func (w *sharingHarness) tryShare(h *subscription) {
	m := h.maker
	settled, _ := m.shaper.Settled(w.now, m.cursor)
	if h.past != nil || !settled && !m.shaper.Paused(w.now, m.cursor) {
		return
	}
	for _, other := range w.makers {
		if len(other.heard) == 0 || other.heard[0].past == nil || other.heard[0].terms != h.terms ||
			other.cursor != m.cursor {
			continue
		}
		otherToo, _ := other.shaper.Settled(w.now, other.cursor)
		inStep := !settled || !otherToo
		if inStep && !other.shaper.Paused(w.now, other.cursor) {
			continue
		}
		past := m.shaper.Share(w.now, other.shaper, w.since(m.cursor), inStep)
		if past == nil {
			continue
		}
		if inStep {
			for _, x := range append(slices.Clone(other.heard), h) {
				if !x.alone.alignWith(w.now, other.shaper) {
					w.Fatalf("%s is not in step with itself", x.name)
				}
			}
			w.steps++
		}
		m.heard, h.maker, h.past = nil, other, past
		other.heard = append(other.heard, h)
		w.checkAgreement(other)
		return
	}
	found := &maker{shaper: m.shaper.Split(new(ShareRecord)), cursor: m.cursor, heard: []*subscription{h}}
	m.heard, h.maker, h.past = nil, found, m.shaper.handOver(w.now, found.shaper)
	w.makers = append(w.makers, found)
	w.checkAgreement(found)
}

// What a listener hears with others is what it would hear alone, whenever it joins them and leaves
// them, and whatever happened to it before and happens to it then: events, times to ask again,
// places to go on after, counts. P4, P6, P8
func TestShareProperty(t *testing.T) {
	shared, inStep := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := &sharingHarness{T: t, now: harnessStart, last: map[string]time.Time{}, placed: map[string]uint64{},
			terms: []negotiation.Terms{drawTerms(t), drawTerms(t)}}
		for i := range w.terms {
			w.terms[i].MaxEventsPerSecond = rapid.SampledFrom([]int64{0, 0, 2, 20}).Draw(t, "rate for several")
			if rapid.IntRange(0, 3).Draw(t, "hears no end") == 0 {
				w.terms[i].Filters.Exclude = []string{string(aaep.TypeSessionCompleted)}
			}
		}
		defer func() { shared, inStep = shared+w.shared, inStep+w.steps }()
		steps := drawScenario(t, false, true).steps
		if rapid.IntRange(0, 1).Draw(t, "with text") > 0 { // an output that goes on is shared only in step
			steps = slices.DeleteFunc(steps, func(st step) bool {
				return st.ev != nil && st.ev.Type() == aaep.TypeOutputStreaming
			})
		}
		for range 3 {
			w.subscribe()
		}
		for len(steps) > 0 {
			switch rapid.IntRange(0, 12).Draw(t, "what") {
			case 0, 1, 2, 3, 12:
				st := steps[0]
				steps = steps[1:]
				w.now = w.now.Add(st.wait)
				if st.ev != nil {
					ev := *st.ev
					ev.EventID, ev.Timestamp = partID(uint64(len(w.log)+1), 0, 0), w.stamp(ev.SessionID)
					w.log = append(w.log, &ev)
					w.placed[ev.SessionID] = uint64(len(w.log))
				}
			case 4, 5, 6:
				for _, m := range w.makers {
					w.runMaker(m)
				}
				for _, h := range w.all {
					w.tryShare(h)
				}
			case 7:
				w.runMaker(rapid.SampledFrom(w.makers).Draw(t, "runs"))
			case 8:
				for _, h := range w.all {
					w.tryShare(h)
				}
			case 9:
				w.splitOff(rapid.SampledFrom(w.makers).Draw(t, "group"))
			case 10:
				w.now = w.now.Add(
					time.Duration(rapid.SampledFrom([]int{1, 100, 500, 3000, 3000}).Draw(t, "time")) * time.Millisecond)
			case 11:
				w.pushOwnTo(rapid.SampledFrom(w.all).Draw(t, "listener"))
			}
			w.makers = slices.DeleteFunc(w.makers, func(m *maker) bool { return len(m.heard) == 0 })
		}
	})
	if (shared < 100 || inStep < 10) && !testing.Short() {
		t.Errorf("%d events left for several listeners at once, who fell into step %d times: too few to show anything",
			shared, inStep)
	}
}

// pushOwnTo does to one listener what can only be done to it alone.
func (w *sharingHarness) pushOwnTo(h *subscription) {
	if h.past != nil {
		return
	}
	both := func(f func(*Shaper)) { f(h.alone); f(h.maker.shaper) }
	switch rapid.IntRange(0, 5).Draw(w.T, "alone") {
	case 0:
		h.terms = rapid.IntRange(0, len(w.terms)-1).Draw(w.T, "new terms")
		both(func(s *Shaper) { s.SetTerms(w.now, w.terms[h.terms]) })
	case 1:
		h.maker.cursor = rapid.Uint64Range(h.start, h.maker.cursor).Draw(w.T, "goes on after")
		again := w.form()
		both(func(s *Shaper) { s.Reset(true); s.Heard(0, again) })
	case 2:
		until := w.now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(w.T, "quiet")) * time.Millisecond)
		both(func(s *Shaper) { s.SetQuiet(until) })
	case 5:
		until := w.now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(w.T, "hold")) * time.Millisecond)
		both(func(s *Shaper) { s.Hold(until) })
	case 3:
		w.pushOwn(h, rapid.SampledFrom([]string{"a", "b"}).Draw(w.T, "session"))
	case 4:
		if len(w.all) < 8 {
			w.subscribe()
		}
	}
}

// INV-23: a subscription whose words were changed before it shared a Shaper gets what leaves again,
// in the new words, under another id, although the Shaper that it shared never changed them.
func TestSplitAfterNewWords(t *testing.T) {
	few, many := listener(sentence), listener(sentence)
	few.Verbosity, many.Verbosity = aaep.VerbosityTerse, aaep.VerbosityDetailed
	ev := tool("t")
	ev.Summary = aaep.Text{Terse: "In short.", Normal: "It is so.", Detailed: "All that there is to be said."}
	now := harnessStart
	leave := func(s *Shaper) *aaep.Event {
		s.Push(now, Entry{Pos: 1, Event: ev})
		out, _ := s.Pop(now)
		s.Left(now)
		return out.Event
	}
	changed, other := New(few, partID), New(many, partID)
	first := leave(changed)
	changed.SetTerms(now, many)
	leave(other)
	record := changed.Share(now, other, nil, false)
	if record == nil {
		t.Fatal("they would make the same stream, and do not share it")
	}
	alone := other.Split(record)
	alone.Reset(true)
	alone.Heard(1, 7)
	if again := leave(alone); again.EventID == first.EventID || again.Verbosity == first.Verbosity {
		t.Errorf("%s leaves as %s, then as %s with the id %s", first.EventID, first.Verbosity, again.Verbosity, again.EventID)
	}
}
