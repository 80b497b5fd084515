package listen

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// A scripted producer agrees to everything, extensions included, when it is let.
type scripted struct {
	got   chan aaep.Message // all that came
	let   chan struct{}     // lets one renegotiation be answered; closed, all
	short func(*aaep.Capabilities)
}

func newScripted() *scripted {
	s := &scripted{got: make(chan aaep.Message, 100), let: make(chan struct{}, 100)}
	close(s.let)
	return s
}

func (s *scripted) dial(context.Context) (transports.Conn, error) {
	a, b := transports.Pipe()
	go func() {
		defer close(s.got)
		defer b.Close()
		ctx := context.Background()
		var honored aaep.Capabilities
		for {
			data, err := b.Receive(ctx)
			if err != nil {
				return
			}
			m, err := aaep.Decode(data)
			if err != nil {
				panic(err)
			}
			s.got <- m
			switch m := m.(type) {
			case *aaep.SubscriptionRequest:
				honored = m.Capabilities
			case *aaep.SubscriptionRenegotiate:
				<-s.let
				honored = honored.With(m.Capabilities)
			default:
				return
			}
			if s.short != nil {
				s.short(&honored)
			}
			msg, err := aaep.Encode(&aaep.SubscriptionAccepted{SubscriptionID: "sub_1", AAEPVersion: aaep.Version,
				Producer: aaep.Agent{AgentID: "scripted"}, HonoredCapabilities: honored})
			if err != nil {
				panic(err)
			}
			if b.Send(ctx, msg) != nil {
				return
			}
		}
	}()
	return a, nil
}

// changes are the renegotiations that were asked for.
func (s *scripted) changes() (list []aaep.Capabilities) {
	for m := range s.got {
		if r, ok := m.(*aaep.SubscriptionRenegotiate); ok {
			list = append(list, r.Capabilities)
		}
	}
	return list
}

// A person who types is left alone, but for at most five minutes; the other extensions stay as they
// were.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		caps := subscriber.Braille(40, "en")
		caps.Extensions["delivery"] = json.RawMessage(`{"min_relevance":0.3}`)
		listenTo(t, s.dial, caps, func(e *testListener) {
			e.wantSaid("/quiet", "Quiet for 5 minutes, except for what cannot wait. /quiet off ends it.")
			e.wantSaid("/quiet off", "No longer quiet. What was held back follows.")
			e.wantSaid("/quiet on", "Quiet for 5 minutes, except for what cannot wait. /quiet off ends it.")
			e.wantSaid("/rate 1", "From now on: at most 1 event a second.")
			clitest.PassTime(quietTime)
			if got := e.err.String(); !strings.HasSuffix(got, "aaep: No longer quiet. What was held back follows.\n") {
				t.Errorf("after five minutes %q", got)
			}
			e.wantSaid("/quiet off", "It is not quiet.")
		})
		var got []string
		for _, c := range s.changes() {
			if c.MaxEventsPerSecond != 0 {
				continue
			}
			if len(c.SupportedExtensions) != 3 {
				t.Errorf("extensions %q, want the display's and this one", c.SupportedExtensions)
			}
			got = append(got, string(c.Extensions["delivery"]))
		}
		typing, not := `{"min_relevance":0.3,"presence":"user_typing","presence_expires_in":300}`,
			`{"min_relevance":0.3,"presence":"active"}`
		if want := []string{typing, not, typing, not}; !slices.Equal(got, want) {
			t.Errorf("asked for %q, want %q", got, want)
		}
	})
}

// While a person types, the agent holds back what can wait, and a question still comes. What was
// held follows.
func TestQuietAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			e.wantSaid("/quiet", "Quiet for 5 minutes, except for what cannot wait. /quiet off ends it.")
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			clitest.PassTime(time.Minute)
			if got := e.out.String(); got != "" {
				t.Errorf("while somebody types: %q", got)
			}
			answered := make(chan any, 1)
			go func() {
				answer, _ := s.AskText(t.Context(),
					producer.Question{Text: aaep.Say("Which file?")})
				answered <- answer
			}()
			clitest.PassTime(5 * time.Second)
			if got := e.out.String(); !strings.HasPrefix(got,
				"Question: Which file?\n") {
				t.Errorf("the question did not come first: %q", got)
			}
			e.wantSaid("mine", "Answer sent.")
			<-answered
			e.wantSaid("/quiet off", "No longer quiet. What was held back follows.")
			clitest.PassTime(5 * time.Second)
			if got := e.out.String(); !strings.HasSuffix(got, "\nThinking.\n") {
				t.Errorf("what was held back did not follow: %q", got)
			}
		})
	})
}

// Where an agent does not serve the extension, what it says waits here, but for what cannot; it is
// not asked for it again.
func TestQuietNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{Extensions: []handshake.Extension{}})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.Braille(40, "en-US"), func(e *testListener) {
			e.wantSaid("/skip", "There is nothing more to hear.")
			e.wantSaid("/quiet", "Quiet for 5 minutes, except for what cannot wait. /quiet off ends it.")
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			say := func(text string) {
				out := s.Output()
				out.Write([]byte(text))
				out.Close()
				clitest.PassTime(5 * time.Second)
			}
			say("One. ")
			if got := e.out.String(); got != "" {
				t.Errorf("while it is quiet: %q", got)
			}
			e.wantSaid("/quiet off", "No longer quiet. What was held back follows.")
			if got := e.out.String(); got != "Working.\nOne.\nThinking.\n" {
				t.Errorf("afterwards: %q", got)
			}
			e.wantSaid("/quiet", "Quiet for 5 minutes, except for what cannot wait. /quiet off ends it.")
			say("Two. ")
			say("Three. ")
			e.wantSaid("/newest", "2 lines left out. The newest: Thinking.")
			say("Four. ")
			e.wantSaid("/skip", "2 lines left out.")
			clitest.PassTime(quietTime)
			if got := e.out.String(); got != "Working.\nOne.\nThinking.\n" {
				t.Errorf("what was left out is told: %q", got)
			}
			e.wantSaid("/quiet off", "It is not quiet.")
			if isQuiet(e.l.agents[0].wanted) {
				t.Errorf("a new link would ask for %+v", e.l.agents[0].wanted)
			}
		})
	})
}
