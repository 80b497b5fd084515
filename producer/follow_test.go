package producer_test

import (
	"context"
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
	"github.com/aaep-go/aaep/producer/audit"
)

// P8, INV-23: at every process a listener gets the same bytes, and finds its place at any of them,
// in its own language.
func TestFollow(t *testing.T) {
	for _, lang := range []string{"en-US", "es"} {
		runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
			terms := mayAnswer(allEvents())
			terms.Languages = []string{lang}
			var heard []*listener
			for _, at := range []*stage{agent, edges[0], edges[1]} {
				l, _ := at.listenAccepted(resumeAfter(terms, ""))
				heard = append(heard, l)
			}
			leaveOpen(agent)
			all := rawEvents(heard[0].arrivals())
			if len(all) < 10 {
				t.Fatalf("the agent says %d events", len(all))
			}
			for i, l := range heard[1:] {
				if got := rawEvents(l.arrivals()); !slices.Equal(got, all) {
					t.Errorf("%s, edge %d: %s\nwant %s", lang, i, strings.Join(got, "\n"), strings.Join(all, "\n"))
				}
			}
			ids := eventsOf(heard[0].arrivals())
			for i, ev := range ids {
				if ev.Critical() { // it may have overtaken
					continue
				}
				l, acc := edges[i%2].listenAccepted(resumeAfter(terms, ev.EventID))
				if honoredPlace(t, acc) != ev.EventID {
					t.Errorf("after %d: %+v", i, acc)
				}
				if got, want := withoutSubscription(rawEvents(l.arrivals())), withoutSubscription(all[i+1:]); !slices.Equal(got, want) {
					t.Errorf("%s, after %d: %d events, want %d", lang, i, len(got), len(want))
				}
			}
		})
	}
}

// withoutSubscription leaves out questions: one that is open is put to each that comes.
func withoutSubscription(raws []string) []string {
	return slices.DeleteFunc(slices.Clone(raws), func(raw string) bool { return strings.Contains(raw, "awaiting.confirmation") })
}

// Who comes in the middle is told what the agent does, and asked what is open; not what was
// settled.
func TestFollowLate(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
		early := edges[0].addRecorder()
		s, d := agent.startSession("Paying."), &action{}
		paid := callTool(s, pay, d)
		synctest.Wait()
		third := c.startReplica(t, "south") // which learns all of it from the log
		defer third.end()
		for _, st := range []*stage{edges[1], third} {
			l := st.listen(mayAnswer(allEvents()))
			evs := l.events()
			if len(evs) != 2 || len(payloadsOf[*aaep.StateChanged](evs)) != 1 || l.question().ReplyToken != early.question().ReplyToken {
				t.Errorf("who comes late is told %v", evs)
			}
		}
		late := third.listen(mayAnswer(allEvents()))
		late.reply(late.question(), aaep.Accept)
		if got := <-paid; got.err != nil || d.times == 0 {
			t.Errorf("Tool = %v", got.err)
		}
		for _, st := range []*stage{edges[0], edges[1], third, c.startReplica(t, "north")} {
			l := st.listen(mayAnswer(allEvents()))
			if qs := payloadsOf[*aaep.AwaitingConfirmation](l.events()); len(qs) > 0 {
				t.Error("somebody is asked what was settled")
			}
			if st != edges[0] && st != edges[1] && st != third {
				st.end()
			}
		}
	})
}

// P1, P2, INV-16: however users reply, and where, all at once, with the timeout and a withdrawal
// among them: a question is settled once, by what was claimed first; the tool runs if that is a
// yes, and the agent's record says who gave it where.
func TestFollowRace(t *testing.T) {
	outcomes := map[string]int{}
	for round := range 60 {
		runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, kept *sink) {
			listeners := []*listener{agent.addRecorder(), edges[0].addRecorder(), edges[1].addRecorder(), edges[1].addRecorder()}
			s, d := agent.startSession("Paying."), &action{}
			quick := pay
			quick.Timeout = 5 * time.Second
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			paid := callLater(func() (string, error) { return s.Tool(ctx, quick, d.do) })
			var qs []*aaep.AwaitingConfirmation
			for _, l := range listeners {
				qs = append(qs, l.question())
			}
			switch round % 4 {
			case 1:
				time.Sleep(5*time.Second - time.Nanosecond)
			case 2:
				go cancel()
			case 3:
				time.Sleep(5 * time.Second) // the timer fires as the replies are sent
			}
			for i := range listeners {
				i = (i + round/8) % len(listeners) // with one processor the last to begin is the first to reply
				go listeners[i].reply(qs[i], []aaep.Decision{aaep.Accept, aaep.Reject}[(round/4+i)%2])
			}
			got := <-paid
			synctest.Wait()
			settled := slices.DeleteFunc(kept.records(), func(r audit.Record) bool { return r.Kind != audit.Settled })
			if len(settled) != 1 || len(c.claims) != 1 {
				t.Fatalf("round %d: settled %d times, %d claims: %+v", round, len(settled), len(c.claims), settled)
			}
			yes := settled[0].Decision == aaep.Accept
			if d.times > 0 != (got.err == nil) || d.times > 0 && !yes || yes && d.times == 0 && ctx.Err() == nil {
				t.Errorf("round %d: %+v, and it ran: %v, %v", round, settled[0], d.times > 0, got.err)
			}
			where := settled[0].Cause
			if by := settled[0].By; by != nil {
				where += " at " + by.Node
				if !strings.Contains(string(c.claims[string(qs[0].ReplyToken)].Data), by.SubscriptionID) {
					t.Errorf("round %d: %+v was not claimed", round, by)
				}
			}
			outcomes[where]++
			s.Close()
			synctest.Wait()
		})
	}
	t.Log(outcomes)
	if len(outcomes) < 3 { // who is first is chance, but not always the same one
		t.Errorf("there was no race: %v", outcomes)
	}
}

// CONF-030, D-34: no user is left who could answer, because they leave or because the process that
// serves them dies.
func TestFollowGone(t *testing.T) {
	for _, how := range []string{"nobody", "leaves", "dies", "shuts down"} {
		runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, kept *sink) {
			s, d := agent.startSession("Paying."), &action{}
			time.Sleep(5 * time.Second)
			began := time.Now()
			var l *listener
			if how != "nobody" {
				l = edges[0].addRecorder()
			}
			paid := callTool(s, pay, d)
			synctest.Wait()
			most := time.Duration(0)
			switch how {
			case "leaves":
				edges[0].recorders = nil
				l.conn.Close()
			case "dies":
				alive := c.agent
				c.withLock(func() {
					c.agent = func(msg []byte) []byte { // its words come no more
						if strings.Contains(string(msg), "east") {
							return nil
						}
						return alive(msg)
					}
				})
				most = 15 * time.Second
			case "shuts down":
				edges[0].recorders = nil // what it hears has no end
				edges[0].end()
				if last := l.lastMessage(); last != nil {
					t.Errorf("a listener of a process that ends is told %+v, and the agent goes on", last)
				}
			}
			got := <-paid
			if !errors.Is(got.err, producer.ErrUnreachable) || d.times > 0 || got.at.Sub(began) > most {
				t.Errorf("%s: Tool = %v after %v", how, got.err, got.at.Sub(began))
			}
		})
	}
}

// Where nothing can be claimed the wait is bounded, and nothing is done; also where a yes comes to
// light later.
func TestFollowCloudGone(t *testing.T) {
	for _, late := range []bool{false, true} {
		runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, kept *sink) {
			l := edges[0].addRecorder()
			s, d := agent.startSession("Paying."), &action{}
			quick := pay
			quick.Timeout = 5 * time.Second
			paid := callTool(s, quick, d)
			q := l.question()
			c.withLock(func() {
				if c.gone = !late; late { // it was kept too late, and the agent only hears of it when it asks
					c.skew, c.told = 16*time.Second, nil
				}
			})
			began := time.Now()
			l.reply(q, aaep.Accept)
			got := <-paid
			want, after := error(producer.ErrNotRecorded), 35*time.Second
			if late {
				want, after = producer.ErrTimedOut, 5*time.Second
			}
			if !errors.Is(got.err, want) || d.times > 0 || got.at.Sub(began) != after {
				t.Errorf("late %v: Tool = %v after %v; want %v after %v", late, got.err, got.at.Sub(began), want, after)
			}
			c.withLock(func() { c.gone = false })
			time.Sleep(5 * time.Second)
			c.withLock(func() {
				if len(c.claims) != 1 || d.times > 0 {
					t.Errorf("late %v: %d claims, and it ran %d times", late, len(c.claims), d.times)
				}
			})
		})
	}
}

// WCAG 2.2.1: more time is asked for anywhere, and given by the agent.
func TestFollowMoreTime(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, kept *sink) {
		l := edges[0].addRecorder()
		s, d := agent.startSession("Paying."), &action{}
		slow := pay
		slow.Timeout = time.Minute
		paid := callTool(s, slow, d)
		q := l.question()
		time.Sleep(50 * time.Second)
		l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: moreTimeTerms(q.ReplyToken, 0)})
		time.Sleep(50 * time.Second)
		l.reply(q, aaep.Accept)
		if got := <-paid; got.err != nil || d.times == 0 {
			t.Errorf("Tool = %v", got.err)
		}
		if !slices.ContainsFunc(kept.records(), func(r audit.Record) bool { return r.Kind == audit.Extended && r.By.SubscriptionID == l.id }) {
			t.Errorf("on record: %s", kindsOf(kept.records()))
		}
	})
}

// An agent that dies goes on elsewhere, and its listeners hear how what was open ended, and what is
// new.
func TestFollowRestart(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, kept *sink) {
		l := edges[0].addRecorder()
		leaveOpen(agent)
		had := len(l.events())
		again := c.startAgent(t, kept)
		defer again.end()
		s := again.startSession("New.")
		paid := callLater(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
		time.Sleep(3 * time.Second)
		evs := l.events()[had:]
		if len(evs) == 0 || len(payloadsOf[*aaep.SessionErrored](evs)) != 1 || len(payloadsOf[*aaep.SessionStarted](evs)) != 1 {
			t.Fatalf("after the restart: %v", evs)
		}
		l.reply(l.question(), aaep.Accept)
		if got := <-paid; got.err != nil {
			t.Errorf("Tool = %v", got.err)
		}
		last := l.events()
		more, _ := edges[1].listenAccepted(resumeAfter(mayAnswer(allEvents()), last[len(last)-2].EventID))
		if got := more.events(); len(got) != 1 || got[0].EventID != last[len(last)-1].EventID {
			t.Errorf("who resumes gets %s", strings.Join(rawEvents(more.arrivals()), "\n")+fmt.Sprint(last[len(last)-1], last[len(last)-2]))
		}
	})
}

// P8: a log that has lost what it had kept is not followed on without a word, although another
// agent has filled it up meanwhile.
func TestFollowLost(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, kept *sink) {
		edges[0].listen(mayAnswer(allEvents()))
		leaveOpen(agent)
		synctest.Wait()
		c.withLock(func() { c.records = slices.Clone(c.records[:len(c.records)-2]) })
		again := c.startAgent(t, kept)
		defer again.end()
		for range 3 {
			again.startSession("New.").Complete(aaep.Text{})
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, at := range edges {
			if err := at.p.WaitLogFailed(ctx); err == nil || !strings.Contains(err.Error(), "were kept and are lost") {
				t.Errorf("it is followed on: %v", err)
			}
		}
	})
}

// What an agent asked that died is put to no subscriber that goes on from before it, once the next
// one has begun: not at a process that was there all the time either.
func TestFollowDeadQuestion(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, kept *sink) {
		l := edges[0].addRecorder()
		s := agent.startSession("Paying.")
		synctest.Wait()
		place := l.events()[0].EventID
		paid := callTool(s, pay, &action{})
		l.question()
		c.withLock(func() { c.agent, c.told = nil, c.told[1:] }) // it hears nothing
		again := c.startAgent(t, kept)
		defer again.end()
		synctest.Wait()
		for i, at := range []*stage{again, edges[0], edges[1]} {
			late, _ := at.listenAccepted(resumeAfter(mayAnswer(allEvents()), place))
			evs := late.events()
			if n := len(payloadsOf[*aaep.AwaitingConfirmation](evs)); n > 0 || len(payloadsOf[*aaep.SessionErrored](evs)) != 1 {
				t.Errorf("%d: asked %d times: %v", i, n, evs)
			}
		}
		s.Close()
		<-paid
	})
}

// P2: what the agent asked that was taken over from, since it was cut off, is settled by the one
// after it: on a late yes the first one does nothing.
func TestFollowTakenOver(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, kept *sink) {
		l, d := edges[0].addRecorder(), &action{}
		s := agent.startSession("Paying.")
		paid := callTool(s, pay, d)
		q := l.question()
		c.withLock(func() { c.agent, c.told = nil, c.told[1:] }) // it hears nothing
		again := c.startAgent(t, kept)
		defer again.end()
		if _, mine, err := c.Claim(t.Context(), string(q.ReplyToken), []byte("late")); mine || err != nil {
			t.Errorf("a reply that comes late settles the question: %v", err)
		}
		if got := <-paid; got.err == nil || d.times > 0 {
			t.Errorf("Tool = %v, and it ran %d times", got.err, d.times)
		}
		s.Close()
	})
}

// What only the agent can do is refused elsewhere, with an error that says so.
func TestFollowOnly(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
		if _, err := edges[0].p.StartSession(context.Background(), aaep.Say("Mine.")); err == nil || !strings.Contains(err.Error(), "only the agent") {
			t.Errorf("StartSession = %v", err)
		}
		if err := edges[0].p.Republish(&aaep.Event{}); err == nil || !strings.Contains(err.Error(), "only the agent") {
			t.Errorf("Republish = %v", err)
		}
		if _, err := producer.New(producer.Config{Log: node{c, "x", 0}, Follow: node{c, "x", 0}}); err == nil {
			t.Error("a Producer both leads and follows")
		}
		if _, err := producer.New(producer.Config{Follow: node{newCloud(), "x", 0}}); err == nil || !strings.Contains(err.Error(), "start it first") {
			t.Errorf("an agent that never was: %v", err)
		}
		strange := newCloud()
		strange.SetProfile([]byte(`{"agent":{"agent_id":"planner"},"languages":[]}`))
		if _, err := producer.New(producer.Config{Follow: node{strange, "x", 0}}); err == nil || !strings.HasSuffix(err.Error(), "names no language") {
			t.Errorf("an agent without a language: %v", err)
		}
	})
}

// P8: who comes back at a process that has not heard yet what another has told, waits for it for a
// moment, and misses nothing.
func TestFollowBehind(t *testing.T) {
	runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
		l := edges[0].listen(resumeAfter(allEvents(), ""))
		s := agent.startSession("Working.")
		synctest.Wait()
		c.withLock(func() { c.slow = "west" })
		s.Progress(aaep.Say("Halfway."), aaep.Progress{Percent: new(50.0)}, 0)
		evs := l.events()
		last := evs[len(evs)-1].EventID
		began := time.Now()
		time.AfterFunc(time.Second, func() { c.withLock(func() { c.slow = "" }); s.Complete(aaep.Text{}) })
		back := edges[1].listen(resumeAfter(allEvents(), last))
		if time.Since(began) != time.Second {
			t.Errorf("it is there after %v", time.Since(began))
		}
		if got := back.events(); len(got) != 1 || got[0].Type() != aaep.TypeSessionCompleted {
			t.Errorf("who comes back gets %v", got)
		}
	})
}

// While a question waits for those who have yet to find an agent that has just begun, its session
// goes on: an answer is written, and the end of the question's asker ends the waiting.
func TestAsksBeforeReplicasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := newCloud().startAgent(t, nil)
		defer agent.end()
		s := agent.startSession("Paying.")
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		asked := make(chan error)
		go func() {
			_, _, err := s.Confirm(ctx, producer.Tool{Name: "pay", Confirm: true, Action: aaep.Say("Pay."), Consequence: aaep.Say("Paid.")})
			asked <- err
		}()
		synctest.Wait()
		if _, err := s.Output().WriteString("Meanwhile."); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-asked; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("they waited %v", waited)
		}
	})
}

// INV-18: where the outcome of a question cannot be put on record at the process that serves, after
// the answer was, the agent does what was allowed, and no log says that it is not done. Where the
// answer itself cannot be, nothing is done, and the log says so.
func TestFollowUnrecorded(t *testing.T) {
	for _, refused := range []audit.Kind{audit.Settled, audit.Replied} {
		runInCloud(t, func(c *cloud, agent *stage, _ [2]*stage, _ *sink) {
			var log safeBuffer
			full := sinkFunc(func(r audit.Record) error {
				if r.Kind == refused {
					return errors.New("the disk is full")
				}
				return nil
			})
			edge := newStage(t, producer.Config{Follow: node{c, "north", 0}, Audit: full,
				Logger: slog.New(slog.NewTextHandler(&log, nil))})
			defer edge.end()
			l := edge.listen(mayAnswer(allEvents()))
			s, d := agent.startSession("Paying."), &action{}
			paid := callTool(s, pay, d)
			l.reply(l.question(), aaep.Accept)
			got := <-paid
			synctest.Wait()
			isDone := refused == audit.Settled
			if isDone != (got.err == nil && d.times == 1) {
				t.Errorf("%s is not recorded: Tool = %v, and it ran %d times", refused, got.err, d.times)
			}
			if says := strings.Contains(log.String(), "accepted, and not done"); says == isDone {
				t.Errorf("%s is not recorded: the log has %q", refused, log.String())
			}
			if edge.p.Stats().Unrecorded == 0 || !strings.Contains(log.String(), "not recorded") {
				t.Errorf("%s is not recorded, and not counted: %q", refused, log.String())
			}
		})
	}
}
