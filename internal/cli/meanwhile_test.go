package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// in gives an event a session.
func in(session string, ev *aaep.Event) *aaep.Event {
	ev.SessionID = session
	return ev
}

// While a question is on the screen, only what is critical or about it is said; the rest comes after it, in order.
func TestMeanwhile(t *testing.T) {
	var out, status strings.Builder
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
	f := l.puts(in("a", event(pay(), "")), time.Now(), time.Now())
	told := func(text string) bool { return strings.Contains(out.String(), text) }
	other := func(text string) *aaep.Event {
		return in("b", event(&aaep.Extension{Type: "acme:news"}, text))
	}
	f.announce(other("News one."))
	f.announce(other("News two."))
	f.announce(in("a", event(&aaep.ProgressUpdated{}, "Time runs out.")))
	failed := in("b", event(&aaep.SessionErrored{ErrorCategory: aaep.ErrorUnknown}, "It broke."))
	failed.Urgency = aaep.UrgencyCritical
	f.announce(failed)
	if told("News") || !told("Time runs out.") || !told("It broke.") {
		t.Errorf("while it was asked:\n%s", out.String())
	}
	for i := range maxMeanwhile {
		f.announce(other(fmt.Sprintf("More %d.", i)))
	}
	f.announce(in("a", event(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")))
	got := out.String()
	outcome, after := strings.Index(got, "Rejected."), strings.Index(got, "What came meanwhile, without the first 2 lines:")
	if outcome < 0 || after < outcome || told("News") || strings.Index(got, "More 0.") < after || !strings.HasSuffix(got, fmt.Sprintf("More %d.\n", maxMeanwhile-1)) {
		t.Errorf("afterwards:\n%s", got)
	}
	f.announce(other("And on."))
	if !strings.HasSuffix(out.String(), "And on.\n") {
		t.Error("what comes later is still held")
	}
}

// What an agent said right before its question is overtaken by that. Nobody has to decide before they know it: that there is more is
// said once, and Enter alone tells it and puts the question again.
func TestReasonsBeforeTheAnswer(t *testing.T) {
	var out, status strings.Builder
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
	put := time.Now().Add(-time.Minute)
	f := l.puts(in("a", event(pay(), "")), put, put)
	out.Reset()
	say := func(session, id, text string) {
		f.announce(in(session, event(&aaep.OutputStreaming{Chunk: text, OutputID: id, Complete: true, CoalesceHint: aaep.BoundarySentence}, "")))
	}
	say("b", "out_1", "Something else.")
	if out.Len() > 0 {
		t.Errorf("another session says:\n%s", out.String())
	}
	f.announce(in("a", event(&aaep.OutputStreaming{Chunk: "It is", OutputID: "out_2", CoalesceHint: aaep.BoundaryNone}, "")))
	if out.Len() > 0 {
		t.Errorf("of half a sentence there is nothing to have yet:\n%s", out.String())
	}
	f.announce(in("a", event(&aaep.OutputStreaming{Chunk: " due today.", OutputID: "out_2", Position: 5, Complete: true, CoalesceHint: aaep.BoundarySentence}, "")))
	say("a", "out_3", "It is cheap.")
	const more = "The agent has said more. Press Enter for that, and the question again.\n"
	if got := out.String(); got != more {
		t.Errorf("while it was asked:\n%s\nwant\n%s", got, more)
	}
	out.Reset()
	l.answer(t.Context(), "", aiming{began: time.Now()})
	got := out.String()
	if reasons := "What came meanwhile:\nIt is due today.\nIt is cheap.\n"; !strings.HasPrefix(got, reasons) || !strings.Contains(got[len(reasons):], "Action: ") {
		t.Errorf("Enter alone:\n%s", got)
	}
	out.Reset()
	f.announce(in("a", event(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")))
	if got, want := out.String(), "Rejected.\nWhat came meanwhile:\nSomething else.\n"; got != want {
		t.Errorf("afterwards:\n%s\nwant\n%s", got, want)
	}
}

// Progress that waited for the question is told if nothing newer of its session is there to tell, and then the newest.
func TestMeanwhileProgress(t *testing.T) {
	var out, status strings.Builder
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
	f := l.puts(in("a", event(pay(), "")), time.Now(), time.Now())
	for _, session := range []string{"b", "c"} {
		for percent := range 5 {
			f.announce(in(session, event(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(float64(percent))}}, "")))
		}
	}
	f.announce(in("b", event(&aaep.Extension{Type: "acme:news"}, "Something new.")))
	out.Reset()
	f.announce(in("a", event(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")))
	if got, want := out.String(), "Rejected.\nWhat came meanwhile:\n4 percent.\nSomething new.\n"; got != want {
		t.Errorf("afterwards:\n%s\nwant\n%s", got, want)
	}
}

// CONF-013, INV-58: what cannot be undone is not accepted before it can have been heard, but by a second word; no is no at once.
func TestAcceptedTooSoon(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*aaep.AwaitingConfirmation)
		d      aaep.Decision
		after  time.Duration
		soon   bool
	}{
		"at once": {func(*aaep.AwaitingConfirmation) {}, aaep.Accept, 1500 * time.Millisecond, true},
		"heard":   {func(*aaep.AwaitingConfirmation) {}, aaep.Accept, 10 * time.Second, false},
		"no":      {func(*aaep.AwaitingConfirmation) {}, aaep.Reject, 1500 * time.Millisecond, false},
		"low risk": {func(p *aaep.AwaitingConfirmation) {
			p.RiskLevel, p.Irreversible, p.Reversibility = aaep.RiskLow, nil, ""
		}, aaep.Accept, 1500 * time.Millisecond, false},
		"long words": {func(p *aaep.AwaitingConfirmation) { p.Consequence = strings.Repeat("word ", 60) }, aaep.Accept, 10 * time.Second, true},
	} {
		var out, status strings.Builder
		l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
		p := pay()
		p.RiskLevel = aaep.RiskHigh
		tc.change(p)
		put := time.Now()
		l.puts(event(p, ""), put, put)
		q := l.asked.First()
		if got := l.tooSoon(q, p, tc.d, l.aimed(put.Add(tc.after))); got != tc.soon || got != strings.Contains(status.String(), "Type y again to accept.") {
			t.Errorf("%s: %t, says %s", name, got, status.String())
		}
		if tc.soon && l.tooSoon(q, p, tc.d, l.aimed(put.Add(tc.after+2*time.Second))) {
			t.Errorf("%s: the second word does not count", name)
		}
	}
}

// What somebody accepted and what failed is told at once, while they are asked the next thing; what was done, after that.
func TestFailedMeanwhile(t *testing.T) {
	var out, status strings.Builder
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
	now := time.Now()
	call := func(session, id string) *aaep.Event {
		c := pay()
		c.ExtraContext = []byte(`{"tool_call_id":"` + id + `"}`)
		return in(session, event(c, ""))
	}
	f := l.puts(call("a", "call_1"), now, now)
	f.ask(call("b", "call_2"))
	l.done("Answer sent: accept.")
	out.Reset()
	ended := func(session, id string, how aaep.ToolStatus, text string) {
		f.announce(in(session, event(&aaep.ToolCompleted{Tool: "pay", ToolCallID: id, Status: how}, text)))
	}
	f.announce(in("a", event(&aaep.ToolInvoked{Tool: "pay", ToolCallID: "call_1"}, "Paying.")))
	ended("a", "call_3", aaep.ToolError, "Reading failed.")
	ended("b", "call_1", aaep.ToolError, "Another failed.")
	ended("a", "call_1", aaep.ToolError, "Paying failed.")
	if got := out.String(); got != "Paying failed.\n" {
		t.Errorf("while the next is asked:\n%s", got)
	}
	out.Reset()
	l.done("Answer sent: reject.")
	if got := out.String(); got != "What came meanwhile:\nReading failed.\nAnother failed.\n" {
		t.Errorf("after that:\n%s", got)
	}
}
