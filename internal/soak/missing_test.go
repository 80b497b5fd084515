package soak_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// missing looks for what was not heard, from the first event on that was. What a newer state or
// progress made superfluous need not be.
func (v *verdict) missing() {
	if v.oldest < 0 {
		v.wrong("it heard nothing")
		return
	}
	states, progress := map[string]int{}, map[string]int{} // the newest, by session
	for i := v.oldest; i < len(v.truth.events); i++ {
		ev := v.truth.events[i]
		if !wants(v.terms, ev) || ev.Type() == aaep.TypeOutputStreaming {
			continue
		}
		folds := v.paced()
		switch p := ev.Payload.(type) {
		case *aaep.StateChanged:
			states[ev.SessionID] = i
			// what waits is superfluous
			folds = folds && p.FromState != aaep.StateAwaitingInput || v.errored[ev.SessionID]
		case *aaep.ProgressUpdated:
			progress[ev.SessionID] = i
			folds = folds || v.errored[ev.SessionID]
		default:
			folds = false
		}
		if !v.got[i] && !folds && !(asks(ev) && v.pointless(i)) {
			v.wrong("%s %s, number %d, was not told", ev.Type(), ev.EventID, i)
			v.about = ev.SessionID
		}
	}
	for session, i := range states {
		is := v.truth.events[i].Payload.(*aaep.StateChanged).ToState
		if believes := cmp.Or(v.state[session], aaep.StateIdle); believes != is && !v.errored[session] {
			v.wrong("%s: who heard this believes %s in the end, and it was %s, number %d", session, believes, is, i)
			v.about = session
		}
	}
	for session, i := range progress {
		if v.progress[session] != i && !v.errored[session] {
			v.wrong("%s: who heard this takes the progress number %d for the newest, and that is %d", session,
				v.progress[session], i)
			v.about = session
		}
	}
}

// pointless reports whether the question i was settled before a subscription began that goes on
// before it, and is not put to that; or, to the SDK's own, whether it was told what settled it.
func (v *verdict) pointless(i int) bool {
	settles := func(ev *aaep.Event) bool {
		p, changes := ev.Payload.(*aaep.StateChanged)
		return ev.SessionID == v.truth.events[i].SessionID &&
			(ev.Type().Terminal() || changes && p.FromState == aaep.StateAwaitingInput)
	}
	j := slices.IndexFunc(v.truth.events[i:], settles)
	return j >= 0 && (v.real && v.got[i+j] || slices.ContainsFunc(v.begun, func(b beginning) bool {
		return b.after <= i && !v.truth.events[i+j].Timestamp.After(b.at)
	}))
}

func (v *verdict) missingText() {
	for id, out := range v.outputs {
		if !wants(v.terms, v.truth.events[out.entries[0].event]) {
			continue
		}
		first, last := out.entries[0].event, out.entries[len(out.entries)-1].event
		heard := v.spans[id]
		switch {
		case heard == nil && last < v.oldest, v.oldest < 0:
		case heard == nil:
			v.wrong("the text %s was not told", id)
		case heard.from > 0 && first >= v.oldest:
			v.wrong("the text %s begins at %d", id, heard.from)
		case heard.to != len(out.text) || heard.whole != out.complete:
			v.wrong("the text %s was told up to %d of %d, complete %v", id, heard.to, len(out.text), heard.whole)
		}
	}
}

// tooFast counts what arrived. A second of a machine that has other things to do is longer or
// shorter than one of the producer, by three at most: what must hold exactly is tested in virtual
// time.
func (v *verdict) tooFast() {
	const seconds, slack = 10, 3
	most := int(v.terms.MaxEventsPerSecond)
	for id, arrived := range v.rates {
		if n := (seconds + slack) * most; most > 0 {
			for i := n; i < len(arrived); i++ {
				if d := arrived[i].Sub(arrived[i-n]); d < seconds*time.Second {
					v.wrong("%s had %d events within %v, and asked for %d a second", id, n+1, d, most)
					break
				}
			}
		}
	}
}
