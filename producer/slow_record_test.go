package producer_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
)

// slowSink takes time for a record as takes says, and fails as refuses says. Nil is none of it.
type slowSink struct {
	sink
	takes   func(audit.Record) time.Duration
	refuses func(audit.Record) error
}

// Record keeps r after the time that it takes, unless it refuses r.
func (s *slowSink) Record(r audit.Record) error {
	if s.takes != nil {
		time.Sleep(s.takes(r))
	}
	if s.refuses != nil {
		if err := s.refuses(r); err != nil {
			return err
		}
	}
	return s.sink.Record(r)
}

const recordTime = 3 * time.Second

// slowEvery has every record take recordTime.
func slowEvery(audit.Record) time.Duration { return recordTime }

// slowOnly has the records of one kind take recordTime.
func slowOnly(kind audit.Kind) func(audit.Record) time.Duration {
	return func(r audit.Record) time.Duration {
		if r.Kind == kind {
			return recordTime
		}
		return 0
	}
}

// atOnce fails the test where f takes longer than a person or an agent would notice.
func atOnce(t *testing.T, what string, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if d := time.Since(began); d > 100*time.Millisecond {
		t.Errorf("%s took %v beside a sink that takes %v", what, d, recordTime)
	}
}

// arrival returns when the newest event of a type came.
func (l *listener) cameAt(t aaep.Type) (at time.Time) {
	synctest.Wait()
	for _, a := range l.arrivals() {
		if ev, ok := a.msg.(*aaep.Event); ok && ev.Type() == t {
			at = a.at
		}
	}
	return at
}

// INV-26: a sink that takes three seconds for each record delays what it records and nothing else.
func TestSlowSinkDelaysOnlyWhatItRecords(t *testing.T) {
	kept := &slowSink{takes: slowEvery}
	bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
		early, leaves, other := st.addRecorder(), st.listen(mayAnswer(allEvents())), st.addWatcher()
		s, d, second := st.startSession("Paying."), &action{}, st.startSession("Paying too.")
		began := time.Now()
		paid := callTool(s, pay, d)
		time.Sleep(time.Second) // the question is being recorded
		var late *listener
		atOnce(t, "subscribing", func() { late = st.listen(mayAnswer(allEvents())) })
		atOnce(t, "leaving", func() {
			leaves.conn.Close()
			<-leaves.served
		})
		also := callTool(second, pay, &action{})
		for i, one := range []*producer.Session{s, second} {
			out := one.Output()
			atOnce(t, "text", func() {
				requireNoError(t, errors.Join(writeText(out, "Meanwhile."), out.Close()))
				time.Sleep(time.Millisecond)
				if n := len(payloadsOf[*aaep.OutputStreaming](other.events())); n < i+1 {
					t.Errorf("%d pieces of text were heard", n)
				}
			})
			atOnce(t, "what is critical", func() { requireNoError(t, one.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})) })
			if n := len(payloadsOf[*aaep.HandoffRequested](other.events())); n != i+1 {
				t.Errorf("%d events that are critical were heard", n)
			}
		}
		if n := len(payloadsOf[*aaep.AwaitingConfirmation](early.events())); n != 0 {
			t.Fatal("a question is put that is not on record")
		}
		time.Sleep(time.Until(began.Add(recordTime)))
		if at := early.cameAt(aaep.TypeAwaitingConfirmation); !at.Equal(began.Add(recordTime)) {
			t.Errorf("the question came after %v", at.Sub(began))
		}
		first := early.question()
		time.Sleep(time.Until(began.Add(time.Second + recordTime + 100*time.Millisecond)))
		if qs := payloadsOf[*aaep.AwaitingConfirmation](early.events()); len(qs) != 2 {
			t.Errorf("another session's question waits for the record of this one's")
		}
		time.Sleep(time.Until(began.Add(2*recordTime + 100*time.Millisecond)))
		asked := slices.DeleteFunc(payloadsOf[*aaep.AwaitingConfirmation](late.events()), func(q *aaep.AwaitingConfirmation) bool { return q.ReplyToken != first.ReplyToken })
		if len(asked) != 1 {
			t.Fatalf("who came meanwhile is asked %v", asked)
		}
		replied := time.Now()
		late.reply(asked[0], aaep.Accept)
		synctest.Wait()
		atOnce(t, "subscribing", func() { st.listen(mayAnswer(allEvents())) })
		atOnce(t, "the end of a session", func() { requireNoError(t, second.Cancel(aaep.CancelledByUser, aaep.Text{})) })
		if r := <-also; !errors.Is(r.err, producer.ErrSessionOver) {
			t.Errorf("the session ended: %v", r.err)
		}
		r := <-paid
		if r.err != nil || d.times != 1 || r.at.Sub(replied) > 4*recordTime+100*time.Millisecond { // replied, settled, invoked, completed
			t.Errorf("Tool = %v, %d runs, %v after the reply", r.err, d.times, r.at.Sub(replied))
		}
		s.Close()
		time.Sleep(10 * recordTime)
		var all []audit.Record
		for _, r := range kept.records() {
			if r.QuestionID == audit.QuestionID(first.ReplyToken) || r.Kind == audit.Completed {
				all = append(all, r)
			}
		}
		if got := kindsOf(all); got != "asked asked replied settled invoked completed" {
			t.Fatalf("on record: %s", got)
		}
		if all[1].Recipients[0].SubscriptionID != late.id || all[2].By.SubscriptionID != late.id {
			t.Errorf("on record: %+v", all)
		}
		for _, r := range all {
			for _, who := range r.Recipients {
				if who.SubscriptionID == other.id {
					t.Error("who cannot answer is on record as asked")
				}
			}
		}
	})
}

// A reply that is being recorded keeps no one waiting, not its sender either: their answers
// to other questions count when they came.
func TestSlowSinkDelaysNoOtherReply(t *testing.T) {
	bubbleWith(t, producer.Config{Audit: &slowSink{takes: slowOnly(audit.Replied)}}, func(t *testing.T, st *stage) {
		l := st.addRecorder()
		quick := pay
		quick.Timeout = 5 * time.Second
		first, second := st.startSession("Paying."), st.startSession("Paying too.")
		one := callTool(first, pay, &action{})
		synctest.Wait()
		two := callTool(second, quick, &action{})
		synctest.Wait()
		qs := payloadsOf[*aaep.AwaitingConfirmation](l.events())
		wrong := *qs[0]
		wrong.ReplyToken = "rpl_0123456789abcdef0123456789abcdef"
		l.reply(&wrong, aaep.Accept)
		time.Sleep(recordTime / 3)
		l.reply(qs[0], aaep.Accept)
		time.Sleep(recordTime / 3)
		l.renegotiate(moreTimeTerms(qs[0].ReplyToken, 0))
		l.reply(qs[1], aaep.Accept)
		for _, paid := range []<-chan result[string]{one, two} {
			if r := <-paid; r.err != nil {
				t.Errorf("an answer in time: %v", r.err)
			}
		}
	})
}

// A question that time, its user or its agent settles is told so when that is on record; meanwhile
// nothing else waits.
func TestSlowSettlement(t *testing.T) {
	for name, tc := range map[string]struct {
		settles func(l *listener, s *producer.Session, cancel func())
		want    error
	}{
		"timed out": {func(*listener, *producer.Session, func()) {}, producer.ErrTimedOut},
		"rejected":  {func(l *listener, _ *producer.Session, _ func()) { l.reply(l.question(), aaep.Reject) }, producer.ErrRejected},
		"withdrawn": {func(_ *listener, _ *producer.Session, cancel func()) { cancel() }, context.Canceled},
		"left":      {func(l *listener, _ *producer.Session, _ func()) { l.conn.Close() }, producer.ErrUnreachable},
		"over": {func(_ *listener, s *producer.Session, _ func()) { s.Cancel(aaep.CancelledByUser, aaep.Text{}) },
			producer.ErrSessionOver},
	} {
		t.Run(name, func(t *testing.T) {
			kept := &slowSink{takes: slowOnly(audit.Settled)}
			bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
				l, s, d := st.listen(mayAnswer(allEvents())), st.startSession("Paying."), &action{}
				watch := st.addWatcher()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				quick := pay
				quick.Timeout = 5 * time.Second
				paid := callLater(func() (string, error) { return s.Tool(ctx, quick, d.do) })
				synctest.Wait()
				atOnce(t, "settling", func() { tc.settles(l, s, cancel) })
				time.Sleep(quick.Timeout + time.Second)
				if name != "over" {
					atOnce(t, "text", func() { requireNoError(t, s.Output().Close()) })
				}
				atOnce(t, "subscribing", func() { st.listen(mayAnswer(allEvents())) })
				if r := <-paid; !errors.Is(r.err, tc.want) || d.times > 0 {
					t.Errorf("Tool = %v after %d runs", r.err, d.times)
				}
				time.Sleep(2 * recordTime)
				if qs := payloadsOf[*aaep.AwaitingConfirmation](watch.events()); len(qs) > 0 {
					t.Error("who cannot answer is asked")
				}
				if got := kindsOf(kept.records()); got != "asked settled" && got != "asked replied settled" {
					t.Errorf("on record: %s", got)
				}
			})
		})
	}
}

// What comes of a question that is not put yet, for it is being recorded: no listener hears of it,
// and what became of it is on record.
func TestEndsWhileItIsRecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		ends    func(st *stage, l *listener, s *producer.Session, cancel func())
		want    error
		story   string
		records string
	}{
		"the session ends": {func(_ *stage, _ *listener, s *producer.Session, _ func()) {
			s.Cancel(aaep.CancelledByUser, aaep.Text{})
		},
			producer.ErrSessionOver, "session.started idle>thinking session.cancelled:user", "asked settled"},
		"the agent withdraws it": {func(_ *stage, _ *listener, _ *producer.Session, cancel func()) { cancel() },
			context.Canceled, "session.started idle>thinking", "asked settled"},
		"the last one leaves": {func(_ *stage, l *listener, _ *producer.Session, _ func()) { l.conn.Close() },
			producer.ErrUnreachable, "session.started idle>thinking thinking>awaiting_input awaiting_input>thinking", "asked settled"},
		"the last one leaves and comes back": {func(st *stage, l *listener, _ *producer.Session, _ func()) {
			l.conn.Close()
			again := st.listen(mayAnswer(allEvents()))
			go func() {
				time.Sleep(2 * recordTime)
				for _, q := range payloadsOf[*aaep.AwaitingConfirmation](eventsOf(again.arrivals())) {
					again.reply(q, aaep.Reject)
				}
			}()
		}, producer.ErrRejected, asked[:len(asked)-len("awaiting.confirmation ")] + "awaiting_input>thinking", "asked asked replied settled"},
		"the last one can answer no more": {func(_ *stage, l *listener, _ *producer.Session, _ func()) {
			l.renegotiate(aaep.Capabilities{SupportsConfirmationReply: new(false)})
		}, producer.ErrUnreachable, "session.started idle>thinking thinking>awaiting_input awaiting_input>thinking", "asked settled"},
		"the agent shuts down": {func(st *stage, _ *listener, _ *producer.Session, _ func()) { go st.p.Shutdown(context.Background()) },
			producer.ErrSessionOver, "session.started idle>thinking session.cancelled:system", "asked settled"},
	} {
		t.Run(name, func(t *testing.T) {
			kept := &slowSink{takes: slowOnly(audit.Asked)}
			bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
				l, watch, s, d := st.listen(mayAnswer(allEvents())), st.addWatcher(), st.startSession("Paying."), &action{}
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				paid := callLater(func() (string, error) { return s.Tool(ctx, pay, d.do) })
				time.Sleep(time.Second)
				atOnce(t, name, func() { tc.ends(st, l, s, cancel) })
				if r := <-paid; !errors.Is(r.err, tc.want) || d.times > 0 {
					t.Errorf("Tool = %v after %d runs, want %v", r.err, d.times, tc.want)
				}
				time.Sleep(recordTime)
				wantStory(t, watch.events(), tc.story)
				if got := kindsOf(kept.records()); got != tc.records {
					t.Errorf("on record: %s, want %s", got, tc.records)
				}
				if qs := payloadsOf[*aaep.AwaitingConfirmation](l.events()); len(qs) > 0 {
					t.Error("the question was put all the same")
				}
			})
		})
	}
}

// INV-02, D-84: where the only subscription that was on record has left, and it cannot be recorded
// that another is asked, an action whose default is yes is not run.
func TestDefaultIsNotTakenForAFailedRecord(t *testing.T) {
	asked := 0
	kept := &slowSink{takes: slowOnly(audit.Asked), refuses: func(r audit.Record) error {
		if r.Kind != audit.Asked {
			return nil
		}
		if asked++; asked > 1 {
			return errors.New("the disk is full")
		}
		return nil
	}}
	bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
		l, s, d := st.listen(mayAnswer(allEvents())), st.startSession("Paying."), &action{}
		harmless := pay
		harmless.Risk, harmless.Irreversible, harmless.Confirm, harmless.Default = aaep.RiskLow, false, true, aaep.Accept
		paid := callLater(func() (string, error) { return s.Tool(t.Context(), harmless, d.do) })
		time.Sleep(time.Second)
		l.conn.Close()
		st.listen(mayAnswer(allEvents()))
		if r := <-paid; !errors.Is(r.err, producer.ErrNotRecorded) || d.times > 0 {
			t.Errorf("Tool = %v after %d runs, want %v", r.err, d.times, producer.ErrNotRecorded)
		}
	})
}

// INV-11: a call that succeeded is reported as that, also where the session ends while its end is
// recorded.
func TestSuccessIsReportedBesideASlowRecord(t *testing.T) {
	kept := &slowSink{takes: slowOnly(audit.Completed)}
	bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
		l, s := st.addWatcher(), st.startSession("Looking.")
		looked := callLater(func() (string, error) {
			return s.Tool(t.Context(), look, func(context.Context) (string, error) { return "", nil })
		})
		time.Sleep(time.Second)
		requireNoError(t, s.Complete(aaep.Say("Done.")))
		<-looked
		for _, done := range payloadsOf[*aaep.ToolCompleted](l.events()) {
			if done.Status != aaep.ToolSuccess {
				t.Errorf("the call is reported as %s", done.Status)
			}
		}
		if got := kindsOf(kept.records()); got != "invoked completed" {
			t.Errorf("on record: %s", got)
		}
	})
}

// Who is not on record as asked is not asked, and their answer has no effect; that of those who are
// has.
func TestNewSubscriptionThatCannotBeRecorded(t *testing.T) {
	for name, refuse := range map[string]func() error{
		"fails":  func() error { return errors.New("the disk is full") },
		"panics": func() error { panic("a sink's mistake") },
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int32
			kept := &slowSink{takes: slowOnly(audit.Asked)}
			kept.refuses = func(r audit.Record) error {
				if r.Kind == audit.Asked {
					if n.Add(1) == 2 {
						return refuse()
					}
				}
				return nil
			}
			bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
				first, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
				paid := callTool(s, pay, d)
				time.Sleep(time.Second)
				second := st.listen(mayAnswer(allEvents()))
				time.Sleep(recordTime)
				q := first.question()
				third := st.listen(mayAnswer(allEvents()))
				time.Sleep(2 * recordTime)
				for l, want := range map[*listener]int{first: 1, second: 0, third: 1} {
					if qs := payloadsOf[*aaep.AwaitingConfirmation](l.events()); len(qs) != want {
						t.Errorf("%s is asked %d times, want %d", l.id, len(qs), want)
					}
				}
				second.reply(q, aaep.Accept)
				time.Sleep(time.Minute)
				if d.times > 0 {
					t.Error("it ran on the word of one who is not on record as asked")
				}
				third.reply(third.question(), aaep.Accept)
				if r := <-paid; r.err != nil || d.times != 1 {
					t.Errorf("Tool = %v after %d runs", r.err, d.times)
				}
			})
		})
	}
}

// At a process that follows, a question waits until it is on record there, and nothing else does;
// and it is not put where it was settled meanwhile.
func TestFollowerWithASlowSink(t *testing.T) {
	for _, settled := range []bool{false, true} {
		runInCloud(t, func(c *cloud, agent *stage, edges [2]*stage, _ *sink) {
			kept := &slowSink{takes: slowEvery}
			edge := c.startReplicaWith(t, "south", kept)
			defer edge.end()
			l, watch, near := edge.listen(mayAnswer(allEvents())), edge.listen(allEvents()), agent.addRecorder()
			time.Sleep(5 * time.Second) // the agent knows who listens
			s, d := agent.startSession("Paying."), &action{}
			began := time.Now()
			paid := callTool(s, pay, d)
			time.Sleep(time.Second)
			out := s.Output()
			atOnce(t, "text", func() {
				requireNoError(t, errors.Join(writeText(out, "Meanwhile."), out.Close()))
				time.Sleep(50 * time.Millisecond)
				for _, one := range []*listener{l, watch} {
					if len(payloadsOf[*aaep.OutputStreaming](one.events())) == 0 {
						t.Error("text waits for the record of a question")
					}
				}
			})
			if len(payloadsOf[*aaep.AwaitingConfirmation](l.events())) > 0 {
				t.Error("a question is put that is not on record")
			}
			var late *listener
			atOnce(t, "subscribing", func() { late = edge.listen(mayAnswer(allEvents())) })
			if settled {
				near.reply(near.question(), aaep.Reject)
				<-paid
			}
			time.Sleep(time.Until(began.Add(2*recordTime + time.Second)))
			for _, one := range []*listener{l, late} {
				if n := len(payloadsOf[*aaep.AwaitingConfirmation](one.events())); (n > 0) == settled || n > 1 {
					t.Errorf("settled %t: asked %d times", settled, n)
				}
			}
			if settled {
				return
			}
			late.reply(late.question(), aaep.Accept)
			if r := <-paid; r.err != nil || d.times != 1 {
				t.Errorf("Tool = %v after %d runs", r.err, d.times)
			}
		})
	}
}

// requireNoError ends the test if err is not nil.
func requireNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writeText writes text to an output, and returns the error alone.
func writeText(out *producer.Output, text string) error {
	_, err := out.WriteString(text)
	return err
}
