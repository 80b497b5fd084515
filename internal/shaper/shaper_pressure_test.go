package shaper

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

const (
	idle     = aaep.StateIdle
	thinking = aaep.StateThinking
	calling  = aaep.StateCallingTool
	writing  = aaep.StateWritingOutput
	awaiting = aaep.StateAwaitingInput
)

// D-51, EVT-038, HS-065: what merges while the budget is spent, and what does not.
func TestShaperMerges(t *testing.T) {
	for _, c := range []struct {
		name  string
		drive func(r *harness, w *writer)
		want  []string
	}{
		{"progress: the newest wins", func(r *harness, w *writer) {
			r.push(advance("1"), tool("t"), advance("2"), advance("3"))
		},
			[]string{"tool t", "progress 3"}},
		{"states fold", func(r *harness, w *writer) {
			r.push(change(idle, thinking), change(thinking, calling), tool("t"), change(calling, writing))
		},
			[]string{"tool t", "idle>writing_output"}},
		{"a return to the start vanishes", func(r *harness, w *writer) {
			r.push(change(idle, thinking), tool("t"), change(thinking, idle))
		},
			[]string{"tool t"}},
		{"but not where it may have been heard", func(r *harness, w *writer) {
			r.s.Heard(3, 1)
			r.push(change(idle, thinking), tool("t"), change(thinking, idle), change(idle, calling),
				change(calling, idle))
		}, []string{"tool t", "idle>calling_tool", "calling_tool>idle"}},
		{"and the next change begins anew", func(r *harness, w *writer) {
			r.push(change(idle, thinking), change(thinking, idle), change(idle, calling))
		}, []string{"idle>calling_tool"}},
		{"a state does not move past text", func(r *harness, w *writer) {
			r.push(change(idle, thinking), w.say("One. "), w.close("Two."), change(thinking, calling),
				change(calling, writing))
		}, []string{"idle>thinking", `o@0 "One. Two." completion complete`, "thinking>writing_output"}},
		{"what came of a question stays", func(r *harness, w *writer) { // EVT-094, CONF-002
			r.push(change(thinking, awaiting), change(awaiting, thinking), change(thinking, calling),
				change(calling, writing))
		}, []string{"thinking>awaiting_input", "awaiting_input>thinking", "thinking>writing_output"}},
		{"tools stay", func(r *harness, w *writer) { r.push(tool("t"), tool("t"), tool("t")) },
			[]string{"tool t", "tool t", "tool t"}},
		{"text does not move past a tool", func(r *harness, w *writer) {
			r.push(w.say("One. "), w.say("Two. "), w.say("Three"), tool("t"), w.say(". "), w.say("Four. "), w.close(""))
		}, []string{`o@0 "One. Two. " sentence`, "tool t", `o@10 "Three. Four. " completion complete`}},
		{"a merged chunk has the last boundary", func(r *harness, w *writer) {
			r.push(w.say("One.\n\nTwo. "), w.close("Three"))
		},
			[]string{`o@0 "One.\n\nTwo. Three" completion complete`}},
		{"two outputs", func(r *harness, w *writer) {
			v := &writer{session: "a", output: "p", lang: "en"}
			r.push(w.say("A one. "), v.say("B one. "), w.close("A two."), v.close("B two."))
		}, []string{`o@0 "A one. A two." completion complete`, `p@0 "B one. B two." completion complete`}},
		{"two sessions", func(r *harness, w *writer) {
			v := &writer{session: "b", output: "o", lang: "en"}
			r.push(w.say("A one. "), in("b", advance("1")), v.say("B one. "), advance("1"), w.close("A two."),
				in("b", change(idle, thinking)), v.close("B two."),
				change(idle, calling), in("b", advance("2")), in("b", change(thinking, writing)))
		}, []string{`o@0 "A one. " sentence`, "progress 1", `o@7 "A two." completion complete`,
			`b: o@0 "B one. " sentence`, "b: idle>thinking",
			`b: o@7 "B two." completion complete`, "idle>calling_tool", "b: progress 2", "b: thinking>writing_output"}},
		{"two sessions, text only", func(r *harness, w *writer) {
			v := &writer{session: "b", output: "o", lang: "en"}
			r.push(w.say("A one. "), v.say("B one. "), w.close("A two."), v.close("B two."))
		}, []string{`o@0 "A one. A two." completion complete`, `b: o@0 "B one. B two." completion complete`}},
		{"an output after another without ids", func(r *harness, w *writer) {
			w.output = ""
			r.push(w.close("One."))
			w.position = 0
			r.push(w.close("Two."))
		}, []string{`@0 "One." completion complete`, `@0 "Two." completion complete`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newHarness(t, paced(1, sentence))
			r.push(tool("first")) // spends the budget
			c.drive(r, newWriter())
			r.wait(time.Minute)
			r.want(append([]string{"tool first"}, c.want...)...)
			r.push(tool("last")) // no subscriber can go on between a state and its return
			if !r.out[len(r.out)-1].Resumable {
				t.Error("the last event is not resumable")
			}
			r.checkOut()
		})
		t.Run(c.name+", no pressure", func(t *testing.T) { // nothing merges while the budget lasts
			r := newHarness(t, paced(100, sentence))
			c.drive(r, newWriter())
			r.wait(time.Minute)
			plain := 0
			for _, ev := range r.log {
				if ev.Type() != aaep.TypeOutputStreaming {
					plain++
				}
			}
			for _, d := range r.out {
				if d.Event.Type() != aaep.TypeOutputStreaming {
					plain--
				}
			}
			if plain != 0 {
				t.Errorf("%d events are missing:\n\t%s", plain, strings.Join(r.lines(), "\n\t"))
			}
			r.checkOut()
		})
	}
}

// A backlog read at once merges past maxApart, so that no budget at all does not mean no bound.
func TestShaperBacklog(t *testing.T) {
	r, w := newHarness(t, listener(word)), newWriter()
	r.manual = true
	for range 5000 {
		r.push(w.say("word "))
	}
	r.push(w.close(""))
	if r.s.Overflow() {
		t.Error("text overflows")
	}
	r.wait(time.Second)
	if n := len(r.out); n < maxApart || n > maxApart+4 {
		t.Errorf("%d events", n)
	}
	texts(t, r.out)
	r.checkOut()
}

// D-49, HS-013, INV-25, INV-24: bursts, steady load and idle-then-burst; critical events neither
// wait nor spend.
func TestShaperBudget(t *testing.T) {
	for _, rate := range []int64{1, 3, 100} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			r := newHarness(t, paced(rate, sentence))
			r.push(handoff(), handoff()) // spends nothing
			for range 2 * rate {
				r.push(tool("burst"))
			}
			if got := len(r.out); got != int(rate)+2 {
				t.Errorf("a burst of %d leaves %d at once", 2*rate, got-2)
			}
			for range 18 { // waits for nothing
				r.push(handoff())
				if last := r.out[len(r.out)-1]; last.Event.Type() != aaep.TypeHandoffRequested || last.Resumable {
					t.Errorf("%s left, resumable %t; want the handoff, not resumable (D-82)", line(last.Event),
						last.Resumable)
				}
			}
			r.wait(time.Second - 1)
			if got := len(r.out); got != int(rate)+20 {
				t.Errorf("%d left in the first second", got)
			}
			r.wait(1)
			if got := len(r.out); got != 2*int(rate)+20 {
				t.Errorf("%d left after a second", got)
			}
			r.wait(time.Hour) // saves nothing up
			for range 3 * rate {
				r.push(tool("later"))
				r.wait(time.Second / time.Duration(2*rate))
			}
			r.wait(time.Minute)
			if got := len(r.out); got != 5*int(rate)+20 {
				t.Errorf("%d left", got)
			}
			r.checkOut()
		})
	}
}

// D-50, D-09, INV-24: a backlog of 200, then a question, which leaves at once.
func TestShaperOvertaking(t *testing.T) {
	r := newHarness(t, paced(1, sentence))
	for i := range 200 {
		r.push(tool(fmt.Sprint(i)))
		r.wait(time.Millisecond)
	}
	r.push(event("a", &aaep.AwaitingConfirmation{}))
	r.want("tool 0", "awaiting.confirmation")
	stamp := r.now
	if r.out[1].Resumable || !r.out[1].Event.Timestamp.Equal(stamp) {
		t.Errorf("the question: resumable %t, stamp %v", r.out[1].Resumable, r.out[1].Event.Timestamp)
	}
	r.wait(300 * time.Second)
	if len(r.out) != 201 {
		t.Fatalf("%d left", len(r.out))
	}
	for i, d := range r.out[2:] {
		if line(d.Event) != fmt.Sprint("tool ", i+1) || !d.Event.Timestamp.Equal(stamp) {
			t.Errorf("%d: %s at %v", i+2, line(d.Event), d.Event.Timestamp)
		}
		if !d.Resumable {
			t.Errorf("%d is not resumable", i+2)
		}
	}
	r.checkOut()
}

// D-50, SM-007: a question overtakes what is held, but not the start of its session, nor the
// changes of its state, of which one is made.
func TestShaperBringsTheState(t *testing.T) {
	const writing = aaep.StateWritingOutput
	question := func() *aaep.Event { return event("a", &aaep.AwaitingConfirmation{}) }
	begins := func() *aaep.Event { return event("a", &aaep.SessionStarted{}) }
	r, w := newHarness(t, paced(1, sentence)), newWriter()
	r.push(in("b", tool("spent")), begins(), change(idle, thinking), w.say("One. "), change(thinking, writing),
		w.say("Two. "), change(writing, awaiting), question())
	r.want("b: tool spent", "session.started", "idle>awaiting_input", "awaiting.confirmation")
	for i, d := range r.out[1:] {
		if !d.Event.Critical() || d.Resumable != (i == 0) {
			t.Errorf("%s leaves past the rate with the urgency %s, resumable %t", line(d.Event), d.Event.Urgency,
				d.Resumable)
		}
	}
	r.push(change(awaiting, thinking), change(thinking, calling), w.say("Three. "), change(calling, awaiting),
		event("a", &aaep.AwaitingClarification{}))
	r.want("awaiting_input>thinking", "thinking>awaiting_input", "awaiting.clarification")
	r.wait(time.Minute)
	r.want(`o@0 "One. " sentence`, `o@5 "Two. " sentence`, `o@10 "Three. " sentence`)
	r.checkStates("a")
	r.checkOut()

	r, w = newHarness(t, listener(sentence)), newWriter() // while the user types
	r.s.SetQuiet(r.now.Add(time.Minute))
	r.push(begins(), change(idle, thinking), w.say("One. "), change(thinking, awaiting), question())
	r.want("session.started", "idle>awaiting_input", "awaiting.confirmation")
	r.wait(time.Minute)
	r.want(`o@0 "One. " sentence`)
	r.checkOut()

	r = newHarness(t, paced(1, sentence)) // who catches up may have heard any of it, so that no return vanished
	r.s.Heard(1000, 1)
	r.push(change(idle, thinking))
	for range 100 {
		r.push(change(thinking, calling), change(calling, thinking))
	}
	r.push(event("a", &aaep.HandoffRequested{}))
	r.want("idle>thinking", "thinking>calling_tool", "calling_tool>thinking", "handoff.requested")
	for range 100 {
		r.push(change(thinking, calling), change(calling, thinking))
	}
	r.push(change(thinking, awaiting), question())
	r.want("thinking>awaiting_input", "awaiting.confirmation")
	r.wait(time.Minute)
	r.checkStates("a")
}

// D-50: where no rate holds anything nothing is overtaken, however much waits; but what a full link
// keeps waiting is.
func TestShaperOvertakesNothing(t *testing.T) {
	for _, full := range []bool{false, true} {
		r, w := newHarness(t, listener(sentence)), newWriter()
		r.manual = true
		r.push(event("a", &aaep.SessionStarted{}), change(idle, thinking))
		want := []string{"session.started", "idle>thinking"}
		for i := range 200 {
			r.push(in("b", tool(fmt.Sprint(i))), tool(fmt.Sprint(i)))
		}
		r.push(w.say("One. "))
		r.push(change(thinking, awaiting))
		r.s.SetFull(full)
		r.push(event("a", &aaep.AwaitingConfirmation{}),
			event("a", &aaep.ToolInvoked{Tool: "pay", RiskLevel: aaep.RiskHigh}))
		r.pop()
		got := r.lines()
		if full {
			want = append(want, "thinking>awaiting_input", "awaiting.confirmation", "tool pay")
			got = got[:len(want)]
		} else {
			want = append(want, "tool 199", `o@0 "One. " sentence`, "thinking>awaiting_input", "awaiting.confirmation",
				"tool pay")
			got = slices.Concat(got[:2], got[len(got)-5:])
		}
		if !slices.Equal(got, want) {
			t.Errorf("the link is full, %t: %q leaves, want %q", full, got, want)
		}
		if n := len(r.out); n != 406 {
			t.Errorf("%d left", n)
		}
		for _, d := range r.out {
			if d.Event.Urgency == aaep.UrgencyCritical && !d.Event.Type().Critical() {
				t.Errorf("%s is called critical though nothing was spent", line(d.Event))
			}
		}
		r.checkOut()
	}
}

// D-49: what came of a question leaves past the rate, and so does the call of a tool that is
// irreversible or of high risk; each is called critical only where the rate is spent. The call of
// any other tool waits.
func TestShaperCallOfARiskyTool(t *testing.T) {
	for _, c := range []struct {
		call  aaep.ToolInvoked
		leave bool
	}{
		{aaep.ToolInvoked{Tool: "x", RiskLevel: aaep.RiskHigh}, true},
		{aaep.ToolInvoked{Tool: "x", RiskLevel: aaep.RiskLow, Irreversible: new(true)}, true},
		{aaep.ToolInvoked{Tool: "x", RiskLevel: aaep.RiskMedium, Irreversible: new(false)}, false},
		{aaep.ToolInvoked{Tool: "x"}, false},
	} {
		r := newHarness(t, paced(1, sentence))
		r.push(in("b", tool("spent")), in("b", tool("held")), change(awaiting, calling), event("a", &c.call))
		want := []string{"b: tool spent", "awaiting_input>calling_tool"}
		if c.leave {
			want = append(want, "tool x")
		}
		r.want(want...)
		for _, out := range r.out[1:] {
			if out.Event.Urgency != aaep.UrgencyCritical {
				t.Errorf("%s leaves past the rate with the urgency %s", out.Event.Type(), out.Event.Urgency)
			}
		}
		r.wait(time.Minute)
		r.checkOut()

		r = newHarness(t, paced(5, sentence))
		r.push(change(awaiting, calling), event("a", &c.call))
		r.want("awaiting_input>calling_tool", "tool x")
		if u := r.out[1].Event.Urgency; u == aaep.UrgencyCritical {
			t.Error("it is called critical though the rate has room for it")
		}
		r.checkOut()
	}
}

// How a question ended is told before the next one of its session: who hears it behind that takes
// it for the end of the next (INV-24).
func TestShaperOutcomeBeforeQuestion(t *testing.T) {
	r := newHarness(t, paced(1, sentence))
	r.push(tool("spent"), event("a", &aaep.AwaitingConfirmation{}), change(awaiting, calling), tool("pay"),
		in("b", change(awaiting, calling)),
		change(calling, awaiting), event("a", &aaep.AwaitingClarification{}))
	r.want("tool spent", "awaiting.confirmation", "awaiting_input>calling_tool",
		"b: awaiting_input>calling_tool", "calling_tool>awaiting_input", "awaiting.clarification")
	if urgency := r.out[2].Event.Urgency; urgency != aaep.UrgencyCritical {
		t.Errorf("it leaves beyond the rate with the urgency %s", urgency)
	}
	r.wait(time.Minute)
	r.want("tool pay")
	r.checkOut()
}

// D-50: an error comes last. Text and tools leave before it, as critical where the budget is spent.
func TestShaperError(t *testing.T) {
	for _, rate := range []int64{1, 3, 1000} {
		r, w := newHarness(t, paced(rate, sentence)), newWriter()
		r.manual = true
		if rate < 1000 {
			for range rate {
				r.push(tool("spent"))
			}
			r.pop()
			r.lines()
			r.push(change(idle, thinking))
		}
		if rate == 1 { // of another session, which goes on
			r.push(in("b", change(idle, thinking)), in("b", advance("1")))
		}
		other := &writer{session: "b", output: "o", lang: "en"}
		r.push(w.say("One. "), tool("t"), advance("1"), other.say("Other. Text"), w.say("Two and "), w.say("a half"),
			w.close(""), failed())
		r.pop()
		want := []string{`o@0 "One. " sentence`, "tool t", `o@5 "Two and a half" completion complete`,
			"session.errored"}
		if rate == 1000 { // nothing is held, and nothing overtaken
			want = slices.Insert(want, 2, `b: o@0 "Other. " sentence`)
		}
		r.want(want...)
		for i, d := range r.out[len(r.out)-4 : len(r.out)-1] {
			if raised := d.Event.Urgency == aaep.UrgencyCritical; rate < 1000 && !raised || rate == 1000 && raised {
				t.Errorf("rate %d, event %d: urgency %s", rate, i, d.Event.Urgency)
			}
		}
		r.push(in("b", done()))
		r.wait(time.Minute)
		if left := r.lines(); rate == 1 && !slices.Equal(left[:2], []string{"b: idle>thinking", "b: progress 1"}) {
			t.Errorf("the other session: %q", left)
		}
		if got := r.s.Stats(); got.Held != 0 {
			t.Errorf("%+v", got)
		}
		r.checkOut()
	}
}

// What an error hurries spends the budget when it leaves, not before: a slow link must not save
// tokens up.
func TestShaperErrorOnASlowLink(t *testing.T) {
	r := newHarness(t, paced(2, sentence))
	r.manual = true
	r.push(tool("1"), tool("2"), failed())
	for range 3 { // the link takes 900 ms for the first event
		out, _ := r.s.Pop(r.now)
		r.out = append(r.out, departure{out, r.now})
		if len(r.out) == 1 {
			r.now = r.now.Add(900 * time.Millisecond)
		}
	}
	r.now = r.now.Add(200 * time.Millisecond)
	r.push(in("b", tool("3")), in("b", tool("4")))
	r.wait(time.Minute)
	r.want("tool 1", "tool 2", "session.errored", "b: tool 3", "b: tool 4")
	r.checkOut()
}

// completed and cancelled queue last and are not critical (D-50).
func TestShaperQuietEnd(t *testing.T) {
	r, w := newHarness(t, paced(1, sentence)), newWriter()
	r.push(tool("t"), w.say("One. "), advance("1"), w.close("Two"), event("a", &aaep.SessionCancelled{}))
	r.want("tool t")
	r.wait(time.Minute)
	r.want(`o@0 "One. " sentence`, "progress 1", `o@5 "Two" completion complete`, "session.cancelled")
	r.checkOut()
}

// INV-24: output that says it is critical neither waits nor merges, and the text before it leaves
// first.
func TestShaperCriticalOutput(t *testing.T) {
	terms := paced(1, sentence)
	r, w := newHarness(t, terms), newWriter()
	r.push(tool("t"), tool("waits"), w.say("One. "), w.say("Two"))
	alarm := w.say("Fire! Leave")
	alarm.Urgency = aaep.UrgencyCritical
	r.push(alarm, w.say(" now"), w.close("."))
	r.want("tool t", `o@0 "One. Two" none`, `o@8 "Fire! " sentence`, `o@14 "Leave" none`)
	r.wait(time.Minute)
	r.want("tool waits", `o@19 " now." completion complete`)
	r.checkOut()
}

// D-09: clocks that step back, and events of many sessions.
func TestShaperStamps(t *testing.T) {
	r := newHarness(t, listener(sentence))
	for i, ms := range []int{5, 3, 9, 1} {
		ev := in(fmt.Sprint(i%2), tool("t"))
		ev.Timestamp = harnessStart.Add(time.Duration(ms) * time.Millisecond)
		r.push(ev)
	}
	for i, ms := range []int{5, 3, 9, 3} {
		if got := r.out[i].Event.Timestamp.Sub(harnessStart).Milliseconds(); got != int64(ms) {
			t.Errorf("event %d: %d ms, want %d", i, got, ms)
		}
	}
	r.checkOut()
	// Nothing is remembered of sessions that are over, told or not.
	terms := paced(1, sentence)
	terms.Filters.Exclude = []string{"aaep:agent.session.cancelled"}
	r = newHarness(t, terms)
	r.push(tool("t"), tool("t"), event("a", &aaep.SessionCancelled{}), in("b", tool("t")), in("b", done()),
		in("c", event("a", &aaep.SessionCancelled{})))
	r.wait(time.Minute)
	if n := len(r.s.sessions); n != 0 {
		t.Errorf("%d sessions are remembered", n)
	}
	r.checkOut()
}

// Ready and Left are for a link that is slower than the rate.
func TestShaperReady(t *testing.T) {
	r := newHarness(t, paced(2, sentence))
	r.manual = true
	ready := func(want int) {
		t.Helper()
		if got := r.s.Ready(r.now); got != want {
			t.Errorf("ready: %d, want %d", got, want)
		}
	}
	ready(0)
	r.push(tool("1"), tool("2"), tool("3"), handoff())
	ready(3)
	r.pop()
	ready(0)
	r.wait(time.Second)
	r.want("tool 1", "tool 2", "handoff.requested", "tool 3")
	r.checkOut()

	r = newHarness(t, paced(1, sentence))
	r.push(tool("1"))
	r.s.Left(r.now.Add(900 * time.Millisecond))
	r.push(handoff())
	r.s.Left(r.now.Add(time.Hour)) // it spent nothing
	r.push(tool("2"))
	r.wait(1899 * time.Millisecond)
	r.want("tool 1", "handoff.requested")
	r.wait(time.Millisecond)
	r.want("tool 2")
	r.checkOut()
}

// A folded state reaches back to where it began: resuming between its halves would break the chain
// (D-29).
func TestShaperFoldedStates(t *testing.T) {
	r := newHarness(t, paced(1, sentence))
	r.push(tool("first"), change(idle, thinking), tool("t"), change(thinking, calling))
	r.wait(time.Minute)
	r.want("tool first", "tool t", "idle>calling_tool")
	if r.out[1].Resumable || !r.out[2].Resumable {
		t.Errorf("resumable: the tool %t, the state %t; want false, true", r.out[1].Resumable, r.out[2].Resumable)
	}
	r.checkOut()

	// What came while the budget had room still folds when it has none.
	r = newHarness(t, paced(3, sentence))
	r.manual = true
	r.push(change(idle, thinking), change(thinking, writing), advance("1"), advance("2"), tool("t"),
		change(writing, calling))
	r.push(advance("3"))
	r.wait(time.Minute)
	r.want("tool t", "idle>calling_tool", "progress 3")
	r.checkOut()
}
