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

// TestCatchUpFirst: the catch-up comes before what the session says then, also where it has to wait
// for its turn (INV-22, SSE-014).
func TestCatchUpFirst(t *testing.T) {
	st := startFixture(t, producer.Config{})
	r := subscribeRaw(t, st.addr, withoutReplies(replyTerms(2, aaep.BoundarySentence)))
	first := r.openStream("")
	s := st.startSession("Planning.")
	defer s.Close()
	first.findType(aaep.TypeStateChanged) // and the budget is spent
	again := r.openStream("evt_00000000000000000000000000000000")
	first.readToEnd()
	waitUntil(t, "the catch-up waits", func() bool { return st.p.Subscriptions()[0].Held == 1 })
	check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: 1}, 0))
	check(t, s.State(aaep.StateDeciding, aaep.Text{}))
	f, _ := again.nextFrame()
	if got := f.decodeEvent(t); got.Type() != aaep.TypeStateChanged {
		t.Errorf("first comes %s, want the state", summarize([]*aaep.Event{got}))
	}
}

// missEvents subscribes, receives one event, is cut off, and misses n others.
func missEvents(t *testing.T, st *fixture, n int) (*proxy, *producer.Session, *laggingClient) {
	px := newProxy(t, st.addr)
	sub := dialSubscriberThrough(t, px, everything)
	s := st.startSession("Planning.")
	l := &laggingClient{sub, mustCollect(t, sub, isA(aaep.TypeStateChanged))}
	px.cutAll(true)
	awaitStatus(t, sub, "broken", broken)
	waitUntil(t, "the producer knows it too", func() bool { return !st.p.Subscriptions()[0].Connected })
	for i := range n {
		check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: int64(i + 1)}, 0))
	}
	return px, s, l
}

// laggingClient is a subscription that was cut off, and what it had received.
type laggingClient struct {
	*subscriber.Subscription
	seen []*aaep.Event
}

// TestResumeTooLate: the log no longer holds the place. The subscriber is told where the agent is
// now, and what it asks (INV-22, SSE-014, D-29).
func TestResumeTooLate(t *testing.T) {
	st := startFixture(t, producer.Config{KeepEvents: 8})
	px, s, sub := missEvents(t, st, 20)
	agent := runAsync(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
	waitUntil(t, "the question is asked", func() bool { return st.p.Stats().Produced == 24 })
	px.reopen()
	var replied error
	evs := mustCollect(t, sub.Subscription, func(ev *aaep.Event) bool {
		if ev.Type() == aaep.TypeAwaitingConfirmation {
			replied = sub.Question(ev).Accept(context.Background())
		}
		return ev.Type() == aaep.TypeToolCompleted
	})
	check(t, replied)
	if want := "thinking>awaiting_input awaiting.confirmation awaiting_input>calling_tool pay pay:success"; summarize(evs) != want {
		t.Errorf("after the gap came %s, want %s", summarize(evs), want)
	}
	if r := awaitResult(t, agent); r.err != nil {
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

// TestLostIsSaid: a listener that missed what the log no longer holds is told so where it is
// missing, and told the end of a session that ended meanwhile; once, in the one event that follows,
// and only where something was lost (P8).
func TestLostIsSaid(t *testing.T) {
	c := everything.With(aaep.Capabilities{SupportedExtensions: []string{extensions.DeliveryVocabulary.URI}})
	for keep, want := range map[int]string{
		2:   "aaep-go:events.lost session.completed session.started idle>thinking",
		100: "progress.updated progress.updated progress.updated session.completed session.started idle>thinking",
	} {
		st := startFixture(t, producer.Config{KeepEvents: keep})
		px := newProxy(t, st.addr)
		sub := dialSubscriberThrough(t, px, c)
		s := st.startSession("Planning.")
		mustCollect(t, sub, isA(aaep.TypeStateChanged))
		px.cutAll(true)
		awaitStatus(t, sub, "broken", broken)
		waitUntil(t, "the producer knows it too", func() bool { return !st.p.Subscriptions()[0].Connected })
		for i := range 3 {
			check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: int64(i + 1)}, 0))
		}
		check(t, s.Complete(aaep.Text{}))
		px.reopen()
		evs := mustCollect(t, sub, isOver)
		defer st.startSession("Again.").Close()
		if got := summarize(append(evs, mustCollect(t, sub, isA(aaep.TypeStateChanged))...)); got != want {
			t.Errorf("a log of %d events: told is %s, want %s", keep, got, want)
		}
	}
}

// TestResumeInTime is TestResumeTooLate with a log that is just long enough, and one that is one
// too short.
func TestResumeInTime(t *testing.T) {
	for keep, want := range map[int]string{6: "progress.updated", 5: "idle>thinking"} {
		st := startFixture(t, producer.Config{KeepEvents: keep})
		px, s, sub := missEvents(t, st, 6)
		px.reopen()
		evs := mustCollect(t, sub.Subscription, func(*aaep.Event) bool { return true })
		if got := summarize(evs); got != want {
			t.Errorf("a log of %d events: first comes %s, want %s", keep, got, want)
		}
		check(t, s.Complete(aaep.Text{}))
		evs = append(evs, mustCollect(t, sub.Subscription, isOver)...)
		if n := map[int]int{6: 7, 5: 2}[keep]; len(evs) != n || checkOnce(evs) != nil {
			t.Errorf("a log of %d events: %s", keep, summarize(evs))
		}
	}
}

// TestUnknownLastEventID: an id we never made, one of another producer, and one that is none at all
// (D-65).
func TestUnknownLastEventID(t *testing.T) {
	st := startFixture(t, producer.Config{})
	r := subscribeRaw(t, st.addr, withoutReplies(everything))
	first := r.openStream("")
	s := st.startSession("Planning.")
	defer s.Close()
	known, _ := first.readUntil(isA(aaep.TypeStateChanged))
	forged := known.id[:len(known.id)-1] + string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef",
		known.id[len(known.id)-1])+1)%16])
	for _, id := range []string{forged, "evt_00000000000000000000000000000000", "evt_", "42", "' OR 1=1 --",
		strings.Repeat("x", 4000)} {
		f, more := r.openStream(id).nextFrame()
		if !more || summarize([]*aaep.Event{f.decodeEvent(t)}) != "idle>thinking" || f.id != "" {
			t.Errorf("after %.40q came %+v, want the state, without an id", id, f)
		}
	}
	check(t, s.State(aaep.StateDeciding, aaep.Text{}))
	if f, _ := r.openStream(known.id).nextFrame(); summarize([]*aaep.Event{f.decodeEvent(t)}) != "thinking>deciding" {
		t.Errorf("after the known id came %+v", f)
	}
}

// TestNewStreamReplacesOld: the old one ends, and nothing is lost between the two (D-65).
func TestNewStreamReplacesOld(t *testing.T) {
	st := startFixture(t, producer.Config{})
	r := subscribeRaw(t, st.addr, withoutReplies(everything))
	streams := []*stream{r.openStream("")}
	s := st.startSession("Planning.")
	var evs []*aaep.Event
	last := ""
	out := s.Output()
	for range 20 {
		if _, err := out.WriteString("word "); err != nil {
			t.Fatal(err)
		}
		newest := streams[len(streams)-1]
		f, more := newest.nextFrame() // there are more, lost with the stream
		if !more {
			t.Fatal("the stream ended: ", newest.err)
		}
		evs, last = append(evs, f.decodeEvent(t)), f.id
		streams = append(streams, r.openStream(last))
		newest.readToEnd()
	}
	check(t, out.Close())
	check(t, s.Complete(aaep.Text{}))
	_, before := streams[len(streams)-1].readUntil(isOver)
	evs = append(evs, before...)
	if err := errors.Join(checkOnce(evs), checkText(evs, strings.Repeat("word ", 20))); err != nil {
		t.Errorf("%v: %s", err, summarize(evs))
	}
}
