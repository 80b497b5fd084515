package producer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// heard is one message as a subscriber received it: when, and what, without what is random.
type heard struct {
	at   time.Duration
	what string
}

// random is what differs from run to run.
var random = regexp.MustCompile(`\b(evt|sess|out|call|rpl|sub)_[A-Za-z0-9]+`)

// playRounds is how many rounds of 200 ms play has: it answers in the first fifty, and in the
// second not.
func playRounds() int {
	if testing.Short() {
		return 100
	}
	return 300
}

// runMinute runs a minute, or a third of one, in which an agent talks, hands over, and asks
// questions that l answers or not; l changes its rate as well. It returns what l received, and how
// long the longest call took that may not wait, among them tools that do not ask (D-49).
func runMinute(t *testing.T, st *stage, l *listener) (all []heard, longest time.Duration) {
	began := time.Now()
	timed := func(f func()) {
		since := time.Now()
		f()
		longest = max(longest, time.Since(since))
		synctest.Wait() // so that what is merged does not depend on who runs first
	}
	s := st.startSession("Talking.")
	out := s.Output()
	var asking <-chan result[aaep.Decision]
	for i := range playRounds() {
		timed(func() { out.WriteString("One more sentence. ") })
		timed(func() { s.Progress(aaep.Text{}, aaep.Progress{Percent: new(float64(i) / 3)}, 0) })
		timed(func() { s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{}) })
		timed(func() { s.Tool(t.Context(), look, succeed) })
		switch i % 50 {
		case 10:
			ask := pay
			ask.Timeout = 3 * time.Second // 15 rounds
			asking = callLater(func() (aaep.Decision, error) {
				time.Sleep(50 * time.Millisecond) // between the rounds
				d, _, err := s.Confirm(t.Context(), ask)
				return d, err
			})
		case 15:
			if i%100 == 15 {
				l.reply(l.question(), aaep.Reject)
				synctest.Wait()
			}
		case 30:
			want := producer.ErrTimedOut
			if i%100 == 30 {
				want = producer.ErrRejected
			}
			if r := <-asking; !errors.Is(r.err, want) {
				t.Errorf("the question ended with %v, want %v", r.err, want)
			}
		case 40:
			l.renegotiate(termsWith(int64(2+i/50), aaep.BoundarySentence))
		}
		time.Sleep(200 * time.Millisecond)
	}
	timed(func() { s.Complete(aaep.Text{}) })
	time.Sleep(time.Minute)
	synctest.Wait()
	names := map[string]string{}
	for _, a := range l.arrivals() {
		what := random.ReplaceAllStringFunc(string(a.raw), func(id string) string {
			if names[id] == "" {
				kind, _, _ := strings.Cut(id, "_")
				names[id] = fmt.Sprintf("%s_%d", kind, len(names))
			}
			return names[id]
		})
		all = append(all, heard{a.at.Sub(began), what})
	}
	return all, longest
}

// INV-26, P7, HS-084, HS-085: whatever other subscriptions do, one that behaves receives the same
// bytes at the same moments, and the agent waits for none of them.
func TestIsolation(t *testing.T) {
	var alone []heard
	mine := mayAnswer(termsWith(3, aaep.BoundarySentence))
	bubble(t, func(t *testing.T, st *stage) {
		alone, _ = runMinute(t, st, st.listen(mine))
	})
	if len(alone) < playRounds()*4/3 {
		t.Fatalf("it hears %d messages", len(alone))
	}
	check := func(t *testing.T, names ...string) {
		bubble(t, func(t *testing.T, st *stage) {
			l := st.listen(mine)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for _, name := range names {
				all.Go(func() { misbehaviours[name](&stranger{st: st, ctx: ctx}) })
			}
			together, longest := runMinute(t, st, l)
			cancel()
			all.Wait()
			for i, h := range together {
				if i >= len(alone) || h != alone[i] {
					t.Errorf("message %d came at %v: %s\nalone it heard %+v", i, h.at, h.what, alone[min(i, len(alone)-1)])
					break
				}
			}
			if len(together) != len(alone) {
				t.Errorf("%d messages, alone %d", len(together), len(alone))
			}
			if longest > 0 {
				t.Errorf("a call took %v", longest)
			}
		})
	}
	names := slices.Sorted(maps.Keys(misbehaviours))
	t.Run("all", func(t *testing.T) { check(t, names...) })
	for _, name := range names {
		t.Run(name, func(t *testing.T) { check(t, name) })
	}
}

// A subscriber that never reads, and one that vanishes, are closed.
func TestUnreadSubscriptionIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		good := st.listen(mayAnswer(termsWith(3, aaep.BoundarySentence)))
		deaf, gone := st.listen(allEvents()), st.listen(allEvents())
		deaf.stopReading()
		go func() { time.Sleep(7 * time.Second); gone.conn.Close() }()
		runMinute(t, st, good)
		<-deaf.served
		<-gone.served
		deaf.startReading()
		synctest.Wait()
		if n := len(st.p.Subscriptions()); n != 1 {
			t.Errorf("%d subscriptions are left, want 1", n)
		}
	})
}

// INV-27: a subscription that falls too far behind is closed with a reason.
func TestTooManyEventsWait(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(termsWith(1, aaep.BoundarySentence))
		emitBacklog(st, 2100)
		c, ok := l.lastMessage().(*aaep.SubscriptionClose)
		if !ok || c.ReasonCode != aaep.SlowSubscriber || c.SubscriptionID != l.id {
			t.Errorf("the last message is %+v", l.lastMessage())
		}
	})
}

// A subscription that stops reading while the program writes more than the log keeps for any
// subscription (64 MiB) is closed with a reason and not served with a gap. One that reads beside it
// receives everything, and one that comes back after that is told that the session is over. INV-21,
// INV-26, INV-27, P7, P10
func TestLogIsTrimmed(t *testing.T) {
	bubbleWith(t, producer.Config{KeepEvents: 50}, func(t *testing.T, st *stage) {
		stalled, reads := st.listen(allEvents()), st.listen(allEvents())
		s := st.startSession("Writing.")
		last := stalled.events()[0].EventID
		stalled.stopReading()
		out, part, n := s.Output(), strings.Repeat("All work and no play. ", 300), 0
		for ; n < 72<<20; n += len(part) {
			out.WriteString(part)
			synctest.Wait()
		}
		out.Close()
		s.Complete(aaep.Say("Written."))
		stalled.startReading()
		if c, ok := stalled.lastMessage().(*aaep.SubscriptionClose); !ok || c.ReasonCode != aaep.SlowSubscriber {
			t.Errorf("the last message is %+v", stalled.lastMessage())
		}
		got := 0
		for _, chunk := range payloadsOf[*aaep.OutputStreaming](reads.events()) {
			got += len(chunk.Chunk)
		}
		if got != n {
			t.Errorf("who reads hears %d bytes of %d", got, n)
		}
		back, acc := st.listenAccepted(resumeAfter(allEvents(), last))
		if honoredPlace(t, acc) != "" {
			t.Errorf("the place is honored: %+v", acc)
		}
		if got := storyOf(back.events()); got != "session.completed" {
			t.Errorf("who comes back is told %q", got)
		}
	})
}

// INV-15: the open question of a subscriber that stopped reading gets its default when that is
// noticed.
func TestStalledRecipient(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
		paid := callTool(s, pay, &action{})
		l.question()
		l.stopReading()
		stalled := time.Now()
		for range 50 {
			s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		}
		r := <-paid
		if took := r.at.Sub(stalled); !errors.Is(r.err, producer.ErrUnreachable) || took != 10*time.Second {
			t.Errorf("Tool = %v after %v, want 10s", r.err, took)
		}
	})
}

// D-38: a subscriber that says goodbye is gone at once, though it stopped reading before.
func TestGoodbyeOfAStalledRecipient(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
		paid := callTool(s, pay, &action{})
		l.question()
		l.stopReading()
		for range 50 {
			s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		}
		synctest.Wait()
		left := time.Now()
		l.send(&aaep.SubscriptionClose{SubscriptionID: l.id, ReasonCode: aaep.SubscriberShutdown, ReasonMessage: "Bye."})
		if r := <-paid; !errors.Is(r.err, producer.ErrUnreachable) || r.at != left {
			t.Errorf("Tool = %v after %v", r.err, r.at.Sub(left))
		}
	})
}

// An answer counts although its sender has stopped reading.
func TestAnswerOfAStalledRecipient(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
		paid := callTool(s, pay, &action{})
		q := l.question()
		l.stopReading()
		for range 50 {
			s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		}
		synctest.Wait()
		l.reply(q, aaep.Reject)
		if r := <-paid; !errors.Is(r.err, producer.ErrRejected) {
			t.Errorf("Tool = %v", r.err)
		}
	})
}

// A link that stands still for some seconds is given up no sooner because its terms change just
// then.
func TestNewTermsOfStalledRecipient(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.listen(allEvents()), st.startSession("Working.")
		l.events()
		l.stopReading()
		for range 16 { // which a Pipe holds
			s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
			synctest.Wait()
		}
		l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: aaep.Capabilities{MaxEventsPerSecond: 5}})
		time.Sleep(8 * time.Second)
		l.startReading()
		if acc, ok := l.lastMessage().(*aaep.SubscriptionAccepted); !ok || acc.HonoredCapabilities.MaxEventsPerSecond != 5 {
			t.Errorf("the answer is %+v", l.lastMessage())
		}
	})
}

// INV-50: a subscription beyond the limit is refused, told when to come again, and accepted when
// there is room.
func TestMaxSubscriptions(t *testing.T) {
	bubbleWith(t, producer.Config{MaxSubscriptions: 1}, func(t *testing.T, st *stage) {
		first, second := st.listen(allEvents()), st.connect()
		second.startReading()
		second.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw"})
		no, ok := second.lastMessage().(*aaep.SubscriptionRejected)
		if !ok || no.ReasonCode != aaep.RateLimit || no.RetryAfterSeconds == nil {
			t.Fatalf("the answer is %+v", second.lastMessage())
		}
		first.conn.Close()
		<-first.served
		st.listen(allEvents())
	})
}

// A first message that is no request is refused in words (INV-31, HS-043).
func TestFirstMessage(t *testing.T) {
	for _, data := range []string{"", "{", "null", `{"type":"subscription.close","subscription_id":"sub_1"}`, `{"type":"\u202e"}`,
		`{"type":"subscription.request","aaep_version":"2.0.0","subscriber_id":"raw","capabilities":{}}`} {
		bubble(t, func(t *testing.T, st *stage) {
			l := st.connect()
			l.startReading()
			l.sendRaw(data)
			if _, ok := l.lastMessage().(*aaep.SubscriptionRejected); !ok {
				t.Errorf("the answer to %q is %+v", data, l.lastMessage())
			}
			<-l.served
		})
	}
}

// INV-54: a link on which nothing is sent is closed.
func TestSilentPendingLink(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, began := st.connect(), time.Now()
		if <-l.served; time.Since(began) != 10*time.Second {
			t.Errorf("it was let go after %v", time.Since(began))
		}
	})
}
