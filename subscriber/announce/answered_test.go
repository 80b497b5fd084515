package announce

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// What shows that an agent has an answer is what it does in the session of that question; that nothing does is told once, to whoever
// answered. D-36
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
			p := pay()
			p.ExtraContext = json.RawMessage(`{"tool_call_id":"call_1"}`)
			q := r.from("Bank", "sess_1", p, "")
			r.after(30 * time.Second)
			r.is(q, q)
			r.heard, r.began = nil, r.now
			r.a.Settle(r.now, q)
			r.after(time.Second)
			r.a.Add(r.now, c.source, c.ev, nil)
			r.after(time.Hour)
			if c.heeded {
				if heard := strings.Join(r.heard, "|"); strings.Contains(heard, "Nada indica") {
					t.Errorf("heard %s", heard)
				}
				return
			}
			if c.source == "Bank" {
				r.want("15.0 Nada indica que el agente haya recibido su respuesta.", "19.5 Puede que no cuente.", "21.5 The question is: Pay $20.")
			} else {
				r.want("15.0 Bank: Nada indica que el agente haya recibido su respuesta.", "20.0 Puede que no cuente.", "22.0 The question is: Pay $20.")
			}
		})
	}
}

// Of a question that is gone without an answer of theirs nobody is told that theirs did not arrive.
func TestGoneUnanswered(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	q := r.from("Bank", "sess_1", pay(), "")
	r.after(30 * time.Second)
	r.heard = nil
	r.a.Settle(r.now, q)
	r.after(time.Hour)
	r.want()
	q = r.from("Bank", "sess_2", pay(), "")
	r.after(25 * time.Second)
	r.is(q, q) // and what was typed then was no answer
	r.after(20 * time.Second)
	r.heard = nil
	r.a.Settle(r.now, q)
	r.after(time.Hour)
	r.want()
}

// Whoever answers while they are told that a question is open does not hear once more, after that, that it is.
func TestNoLongerWaits(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	q := r.from("Bank", "sess_1", pay(), "")
	r.after(20 * time.Second)
	r.heard, r.began = nil, r.now
	r.a.WhatWaits(r.now)
	r.after(time.Second)
	r.is(q, q)
	r.a.Tell(r.now, "Sent.", true)
	r.a.Settle(r.now, q)
	r.after(5 * time.Second)
	r.want("0.0 One question is open: Pay $20. /", "1.0 Sent.")
}
