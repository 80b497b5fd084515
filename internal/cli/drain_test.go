package cli

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// INV-53: whoever is behind at the end is waited for, but not for ever, and not in silence.
func TestDrain(t *testing.T) {
	for _, tc := range []struct {
		name     string
		sessions int
		takes    time.Duration // at one event a second, three for each session
		says     string
	}{
		{"nobody is behind", 0, 0, ""},
		{"somebody is", 5, 14 * time.Second, "aaep: Waiting up to 30 seconds for whoever is behind to hear the end (1).\n"},
		{"for too long", 50, drainTime, "aaep: Waiting up to 30 seconds for whoever is behind to hear the end (1).\naaep: Somebody was still behind after 30 seconds, and did not hear the end.\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "agent"}})
				if err != nil {
					t.Fatal(err)
				}
				here, there := transports.Pipe()
				go p.ServeConn(there)
				request, err := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "reader",
					Capabilities: aaep.Capabilities{MaxEventsPerSecond: 1}})
				if err != nil {
					t.Fatal(err)
				}
				if err := here.Send(t.Context(), request); err != nil {
					t.Fatal(err)
				}
				go func() {
					for err := error(nil); err == nil; {
						_, err = here.Receive(context.Background())
					}
				}()
				synctest.Wait()
				for range tc.sessions {
					if _, err := p.StartSession(t.Context(), aaep.Say("Hello.")); err != nil {
						t.Fatal(err)
					}
				}
				var said strings.Builder
				began := time.Now()
				drain(t.Context(), p, &announcer{out: &said})
				if took := time.Since(began); took < tc.takes-time.Second || took > tc.takes+time.Second {
					t.Errorf("it took %v, want %v", took, tc.takes)
				}
				if said.String() != tc.says {
					t.Errorf("it says %q, want %q", said.String(), tc.says)
				}
				here.Close()
			})
		})
	}
}
