package producer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
)

type sinkFunc func(audit.Record) error

func (f sinkFunc) Record(r audit.Record) error { return f(r) }

// A sink takes its time, and may look at the producer; nobody else waits for that.
func TestMoreTimeIsRecordedWithoutALock(t *testing.T) {
	var p *producer.Producer
	kept := 0
	cfg := producer.Config{Audit: sinkFunc(func(r audit.Record) error {
		if r.Kind == audit.Extended {
			kept += len(p.Subscriptions())
		}
		return nil
	})}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		p = st.p
		l := st.listen(answering(everything()))
		s := st.session("Paying.")
		paid := later(func() (string, error) { return s.Tool(context.Background(), pay, ok) })
		q := l.question()
		l.sendRaw(fmt.Sprintf(`{"type":"subscription.renegotiate","subscription_id":%q,"capabilities":{"timing":{"more_time_for":%q}}}`, l.id, string(q.ReplyToken)))
		time.Sleep(9 * time.Minute)
		l.reply(q, aaep.Accept)
		if r := <-paid; r.err != nil || kept != 1 {
			t.Errorf("%v, and %d subscriptions were seen", r.err, kept)
		}
	})
}

// The outcome of a question that nobody could be asked is on record with its time and what it was about.
func TestUnreachableRecord(t *testing.T) {
	var settled []audit.Record
	cfg := producer.Config{Audit: sinkFunc(func(r audit.Record) error {
		if r.Kind == audit.Settled {
			settled = append(settled, r)
		}
		return nil
	})}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		s := st.session("Paying.")
		if _, err := s.Tool(context.Background(), pay, ok); err == nil {
			t.Error("it ran")
		}
		if len(settled) != 1 || settled[0].Tool != "pay" || settled[0].ToolCallID == "" || !settled[0].Time.Equal(time.Now()) {
			t.Errorf("%+v", settled)
		}
	})
}

// A sink that takes its time over a settlement, and looks at the producer, keeps neither it nor a question that is
// about to be put waiting for ever.
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
		l := st.listen(answering(everything()))
		a, b := st.session("Paying."), st.session("Paying too.")
		first := later(func() (string, error) { return a.Tool(context.Background(), pay, ok) })
		l.reply(l.question(), aaep.Accept)
		time.Sleep(5 * time.Millisecond)
		second := later(func() (string, error) { return b.Tool(context.Background(), pay, ok) })
		if r := <-first; r.err != nil {
			t.Error(r.err)
		}
		late := st.listen(answering(everything()))
		late.reply(late.question(), aaep.Accept)
		if r := <-second; r.err != nil {
			t.Error(r.err)
		}
	})
}

// Who hears that the session has ended hears no lie: a deed that was still being recorded then is not done (INV-02).
func TestSessionEndsWhileTheDeedIsRecorded(t *testing.T) {
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
		l, s, d := st.record(), st.session("Paying."), &deed{}
		recording, kept = make(chan struct{}), make(chan struct{})
		paid := tool(s, pay, d)
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
