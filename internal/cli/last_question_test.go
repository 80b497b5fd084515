package cli

import (
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// Only an event that says how the question ended is told as its outcome.
func TestOutcomeOfTheLast(t *testing.T) {
	change := func(from, to aaep.State) *aaep.Event {
		return event(&aaep.StateChanged{FromState: from, ToState: to}, "So it is.")
	}
	other := change(aaep.StateAwaitingInput, aaep.StateThinking)
	other.SessionID = "another"
	for _, tt := range []struct {
		name string
		ev   *aaep.Event
		want string
	}{
		{"not done", change(aaep.StateAwaitingInput, aaep.StateThinking), "So it is."},
		{"done", change(aaep.StateAwaitingInput, aaep.StateCallingTool), ""},
		{"it still waits", change(aaep.StateAwaitingInput, aaep.StateAwaitingInput), ""},
		{"another state", change(aaep.StateCallingTool, aaep.StateThinking), ""},
		{"the end", event(&aaep.SessionCompleted{}, "Ready."), ""},
		{"cancelled", event(&aaep.SessionCancelled{}, "The account is closed."), "Cancelled. The account is closed."},
		{"another session", other, ""},
	} {
		b := lastQuestion{}
		b.recordOutcome("", tt.ev)
		b.recordLeft(&announce.Asked{Event: event(pay(), "")})
		b.recordOutcome("", tt.ev)
		b.recordOutcome("", event(&aaep.SessionCancelled{}, "Later."))
		if want := tt.want; b.outcome != want && (want != "" || b.outcome != "Cancelled. Later.") {
			t.Errorf("%s: %q, want %q", tt.name, b.outcome, want)
		}
	}
}
