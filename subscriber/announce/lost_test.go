package announce

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// Whose agent's events were lost hears so in its place among what the agent says, in their own
// language, once while it waits; what was left of a sentence is said before it and not joined to
// what comes after it, and how the sessions of before are doing is not known.
func TestLostIsTold(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.a.SetLanguage("es")
	r.addEvent(&aaep.SessionStarted{}, "Planning.")
	r.addEvent(&aaep.OutputStreaming{Chunk: "The first half of ", OutputID: "out_1", CoalesceHint: aaep.BoundaryNone}, "")
	lost := &aaep.Event{EventID: "evt_lost", Timestamp: r.now, Summary: aaep.Say("Anything."), Payload: &aaep.ExtensionPayload{Type: aaep.TypeLost}}
	for range 2 {
		r.a.Add(r.now, "Planner", lost, Text(lost, aaep.VerbosityNormal))
	}
	r.a.WhereAreWe(r.now)
	r.addSentence("The end.")
	r.passTime(time.Minute)
	r.wantHeard("0.0 Planning. /", "0.0 Ahora no pasa nada.", "2.0 Planning.", "2.5 The first half of", "4.5 Puede faltar lo que se dijo mientras tanto.",
		"8.5 The end.")
}

// Of several agents it is said whose.
func TestLostOfOne(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.a.Follow("Bank")
	r.a.Add(r.now, "Planner", &aaep.Event{Payload: &aaep.ExtensionPayload{Type: aaep.TypeLost}}, nil)
	r.passTime(time.Minute)
	r.wantHeard("0.0 Planner: What was said meanwhile may be missing.")
}

// A question that cannot be read is told as that, in the person's language and no other words, once
// while it waits, and nothing else of the agent is forgotten.
func TestUnreadableQuestionIsTold(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.a.SetLanguage("es")
	r.addSentence("A sentence that is being said.")
	for range 2 {
		r.a.Add(r.now, "Planner", &aaep.Event{Summary: aaep.Say("Anything."), Unknown: json.RawMessage(`{"unreadable_question":true}`),
			Payload: &aaep.ExtensionPayload{Type: aaep.TypeLost}}, nil)
	}
	r.passTime(time.Minute)
	if heard := r.heardFrom(0); heard != "A sentence that is being said.|El agente pregunta algo que no se puede leer ni responder aquí." {
		t.Errorf("heard %q", heard)
	}
}
