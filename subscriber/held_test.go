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

// ago is a message as it was so long ago.
func ago(d time.Duration, msg string) string {
	now := time.Now()
	return strings.Replace(msg, aaep.FormatTimestamp(now), aaep.FormatTimestamp(now.Add(-d)), 1)
}

func state(id, from, to string) string {
	return event(id, "aaep:agent.state.changed", `,"summary_normal":"On.","from_state":"`+from+`","to_state":"`+to+`"`)
}

// Some producers tell their past to whoever begins. Of what they asked then, only what is still open is a question.
func TestLateQuestions(t *testing.T) {
	const minute = time.Minute
	bubble(t, func(t *testing.T) {
		sub, p := open(t, newStage(), Config{})
		p.say(t, ago(3*minute, confirmation("evt_1", "rpl_1", "")))
		p.say(t, ago(2*minute, state("evt_2", "calling_tool", "thinking"))) // a producer that never says awaiting_input
		p.say(t, ago(minute, clarification("evt_3", "rpl_3", "")))
		p.say(t, evt(4))
		began := time.Now()
		take(t, sub, "evt_2")
		if d := time.Since(began); d != 0 {
			t.Errorf("what came behind a settled question waited for %v", d)
		}
		open := take(t, sub, "evt_3")
		if d := time.Since(began); d != longHeld {
			t.Errorf("an open question from before was held for %v, want %v", d, longHeld)
		}
		take(t, sub, "evt_4")
		if err := sub.Answer(t.Context(), open, "this one"); err != nil {
			t.Error(err)
		}
		want[*aaep.ClarificationReply](t, p)

		p.say(t, confirmation("evt_5", "rpl_5", "")) // what is asked now is never held
		p.say(t, state("evt_6", "awaiting_input", "thinking"))
		began = time.Now()
		take(t, sub, "evt_5")
		if d := time.Since(began); d != 0 {
			t.Errorf("a question was held for %v", d)
		}
		take(t, sub, "evt_6")
		leave(t, sub, p)
	})
}

// What is critical waits behind no question that is held. P3
func TestHeldQuestionHoldsNothingCritical(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, p := open(t, newStage(), Config{})
		p.say(t, ago(time.Minute, confirmation("evt_1", "rpl_1", "")))
		p.say(t, evt(2))
		p.say(t, confirmation("evt_3", "rpl_3", ""))
		began := time.Now()
		for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
			take(t, sub, id)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("a question of now waited for %v", d)
		}
		leave(t, sub, p)
	})
}

// Whoever gave up waiting for a held question leaves it to the next; and the end holds nothing back.
func TestHeldQuestionIsNotLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, p := open(t, newStage(), Config{})
		p.say(t, ago(time.Minute, confirmation("evt_1", "rpl_1", "")))
		ctx, cancel := context.WithTimeout(t.Context(), longHeld/2)
		defer cancel()
		if ev, err := sub.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Next = %v, %v", ev, err)
		}
		take(t, sub, "evt_1")
		p.say(t, ago(time.Minute, confirmation("evt_2", "rpl_2", "")))
		p.say(t, closing("sub_1", "session_ended"))
		began := time.Now()
		take(t, sub, "evt_2")
		if d := time.Since(began); d != 0 {
			t.Errorf("the end waited for %v", d)
		}
		_ = sub.Close()
	})
}

// Who cannot answer gets a record of everything.
func TestLateQuestionsForTheRecord(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, p := open(t, newStage(), Config{ID: "log"})
		p.say(t, ago(time.Minute, confirmation("evt_1", "rpl_1", "")))
		p.say(t, state("evt_2", "awaiting_input", "thinking"))
		take(t, sub, "evt_1")
		take(t, sub, "evt_2")
		leave(t, sub, p)
	})
}

// Where nobody has a subscription, as without a handshake, a token outlives the link: a question that was answered is not
// asked again when the producer tells its past once more, and one that was not can still be answered. D-43
func TestTokensWithoutSubscription(t *testing.T) {
	bubble(t, func(t *testing.T) {
		st := newStage()
		sub, old := open(t, st, Config{})
		first, second := confirmation("evt_1", "rpl_1", ""), confirmation("evt_2", "rpl_2", "")
		old.say(t, first)
		old.say(t, second)
		done, open := take(t, sub, "evt_1"), take(t, sub, "evt_2")
		if err := sub.Reply(t.Context(), done, aaep.Accept); err != nil {
			t.Fatal(err)
		}
		want[*aaep.ConfirmationReply](t, old)
		_ = old.Close()
		p := st.next(t)
		p.accept(t, "sub_1")
		p.say(t, first)
		p.say(t, evt(3))
		take(t, sub, "evt_3")
		if err := sub.Reply(t.Context(), open, aaep.Reject); err != nil {
			t.Errorf("Reply to a question of before = %v", err)
		}
		if r := want[*aaep.ConfirmationReply](t, p); r.ReplyToken != "rpl_2" {
			t.Errorf("reply = %+v", r)
		}
		leave(t, sub, p)
	})
}

// numbered is a link whose producer gives its events ids, or none.
type numbered struct {
	*flaky
	id string
}

func (n numbered) LastEventID() string { return n.id }

// A stream that is opened again goes on where it was only if its producer numbers what it sends; else something may be
// missing, and whoever listens can be told. What is open stays open. SSE-013, D-65
func TestReopenedWithoutIDs(t *testing.T) {
	for id, whole := range map[string]bool{"evt_1": true, "": false} {
		bubble(t, func(t *testing.T) {
			f, p := newFlaky()
			f.in <- accepted("sub_1", "{}")
			sub, err := Dial(t.Context(), dialer(func(context.Context) (transports.Conn, error) { return numbered{f, id}, nil }), Config{ID: "reader", Capabilities: able()})
			if err != nil {
				t.Fatal(err)
			}
			want[*aaep.SubscriptionRequest](t, p)
			f.in <- confirmation("evt_1", "rpl_1", "")
			ask := take(t, sub, "evt_1")
			f.cut()
			await(sub, false)
			if got := await(sub, true); got.Subscribed != 1 || got.Resumed != whole {
				t.Errorf("with the id %q, Status = %+v", id, got)
			}
			if err := sub.Reply(t.Context(), ask, aaep.Reject); err != nil {
				t.Errorf("Reply = %v", err)
			}
			want[*aaep.ConfirmationReply](t, p)
			leave(t, sub, p)
		})
	}
}
