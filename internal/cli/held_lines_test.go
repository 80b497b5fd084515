package cli

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
)

// in gives an event a session.
func in(session string, ev *aaep.Event) *aaep.Event {
	ev.SessionID = session
	return ev
}

// While a question is on the screen, only what is critical or about it is said; the rest comes
// after it, in order.
func TestMeanwhile(t *testing.T) {
	var out, status strings.Builder
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
	f := l.puts(in("a", event(pay(), "")), time.Now(), time.Now())
	told := func(text string) bool { return strings.Contains(out.String(), text) }
	other := func(text string) *aaep.Event {
		return in("b", event(&aaep.Extension{Type: "acme:news"}, text))
	}
	f.announceEvent(other("News one."))
	f.announceEvent(other("News two."))
	f.announceEvent(in("a", event(&aaep.ProgressUpdated{}, "Time runs out.")))
	failed := in("b", event(&aaep.SessionErrored{ErrorCategory: aaep.ErrorUnknown}, "It broke."))
	failed.Urgency = aaep.UrgencyCritical
	f.announceEvent(failed)
	if told("News") || !told("Time runs out.") || !told("It broke.") {
		t.Errorf("while it was asked:\n%s", out.String())
	}
	for i := range maxMeanwhile {
		f.announceEvent(other(fmt.Sprintf("More %d.", i)))
	}
	f.announceEvent(in("a", event(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking},
		"Rejected.")))
	got := out.String()
	outcome, after := strings.Index(got, "Rejected."),
		strings.Index(got, "What else was said, without the first 2 lines:")
	if outcome < 0 || after < outcome || told("News") || strings.Index(got, "More 0.") < after ||
		!strings.HasSuffix(got, fmt.Sprintf("More %d.\n", maxMeanwhile-1)) {
		t.Errorf("afterwards:\n%s", got)
	}
	f.announceEvent(other("And on."))
	if !strings.HasSuffix(out.String(), "And on.\n") {
		t.Error("what comes later is still held")
	}
}

// What an agent said right before its question is overtaken by that. No person has to decide before
// they know it: that there is more is said once, and Enter alone tells it and puts the question
// again.
func TestReasonsBeforeTheAnswer(t *testing.T) {
	var out, status strings.Builder
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
	put := time.Now().Add(-time.Minute)
	f := l.puts(in("a", event(pay(), "")), put, put)
	out.Reset()
	say := func(session, id, text string) {
		f.announceEvent(in(session, event(&aaep.OutputStreaming{Chunk: text, OutputID: id, Complete: true,
			CoalesceHint: aaep.BoundarySentence}, "")))
	}
	say("b", "out_1", "Something else.")
	if out.Len() > 0 {
		t.Errorf("another session says:\n%s", out.String())
	}
	f.announceEvent(in("a", event(&aaep.OutputStreaming{Chunk: "It is", OutputID: "out_2",
		CoalesceHint: aaep.BoundaryNone}, "")))
	if out.Len() > 0 {
		t.Errorf("of half a sentence there is nothing to have yet:\n%s", out.String())
	}
	f.announceEvent(in("a", event(&aaep.OutputStreaming{Chunk: " due today.", OutputID: "out_2", Position: 5,
		Complete: true, CoalesceHint: aaep.BoundarySentence}, "")))
	say("a", "out_3", "It is cheap.")
	const more = "The agent has said more. Press Enter for that, and the question again.\n"
	if got := out.String(); got != more {
		t.Errorf("while it was asked:\n%s\nwant\n%s", got, more)
	}
	out.Reset()
	l.answerQuestion(t.Context(), "", l.newLineContext(time.Now()))
	got := out.String()
	if reasons := "What else was said:\nIt is due today.\nIt is cheap.\n"; !strings.HasPrefix(got, reasons) ||
		!strings.Contains(got[len(reasons):], "Decide: ") {
		t.Errorf("Enter alone:\n%s", got)
	}
	out.Reset()
	f.announceEvent(in("a", event(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking},
		"Rejected.")))
	if got, want := out.String(), "Rejected.\nWhat else was said:\nSomething else.\n"; got != want {
		t.Errorf("afterwards:\n%s\nwant\n%s", got, want)
	}
}

// Progress that waited for the question is told if nothing newer of its session is there to tell,
// and then the newest.
func TestMeanwhileProgress(t *testing.T) {
	var out, status strings.Builder
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
	f := l.puts(in("a", event(pay(), "")), time.Now(), time.Now())
	for _, session := range []string{"b", "c"} {
		for percent := range 5 {
			f.announceEvent(in(session, event(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(float64(percent))}}, "")))
		}
	}
	f.announceEvent(in("b", event(&aaep.Extension{Type: "acme:news"}, "Something new.")))
	out.Reset()
	f.announceEvent(in("a", event(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking},
		"Rejected.")))
	if got, want := out.String(), "Rejected.\nWhat else was said:\n4 percent.\nSomething new.\n"; got != want {
		t.Errorf("afterwards:\n%s\nwant\n%s", got, want)
	}
}

// CONF-013, INV-58: what cannot be undone is not accepted before it can have been heard, but by a
// second word; no is no at once.
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
		"long words": {func(p *aaep.AwaitingConfirmation) { p.Consequence = strings.Repeat("word ", 60) },
			aaep.Accept, 10 * time.Second, true},
		"what comes first": {func(*aaep.AwaitingConfirmation) {}, aaep.Accept, 6 * time.Second, true},
		"one word": {func(p *aaep.AwaitingConfirmation) { p.Action = strings.Repeat("word", 60) }, aaep.Accept,
			10 * time.Second, true},
		"Chinese": {func(p *aaep.AwaitingConfirmation) {
			p.Action, p.Consequence = "从支票账户转账五百美元到您的退休储蓄。", "钱会立即转出,六十岁之前无法取出。"
		}, aaep.Accept, 12 * time.Second, true},
		"Thai": {func(p *aaep.AwaitingConfirmation) {
			p.Action, p.Consequence = "โอนเงินห้าร้อยดอลลาร์จากบัญชีของคุณไปยังเงินออมเพื่อการเกษียณ",
				"เงินจะถูกโอนทันทีและถอนไม่ได้"
		}, aaep.Accept, 9 * time.Second, true},
		"an account": {func(p *aaep.AwaitingConfirmation) {
			p.Action, p.Consequence = "Pay DE89370400440532013000.", ""
		}, aaep.Accept, 9 * time.Second, true},
	} {
		var out, status strings.Builder
		l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
		p := pay()
		p.RiskLevel = aaep.RiskHigh
		tc.change(p)
		put := time.Now()
		l.puts(event(p, ""), put, put)
		q := l.asked.First()
		if got := l.acceptedTooSoon(q, p, tc.d, l.newLineContext(put.Add(tc.after))); got != tc.soon ||
			got != strings.Contains(status.String(), "Type y again to accept.") {
			t.Errorf("%s: %t, says %s", name, got, status.String())
		}
		if tc.soon && l.acceptedTooSoon(q, p, tc.d, l.newLineContext(put.Add(tc.after+2*time.Second))) {
			t.Errorf("%s: the second word does not count", name)
		}
	}
}

// How fast a person listens is what they said, not what an agent says that it agreed to: a question
// would count as heard at once.
func TestPaceOfThePerson(t *testing.T) {
	for asked, want := range map[int64]int64{0: usualPace, 90: 90} {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted()
			s.short = func(c *aaep.Capabilities) { c.PaceWPM = 1000 }
			listenTo(t, s.dial, subscriber.ScreenReader("en-US").With(aaep.Capabilities{PaceWPM: asked}),
				func(e *testListener) {
					e.l.runInLoop(t.Context(), func() {
						if got := e.l.listeningPace(); got != want {
							t.Errorf("%d words a minute, want %d", got, want)
						}
					})
				})
		})
	}
}

// A word that was shown with one question is a yes to no other, so that it cannot be meant for a
// question that was withdrawn. A word that was shown later than the question does not say that the
// question was heard. INV-60
func TestWordOfAnother(t *testing.T) {
	var out, status strings.Builder
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}, sees: func() bool { return false }}
	last := map[string]int{}
	for i := range 400 {
		p := pay()
		p.RiskLevel = aaep.RiskHigh
		q := l.asked.Add(time.Now(), "", event(p, ""))
		l.putQuestion(q)
		if at, ok := last[l.word]; ok && i-at <= 20 {
			t.Fatalf("question %d has the word of question %d: %q", i, at, l.word)
		}
		last[l.word] = i
		l.removeQuestion(q)
	}
	l.sees = nil
	p := pay()
	p.RiskLevel = aaep.RiskHigh
	q := l.asked.Add(time.Now(), "", event(p, ""))
	l.putQuestion(q)
	line := lineContext{question: q, began: q.Put.Add(2 * time.Second), unseen: true}
	l.answerQuestion(t.Context(), "y", line)
	if l.word == "" {
		t.Fatalf("no word for what was pasted: %s", status.String())
	}
	line.began, line.unseen = q.Put.Add(3*time.Second), false
	l.answerQuestion(t.Context(), l.word, line)
	if !strings.Contains(status.String(), "You may not have heard all of it.") {
		t.Errorf("the word was typed before the question could be heard: %s", status.String())
	}
}

// What the person accepted and what failed is told at once, while they are asked the next thing;
// what was done, after that.
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
	f.addQuestion(call("b", "call_2"))
	l.closeQuestion("Answer sent: accept.")
	out.Reset()
	ended := func(session, id string, how aaep.ToolStatus, text string) {
		f.announceEvent(in(session, event(&aaep.ToolCompleted{Tool: "pay", ToolCallID: id, Status: how}, text)))
	}
	f.announceEvent(in("a", event(&aaep.ToolInvoked{Tool: "pay", ToolCallID: "call_1"}, "Paying.")))
	ended("a", "call_3", aaep.ToolError, "Reading failed.")
	ended("b", "call_1", aaep.ToolError, "Another failed.")
	ended("a", "call_1", aaep.ToolError, "Paying failed.")
	if got := out.String(); got != "Accepted, and being done: Paying.\nPaying failed.\n" {
		t.Errorf("while the next is asked:\n%s", got)
	}
	out.Reset()
	l.closeQuestion("Answer sent: reject.")
	if got := out.String(); got != "What else was said:\nReading failed.\nAnother failed.\n" {
		t.Errorf("after that:\n%s", got)
	}
}
