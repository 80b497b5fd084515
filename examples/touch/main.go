// Command touch follows an agent for a user who neither sees nor hears: words on a braille
// display, and what must not be missed is felt as well. One subscription asks for what hands can
// follow and feeds two outputs, one of them a device of your own.
//
//	go run ./examples/bank                               # an agent to follow
//	go run ./examples/touch http://127.0.0.1:8080        # needs BRLTTY with a display
//
// When you are asked, type y or n, or use Enter and the full stop as two switches, which answer any
// question: Enter steps to the next answer, and "." with Enter selects it.
package main

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/braille"
	"github.com/aaep-go/aaep/subscriber/cue"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/transports/sse"
)

// bell is a device with three patterns. A motor would run where this rings.
type bell struct{}

func (bell) Patterns() []string { return []string{cue.NeedsYou, cue.Done, cue.Failed} }

// Play rings the terminal's bell, and prints which pattern it stands for.
func (bell) Play(_ context.Context, felt extensions.HapticData) error {
	_, err := fmt.Printf("\a%s\n", felt.Pattern)
	return err
}

func (bell) Close() error { return nil }

func main() {
	flag.Parse() // the address of one agent
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := follow(ctx, flag.Arg(0)); err != nil && ctx.Err() == nil {
		log.New(os.Stderr, "touch: ", 0).Fatal(err)
	}
}

// follow follows the agent at url on a braille display, and rings for what is felt, until the
// person stops it.
func follow(ctx context.Context, url string) error {
	display, err := braille.Open(ctx, braille.Options{}) // for contracted braille, with Tables: braille.DefaultTables()
	if err != nil {
		return err
	}
	defer display.Close()
	wants := subscriber.Braille(display.Cells(), "en-US")
	if err := wants.AddExtension(extensions.HapticVocabulary, extensions.Haptic{PatternsSupported: bell{}.Patterns()}); err != nil {
		return err
	}
	sub, err := subscriber.Dial(ctx, sse.Dialer{URL: url}, subscriber.Config{ID: "two-hands", Capabilities: wants})
	if err != nil {
		return err
	}
	defer sub.Close()
	fingers, wrist := present.New(announce.Preferences{Verbosity: aaep.VerbosityTerse, Speaks: display.Speaks}), present.New(announce.Preferences{})
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	go func() { gone(fingers.Run(ctx, display)) }() // until the display is unplugged for good
	go wrist.Run(ctx, cue.New(bell{}))
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			switch text := in.Text(); text { // no yes to what was not read to its end; they are told what comes of it
			case "":
				fingers.Answer(announce.Step)
			case ".":
				fingers.Answer(announce.Select)
			default:
				fingers.Answer(text)
			}
		}
	}()
	return cmp.Or(present.Follow(ctx, sub, "agent", fingers, wrist), context.Cause(ctx))
}
