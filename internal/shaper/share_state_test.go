package shaper

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
)

// saysNothing is what of a Segmenter makes no difference: where its rules and its copies are, and
// what it has looked at already.
var saysNothing = regexp.MustCompile(`0x[0-9a-f]+|(nfc|given):\[[^]]*\]|examined:\d+`)

// stateOf writes down what a Shaper knows that makes a difference, also after Reset; but not the
// stamps of sessions, which may differ where that makes none.
func stateOf(s *Shaper, now time.Time) string {
	out := fmt.Sprintf("spent %d of %v, heard %d, again %d", s.spentSinceLeft, s.budget.Next(now),
		s.heardUpTo, s.repeat)
	first := s.newest // whatever leaves is of that place or a newer one
	for _, it := range append(slices.Clone(s.queue), s.urgent...) {
		if it.from.pos > 0 {
			first = min(first, it.from.pos)
		}
	}
	for _, st := range s.streams {
		if len(st.parts) > 0 {
			first = min(first, st.parts[0].entry.Pos)
		}
	}
	for _, o := range s.folded {
		if o.to > max(s.resumeAt, first) { // or it is forgotten with the next, or matters no more
			out += fmt.Sprint(" stretch ", o)
		}
	}
	for _, list := range [...][]*item{s.urgent, s.queue} {
		out += "\nitems"
		for _, it := range list {
			c := *it
			c.event, c.source = nil, nil
			out += fmt.Sprintf(" %s %+v", line(it.event), c)
			for _, p := range it.source {
				out += fmt.Sprintf(" %d/%d", p.entry.Pos, p.next)
			}
		}
	}
	s.sortStreams()
	for _, st := range s.streams {
		if st.seg == nil {
			continue
		}
		out += fmt.Sprintf("\nstream %s %s at %d", st.session, st.output, st.position)
		for _, p := range st.parts {
			out += fmt.Sprintf(" %d/%d", p.entry.Pos, p.next)
		}
		out += saysNothing.ReplaceAllString(fmt.Sprintf(" %+v", *st.seg), "")
	}
	for _, session := range []string{"a", "b"} {
		if t := s.sessions[session]; t != nil && t.ended {
			out += "\nover " + session
		}
	}
	return out
}

// isLanguageRules reports whether a type is what a Segmenter points to, which is the rules of a
// language.
func isLanguageRules(t reflect.Type) bool {
	return t.Elem().PkgPath() == reflect.TypeFor[coalesce.Segmenter]().PkgPath() &&
		t.Elem() != reflect.TypeFor[coalesce.Segmenter]()
}

// differenceOf returns what of two Shapers is in the same memory though it may be changed, or "".
func differenceOf(a, b *Shaper) string {
	found := map[uintptr]string{}
	var walk func(v reflect.Value, path string, visit func(uintptr, string))
	walk = func(v reflect.Value, path string, visit func(uintptr, string)) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() || v.Type() == reflect.TypeFor[*aaep.Event]() || isLanguageRules(v.Type()) ||
				v.Type() == reflect.TypeFor[*time.Location]() {
				return // these are never changed
			}
			visit(v.Pointer(), path)
			walk(v.Elem(), path, visit)
		case reflect.Slice:
			if v.Cap() > 0 {
				visit(v.Pointer(), path)
			}
			for i := range v.Len() {
				walk(v.Index(i), path+"[]", visit)
			}
		case reflect.Map:
			visit(v.Pointer(), path)
			for _, key := range v.MapKeys() {
				walk(v.MapIndex(key), path+"[]", visit)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if name := v.Type().Field(i).Name; name != "terms" && name != "choice" { // values
					walk(v.Field(i), path+"."+name, visit)
				}
			}
		}
	}
	walk(reflect.ValueOf(a), "", func(p uintptr, path string) { found[p] = path })
	shared := ""
	walk(reflect.ValueOf(b), "", func(p uintptr, path string) {
		if _, ok := found[p]; ok {
			shared = path
		}
	})
	return shared
}

// A Shaper is settled when nothing of it is to come, and all of it can be spent.
func TestSettled(t *testing.T) {
	now := harnessStart
	for name, tc := range map[string]struct {
		do  func(s *Shaper)
		yes bool
		at  time.Duration
	}{
		"new":              {func(*Shaper) {}, true, 0},
		"an event waits":   {func(s *Shaper) { s.Push(now, Entry{Pos: 1, Event: tool("x")}) }, false, 0},
		"a critical event": {func(s *Shaper) { s.Push(now, Entry{Pos: 1, Event: handoff()}) }, false, 0},
		"text is held":     {func(s *Shaper) { s.Push(now, Entry{Pos: 1, Event: newWriter().say("Hello")}) }, false, 0},
		"text is not held": {func(s *Shaper) {
			s.SetTerms(now, paced(0, aaep.BoundaryNone))
			s.Push(now, Entry{Pos: 1, Event: newWriter().say("Hello")})
			s.Pop(now)
			s.Left(now)
		}, true, 0},
		"on its way": {func(s *Shaper) { s.Push(now, Entry{Pos: 1, Event: tool("x")}); s.Pop(now) }, false, 0},
		"has left": {func(s *Shaper) { s.Push(now, Entry{Pos: 1, Event: tool("x")}); s.Pop(now); s.Left(now) }, false,
			time.Second},
		"quiet":      {func(s *Shaper) { s.SetQuiet(now.Add(time.Minute)) }, false, time.Minute},
		"heard more": {func(s *Shaper) { s.Heard(2, 1) }, false, 0},
		"heard that": {func(s *Shaper) { s.Heard(1, 1) }, true, 0},
	} {
		s := New(paced(3, aaep.BoundarySentence), partID)
		tc.do(s)
		yes, at := s.Settled(now, 1)
		if yes != tc.yes || tc.at > 0 && at.Sub(now) != tc.at {
			t.Errorf("%s: settled %t, at %v", name, yes, at.Sub(now))
		}
		if then, _ := s.Settled(at, 1); tc.at > 0 && !then {
			t.Errorf("%s: it is not settled at %v", name, tc.at)
		}
	}
}

// Stamps that differ matter unless all that comes is stamped later; ends that differ where
// something may come after one.
func TestAlike(t *testing.T) {
	now := harnessStart
	hears := func(events ...*aaep.Event) *Shaper {
		s := New(paced(0, aaep.BoundarySentence), partID)
		for i, ev := range events {
			ev.EventID, ev.Timestamp = partID(uint64(i+1), 0, 0), now.Add(time.Duration(i)*time.Second)
			s.Push(now, Entry{Pos: uint64(i + 1), Event: ev})
			s.Pop(now)
		}
		s.Left(now)
		return s
	}
	forthAndBack := New(paced(1, completion), partID)
	for i, ev := range []*aaep.Event{tool("x"), change(idle, thinking), change(thinking, idle)} {
		ev.EventID, ev.Timestamp = partID(uint64(i+1), 0, 0), now
		forthAndBack.Push(now, Entry{Pos: uint64(i + 1), Event: ev})
	}
	forthAndBack.Pop(now)
	forthAndBack.Left(now)
	held := func(told time.Duration) *Shaper {
		// one that holds the beginning of a sentence, and was told something so much later
		s := New(paced(0, aaep.BoundarySentence), partID)
		half, own := newWriter().say("Half a "), tool("x")
		half.Timestamp, own.Timestamp = now, now.Add(told)
		s.Push(now, Entry{Pos: 1, Event: half})
		s.Push(now, Entry{Event: own})
		s.Pop(now)
		s.Left(now)
		return s
	}
	since := func(d time.Duration) func(string) time.Time { return func(string) time.Time { return now.Add(d) } }
	early, late, ended := hears(tool("x")), hears(tool("x"), tool("y")), hears(tool("x"), done())
	for i, tc := range []struct {
		a, b  *Shaper
		since func(string) time.Time
		want  bool
	}{
		{early, hears(tool("x")), nil, true},
		{early, late, nil, false},
		{late, early, since(0), false},
		{early, late, since(0), false},
		{early, late, since(time.Second), true},
		{New(early.terms, partID), late, since(0), false},
		{late, New(early.terms, partID), since(0), false},
		{New(early.terms, partID), ended, nil, true},
		{New(early.terms, partID), ended, since(0), true},
		{hears(tool("x"), done()), ended, nil, true},
		{hears(tool("x"), tool("y"), done()), ended, since(0), true},
		{forthAndBack, early, since(time.Minute), true},
		{held(0), held(0), since(time.Minute), true},
		// what is held was said before what one of them was told
		{held(0), held(time.Second), since(time.Minute), false},
	} {
		if got := tc.a.matches(tc.b, tc.since); got != tc.want {
			t.Errorf("%d: alike = %t", i, got)
		}
	}
}

// Of stretches, those are kept that may matter, and few; whatever lies in one that is not kept lies
// in another.
func TestStretches(t *testing.T) {
	var s Shaper
	for i := range uint64(10) {
		s.addFolded(10+i, 20)
	}
	if want := []foldedRange{{10, 20}}; !slices.Equal(s.folded, want) {
		t.Errorf("%v, want %v", s.folded, want)
	}
	s.resumeAt = 20
	for i := range uint64(maxFolded) {
		s.addFolded(30+2*i, 31+2*i)
	}
	if s.folded[0].from != 30 {
		t.Error("what is past is kept")
	}
	s.addFolded(25, 500)
	s.addFolded(400, 450)
	if last := s.folded[len(s.folded)-1]; len(s.folded) != maxFolded || last != (foldedRange{25, 500}) {
		t.Errorf("the last of %d is %v", len(s.folded), last)
	}
}
