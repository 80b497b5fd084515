package shaper

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// step is one thing that happens in a script.
type step struct {
	wait time.Duration // before it
	ev   *aaep.Event
}

// scenario is a script and what it tells.
type scenario struct {
	steps []step
	texts map[string]string // by session and output
}

var shaperWords = []string{
	"Hello ", "world. ", "It costs $3.14", ". ", "Dr. ", "e.g. ", "Ready?", "!", "\n\n", "\n", " ", "1. ",
	"\"So.\" ", "(", ") ",
	"你好。", "走吧！", "行く", "مرحبا", "؟ ", "የት ", "።", "हाँ। ", "ọ̀", "ẹ́ ", "q̃", "👩‍👩‍👧", "👍🏽 ", "🇳🇬", "A", "é",
	"\u0323", "\u0301",
}

// drawScenario makes a log: sessions take turns; with alone, there is one session, whose outputs
// follow each other.
func drawScenario(t *rapid.T, alone, errors bool) scenario {
	st := scenario{texts: map[string]string{}}
	type session struct {
		id      string
		state   aaep.State
		outputs []*writer
		left    map[*writer][]rune
		over    bool
		n       int
	}
	names := []string{"a", "b"}
	if alone {
		names = names[:1]
	}
	var sessions []*session
	for _, id := range names {
		sessions = append(sessions, &session{id: id, state: aaep.StateIdle, left: map[*writer][]rune{}})
	}
	at := time.Duration(0)
	emit := func(s *session, ev *aaep.Event) {
		ev.Timestamp = harnessStart.Add(at) // near enough
		st.steps = append(st.steps, step{ev: in(s.id, ev)})
	}
	speak := func(s *session, w *writer, n int) {
		n = min(n, len(s.left[w]))
		chunk := s.left[w][:n]
		s.left[w] = s.left[w][n:]
		end := len(s.left[w]) == 0 && rapid.Bool().Draw(t, "closes with text")
		if n > 0 || end {
			emit(s, w.chunk(string(chunk), end))
		}
		if len(s.left[w]) == 0 && !end {
			emit(s, w.close(""))
		}
		if len(s.left[w]) == 0 {
			s.outputs = slices.DeleteFunc(s.outputs, func(x *writer) bool { return x == w })
		}
	}
	dice := make([]int, 96) // of 20 sides, of which the last, an end, is rare
	for i := range dice {
		dice[i] = i / 5
	}
	states := []aaep.State{aaep.StateIdle, aaep.StateThinking, aaep.StateCallingTool, aaep.StateWritingOutput,
		aaep.StateDeciding, aaep.StateAwaitingInput}
	for range rapid.IntRange(20, 120).Draw(t, "steps") {
		s := rapid.SampledFrom(sessions).Draw(t, "session")
		if s.over {
			continue
		}
		s.n++
		switch what := rapid.SampledFrom(dice).Draw(t, "what"); {
		case what < 9 && (len(s.outputs) == 0 || !alone && len(s.outputs) < 2 && what == 0):
			w := &writer{session: s.id, output: fmt.Sprint("o", s.n), lang: "en"}
			text := norm.NFC.String(
				strings.Join(rapid.SliceOfN(rapid.SampledFrom(shaperWords), 5, 40).Draw(t, "text"), ""))
			st.texts[s.id+"/"+w.output] = text
			s.outputs, s.left[w] = append(s.outputs, w), []rune(text)
		case what < 9:
			w := rapid.SampledFrom(s.outputs).Draw(t, "output")
			if rapid.IntRange(0, 9).Draw(t, "lang") == 0 {
				w.lang = rapid.SampledFrom([]string{"en", "fr"}).Draw(t, "language")
			}
			speak(s, w, rapid.SampledFrom([]int{1, 2, 4, 8, 15, 40}).Draw(t, "token"))
		case what < 12:
			to := rapid.SampledFrom(states).Draw(t, "state")
			if to != s.state {
				emit(s, change(s.state, to))
				s.state = to
			}
		case what < 13:
			emit(s, advance(fmt.Sprint(s.n)))
		case what < 16:
			emit(s, tool(fmt.Sprint(s.n)))
		case what < 17:
			emit(s, handoff())
		case what < 19:
			d := time.Duration(rapid.SampledFrom([]int{1, 100, 450, 1000, 5000}).Draw(t, "ms")) * time.Millisecond
			st.steps = append(st.steps, step{wait: d})
			at += d
		default:
			for len(s.outputs) > 0 {
				speak(s, s.outputs[0], 1<<20)
			}
			s.over = true
			if errors && rapid.Bool().Draw(t, "error") {
				emit(s, failed())
			} else {
				emit(s, done())
			}
		}
	}
	for _, s := range sessions {
		for len(s.outputs) > 0 {
			speak(s, s.outputs[0], 1<<20)
		}
	}
	return st
}

// ranked are the boundaries, the finest first.
var ranked = []aaep.Boundary{aaep.BoundaryNone, aaep.BoundaryWord, aaep.BoundarySentence, aaep.BoundaryParagraph,
	aaep.BoundaryCompletion}

func drawTerms(t *rapid.T) negotiation.Terms {
	terms := listener(rapid.SliceOfNDistinct(rapid.SampledFrom(ranked), 1, 5, rapid.ID[aaep.Boundary]).Draw(t,
		"boundaries")...)
	terms.MaxEventsPerSecond = rapid.SampledFrom([]int64{0, 0, 1, 2, 5, 50}).Draw(t, "rate")
	terms.PaceWPM = rapid.SampledFrom([]int64{0, 100}).Draw(t, "pace")
	terms.MaxChunk = rapid.SampledFrom([]int{0, 0, 12, 40}).Draw(t, "cells")
	return terms
}

func (r *harness) runSteps(steps []step) {
	r.t.Helper()
	for _, st := range steps {
		r.wait(st.wait)
		if st.ev != nil {
			r.push(st.ev)
		}
	}
}

// singular returns the places, in order, of the session's events that never merge: tools, sessions,
// critical ones.
func singular(events []*aaep.Event, session string, critical bool) (ids []string) {
	for _, ev := range events {
		switch ev.Type() {
		case aaep.TypeStateChanged, aaep.TypeProgressUpdated, aaep.TypeOutputStreaming:
		default:
			if ev.SessionID == session && ev.Type().Critical() == critical {
				at, _, _ := strings.Cut(ev.EventID, "x") // without the form: it may have left with a later stamp
				ids = append(ids, at)
			}
		}
	}
	return ids
}

func events(out []departure) (all []*aaep.Event) {
	for _, d := range out {
		all = append(all, d.Event)
	}
	return all
}

// P6, INV-20, INV-24, INV-25, INV-28, D-51.
func TestShaperProperties(t *testing.T) { rapid.Check(t, checkShaper) }

func checkShaper(t *rapid.T) {
	st, terms := drawScenario(t, false, true), drawTerms(t)
	r := newHarness(t, terms)
	for _, s := range st.steps {
		r.wait(s.wait)
		if s.ev == nil {
			continue
		}
		before := len(r.out)
		r.push(s.ev)
		if rest := r.out[before:]; s.ev.Critical() &&
			(len(rest) == 0 ||
				!slices.ContainsFunc(rest, func(d departure) bool {
					return r.places[d.Event.EventID] == r.places[s.ev.EventID]
				})) {
			t.Fatalf("%s did not leave at once", line(s.ev))
		}
	}
	r.wait(10 * time.Minute)
	r.checkOut()
	got := texts(t, r.out)
	for key, want := range st.texts {
		if got[key] != want {
			t.Fatalf("%s: text %q, want %q", key, got[key], want)
		}
	}
	if s := r.s.Stats(); s.Held != 0 || s.Filtered != 0 || !r.s.Idle() || r.s.Oldest() != 0 {
		t.Fatalf("at the end: %+v, idle %t, oldest %d", s, r.s.Idle(), r.s.Oldest())
	}
	for _, session := range []string{"a", "b"} {
		for _, critical := range []bool{false, true} {
			if got, want := singular(events(r.out), session, critical), singular(r.log, session,
				critical); !slices.Equal(got, want) {
				t.Fatalf("session %s, critical %t: %v left, want %v", session, critical, got, want)
			}
		}
		r.checkStates(session)
	}
	r.checkOrder()
	for _, d := range r.out {
		if p, ok := d.Event.Payload.(*aaep.OutputStreaming); ok && terms.MaxChunk > 0 &&
			countRunes(strings.TrimSpace(p.Chunk)) > int64(terms.MaxChunk) {
			t.Fatalf("%q does not fit into %d cells", p.Chunk, terms.MaxChunk)
		}
	}
}

// checkStates wants a chain of states that ends where the log ends, up to an error.
func (r *harness) checkStates(session string) {
	r.t.Helper()
	told, last, errored := aaep.StateIdle, aaep.StateIdle, false
	for _, d := range r.out {
		if p, ok := d.Event.Payload.(*aaep.StateChanged); ok && d.Event.SessionID == session {
			if p.FromState != told || p.FromState == p.ToState {
				r.t.Fatalf("%s after %s", line(d.Event), told)
			}
			told = p.ToState
		}
	}
	for _, ev := range r.log {
		if ev.SessionID == session {
			errored = errored || ev.Type() == aaep.TypeSessionErrored
			if p, ok := ev.Payload.(*aaep.StateChanged); ok {
				last = p.ToState
			}
		}
	}
	if told != last && !errored {
		r.t.Fatalf("session %s: the last state told is %s, want %s", session, told, last)
	}
}

// checkOrder wants no text to leave before a tool or session event that is older than any of it; no
// change of state behind a newer critical event of its session; and, where there is no rate,
// nothing but text out of its place (D-50).
func (r *harness) checkOrder() {
	r.t.Helper()
	newest := map[string]uint64{} // by session: the newest place text has left from,
	alarm := map[string]uint64{}  // and that of the newest critical event
	last := uint64(0)
	for _, d := range r.out {
		pos, session := r.places[d.Event.EventID].pos, d.Event.SessionID
		if t := d.Event.Type(); t != aaep.TypeOutputStreaming {
			if pos < last && r.terms.MaxEventsPerSecond == 0 {
				r.t.Fatalf("%s, event %d, left after event %d though there is no rate", line(d.Event), pos, last)
			}
			if last = max(last, pos); t.Critical() {
				alarm[session] = pos
			} else if t == aaep.TypeStateChanged && pos < alarm[session] {
				r.t.Fatalf("%s, event %d, left after what is critical, event %d", line(d.Event), pos, alarm[session])
			}
		}
		switch d.Event.Type() {
		case aaep.TypeOutputStreaming:
			newest[session] = max(newest[session], pos)
		case aaep.TypeStateChanged, aaep.TypeProgressUpdated:
		default:
			if !d.Event.Critical() && newest[session] > pos {
				r.t.Fatalf("%s, event %d, left after text of event %d", line(d.Event), pos, newest[session])
			}
		}
		if d.Event.Type().Terminal() && newest[session] < 1<<40 {
			newest[session] = 1 << 40 // nothing follows
		} else if newest[session] >= 1<<40 {
			r.t.Fatalf("%s left after the end of its session", line(d.Event))
		}
	}
}

// SetTerms at any moment loses and doubles no text (INV-28); counts add up.
func TestShaperSetTermsProperties(t *testing.T) { rapid.Check(t, checkSetTerms) }

func checkSetTerms(t *rapid.T) {
	st := drawScenario(t, false, true)
	r := newHarness(t, drawTerms(t))
	for _, s := range st.steps {
		r.runSteps([]step{s})
		if rapid.IntRange(0, 3).Draw(t, "renegotiate") == 0 {
			terms := drawTerms(t)
			terms.MaxEventsPerSecond = r.terms.MaxEventsPerSecond
			r.s.SetTerms(r.now, terms)
		}
	}
	r.wait(10 * time.Minute)
	r.checkOut()
	got := texts(t, r.out)
	for key, want := range st.texts {
		if got[key] != want {
			t.Fatalf("%s: text %q, want %q", key, got[key], want)
		}
	}
	r.checkOrder()
}

// Filters that come and go hide events, but nothing else goes wrong: what leaves is wanted,
// counted, in order.
func TestShaperSetFiltersProperties(t *testing.T) { rapid.Check(t, checkSetFilters) }

func checkSetFilters(t *rapid.T) {
	st := drawScenario(t, false, true)
	r := newHarness(t, drawTerms(t))
	for _, s := range st.steps {
		r.runSteps([]step{s})
		for _, d := range r.out[r.shown:] {
			if !d.Event.Critical() && !r.terms.Filters.Match(d.Event.Type()) {
				t.Fatalf("%s left although it is excluded", line(d.Event))
			}
		}
		r.shown = len(r.out)
		if rapid.IntRange(0, 3).Draw(t, "renegotiate") == 0 {
			terms := drawTerms(t)
			terms.MaxEventsPerSecond = r.terms.MaxEventsPerSecond
			terms.Filters.Exclude = rapid.SliceOfN(
				rapid.SampledFrom([]string{"aaep:agent.output.*", "aaep:agent.tool.*", "aaep:agent.s*"}), 0,
				2).Draw(t, "exclude")
			r.s.SetTerms(r.now, terms)
			r.terms = terms
		}
	}
	r.wait(10 * time.Minute)
	r.checkOut()
	if s := r.s.Stats(); s.Held != 0 {
		t.Fatalf("%+v at the end", s)
	}
}

// FuzzShaper lets coverage choose the stories and the terms.
func FuzzShaper(f *testing.F) {
	for seed := range uint64(8) {
		script := make([]byte, 16<<10)
		rand.NewChaCha8([32]byte{byte(seed)}).Read(script)
		f.Add(script)
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		rapid.SampledFrom([]func(*rapid.T){checkShaper, checkSetTerms, checkSetFilters}).Draw(t, "property")(t)
	}))
}
