package lifecycle_test

import (
	"fmt"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/lifecycle"
)

func ExampleSession_Next() {
	var s lifecycle.Session
	for _, p := range []aaep.Payload{
		&aaep.SessionStarted{},
		&aaep.StateChanged{FromState: aaep.StateIdle, ToState: aaep.StateCallingTool},
		&aaep.ToolInvoked{Tool: "transfer_funds", ToolCallID: "call_1", Irreversible: new(true)},
	} {
		err := s.Next(&aaep.Event{SessionID: "sess_1", Timestamp: time.Unix(0, 0), Payload: p})
		fmt.Println(p.EventType(), err)
	}
	// Output:
	// aaep:agent.session.started <nil>
	// aaep:agent.state.changed <nil>
	// aaep:agent.tool.invoked aaep: invalid aaep:agent.tool.invoked: /tool_call_id: the call "call_1" is irreversible; a confirmation whose extra_context holds this tool_call_id must be accepted first (EVT-042)
}
