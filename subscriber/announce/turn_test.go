package announce

import (
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// is tests which question a yes and a no would answer now.
func (r *room) is(yes, no *aaep.Event) {
	r.t.Helper()
	name := func(ev *aaep.Event) string {
		if ev == nil {
			return "none"
		}
		return ev.EventID
	}
	for d, want := range map[aaep.Decision]*aaep.Event{aaep.Accept: yes, aaep.Reject: no, "": yes} {
		if got := asks(r.a, r.now, d); got != want {
			r.t.Errorf("after %v: %q answers %s, want %s; heard %q", r.now.Sub(r.began), d, name(got), name(want), r.heard)
		}
	}
}

// A yes answers a question that was heard whole, from somebody whose hands were still; a no, one that has been put for a second.
// While it is open no other is put, by one agent or several: then the next is, and no key that was for the one before answers it.
// CONF-013, LVL-023, INV-58, T-FATIGUE
func TestOneQuestionAtATime(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.is(nil, nil)
	ask := func(source, session, action string) *aaep.Event {
		p := pay()
		p.Action, p.TimeoutSeconds = action, 600
		return r.from(source, session, p, "")
	}
	first := ask("Bank", "sess_1", "Pay five dollars.")
	second := ask("Post", "sess_2", "Pay five thousand dollars.")
	third := ask("Bank", "sess_3", "Send it.")
	r.is(nil, nil)
	r.after(999 * time.Millisecond)
	r.is(nil, nil)
	r.after(time.Millisecond)
	r.is(nil, first)
	r.after(time.Minute)
	r.is(first, first)
	r.a.Typing(r.now)
	r.is(nil, first)
	r.after(time.Second)
	r.is(first, first)
	if heard := strings.Join(r.heard, "|"); strings.Contains(heard, "thousand") || strings.Count(heard, "Another question waits.") != 1 {
		t.Errorf("heard %s", heard)
	}
	r.heard = r.heard[:0]
	r.a.Settle(r.now, first)
	r.act()
	r.is(nil, nil)
	r.from("Bank", "sess_1", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "")
	r.after(20 * time.Second)
	r.is(second, second)
	if heard := strings.Join(r.heard, "|"); !strings.Contains(heard, "thousand") || strings.Contains(heard, "Send it.") {
		t.Errorf("heard %s", heard)
	}
	r.heard = nil
	r.from("Post", "sess_2", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")
	r.is(nil, nil)
	r.after(20 * time.Second)
	r.is(third, third)
	r.a.Settle(r.now, third)
	r.is(nil, nil)
	if heard := strings.Join(r.heard, "|"); !strings.Contains(heard, "Send it.") || strings.Contains(heard, "Another question") {
		t.Errorf("heard %s", heard)
	}
}

// An output that cannot know when the words end says at once that they did: a yes counts when they can have been heard. A key that is
// pressed twice answers one question.
func TestKeyPressedTwice(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	first, second := r.asks("Bank", "sess_1", "Pay five dollars."), r.asks("Bank", "sess_2", "Send it.")
	at := func(d time.Duration, want *aaep.Event) {
		t.Helper()
		for do, _ := r.a.Next(r.now); do.Say != nil; do, _ = r.a.Next(r.now) {
			r.a.Ended(r.now, do.Say.ID, Heard)
		}
		r.now = r.now.Add(d)
		if got := asks(r.a, r.now, aaep.Reject); got != want {
			t.Errorf("after %v a no answers %v, want %v", d, got, want)
		}
		if got := asks(r.a, r.now, aaep.Accept); got != nil {
			t.Errorf("after %v a yes answers what nobody can have heard", d)
		}
	}
	r.over("", Heard)
	at(0, nil)
	at(time.Second, first)
	r.a.Settle(r.now, first)
	at(999*time.Millisecond, nil)
	at(time.Millisecond, second)
	r.now = r.now.Add(time.Minute)
	if got := asks(r.a, r.now, aaep.Accept); got != second {
		t.Errorf("a minute later a yes answers %v", got)
	}
}

// That another question waits is not said once it waits no longer.
func TestAnotherWaitsNoLonger(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	first := r.asks("Bank", "sess_1", "Pay five dollars.")
	second := r.asks("Bank", "sess_2", "Send it.")
	r.after(3 * time.Second)
	r.a.Settle(r.now, first)
	r.after(20 * time.Second)
	r.is(second, second)
	if heard := strings.Join(r.heard, "|"); strings.Contains(heard, "Another question waits.") || !strings.Contains(heard, "Decide: Send it.") {
		t.Errorf("heard %s", heard)
	}
}

// Whoever does not answer holds up the next question for as long as there was time: then the person is told, before the next, or that
// there was no time left for that.
func TestNobodyAnswers(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		70 * time.Second: "The question is no longer open.|93.0 ", // and the next
		0:                "The question is no longer open.|93.0 A question that waited is skipped: its time to answer is over.",
	} {
		r := newRoom(t, Preferences{WordsPerMinute: 240})
		r.asks("Bank", "sess_1", "Pay five dollars.")
		r.after(wait)
		second := r.asks("Bank", "sess_2", "Send it.")
		r.after(20*time.Second + 70*time.Second - wait)
		r.is(nil, nil)
		r.after(20 * time.Second)
		if wait > 0 {
			r.is(second, second)
		} else {
			r.is(nil, nil)
		}
		if heard := strings.Join(r.heard, "|"); !strings.Contains(heard, want) {
			t.Errorf("heard %s, want %s", heard, want)
		}
	}
}

// Whoever chooses which question is put, and expects all of them, has theirs put at once, and it is the one that is answered.
func TestExpected(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	var asked []*aaep.Event
	for _, id := range []string{"evt_1", "evt_2"} {
		ev := &aaep.Event{EventID: id, SessionID: id, Timestamp: r.now, Payload: pay(), LocalizationHints: in("en")}
		asked = append(asked, ev)
		r.a.Expect(r.now, "Bank", ev)
	}
	r.after(time.Second)
	r.is(nil, nil)
	for _, ev := range []*aaep.Event{asked[0], asked[1], asked[0]} {
		r.a.Add(r.now, "Bank", ev, In("en", "Is it so?"))
		r.after(3 * time.Second)
		r.is(ev, ev)
	}
}

// What this program says keeps its place: that an agent has ended is heard after its last words, however long it has spoken.
func TestNoticesKeepTheirPlace(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	var want []string
	for _, text := range []string{"This is one of them.", "This is two of them.", "This is three of them.", "This is four of them.", "This is five of them.",
		"This is six of them.", "This is seven of them.", "These are my last words."} {
		r.answer(text + " ")
		want = append(want, text)
	}
	r.a.Outage(r.now, "Planner", aaep.ProducerShutdown)
	r.after(time.Minute)
	if heard := r.since("This is one"); heard != strings.Join(append(want, "The agent has ended.", "Waiting for it to come back."), "|") {
		t.Errorf("heard %s", heard)
	}
}

// That an answer was sent may be known only when the next question is being said, as where the agent was quicker than the reply's way
// back. It is heard before that all the same, which begins anew; else it would sound as if it were about that.
func TestSentComesBeforeTheNext(t *testing.T) {
	r := newRoom(t, Preferences{})
	ask := func(action string) *aaep.Event {
		return r.say(&aaep.AwaitingClarification{Question: action, TimeoutSeconds: 600}, "")
	}
	first := ask("Is it raining?")
	ask("Is it windy?")
	r.after(30 * time.Second)
	r.heard = nil
	reply := r.a.Answer(r.now, r.now, "yes")
	if reply == nil || reply.Question != first || reply.Response != "yes" {
		t.Fatalf("it answers %+v", reply)
	}
	r.a.Settle(r.now, first)
	r.after(time.Second)
	r.a.Answered(r.now, reply, nil)
	r.after(3 * time.Second)
	r.a.Tell(r.now, "By the way.", true) // nothing else begins a question anew
	r.after(4 * time.Second)
	r.want("30.0 Question: Is it windy? /", "31.0 Answer sent.", "32.0 Question: Is it windy?", "34.0 You have about 9 minutes to answer.", "37.5 By the way.")
}

// It begins anew also where the voice says of the sentence that it had to end that it cannot be said; but only once, if it cannot.
func TestSentBeforeTheNextUnsaid(t *testing.T) {
	r := newRoom(t, Preferences{})
	ask := func(action string) *aaep.Event {
		return r.say(&aaep.AwaitingClarification{Question: action, TimeoutSeconds: 600}, "")
	}
	first := ask("Is it raining?")
	ask("Is it windy?")
	r.after(30 * time.Second)
	r.is(first, first)
	reply := r.a.Answer(r.now, r.now, "yes")
	r.a.Settle(r.now, first)
	r.after(time.Second)
	r.a.Answered(r.now, reply, nil)
	r.over(" (unsaid)", Unsaid)
	r.after(time.Second)
	r.over(" (unsaid)", Unsaid)
	r.after(5 * time.Second)
	r.wantSince("Question: Is it windy? (unsaid)", "Answer sent.", "Question: Is it windy? (unsaid)", "You have about 9 minutes to answer.")
}

// Where a question is taken away from whoever hears it, what came of it is what they hear next, also while they type the answer: it broke
// off, and they wonder. Who has answered hears it before anything else that waits, too.
func TestQuestionTakenAway(t *testing.T) {
	for name, tc := range map[string]struct{ does, want string }{
		"listens":      {"", "Withdrawn.|News.|More news."},
		"types":        {"types", "Withdrawn.|News.|More news."},
		"has answered": {"answers", "Withdrawn.|News.|More news."},
	} {
		r := newRoom(t, Preferences{})
		pay := r.asked("Planner", "sess_1", "Pay five dollars.")
		r.from("Planner", "sess_2", &aaep.Extension{Type: "acme:news"}, "News.")
		r.from("Planner", "sess_3", &aaep.Extension{Type: "acme:news"}, "More news.")
		r.after(3 * time.Second)
		switch tc.does {
		case "types":
			r.a.Typing(r.now)
		case "answers":
			r.is(nil, pay)
		}
		r.state(await, think, "Withdrawn.")
		r.after(time.Minute)
		if _, got, _ := strings.Cut(r.since(""), " /|"); got != tc.want {
			t.Errorf("who %s hears %q, want %q, after the question broke off", name, got, tc.want)
		}
	}
}

// What somebody asked for is said to its end though they type on, and is not begun again with each key.
func TestTypingOverAnAnswer(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.asked("Planner", "sess_1", "Pay five dollars.")
	r.after(20 * time.Second)
	r.heard = nil
	r.a.WhatWaits(r.now)
	r.after(100 * time.Millisecond)
	r.a.Typing(r.now)
	r.after(time.Minute)
	if heard := r.since(""); strings.Contains(heard, "/") {
		t.Errorf("heard %s", heard)
	}
}

// What the person asks for waits until they were told what belongs before the question that is put; the two do not cut each other
// without end.
func TestAskedForBeforeAQuestion(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	first := r.asks("Bank", "sess_1", "Pay five dollars.")
	r.asks("Bank", "sess_2", "Send it.")
	r.after(2 * time.Second)
	r.a.Tell(r.now, "The display is back.", false)
	r.a.Settle(r.now, first)
	r.act()
	r.a.WhatWaits(r.now)
	r.after(20 * time.Second)
	if got := r.since("The display"); !strings.HasPrefix(got, "The display is back.|Decide: Send it.|") || !strings.Contains(got, "|One question is open: Send it.") {
		t.Errorf("heard %s", got)
	}
}
