package producer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
)

// sink keeps records in memory, and fails when it is told to.
type sink struct {
	mu    sync.Mutex
	all   []audit.Record
	fails audit.Kind
}

// Record keeps r, or fails where r is of the kind that fails.
func (s *sink) Record(r audit.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Kind == s.fails {
		return errors.New("the disk is full")
	}
	s.all = append(s.all, r)
	return nil
}

// records returns the records that were kept so far.
func (s *sink) records() []audit.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// kindsOf returns the kinds of records in their order, with spaces between.
func kindsOf(rs []audit.Record) string {
	var all []string
	for _, r := range rs {
		all = append(all, string(r.Kind))
	}
	return strings.Join(all, " ")
}

// SEC-005, SEC-007, D-84, INV-16: the trail tells who allowed what, having been shown which words,
// in which language; and what is done is done after it is on record.
func TestTrail(t *testing.T) {
	kept := &sink{}
	cfg := polyglot
	cfg.Audit = kept
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		spanish := st.listen(mayAnswer(inLanguages(allEvents(), "es")))
		english := st.listen(mayAnswer(allEvents()))
		s, d := st.startSession("Paying."), &action{}
		paid := callLater(func() (string, error) {
			return s.Tool(t.Context(), transfer, func(ctx context.Context) (string, error) {
				if got := kindsOf(kept.records()); got != "asked replied replied settled invoked" { // INV-02
					t.Errorf("on record when it ran: %s", got)
				}
				time.Sleep(3 * time.Second)
				return d.do(ctx)
			})
		})
		q := spanish.question()
		forged := english.rawReply(q, aaep.Accept)
		forged["subscription_id"] = spanish.id
		english.sendObject(forged)
		synctest.Wait()
		reply := spanish.rawReply(q, aaep.Accept)
		reply["decided_by"], reply["decision_rationale"] = "Ada", "Agreed."
		spanish.sendObject(reply)
		if r := <-paid; r.err != nil {
			t.Fatal(r.err)
		}
		rs := kept.records()
		if got := kindsOf(rs); got != "asked replied replied settled invoked completed" {
			t.Fatalf("on record: %s", got)
		}
		asked, refused, replied, settled, invoked, completed := rs[0], rs[1], rs[2], rs[3], rs[4], rs[5]
		if len(asked.Shown) != 2 || asked.Shown[0].Action != "Transfer $500." || asked.Shown[1].Consequence != "Los fondos se mueven al instante." ||
			!asked.Irreversible || asked.Risk != aaep.RiskHigh || asked.Tool != "transfer_funds" || len(asked.Recipients) != 2 {
			t.Errorf("asked %+v", asked)
		}
		for _, who := range asked.Recipients {
			if want := map[string]string{spanish.id: "es", english.id: "en-US"}[who.SubscriptionID]; who.Language != want {
				t.Errorf("%s was shown %s, want %s", who.SubscriptionID, who.Language, want)
			}
		}
		if refused.Counted || refused.Refused == "" || refused.By.SubscriptionID != english.id {
			t.Errorf("a forged reply is recorded as %+v", refused)
		}
		if !replied.Counted || replied.Claims.DecidedBy != "Ada" || replied.Claims.Rationale != "Agreed." || replied.By.SubscriptionID != spanish.id {
			t.Errorf("replied %+v", replied)
		}
		if settled.Decision != aaep.Accept || settled.Cause != "replied" || settled.By.SubscriptionID != spanish.id || settled.By.Language != "es" ||
			settled.ShownDigest != asked.ShownDigest || settled.QuestionID != asked.QuestionID {
			t.Errorf("settled %+v", settled)
		}
		if invoked.QuestionID != asked.QuestionID || invoked.ToolCallID != asked.ToolCallID || invoked.ShownDigest != asked.ShownDigest {
			t.Errorf("invoked %+v", invoked)
		}
		if completed.Status != aaep.ToolSuccess || *completed.DurationMS != 3000 || completed.ToolCallID != asked.ToolCallID {
			t.Errorf("completed %+v", completed)
		}
		if text := fmt.Sprintf("%+v", rs); strings.Contains(text, string(q.ReplyToken)) {
			t.Error("the token is in the trail")
		}
	})
}

// What cannot be recorded is not done: not asked, not accepted, not run. What has happened already
// changes nothing.
func TestNotRecorded(t *testing.T) {
	for kind, tc := range map[audit.Kind]struct {
		asked bool
		runs  int
		story string
	}{
		audit.Asked:     {false, 0, "session.started idle>thinking"},
		audit.Replied:   {true, 0, asked + "awaiting_input>thinking"},
		audit.Settled:   {true, 0, asked + "awaiting_input>thinking"},
		audit.Invoked:   {true, 0, asked + "awaiting_input>calling_tool tool.invoked tool.error calling_tool>thinking"},
		audit.Completed: {true, 1, asked + "awaiting_input>calling_tool tool.invoked tool.success calling_tool>thinking"},
		audit.Extended:  {true, 1, asked + "progress.updated awaiting_input>calling_tool tool.invoked tool.success calling_tool>thinking"},
	} {
		bubbleWith(t, producer.Config{Audit: &sink{fails: kind}}, func(t *testing.T, st *stage) {
			l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
			paid := callTool(s, pay, d)
			synctest.Wait()
			if tc.asked {
				if kind == audit.Extended {
					l.renegotiate(moreTimeTerms(l.question().ReplyToken, 0))
				}
				l.reply(l.question(), aaep.Accept)
			}
			r := <-paid
			if d.times != tc.runs || (tc.runs == 0) != errors.Is(r.err, producer.ErrNotRecorded) {
				t.Errorf("%s: %d runs, %v", kind, d.times, r.err)
			}
			evs := l.events()
			wantStory(t, evs, tc.story)
			told := slices.ContainsFunc(evs, func(ev *aaep.Event) bool {
				return strings.HasPrefix(ev.Summary.Normal, "It could not be put on record, so this was not done: ")
			})
			if want := tc.runs == 0 && tc.asked; told != want {
				t.Errorf("%s: why it was not done is told: %t, want %t", kind, told, want)
			}
			if n := st.p.Stats().Unrecorded; n == 0 {
				t.Errorf("%s: no instrument can tell", kind)
			}
			if _, err := s.Tool(t.Context(), look, succeed); (err != nil) != (kind == audit.Invoked) { // the session goes on
				t.Errorf("%s: another tool: %v", kind, err)
			}
		})
	}
}

// An answer that cannot be recorded does not count, and the user is told that and why.
func TestAnswerNotRecorded(t *testing.T) {
	bubbleWith(t, producer.Config{Audit: &sink{fails: audit.Replied}}, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Asking.")
		answer := callLater(func() (any, error) {
			return s.AskText(t.Context(), producer.Question{Text: aaep.Say("Which colour?")})
		})
		synctest.Wait()
		q := payloadsOf[*aaep.AwaitingClarification](l.events())[0]
		l.send(&aaep.ClarificationReply{ReplyToken: q.ReplyToken, Response: "blue", SubscriptionID: l.id, Timestamp: time.Now()})
		if r := <-answer; !errors.Is(r.err, producer.ErrNotRecorded) {
			t.Errorf("AskText = %v, %v", r.value, r.err)
		}
		evs := l.events()
		if got := evs[len(evs)-1].Summary.Normal; got != "The answer could not be put on record, and does not count: Which colour?" {
			t.Errorf("told: %q", got)
		}
	})
}

// A flood of replies that do not count does not fill the trail, and is not lost in it either.
func TestTrailOfAFlood(t *testing.T) {
	kept := &sink{}
	bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
		l := st.listen(mayAnswer(allEvents()))
		paid := callTool(st.startSession("Paying."), pay, &action{})
		q := l.question()
		for i := range 1000 {
			guess := *q
			guess.ReplyToken = aaep.ReplyToken(fmt.Sprintf("rpl_%032x", i))
			l.reply(&guess, aaep.Accept)
		}
		time.Sleep(20 * time.Second)
		l.reply(&aaep.AwaitingConfirmation{ReplyToken: "rpl_0"}, aaep.Accept)
		synctest.Wait() // each is recorded by itself
		l.reply(q, aaep.Reject)
		<-paid
		rs := kept.records()
		last := rs[len(rs)-3]
		if n := strings.Count(kindsOf(rs), "replied"); n > 30 || n < 15 || !strings.Contains(last.Refused, "before it") {
			t.Errorf("%d replies on record, the last %q", n, last.Refused)
		}
	})
}

// Who comes while a question is open is on record before they are asked, and so is a question that
// no user could answer.
func TestAuditLogOfLateAndUnasked(t *testing.T) {
	kept := &sink{}
	bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
		s := st.startSession("Paying.")
		if r := <-callTool(s, pay, &action{}); !errors.Is(r.err, producer.ErrUnreachable) {
			t.Error(r.err)
		}
		first := st.listen(mayAnswer(allEvents()))
		paid := callTool(s, pay, &action{})
		first.question()
		late := st.listen(mayAnswer(allEvents()))
		late.reply(late.question(), aaep.Reject)
		<-paid
		rs := kept.records()
		if got := kindsOf(rs); got != "settled asked asked replied settled" || rs[0].Cause != "unreachable" || rs[0].AgentID == "" ||
			rs[2].Recipients[0].SubscriptionID != late.id || rs[2].QuestionID != rs[1].QuestionID || rs[4].By.SubscriptionID != late.id {
			t.Errorf("on record: %s\n%+v", got, rs)
		}
	})
}

type sinkFunc func(audit.Record) error

// Record calls f.
func (f sinkFunc) Record(r audit.Record) error { return f(r) }

// A sink takes its time, and may look at the producer; no other goroutine waits for that.
func TestMoreTimeIsRecordedWithoutALock(t *testing.T) {
	var p *producer.Producer
	var kept atomic.Int32
	cfg := producer.Config{Audit: sinkFunc(func(r audit.Record) error {
		if r.Kind == audit.Extended {
			kept.Add(int32(len(p.Subscriptions())))
		}
		return nil
	})}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		p = st.p
		l := st.listen(mayAnswer(allEvents()))
		s := st.startSession("Paying.")
		paid := callLater(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
		q := l.question()
		l.sendRaw(fmt.Sprintf(`{"type":"subscription.renegotiate","subscription_id":%q,"capabilities":{"timing":{"more_time_for":%q}}}`, l.id, string(q.ReplyToken)))
		time.Sleep(9 * time.Minute)
		l.reply(q, aaep.Accept)
		if r := <-paid; r.err != nil || kept.Load() != 1 {
			t.Errorf("%v, and %d subscriptions were seen", r.err, kept.Load())
		}
	})
}

// The outcome of a question that could be put to no user is on record with its time and what it was
// about.
func TestUnreachableRecord(t *testing.T) {
	var settled []audit.Record
	cfg := producer.Config{Audit: sinkFunc(func(r audit.Record) error {
		if r.Kind == audit.Settled {
			settled = append(settled, r)
		}
		return nil
	})}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		s := st.startSession("Paying.")
		if _, err := s.Tool(context.Background(), pay, succeed); err == nil {
			t.Error("it ran")
		}
		if len(settled) != 1 || settled[0].Tool != "pay" || settled[0].ToolCallID == "" || !settled[0].Time.Equal(time.Now()) {
			t.Errorf("%+v", settled)
		}
	})
}

// A sink that takes its time over a settlement, and looks at the producer, keeps neither it nor a
// question that is about to be put waiting for ever.
func TestSettlementIsRecordedWithoutALock(t *testing.T) {
	var p *producer.Producer
	cfg := producer.Config{Audit: sinkFunc(func(r audit.Record) error {
		if r.Kind == audit.Settled {
			time.Sleep(10 * time.Millisecond)
			p.Subscriptions()
		}
		return nil
	})}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		p = st.p
		l := st.listen(mayAnswer(allEvents()))
		a, b := st.startSession("Paying."), st.startSession("Paying too.")
		first := callLater(func() (string, error) { return a.Tool(context.Background(), pay, succeed) })
		l.reply(l.question(), aaep.Accept)
		time.Sleep(5 * time.Millisecond)
		second := callLater(func() (string, error) { return b.Tool(context.Background(), pay, succeed) })
		if r := <-first; r.err != nil {
			t.Error(r.err)
		}
		late := st.listen(mayAnswer(allEvents()))
		late.reply(late.question(), aaep.Accept)
		if r := <-second; r.err != nil {
			t.Error(r.err)
		}
	})
}

// Who hears that the session has ended hears no lie: an action that was still being recorded then
// is not done (INV-02).
func TestSessionEndsWhileTheActionIsRecorded(t *testing.T) {
	var recording, kept chan struct{}
	var status aaep.ToolStatus
	cfg := producer.Config{Audit: sinkFunc(func(r audit.Record) error {
		if r.Kind == audit.Invoked {
			close(recording)
			<-kept
		}
		status = cmp.Or(r.Status, status)
		return nil
	})}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
		recording, kept = make(chan struct{}), make(chan struct{})
		paid := callTool(s, pay, d)
		l.reply(l.question(), aaep.Accept)
		<-recording
		s.Cancel(aaep.CancelledByUser, aaep.Text{})
		synctest.Wait()
		close(kept)
		if r := <-paid; d.times != 0 || !errors.Is(r.err, producer.ErrSessionOver) {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
		if status != aaep.ToolError {
			t.Errorf("what was recorded as invoked is recorded as %q in the end", status)
		}
	})
}
