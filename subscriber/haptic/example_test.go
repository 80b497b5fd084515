package haptic_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/godbus/dbus/v5"

	"github.com/aaep-go/aaep/subscriber/cue"
	"github.com/aaep-go/aaep/subscriber/haptic"
)

// A telephone buzzes beside the words. Where there is no feedbackd, the words are all there is.
func Example() {
	device, err := haptic.OpenFeedbackd(context.Background(), haptic.FeedbackdOptions{
		Bus: func(context.Context) (*dbus.Conn, error) { return nil, errors.New("no bus here") },
	})
	if err != nil {
		fmt.Println("nothing is felt:", err)
		return
	}
	out := cue.New(device)
	defer out.Close()
	// Output: nothing is felt: haptic: no bus here
}
