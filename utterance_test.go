package aaep

import "testing"

// No person hears "blank": what has no words is not said, and what could hide is shown. The event
// that ends an output has none left.
func TestUtterance(t *testing.T) {
	for _, tt := range []struct {
		ev   Event
		want string
		ok   bool
	}{
		{Event{Payload: &OutputStreaming{OutputID: "o", Chunk: "Ready.\n"}}, "Ready.\n", true},
		{Event{Payload: &OutputStreaming{OutputID: "o", Complete: true}}, "", false},
		{Event{Payload: &OutputStreaming{OutputID: "o", Chunk: " \n\t"}}, " \n\t", false},
		{Event{Payload: &SessionCompleted{}, Summary: Say("Done\x1b[8m.")}, "Done<U+001B>[8m.", true},
	} {
		if got, ok := tt.ev.Utterance(VerbosityNormal); got != tt.want || ok != tt.ok {
			t.Errorf("%+v: %q, %v; want %q, %v", tt.ev.Payload, got, ok, tt.want, tt.ok)
		}
	}
}
