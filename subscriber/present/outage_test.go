package present_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// A person learns at once, and in their own language, that an agent is out of reach, or has ended,
// and that it is back; of several, which one. What was being said is cut for that, and said again.
func TestOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, p := &voice{}, present.New(announce.Preferences{})
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- p.Run(ctx, v) }()
		say := func(agent, text string) {
			p.Add(agent, &aaep.Event{SessionID: "sess_" + agent, Timestamp: time.Now(), Summary: aaep.Text{Normal: text}, Payload: &aaep.SessionStarted{}})
		}
		outages := func(agent string, all ...error) {
			p.Plan(func(a *announce.Announcer, now time.Time) {
				a.Follow(agent)
				for _, why := range all {
					a.Outage(now, agent, why)
				}
			})
			time.Sleep(time.Minute)
		}
		say("Bank", "Working on your savings.")
		synctest.Wait()
		outages("Bank", errors.New("cut"))
		p.SetLanguage("es-MX")
		outages("Bank", nil)
		say("Planner", "Planning.")
		time.Sleep(time.Minute)
		outages("Bank", errors.New("cut"))
		say("Bank", "These are my last words.")
		outages("Bank", fmt.Errorf("it said so: %w", aaep.ProducerShutdown))
		outages("Bank", fmt.Errorf("%w; %w", aaep.ProducerShutdown, &aaep.Rejection{Code: aaep.AuthenticationRequired}))
		stop()
		<-over
		if want := []string{"Working on your savings.", "cut",
			"The connection to the agent is interrupted.", "What it does now is told when it is back.", "Working on your savings.",
			"La conexión con el agente ha vuelto.", "Planner: Planning.",
			"Bank: La conexión con el agente está interrumpida.", "Lo que haga ahora se dirá cuando vuelva.",
			"Bank: These are my last words.", "Bank: El agente ha terminado.", "Esperando a que vuelva.",
			"Bank: El agente rechaza sus credenciales.", "Lo que haga se volverá a decir cuando acepte estas u otras nuevas."}; !slices.Equal(v.lines(), want) {
			t.Errorf("said %q, want %q", v.lines(), want)
		}
	})
}
