package present_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// A Presenter that was never made is an error where there is one to return, and else nothing
// happens: nothing panics, and nothing waits.
func TestNilPresenter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *present.Presenter
		for name, err := range map[string]error{
			"Run":             p.Run(t.Context(), &voice{}),
			"RunAgain":        p.RunAgain(t.Context(), &voice{}, func(context.Context) (present.Output, error) { return nil, io.EOF }, nil),
			"Walk":            p.Walk("line", false),
			"Find":            p.Find("text", false),
			"WriteTranscript": p.WriteTranscript(io.Discard),
			"Answer":          <-present.Answer(time.Time{}, "y", p),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		p.Add("Bank", answer("Hello. "))
		p.Plan(func(*announce.Announcer, time.Time) { t.Error("there is no Announcer to use") })
		p.Answer("y")
		p.Answer(announce.Step)
		p.TakeOver(p)
		present.MoreTime(p)
		present.New(announce.Preferences{}).TakeOver(p)
		if _, question, _, _ := p.OpenQuestion(); question != nil || p.Presents() || p.Status().Behind != 0 || present.Pace(0, p) != 0 {
			t.Error("it has something")
		}
		if err := present.AwaitTold(t.Context(), time.Second, p); err != nil {
			t.Error(err)
		}
	})
}
