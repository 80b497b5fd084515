package present_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// voice says two words a second, in virtual time, and keeps what it said.
type voice struct {
	mu      sync.Mutex
	said    []string
	fails   error         // the next time
	silence chan struct{} // the person's key
	breaks  chan struct{} // it is gone
}

func (v *voice) note(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.said = append(v.said, fmt.Sprintf(format, args...))
}

func (v *voice) lines() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.said)
}

func (v *voice) Present(ctx context.Context, u announce.Utterance) error {
	if v.fails != nil {
		return v.fails
	}
	v.note("%s", u.Text)
	select {
	case <-time.After(time.Duration(len(strings.Fields(u.Text))) * time.Second / 2):
		return nil
	case <-v.silence:
		v.note("silenced")
		return announce.ErrCut
	case <-v.breaks:
		return errors.New("the voice is gone")
	case <-ctx.Done():
		v.note("cut")
		return ctx.Err()
	}
}

func (v *voice) Speaks(string) bool { return true }
func (v *voice) Close() error       { return nil }

func event(p aaep.Payload, text string) *aaep.Event {
	return &aaep.Event{EventID: "evt_1", SessionID: "sess_1", Timestamp: time.Now(), Payload: p, Summary: aaep.Say(text)}
}

func answer(text string) *aaep.Event {
	return event(&aaep.OutputStreaming{Chunk: text, OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
}

// What is critical cuts what is being said; that is said again; the silence key ends one thing for
// good; the end of the context ends it all, and leaves nothing behind.
func TestPresenter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		v := &voice{silence: make(chan struct{})}
		p := present.New(announce.Preferences{})
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx, v) }()
		p.Add("Planner", answer("Four words are here. "))
		p.Add("Planner", answer("Four more are there. "))
		time.Sleep(3 * time.Second)
		p.Add("Planner", event(&aaep.SessionErrored{}, "It broke."))
		time.Sleep(3500 * time.Millisecond)
		v.silence <- struct{}{}
		p.Add("Planner", answer("The last one stays."))
		time.Sleep(time.Second)
		if s := p.Status(); len(s.Receipts) != 5 || s.Receipts[1].Outcome != announce.Cut || s.Receipts[0].Outcome != announce.Heard || s.Behind <= 0 {
			t.Errorf("Status = %+v", s)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
		want := []string{"Four words are here.", "Four more are there.", "cut", "Error.", "It broke.", "What came before:", "Four more are there.", "silenced", "The last one stays.", "cut"}
		if got := v.lines(); !slices.Equal(got, want) {
			t.Errorf("said %q, want %q", got, want)
		}
	})
}

// P10: an output that dies loses nothing: another one goes on with the same words.
func TestAnotherOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("the speech server died")
		p := present.New(announce.Preferences{})
		p.Add("Planner", answer("This must be heard. "))
		if err := p.Run(t.Context(), &voice{fails: gone}); !errors.Is(err, gone) {
			t.Fatalf("Run = %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		v := &voice{}
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx, v) }()
		time.Sleep(time.Minute)
		cancel()
		<-done
		if got := v.lines(); !slices.Equal(got, []string{"This must be heard."}) {
			t.Errorf("said %q", got)
		}
	})
}

// Commands come through while something is being said, and many may use a Presenter at once.
func TestCommandsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		v := &voice{}
		p := present.New(announce.Preferences{})
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx, v) }()
		p.Add("Planner", answer(strings.Repeat("word ", 60)+"end."))
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { p.Add("Planner", event(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(5.0)}}, "")) })
		}
		all.Wait()
		time.Sleep(time.Second)
		p.WhereAreWe()
		time.Sleep(time.Second)
		if got := v.lines(); len(got) < 3 || got[1] != "cut" || got[2] != "5 percent." {
			t.Errorf("said %q", got)
		}
		cancel()
		<-done
	})
}

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out := printer{done: make(chan struct{})} // speech.Open, orca.Open or braille.Open makes a real one
	p := present.New(announce.Preferences{Speaks: out.Speaks})
	p.Add("Planner", &aaep.Event{SessionID: "sess_1", Payload: &aaep.SessionStarted{}, Summary: aaep.Say("Planning your retirement.")})
	go p.Run(ctx, out)
	<-out.done
	// Output: Planning your retirement.
}

type printer struct{ done chan struct{} }

func (p printer) Present(_ context.Context, u announce.Utterance) error {
	fmt.Println(u.Text)
	close(p.done)
	return nil
}
func (printer) Speaks(string) bool { return true }
func (printer) Close() error       { return nil }
