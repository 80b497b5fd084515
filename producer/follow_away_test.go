package producer_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// Who listens is told, in their own words, that the agent cannot be heard for the time being, and
// when it can; at once where a question is open. No stream's place in the log moves.
func TestFollowAway(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
		edges[1].end() // so that it is the other that is away
		terms := mayAnswer(allEvents())
		terms.Languages = []string{"es"}
		l := edges[0].listen(terms)
		s := agent.startSession("Working.")
		for _, urgency := range []aaep.Urgency{aaep.UrgencyBackground, aaep.UrgencyCritical} {
			before := len(l.events())
			for _, away := range []bool{true, true, false, false} {
				c.away <- away
				if synctest.Wait(); edges[0].p.Stats().LogAway != away {
					t.Errorf("away %v, and its Stats say otherwise", away)
				}
				if edges[0].p.Ready() == away || !agent.p.Ready() {
					t.Errorf("away %v, ready %v, the agent %v", away, edges[0].p.Ready(), agent.p.Ready())
				}
			}
			var got []string
			for _, ev := range l.events()[before:] {
				got = append(got, fmt.Sprint(ev.Urgency, " ", ev.Text(aaep.VerbosityNormal)))
			}
			if want := []string{fmt.Sprint(urgency, " La conexión con el agente está interrumpida. Lo que haga ahora se dirá cuando vuelva."),
				fmt.Sprint(urgency, " La conexión con el agente ha vuelto.")}; !slices.Equal(got, want) {
				t.Errorf("told %q, want %q", got, want)
			}
			callTool(s, pay, &action{})
			synctest.Wait()
		}
	})
}

// Who is behind is told all the same, and then everything: a notice has no place in the log, and
// takes none from what it meets.
func TestFollowAwayBehind(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
		edges[1].end()
		terms := allEvents()
		terms.MaxEventsPerSecond = 1
		l := edges[0].listen(terms)
		s := agent.startSession("Working.")
		for i := range 50 {
			s.Progress(aaep.Say(fmt.Sprint(i)), aaep.Progress{Percent: new(float64(i))}, 0)
		}
		synctest.Wait()
		c.away <- true
		for i := range 50 {
			s.Progress(aaep.Say(fmt.Sprint(i)), aaep.Progress{Percent: new(float64(50 + i))}, 0)
		}
		c.away <- false
		s.Fail(errors.New("broken"), aaep.Say("Broken."))
		time.Sleep(time.Minute)
		evs := l.events()
		if n := len(payloadsOf[*aaep.SessionErrored](evs)); n != 1 {
			t.Errorf("told of the end %d times, in %d events", n, len(evs))
		}
	})
}

// Who begins to listen while the agent does not run is told so, once, and so is, where it has a
// session open, who listened before; and that it is back.
func TestFollowNotRunning(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
		const dead = "The agent is not running, or cannot be reached. What it does is told here when it is back."
		link := func(l *listener) (told []string) {
			for _, ev := range l.events() {
				if text := ev.Text(aaep.VerbosityNormal); strings.HasPrefix(text, "The connection to the agent") {
					told = append(told, text)
				}
			}
			return told
		}
		notes := func() string {
			_, acc := edges[0].listenAccepted(allEvents())
			return acc.NegotiationNotes
		}
		agent.startSession("Working.")
		early := edges[0].listen(allEvents())
		if got := notes(); strings.Contains(got, dead) {
			t.Errorf("while it runs: %q", got)
		}
		alive := c.agent
		time.Sleep(time.Second)
		c.withLock(func() { c.agent = nil })
		if got := notes(); !strings.HasPrefix(got, dead) {
			t.Errorf("who comes right then is told %q", got)
		}
		time.Sleep(9 * time.Second)
		if got := notes(); !strings.HasPrefix(got, dead) {
			t.Errorf("who comes then is told %q", got)
		}
		if got := link(early); len(got) > 0 {
			t.Errorf("after nine seconds: %q", got)
		}
		time.Sleep(time.Minute)
		if got := link(early); len(got) != 1 || !strings.Contains(got[0], "is interrupted") {
			t.Errorf("after a minute: %q", got)
		}
		c.withLock(func() { c.agent = alive })
		time.Sleep(3 * time.Second)
		if got := link(early); len(got) != 2 || !strings.Contains(got[1], "is back") {
			t.Errorf("when it is back: %q", got)
		}
		if got := notes(); strings.Contains(got, dead) {
			t.Errorf("who comes then: %q", got)
		}
	})
}

// A reply that cannot be settled keeps no process from shutting down.
func TestFollowShutdown(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
		l := edges[0].listen(mayAnswer(allEvents()))
		callTool(agent.startSession("Paying."), pay, &action{})
		q := l.question()
		c.withLock(func() { c.gone = true })
		l.reply(q, aaep.Accept)
		synctest.Wait()
		began := time.Now()
		edges[0].end() // gives it a second
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		c.withLock(func() { c.gone = false })
	})
}

// A reply that cannot be settled for now keeps nothing else that the listener says from being
// heard: another reply, other terms, a goodbye.
func TestFollowStuckReplyHoldsNothingUp(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
		l := edges[0].listen(mayAnswer(allEvents()))
		var asked []*aaep.AwaitingConfirmation
		for range 2 {
			callTool(agent.startSession("Paying."), pay, &action{})
			asked = append(asked, l.question())
		}
		c.withLock(func() { c.gone = true })
		for _, q := range asked {
			l.reply(q, aaep.Accept)
		}
		l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: inSpanish})
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if acc, _ := l.lastMessage().(*aaep.SubscriptionAccepted); acc == nil {
			t.Errorf("the answer to the renegotiation is %+v", l.lastMessage())
		}
		l.send(&aaep.SubscriptionClose{SubscriptionID: l.id, ReasonCode: aaep.SubscriberShutdown, ReasonMessage: "Bye."})
		synctest.Wait()
		select {
		case <-l.served:
		default:
			t.Error("the goodbye is not heard")
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := edges[0].p.Stats().LostReplies; n != 2 {
			t.Errorf("%d replies were tried and lost, want 2", n)
		}
		c.withLock(func() { c.gone = false })
	})
}

// A user who answers where the answer cannot be handed to the agent hears that it may not count,
// and so does the operator; and nothing is done. Where it gets through after all, no user is
// troubled twice.
func TestFollowStuckReply(t *testing.T) {
	for _, through := range []bool{false, true} {
		runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
			var log safeBuffer
			p, err := producer.New(producer.Config{Follow: node{c, "north", 0}, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
			if err != nil {
				t.Fatal(err)
			}
			edge := &stage{t: t, p: p}
			defer edge.end()
			l := edge.listen(mayAnswer(allEvents()))
			s, d := agent.startSession("Paying."), &action{}
			paid := callTool(s, pay, d)
			q := l.question()
			c.withLock(func() { c.gone = true })
			l.reply(q, aaep.Accept)
			stuck := func() (n int) {
				for _, ev := range l.events() {
					if ev.Urgency == aaep.UrgencyCritical && strings.Contains(ev.Text(aaep.VerbosityNormal), "It may not count.") {
						n++
					}
				}
				return n
			}
			time.Sleep(29 * time.Second)
			if synctest.Wait(); stuck() != 0 || strings.Contains(log.String(), "a reply") {
				t.Errorf("told before it is due: %s", log.String())
			}
			time.Sleep(2 * time.Second)
			if synctest.Wait(); stuck() != 1 || !strings.Contains(log.String(), "a reply waits") {
				t.Errorf("told %d times; the log has %q", stuck(), log.String())
			}
			if through {
				c.withLock(func() { c.gone = false })
				if got := <-paid; got.err != nil || d.times != 1 {
					t.Errorf("Tool = %v", got.err)
				}
			}
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			want := 1
			if through {
				want = 0
			} else if got := <-paid; got.err == nil || d.times > 0 {
				t.Errorf("Tool = %v, and it ran %d times", got.err, d.times)
			}
			if n := p.Stats().LostReplies; n != want || stuck() != 1 {
				t.Errorf("%d replies lost, want %d; told %d times", n, want, stuck())
			}
			if has := strings.Contains(log.String(), "could not be handed to the agent, and does not count"); has == through {
				t.Errorf("through %v: the log has %q", through, log.String())
			}
			if strings.Contains(log.String(), string(q.ReplyToken)) {
				t.Error("the log has the token")
			}
			c.withLock(func() { c.gone = false })
		})
	}
}

// INV-09, INV-18: where a reply could not be handed to the agent, its question is open again: who
// was asked beside it, and who comes then, can still answer, once the agent is back.
func TestFollowLostReplyLeavesTheQuestionOpen(t *testing.T) {
	for _, isNew := range []bool{false, true} {
		runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
			agent.addRecorder() // keeps the question open while the cloud is gone
			lost, other := edges[0].listen(mayAnswer(allEvents())), edges[0].listen(mayAnswer(allEvents()))
			long, d := pay, &action{}
			long.Timeout = time.Hour
			paid := callTool(agent.startSession("Paying."), long, d)
			q := lost.question()
			c.withLock(func() { c.gone = true })
			lost.reply(q, aaep.Accept)
			time.Sleep(6 * time.Minute)
			c.withLock(func() { c.gone = false })
			time.Sleep(time.Minute)
			if synctest.Wait(); len(paid) > 0 {
				t.Fatalf("Tool = %v", (<-paid).err)
			}
			if n := edges[0].p.Stats().LostReplies; n != 1 {
				t.Errorf("%d replies are lost, want 1", n)
			}
			if isNew {
				other = edges[0].listen(mayAnswer(allEvents()))
			}
			other.reply(other.question(), aaep.Accept)
			if got := <-paid; got.err != nil || d.times != 1 {
				t.Errorf("a new one %t: Tool = %v, and it ran %d times", isNew, got.err, d.times)
			}
			if n := len(payloadsOf[*aaep.AwaitingConfirmation](lost.events())); n != 1 {
				t.Errorf("who answered is asked %d times", n)
			}
		})
	}
}
