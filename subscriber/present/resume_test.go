package present_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// stoppable is a voice of a program that may be stopped.
type stoppable struct {
	voice
	resume func()
}

func (s *stoppable) OnResume(do func()) { s.resume = do }

// When a program goes on after it was stopped, the question that is put is put anew over all
// outputs of the person, also those that know nothing of it, and no yes counts before it was told.
func TestResumedProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bank := newAgent(t, "Bank")
		agents := map[string]*agentOf{"Bank": bank}
		l := listen(t, false, nil)
		defer l.end(agents)
		lines, out, over := present.New(announce.Preferences{}), &stoppable{}, make(chan error, 1)
		go func() { over <- lines.Run(l.ctx, out) }()
		sub, err := subscriber.Dial(t.Context(), bank, config(false))
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		ended := make(chan error, 1)
		l.ended["Bank"] = ended
		go func() { ended <- present.Follow(l.ctx, sub, "Bank", l.Presenter, lines) }()
		did := bank.asks("Pay five dollars.")
		time.Sleep(time.Minute)
		out.resume()
		for _, at := range []time.Time{time.Now().Add(-time.Second), time.Now()} {
			if err := <-present.Answer(at, "y", l.Presenter, lines); err != present.ErrNotTaken {
				t.Errorf("a yes as it goes on: %v", err)
			}
		}
		time.Sleep(time.Minute)
		for name, said := range map[string][]string{"the voice": l.lines(), "the lines": out.lines()} {
			if n := strings.Count(strings.Join(said, "|"), "Decide: Pay five dollars."); n != 2 {
				t.Errorf("%s told the question %d times: %q", name, n, said)
			}
		}
		if err := <-present.Answer(time.Time{}, "y", l.Presenter, lines); err != nil || !<-did {
			t.Errorf("a yes once it was told again: %v", err)
		}
		l.stop()
		<-over
		if out.resume != nil {
			t.Error("it is still called after Run")
		}
	})
}
