package serve_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// TestCatchUpFirst: the catch-up comes before what the session says then, also where it has to wait for its turn
// (INV-22, SSE-014).
func TestCatchUpFirst(t *testing.T) {
	st := start(t, producer.Config{})
	r := subscribe(t, st.addr, mute(terms(2, aaep.BoundarySentence)))
	first := r.open("")
	s := st.session("Planning.")
	defer s.Close()
	first.find(aaep.TypeStateChanged) // and the budget is spent
	again := r.open("evt_00000000000000000000000000000000")
	first.end()
	eventually(t, "the catch-up waits", func() bool { return st.p.Subscriptions()[0].Held == 1 })
	check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: 1}, 0))
	check(t, s.State(aaep.StateDeciding, aaep.Text{}))
	f, _ := again.next()
	if got := f.event(t); got.Type() != aaep.TypeStateChanged {
		t.Errorf("first comes %s, want the state", story([]*aaep.Event{got}))
	}
}

// lag subscribes, sees one event, is cut off, and misses n others.
func lag(t *testing.T, st *stage, n int) (*proxy, *producer.Session, *lagging) {
	px := newProxy(t, st.addr)
	sub := followThrough(t, px, everything)
	s := st.session("Planning.")
	l := &lagging{sub, mustCollect(t, sub, isA(aaep.TypeStateChanged))}
	px.cut(true)
	await(t, sub, "broken", broken)
	eventually(t, "the producer knows it too", func() bool { return !st.p.Subscriptions()[0].Connected })
	for i := range n {
		check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: int64(i + 1)}, 0))
	}
	return px, s, l
}

type lagging struct {
	*subscriber.Subscription
	seen []*aaep.Event
}

// TestResumeTooLate: the log no longer holds the place. The subscriber is told where the agent is now, and what it
// asks (INV-22, SSE-014, D-29).
func TestResumeTooLate(t *testing.T) {
	st := start(t, producer.Config{KeepEvents: 8})
	px, s, sub := lag(t, st, 20)
	agent := later(func() (string, error) { return s.Tool(context.Background(), pay, ok) })
	eventually(t, "the question is asked", func() bool { return st.p.Stats().Produced == 24 })
	px.let()
	var replied error
	evs := mustCollect(t, sub.Subscription, func(ev *aaep.Event) bool {
		if ev.Type() == aaep.TypeAwaitingConfirmation {
			replied = sub.Reply(context.Background(), ev, aaep.Accept)
		}
		return ev.Type() == aaep.TypeToolCompleted
	})
	check(t, replied)
	if want := "thinking>awaiting_input awaiting.confirmation awaiting_input>calling_tool pay pay:success"; story(evs) != want {
		t.Errorf("after the gap came %s, want %s", story(evs), want)
	}
	if r := wait(t, agent); r.err != nil {
		t.Error(r.err)
	}
	if err := checkOnce(append(sub.seen, evs...)); err != nil {
		t.Error(err)
	}
	if status, _ := sub.Status(); status.Subscribed != 1 || !status.Connected || status.Err != nil {
		t.Errorf("the status is %+v, want one subscription, connected", status)
	}
	s.Complete(aaep.Text{})
}

// TestLostIsSaid: whoever missed what the log no longer holds is told so where it is missing, and told the end of a session that ended
// meanwhile; once, in the one event that follows, and only where something was lost (P8).
func TestLostIsSaid(t *testing.T) {
	c := everything.With(aaep.Capabilities{SupportedExtensions: []string{extensions.DeliveryVocabulary.URI}})
	for keep, want := range map[int]string{
		2:   "aaep-go:events.lost session.completed session.started idle>thinking",
		100: "progress.updated progress.updated progress.updated session.completed session.started idle>thinking",
	} {
		st := start(t, producer.Config{KeepEvents: keep})
		px := newProxy(t, st.addr)
		sub := followThrough(t, px, c)
		s := st.session("Planning.")
		mustCollect(t, sub, isA(aaep.TypeStateChanged))
		px.cut(true)
		await(t, sub, "broken", broken)
		eventually(t, "the producer knows it too", func() bool { return !st.p.Subscriptions()[0].Connected })
		for i := range 3 {
			check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: int64(i + 1)}, 0))
		}
		check(t, s.Complete(aaep.Text{}))
		px.let()
		evs := mustCollect(t, sub, isOver)
		defer st.session("Again.").Close()
		if got := story(append(evs, mustCollect(t, sub, isA(aaep.TypeStateChanged))...)); got != want {
			t.Errorf("a log of %d events: told is %s, want %s", keep, got, want)
		}
	}
}

// TestResumeInTime is TestResumeTooLate with a log that is just long enough, and one that is one too short.
func TestResumeInTime(t *testing.T) {
	for keep, want := range map[int]string{6: "progress.updated", 5: "idle>thinking"} {
		st := start(t, producer.Config{KeepEvents: keep})
		px, s, sub := lag(t, st, 6)
		px.let()
		evs := mustCollect(t, sub.Subscription, func(*aaep.Event) bool { return true })
		if got := story(evs); got != want {
			t.Errorf("a log of %d events: first comes %s, want %s", keep, got, want)
		}
		check(t, s.Complete(aaep.Text{}))
		evs = append(evs, mustCollect(t, sub.Subscription, isOver)...)
		if n := map[int]int{6: 7, 5: 2}[keep]; len(evs) != n || checkOnce(evs) != nil {
			t.Errorf("a log of %d events: %s", keep, story(evs))
		}
	}
}

// TestUnknownLastEventID: an id we never made, one of another producer, and one that is none at all (D-65).
func TestUnknownLastEventID(t *testing.T) {
	st := start(t, producer.Config{})
	r := subscribe(t, st.addr, mute(everything))
	first := r.open("")
	s := st.session("Planning.")
	defer s.Close()
	known, _ := first.until(isA(aaep.TypeStateChanged))
	forged := known.id[:len(known.id)-1] + string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef", known.id[len(known.id)-1])+1)%16])
	for _, id := range []string{forged, "evt_00000000000000000000000000000000", "evt_", "42", "' OR 1=1 --", strings.Repeat("x", 4000)} {
		f, more := r.open(id).next()
		if !more || story([]*aaep.Event{f.event(t)}) != "idle>thinking" || f.id != "" {
			t.Errorf("after %.40q came %+v, want the state, without an id", id, f)
		}
	}
	check(t, s.State(aaep.StateDeciding, aaep.Text{}))
	if f, _ := r.open(known.id).next(); story([]*aaep.Event{f.event(t)}) != "thinking>deciding" {
		t.Errorf("after the known id came %+v", f)
	}
}

// TestNewStreamReplacesOld: the old one ends, and nothing is lost between the two (D-65).
func TestNewStreamReplacesOld(t *testing.T) {
	st := start(t, producer.Config{})
	r := subscribe(t, st.addr, mute(everything))
	streams := []*stream{r.open("")}
	s := st.session("Planning.")
	var evs []*aaep.Event
	last := ""
	out := s.Output()
	for range 20 {
		if _, err := out.WriteString("word "); err != nil {
			t.Fatal(err)
		}
		newest := streams[len(streams)-1]
		f, more := newest.next() // there are more, lost with the stream
		if !more {
			t.Fatal("the stream ended: ", newest.err)
		}
		evs, last = append(evs, f.event(t)), f.id
		streams = append(streams, r.open(last))
		newest.end()
	}
	check(t, out.Close())
	check(t, s.Complete(aaep.Text{}))
	_, before := streams[len(streams)-1].until(isOver)
	evs = append(evs, before...)
	if err := errors.Join(checkOnce(evs), checkText(evs, strings.Repeat("word ", 20))); err != nil {
		t.Errorf("%v: %s", err, story(evs))
	}
}
