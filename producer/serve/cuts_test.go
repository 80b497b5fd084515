package serve_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

const speech = "Your plan is ready 👩🏽‍🌾! Ọjọ́ ìsinmi rẹ ti súnmọ́lé. It costs $3.14 a day. 了解しました。ありがとう。 The end"

// runFullSession runs a session with everything in it, at once: a listener with a rate has a
// backlog when the question comes.
func runFullSession(s *producer.Session) error {
	ctx := context.Background()
	out := s.Output()
	tokens := strings.SplitAfter(speech, " ")
	for i, token := range tokens {
		out.WriteString(token)
		if i%5 == 2 {
			s.Progress(aaep.Text{}, aaep.Progress{Percent: new(float64(i))}, 0)
		}
	}
	for range 3 {
		if _, err := s.Tool(ctx, look, succeed); err != nil {
			return fmt.Errorf("look: %w", err)
		}
	}
	if _, err := s.Tool(ctx, pay, succeed); err != nil {
		return fmt.Errorf("pay: %w", err)
	}
	out.Close()
	if v, err := s.AskNumber(ctx, producer.Question{Text: aaep.Say("Which day?")}); v != 3.0 {
		return fmt.Errorf("clarify: %v, %v", v, err)
	}
	return s.Complete(aaep.Say("Done."))
}

// cutOnce plays act to the real subscriber, whose first stream has a fault. It answers what it is
// asked.
func cutOnce(st *fixture, c aaep.Capabilities, f fault) ([]*aaep.Event, *proxy, error) {
	px := newProxy(st.t, st.addr, f)
	sub, err := dialThrough(px, c)
	if err != nil {
		return nil, px, err
	}
	defer sub.Close()
	s, err := st.p.StartSession(context.Background(), aaep.Say("Planning."))
	if err != nil {
		return nil, px, err
	}
	agent := make(chan error, 1)
	go func() { agent <- runFullSession(s) }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var evs []*aaep.Event
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			s.Close() // the agent does not wait
			return evs, px, errors.Join(err, <-agent)
		}
		evs = append(evs, ev)
		switch ev.Payload.(type) {
		case *aaep.AwaitingConfirmation:
			err = sub.Question(ev).Accept(ctx)
		case *aaep.AwaitingClarification:
			time.Sleep(500 * time.Millisecond) // a person takes longer, in which what the question overtook comes
			err = sub.Question(ev).AnswerNumber(ctx, 3)
		}
		if err != nil {
			return evs, px, fmt.Errorf("reply: %w", err)
		}
		if isOver(ev) {
			break
		}
	}
	if st, _ := sub.Status(); st.Subscribed != 1 {
		return evs, px, fmt.Errorf("subscribed %d times, want once", st.Subscribed)
	}
	return evs, px, <-agent
}

// TestCuts: wherever the stream is cut, nothing is missing, nothing comes twice, the text is whole
// and questions can be answered (INV-21, SSE-012, SSE-013, D-65, D-82).
func TestCuts(t *testing.T) {
	t.Run("fast", func(t *testing.T) { cutAtPoints(t, everything, 30, 46<<10, checkWhole) })
	t.Run("slow", func(t *testing.T) {
		cutAtPoints(t, replyTerms(20, aaep.BoundarySentence, aaep.BoundaryCompletion), 30, 20<<10, checkWhole)
	})
}

// TestCutsMissNothing: one without limits has every single event (SSE-013, TR-009).
func TestCutsMissNothing(t *testing.T) {
	whole, _, err := cutOnce(startFixture(t, producer.Config{}), everything, fault{})
	check(t, err)
	cutAtPoints(t, everything, 20, 40<<10, func(evs []*aaep.Event) error {
		if len(evs) != len(whole) {
			return fmt.Errorf("%d events, want %d", len(evs), len(whole))
		}
		return checkWhole(evs)
	})
}

// cutAtPoints runs runFullSession for as many listeners as there are points, and cuts each off at
// another one of the first length bytes.
func cutAtPoints(t *testing.T, c aaep.Capabilities, points, length int, check func([]*aaep.Event) error) {
	var all sync.WaitGroup
	for i := range points {
		f := fault{after: 1 + i*length/points, reset: i%3 == 1, keep: i%5 == 2}
		st := startFixture(t, producer.Config{})
		all.Go(func() {
			evs, px, err := cutOnce(st, c, f)
			gets := px.resumedAfter()
			switch {
			case err != nil:
			case len(gets) > 1 && gets[1] == "":
				err = checkCaughtUp(evs)
			default:
				err = check(evs)
			}
			if err != nil {
				t.Errorf("cut after %d bytes (%+v), resumed after %q: %v\n%s", f.after, f, gets, err, summarize(evs))
			}
			if len(gets) < 2 && i < points/2 {
				t.Errorf("not cut after %d bytes", f.after)
			}
		})
	}
	all.Wait()
}

func checkWhole(evs []*aaep.Event) error {
	if n := countType(evs, aaep.TypeToolInvoked) + countType(evs, aaep.TypeToolCompleted); n != 8 {
		return fmt.Errorf("%d tool events, want 8", n)
	}
	if n := countType(evs, aaep.TypeSessionStarted) + countType(evs, aaep.TypeSessionCompleted); n != 2 {
		return fmt.Errorf("%d beginnings and ends, want 2", n)
	}
	return errors.Join(checkOnce(evs), checkText(evs, speech))
}

// checkCaughtUp is for a listener who came back without having seen anything it could name (D-29,
// D-65).
func checkCaughtUp(evs []*aaep.Event) error {
	return checkOnce(evs)
}

// TestCutAfterOvertaking: the question overtakes what is held, and right after it the stream
// breaks. What was held still comes, the question once (D-82).
func TestCutAfterOvertaking(t *testing.T) {
	const asks = "agent.awaiting.confirmation"
	var all sync.WaitGroup
	for _, f := range []fault{{text: asks}, {text: asks, reset: true}, {text: asks, keep: true}} {
		st := startFixture(t, producer.Config{})
		px := newProxy(t, st.addr, f)
		sub := dialSubscriberThrough(t, px, replyTerms(5, aaep.BoundarySentence))
		s := st.startSession("Planning.")
		var looks sync.WaitGroup
		for range 4 { // tools at once, so that none waits for the other to be told
			looks.Go(func() { s.Tool(context.Background(), look, succeed) })
		}
		waitUntil(t, "the tools are told", func() bool { return st.p.Stats().Produced >= 7 })
		agent := runAsync(func() (string, error) {
			result, err := s.Tool(context.Background(), pay, succeed)
			looks.Wait()
			return result, errors.Join(err, s.Complete(aaep.Say("Done.")))
		})
		all.Go(func() {
			var replied error
			evs, err := readUntil(sub, func(ev *aaep.Event) bool {
				if ev.Type() == aaep.TypeAwaitingConfirmation {
					replied = sub.Question(ev).Accept(context.Background())
				}
				return isOver(ev)
			})
			if err = errors.Join(err, replied, checkOnce(evs)); err != nil {
				t.Errorf("%+v: %v\n%s", f, err, summarize(evs))
				s.Close()
				return
			}
			r := <-agent
			question := slices.IndexFunc(evs, isA(aaep.TypeAwaitingConfirmation))
			before := evs[:question]
			gets := px.resumedAfter()
			switch {
			case r.err != nil || r.value != "done":
				t.Errorf("%+v: the tool returned %q, %v", f, r.value, r.err)
			case countType(before, aaep.TypeToolInvoked) == 4 && countType(before, aaep.TypeToolCompleted) == 4:
				t.Logf("%+v: on a machine this slow nothing was overtaken: %s", f, summarize(evs))
			case len(gets) != 2 || gets[1] == "" || gets[1] == evs[question].EventID:
				t.Errorf("%+v: resumed after %q; the question is %s: %s", f, gets, evs[question].EventID, summarize(evs))
			case countType(evs, aaep.TypeToolInvoked) != 5 || countType(evs, aaep.TypeToolCompleted) != 5 ||
				countType(evs, aaep.TypeAwaitingConfirmation) != 1:
				t.Errorf("%+v: %s", f, summarize(evs))
			}
		})
	}
	all.Wait()
}

// TestManyCuts: one subscription lives through many cuts; the text of both sessions at once is
// whole.
func TestManyCuts(t *testing.T) {
	st := startFixture(t, producer.Config{})
	px := newProxy(t, st.addr)
	sub := dialSubscriberThrough(t, px, everything)
	var all sync.WaitGroup
	for i := range 2 {
		s := st.startSession(fmt.Sprint("Session ", i))
		all.Go(func() {
			out := s.Output()
			for _, r := range speech {
				out.WriteString(string(r))
				time.Sleep(10 * time.Millisecond)
			}
			out.Close()
			s.Complete(aaep.Say("Done."))
		})
	}
	heard := make(chan struct{}) // who has seen nothing goes on where the agent is (D-65)
	all.Go(func() {
		<-heard
		for range 4 {
			awaitStatus(t, sub, "connected", connected)
			time.Sleep(20 * time.Millisecond) // somewhere
			px.cutAll(false)
		}
	})
	over, first := 0, sync.Once{}
	evs := mustCollect(t, sub, func(ev *aaep.Event) bool {
		if ev.Type() == aaep.TypeOutputStreaming && ev.Payload.(*aaep.OutputStreaming).Position > 0 {
			first.Do(func() { close(heard) })
		}
		if isOver(ev) {
			over++
		}
		return over == 2
	})
	all.Wait()
	if err := errors.Join(checkOnce(evs), checkText(evs, speech, speech)); err != nil {
		t.Errorf("%v\n%s", err, summarize(evs))
	}
	if st, _ := sub.Status(); st.Subscribed != 1 {
		t.Errorf("subscribed %d times, want once", st.Subscribed)
	}
}

// TestMergedTextOnce: text that was merged under pressure left without an id, because another
// session's half sentence was held. Cut there, and resumed when there is no pressure, it must not
// be told again piece by piece (P6, INV-21).
func TestMergedTextOnce(t *testing.T) {
	t.Parallel() // it waits more than it works
	st := startFixture(t, producer.Config{})
	px := newProxy(t, st.addr, fault{text: `"chunk":"One. Two. "`, onlyOne: true})
	sub := dialSubscriberThrough(t, px, replyTerms(1,
		aaep.BoundarySentence)) // seconds go by before there is room for text
	a := st.startSession("A.")
	half := a.Output()
	half.WriteString("Half a sentence")
	b := st.startSession("B.") // and the budget is spent
	out := b.Output()
	for _, text := range []string{"One. ", "Two. ", "Three"} {
		out.WriteString(text)
	}
	awaitStatus(t, sub, "broken", broken)
	waitUntil(t, "the producer knows it too", func() bool { return !st.p.Subscriptions()[0].Connected })
	time.Sleep(1500 * time.Millisecond) // until the budget is whole again, which cannot be asked
	px.reopen()
	check(t, out.Close())
	check(t, b.Complete(aaep.Say("Done.")))
	check(t, a.Complete(aaep.Say("Done.")))
	over := 0
	evs := mustCollect(t, sub, func(ev *aaep.Event) bool {
		if isOver(ev) {
			over++
		}
		return over == 2
	})
	if err := errors.Join(checkOnce(evs), checkText(evs, "One. Two. Three", "Half a sentence")); err != nil {
		t.Errorf("%v\n%s", err, summarize(evs))
	}
}
