package present_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// chaoticOutput does with each utterance what chance says.
type chaoticOutput struct {
	r   *chance
	let <-chan struct{}
}

// chance is a source of random numbers for several goroutines.
type chance struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (c *chance) below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.IntN(n)
}

func (o *chaoticOutput) Present(ctx context.Context, _ announce.Utterance) error {
	switch o.r.below(40) {
	case 0:
		panic("the driver is gone")
	case 1:
		return errors.New("the output is gone")
	case 2:
		<-o.let
		return nil
	case 3:
		return announce.ErrLanguage
	case 4:
		return announce.ErrCut
	case 5:
		return nil
	}
	select {
	case <-time.After(time.Duration(o.r.below(5000)) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (o *chaoticOutput) Speaks(string) bool { return true }

func (o *chaoticOutput) Close() error {
	if o.r.below(4) == 0 {
		<-o.let
	}
	return nil
}

// Whatever the outputs of a person do, dying, hanging and panicking, and whatever the person types,
// questions can be answered, and their program ends when it is to.
func TestChaos(t *testing.T) {
	accepted := 0
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				accepted += testChaos(t, &chance{r: rand.New(rand.NewPCG(seed, 1))})
			})
		})
	}
	if accepted == 0 {
		t.Error("nothing was ever accepted")
	}
}

// testChaos lets twenty minutes pass, and returns how many questions were accepted.
func testChaos(t *testing.T, r *chance) (accepted int) {
	let := make(chan struct{})
	defer close(let)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	agent := newAgent(t, "Bank")
	agent.delay = time.Duration(r.below(3000)) * time.Millisecond
	sub, err := subscriber.Dial(ctx, agent, config(false))
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	var running sync.WaitGroup
	people := make([]*present.Presenter, 1+r.below(3))
	for i := range people {
		people[i] = present.New(announce.Preferences{})
		open := func(context.Context) (present.Output, error) {
			if r.below(3) == 0 {
				return nil, errors.New("it is not there")
			}
			return &chaoticOutput{r, let}, nil
		}
		running.Go(func() { people[i].RunAgain(ctx, &chaoticOutput{r, let}, open, nil) })
	}
	running.Go(func() { present.Follow(ctx, sub, "Bank", people...) })
	running.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			s, err := agent.StartSession(ctx, aaep.Say("Working."))
			if err != nil {
				return
			}
			s.Tool(ctx, producer.Tool{Name: "pay", Confirm: true, Risk: aaep.RiskMedium, Timeout: time.Minute,
				Action: aaep.Say(fmt.Sprintf("Pay %d dollars.", n)), Consequence: aaep.Say("It is done at once.")},
				func(context.Context) (string, error) { accepted++; return "", nil })
			s.Complete(aaep.Say("Ready."))
			time.Sleep(time.Duration(1+r.below(5)) * time.Second)
		}
	})
	for began := time.Now(); time.Since(began) < 20*time.Minute; {
		time.Sleep(time.Duration(r.below(8000)) * time.Millisecond)
		output := people[r.below(len(people))]
		switch r.below(12) {
		case 0:
			present.MoreTime(people...)
		case 1:
			output.TakeOver(people...)
		case 2:
			output.Typing()
		case 3:
			output.Answer("y")
		case 4:
			agent.cut()
		default:
			present.Answer(time.Time{}, []string{"y", "yes", "n", "hello", ""}[r.below(5)], people...)
		}
	}
	at := time.Now()
	cancel()
	running.Wait()
	if took := time.Since(at); took > 20*time.Second {
		t.Errorf("it ended after %v", took)
	}
	agent.Shutdown(context.Background())
	return accepted
}
