package announce_test

import (
	"fmt"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// An error interrupts an answer, which is said again from the last sentence that was heard whole.
// Package present does what this example does by hand.
func Example() {
	a := announce.New(announce.Preferences{})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tell := func(p aaep.Payload, text string) {
		ev := &aaep.Event{SessionID: "sess_1", Timestamp: now, Payload: p, Summary: aaep.Say(text)}
		a.Add(now, "Planner", ev, announce.Text(ev, aaep.VerbosityNormal))
	}
	tell(&aaep.OutputStreaming{Chunk: "One sentence. Another one.", Complete: true}, "")
	first, _ := a.Next(now)
	fmt.Println(first.Say.Text)
	a.Ended(now, first.Say.ID, announce.Heard)
	second, _ := a.Next(now)
	fmt.Println(second.Say.Text)

	tell(&aaep.SessionErrored{}, "The line went dead.")
	do, _ := a.Next(now)
	fmt.Println("cancel:", do.Cancel)
	a.Ended(now, second.Say.ID, announce.Waiting)
	for {
		do, _ := a.Next(now)
		if do.Say == nil {
			break
		}
		fmt.Println(do.Say.Text)
		a.Ended(now, do.Say.ID, announce.Heard)
	}
	// Output:
	// One sentence.
	// Another one.
	// cancel: true
	// Error.
	// The line went dead.
	// What came before:
	// Another one.
}
