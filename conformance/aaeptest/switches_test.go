package aaeptest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/internal/hearing"
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
				go person.Run(ctx, fastVoice{aaeptest.Voice(h)})
				acts := make(chan act)
				go func() {
					defer quit()
					for {
						line, err := h.Next(ctx)
						var a act
						if err != nil || json.Unmarshal(line, &a) != nil || a.Quit {
							return
						}
						acts <- a
					}
				}()
				go pressFor(ctx, person, acts)
				return cmp.Or(present.Follow(ctx, sub, "Planner", person), context.Cause(ctx))
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

// pressFor presses the switches for what the suite wants, the newest of acts, as
// docs/conformance.md shows it.
func pressFor(ctx context.Context, person *present.Presenter, acts <-chan act) {
	var wanted act
	for {
		select {
		case <-ctx.Done():
			return
		case wanted = <-acts:
		case <-time.After(hearing.Bounce):
		}
		_, question, _, _ := person.OpenQuestion()
		if question == nil || question.EventID != wanted.EventID {
			continue
		}
		press := ""
		person.Plan(func(a *announce.Announcer, now time.Time) {
			press = a.PressFor(now, cmp.Or[any](wanted.Response, wanted.Decision))
		})
		if press != "" {
			person.Answer(press)
		}
	}
}

// fastVoice is as fast as a voice can be that is judged.
type fastVoice struct{ present.Output }

func (v fastVoice) Present(ctx context.Context, u announce.Utterance) error {
	if err := v.Output.Present(ctx, u); err != nil {
		return err
	}
	select {
	case <-time.After(u.Duration(1400)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
