package subscriber

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// messageFrom is a message as it was so long ago.
func messageFrom(d time.Duration, msg string) string {
	now := time.Now()
	return strings.Replace(msg, aaep.FormatTimestamp(now), aaep.FormatTimestamp(now.Add(-d)), 1)
}

func stateMessage(id, from, to string) string {
	return eventMessage(id, "aaep:agent.state.changed",
		`,"summary_normal":"On.","from_state":"`+from+`","to_state":"`+to+`"`)
}

// Some producers tell their past to a new subscription. Of what they asked then, only what is still
// open is a question.
func TestLateQuestions(t *testing.T) {
	const minute = time.Minute
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, messageFrom(3*minute, confirmationMessage("evt_1", "rpl_1", "")))
		p.sendRaw(t, messageFrom(2*minute, stateMessage("evt_2", "calling_tool",
			"thinking"))) // a producer that never says awaiting_input
		p.sendRaw(t, messageFrom(minute, clarificationMessage("evt_3", "rpl_3", "")))
		p.sendRaw(t, numberedEvent(4))
		began := time.Now()
		takeEvent(t, sub, "evt_2")
		if d := time.Since(began); d != 0 {
			t.Errorf("what came behind a settled question waited for %v", d)
		}
		open := takeEvent(t, sub, "evt_3")
		if d := time.Since(began); d != holdTime {
			t.Errorf("an open question from before was held for %v, want %v", d, holdTime)
		}
		takeEvent(t, sub, "evt_4")
		if err := sub.Question(open).AnswerText(t.Context(), "this one"); err != nil {
			t.Error(err)
		}
		mustRead[*aaep.ClarificationReply](t, p)

		p.sendRaw(t, confirmationMessage("evt_5", "rpl_5", "")) // what is asked now is never held
		p.sendRaw(t, stateMessage("evt_6", "awaiting_input", "thinking"))
		began = time.Now()
		takeEvent(t, sub, "evt_5")
		if d := time.Since(began); d != 0 {
			t.Errorf("a question was held for %v", d)
		}
		takeEvent(t, sub, "evt_6")
		closeBoth(t, sub, p)
	})
}

// What is critical waits behind no question that is held. P3
func TestHeldQuestionHoldsNothingCritical(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, messageFrom(time.Minute, confirmationMessage("evt_1", "rpl_1", "")))
		p.sendRaw(t, numberedEvent(2))
		p.sendRaw(t, confirmationMessage("evt_3", "rpl_3", ""))
		began := time.Now()
		for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
			takeEvent(t, sub, id)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("a question of now waited for %v", d)
		}
		closeBoth(t, sub, p)
	})
}

// A caller that gave up waiting for a held question leaves it to the next; and the end holds
// nothing back.
func TestHeldQuestionIsNotLost(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, messageFrom(time.Minute, confirmationMessage("evt_1", "rpl_1", "")))
		ctx, cancel := context.WithTimeout(t.Context(), holdTime/2)
		defer cancel()
		if ev, err := sub.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Next = %v, %v", ev, err)
		}
		takeEvent(t, sub, "evt_1")
		p.sendRaw(t, messageFrom(time.Minute, confirmationMessage("evt_2", "rpl_2", "")))
		p.sendRaw(t, closeMessage("sub_1", "session_ended"))
		began := time.Now()
		takeEvent(t, sub, "evt_2")
		if d := time.Since(began); d != 0 {
			t.Errorf("the end waited for %v", d)
		}
		_ = sub.Close()
	})
}

// Who cannot answer gets a record of everything.
func TestLateQuestionsForTheRecord(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{ID: "log"})
		p.sendRaw(t, messageFrom(time.Minute, confirmationMessage("evt_1", "rpl_1", "")))
		p.sendRaw(t, stateMessage("evt_2", "awaiting_input", "thinking"))
		takeEvent(t, sub, "evt_1")
		takeEvent(t, sub, "evt_2")
		closeBoth(t, sub, p)
	})
}

// Where there is no subscription, as without a handshake, a token outlives the link: a question
// that was answered is not asked again when the producer tells its past once more, and one that was
// not can still be answered. D-43
func TestTokensWithoutSubscription(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, old := openSubscription(t, st, Config{})
		first, second := confirmationMessage("evt_1", "rpl_1", ""), confirmationMessage("evt_2", "rpl_2", "")
		old.sendRaw(t, first)
		old.sendRaw(t, second)
		done, open := takeEvent(t, sub, "evt_1"), takeEvent(t, sub, "evt_2")
		if err := sub.Question(done).Accept(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustRead[*aaep.ConfirmationReply](t, old)
		_ = old.Close()
		p := st.nextPeer(t)
		p.acceptRequest(t, "sub_1")
		p.sendRaw(t, first)
		p.sendRaw(t, numberedEvent(3))
		takeEvent(t, sub, "evt_3")
		if err := sub.Question(open).Reject(t.Context()); err != nil {
			t.Errorf("Reply to a question of before = %v", err)
		}
		if r := mustRead[*aaep.ConfirmationReply](t, p); r.ReplyToken != "rpl_2" {
			t.Errorf("reply = %+v", r)
		}
		closeBoth(t, sub, p)
	})
}

// numbered is a link whose producer gives its events ids, or none.
type numbered struct {
	*flakyDialer
	id string
}

func (n numbered) LastEventID() string { return n.id }

// A stream that is opened again goes on where it was only if its producer numbers what it sends;
// else something may be missing, and the user can be told. What is open stays open. SSE-013, D-65
func TestReopenedWithoutIDs(t *testing.T) {
	for id, whole := range map[string]bool{"evt_1": true, "": false} {
		runVirtual(t, func(t *testing.T) {
			f, p := newFlaky()
			f.in <- acceptedMessage("sub_1", "{}")
			sub, err := Dial(t.Context(), dialer(func(context.Context) (transports.Conn,
				error) {
				return numbered{f, id}, nil
			}), Config{ID: "reader", Capabilities: allReplies()})
			if err != nil {
				t.Fatal(err)
			}
			mustRead[*aaep.SubscriptionRequest](t, p)
			f.in <- confirmationMessage("evt_1", "rpl_1", "")
			ask := takeEvent(t, sub, "evt_1")
			f.cutAll()
			awaitStatus(sub, false)
			if got := awaitStatus(sub, true); got.Subscribed != 1 || got.Resumed != whole {
				t.Errorf("with the id %q, Status = %+v", id, got)
			}
			if err := sub.Question(ask).Reject(t.Context()); err != nil {
				t.Errorf("Reply = %v", err)
			}
			mustRead[*aaep.ConfirmationReply](t, p)
			closeBoth(t, sub, p)
		})
	}
}
