package subscriber

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// callMessage is a tool call's beginning.
func callMessage(id, tool, callID string) string {
	return eventMessage(id, "aaep:agent.tool.invoked",
		fmt.Sprintf(`,"summary_normal":"Calling.","tool":%q,"tool_call_id":%q`, tool, callID))
}

// Published agents announce a call and then ask about it, and other calls of the session go on
// meanwhile. What those do settles no question; the end of the call does. D-22, D-31, D-40, LVL-028
func TestAskedWithinACall(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, callMessage("evt_1", "Pay", "call_1"))
		p.sendRaw(t, confirmationMessage("evt_2", "rpl_1", ""))
		time.Sleep(time.Second)
		p.sendRaw(t, callMessage("evt_3", "look_up", "call_2"))
		p.sendRaw(t, stateMessage("evt_4", "calling_tool", "thinking"))
		takeEvent(t, sub, "evt_1")
		question := takeEvent(t, sub, "evt_2")
		if more := question.Payload.(*aaep.AwaitingConfirmation).ExtraContext; question.Within != "call_1" ||
			more != nil {
			t.Errorf("within %q, and in extra_context, where the agent wrote nothing, is %s", question.Within, more)
		}
		takeEvent(t, sub, "evt_3")
		takeEvent(t, sub, "evt_4")
		if err := sub.Question(question).Accept(t.Context()); err != nil {
			t.Errorf("the question was lost: %v", err)
		}
		mustRead[*aaep.ConfirmationReply](t, p)

		for i, tt := range []struct{ before, more string }{ // nothing says that these questions are about the call
			{callMessage("evt_a0", "look_up", "call_3"), ""},
			{strings.Replace(callMessage("evt_a1", "Pay", "call_3"), "sess_1", "sess_2", 1), ""},
			{callMessage("evt_a2", "Pay", ""), ""},
			{callMessage("evt_a3", "Pay", "call_3"), `,"extra_context":{"amount":5}`},
		} {
			p.sendRaw(t, tt.before)
			p.sendRaw(t, confirmationMessage(fmt.Sprint("evt_b", i), fmt.Sprint("rpl_b", i), tt.more))
			takeEvent(t, sub, fmt.Sprint("evt_a", i))
			q := takeEvent(t, sub, fmt.Sprint("evt_b", i))
			time.Sleep(time.Second)
			p.sendRaw(t, stateMessage(fmt.Sprint("evt_c", i), "calling_tool", "thinking"))
			takeEvent(t, sub, fmt.Sprint("evt_c", i))
			if err := sub.Question(q).Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) {
				t.Errorf("a question that was settled: %v, want ErrUnknownEvent", err)
			}
		}
		closeBoth(t, sub, p)
	})
}
