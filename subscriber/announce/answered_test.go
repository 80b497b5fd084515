package announce

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
)

// What shows that an agent has an answer is what it does in the session of that question; that
// nothing does is told once, to the person who answered. D-36
func TestAnswerUnheeded(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC) // before the room
	did := func(session string, p aaep.Payload) *aaep.Event {
		return &aaep.Event{SessionID: session, Timestamp: began, Payload: p}
	}
	for _, c := range []struct {
		about  string
		source string
		ev     *aaep.Event
		heeded bool
	}{
		{"it waits no longer", "Bank", did("sess_1", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}), true},
		{"it waits for another", "Bank", did("sess_1", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateAwaitingInput}), true},
		{"it does that", "Bank", did("sess_1", &aaep.ToolInvoked{ToolCallID: "call_1"}), true},
		{"it is over", "Bank", did("sess_1", &aaep.SessionErrored{}), true},
		{"another call", "Bank", did("sess_1", &aaep.ToolInvoked{ToolCallID: "call_2"}), false},
		{"a call without a name", "Bank", did("sess_1", &aaep.ToolInvoked{}), false},
		{"something else", "Bank", did("sess_1", &aaep.OutputStreaming{}), false},
		{"another state", "Bank", did("sess_1", &aaep.StateChanged{FromState: aaep.StateThinking, ToState: aaep.StateAwaitingInput}), false},
		{"another session", "Bank", did("sess_2", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}), false},
		{"another agent", "Post", did("sess_1", &aaep.SessionErrored{}), false},
	} {
		t.Run(c.about, func(t *testing.T) {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
			r.a.SetLanguage("es")
			p := payQuestion()
			p.ExtraContext = json.RawMessage(`{"tool_call_id":"call_1"}`)
			r.addEventOf("Bank", "sess_1", p, "")
			r.passTime(30 * time.Second)
			r.heard, r.began = nil, r.now
			r.typeAnswer("y", nil)
			r.passTime(3 * time.Second)
			r.heard = nil
			r.a.Add(r.now, c.source, c.ev, nil)
			r.passTime(time.Hour)
			if c.heeded {
				if heard := strings.Join(r.heard, "|"); strings.Contains(heard, "Nada indica") {
					t.Errorf("heard %s", heard)
				}
				return
			}
			if c.source == "Bank" {
				r.wantHeard("15.0 Nada indica que el agente haya recibido su respuesta.", "19.5 Puede que no cuente.", "21.5 The question is: Pay $20.")
			} else {
				r.wantHeard("15.0 Bank: Nada indica que el agente haya recibido su respuesta.", "20.0 Puede que no cuente.", "22.0 The question is: Pay $20.")
			}
		})
	}
}

// Of a question that is gone without an answer of theirs no person is told that theirs did not
// arrive.
func TestGoneUnanswered(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	q := r.addEventOf("Bank", "sess_1", payQuestion(), "")
	r.passTime(30 * time.Second)
	r.heard = nil
	r.a.Settle(r.now, q)
	r.passTime(time.Hour)
	r.wantHeard()
	q = r.addEventOf("Bank", "sess_2", payQuestion(), "")
	r.passTime(25 * time.Second)
	r.wantQuestion(q, q) // and what was typed then was no answer
	r.passTime(20 * time.Second)
	r.heard = nil
	r.a.Settle(r.now, q)
	r.passTime(time.Hour)
	r.wantHeard()
}

// A person who answers while they are told that a question is open does not hear once more, after
// that, that it is.
func TestNoLongerWaits(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	q := r.addEventOf("Bank", "sess_1", payQuestion(), "")
	r.passTime(20 * time.Second)
	r.heard, r.began = nil, r.now
	r.a.WhatWaits(r.now)
	r.passTime(time.Second)
	r.wantQuestion(q, q)
	r.typeAnswer("y", nil)
	r.passTime(5 * time.Second)
	r.wantHeard("0.0 One question is open: Pay $20. /", "1.0 Answer sent: accept.")
}

// questionFor is Question without whose it is.
func questionFor(a *Announcer, began time.Time, d aaep.Decision) *aaep.Event {
	_, question := a.Question(began, d)
	return question
}

// What came of an answer is told once. One that was not sent leaves the question open, or, where
// that is gone, says so; nothing is awaited from it. D-36
func TestAnswered(t *testing.T) {
	late, unknown, cut, notSent := closes.ErrLate, closes.ErrUnknown, errors.New("the link is cut"), closes.ErrNotSent
	for name, tc := range map[string]struct {
		err   error
		gone  bool // Settle comes first
		anew  bool // and then the same question once more
		heard string
		open  bool
	}{
		"sent":                 {nil, false, false, "Answer sent: reject.|Nothing shows that the agent got your answer.|It may not count.|The question is: Pay $20.", false},
		"sent, and settled":    {nil, true, false, "Answer sent: reject.|Nothing shows that the agent got your answer.|It may not count.|The question is: Pay $20.", false},
		"late":                 {late, false, false, "The time to answer is over.|Your answer was not sent.", false},
		"late, and settled":    {late, true, false, "The time to answer is over.|Your answer was not sent.", false},
		"unknown":              {unknown, false, false, "The question is no longer open.", false},
		"unknown, and settled": {unknown, true, false, "The question is no longer open.", false},
		"cut":                  {cut, false, false, "Your answer may not have been sent.|It is not known whether the question is still open.", true},
		"cut, and gone":        {cut, true, false, "The question is no longer open.|Your answer may have arrived.", false},
		"not sent": {notSent, false, false,
			"The agent cannot be reached.|Your answer was not sent.|It is not known whether the question is still open.", true},
		"not sent, and gone": {notSent, true, false, "The question is no longer open.|Your answer was not sent.", false},
		"cut, and put anew":  {cut, true, true, "The question is no longer open.|Your answer may have arrived.|Decide: ", true},
		"nobody says what came of it, and it is put anew": {errUnsettled, true, true, "Decide: ", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
			q := r.addEventOf("Bank", "sess_1", payQuestion(), "")
			r.passTime(30 * time.Second)
			reply := r.a.Answer(r.now, r.now, "n")
			if reply == nil || reply.Question != q || reply.Decision != aaep.Reject {
				t.Fatalf("it is not put: %+v", reply)
			}
			r.heard = nil
			if tc.gone {
				r.a.Settle(r.now, q)
			}
			if tc.err != errUnsettled {
				r.a.Answered(r.now, reply, tc.err)
				r.a.Answered(r.now, reply, nil) // once
			}
			if tc.anew {
				q = r.addEventOf("Bank", "sess_1", payQuestion(), "")
			}
			r.passTime(28 * time.Second)
			if _, put := r.a.Question(r.now, aaep.Accept); (put == q) != tc.open {
				t.Errorf("it is open: %v, want %v", put == q, tc.open)
			}
			if got := strings.Join(r.heard, "|"); !heardBegins(got, tc.heard) {
				t.Errorf("heard %s, want %s", got, tc.heard)
			}
		})
	}
}

var errUnsettled = errors.New("")

// An agent may tell what comes of an answer before its sender knows that it was sent. Then that it
// was sent is told first, and cuts nothing; where it takes long, what comes of it is told alone.
func TestOutcomeBeforeSent(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		heard []string
	}{
		"at once": {10 * time.Millisecond, []string{"0.0 Answer sent: accept.", "1.5 Accepted, and being done: Pay."}},
		"late":    {2 * time.Second, []string{"1.0 Accepted, and being done: Pay."}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
			p := payQuestion()
			p.ExtraContext = json.RawMessage(`{"tool_call_id":"call_1"}`)
			r.addEventOf("Bank", "sess_1", p, "")
			r.passTime(30 * time.Second)
			reply := r.a.Answer(r.now, r.now, "y")
			if reply == nil {
				t.Fatal("the answer does not count")
			}
			r.heard, r.began = nil, r.now
			r.addEventOf("Bank", "sess_1", &aaep.ToolInvoked{ToolCallID: "call_1"}, "Pay.")
			r.passTime(c.after)
			r.a.Answered(r.now, reply, nil)
			r.passTime(10 * time.Second)
			r.wantHeard(c.heard...)
		})
	}
}

// heardBegins reports whether what was heard, without times, begins with this; and with nothing
// else, but for a question.
func heardBegins(heard, want string) bool {
	var all []string
	for _, s := range strings.Split(heard, "|") {
		_, s, _ = strings.Cut(s, " ")
		all = append(all, s)
	}
	got := strings.Join(all, "|")
	return got == want || strings.HasPrefix(got, want) && strings.HasSuffix(want, "Decide: ") && !strings.Contains(got, "Nothing shows")
}

// Of two agents each question says whose it is, whichever agent spoke last; so do its reminders,
// its time and what comes of it.
func TestWhoAsks(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, Answering: func(*aaep.Event) Words { return In("en", "Press y.") }})
	r.a.Follow("Ada")
	r.a.Follow("Ben") // who has said nothing
	r.addEventOf("Ada", "sess_1", &aaep.StateChanged{ToState: aaep.StateDeciding}, "Deciding what to pay.")
	r.passTime(10 * time.Second)
	asked := payQuestion()
	asked.TimeoutSeconds = 120
	q := r.addEventOf("Ada", "sess_1", asked, "") // who spoke last too
	r.passTime(30 * time.Second)
	if source, put := r.a.Question(r.now, aaep.Reject); source != "Ada" || put != q {
		t.Errorf("it is %q who asks", source)
	}
	r.addEventOf("Ada", "sess_1", &aaep.OutputStreaming{Chunk: "It is due today. ", OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
	r.passTime(70 * time.Second)
	r.addEventOf("Ada", "sess_1", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Not done.")
	r.addEventOf("Ada", "sess_1", &aaep.SessionCompleted{}, "All is settled.")
	r.passTime(10 * time.Second)
	all := strings.Join(r.heard, "|")
	for _, want := range []string{"Ada: Decide: Pay $20.", "Ada: The question is: Pay $20.", "Ada: The time to answer is almost over", "Ada: Not done.", "Ada: Done."} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not heard: %s", want, all)
		}
	}
}
