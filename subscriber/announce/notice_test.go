package announce

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// That an agent has ended, or is not followed any more, is said after its last words, whatever the
// person did meanwhile, and cuts none of them. Its progress is not said after that.
func TestEndIsToldAfterTheLastWords(t *testing.T) {
	ended := fmt.Errorf("it said so: %w", aaep.ProducerShutdown)
	says := map[string]func(a *Announcer, now time.Time){
		"Red: The agent has ended.":                func(a *Announcer, now time.Time) { a.Outage(now, "Red", ended) },
		"Red: The agent is not followed any more.": func(a *Announcer, now time.Time) { a.Leave(now, "Red", errors.New("cut")) },
	}
	for text, end := range says {
		for name, meanwhile := range map[string]func(r *room){
			"nothing":         func(*room) {},
			"a line":          func(r *room) { r.a.Rest(r.now) },
			"typing":          func(r *room) { r.a.Typing(r.now) },
			"another asks":    func(r *room) { r.askBriefly("Blue", "sess_2", "Pay five dollars.") },
			"it asks no more": func(r *room) { r.a.Settle(r.now, r.askBriefly("Red", "sess_1", "Pay five dollars.")) },
		} {
			r := newRoom(t, Preferences{})
			r.a.Follow("Blue")
			r.addEventOf("Red", "sess_1", &aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(90.0)}}, "")
			r.addEventOf("Blue", "sess_2", &aaep.ExtensionPayload{Type: "acme:news"}, "A long piece of news of another agent.")
			r.addEventOf("Red", "sess_1", &aaep.OutputStreaming{Chunk: "These are the very last words. And these", OutputID: "out_1",
				CoalesceHint: aaep.BoundaryNone}, "")
			r.passTime(500 * time.Millisecond)
			meanwhile(r)
			end(r.a, r.now)
			if r.a.isTyping {
				r.a.Rest(r.now)
			}
			r.passTime(time.Minute)
			if got := r.heardSince(text); name != "another asks" && got != text && got != text+"|Waiting for it to come back." {
				t.Errorf("%s: after %q: %q", name, text, got)
			}
			r.heardSince("And these")
			if i, last := indexOfHeard(r, text), indexOfHeard(r, "And these"); i < last {
				t.Errorf("%s: %q before the last words: %q", name, text, r.heard)
			}
		}
	}
}

// indexOfHeard is where a text was heard.
func indexOfHeard(r *room, text string) int {
	for i, line := range r.heard {
		if len(line) >= len(text) && (line[len(line)-len(text):] == text) {
			return i
		}
	}
	r.t.Fatalf("%q was not heard, but %q", text, r.heard)
	return 0
}

// An agent that is back before it could be said that it had ended has not ended. A person whose
// question went with their agent hears so at once.
func TestEndThatIsOver(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addSentence("These are words that take a while to say.")
	r.passTime(time.Second)
	r.a.Outage(r.now, "Planner", aaep.ProducerShutdown)
	r.a.Outage(r.now, "Planner", nil)
	r.passTime(time.Minute)
	r.wantHeard("0.0 These are words that take a while to say. /", "1.0 The connection to the agent is back.",
		"4.5 These are words that take a while to say.")
	r = newRoom(t, Preferences{})
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.addSentence("A reason. ")
	r.passTime(20 * time.Second)
	r.addSentence("The last words of all.")
	r.passTime(100 * time.Millisecond)
	r.a.Leave(r.now, "Planner", errors.New("cut"))
	r.passTime(time.Minute)
	r.wantSince("The question is no longer open.", "The last words of all.", "The agent is not followed any more.")
}

// That an agent is back, and whether anything is missing, is one announcement.
func TestBackAndWhole(t *testing.T) {
	lost := &aaep.Event{Payload: &aaep.ExtensionPayload{Type: aaep.TypeLost}}
	for want, back := range map[string]func(a *Announcer, now time.Time){
		"The connection to the agent is back.|Nothing is missing.": func(a *Announcer, now time.Time) {
			a.BackWhole(now, "Planner")
		},
		"The connection to the agent is back.|What was said meanwhile may be missing.": func(a *Announcer, now time.Time) {
			a.Outage(now, "Planner", nil)
			a.Add(now, "Planner", lost, nil)
		},
	} {
		r := newRoom(t, Preferences{})
		r.addSentence("Working.")
		r.passTime(time.Minute)
		r.a.Outage(r.now, "Planner", errors.New("cut"))
		r.passTime(time.Minute)
		n := len(r.heard)
		back(r.a, r.now)
		r.passTime(time.Minute)
		if heard := r.heardFrom(n); heard != want {
			t.Errorf("heard %q, want %q", heard, want)
		}
	}
}
