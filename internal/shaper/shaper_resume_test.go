package shaper

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"pgregory.net/rapid"
)

// resumeAfter lets a listener that has had the first k of what left go on from the last resumable
// event among them (INV-21, D-65, D-82): with the same Shaper, or with a new one at another
// process. It returns what the listener then has had in all, each event once, and whether it
// gets text again, and whether it does so although no changes of state around that can have merged.
func resumeAfter(t *rapid.T, r *harness, k int, same bool, rest []step) (union []departure, repeats, needless bool) {
	from := place{}
	seen := map[string]bool{}
	again := newHarness(t, r.terms)
	again.log, again.copies, again.places, again.now = r.log, r.copies, r.places, r.now
	if same {
		again.s = r.s
		again.s.Reset(true)
	}
	again.s.Heard(uint64(len(r.log)), 1)
	for _, d := range r.out[:k] {
		seen[d.Event.EventID] = true
		union = append(union, d)
		if d.Resumable {
			at := r.places[d.Event.EventID]
			if at.pos < from.pos || at.pos == from.pos && from.offset == 0 {
				t.Fatalf("the resume point goes back to %v", at)
			}
			from = at
		}
	}
	for _, d := range union {
		at := r.places[d.Event.EventID]
		if _, isText := d.Event.Payload.(*aaep.OutputStreaming); !isText {
			continue
		}
		comesAgain := at.pos > from.pos ||
			at.pos == from.pos && from.offset > 0 && (at.offset == 0 || at.offset > from.offset)
		repeats = repeats || comesAgain
		needless = needless || comesAgain &&
			!(changesState(r.log[from.pos:at.pos]) && changesState(r.log[at.pos:]))
	}
	skip, pos := from.offset, from.pos
	if skip == 0 {
		pos++
	}
	again.manual = rapid.Bool().Draw(t, "backlog at once")
	for ; pos <= uint64(len(r.log)) && pos > 0; pos++ {
		again.pushEntry(Entry{Pos: pos, Event: r.log[pos-1], Skip: skip})
		skip = 0
		if rapid.IntRange(0, 4).Draw(t, "pause") == 0 {
			again.wait(500 * time.Millisecond)
		}
	}
	again.manual = false
	again.runSteps(rest)
	again.wait(10 * time.Minute)
	r.log = again.log
	for _, d := range again.out {
		if !seen[d.Event.EventID] {
			union = append(union, d)
		}
	}
	return union, repeats, needless
}

// A listener that comes back after any loss misses no text, and nothing that is told once.
func TestShaperResume(t *testing.T) {
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprintf("alone=%t", alone), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				st, same := drawScenario(t, alone, true), rapid.Bool().Draw(t, "same process")
				r := newHarness(t, drawTerms(t))
				cut := rapid.IntRange(0, len(st.steps)).Draw(t, "cut")
				r.runSteps(st.steps[:cut])
				r.wait(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
				k := len(r.out) - min(len(r.out), rapid.IntRange(0, 9).Draw(t, "lost on the way"))
				union, repeats, needless := resumeAfter(t, r, k, same, st.steps[cut:])
				if alone && needless && !hasFailed(r.log, "a") {
					t.Fatalf("text of the only output left before something older (%d of %d)", k, len(r.out))
				}
				var had []departure
				if !repeats {
					had = union
				} else { // text came again, cut elsewhere: its position says so, and there is no gap
					had = dropRepeats(t, union)
				}
				for key, got := range texts(t, had) {
					if got != st.texts[key] {
						t.Fatalf("%s: text %q, want %q", key, got, st.texts[key])
					}
				}
				if len(texts(t, had)) != len(st.texts) {
					t.Fatalf("%d outputs, want %d", len(texts(t, had)), len(st.texts))
				}
				for _, session := range []string{"a", "b"} {
					for _, critical := range []bool{false, true} {
						got, want := singular(events(union), session, critical), singular(r.log, session, critical)
						if slices.Sort(got); !slices.Equal(slices.Compact(got), slices.Sorted(slices.Values(want))) {
							t.Fatalf("session %s, critical %t: %v left, want %v", session, critical, got, want)
						}
					}
				}
				checkLatest(t, r, union)
			})
		})
	}
}

// dropRepeats drops the text that a listener has had, by its position.
func dropRepeats(t *rapid.T, union []departure) (out []departure) {
	had, closed := map[string]int64{}, map[string]bool{}
	for _, d := range union {
		p, ok := d.Event.Payload.(*aaep.OutputStreaming)
		if !ok {
			continue
		}
		key := d.Event.SessionID + "/" + p.OutputID
		text := []rune(p.Chunk)
		if p.Position > had[key] {
			t.Fatalf("%s: nothing between %d and %d", key, had[key], p.Position)
		}
		old := had[key] - p.Position
		if closed[key] || old > 0 && old >= int64(len(text)) && !p.Complete {
			continue
		}
		q := *p
		q.Chunk, q.Position = string(text[min(old, int64(len(text))):]), had[key]
		had[key] += countRunes(q.Chunk)
		closed[key] = q.Complete
		ev := *d.Event
		ev.Payload = &q
		out = append(out, departure{Out{Event: &ev}, d.at})
	}
	return out
}

// checkLatest wants the last progress and state that were told to be the newest of every session
// that has not failed.
func checkLatest(t *rapid.T, r *harness, union []departure) {
	newest := func(events []*aaep.Event, session string) (state aaep.State, progress string) {
		state = aaep.StateIdle
		for _, ev := range events {
			switch p := ev.Payload.(type) {
			case *aaep.StateChanged:
				if ev.SessionID == session {
					state = p.ToState
				}
			case *aaep.ProgressUpdated:
				if ev.SessionID == session {
					progress = p.Progress.Description
				}
			}
		}
		return state, progress
	}
	for _, session := range []string{"a", "b"} {
		if hasFailed(r.log, session) {
			continue // which tells what counts
		}
		gotState, gotProgress := newest(events(union), session)
		if state, progress := newest(r.log, session); gotState != state || gotProgress != progress {
			t.Fatalf("session %s: told %q and %q, want %q and %q", session, gotState, gotProgress, state, progress)
		}
	}
}

func changesState(log []*aaep.Event) bool {
	return slices.ContainsFunc(log, func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeStateChanged })
}

func hasFailed(log []*aaep.Event, session string) bool {
	return slices.ContainsFunc(log, func(ev *aaep.Event) bool {
		return ev.SessionID == session && ev.Type() == aaep.TypeSessionErrored
	})
}

// INV-21: who comes back over a new stream of the same subscription may have heard a state of a
// session that has ended meanwhile, and hears of the return.
func TestShaperReturnAfterReset(t *testing.T) {
	s := New(paced(1, sentence), partID)
	now, left := time.UnixMilli(0), 0
	tell := func() {
		for i, ev := range []*aaep.Event{change(idle, thinking), change(thinking, idle), done()} {
			s.Push(now, Entry{Pos: uint64(i + 1), Event: ev})
		}
		for range 10 {
			for out, _ := s.Pop(now); out.Event != nil; out, _ = s.Pop(now) {
				left++
			}
			now = now.Add(time.Second)
		}
	}
	tell()
	left = 0
	s.Push(now, Entry{Pos: 9, Event: tool("t")}) // spends the budget
	s.Pop(now)
	s.Reset(true)
	s.Heard(0, 1)
	if tell(); left != 3 {
		t.Errorf("%d of 3 events left", left)
	}
}

// What an error makes superfluous is told neither before it nor after, and nothing between the two
// is a place to go on after, for a subscriber that misses the error; but what leads to an outcome
// is told, and all of it where all of it may leave (D-50, INV-21).
func TestShaperBehindStates(t *testing.T) {
	said := func() *aaep.Event { return (&writer{session: "a", output: "p", lang: "en"}).close("Said.") }
	const text = `p@0 "Said." completion complete`
	r := newHarness(t, paced(1, sentence))
	r.push(tool("t"), change(idle, thinking), advance("1"), said(), failed())
	r.want("tool t", text, "session.errored")
	if r.out[1].Resumable || !r.out[2].Resumable {
		t.Errorf("one can go on after the text %t, and after the error %t", r.out[1].Resumable, r.out[2].Resumable)
	}

	r = newHarness(t, paced(1, sentence))
	r.push(tool("t"), in("b", newWriter().say("Half a sentence")), change(idle, awaiting), change(awaiting, idle),
		change(idle, thinking), advance("1"), failed())
	r.want("tool t", "idle>awaiting_input", "awaiting_input>idle", "session.errored")
	r = newHarness(t, paced(0, sentence))
	r.manual = true
	r.push(change(idle, thinking), advance("1"), failed())
	r.pop()
	r.want("idle>thinking", "progress 1", "session.errored")
}
