package present_test

import (
	"cmp"
	"context"
	"fmt"

	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/transports"
)

var (
	dialer  transports.Dialer // such as sse.Dialer{URL: "http://127.0.0.1:8080"}
	device  present.Output    // what tells the person: a voice, a display, a motor
	yes, no <-chan struct{}   // two buttons
)

// Two buttons. A press is an answer to the one question that is put, and a yes counts only once the
// person had all of that over the device: until then they are told so, and nothing is sent.
func Example_twoButtons() {
	ctx := context.Background()
	asks := subscriber.Switch("en-US")
	asks.SupportsClarificationReply = new(false) // what wants more than a yes goes to others
	sub, err := subscriber.Dial(ctx, dialer, subscriber.Config{ID: "my-buttons", Capabilities: asks})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sub.Close()
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	person := present.New(announce.Preferences{})
	go func() { gone(person.Run(ctx, device)) }() // a device that dies ends it, instead of silence
	go func() {
		for {
			select {
			case <-yes:
				person.Answer("y")
			case <-no:
				person.Answer("n")
			}
		}
	}()
	if err := cmp.Or(present.Follow(ctx, sub, "Planner", person), context.Cause(ctx)); err != nil {
		fmt.Println(err)
	}
}
