package sound_test

import (
	"context"
	"fmt"

	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/sound"
)

// A person hears a sound where a question waits or something failed, and no other, half as loud as
// their music.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, err := sound.Open(ctx, sound.Options{Volume: 50, Only: []string{sound.Question, sound.Failed}})
	if err == nil { // else no program here plays sounds
		defer out.Close()
		person := present.New(announce.Preferences{})
		go person.Run(ctx, out) // beside an output with words
	}
	fmt.Println(sound.Meanings())
	// Output: [question tool done failed lost]
}
