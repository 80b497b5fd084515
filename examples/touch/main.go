// Command touch follows an agent for somebody who neither sees nor hears: words on a braille display, and what must not be missed
// felt as well. It shows how one subscription asks for what hands can follow and feeds two outputs, and how a device of your own
// becomes one of them: here it is the bell of the terminal.
//
//	go run ./examples/bank                               # an agent to follow
//	go run ./examples/touch http://127.0.0.1:8080        # needs BRLTTY with a display
//
// It only tells. For answering see examples/reader: the same lines go here.
package main

import (
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
	"github.com/aaep-go/aaep/subscriber/haptic"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/transports/sse"
)

// bell is a device with three patterns. A motor would run where this rings.
type bell struct{}

func (bell) Patterns() []string { return []string{haptic.NeedsYou, haptic.Done, haptic.Failed} }

func (bell) Play(_ context.Context, felt extensions.HapticData) error {
	_, err := fmt.Printf("\a%s\n", felt.Pattern)
	return err
}

func (bell) Close() error { return nil }

func main() {
	log.SetFlags(0)
	flag.Parse() // the address of one agent
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := follow(ctx, flag.Arg(0)); err != nil && ctx.Err() == nil {
		log.Fatal("touch: ", err)
	}
}

func follow(ctx context.Context, url string) error {
	display, err := braille.Open(ctx, braille.Config{})
	if err != nil {
		return err
	}
	defer display.Close()
	no := false
	wants := subscriber.Braille(display.Cells(), "en-US").With(aaep.Capabilities{SupportsConfirmationReply: &no, SupportsClarificationReply: &no})
	if err := wants.AddExtension(extensions.HapticVocabulary, extensions.Haptic{PatternsSupported: bell{}.Patterns()}); err != nil {
		return err
	}
	sub, err := subscriber.Dial(ctx, sse.Dialer{URL: url}, subscriber.Config{ID: "two-hands", Capabilities: wants})
	if err != nil {
		return err
	}
	defer sub.Close()

	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	var outputs []*present.Presenter
	for _, out := range []present.Output{display, haptic.New(bell{})} {
		p := present.New(announce.Preferences{Verbosity: aaep.VerbosityTerse, Speaks: out.Speaks})
		go func() { gone(p.Run(ctx, out)) }() // until the display is unplugged for good
		outputs = append(outputs, p)
	}
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		for _, p := range outputs {
			p.Add(sub.Accepted().Producer.AgentID, ev)
		}
	}
	return nil
}
