package questions

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/producer/audit"
)

// newTestBroker returns a Broker whose records go nowhere; suspended is as in NewBroker.
func newTestBroker(suspended func() time.Duration) *Broker {
	discard := slog.New(slog.DiscardHandler)
	return NewBroker(NewAuditLog(audit.Slog(discard), discard), suspended)
}

// D-79, INV-07: a machine that slept past the deadline wakes to an expired question, whatever waits
// to be read; wall clocks have no say.
func TestQuestionExpiresDuringSuspend(t *testing.T) {
	for name, replies := range map[string]bool{"a reply waits": true, "nobody replies": false} {
		synctest.Test(t, func(t *testing.T) {
			var slept atomic.Int64
			slept.Store(int64(time.Hour)) // before
			b := newTestBroker(func() time.Duration { return time.Duration(slept.Load()) })
			defer b.Close()
			c := &aaep.AwaitingConfirmation{TimeoutSeconds: 60, DefaultDecision: aaep.Reject, RiskLevel: aaep.RiskHigh, ReplyToken: "rpl_1"}
			w, err := b.Open(&ledger.Question{Token: "rpl_1", Confirmation: c, Stamp: time.Now().Round(0), Recipients: []string{"sub_1"}}, audit.Record{})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			slept.Add(int64(49 * time.Second))
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			if len(w.Answer) != 0 {
				t.Errorf("%s: settled before its time", name)
			}
			slept.Add(int64(time.Second))
			began := time.Now()
			if replies {
				_, err := b.Reply(audit.Subscription{SubscriptionID: "sub_1"}, &aaep.ConfirmationReply{ReplyToken: "rpl_1", Decision: aaep.Accept, SubscriptionID: "sub_1", Timestamp: time.Now().Round(0)}, nil)
				if err == nil {
					t.Errorf("%s: it counted", name)
				}
			}
			if out := <-w.Answer; out.Cause != ledger.TimedOut || out.Decision != aaep.Reject || time.Since(began) > LookAgain {
				t.Errorf("%s: %s %s after %v", name, out.Cause, out.Decision, time.Since(began))
			}
		})
	}
}

// A question whose token is taken is refused, and takes nothing from the one that has it.
func TestBrokerRefusesUsedToken(t *testing.T) {
	b := newTestBroker(nil)
	defer b.Close()
	open := func() (*Waiter, error) {
		c := &aaep.AwaitingConfirmation{TimeoutSeconds: 60, DefaultDecision: aaep.Reject, ReplyToken: "rpl_1"}
		return b.Open(&ledger.Question{Token: "rpl_1", Confirmation: c, Recipients: []string{"sub_1"}}, audit.Record{})
	}
	w, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(); err == nil {
		t.Error("the same token is taken twice")
	}
	b.Withdraw("rpl_1", "")
	if out := <-w.Answer; out.Cause != ledger.Withdrawn {
		t.Errorf("the first asker has %s", out.Cause)
	}
}

// On this machine the clock that counts sleep runs, and a question is not due the sooner for it.
func TestSuspendedTimeNeverFalls(t *testing.T) {
	if first, second := suspendedTime(), suspendedTime(); first < 0 || second < first {
		t.Errorf("suspended for %v, then %v", first, second)
	}
}
