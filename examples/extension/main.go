// Command extension adds something to AAEP that AAEP does not know: progress that is heard as a
// rising tone. It shows how an extension is one value that says what a listener may declare, what
// of it is honored and what stands on events, and that it costs those who do not know it nothing.
//
//	go run ./examples/extension     # the agent and three who follow it, in one program; see docs/extensions.md
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"sync"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/schemas"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// The prefix and the URI are yours to choose; the URI is never fetched.
var vocabulary = aaep.Vocabulary{Prefix: "tone", URI: "https://tones.example/tone/v1"}

// A listener declares the highest tone that its user hears. The agent puts on an event how much is
// done, from 0 to 1, and each listener gets the tone for its own user.
var tone = handshake.Extension{
	Vocabulary: vocabulary,
	Capability: schemas.MustCompile(`{"$defs": {"hearing": {"type": "object", "required": ["max_hz"],
		"properties": {"max_hz": {"type": "number", "minimum": 100, "maximum": 20000}}}}}`, "hearing"),
	Honor: func(asked json.RawMessage) handshake.Effect {
		var hearing map[string]float64
		vocabulary.Read(asked, &hearing) // it has passed Capability
		return handshake.Effect{Data: func(_ *aaep.Event, data json.RawMessage) json.RawMessage {
			var done map[string]float64
			if data == nil || vocabulary.Read(data, &done) != nil {
				return nil
			}
			return fmt.Appendf(nil, `{"hz":%.0f}`, done["share"]*hearing["max_hz"])
		}}
	},
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "copier"}, Extensions: append(extensions.All(), tone)})
	if err != nil {
		log.Fatal(err)
	}
	var following sync.WaitGroup
	for name, hears := range map[string]float64{"Ada": 1000, "Bayo": 4000, "Chen": 0} {
		var wants aaep.Capabilities
		if hears > 0 { // else the subscriber does not know the extension
			if err := wants.AddExtension(vocabulary, map[string]float64{"max_hz": hears}); err != nil {
				log.Fatal(err)
			}
		}
		sub, err := subscriber.Dial(ctx, within{p}, subscriber.Config{ID: name, Capabilities: wants, NoReconnect: true})
		if err != nil {
			log.Fatal(err)
		}
		following.Go(func() {
			for ev := range sub.Events(ctx) {
				if ev != nil { // else the agent has ended
					fmt.Printf("%s: %s %s\n", name, ev.Text(aaep.VerbosityNormal), ev.Extensions[vocabulary.Prefix])
				}
			}
		})
	}
	if err := work(ctx, p); err != nil {
		log.Fatal(err)
	}
	p.Shutdown(ctx)
	following.Wait()
}

func work(ctx context.Context, p *producer.Producer) error {
	s, err := p.StartSession(ctx, aaep.Say("Copying four folders."))
	if err != nil {
		return err
	}
	for i := int64(1); i <= 4; i++ {
		text := aaep.Say(fmt.Sprintf("Folder %d of 4.", i)).With(vocabulary, map[string]float64{"share": float64(i) / 4})
		s.Progress(text, aaep.Progress{Step: i, TotalSteps: 4}, 0)
	}
	return s.Complete(aaep.Say("All is copied."))
}

// within reaches a producer of this program, in the place of a network.
type within struct{ *producer.Producer }

func (w within) Dial(context.Context) (transports.Conn, error) {
	near, far := transports.Pipe()
	go w.ServeConn(far)
	return near, nil
}
