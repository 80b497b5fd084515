package producer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/schemas"
	"github.com/aaep-go/aaep/transports"
)

// An extension made outside this module: a pill dispenser that wants the names of medicines as its
// display can show them. Prefix, URI, what may be declared, what of it is honored and what that
// changes are one value.
func Example_extension() {
	medicine := handshake.Extension{
		Vocabulary: aaep.Vocabulary{Prefix: "med", URI: "https://pharmacy.example/med/v1"},
		Capability: schemas.MustCompile(`{"$defs": {"capability": {"type": "object", "required": ["letters"],
			"properties": {"letters": {"type": "integer", "minimum": 1}}}}}`, "capability"),
		Honor: func(asked json.RawMessage) handshake.Effect {
			var display struct{ Letters int }
			json.Unmarshal(asked, &display)
			return handshake.Effect{Data: func(_ *aaep.Event, data json.RawMessage) json.RawMessage {
				var pill struct{ Name string }
				if json.Unmarshal(data, &pill) != nil {
					return nil
				}
				letters := []rune(pill.Name)
				shown, _ := json.Marshal(map[string]string{"name": string(letters[:min(display.Letters, len(letters))])})
				return shown
			}}
		},
	}
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "nurse"}, Extensions: append(extensions.All(), medicine)})
	if err != nil {
		fmt.Println(err)
		return
	}

	var caps aaep.Capabilities
	caps.AddExtension(medicine.Vocabulary, map[string]int{"letters": 5})
	heard := showDispensed(p, caps)
	s, _ := p.StartSession(context.Background(), aaep.Say("Your pills.").With(medicine.Vocabulary, map[string]string{"name": "Ibuprofen"}))
	s.Complete(aaep.Say("Taken."))
	p.Shutdown(context.Background())
	<-heard
	// Output:
	// honored: {"letters":5}
	// Your pills. {"name":"Ibupr"}
	// Thinking.
	// Taken.
}

// showDispensed subscribes and shows what it gets.
func showDispensed(p *producer.Producer, caps aaep.Capabilities) <-chan struct{} {
	theirs, ours := transports.Pipe()
	go p.ServeConn(ours)
	heard := make(chan struct{})
	ctx := context.Background()
	ask, _ := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "dispenser", Capabilities: caps})
	theirs.Send(ctx, ask)
	go func() {
		defer close(heard)
		for {
			data, err := theirs.Receive(ctx)
			if err != nil {
				return
			}
			switch m, _ := aaep.Decode(data); m := m.(type) {
			case *aaep.SubscriptionAccepted:
				fmt.Printf("honored: %s\n", m.HonoredCapabilities.Extensions["med"])
			case *aaep.Event:
				fmt.Println(strings.TrimSpace(m.Text(aaep.VerbosityNormal) + " " + string(m.Extensions["med"])))
			}
		}
	}()
	p.WaitSubscriber(ctx)
	return heard
}
