package announce

import (
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// A person who wants quiet until it is done hears questions, what comes of them, failures and the
// end, and how much was left out; that can be asked for, the text and the tools of it. Nothing is
// left out twice.
func TestQuietUntilDone(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, UntilDone: true})
	r.addEvent(&aaep.SessionStarted{}, "Planning a trip.")
	r.addEvent(&aaep.StateChanged{FromState: aaep.StateIdle, ToState: aaep.StateThinking}, "Thinking.")
	r.addSentence("I look at the trains. ")
	r.addSentence("There are two of them. ")
	r.addEvent(&aaep.ToolInvoked{ToolCallID: "call_1", Tool: "search"}, "Searching for trains.")
	r.addEvent(&aaep.ProgressUpdated{}, "Half of it is done.")
	r.addEvent(&aaep.ToolCompleted{ToolCallID: "call_1", Tool: "search", Status: aaep.ToolSuccess}, "Trains found.")
	r.passTime(time.Minute)
	if r.heard != nil {
		t.Errorf("heard %q, want nothing", r.heard)
	}
	r.addEvent(&aaep.ToolInvoked{ToolCallID: "call_2", Tool: "book"}, "Booking a seat.")
	r.addEvent(&aaep.ToolCompleted{ToolCallID: "call_2", Tool: "book", Status: aaep.ToolError}, "No seat is free.")
	r.passTime(time.Minute)
	if got := r.heardSince(""); got != "No seat is free." {
		t.Errorf("of a failure is heard %q", got)
	}
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(time.Minute)
	if !strings.Contains(r.heardSince(""), "Decide: Pay five dollars.") {
		t.Errorf("a question is not heard: %q", r.heardSince(""))
	}
	if !r.typeAnswer("y", nil) {
		t.Error("a yes to a question that was heard does not count")
	}
	r.passTime(time.Minute)
	r.heard = nil
	r.addEvent(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateCallingTool}, "Accepted.")
	r.passTime(time.Minute)
	if !strings.Contains(r.heardSince(""), "Accepted.") {
		t.Errorf("what comes of a question is not heard: %q", r.heardSince(""))
	}
	r.heard = nil
	r.addSentence("The trip is booked. ")
	r.addEvent(&aaep.SessionCompleted{}, "Your trip is ready.")
	r.passTime(time.Minute)
	if got := r.heardSince(""); got != "Done.|Your trip is ready.|5 lines left out." {
		t.Errorf("of the end is heard %q", got)
	}
	r.heard = nil
	r.a.Details(r.now)
	r.passTime(time.Minute)
	details := r.heardSince("")
	for _, text := range []string{"I look at the trains.", "There are two of them.", "Searching for trains.", "Booking a seat.", "The trip is booked."} {
		if strings.Count(details, text) != 1 {
			t.Errorf("of the details are heard %q, want once: %s", details, text)
		}
	}
	for _, text := range []string{"Thinking", "Half of it"} {
		if strings.Contains(details, text) {
			t.Errorf("of the details are heard %q, want not: %s", details, text)
		}
	}
	r.heard = nil
	r.addEvent(&aaep.SessionStarted{}, "Another trip.")
	r.addEvent(&aaep.SessionCancelled{}, "The other trip was cancelled.")
	r.passTime(time.Minute)
	if got := r.heardSince(""); got != "Cancelled.|The other trip was cancelled." {
		t.Errorf("of an end with nothing before it is heard %q", got)
	}
}

// Where the person is asked in the middle of an answer, what was left out before can be asked for,
// and the question comes again after it.
func TestQuietUntilDoneDetailsOfAQuestion(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, UntilDone: true})
	r.addEvent(&aaep.SessionStarted{}, "Planning a trip.")
	r.addSentence("The cheap train is full. ")
	r.askBriefly("Planner", "sess_1", "Pay fifty dollars.")
	r.passTime(time.Minute)
	r.heard = nil
	r.a.Details(r.now)
	r.passTime(time.Minute)
	if got := r.heardSince(""); !strings.Contains(got, "The cheap train is full.") ||
		!strings.Contains(got[strings.Index(got, "full."):], "Pay fifty dollars.") {
		t.Errorf("heard %q", got)
	}
}
