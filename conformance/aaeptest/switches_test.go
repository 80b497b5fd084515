package aaeptest_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/hook"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// A program with two switches, which does with Step and Select alone what its user wants, is
// conformant: it answers every kind of question, also a long text in letters of another language.
// LVL-023, LVL-026
func TestTwoSwitches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := make(station)
		report, err := conformance.SubscriberRun{Listener: s, Level: 2, Subscriber: conformance.SubscriberFunc(
			func(ctx context.Context, h *conformance.Hook) error {
				ctx, quit := context.WithCancel(ctx)
				defer quit()
				sub, err := subscriber.Dial(ctx, s, subscriber.Config{ID: "two-switches", Capabilities: subscriber.Switch("en")})
				if err != nil {
					return err
				}
				defer sub.Close()
				person := present.New(announce.Preferences{})
				judged := &hook.Hook{Lines: h, Switches: true}
				go person.Run(ctx, judged.Output(nil))
				go func() { defer quit(); judged.Obey(ctx, sub, person) }()
				return present.Follow(ctx, sub, "Planner", person)
			})}.Prove(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range report.Results {
			if res.Verdict != conformance.Pass && res.Verdict != conformance.Skipped && res.Verdict != conformance.Deviation {
				t.Errorf("%s: %s %s\n%v", res.Case.ID(), res.Verdict, res.Seen, res.Evidence)
			}
		}
		if report.Verdict != conformance.Pass {
			t.Error(report.Summary())
		}
	})
}
