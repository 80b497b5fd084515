package subscriber

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/replies"
)

// A decision goes out once, with the token and the subscription it came with. CONF-010, CONF-012 to
// CONF-017, EVT-077, TERM-017, LVL-023, LVL-024, INV-18, INV-19
func TestReplyOnce(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_Token1", ""))
		ev := takeEvent(t, sub, "evt_1")
		time.Sleep(1500 * time.Millisecond) // the person thinks
		decided := time.Now()
		if err := sub.Question(ev).Accept(t.Context()); err != nil {
			t.Fatalf("Reply = %v", err)
		}
		msg, m := p.readMessage(t)
		r, ok := m.(*aaep.ConfirmationReply)
		if !ok || r.ReplyToken != "rpl_Token1" || r.Decision != aaep.Accept || r.SubscriptionID != "sub_1" ||
			!r.Timestamp.Equal(decided) {
			t.Errorf("reply = %s, want accept for rpl_Token1 of sub_1 at %v", msg, decided)
		}
		var members map[string]any
		if err := json.Unmarshal(msg, &members); err != nil || len(members) != 5 {
			t.Errorf("reply = %s, want five members", msg)
		}
		for _, d := range []aaep.Decision{aaep.Accept, aaep.Reject} {
			if err := replies.Send(t.Context(), sub.Question(ev), d, nil); !errors.Is(err, ErrUnknownEvent) {
				t.Errorf("second Reply = %v, want ErrUnknownEvent", err)
			}
		}
		p.checkSilent(t, time.Minute)
		closeBoth(t, sub, p)
	})
}

// No code answers for the user: no reply at the timeout, none on Close. EVT-079, INV-18, LVL-023,
// CONF-039
func TestNoReplyByItself(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", `,"allowed_replies":["accept"]`))
		p.sendRaw(t, clarificationMessage("evt_2", "rpl_2", `,"default_response":"yes"`))
		takeEvent(t, sub, "evt_1")
		p.checkSilent(t, 48*time.Hour)
		closeBoth(t, sub, nil)
		mustRead[*aaep.SubscriptionClose](t, p)
		p.checkGone(t)
	})
}

// Only what was received and is open can be answered, and only in a way that fits. CONF-010,
// CONF-013, INV-18
func TestReplyRefused(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", `,"allowed_replies":["reject"]`))
		p.sendRaw(t, clarificationMessage("evt_2", "rpl_2", ""))
		p.sendRaw(t, numberedEvent(3))
		yes, which, other := takeEvent(t, sub, "evt_1"), takeEvent(t, sub, "evt_2"), takeEvent(t, sub, "evt_3")
		forged := *yes
		for name, ev := range map[string]*aaep.Event{"nil": nil, "empty": {}, "another type": other,
			"a clarification": which, "forged": &forged} {
			if err := sub.Question(ev).Reject(t.Context()); !errors.Is(err, ErrUnknownEvent) {
				t.Errorf("Reply to %s = %v, want ErrUnknownEvent", name, err)
			}
		}
		for _, ev := range []*aaep.Event{nil, {}, other, yes} {
			if err := sub.Question(ev).AnswerText(t.Context(), "x"); !errors.Is(err, ErrUnknownEvent) {
				t.Errorf("Answer to %v = %v, want ErrUnknownEvent", ev, err)
			}
		}
		wantError(t, "Reply", sub.Question(yes).AutoReply(t.Context(), "", "a policy"), "accept or reject")
		wantError(t, "Reply", sub.Question(yes).AutoReply(t.Context(), "Accept", "a policy"), "accept or reject")
		wantError(t, "Reply", sub.Question(yes).Accept(t.Context()), "does not allow")
		wantError(t, "Answer", sub.Question(yes).AnswerText(t.Context(), "x"), "Accept or Reject answers it")
		wantError(t, "Reply", sub.Question(which).Reject(t.Context()), "AnswerText, AnswerYesNo or AnswerNumber")
		p.checkSilent(t, time.Second)
		if err := sub.Question(yes).Reject(t.Context()); err != nil { // nothing above spoiled it
			t.Errorf("Reply = %v", err)
		}
		mustRead[*aaep.ConfirmationReply](t, p)
		for what, err := range map[string]error{"Reply": sub.Question(yes).Reject(t.Context()), "Err": sub.Question(yes).Err(),
			"Answer": sub.Question(yes).AnswerText(t.Context(), "x"), "MoreTime": sub.Question(yes).MoreTime(t.Context())} {
			wantError(t, what, err, "answered already")
		}
		closeBoth(t, sub, p)
	})
}

// The end of a session closes its questions, and no others; so does a state that does not wait for
// an answer. A user who then says yes is told that it does not count. CONF-053, LVL-028
func TestReplyAfterTheSession(t *testing.T) {
	for _, end := range []string{"session.completed", "session.errored", "session.cancelled", "state.changed"} {
		runVirtual(t, func(t *testing.T) {
			sub, p := openSubscription(t, newStage(), Config{})
			p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
			p.sendRaw(t, strings.Replace(confirmationMessage("evt_2", "rpl_2", ""), "sess_1", "sess_2", 1))
			p.sendRaw(t, eventMessage("evt_3", "aaep:agent."+end,
				`,"error_category":"unknown","cancelled_by":"user","from_state":"awaiting_input","to_state":"thinking"`))
			first, second := takeEvent(t, sub, "evt_1"), takeEvent(t, sub, "evt_2")
			takeEvent(t, sub, "evt_3")
			if err := sub.Question(first).Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) {
				t.Errorf("Reply after %s = %v, want ErrUnknownEvent", end, err)
			}
			if err := sub.Question(second).Accept(t.Context()); err != nil {
				t.Errorf("Reply = %v", err)
			}
			closeBoth(t, sub, p)
		})
	}
}

// A state that waits for an answer closes nothing. LVL-028
func TestReplyWhileWaiting(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		p.sendRaw(t, eventMessage("evt_2", "aaep:agent.state.changed",
			`,"from_state":"deciding","to_state":"awaiting_input"`))
		asked := takeEvent(t, sub, "evt_1")
		takeEvent(t, sub, "evt_2")
		if err := sub.Question(asked).Accept(t.Context()); err != nil {
			t.Errorf("Reply = %v", err)
		}
		mustRead[*aaep.ConfirmationReply](t, p)
		closeBoth(t, sub, p)
	})
}

// A token takes one decision, however often and under whatever ids it is shown. INV-18
func TestTokenShownTwice(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		p.sendRaw(t, confirmationMessage("evt_2", "rpl_1", ""))
		old, newer := takeEvent(t, sub, "evt_1"), takeEvent(t, sub, "evt_2")
		if err := sub.Question(old).Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("Reply to what was asked again = %v", err)
		}
		if err := sub.Question(newer).Reject(t.Context()); err != nil {
			t.Errorf("Reply = %v", err)
		}
		mustRead[*aaep.ConfirmationReply](t, p)
		p.sendRaw(t, eventMessage("evt_0", "aaep:agent.state.changed",
			`,"from_state":"awaiting_input","to_state":"thinking"`))
		takeEvent(t, sub, "evt_0")
		p.sendRaw(t, confirmationMessage("evt_3", "rpl_1", ""))
		p.sendRaw(t, confirmationMessage("evt_2", "rpl_1", ""))
		if err := sub.Question(takeEvent(t, sub, "evt_3")).Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("Reply to what was answered = %v", err)
		}
		p.checkSilent(t, time.Minute)
		closeBoth(t, sub, p)
	})
}

// Of many at once, one decision leaves. INV-18
func TestReplyConcurrent(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		ev := takeEvent(t, sub, "evt_1")
		var all sync.WaitGroup
		sent := make(chan aaep.Decision, 20)
		for i := range 20 {
			all.Go(func() {
				d := []aaep.Decision{aaep.Accept, aaep.Reject}[i%2]
				if replies.Send(t.Context(), sub.Question(ev), d, nil) == nil {
					sent <- d
				}
			})
		}
		all.Wait()
		if len(sent) != 1 {
			t.Fatalf("%d replies were sent, want 1", len(sent))
		}
		if r := mustRead[*aaep.ConfirmationReply](t, p); r.Decision != <-sent {
			t.Error("another decision arrived")
		}
		p.checkSilent(t, time.Second)
		closeBoth(t, sub, p)
	})
}

// Who did not offer to answer does not. D-34, CONF-046, CONF-047
func TestReplyNotOffered(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(),
			Config{ID: "reader", Capabilities: aaep.Capabilities{SupportsConfirmationReply: new(false),
				SupportsClarificationReply: new(true)}})
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		p.sendRaw(t, clarificationMessage("evt_2", "rpl_2", ""))
		wantError(t, "Reply", sub.Question(takeEvent(t, sub, "evt_1")).Accept(t.Context()), "did not offer")
		if err := sub.Question(takeEvent(t, sub, "evt_2")).AnswerText(t.Context(), "x"); err != nil { // as requested: D-45
			t.Errorf("Answer = %v", err)
		}
		mustRead[*aaep.ClarificationReply](t, p)
		p.checkSilent(t, time.Second)
		closeBoth(t, sub, p)
	})
}

// A subscription_id of another form is echoed as it came. D-44
func TestForeignID(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		const id = "Kanal 7/ä\"<>"
		st := newStage()
		done := make(chan *Subscription, 1)
		go func() {
			sub, err := Dial(t.Context(), st, Config{ID: "reader", Capabilities: allReplies()})
			if err != nil {
				t.Error(err)
			}
			done <- sub
		}()
		p := st.nextPeer(t)
		p.acceptRequest(t, id)
		sub := <-done
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		if err := sub.Question(takeEvent(t, sub, "evt_1")).Accept(t.Context()); err != nil {
			t.Errorf("Reply = %v", err)
		}
		check := func(typ string) {
			t.Helper()
			msg, _ := p.readMessage(t)
			var m struct{ Type, Subscription_ID string }
			if err := json.Unmarshal(msg, &m); err != nil || m.Type != typ || m.Subscription_ID != id {
				t.Errorf("sent %s, want %s of %q", msg, typ, id)
			}
		}
		check("confirmation.reply")
		go func() {
			if _, err := sub.Renegotiate(t.Context(), aaep.Capabilities{PaceWPM: 180}); err != nil {
				t.Errorf("Renegotiate = %v", err)
			}
		}()
		check("subscription.renegotiate")
		p.sendRaw(t, acceptedMessage(id, "{}"))
		synctest.Wait()
		closeBoth(t, sub, nil)
		check("subscription.close")
	})
}

// INV-18, CONF-016: a policy says so in the reply, and accepts nothing that a person has to decide.
func TestAutoReply(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{ID: "reader", Capabilities: allReplies()})
		for i, tc := range []struct {
			more   string
			d      aaep.Decision
			policy string
			sent   bool
		}{
			{`,"risk_level":"low"`, aaep.Accept, "small things", true},
			{`,"risk_level":"low","irreversible":true`, aaep.Accept, "small things", false},
			{`,"risk_level":"low","reversibility":"irreversible"`, aaep.Accept, "small things", false},
			{`,"risk_level":"medium"`, aaep.Accept, "small things", false},
			{``, aaep.Accept, "small things", false},
			{`,"risk_level":"high","irreversible":true`, aaep.Reject, "not at night", true},
			{`,"risk_level":"low"`, aaep.Accept, "", false},
			{`,"risk_level":"low"`, aaep.Accept, "\u202e", false},
			{`,"risk_level":"low"`, "perhaps", "x", false},
		} {
			id := fmt.Sprintf("evt_%d", i)
			p.sendRaw(t, confirmationMessage(id, fmt.Sprintf("rpl_%d", i), tc.more))
			ev := takeEvent(t, sub, id)
			err := sub.Question(ev).AutoReply(t.Context(), tc.d, tc.policy)
			if (err == nil) != tc.sent {
				t.Errorf("%s by %q: %v", tc.more, tc.policy, err)
			}
			if !tc.sent {
				continue
			}
			if m := mustRead[*aaep.ConfirmationReply](t, p); m.DecidedBy != "auto:"+tc.policy || m.Decision != tc.d {
				t.Errorf("%+v", m)
			}
		}
		closeBoth(t, sub, p)
	})
}

// I18N-009, INV-18: a question that is told once more in another language takes its one decision
// under either event, and is not handed on once it was answered.
func TestQuestionInAnotherLanguage(t *testing.T) {
	const spanish = `,"localization_hints":{"primary_language":"es"}`
	for _, late := range []bool{false, true} {
		runVirtual(t, func(t *testing.T) {
			sub, p := openSubscription(t, newStage(), Config{})
			p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
			first := takeEvent(t, sub, "evt_1")
			if late {
				p.sendRaw(t, confirmationMessage("evt_2", "rpl_1", spanish))
				newer := takeEvent(t, sub, "evt_2")
				if err := sub.Question(first).Accept(t.Context()); err != nil {
					t.Errorf("Reply to what was heard = %v", err)
				}
				if err := sub.Question(newer).Reject(t.Context()); !errors.Is(err, ErrUnknownEvent) {
					t.Errorf("a second Reply = %v", err)
				}
			} else {
				if err := sub.Question(first).Accept(t.Context()); err != nil {
					t.Errorf("Reply = %v", err)
				}
				p.sendRaw(t, confirmationMessage("evt_2", "rpl_1", spanish))
				p.sendRaw(t, numberedEvent(3))
				takeEvent(t, sub, "evt_3")
			}
			mustRead[*aaep.ConfirmationReply](t, p)
			closeBoth(t, sub, p)
		})
	}
}
