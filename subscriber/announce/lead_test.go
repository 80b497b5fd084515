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
			r.answer("One line of it. ")
			r.say(&aaep.SessionErrored{}, "It broke.")
			for r.since("")[max(0, len(r.since(""))-len(tc.while)):] != tc.while {
				r.after(100 * time.Millisecond)
			}
			r.after(tc.after - 100*time.Millisecond)
			r.asked("Planner", "sess_2", "Pay five dollars.")
			r.after(time.Minute)
			got := r.since("It broke.")
			const want = "No answer: it will not be done.|What came before:|One line of it."
			if len(got) < len(want) || got[len(got)-len(want):] != want {
				t.Errorf("heard %s", got)
			}
		})
	}
}

// An answer that comes while the question is being said hears at once that it does not count, and
// why, and then the rest of the question, whole sentences; after that it counts, and nothing that
// is not so any more is heard. Keys that are pressed once more do not delay it.
func TestAnsweredInTheMiddle(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, Answering: key})
	q := r.asked("Planner", "sess_1", "Pay five dollars.")
	r.after(2500 * time.Millisecond)
	for range 3 {
		r.answers("y", nil)
		r.after(100 * time.Millisecond)
	}
	r.after(30 * time.Second)
	r.is(q, q)
	r.wantSince("Decide: Pay five dollars.", "Consequence: Gone. /", "You may not have heard all of it.", "Consequence: Gone.", "Low risk.",
		"You have about 10 minutes to answer.", "No answer: it will not be done.", "Press y or n.")
	if !r.answers("y", nil) {
		t.Error("a yes does not count")
	}
}

// The same holds for what comes within the second after a question is put, and where the question is
// said once more.
func TestAnsweredTooSoon(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.asked("Planner", "sess_1", "Pay five dollars.")
	r.after(500 * time.Millisecond)
	r.answers("n", nil)
	r.after(7 * time.Second)
	r.silence()
	r.answers("y", nil)
	r.after(time.Second)
	r.answers("y", nil) // once is enough
	r.after(6 * time.Second)
	r.answers("y", nil)
	r.after(30 * time.Second)
	r.wantSince("Decide: Pay five dollars. /", "That was typed before the question could be read.", "Decide: Pay five dollars.",
		"Consequence: Gone. (silenced)", "You may not have heard all of it.", "Decide: Pay five dollars.",
		"Consequence: Gone.", "Low risk. /", "You may not have heard all of it.", "Low risk.", "You have about 10 minutes to answer.", "No answer: it will not be done.")
}
