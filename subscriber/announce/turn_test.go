package announce

import (
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// wantQuestion tests which question a yes and a no would answer now.
func (r *room) wantQuestion(yes, no *aaep.Event) {
	r.t.Helper()
	name := func(ev *aaep.Event) string {
		if ev == nil {
			return "none"
		}
		return ev.EventID
	}
	for d, want := range map[aaep.Decision]*aaep.Event{aaep.Accept: yes, aaep.Reject: no, "": yes} {
		if got := questionFor(r.a, r.now, d); got != want {
			r.t.Errorf("after %v: %q answers %s, want %s; heard %q", r.now.Sub(r.began), d, name(got), name(want), r.heard)
		}
	}
}

// A yes answers a question that was heard whole, from a person whose hands were still; a no, one
// that has been put for a second. While it is open no other is put, by one agent or several: then
// the next is, and no key that was for the one before answers it. CONF-013, LVL-023, INV-58,
// T-FATIGUE
func TestOneQuestionAtATime(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.wantQuestion(nil, nil)
	ask := func(source, session, action string) *aaep.Event {
		p := payQuestion()
		p.Action, p.TimeoutSeconds = action, 600
		return r.addEventOf(source, session, p, "")
	}
	first := ask("Bank", "sess_1", "Pay five dollars.")
	second := ask("Post", "sess_2", "Pay five thousand dollars.")
	third := ask("Bank", "sess_3", "Send it.")
	r.wantQuestion(nil, nil)
	r.passTime(999 * time.Millisecond)
	r.wantQuestion(nil, nil)
	r.passTime(time.Millisecond)
	r.wantQuestion(nil, first)
	r.passTime(time.Minute)
	r.wantQuestion(first, first)
	r.a.Typing(r.now)
	r.wantQuestion(nil, first)
	r.passTime(time.Second)
	r.wantQuestion(first, first)
	if heard := strings.Join(r.heard, "|"); strings.Contains(heard, "thousand") || strings.Count(heard, "Another question waits.") != 1 {
		t.Errorf("heard %s", heard)
	}
	r.heard = r.heard[:0]
	r.a.Settle(r.now, first)
	r.takeActions()
	r.wantQuestion(nil, nil)
	r.addEventOf("Bank", "sess_1", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "")
	r.passTime(30 * time.Second)
	r.wantQuestion(second, second)
	if heard := strings.Join(r.heard, "|"); !strings.Contains(heard, "thousand") || strings.Contains(heard, "Send it.") {
		t.Errorf("heard %s", heard)
	}
	r.heard = nil
	r.addEventOf("Post", "sess_2", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")
	r.wantQuestion(nil, nil)
	r.passTime(20 * time.Second)
	r.wantQuestion(third, third)
	r.a.Settle(r.now, third)
	r.wantQuestion(nil, nil)
	if heard := strings.Join(r.heard, "|"); !strings.Contains(heard, "Send it.") || strings.Contains(heard, "Another question") {
		t.Errorf("heard %s", heard)
	}
}

// An output that cannot know when the words end says at once that they did: a yes counts when they
// can have been heard. A key that is pressed twice answers one question.
func TestKeyPressedTwice(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	first, second := r.askQuestion("Bank", "sess_1", "Pay five dollars."), r.askQuestion("Bank", "sess_2", "Send it.")
	at := func(d time.Duration, want *aaep.Event) {
		t.Helper()
		for do, _ := r.a.Next(r.now); do.Say != nil; do, _ = r.a.Next(r.now) {
			r.a.Ended(r.now, do.Say.ID, Heard)
		}
		r.now = r.now.Add(d)
		if got := questionFor(r.a, r.now, aaep.Reject); got != want {
			t.Errorf("after %v a no answers %v, want %v", d, got, want)
		}
		if got := questionFor(r.a, r.now, aaep.Accept); got != nil {
			t.Errorf("after %v a yes answers what nobody can have heard", d)
		}
	}
	r.endUtterance("", Heard)
	at(0, nil)
	at(time.Second, first)
	r.a.Settle(r.now, first)
	at(999*time.Millisecond, nil)
	at(time.Millisecond, second)
	r.now = r.now.Add(time.Minute)
	if got := questionFor(r.a, r.now, aaep.Accept); got != second {
		t.Errorf("a minute later a yes answers %v", got)
	}
}

// That another question waits is not said once it waits no longer.
func TestAnotherWaitsNoLonger(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	first := r.askQuestion("Bank", "sess_1", "Pay five dollars.")
	second := r.askQuestion("Bank", "sess_2", "Send it.")
	r.passTime(3 * time.Second)
	r.a.Settle(r.now, first)
	r.passTime(20 * time.Second)
	r.wantQuestion(second, second)
	if heard := strings.Join(r.heard, "|"); strings.Contains(heard, "Another question waits.") || !strings.Contains(heard, "Decide: Send it.") {
		t.Errorf("heard %s", heard)
	}
}

// A person who does not answer holds up the next question for as long as there was time: then the
// person is told, before the next, or that there was no time left for that.
func TestUnanswered(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		70 * time.Second: "The question is no longer open.|93.0 ", // and the next
		0:                "The question is no longer open.|93.0 A question that waited is skipped: its time to answer is over.",
	} {
		r := newRoom(t, Preferences{WordsPerMinute: 240})
		r.askQuestion("Bank", "sess_1", "Pay five dollars.")
		r.passTime(wait)
		second := r.askQuestion("Bank", "sess_2", "Send it.")
		r.passTime(20*time.Second + 70*time.Second - wait)
		r.wantQuestion(nil, nil)
		r.passTime(20 * time.Second)
		if wait > 0 {
			r.wantQuestion(second, second)
		} else {
			r.wantQuestion(nil, nil)
		}
		if heard := strings.Join(r.heard, "|"); !strings.Contains(heard, want) {
			t.Errorf("heard %s, want %s", heard, want)
		}
	}
}

// What this program says keeps its place: that an agent has ended is heard after its last words,
// however long it has spoken.
func TestNoticesKeepTheirPlace(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	var want []string
	for _, text := range []string{"This is one of them.", "This is two of them.", "This is three of them.", "This is four of them.", "This is five of them.",
		"This is six of them.", "This is seven of them.", "These are my last words."} {
		r.addSentence(text + " ")
		want = append(want, text)
	}
	r.a.Outage(r.now, "Planner", aaep.ProducerShutdown)
	r.passTime(time.Minute)
	if heard := r.heardSince("This is one"); heard != strings.Join(append(want, "The agent has ended.", "Waiting for it to come back."), "|") {
		t.Errorf("heard %s", heard)
	}
}

// That an answer was sent may be known only when the next question is being said, as where the
// agent was quicker than the reply's way back. It is heard before that all the same, which begins
// anew; else it would sound as if it were about that.
func TestSentComesBeforeTheNext(t *testing.T) {
	r := newRoom(t, Preferences{})
	ask := func(action string) *aaep.Event {
		return r.addEvent(&aaep.AwaitingClarification{Question: action, TimeoutSeconds: 600}, "")
	}
	first := ask("Is it raining?")
	ask("Is it windy?")
	r.passTime(30 * time.Second)
	r.heard = nil
	reply := r.a.Answer(r.now, r.now, "yes")
	if reply == nil || reply.Question != first || reply.Response != "yes" {
		t.Fatalf("it answers %+v", reply)
	}
	r.a.Settle(r.now, first)
	r.passTime(time.Second)
	r.a.Answered(r.now, reply, nil)
	r.passTime(3 * time.Second)
	r.a.Tell(r.now, "By the way.", true) // nothing else begins a question anew
	r.passTime(4 * time.Second)
	r.wantHeard("31.0 Question: Is it windy? /", "31.0 Answer sent.", "32.0 Question: Is it windy?", "34.0 You have about 9 minutes to answer.", "37.5 By the way.")
}

// It begins anew also where the voice says of the sentence that it had to end that it cannot be
// said; but only once, if it cannot.
func TestSentBeforeTheNextUnsaid(t *testing.T) {
	r := newRoom(t, Preferences{})
	ask := func(action string) *aaep.Event {
		return r.addEvent(&aaep.AwaitingClarification{Question: action, TimeoutSeconds: 600}, "")
	}
	first := ask("Is it raining?")
	ask("Is it windy?")
	r.passTime(30 * time.Second)
	r.wantQuestion(first, first)
	reply := r.a.Answer(r.now, r.now, "yes")
	r.a.Settle(r.now, first)
	r.passTime(time.Second)
	r.a.Answered(r.now, reply, nil)
	r.endUtterance(" (unsaid)", Unsaid)
	r.passTime(time.Second)
	r.endUtterance(" (unsaid)", Unsaid)
	r.passTime(5 * time.Second)
	r.wantSince("Question: Is it windy? (unsaid)", "Answer sent.", "Question: Is it windy? (unsaid)", "You have about 9 minutes to answer.")
}

// Where a question is taken away from the person who hears it, what came of it is what they hear
// next, also while they type the answer: it broke off, and they wonder. Who has answered hears it
// before anything else that waits, too.
func TestQuestionTakenAway(t *testing.T) {
	for name, tc := range map[string]struct{ does, want string }{
		"listens":      {"", "Withdrawn.|News.|More news."},
		"types":        {"types", "Withdrawn.|News.|More news."},
		"has answered": {"answers", "Withdrawn.|News.|More news."},
	} {
		r := newRoom(t, Preferences{})
		pay := r.askBriefly("Planner", "sess_1", "Pay five dollars.")
		r.addEventOf("Planner", "sess_2", &aaep.ExtensionPayload{Type: "acme:news"}, "News.")
		r.addEventOf("Planner", "sess_3", &aaep.ExtensionPayload{Type: "acme:news"}, "More news.")
		r.passTime(3 * time.Second)
		switch tc.does {
		case "types":
			r.a.Typing(r.now)
		case "answers":
			r.wantQuestion(nil, pay)
		}
		r.changeState(await, think, "Withdrawn.")
		r.passTime(time.Minute)
		if _, got, _ := strings.Cut(r.heardSince(""), " /|"); got != tc.want {
			t.Errorf("who %s hears %q, want %q, after the question broke off", name, got, tc.want)
		}
	}
}

// What the person asked for is said to its end though they type on, and is not begun again with
// each key.
func TestTypingOverAnAnswer(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(20 * time.Second)
	r.heard = nil
	r.a.WhatWaits(r.now)
	r.passTime(100 * time.Millisecond)
	r.a.Typing(r.now)
	r.passTime(time.Minute)
	if heard := r.heardSince(""); strings.Contains(heard, "/") {
		t.Errorf("heard %s", heard)
	}
}

// What the person asks for waits until they were told what belongs before the question that is put;
// the two do not cut each other without end.
func TestAskedForBeforeAQuestion(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	first := r.askQuestion("Bank", "sess_1", "Pay five dollars.")
	r.askQuestion("Bank", "sess_2", "Send it.")
	r.passTime(2 * time.Second)
	r.a.Tell(r.now, "The display is back.", false)
	r.a.Settle(r.now, first)
	r.takeActions()
	r.a.WhatWaits(r.now)
	r.passTime(20 * time.Second)
	if got := r.heardSince("The display"); !strings.HasPrefix(got, "The display is back.|Decide: Send it.|") || !strings.Contains(got, "|One question is open: Send it.") {
		t.Errorf("heard %s", got)
	}
}

// A question that is put anew is told again whole, and no answer counts before it was: not a yes
// that was begun before or while it is told, nor at once a no. Without one nothing is told.
func TestPutAnew(t *testing.T) {
	for _, reads := range []bool{false, true} {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, Reads: reads})
		r.a.PutAnew(r.now)
		r.passTime(time.Minute)
		r.wantHeard()
		pay := r.askBriefly("Bank", "sess_1", "Pay five dollars.")
		r.askBriefly("Bank", "sess_2", "Send it.")
		r.passTime(time.Minute)
		r.wantQuestion(pay, pay)
		began := r.now
		r.passTime(time.Minute)
		r.heard = nil
		r.a.PutAnew(r.now)
		r.wantQuestion(nil, nil)
		r.passTime(500 * time.Millisecond)
		r.wantQuestion(nil, nil)
		for _, text := range []string{"y", "n"} {
			if reply := r.a.Answer(r.now, began, text); reply != nil {
				t.Errorf("%q that was begun before is an answer", text)
			}
		}
		r.passTime(40 * time.Second)
		r.wantQuestion(pay, pay)
		if heard := strings.Join(r.heard, "|"); !strings.Contains(heard, "Decide: Pay five dollars.") || strings.Contains(heard, "Send it.") ||
			strings.Contains(heard, "not sent") {
			t.Errorf("reads %t: heard %s", reads, heard)
		}
		r.heard = nil
		reply := r.a.Answer(r.now, r.now, "n")
		r.a.PutAnew(r.now)
		r.a.Answered(r.now, reply, nil)
		r.passTime(10 * time.Second)
		if heard := strings.Join(r.heard, "|"); strings.Contains(heard, "Pay five dollars.") || !strings.Contains(heard, "Answer sent") {
			t.Errorf("reads %t: a question whose answer is on its way is put anew: %s", reads, heard)
		}
	}
}
