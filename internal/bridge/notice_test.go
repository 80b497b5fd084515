package bridge_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// What a bridge has to tell beside the answer, such as who allowed an action, is heard also where
// the session ends at once, by a listener who wants to hear little.
func TestNoticeIsHeard(t *testing.T) {
	p := bridgetest.NewProducer(t)
	theirs, ours := transports.Pipe()
	go p.ServeConn(ours)
	sub, err := subscriber.Dial(t.Context(), dialed{theirs}, subscriber.Config{ID: "reader",
		Capabilities: aaep.Capabilities{CognitiveLoad: aaep.LoadLow, MaxEventsPerSecond: 100}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	s, err := p.StartSession(t.Context(), aaep.Say("Clean up."))
	if err != nil {
		t.Fatal(err)
	}
	if err := bridge.AnnounceNotice(s, " It was answered in the editor: Allow. "); err != nil {
		t.Fatal(err)
	}
	s.Complete(aaep.Say("Done."))
	text := ""
	for ev, err := range sub.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk, ok := ev.Payload.(*aaep.OutputStreaming); ok {
			if text += chunk.Chunk; chunk.Language != "en" {
				t.Errorf("its language is %q", chunk.Language)
			}
		}
		if ev.Type() == aaep.TypeSessionCompleted {
			break
		}
	}
	if strings.TrimSpace(text) != "It was answered in the editor: Allow." {
		t.Errorf("it is told as %q", text)
	}
}

// A dialed is a link that is there.
type dialed struct{ transports.Conn }

func (d dialed) Dial(context.Context) (transports.Conn, error) { return d.Conn, nil }
