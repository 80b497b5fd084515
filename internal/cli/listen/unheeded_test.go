package listen

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// swallowing loses the answers of a link, as what spreads requests over several agents does: their
// sender is told that all is well.
type swallowing struct{ transports.Conn }

func (c swallowing) Send(ctx context.Context, msg []byte) error {
	if bytes.Contains(msg, []byte(`"decision"`)) {
		return nil
	}
	return c.Conn.Send(ctx, msg)
}

// followPayment asks a listener about a payment that takes a minute.
func followPayment(t *testing.T, lossy bool, caps aaep.Capabilities, f func(k *questionSession)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		link := func(ctx context.Context) (transports.Conn, error) {
			conn, err := dial(ctx)
			if lossy && err == nil {
				conn = swallowing{conn}
			}
			return conn, err
		}
		listenTo(t, link, caps, func(e *testListener) {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			k := &questionSession{testListener: e, paid: make(chan error, 1)}
			go func() {
				_, err := s.Tool(t.Context(), producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Timeout: time.Minute,
					Action: aaep.Say("Pay $20 to Ada. Now."), Consequence: aaep.Say("The money is gone.")},
					func(context.Context) (string, error) { time.Sleep(time.Minute); return "", nil })
				k.paid <- err
			}()
			clitest.PassTime(15 * time.Second)
			e.screen.Reset()
			f(k)
			<-k.paid
		})
	})
}

const unheeded = "Nothing shows that the agent got your answer. It may not count."

// An agent that takes an answer says the same whatever becomes of it. That nothing comes of one is
// told once, by itself and to a person who asks, for the person believes that they decided; and no
// more when the agent has told what became of it. D-36
func TestAnswerUnheeded(t *testing.T) {
	followPayment(t, true, subscriber.ScreenReader("es", "en-US"),
		func(k *questionSession) { // the agent knows no Spanish
			k.typeLine("y")
			clitest.PassTime(14 * time.Second)
			k.wantShown("at first", "aaep: Respuesta enviada: aceptar.\n")
			clitest.PassTime(2 * time.Second)
			k.wantShown("then", "aaep: Nada indica que el agente haya recibido su respuesta. Puede que no cuente. The question is: Pay $20 to Ada. Now.\n")
		})
	followPayment(t, true, subscriber.ScreenReader("en-US"), func(k *questionSession) {
		k.typeLine("y")
		clitest.PassTime(14 * time.Second)
		k.wantShown("at first", "aaep: Answer sent: accept.\n")
		clitest.PassTime(2 * time.Second)
		k.wantShown("then", "aaep: "+unheeded+" The question is: Pay $20 to Ada. Now.\n")
		k.typeLine("y")
		k.wantShown("once more", "aaep: No question is open. What came of the last one: "+unheeded+"\n")
		clitest.PassTime(time.Minute)
		const outcome = "Nobody answered in time, so this was not done: Pay $20 to Ada. Now.\n"
		k.wantShown("when the time is over", warning+outcome)
		k.typeLine("y")
		k.wantShown("after that", "aaep: No question is open. What came of the last one: "+outcome)
	})
}

// No person is alarmed where the agent does what they said, however little of it they want to hear.
func TestAnswerHeeded(t *testing.T) {
	all := subscriber.ScreenReader("en-US")
	low, few := all, all
	low.CognitiveLoad = aaep.LoadLow
	few.EventFilters = &aaep.EventFilters{Include: []string{"aaep:agent.awaiting.*", "aaep:agent.session.*"}}
	for _, c := range []struct {
		about, types string
		caps         aaep.Capabilities
	}{{"everything", "", all}, {"low load", "", low}, {"few events", "", few}, {"quiet", "/quiet", all}} {
		t.Run(c.about, func(t *testing.T) {
			followPayment(t, false, c.caps, func(k *questionSession) {
				if c.types != "" {
					k.typeLine(c.types)
					clitest.PassTime(time.Second)
				}
				k.typeLine("y")
				clitest.PassTime(30 * time.Second)
				if got := k.screen.String(); !strings.Contains(got, "Answer sent: accept.") ||
					strings.Contains(got, unheeded) {
					t.Errorf("heard\n%s", got)
				}
			})
		})
	}
}
