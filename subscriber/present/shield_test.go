package present_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// fragile is a voice that panics once.
type fragile struct {
	voice
	broken bool
}

func (f *fragile) Present(ctx context.Context, u announce.Utterance) error {
	if !f.broken {
		f.broken = true
		panic("the driver is gone")
	}
	return f.voice.Present(ctx, u)
}

// An output that panics is gone, and nothing is lost: another, or the same once more, tells what it
// did not. A panic in what the person prefers leaves only that out. (P10)
func TestShield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &fragile{}
		p := present.New(announce.Preferences{
			Speaks:    func(string) bool { panic("which voice") },
			Otherwise: func(string) announce.Words { panic("otherwise") },
			Answering: func(*aaep.Event) announce.Words { panic("which key") },
			Unseen:    func() bool { panic("which keyboard") },
		})
		p.Add("Bank", event(&aaep.AwaitingConfirmation{Action: "Pay $5", Consequence: "It is gone.", ReplyToken: "rpl_1", TimeoutSeconds: 300,
			RiskLevel: aaep.RiskHigh, DefaultDecision: aaep.Reject}, ""))
		if err := p.Run(t.Context(), out); err == nil || !strings.Contains(err.Error(), "panic in Output.Present: the driver is gone") {
			t.Fatalf("Run = %v", err)
		}
		if q := meant(p, time.Now().Add(time.Hour), aaep.Accept); q != nil {
			t.Error("what was not heard can be accepted")
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		p.Run(ctx, out)
		if all := strings.Join(out.lines(), " "); !strings.Contains(all, "Pay $5") {
			t.Errorf("heard %q", all)
		}
		if q := meant(p, time.Now(), aaep.Accept); q == nil {
			t.Error("what was heard cannot be accepted")
		}
	})
}

// The zero Presenter is ready, and without an output there is an error at once.
func TestZeroPresenter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p present.Presenter
		p.Tell("Hello.", false)
		if err := p.Run(t.Context(), nil); err == nil {
			t.Error("Run presents over nothing")
		}
		v := &voice{}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		p.Run(ctx, v)
		if !slices.Equal(v.lines(), []string{"Hello."}) {
			t.Errorf("said %q", v.lines())
		}
	})
}

// hasty is an output that returns at once, as one does that hands text to a voice of its own.
type hasty struct{ voice }

func (h *hasty) Present(_ context.Context, u announce.Utterance) error {
	h.note("%s", u.Text)
	return nil
}

// A yes does not count before the words can have been heard, whatever the output says of it.
// (INV-03)
func TestHastyOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, out := present.New(announce.Preferences{}), &hasty{}
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- p.Run(ctx, out) }()
		p.Add("Bank", event(&aaep.AwaitingConfirmation{Action: "Pay five hundred dollars to the water company", Consequence: "The money moves at once and cannot be had back.",
			ReplyToken: "rpl_1", TimeoutSeconds: 300, RiskLevel: aaep.RiskHigh, DefaultDecision: aaep.Reject}, ""))
		time.Sleep(8 * time.Second)
		if q := meant(p, time.Now(), aaep.Accept); q != nil {
			t.Errorf("what takes a quarter of a minute to say can be accepted after eight seconds: %q", out.lines())
		}
		if q := meant(p, time.Now(), aaep.Reject); q == nil {
			t.Error("it cannot be rejected")
		}
		time.Sleep(30 * time.Second)
		if q := meant(p, time.Now(), aaep.Accept); q == nil {
			t.Error("it cannot be accepted half a minute later")
		}
		stop()
		<-over
	})
}

// meant is the question that an answer would be for which begins at a time.
func meant(p *present.Presenter, began time.Time, d aaep.Decision) (question *aaep.Event) {
	p.Plan(func(a *announce.Announcer, _ time.Time) { _, question = a.Question(began, d) })
	return question
}
