package producer_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// instruments keep what an Observer is told.
type instruments struct {
	mu     sync.Mutex
	told   []string
	delays []time.Duration
}

// Began notes what has begun, and how it ended.
func (o *instruments) Began(what producer.Operation) func(error) {
	return func(err error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.told = append(o.told, fmt.Sprintf("%s %t", what, err == nil))
	}
}

// Critical notes the delay.
func (o *instruments) Critical(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.delays = append(o.delays, d)
}

// An operator sees subscriptions, refusals, replies with and without effect, resumed streams, and
// how late critical events left.
func TestObserver(t *testing.T) {
	o := &instruments{}
	bubbleWith(t, producer.Config{Observer: o}, func(t *testing.T, st *stage) {
		st.connect().conn.Close() // without a word: that is no subscription
		st.connect().sendRaw("{")
		synctest.Wait()
		l, open := st.listenResumable(mayAnswer(allEvents()))
		open("")
		s, d := st.startSession("Paying."), &action{}
		paid := callTool(s, pay, d)
		synctest.Wait()
		if got := st.p.Stats(); got.Questions != 1 || got.Subscriptions != 1 || got.Connected != 1 {
			t.Errorf("Stats = %+v with a question open", got)
		}
		l.sendRaw(`{"type":"confirmation.reply","reply_token":"rpl_none","decision":"accept","subscription_id":"` + l.id + `","timestamp":"2026-01-01T00:00:00Z"}`)
		time.Sleep(time.Second)
		again := payloadsOf[*aaep.AwaitingConfirmation](open("").events())
		if len(again) != 1 {
			t.Fatalf("the question is on the second stream %d times", len(again))
		}
		l.reply(again[0], aaep.Accept)
		<-paid
		synctest.Wait()
		want := "[subscribe false subscribe true reply false resume true reply true]"
		o.mu.Lock()
		defer o.mu.Unlock()
		if got := fmt.Sprint(o.told); got != want {
			t.Errorf("told %s, want %s", got, want)
		}
		if len(o.delays) != 1 || o.delays[0] > time.Second {
			t.Errorf("critical events left after %v, want one at once", o.delays)
		}
	})
}

// An Observer may call any method of the producer: its caller holds no lock, not even that of a
// group. Another goroutine may hold one for a moment, so that the lock is waited for.
func TestObserverAsks(t *testing.T) {
	var p *producer.Producer
	var called, busy atomic.Int32
	tooLong := make(chan struct{}) // of real time: that of the bubble stands still while a lock is awaited
	defer time.AfterFunc(2*time.Minute, func() { close(tooLong) }).Stop()
	o := asking{&instruments{}, func() {
		called.Add(1)
		free := make(chan struct{})
		go func() {
			p.Grouped()
			close(free)
		}()
		select {
		case <-free:
		case <-tooLong:
			busy.Add(1)
		}
		p.Stats()
		p.Subscriptions()
	}}
	bubbleWith(t, producer.Config{Observer: o}, func(t *testing.T, st *stage) {
		p = st.p
		s := st.startSession("Paying.")
		st.addCrowd(5, allEvents())
		st.awaitGroups(5)
		s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		synctest.Wait()
		if called.Load() != 5 || len(o.delays) != 5 || busy.Load() != 0 {
			t.Errorf("called %d times, %d of them with a lock held; want 5 and none", called.Load(), busy.Load())
		}
	})
}

// asking is an Observer that calls ask over every critical event.
type asking struct {
	*instruments
	ask func()
}

// Critical calls ask, and then what the instruments do.
func (o asking) Critical(d time.Duration) {
	o.ask()
	o.instruments.Critical(d)
}

// The counts of subscriptions that have ended stay in the sum.
func TestStats(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		for n := range 3 {
			l := st.listen(allEvents())
			s := st.startSession("Working.")
			s.Complete(aaep.Say("Done."))
			synctest.Wait()
			l.send(&aaep.SubscriptionClose{SubscriptionID: l.id, ReasonCode: aaep.SubscriberShutdown, ReasonMessage: "Bye."})
			synctest.Wait()
			if got := st.p.Stats(); got.Subscriptions != 0 || got.Delivered != got.Produced || got.Produced < 2*(n+1) {
				t.Errorf("after %d: Stats = %+v", n+1, got)
			}
		}
	})
}

// A message that cannot be read costs only itself: it is counted, and in the log with what is wrong
// with it, ten times a minute at most.
func TestMalformedMessages(t *testing.T) {
	o, logged := &instruments{}, &bytes.Buffer{}
	cfg := producer.Config{Observer: o, Logger: slog.New(slog.NewTextHandler(logged, nil))}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		l := st.listen(mayAnswer(allEvents()))
		paid := callTool(st.startSession("Paying."), pay, &action{})
		q := l.question()
		o.told = nil
		for range 25 {
			l.sendRaw(`{"type":"confirmation.reply","reply_token":"rpl_1"}`)
		}
		synctest.Wait()
		if got := strings.Count(strings.Join(o.told, "|"), "reply false"); got != 25 {
			t.Errorf("the instruments show %q", o.told)
		}
		text := logged.String()
		if got := strings.Count(text, "a message cannot be read, and does not count"); got != 10 || !strings.Contains(text, "decision") ||
			!strings.Contains(text, "peer=") {
			t.Errorf("%d lines: %s", got, text)
		}
		if l.reply(q, aaep.Accept); (<-paid).err != nil {
			t.Error("a reply after them does not count")
		}
	})
}
