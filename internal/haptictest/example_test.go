package haptictest_test

import (
	"context"
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/haptictest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/cue"
)

// A device with one pattern of its own: what is critical is felt as that, and the rest not at all.
func Example() {
	device := &haptictest.Recorder{Names: []string{"long_buzz"}}
	out := cue.New(device)
	defer out.Close()
	for _, u := range []announce.Utterance{
		{Text: "Planner started.", Kind: announce.News, Event: &aaep.Event{Payload: &aaep.SessionStarted{}}},
		{Text: "Book the first one?", Kind: announce.Question, Critical: true, Event: &aaep.Event{Payload: &aaep.AwaitingConfirmation{}}},
	} {
		if err := out.Present(context.Background(), u); err != nil {
			fmt.Println(err)
		}
	}
	for _, p := range device.Played() {
		fmt.Println(p.Pattern)
	}
	// Output: long_buzz
}
