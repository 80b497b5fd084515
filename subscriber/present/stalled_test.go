package present_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// stuckVoice presents for ever, whatever its ctx says, and never closes, until it is let go. It
// takes what does not begin with at.
type stuckVoice struct {
	voice
	at  string
	let chan struct{}
}

func (v *stuckVoice) Present(ctx context.Context, u announce.Utterance) error {
	if !strings.HasPrefix(u.Text, v.at) {
		return v.voice.Present(ctx, u)
	}
	v.note("%s", u.Text)
	<-v.let
	return nil
}

func (v *stuckVoice) Close() error {
	<-v.let
	return nil
}

// newStuckVoice returns one that is let go when the test ends.
func newStuckVoice(t *testing.T, at string) *stuckVoice {
	v := &stuckVoice{at: at, let: make(chan struct{})}
	t.Cleanup(func() { close(v.let) })
	return v
}

// Run does not wait for an output that ignores its ctx: neither once its ctx is done, nor where
// something critical has to be said, which another output then says first.
func TestOutputThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, stuck := present.New(announce.Preferences{}), newStuckVoice(t, "It goes on")
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx, stuck) }()
		p.Add("Planner", answer("It goes on. "))
		time.Sleep(time.Hour)
		p.Add("Planner", event(&aaep.SessionErrored{}, "It broke."))
		synctest.Wait()
		at := time.Now()
		if err := <-done; err == nil || ctx.Err() != nil || time.Since(at) != 10*time.Second {
			t.Fatalf("Run = %v after %v", err, time.Since(at))
		}
		other := &voice{}
		go func() { done <- p.Run(ctx, other) }()
		time.Sleep(time.Minute)
		if got := strings.Join(other.lines(), "|"); got != "Error.|It broke.|What came before:|It goes on." {
			t.Errorf("said %q", got)
		}
		cancel()
		<-done

		ctx, cancel = context.WithCancel(t.Context())
		go func() { done <- p.Run(ctx, stuck) }()
		p.Add("Planner", answer("It goes on. "))
		synctest.Wait()
		cancel()
		at = time.Now()
		if err := <-done; !errors.Is(err, context.Canceled) || time.Since(at) != 10*time.Second {
			t.Errorf("Run = %v after %v", err, time.Since(at))
		}
	})
}

// Lines that stay are not silenced: a terminal that its reader stopped, as by Ctrl-S, is not gone
// when a question comes.
func TestStoppedTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, stopped := present.New(announce.Preferences{Reads: true}), newStuckVoice(t, "It goes on")
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx, stopped) }()
		p.Add("Planner", answer("It goes on. "))
		synctest.Wait()
		p.Add("Planner", event(&aaep.SessionErrored{}, "It broke."))
		time.Sleep(time.Hour)
		if !p.Presents() {
			t.Errorf("Run = %v", <-done)
		}
		cancel()
		<-done
	})
}

// RunAgain closes an output that is gone, though its Close never returns, and tells on over another
// one, though opening that panics at first; once ctx is done it returns.
func TestRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, stuck, other := present.New(announce.Preferences{}), newStuckVoice(t, "It goes on"), &voice{}
		var notes []error
		attempts := 0
		open := func(context.Context) (present.Output, error) {
			switch attempts++; attempts {
			case 1:
				panic("no sound")
			case 2:
				return nil, errors.New("no sound")
			case 3:
				return nil, nil
			}
			return other, nil
		}
		done := make(chan error, 1)
		go func() { done <- p.RunAgain(ctx, stuck, open, func(gone error) { notes = append(notes, gone) }) }()
		p.Add("Planner", answer("It goes on. "))
		synctest.Wait()
		p.Add("Planner", event(&aaep.SessionErrored{}, "It broke."))
		time.Sleep(21 * time.Second)
		if p.Presents() {
			t.Error("the output that is gone presents")
		}
		if err := p.Run(ctx, other); err == nil {
			t.Error("Run takes over from RunAgain")
		}
		time.Sleep(time.Minute)
		if got := strings.Join(other.lines(), "|"); got != "Error.|It broke.|What came before:|It goes on." || !p.Presents() {
			t.Errorf("said %q", got)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("RunAgain = %v", err)
		}
		if len(notes) != 2 || notes[0] == nil || notes[1] != nil {
			t.Errorf("notes: %v", notes)
		}
		if err := p.RunAgain(t.Context(), nil, open, nil); err == nil {
			t.Error("no output is no error")
		}
	})
}

// Of two outputs one stands still: Follow returns five minutes after that, once the other has told
// all. An output that only shows what the other leaves out has told nothing; then Follow waits on,
// as for a display whose reader has not acknowledged.
func TestFollowWithAStalledOutput(t *testing.T) {
	for _, tells := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			bank := newAgent(t, "Bank")
			sub, err := subscriber.Dial(ctx, bank, config(true))
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			one, other, running := present.New(announce.Preferences{}), present.New(announce.Preferences{}), make(chan error, 2)
			out := present.Output(&voice{})
			if !tells {
				out = silentOutput{}
			}
			go func() { running <- one.Run(ctx, out) }()
			go func() { running <- other.Run(ctx, newStuckVoice(t, "Working.")) }()
			ended := make(chan error, 1)
			go func() { ended <- present.Follow(ctx, sub, "Bank", one, other) }()
			s, err := bank.StartSession(ctx, aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			at := time.Now()
			s.Complete(aaep.Say("Ready."))
			time.Sleep(time.Second)
			bank.Shutdown(ctx)
			if tells {
				if <-ended; time.Since(at) != 5*time.Minute {
					t.Errorf("Follow returned after %v", time.Since(at))
				}
			} else {
				time.Sleep(time.Hour)
				select {
				case <-ended:
					t.Error("Follow returned, and nothing was told")
				default:
				}
			}
			cancel()
			<-running
			<-running
		})
	}
}

// A voice that dies with words left, as the agent ends, says them once it is there again, before
// Follow returns; where it does not come back, that waits for a minute. Opening one that ignores
// its ctx holds up nothing once that is done, and what is opened then is closed.
func TestFollowWhileTheVoiceIsOpenedAgain(t *testing.T) {
	for _, comesBack := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			bank := newAgent(t, "Bank")
			sub, err := subscriber.Dial(ctx, bank, config(true))
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			p, first, second := present.New(announce.Preferences{}), &voice{breaks: make(chan struct{})}, &closingVoice{}
			let := make(chan struct{})
			open := func(context.Context) (present.Output, error) {
				if !comesBack {
					<-let
				}
				return second, nil
			}
			running, ended := make(chan error, 1), make(chan error, 1)
			go func() { running <- p.RunAgain(ctx, first, open, nil) }()
			go func() { ended <- present.Follow(ctx, sub, "Bank", p) }()
			s, err := bank.StartSession(ctx, aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			s.Complete(aaep.Say("Ready to be read."))
			synctest.Wait()
			first.breaks <- struct{}{}
			at := time.Now()
			bank.Shutdown(ctx)
			<-ended
			if said := strings.Contains(strings.Join(second.lines(), "|"), "Ready to be read."); said != comesBack {
				t.Errorf("said before Follow returned: %q", second.lines())
			}
			if took := time.Since(at); !comesBack && took != time.Minute {
				t.Errorf("Follow returned after %v", took)
			}
			cancel()
			<-running
			close(let)
			synctest.Wait()
			if second.closed != 1 {
				t.Errorf("what was opened was closed %d times", second.closed)
			}
		})
	}
}

// closingVoice counts how often it was closed.
type closingVoice struct {
	voice
	closed int
}

func (v *closingVoice) Close() error {
	v.closed++
	return nil
}

// silentOutput presents nothing, for others do.
type silentOutput struct{}

func (silentOutput) Present(context.Context, announce.Utterance) error { return announce.ErrLanguage }
func (silentOutput) Speaks(string) bool                                { return true }
func (silentOutput) Close() error                                      { return nil }

// What becomes of an answer that is given while another one is on its way is told, over whichever
// output it comes; the same answer, as by a key that is pressed twice, is one answer.
func TestAnswerBesideAnother(t *testing.T) {
	for _, overOther := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bank := newAgent(t, "Bank")
			bank.delay = 3 * time.Second
			agents := map[string]*agentOf{"Bank": bank}
			l := listen(t, false, nil)
			defer l.end(agents)
			felt, other := present.New(announce.Preferences{}), &voice{}
			over := make(chan error, 1)
			go func() { over <- felt.Run(l.ctx, other) }()
			defer func() { <-over }()
			sub, err := subscriber.Dial(t.Context(), bank, config(false))
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			ended := make(chan error, 1)
			l.ended["Bank"] = ended
			go func() { ended <- present.Follow(l.ctx, sub, "Bank", l.Presenter, felt) }()
			defer l.stop()
			second := l.Presenter
			if overOther {
				second = felt
			}
			did := bank.asks("Pay five dollars.")
			l.asked()
			time.Sleep(time.Minute)
			bank.stuck.Store(true)
			l.Answer("y")
			synctest.Wait()
			if err := <-present.Answer(time.Time{}, "yes", second); !errors.Is(err, present.ErrNotTaken) {
				t.Errorf("the same answer: %v", err)
			}
			time.Sleep(2 * time.Second)
			const refused = "You had answered before."
			if l.heard(refused) > 0 {
				t.Errorf("of the same answer: %q", l.lines())
			}
			if err := <-present.Answer(time.Time{}, "n", second); !errors.Is(err, present.ErrNotTaken) {
				t.Errorf("another answer: %v", err)
			}
			time.Sleep(5 * time.Second)
			if n := strings.Count(strings.Join(other.lines(), "|"), refused); n != 1 || l.heard(refused) != 1 || l.heard("This one was not sent.") != 1 {
				t.Errorf("of another answer: %q and %q", l.lines(), other.lines())
			}
			bank.stuck.Store(false)
			time.Sleep(time.Minute)
			l.Answer("y")
			if !<-did {
				t.Error("the answer that was given once more did not count")
			}
		})
	}
}

// feltOutput is one without words.
type feltOutput struct{ voice }

func (*feltOutput) Wordless() bool { return true }

// Who felt that there is a question has not had it: no yes counts by that, whichever output comes
// first.
func TestFeltIsNotHeard(t *testing.T) {
	for _, feltFirst := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			bank := newAgent(t, "Bank")
			sub, err := subscriber.Dial(ctx, bank, config(true))
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			speaks, feels, done := present.New(announce.Preferences{}), present.New(announce.Preferences{}), make(chan error, 3)
			go func() { done <- speaks.Run(ctx, newStuckVoice(t, "Decide")) }()
			go func() { done <- feels.Run(ctx, &feltOutput{}) }()
			go func() { done <- present.Follow(ctx, sub, "Bank", speaks, feels) }()
			did := bank.asks("Pay five dollars.")
			time.Sleep(time.Minute)
			outputs := []*present.Presenter{speaks, feels}
			if feltFirst {
				outputs = []*present.Presenter{feels, speaks}
			}
			if err := <-present.Answer(time.Time{}, "y", outputs...); !errors.Is(err, present.ErrNotTaken) {
				t.Errorf("a yes to what was only felt: %v", err)
			}
			if err := <-present.Answer(time.Time{}, "n", outputs...); err != nil || <-did {
				t.Errorf("a no: %v", err)
			}
			cancel()
			for range 3 {
				<-done
			}
			bank.Shutdown(context.Background())
		})
	}
}

// standIn presents what others do not; on says whether it does now.
type standIn struct {
	voice
	on atomic.Bool
}

func (s *standIn) Present(ctx context.Context, u announce.Utterance) error {
	if !s.on.Load() {
		return announce.ErrLanguage
	}
	return s.voice.Present(ctx, u)
}

// An output that takes the place of others tells what none of them had told, once, and not what one
// of them had.
func TestTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		one, other, screen := present.New(announce.Preferences{}), present.New(announce.Preferences{}), present.New(announce.Preferences{})
		shown, done := &standIn{}, make(chan error, 3)
		go func() { done <- one.Run(ctx, newStuckVoice(t, "Second")) }()
		go func() { done <- other.Run(ctx, newStuckVoice(t, "Third")) }()
		go func() { done <- screen.Run(ctx, shown) }()
		for i, text := range []string{"First. ", "Second. ", "Third. ", "Fourth. "} {
			ev := answer(text)
			ev.EventID = fmt.Sprint("evt_", i)
			for _, p := range []*present.Presenter{one, other, screen} {
				p.Add("Planner", ev)
			}
		}
		time.Sleep(time.Minute)
		failed := event(&aaep.SessionErrored{}, "It broke.")
		failed.EventID = "evt_9"
		for _, p := range []*present.Presenter{one, other, screen} {
			p.Add("Planner", failed)
		}
		time.Sleep(time.Minute)
		if one.Presents() || other.Presents() {
			t.Fatal("they present")
		}
		shown.on.Store(true)
		screen.TakeOver(one, other)
		time.Sleep(time.Minute)
		got := strings.Join(shown.lines(), "|")
		for text, n := range map[string]int{"First.": 0, "Second.": 0, "Third.": 1, "Fourth.": 1, "It broke.": 1} {
			if strings.Count(got, text) != n {
				t.Errorf("%s is told %d times: %q", text, strings.Count(got, text), got)
			}
		}
		cancel()
		for range 3 {
			<-done
		}
	})
}
