package subscriber

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

// A question is open until it is answered or settled, until the subscription that it came on is
// gone, or until the end. SEC-002, LVL-023
func TestQuestionIsOpen(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{})
		isOpen := func(ev *aaep.Event) bool { synctest.Wait(); return sub.Question(ev).Err() == nil }
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		p.sendRaw(t, confirmationMessage("evt_2", "rpl_2", ""))
		first, second := takeEvent(t, sub, "evt_1"), takeEvent(t, sub, "evt_2")
		waits := sub.Question(first)
		if !isOpen(first) || !isOpen(second) || isOpen(nil) || isOpen(&aaep.Event{Payload: &aaep.SessionStarted{}}) ||
			isOpen(&aaep.Event{Payload: &aaep.AwaitingConfirmation{ReplyToken: "rpl_1"}}) {
			t.Error("what was asked is open, and nothing else")
		}
		time.Sleep(time.Second)
		p.sendRaw(t, stateMessage("evt_3", "awaiting_input", "thinking"))
		if isOpen(first) || !isClosed(waits.Done()) {
			t.Error("it was settled, and is open")
		}
		p.sendRaw(t, confirmationMessage("evt_4", "rpl_4", ""))
		takeEvent(t, sub, "evt_3")
		fourth := takeEvent(t, sub, "evt_4")
		waits = sub.Question(fourth)
		_ = p.Close() // the agent is gone, and there is another
		p = st.nextPeer(t)
		p.acceptRequest(t, "sub_2")
		if <-waits.Done(); isOpen(fourth) {
			t.Error("it is open, and the agent that asked is gone")
		}
		p.sendRaw(t, confirmationMessage("evt_5", "rpl_5", ""))
		fifth := takeEvent(t, sub, "evt_5")
		waits = sub.Question(fifth)
		if err := sub.Question(fifth).Reject(t.Context()); err != nil || isOpen(fifth) || !isClosed(waits.Done()) {
			t.Errorf("it was answered, %v, and another device would still ask", err)
		}
		p.sendRaw(t, confirmationMessage("evt_6", "rpl_6", ""))
		waits = sub.Question(takeEvent(t, sub, "evt_6"))
		closeBoth(t, sub, p)
		<-waits.Done()
	})
}

// isClosed reports whether a channel is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// rangeOver ranges over the questions of a subscription in a goroutine, and returns a function that
// returns the next of them, or nil once no question comes for a second.
func rangeOver(t *testing.T, sub *Subscription) (next func() *Question) {
	yielded := make(chan *Question)
	go func() {
		defer close(yielded)
		for q := range sub.Questions(t.Context()) {
			select {
			case yielded <- q:
			case <-sub.done:
			}
		}
	}()
	return func() *Question {
		select {
		case q := <-yielded:
			return q
		case <-time.After(time.Second):
			return nil
		}
	}
}

// wantQuestion checks which event asks the next question; "" is none.
func wantQuestion(t *testing.T, q *Question, id string) {
	t.Helper()
	if q == nil && id != "" || q != nil && (q.Event.EventID != id || q.Err() != nil || isClosed(q.Done())) {
		t.Fatalf("the next question is %+v, want %q", q, id)
	}
}

// A loop that answers in its body asks one question at a time: those that were settled meanwhile
// are left out, also where no other event is read. LVL-023, LVL-024
func TestQuestionsOneAtATime(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		for i := range 4 {
			p.sendRaw(t, strings.Replace(confirmationMessage(fmt.Sprint("evt_", i), fmt.Sprint("rpl_", i), ""), "sess_1", fmt.Sprint("sess_", i), 1))
		}
		pull, stop := iter.Pull(sub.Questions(t.Context()))
		defer stop()
		next := func() *Question { q, _ := pull(); return q }
		first := next()
		wantQuestion(t, first, "evt_0")
		time.Sleep(time.Second)
		for i := range 10 * waitingEvents { // none of which is read
			p.sendRaw(t, eventMessage(fmt.Sprint("evt_x", i), "acme:thing", ""))
			time.Sleep(10 * time.Millisecond)
		}
		p.sendRaw(t, strings.Replace(stateMessage("evt_5", "awaiting_input", "thinking"), "sess_1", "sess_0", 1))
		<-first.Done()
		if err := first.Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) || !errors.Is(first.Err(), ErrUnknownEvent) {
			t.Errorf("an answer to what is settled: %v", err)
		}
		p.sendRaw(t, stateMessage("evt_6", "awaiting_input", "thinking"))
		synctest.Wait()
		third := next()
		wantQuestion(t, third, "evt_2")
		if err := third.Reject(t.Context()); err != nil {
			t.Error(err)
		}
		mustRead[*aaep.ConfirmationReply](t, p)
		wantQuestion(t, next(), "evt_3")
		closeBoth(t, sub, p)
		wantQuestion(t, next(), "")
	})
}

// Each question comes once, until it is asked in another language, or anew after the subscription
// was: then its old handle is closed. One that waits for what settled it does not come before its
// time. A second loop gets what is open. LVL-023, I18N-009
func TestQuestionsAnew(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{})
		next := rangeOver(t, sub)
		p.sendRaw(t, messageFrom(time.Minute, confirmationMessage("evt_1", "rpl_1", "")))
		p.sendRaw(t, stateMessage("evt_2", "awaiting_input", "thinking"))
		wantQuestion(t, next(), "")
		p.sendRaw(t, messageFrom(time.Minute, confirmationMessage("evt_3", "rpl_3", "")))
		began := time.Now()
		third := next()
		if wantQuestion(t, third, "evt_3"); time.Since(began) != holdTime {
			t.Errorf("a question from before came after %v", time.Since(began))
		}
		p.sendRaw(t, confirmationMessage("evt_3", "rpl_3", ""))
		wantQuestion(t, next(), "")
		p.sendRaw(t, confirmationMessage("evt_4", "rpl_3", `,"localization_hints":{"primary_language":"es"}`))
		wantQuestion(t, next(), "evt_4")
		wantQuestion(t, rangeOver(t, sub)(), "evt_4")
		if isClosed(third.Done()) || third.Err() != nil {
			t.Error("what was asked before it was asked in Spanish is closed")
		}
		if at, ok := third.Deadline(); !ok || at.Before(time.Now().Add(50*time.Second)) || at.After(time.Now().Add(time.Minute)) {
			t.Errorf("it is open until %v, %v", at, ok)
		}
		_ = p.Close()
		p = st.nextPeer(t)
		p.acceptRequest(t, "sub_2")
		<-third.Done()
		p.sendRaw(t, confirmationMessage("evt_4", "rpl_3", ""))
		again := next()
		wantQuestion(t, again, "evt_4")
		if err := third.Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("an answer to the question of before: %v", err)
		}
		if err := again.Accept(t.Context()); err != nil {
			t.Error(err)
		}
		mustRead[*aaep.ConfirmationReply](t, p)
		closeBoth(t, sub, p)
	})
}

// A handle says why no answer can be sent, and asking it sends nothing. LVL-028, D-34
func TestQuestionErr(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{ID: "log"})
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		q := sub.Question(takeEvent(t, sub, "evt_1"))
		wantError(t, "Err", q.Err(), "did not offer to answer")
		closeBoth(t, sub, p)
		sub, p = openSubscription(t, newStage(), Config{})
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		q = sub.Question(takeEvent(t, sub, "evt_1"))
		if time.Sleep(time.Minute); q.Err() != nil {
			t.Errorf("Err in time = %v", q.Err())
		}
		if time.Sleep(time.Second); !errors.Is(q.Err(), ErrLate) || isClosed(q.Done()) {
			t.Errorf("Err late = %v", q.Err())
		}
		p.checkSilent(t, time.Second)
		for _, none := range []*Question{{}, {Event: q.Event}, new(Subscription).Question(q.Event), sub.Question(nil), sub.Question(&aaep.Event{})} {
			_, open := none.Deadline()
			if open || none.Err() != ErrUnknownEvent || !isClosed(none.Done()) || none.Accept(t.Context()) != ErrUnknownEvent ||
				none.AnswerYesNo(t.Context(), true) != ErrUnknownEvent || none.MoreTime(t.Context()) != ErrUnknownEvent {
				t.Errorf("%+v is a question", none)
			}
		}
		for range new(Subscription).Questions(t.Context()) {
			t.Error("one that was not dialed has a question")
		}
		closeBoth(t, sub, p)
	})
}
