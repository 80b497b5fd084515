package soak_test

import (
	"fmt"
	"strings"

	"github.com/aaep-go/aaep"
)

// story says what a listener heard of the states and the progress of a session, link by link,
// beside what the log has of them: an engineer who has to find out why a run failed cannot have the
// same run again.
func (tr *truth) story(terms aaep.Capabilities, notes []note, session string) string {
	var all strings.Builder
	line := func(ev *aaep.Event) {
		number := "not in the log"
		if at, _, ok := tr.Locate(ev.EventID); ok {
			number = fmt.Sprintf("number %d, %d bytes, form %x", int(at.Pos)-1, at.Offset, at.Form)
		}
		switch p := ev.Payload.(type) {
		case *aaep.StateChanged:
			fmt.Fprintf(&all, "\n    %s: %s to %s", number, p.FromState, p.ToState)
		default:
			fmt.Fprintf(&all, "\n    %s: %s", number, ev.Type())
		}
	}
	all.WriteString("the log has")
	for _, ev := range tr.events {
		if ev.SessionID == session && ev.Type() != aaep.TypeOutputStreaming && wants(terms, ev) {
			line(ev)
		}
	}
	for _, n := range notes {
		if n.Link != nil {
			at, _, _ := tr.Locate(n.Link.After)
			fmt.Fprintf(&all, "\nlink of %s, after number %d and %d bytes, goes on %v, kept %v", n.Link.Subscription,
				int(at.Pos)-1, at.Offset, n.Link.GoesOn, n.Link.Kept)
		}
		if ev, ok := decoded(n.Event); ok && ev.SessionID == session {
			line(ev)
			if n.Place == ev.EventID {
				all.WriteString(", a place")
			}
		}
	}
	return all.String()
}
