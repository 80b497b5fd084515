package announce

import (
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// What leads to what a session said before it failed is followed by that, also where a question
// comes in between.
func TestLeadIsFollowed(t *testing.T) {
	for name, tc := range map[string]struct {
		while string // the question comes
		after time.Duration
		want  []string
	}{
		"between": {"What came before:", 1400 * time.Millisecond, nil},
		"during":  {"One line of it.", 500 * time.Millisecond, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
			r.addSentence("One line of it. ")
			r.addEvent(&aaep.SessionErrored{}, "It broke.")
			for r.heardSince("")[max(0, len(r.heardSince(""))-len(tc.while)):] != tc.while {
				r.passTime(100 * time.Millisecond)
			}
			r.passTime(tc.after - 100*time.Millisecond)
			r.askBriefly("Planner", "sess_2", "Pay five dollars.")
			r.passTime(time.Minute)
			got := r.heardSince("It broke.")
			const want = "No answer: it will not be done.|What came before:|One line of it."
			if len(got) < len(want) || got[len(got)-len(want):] != want {
				t.Errorf("heard %s", got)
			}
		})
	}
}

// What came of a question whose session fails at once, as of an agent that gives up where no one
// answered, is told after the failure, and after words that lead to it; also where the person wants
// quiet.
func TestOutcomeBeforeFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		quiet bool
		want  []string
	}{
		"heard": {false, []string{"One line of it. /", "Error.", "Nothing was paid.", "What came before:", "Not done: Pay five dollars.",
			"One line of it."}},
		"quiet": {true, []string{"Not done: Pay five dollars. /", "Error.", "Nothing was paid.", "What came before:",
			"Not done: Pay five dollars."}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
			r.addEvent(&aaep.SessionStarted{}, "Looking at the bills.")
			r.passTime(time.Minute)
			r.a.Hush(tc.quiet)
			r.addSentence("One line of it. ")
			r.addEvent(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Not done: Pay five dollars.")
			r.addEvent(&aaep.SessionErrored{}, "Nothing was paid.")
			r.passTime(time.Minute)
			r.wantSince("Looking at the bills.", tc.want...)
		})
	}
}

// An answer that comes while the question is being said hears at once that it does not count, and
// why, and then the rest of the question, whole sentences; after that it counts, and nothing that
// is not so any more is heard. Keys that are pressed once more do not delay it.
func TestAnsweredInTheMiddle(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, Answering: answerKeys})
	q := r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(2500 * time.Millisecond)
	for range 3 {
		r.typeAnswer("y", nil)
		r.passTime(100 * time.Millisecond)
	}
	r.passTime(30 * time.Second)
	r.wantQuestion(q, q)
	r.wantSince("Decide: Pay five dollars.", "Consequence: Gone. /", "You may not have heard all of it.", "Consequence: Gone.", "Low risk.",
		"You have about 10 minutes to answer.", "No answer: it will not be done.", "Press y or n.")
	if !r.typeAnswer("y", nil) {
		t.Error("a yes does not count")
	}
}

// The same holds for what comes within the second after a question is put, and where the question
// is said once more.
func TestAnsweredTooSoon(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(500 * time.Millisecond)
	r.typeAnswer("n", nil)
	r.passTime(7 * time.Second)
	r.pressSilence()
	r.typeAnswer("y", nil)
	r.passTime(time.Second)
	r.typeAnswer("y", nil) // once is enough
	r.passTime(6 * time.Second)
	r.typeAnswer("y", nil)
	r.passTime(30 * time.Second)
	r.wantSince("Decide: Pay five dollars. /", "That came before the question could be read or heard.", "Decide: Pay five dollars.",
		"Consequence: Gone. (silenced)", "You may not have heard all of it.", "Decide: Pay five dollars.",
		"Consequence: Gone.", "Low risk. /", "You may not have heard all of it.", "Low risk.", "You have about 10 minutes to answer.", "No answer: it will not be done.")
}
