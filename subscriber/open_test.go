package subscriber

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

// A question is open until it is answered or settled, until the subscription that it came on is
// gone, or until the end. SEC-002, LVL-023
func TestOpen(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{})
		isOpen := func(ev *aaep.Event) bool { synctest.Wait(); return sub.Open(ev).Err() == nil }
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		p.sendRaw(t, confirmationMessage("evt_2", "rpl_2", ""))
		first, second := takeEvent(t, sub, "evt_1"), takeEvent(t, sub, "evt_2")
		waits := sub.Open(first)
		if !isOpen(first) || !isOpen(second) || isOpen(nil) || isOpen(&aaep.Event{Payload: &aaep.SessionStarted{}}) ||
			isOpen(&aaep.Event{Payload: &aaep.AwaitingConfirmation{ReplyToken: "rpl_1"}}) {
			t.Error("what was asked is open, and nothing else")
		}
		time.Sleep(time.Second)
		p.sendRaw(t, stateMessage("evt_3", "awaiting_input", "thinking"))
		if isOpen(first) || waits.Err() != context.Canceled {
			t.Error("it was settled, and is open")
		}
		p.sendRaw(t, confirmationMessage("evt_4", "rpl_4", ""))
		takeEvent(t, sub, "evt_3")
		fourth := takeEvent(t, sub, "evt_4")
		waits = sub.Open(fourth)
		_ = p.Close() // the agent is gone, and there is another
		p = st.nextPeer(t)
		p.acceptRequest(t, "sub_2")
		if <-waits.Done(); isOpen(fourth) {
			t.Error("it is open, and the agent that asked is gone")
		}
		p.sendRaw(t, confirmationMessage("evt_5", "rpl_5", ""))
		fifth := takeEvent(t, sub, "evt_5")
		waits = sub.Open(fifth)
		if err := sub.Reply(t.Context(), fifth, aaep.Reject); err != nil || isOpen(fifth) || waits.Err() == nil {
			t.Errorf("it was answered, %v, and another device would still ask", err)
		}
		p.sendRaw(t, confirmationMessage("evt_6", "rpl_6", ""))
		waits = sub.Open(takeEvent(t, sub, "evt_6"))
		closeBoth(t, sub, p)
		<-waits.Done()
	})
}
