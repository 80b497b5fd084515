package announce

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// threeAsked are questions of two agents, of which the first is put and was heard, and the others
// wait: one has a minute left.
func threeAsked(t *testing.T) (r *room, put *aaep.Event) {
	r = newRoom(t, Preferences{WordsPerMinute: voiceWPM, Answering: answerKeys})
	ask := func(source, action string, seconds int64) *aaep.Event {
		p := payQuestion()
		p.Action, p.TimeoutSeconds = action, seconds
		return r.addEventOf(source, "sess_"+action, p, "")
	}
	put = ask("Bank", "Pay five dollars.", 600)
	ask("Bank", "Close the account.", 90)
	ask("Shop", "Send it.", 600)
	r.passTime(40 * time.Second)
	r.wantQuestion(put, put)
	return r, put
}

// What names a question that waits is followed by the name of the one that is put, once, and no
// answer counts from the beginning of the one to the end of the other.
func TestAnotherQuestionIsNamed(t *testing.T) {
	r, put := threeAsked(t)
	r.heard = nil
	for !strings.Contains(strings.Join(r.heard, ""), "almost over") {
		r.passTime(100 * time.Millisecond)
	}
	for !strings.HasSuffix(r.heard[len(r.heard)-1], "Press y or n.") {
		r.wantQuestion(nil, nil)
		if r.passTime(100 * time.Millisecond); strings.HasSuffix(r.heard[len(r.heard)-1], "to answer.") {
			break
		}
	}
	r.wantQuestion(put, put)
	r.passTime(10 * time.Second)
	r.wantSince("Bank: The time to answer is almost over: you have about 30 seconds.", "The question is: Close the account.",
		"Bank: The question is: Pay five dollars.", "You have about 9 minutes to answer.", "Press y or n.")
}

// Where the person silences the name of the question that is put, it does not come again by itself,
// and their answer brings it.
func TestSilencedName(t *testing.T) {
	r, put := threeAsked(t)
	for !strings.Contains(r.heard[len(r.heard)-1], "Bank: The question is: Pay") {
		r.passTime(100 * time.Millisecond)
	}
	r.pressSilence()
	r.heard = nil
	r.passTime(10 * time.Second)
	r.wantQuestion(nil, nil)
	if len(r.heard) > 0 {
		t.Errorf("after it was silenced: heard %q", r.heard)
	}
	if r.typeAnswer("y", nil) {
		t.Error("an answer to what was named before is sent")
	}
	r.passTime(30 * time.Second)
	r.wantSince("Something else was said since the question, so that may not be for it.", "Bank: The question is: Pay five dollars.",
		"You have about 8 minutes to answer.", "Press y or n.")
	r.wantQuestion(put, put)
}

// An output that returns at once has named the question that is put when a voice can have said all
// that it was given.
func TestNamedByAnOutputThatReturnsAtOnce(t *testing.T) {
	r, put := threeAsked(t)
	voice := func() (heard []string) {
		for do, _ := r.a.Next(r.now); do.Say != nil; do, _ = r.a.Next(r.now) {
			heard = append(heard, do.Say.Text)
			r.a.Ended(r.now, do.Say.ID, Heard)
		}
		return heard
	}
	var heard []string
	for !strings.Contains(strings.Join(heard, "|"), "almost over") {
		r.now = r.now.Add(100 * time.Millisecond)
		heard = append(heard, voice()...)
	}
	if want := "Bank: The question is: Pay five dollars."; !strings.Contains(strings.Join(heard, "|"), want) {
		t.Fatalf("heard %q", heard)
	}
	for _, text := range heard[:3] {
		r.now = r.now.Add(r.a.speakingTime(In("en", text).countWords()))
	}
	r.now = r.now.Add(-time.Millisecond)
	r.wantQuestion(nil, nil)
	r.now = r.now.Add(time.Millisecond)
	r.wantQuestion(put, put)
}

// A text that was begun before another question was named is an answer to the one that it was begun
// for, also where it ends after that; a yes is not.
func TestTextBegunBeforeAnotherIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		asks   aaep.Payload
		text   string
		counts bool
	}{
		"a text": {&aaep.AwaitingClarification{Question: "Where to?", TimeoutSeconds: 600}, "To the house of my mother", true},
		"a yes":  {&aaep.AwaitingConfirmation{Action: "Pay five dollars.", TimeoutSeconds: 600}, "y", false},
	} {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		r.addEventOf("Bank", "sess_1", tc.asks, "")
		p := payQuestion()
		p.TimeoutSeconds = 70
		r.addEventOf("Shop", "sess_2", p, "")
		r.passTime(30 * time.Second)
		for !strings.Contains(r.heard[len(r.heard)-1], "The question is: Pay $20") {
			r.a.Typing(r.now)
			r.passTime(250 * time.Millisecond)
		}
		if reply := r.a.Answer(r.now, time.Time{}, tc.text); (reply != nil) != tc.counts {
			t.Errorf("%s that was begun before is sent: %v; heard %q", name, reply, r.heard)
		}
	}
}

// That another session waits for an answer names a question too. The question that is put is named
// again, and how long there is, which was told half a minute before, is not.
func TestAnotherSessionWaits(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	put := r.askBriefly("Bank", "sess_1", "Pay five dollars.")
	r.passTime(20 * time.Second)
	r.addEventOf("Shop", "sess_2", &aaep.StateChanged{FromState: aaep.StateThinking, ToState: aaep.StateAwaitingInput}, "Send it.")
	r.passTime(3 * time.Second)
	r.wantQuestion(nil, nil)
	r.passTime(20 * time.Second)
	r.wantQuestion(put, put)
	r.wantSince("Shop: Waiting for an answer: Send it.", "Bank: The question is: Pay five dollars.")
}

// What another agent says, and what comes of its question, names that agent: a yes is no answer to
// the question that is put until that was named again.
func TestAnotherAgentSpeaks(t *testing.T) {
	for name, add := range map[string]func(r *room){
		"an outcome": func(r *room) {
			r.addEventOf("Red", "sess_2", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")
		},
		"an outcome of another session": func(r *room) {
			r.addEventOf("Blue", "sess_2", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")
		},
		"its end": func(r *room) { r.addEventOf("Red", "sess_2", &aaep.SessionCompleted{}, "Done.") },
		"a failure": func(r *room) {
			r.addEventOf("Red", "sess_2", &aaep.SessionErrored{}, "Failed.")
		},
		"text": func(r *room) {
			r.addEventOf("Red", "sess_2", &aaep.OutputStreaming{Chunk: "Shall all be deleted? ", OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
		},
		"news": func(r *room) { r.addEventOf("Red", "sess_2", &aaep.ExtensionPayload{Type: "acme:news"}, "It rains.") },
	} {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		put := r.askBriefly("Blue", "sess_1", "Pay five dollars.")
		r.passTime(40 * time.Second)
		r.wantQuestion(put, put)
		r.heard = nil
		add(r)
		for range 50 {
			if r.passTime(100 * time.Millisecond); len(r.heard) > 0 {
				break
			}
		}
		r.wantQuestion(nil, nil)
		if r.typeAnswer("y", nil) {
			t.Errorf("%s: a yes that was begun when it was heard accepts the question of Blue; heard %q", name, r.heard)
		}
		r.passTime(30 * time.Second)
		r.wantQuestion(put, put)
		if heard := strings.Join(r.heard, "|"); !strings.HasSuffix(heard, "to answer.") || strings.Count(heard, "The question is: Pay five dollars.") > 2 {
			t.Errorf("%s: heard %q", name, r.heard)
		}
		if !r.typeAnswer("y", nil) {
			t.Errorf("%s: a yes after the name is not sent", name)
		}
	}
}

// An agent that goes on and on waits a while for an answer to the question of another, and then the
// question is named again from time to time, whole and not after each sentence.
func TestAnotherAgentGoesOn(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	put := r.askBriefly("Blue", "sess_1", "Pay five dollars.")
	for len(r.heard) == 0 || !strings.HasSuffix(r.heard[len(r.heard)-1], "not be done.") {
		r.addEventOf("Red", "sess_2", &aaep.OutputStreaming{Chunk: "This is a text of eight words. ", OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
		r.passTime(time.Second)
	}
	r.passTime(5 * time.Second)
	r.wantQuestion(put, put)
	for range 120 {
		r.addEventOf("Red", "sess_2", &aaep.OutputStreaming{Chunk: "This is a text of eight words. ", OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
		r.passTime(time.Second)
	}
	heard := strings.Join(r.heard, "|")
	if n := strings.Count(heard, "Blue: The question is"); n != 2 {
		t.Errorf("the question is named %d times in two minutes; heard %q", n, r.heard)
	}
	if n := strings.Count(heard, "Red: This"); n != 2 {
		t.Errorf("after each name of Blue, Red is named %d times; heard %q", n, r.heard)
	}
	if n := strings.Count(heard, "eight words"); n < 20 {
		t.Errorf("of the other are heard %d sentences", n)
	}
	for !strings.HasSuffix(r.heard[len(r.heard)-1], "to answer.") {
		r.passTime(100 * time.Millisecond)
	}
	r.passTime(8 * time.Second)
	r.wantQuestion(put, put)
}

// Whenever the question that is put is called to mind, what another agent says waits until the
// person had time to answer: its words would be what a yes is for.
func TestPauseAfterReminder(t *testing.T) {
	r := newRoom(t, Preferences{})
	q := r.askQuestion("Bank", "sess_1", "Pay $20.")
	r.addEventOf("Bank", "sess_1", &aaep.OutputStreaming{Chunk: "It is due today. ", OutputID: "out_1", CoalesceHint: aaep.BoundarySentence}, "")
	r.passTime(5 * time.Second)
	r.addEventOf("Coder", "sess_2", &aaep.OutputStreaming{Chunk: "It compiles. ", OutputID: "out_2", CoalesceHint: aaep.BoundarySentence}, "")
	reminded := func() bool {
		return slices.ContainsFunc(r.heard, func(line string) bool { return strings.HasSuffix(line, "Bank: The question is: Pay $20.") })
	}
	for !reminded() {
		r.passTime(time.Second)
	}
	r.passTime(15 * time.Second) // it takes half of that
	if last := r.heard[len(r.heard)-1]; strings.Contains(last, "Coder") {
		t.Errorf("at once after the question: %s", last)
	}
	if reply := r.a.Answer(r.now, r.now, "y"); reply == nil || reply.Question != q {
		t.Error("a yes to what was heard last does not count:", r.a.Refused())
	}
}
