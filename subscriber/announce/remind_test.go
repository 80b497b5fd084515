package announce

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// answerKeys is how the person in the room answers.
func answerKeys(*aaep.Event) Words { return In("en", "Press y or n.") }

// askBriefly is a question with few words.
func (r *room) askBriefly(source, session, action string) *aaep.Event {
	return r.addEventOf(source, session, &aaep.AwaitingConfirmation{Action: action, Consequence: "Gone.", TimeoutSeconds: 600,
		RiskLevel: aaep.RiskLow, DefaultDecision: aaep.Reject, ReplyToken: aaep.ReplyToken("rpl_" + action)}, "")
}

// heardSince is what was heard from a sentence on, without times.
func (r *room) heardSince(text string) string {
	r.t.Helper()
	var all []string
	for _, line := range r.heard {
		_, said, _ := strings.Cut(line, " ")
		all = append(all, said)
	}
	heard := strings.Join(all, "|")
	i := strings.Index(heard, text)
	if i < 0 {
		r.t.Fatalf("%q was not heard, but %s", text, heard)
	}
	return heard[i:]
}

func (r *room) wantSince(text string, lines ...string) {
	r.t.Helper()
	if got, want := r.heardSince(text), strings.Join(append([]string{text}, lines...), "|"); got != want {
		r.t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
}

// A question is put at once, and what its agent said before it is heard after it, as such, before
// any other agent: then the question is called to mind, with its key, so that it is what was heard
// last before the answer. LVL-040
func TestReasonsAfterTheQuestion(t *testing.T) {
	r := newRoom(t, Preferences{Answering: answerKeys})
	r.addEventOf("Post", "sess_9", &aaep.ExtensionPayload{Type: "acme:news"}, "The post is here.")
	r.addSentence("It is due today. ")
	r.addSentence("It is cheap. ")
	r.addEventOf("Post", "sess_9", &aaep.ExtensionPayload{Type: "acme:news"}, "A letter too.")
	r.passTime(200 * time.Millisecond)
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(time.Second)
	r.addSentence("This came later.")
	r.passTime(time.Minute)
	r.wantSince("Press y or n.", "What else was said:", "It is due today.", "It is cheap.", "This came later.",
		"Planner: The question is: Pay five dollars.", "You have about 10 minutes to answer.", "Press y or n.",
		"Post: The post is here.", "A letter too.",
		"Planner: The question is: Pay five dollars.", "You have about 9 minutes to answer.", "Press y or n.")
}

// It is called to mind once, and of an agent that goes on and on while it asks, twice a minute at
// most; not where only progress was told, nor while the person types, nor once it is settled.
func TestReminders(t *testing.T) {
	reminded := func(r *room) int { return strings.Count(strings.Join(r.heard, "|"), "The question is: Pay") }
	r := newRoom(t, Preferences{})
	pay := r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(20 * time.Second)
	r.addEvent(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(40.0)}}, "")
	r.addEventOf("Planner", "sess_2", &aaep.ExtensionPayload{Type: "acme:news"}, "Of another session.")
	r.passTime(20 * time.Second)
	if n := reminded(r); n != 0 {
		t.Errorf("after what is no reason it is called to mind %d times: %q", n, r.heard)
	}
	for range 24 {
		r.addSentence("And on. ")
		r.passTime(5 * time.Second)
	}
	r.passTime(time.Minute)
	if n := reminded(r); n != 5 {
		t.Errorf("in two minutes of talk it is called to mind %d times, want 5: %q", n, r.heard)
	}
	r.heard = nil
	r.passTime(31 * time.Second)
	r.addSentence("One more. ")
	r.passTime(3100 * time.Millisecond)
	if n := reminded(r); n != 1 {
		t.Fatalf("heard %q", r.heard)
	}
	r.a.Typing(r.now)
	r.passTime(500 * time.Millisecond)
	r.a.Settle(r.now, pay)
	r.passTime(time.Minute)
	r.wantHeard("251.0 What else was said:", "253.0 One more.", "254.0 The question is: Pay five dollars. /")

	r = newRoom(t, Preferences{})
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.addSentence("A reason. ")
	r.passTime(12 * time.Second)
	r.a.Typing(r.now)
	r.passTime(time.Second)
	r.addSentence("More. ")
	r.addEvent(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")
	r.passTime(time.Minute)
	if n := reminded(r); n != 0 {
		t.Errorf("it is called to mind %d times while the person types, and after: %q", n, r.heard)
	}
}

// A question that is put once more, as by a key, begins again, and is not heard twice.
func TestPutOnceMore(t *testing.T) {
	r := newRoom(t, Preferences{})
	pay := r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(2500 * time.Millisecond)
	r.a.Add(r.now, "Planner", pay, Text(pay, aaep.VerbosityNormal))
	r.passTime(time.Minute)
	r.wantSince("Decide: Pay five dollars.", "Consequence: Gone. /", "Decide: Pay five dollars.", "Consequence: Gone.", "Low risk.",
		"You have about 10 minutes to answer.", "No answer: it will not be done.")
}

// A person who has another question put answers that, after a moment, and the one that was put
// comes whole after all others. With one question there is no other.
func TestNextQuestion(t *testing.T) {
	r := newRoom(t, Preferences{Answering: answerKeys})
	one := r.askBriefly("Bank", "sess_1", "Pay five dollars.")
	r.passTime(4 * time.Second)
	r.a.NextQuestion(r.now)
	r.passTime(20 * time.Second)
	r.wantQuestion(one, one)
	if heard := strings.Join(r.heard, "|"); strings.Count(heard, "Decide:") != 1 || !strings.Contains(heard, "No other question waits.") {
		t.Errorf("heard %s", heard)
	}
	two, three := r.askBriefly("Post", "sess_2", "Send it."), r.askBriefly("Post", "sess_3", "Burn it.")
	r.passTime(10 * time.Second)
	r.heard = nil
	r.a.NextQuestion(r.now)
	r.takeActions()
	r.wantQuestion(nil, nil)
	r.passTime(999 * time.Millisecond)
	r.wantQuestion(nil, nil) // a second press of the key
	r.passTime(time.Millisecond)
	r.wantQuestion(nil, two)
	r.passTime(3 * time.Second)
	r.a.NextQuestion(r.now)
	r.passTime(20 * time.Second)
	r.wantQuestion(three, three)
	r.a.NextQuestion(r.now)
	r.passTime(20 * time.Second)
	r.wantQuestion(one, one)
	r.a.Settle(r.now, one)
	r.passTime(20 * time.Second)
	r.wantQuestion(two, two)
	heard := strings.Join(r.heard, "|")
	for text, n := range map[string]int{"Decide: Send it.": 2, "Decide: Burn it.": 1, "Decide: Pay five dollars.": 1, "Press y or n.": 3, "/": 1} {
		if got := strings.Count(heard, text); got != n {
			t.Errorf("%q %d times, want %d: %s", text, got, n, heard)
		}
	}
}

// A question that was put aside is not forgotten: it comes again when the other is settled, unless
// its time is over.
func TestPutAside(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		6 * time.Minute:  "Decide: Pay five dollars.",
		11 * time.Minute: "A question that waited is skipped: its time to answer is over.",
	} {
		r := newRoom(t, Preferences{})
		one := r.askBriefly("Bank", "sess_1", "Pay five dollars.")
		r.passTime(5 * time.Minute)
		two := r.askBriefly("Post", "sess_2", "Send it.")
		r.a.NextQuestion(r.now)
		r.passTime(wait - 5*time.Minute)
		r.heard = nil
		r.a.Settle(r.now, two)
		r.passTime(20 * time.Second)
		if heard := strings.Join(r.heard, "|"); !strings.Contains(heard, want) {
			t.Errorf("after %v heard %s", wait, heard)
		}
		if wait < 10*time.Minute {
			r.wantQuestion(one, one)
		}
	}
}

// States that a question overtook say nothing of it: least of all that the agent waits for the
// answer, as if that were something new.
func TestStatesOvertaken(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.addSentence("A reason. ")
	r.changeState(write, think, "Thinking.")
	r.changeState(think, await, "Pay five dollars.")
	r.passTime(time.Minute)
	if heard := r.heardSince("Decide:"); strings.Contains(heard, "Waiting for") || strings.Contains(heard, "Thinking.") || !strings.HasSuffix(heard, "You have about 10 minutes to answer.") {
		t.Errorf("heard %s", heard)
	}
}

// That an answer was sent is heard before the next question, and what the program said before that
// came is not.
func TestSentBeforeTheNext(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addSentence("A long text is being said when the questions come. ")
	r.a.Tell(r.now, "Following Bank.", false)
	one := r.askBriefly("Bank", "sess_1", "Pay five dollars.")
	r.passTime(time.Second)
	r.askBriefly("Bank", "sess_2", "Send it.")
	r.passTime(500 * time.Millisecond)
	r.a.Tell(r.now, "Answer sent: accept.", false)
	r.takeActions()
	r.a.Settle(r.now, one)
	r.passTime(time.Second)
	r.a.Tell(r.now, "Later.", false)
	r.passTime(time.Minute)
	r.wantSince("Bank: Decide: Pay five dollars. /", "Answer sent: accept.", "Bank: Decide: Send it.", "Consequence: Gone.", "Low risk.",
		"You have about 10 minutes to answer.", "No answer: it will not be done.", "Following Bank.", "Later.",
		"Planner: A long text is being said when the questions come.", "Bank: The question is: Send it.")
}

// What the program says to a line that was typed is heard before all that waits, and what it says
// by itself in its turn.
func TestReplyToALine(t *testing.T) {
	r := newRoom(t, Preferences{})
	for range 5 {
		r.addSentence("There is much to be heard. ")
	}
	r.passTime(time.Second)
	r.a.Tell(r.now, "Connected again.", false)
	r.a.Typing(r.now)
	r.a.Rest(r.now)
	r.passTime(3 * time.Second) // it was on its way
	r.a.Tell(r.now, "Answer sent: accept.", false)
	r.a.Tell(r.now, "Answer sent: accept.", false)
	r.a.Outage(r.now, "Planner", aaep.ProducerShutdown)
	r.passTime(time.Minute)
	const much = "There is much to be heard."
	if heard, want := r.heardSince(""), strings.Join([]string{much, much + " /", "Answer sent: accept.", much, much, much, much, "Connected again.", "The agent has ended.", "Waiting for it to come back."}, "|"); heard != want {
		t.Errorf("heard\n%s\nwant\n%s", heard, want)
	}
}

// What was accepted is told as what is done, in the language of the text: its bare name sounds as
// if the person had to do it. What no one was asked about keeps its name.
func TestAcceptedAction(t *testing.T) {
	for language, want := range map[string]string{
		"en": "Accepted, and being done: Pay five dollars.", "es": "Aceptado y haciéndose: Pay five dollars.", "ha": "Accepted, and being done:|Pay five dollars.",
	} {
		r := newRoom(t, Preferences{})
		tell := func(p aaep.Payload, text string) {
			ev := &aaep.Event{SessionID: "sess_1", Timestamp: r.now, Payload: p, Summary: aaep.Say(text), LocalizationHints: in(language)}
			r.a.Add(r.now, "Bank", ev, Text(ev, aaep.VerbosityNormal))
			r.passTime(time.Minute)
		}
		tell(&aaep.AwaitingConfirmation{Action: "Pay five dollars.", Consequence: "Gone.", TimeoutSeconds: 600, ReplyToken: "rpl_1", ExtraContext: []byte(`{"tool_call_id":"call_1"}`)}, "")
		tell(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateCallingTool}, "")
		r.heard = nil
		tell(&aaep.ToolInvoked{Tool: "pay", ToolCallID: "call_1"}, "Pay five dollars.")
		if heard := r.heardSince(""); heard != want {
			t.Errorf("%s: heard %q, want %q", language, heard, want)
		}
		r.heard = nil
		tell(&aaep.ToolInvoked{Tool: "look", ToolCallID: "call_2"}, "Look at the balance.")
		r.wantSince("Look at the balance.")
	}
}

// Who is not asked hears what is being done as such too, where they heard that the agent waits for
// the answer about it, and it was not no.
func TestAcceptedByOthers(t *testing.T) {
	for to, want := range map[aaep.State]string{aaep.StateCallingTool: "Accepted, and being done: Pay five dollars.", aaep.StateThinking: "Pay five dollars."} {
		r := newRoom(t, Preferences{})
		r.changeState(think, await, "Pay five dollars.")
		r.passTime(time.Minute)
		r.changeState(await, to, "")
		r.heard = nil
		r.addEvent(&aaep.ToolInvoked{Tool: "pay", ToolCallID: "call_1", RiskLevel: aaep.RiskHigh}, "Pay five dollars.")
		r.passTime(time.Minute)
		if heard := r.heardSince(""); heard != want {
			t.Errorf("to %s: heard %q, want %q", to, heard, want)
		}
	}
}

// Who begins to listen late, to an agent that tells its sessions from their beginning, hears what
// was accepted before as such, not as what is being done, and that nothing waits for an answer.
func TestAcceptedEarlier(t *testing.T) {
	r := newRoom(t, Preferences{})
	add := func(before time.Duration, p aaep.Payload, text string) {
		ev := &aaep.Event{SessionID: "sess_1", Timestamp: r.now.Add(-before), Payload: p, Summary: aaep.Say(text), LocalizationHints: in("en")}
		r.a.Add(r.now, "Planner", ev, Text(ev, aaep.VerbosityNormal))
	}
	add(time.Hour, &aaep.SessionStarted{}, "Paying.")
	add(time.Hour, &aaep.StateChanged{FromState: aaep.StateThinking, ToState: aaep.StateAwaitingInput}, "Pay five dollars.")
	add(50*time.Minute, &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateCallingTool}, "Using a tool.")
	add(50*time.Minute, &aaep.ToolInvoked{Tool: "pay", ToolCallID: "call_1"}, "Pay five dollars.")
	add(40*time.Minute, &aaep.ToolCompleted{Tool: "pay", ToolCallID: "call_1", Status: aaep.ToolSuccess}, "Pay finished.")
	r.passTime(time.Minute)
	if heard := r.heardSince("Paying."); heard != "Paying.|Accepted earlier: Pay five dollars.|Pay finished." {
		t.Errorf("heard %s; %s", heard, r.receiptsText())
	}
}

// That no question is open is not said any more once one is put, also where that cut it.
func TestNoneOpenIsOutdated(t *testing.T) {
	r := newRoom(t, Preferences{Answering: answerKeys})
	r.a.WhatWaits(r.now)
	r.passTime(200 * time.Millisecond)
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(time.Minute)
	if n := strings.Count(strings.Join(r.heard, "|"), "No question is open"); n > 1 {
		t.Errorf("it is said %d times: %q", n, r.heard)
	}
}

// How much time is left is said as it is when it is heard, also where that is said again. Where the
// time is over as far as is known here, that is said, and not that there are no seconds left.
func TestTimeIsOver(t *testing.T) {
	r := newRoom(t, Preferences{Answering: answerKeys})
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	for _, at := range []time.Duration{10*time.Minute - 30*time.Second, 10*time.Minute + time.Second} {
		r.passTime(at - r.now.Sub(r.began))
		r.a.Again(r.now)
		r.passTime(10 * time.Second)
	}
	r.a.WhereAreWe(r.now)
	r.passTime(10 * time.Second)
	r.wantSince("The time to answer is almost over: you have about 1 minute.",
		"The time to answer is almost over: you have 30 seconds.", "The time to answer is over.",
		"The question is: Pay five dollars.", "The time to answer is over.", "Press y or n.")
}

// How long there is to answer, and how to, is said while an answer would arrive: not while the
// agent is out of reach, nor while an answer is on its way, but once it would again.
func TestHowToAnswerWaits(t *testing.T) {
	r := newRoom(t, Preferences{Answering: answerKeys})
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(time.Second)
	r.a.Outage(r.now, "Planner", errors.New("gone"))
	r.passTime(time.Minute)
	if heard := strings.Join(r.heard, "|"); strings.Contains(heard, "to answer.") || strings.Contains(heard, "Press y or n.") {
		t.Errorf("out of reach it is said how to answer: %q", r.heard)
	}
	r.a.Outage(r.now, "Planner", nil)
	r.passTime(time.Minute)
	r.wantSince("The connection to the agent is back.", "The question is: Pay five dollars.",
		"You have about 9 minutes to answer.", "Press y or n.")

	r = newRoom(t, Preferences{Answering: answerKeys})
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(1500 * time.Millisecond)
	reply := r.a.Answer(r.now, r.now, "n")
	if reply == nil {
		t.Fatal("a no counts at once")
	}
	r.passTime(20 * time.Second)
	if heard := strings.Join(r.heard, "|"); strings.Contains(heard, "Press y or n.") {
		t.Errorf("while an answer is on its way it is said how to answer: %q", r.heard)
	}
	r.a.Answered(r.now, reply, errors.New("no answer"))
	r.passTime(time.Minute)
	if heard := strings.Join(r.heard, "|"); strings.Count(heard, "Press y or n.") != 1 {
		t.Errorf("once it can be answered again, it is not said how: %q", r.heard)
	}
}

// The same answer once more, in the same words or in others, right after the first was sent, has no
// answer of its own; another one has, and so has the same one later.
func TestAnswerGivenTwice(t *testing.T) {
	r := newRoom(t, Preferences{Answering: answerKeys})
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(time.Minute)
	r.typeAnswer("n", nil)
	for _, again := range []struct {
		after  time.Duration
		text   string
		isTold bool
	}{{300 * time.Millisecond, "n", false}, {0, "No.", false}, {0, "y", true}, {10 * time.Second, "n", true}} {
		r.passTime(again.after)
		before := len(r.heard)
		r.typeAnswer(again.text, nil)
		r.passTime(time.Second)
		if heard := strings.Join(r.heard[before:], "|"); strings.Contains(heard, "No question is open.") != again.isTold {
			t.Errorf("after %v and %q, heard %q", again.after, again.text, r.heard[before:])
		}
	}
}

// What came of a question is not followed by the beginning of its session, which had to wait.
func TestBeginningAfterTheOutcome(t *testing.T) {
	r := newRoom(t, Preferences{Answering: answerKeys})
	r.addEvent(&aaep.SessionStarted{}, "Looking after your savings.")
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(6 * time.Second)
	r.typeAnswer("n", nil)
	r.addEvent(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected, and not done: Pay five dollars.")
	r.passTime(time.Minute)
	r.wantSince("Rejected, and not done: Pay five dollars.")
}

// A sentence that another session is in the middle of does not hold up the reminder; one of the
// session that asks does.
func TestReminderBesideAnUnfinishedSentence(t *testing.T) {
	for session, want := range map[string]bool{"sess_1": false, "sess_2": true} {
		r := newRoom(t, Preferences{})
		r.askBriefly("Planner", "sess_1", "Pay five dollars.")
		r.passTime(20 * time.Second)
		r.addSentence("A reason. ")
		for range 7 {
			r.addEventOf("Planner", session, &aaep.OutputStreaming{Chunk: "on ", OutputID: "out_9", CoalesceHint: aaep.BoundaryWord}, "")
			r.passTime(500 * time.Millisecond)
		}
		if got := strings.Contains(r.heardSince("A reason."), "The question is: Pay"); got != want {
			t.Errorf("%s: reminded %v: %q", session, got, r.heard)
		}
	}
}
