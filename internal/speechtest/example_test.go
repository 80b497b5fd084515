package speechtest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aaep-go/aaep/internal/speechtest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/speech"
)

// The person presses the silence key in the middle of a sentence.
func Example() {
	var server speechtest.Server
	defer server.Close()
	ctx := context.Background()
	out, err := speech.Open(ctx, speech.Options{Dial: server.Dial, Force: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer out.Close()
	time.AfterFunc(50*time.Millisecond, server.Silence)
	fmt.Println(out.Present(ctx, announce.Utterance{Text: "This sentence goes on for some seconds."}))
	for _, m := range server.Messages() {
		fmt.Printf("%s: heard to its end: %v\n", m.Text, m.Heard)
	}
	// Output:
	// announce: silenced before its end
	// This sentence goes on for some seconds.: heard to its end: false
}
