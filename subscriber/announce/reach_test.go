package announce

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// askLasting has an agent ask for so many seconds.
func (r *room) askLasting(source, action string, seconds int64) *aaep.Event {
	p := payQuestion()
	p.Action, p.TimeoutSeconds, p.Consequence = action, seconds, "Gone."
	return r.addEventOf(source, "sess_"+source, p, "")
}

// A press that comes as the time of a question ends, before the next one can have been heard, was
// meant for the first: the person hears that it was too late for that, and then the next one, which
// takes no yes until they had it whole.
func TestPressAsTheTimeEnds(t *testing.T) {
	for name, pressAfter := range map[string]time.Duration{
		"during what came of it":   100 * time.Millisecond,
		"as the next one is named": 3000 * time.Millisecond,
	} {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		r.a.Follow("Blue")
		pay := r.askLasting("Red", "Pay for Red.", 60)
		blue := r.askLasting("Blue", "Pay for Blue.", 600)
		r.passTime(59 * time.Second)
		over := &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}
		r.addEventOf("Red", pay.SessionID, over, "Nobody answered in time.")
		r.passTime(pressAfter)
		if reply := r.a.Answer(r.now, r.now, "y"); reply != nil {
			t.Fatalf("%s: an answer to %v", name, reply.Question)
		}
		r.wantQuestion(nil, nil)
		r.passTime(30 * time.Second)
		r.wantSince("Red: The time to answer is over.", "Your answer was not sent.", "Blue: Decide: Pay for Blue.",
			"Consequence: Gone.", "Medium risk.", "You have about 9 minutes to answer.", "No answer: it will not be done.")
		r.wantQuestion(blue, blue)
	}
}

// The same press is for the question of an agent that went out of reach, where that gave way to
// another. After an answer that was sent, one that comes too soon is told as such.
func TestPressAsTheAgentIsLost(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.askLasting("Red", "Pay for Red.", 600)
	r.askLasting("Blue", "Pay for Blue.", 600)
	r.passTime(time.Minute)
	r.a.Outage(r.now, "Red", errors.New("cut"))
	r.passTime(time.Second)
	if reply := r.a.Answer(r.now, r.now, "n"); reply != nil {
		t.Fatalf("an answer to %v", reply.Question)
	}
	r.passTime(40 * time.Second)
	r.heardSince("Red: The agent cannot be reached.")
	if !r.typeAnswer("y", nil) {
		t.Fatalf("the answer to Blue is not sent; heard %q", r.heard)
	}
	r.a.Outage(r.now, "Red", nil)
	r.passTime(100 * time.Millisecond)
	if r.typeAnswer("y", nil) {
		t.Error("a second press is sent")
	}
	r.passTime(30 * time.Second)
	r.heardSince("Red: That came before the question could be read or heard.")
}

// That an answer was sent is said before that the agent of the next question is out of reach, also
// where its agent tells what came of it before the link says that it was sent.
func TestOutOfReachAfterAnAnswer(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	blue := r.askLasting("Blue", "Pay for Blue.", 600)
	r.askLasting("Red", "Pay for Red.", 600)
	r.a.Outage(r.now, "Red", errors.New("cut"))
	r.passTime(time.Minute)
	reply := r.a.Answer(r.now, r.now, "n")
	if reply == nil {
		t.Fatalf("the answer to Blue is not sent; heard %q", r.heard)
	}
	r.addEventOf("Blue", blue.SessionID, &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Not done.")
	r.passTime(10 * time.Millisecond)
	r.a.Answered(r.now, reply, nil)
	r.passTime(14 * time.Second)
	r.wantSince("Blue: Answer sent: reject.", "Blue: Not done.", "Red: The connection to the agent is interrupted.",
		"What it does now is told when it is back.", "Red: Decide: Pay for Red.")
}

// Of several that wait behind the one that is put, those of agents that can be reached come first,
// and no time is called out of one that could not be answered.
func TestOutOfReachComesLast(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.askLasting("Blue", "Pay for Blue.", 600)
	r.askLasting("Red", "Pay for Red.", 120)
	other := r.askLasting("Green", "Pay for Green.", 600)
	r.a.Outage(r.now, "Red", errors.New("cut"))
	r.passTime(100 * time.Second)
	for _, line := range r.heard {
		if len(line) > 9 && line[len(line)-9:] == " seconds." {
			t.Errorf("heard %q", line)
		}
	}
	if !r.typeAnswer("n", nil) {
		t.Fatalf("the answer to Blue is not sent; heard %q", r.heard)
	}
	r.passTime(14 * time.Second)
	r.wantQuestion(other, other)
}

// Outputs without words learn from the utterance that an agent is out of reach, has ended or is
// back, so that none of it feels as if the person were needed.
func TestLinkOfUtterance(t *testing.T) {
	for name, c := range map[string]struct {
		why  error
		want Link
	}{
		"a cut": {errors.New("cut"), LinkLost}, "an end": {aaep.ProducerShutdown, LinkLost}, "back": {nil, LinkBack},
	} {
		a, now := New(Preferences{}), time.Now()
		a.Follow("Planner")
		a.Outage(now, "Planner", c.why)
		a.Tell(now, "Something else.", true)
		links := map[string]Link{}
		for range 9 {
			do, _ := a.Next(now)
			if do.Say == nil {
				break
			}
			links[do.Say.Text] = do.Say.Link
			now = now.Add(10 * time.Second)
			a.Ended(now, do.Say.ID, Heard)
		}
		other := links["Something else."]
		delete(links, "Something else.")
		for text, link := range links {
			if link != c.want || other != "" {
				t.Errorf("%s: %q has the link %q, and another notice %q", name, text, link, other)
			}
		}
		if len(links) == 0 {
			t.Errorf("%s: nothing is said", name)
		}
	}
}

// When an agent is back, its question that is put is named once more: the person had it long ago.
// It is not where it was settled meanwhile, nor one that is being told anyway.
func TestQuestionNamedAfterAnOutage(t *testing.T) {
	reminder := "The question is: Pay for Red."
	for name, settled := range map[string]bool{"open": false, "settled meanwhile": true} {
		for _, reads := range []bool{false, true} {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, Answering: answerKeys, Reads: reads})
			pay := r.askLasting("Red", "Pay for Red.", 600)
			r.passTime(time.Minute)
			r.a.Outage(r.now, "Red", errors.New("cut"))
			r.passTime(time.Minute)
			r.a.BackWhole(r.now, "Red")
			r.passTime(500 * time.Millisecond)
			if settled {
				over := &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}
				r.addEventOf("Red", pay.SessionID, over, "Nobody answered in time.")
			}
			r.passTime(20 * time.Second)
			heard := r.heardSince("The connection to the agent is back.")
			if !settled && !strings.HasSuffix(heard, reminder+"|You have about 8 minutes to answer.|Press y or n.") ||
				settled && strings.Contains(heard, reminder) {
				t.Errorf("%s, reads %t: heard %s", name, reads, heard)
			}
		}
	}
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.askLasting("Red", "Pay for Red.", 600)
	r.a.Outage(r.now, "Red", errors.New("cut"))
	r.passTime(4 * time.Second)
	r.a.BackWhole(r.now, "Red")
	r.passTime(20 * time.Second)
	if heard := r.heardSince("Decide: Pay for Red."); strings.Contains(heard, reminder) {
		t.Errorf("a question that is being told is named twice: %s", heard)
	}
}

// What this program says about one of several agents has that agent in each sentence, for a line
// that shows one at a time; what it says about none of them has no one.
func TestWhoASentenceIsAbout(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addEventOf("Ash", "sess_1", &aaep.SessionStarted{}, "Paying.")
	r.addEventOf("Bob", "sess_2", &aaep.SessionStarted{}, "Reading.")
	r.passTime(10 * time.Second)
	r.a.Outage(r.now, "Bob", errors.New("cut"))
	r.a.Mention(r.now, "The settings are saved.")
	about := map[string]string{}
	for range 20 {
		if r.passTime(500 * time.Millisecond); r.voice != nil {
			about[r.voice.Text] = r.voice.About
		}
	}
	for text, want := range map[string]string{"Bob: The connection to the agent is interrupted.": "Bob",
		"What it does now is told when it is back.": "Bob", "The settings are saved.": ""} {
		if got, told := about[text]; !told || got != want {
			t.Errorf("%q is about %q, want %q: %q", text, got, want, about)
		}
	}
	pay := r.askLasting("Ash", "Pay for Red.", 600)
	r.passTime(300 * time.Millisecond)
	if r.voice == nil || r.voice.Event != pay || r.voice.About != "Ash" || r.voice.Source != "Ash" {
		t.Errorf("the question is %+v", r.voice)
	}
}
