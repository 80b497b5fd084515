package soak_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// awake spoils journals that are right in every way that a producer could, one at a time, and the
// judge must notice each.
func awake(t *testing.T, tr *truth, asked map[string]shape, journals map[string][]note) {
	for _, spoil := range []struct {
		how  string
		who  string
		what func(notes []note) []note
	}{
		{"a critical event is missing", "0-sse-critical", func(notes []note) []note {
			return without(notes, find(notes, func(ev *aaep.Event) bool { return ev.Critical() }))
		}},
		{"the end of a session is missing", "0-sse-all", func(notes []note) []note {
			return without(notes, find(notes, func(ev *aaep.Event) bool { return ev.Type().Terminal() }))
		}},
		{"a text is not whole", "0-sse-all", func(notes []note) []note {
			return without(notes, find(notes, func(ev *aaep.Event) bool {
				p, ok := ev.Payload.(*aaep.OutputStreaming)
				return ok && p.Complete
			}))
		}},
		{"a state is missing", "0-sse-all", func(notes []note) []note {
			return without(notes, find(notes, func(ev *aaep.Event) bool {
				p, ok := ev.Payload.(*aaep.StateChanged)
				_, known := tr.number(ev.EventID)
				return ok && known && p.FromState == aaep.StateIdle && !tr.errored[ev.SessionID]
			}))
		}},
		{"a state is missing that others could have been folded into", "0-ipc-paced", func(notes []note) []note {
			return without(notes, newest(notes, func(ev *aaep.Event) bool {
				_, known := tr.number(ev.EventID)
				return known && !tr.errored[ev.SessionID]
			}))
		}},
		{"an event comes twice", "0-sse-all", func(notes []note) []note {
			i := find(notes, func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeSessionStarted })
			return slices.Insert(slices.Clone(notes), i+1, notes[i])
		}},
		{"a session begins after a state of it", "0-sse-all", func(notes []note) []note {
			i := find(notes, func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeSessionStarted })
			first, _ := decoded(notes[i].Event)
			j := find(notes, func(ev *aaep.Event) bool {
				return ev.SessionID == first.SessionID && ev.Type() == aaep.TypeStateChanged
			})
			notes = slices.Clone(notes)
			notes[i], notes[j] = notes[j], notes[i]
			return notes
		}},
		{"other words", "0-websocket-sentences", replace("Este es el paso", "Este no es el paso")},
		{"another language", "0-websocket-sentences", replace("Este es el paso", "This is step")},
		{"more words than asked for", "0-websocket-sentences",
			replace(`"verbosity":"normal"`, `"verbosity":"detailed"`)},
		{"another text", "0-sse-all", replace(`"chunk":"`, `"chunk":"X`)},
		{"too fast", "0-sse-calm", func(notes []note) []note {
			notes = slices.Clone(notes)
			for i := range notes {
				notes[i].At = notes[0].At.Add(time.Duration(i) * 10 * time.Millisecond)
				if l := notes[i].Link; l != nil {
					notes[i].Link = &link{Subscription: "sub_1", After: l.After, GoesOn: l.GoesOn}
				}
			}
			return notes
		}},
		{"the place is lost", "0-sse-all", func(notes []note) []note {
			notes = slices.Clone(notes)
			for i, n := range notes {
				if n.Link != nil { // in a short run there may have been none to lose
					notes[i].Link = &link{Subscription: n.Link.Subscription, After: tr.events[0].EventID}
				}
			}
			return notes
		}},
		{"nobody said goodbye", "0-sse-all", func(notes []note) []note { return notes[:len(notes)-1] }},
	} {
		notes, terms := journals[spoil.who], asked[spoil.who].Terms
		if spoil.how == "too fast" { // a short run has few events
			terms.MaxEventsPerSecond = 1
		}
		if notes == nil {
			t.Errorf("there is no listener %s", spoil.who)
		} else if v := tr.judge(terms, spoil.what(notes), false); len(v.found) == 0 {
			t.Errorf("%s: %s, and the judge does not notice", spoil.who, spoil.how)
		}
	}
}

// find returns the last event that is as wanted: no listener misses what was before the first that
// they heard.
func find(notes []note, wanted func(*aaep.Event) bool) (found int) {
	for i, n := range notes {
		if ev, ok := decoded(n.Event); ok && wanted(ev) {
			found = i
		}
	}
	return found
}

// newest returns the last state that is as wanted, and that nothing else in the journal says: who
// comes back with a rate may be told what is under another id too.
func newest(notes []note, wanted func(*aaep.Event) bool) int {
	type state struct {
		*aaep.Event
		at   int
		done bool
	}
	later := map[string]*state{} // the newest of each session
	for i, n := range slices.Backward(notes) {
		ev, ok := decoded(n.Event)
		if !ok || ev.Type() != aaep.TypeStateChanged {
			continue
		}
		last := later[ev.SessionID]
		if last == nil {
			later[ev.SessionID] = &state{Event: ev, at: i}
		} else if !last.done && ev.EventID != last.EventID {
			last.done = true
			is, was := last.Payload.(*aaep.StateChanged).ToState, ev.Payload.(*aaep.StateChanged).ToState
			if is != was && wanted(last.Event) {
				return last.at
			}
		}
	}
	return 0
}

// without leaves out an event, however often it came.
func without(notes []note, i int) []note {
	gone, _ := decoded(notes[i].Event)
	return slices.DeleteFunc(slices.Clone(notes), func(n note) bool {
		ev, ok := decoded(n.Event)
		return ok && gone != nil && ev.EventID == gone.EventID
	})
}

// replace changes what is said everywhere.
func replace(was, is string) func([]note) []note {
	return func(notes []note) []note {
		notes = slices.Clone(notes)
		for i := range notes {
			notes[i].Event = bytes.ReplaceAll(notes[i].Event, []byte(was), []byte(is))
		}
		return notes
	}
}
