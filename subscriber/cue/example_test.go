package cue_test

import (
	"context"
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/haptictest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/cue"
)

// What a session feels like. With OpenFeedbackd in the Recorder's place, a telephone buzzes.
func Example() {
	device := &haptictest.Recorder{}
	out := cue.New(device)
	defer out.Close()
	ctx := context.Background()
	for _, u := range []announce.Utterance{
		{Text: "Planner started.", Kind: announce.News, Event: &aaep.Event{Payload: &aaep.SessionStarted{}}},
		{Text: "There are three flights.", Kind: announce.Output},
		{Text: "Book the first one?", Kind: announce.Question, Critical: true, Event: &aaep.Event{Payload: &aaep.AwaitingConfirmation{}}},
	} {
		if err := out.Present(ctx, u); err != nil {
			fmt.Println(err)
		}
	}
	for _, p := range device.Played() {
		fmt.Println(p.Pattern)
	}
	// Output:
	// started
	// needs_you
}
