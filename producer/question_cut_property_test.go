package producer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/producer"
)

// A stateReader leaves out events that it knows by their ids, as the reader of docs/wire.md
// does, and knows what each session does and is waiting for.
type stateReader struct {
	t     *testing.T
	name  string
	seen  map[string]bool
	state map[string]aaep.State
	asks  map[string]*aaep.Event // by session: the question that is open as far as it knows
	over  map[string]bool
	asked map[aaep.ReplyToken]int
}

// noteEvent notes an event that it has not had before, and checks that a question comes while its
// session waits for input.
func (r *stateReader) noteEvent(ev *aaep.Event) {
	if r.seen[ev.EventID] {
		return
	}
	r.seen[ev.EventID] = true
	if q := r.asks[ev.SessionID]; q != nil && closes.Question(q, ev) {
		delete(r.asks, ev.SessionID)
	}
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		r.state[ev.SessionID] = p.ToState
	case *aaep.AwaitingConfirmation:
		if r.over[ev.SessionID] || r.state[ev.SessionID] != aaep.StateAwaitingInput {
			r.t.Errorf("%s: a question comes while the agent is %s", r.name, r.state[ev.SessionID])
		}
		r.asks[ev.SessionID] = ev
		r.asked[p.ReplyToken]++
	case *aaep.SessionCompleted, *aaep.SessionCancelled, *aaep.SessionErrored:
		r.over[ev.SessionID] = true
	}
}

// D-50, INV-21, INV-22, INV-24: wherever the streams are cut, whatever is lost on the way, at any
// rate and however far behind: a question comes behind the state that it belongs to, and what is
// open is known as open until it is settled.
func TestQuestionsAcrossCuts(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		seed := rand.Uint64()
		cfg := producer.Config{Grace: time.Hour, Languages: []string{"en-US", "es"}}
		bubbleWith(t, cfg, func(t *testing.T, st *stage) {
			askAcrossCuts(t, st, seed)
			if t.Failed() { // the end of the bubble ends the test
				t.Logf("the seed was %d", seed)
			}
		})
	}
}

// askAcrossCuts has two sessions ask and tell at random, by the seed, while the streams of five
// clients are cut, and checks what each client knows to be open.
func askAcrossCuts(t *testing.T, st *stage, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(n int) bool { return r.IntN(n) == 0 }
	type client struct {
		*stateReader
		*listener
		open   func(last string) *eventStream
		stream *eventStream
		taken  int
		last   string
		anew   bool
		terms  aaep.Capabilities
	}
	payer := st.listen(mayAnswer(allEvents()))
	var clients []*client
	for i := range 5 {
		c := &client{stateReader: &stateReader{t: t, name: fmt.Sprint("client ", i), seen: map[string]bool{},
			state: map[string]aaep.State{}, asks: map[string]*aaep.Event{}, over: map[string]bool{}, asked: map[aaep.ReplyToken]int{}},
			anew: i >= 3, terms: mayAnswer(termsWith([]int64{0, 1, 2, 10}[r.IntN(4)], aaep.BoundaryNone))}
		c.listener, c.open = st.listenResumable(c.terms)
		c.stream = c.open("")
		clients = append(clients, c)
	}
	take := func(c *client) {
		synctest.Wait()
		got := c.stream.arrivals()
		for _, ev := range eventsOf(got[c.taken:]) {
			c.noteEvent(ev)
		}
		c.taken = len(got)
		c.last = cmp.Or(c.stream.resumableID(), c.last)
	}
	cut := func(c *client) {
		take(c)
		c.stream.breakStream()
		time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		ended := false
		select {
		case <-c.served: // it was too slow
			ended = true
		default:
		}
		if ended || c.anew && c.last != "" {
			c.listener, c.open = st.listenResumable(resumeAfter(c.terms, c.last))
		}
		c.stream, c.taken = c.open(c.last), 0
	}
	sessions := []*producer.Session{st.startSession("Working."), st.startSession("Working too.")}
	time.Sleep(5 * time.Second)
	for _, c := range clients {
		take(c)
	}
	st.lose = func() (int, bool) { return r.IntN(30), pick(3) }
	open := map[string]<-chan result[string]{}
	var away []*client
	for range 120 {
		s := sessions[r.IntN(2)]
		switch what := r.IntN(20); {
		case what < 6:
			n := 1
			if pick(6) {
				n = 150
			}
			for range n {
				if done, err := s.Invoked(look); err == nil {
					done(nil)
				}
			}
		case what < 9:
			out := s.Output()
			requireNoError(t, errors.Join(writeText(out, "One. Two. Three."), out.Close()))
		case what < 10:
			requireNoError(t, s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{}))
		case what < 13:
			if open[s.ID()] == nil {
				open[s.ID()] = callLater(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
			}
		case what < 15:
			if paid := open[s.ID()]; paid != nil {
				for _, ev := range payer.events() {
					if q, is := ev.Payload.(*aaep.AwaitingConfirmation); is && ev.SessionID == s.ID() {
						payer.reply(q, []aaep.Decision{aaep.Accept, aaep.Reject}[r.IntN(2)])
					}
				}
				<-paid
				delete(open, s.ID())
			}
		case what < 17:
			time.Sleep(time.Duration([]int{1, 100, 1000, 20000}[r.IntN(4)]) * time.Millisecond)
		case what < 18:
			c := clients[r.IntN(len(clients))]
			take(c)
			c.stream.breakStream()
			away = append(away, c)
		default:
			if len(away) > 0 && pick(2) {
				cut(away[0])
				away = away[1:]
			} else {
				cut(clients[r.IntN(len(clients))])
			}
		}
		for _, c := range clients {
			take(c)
		}
	}
	st.lose = nil
	for _, c := range clients {
		cut(c)
	}
	// What is open is put before its turn to who is far behind, and stays open for them.
	time.Sleep(10 * time.Second)
	for _, c := range clients {
		take(c)
		for _, s := range sessions {
			paid := open[s.ID()]
			if _, asks := c.asks[s.ID()]; !asks && paid != nil && len(paid) == 0 {
				select {
				case <-c.served: // it was too slow, and comes again below
				default:
					t.Errorf("%s: a question is open, and it does not know", c.name)
				}
			}
		}
	}
	time.Sleep(time.Minute)
	for _, s := range sessions {
		s.Complete(aaep.Text{})
	}
	for _, paid := range open {
		<-paid
	}
	for range 5 { // until none was too slow
		time.Sleep(time.Hour)
		for _, c := range clients {
			if take(c); len(c.over) < len(sessions) {
				cut(c)
			}
		}
	}
	for _, c := range clients {
		take(c)
		if len(c.asks) > 0 || len(c.over) < len(sessions) {
			t.Errorf("%s: as far as it knows %d questions are open, and %d sessions over", c.name, len(c.asks), len(c.over))
		}
	}
}
