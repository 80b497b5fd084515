package aaep_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/aaep-go/aaep"
)

func ExampleDecode() {
	m, err := aaep.Decode([]byte(`{
		"@context": "https://aaep-protocol.org/context/v1",
		"type": "aaep:agent.tool.invoked",
		"event_id": "evt_1",
		"session_id": "sess_1",
		"timestamp": "2026-07-01T09:30:00.000Z",
		"producer": {"agent_id": "bills", "agent_name": "Bill Assistant"},
		"summary_normal": "Looking up your water bill.",
		"tool": "find_bill"
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	switch m := m.(type) {
	case *aaep.Event:
		fmt.Println(m.Producer.AgentName+":", aaep.SafeText(m.Text(aaep.VerbosityTerse)))
		if p, ok := m.Payload.(*aaep.ToolInvoked); ok {
			fmt.Println("tool:", p.Tool)
		}
	default:
		fmt.Println("not an event:", m.MessageType())
	}
	// Output:
	// Bill Assistant: Looking up your water bill.
	// tool: find_bill
}

// A "no" never becomes a "yes": names are matched letter for letter.
func ExampleDecode_exact() {
	_, err := aaep.Decode([]byte(`{
		"type": "confirmation.reply",
		"reply_token": "rpl_1",
		"subscription_id": "sub_1",
		"timestamp": "2026-07-01T09:30:00.000Z",
		"decision": "reject",
		"Decision": "accept"
	}`))
	fmt.Println(err)
	// Output:
	// aaep: invalid confirmation.reply: /Decision: is not a member of this message; a reply has no others than the listed ones (CONF-017)
}

func ExampleEncode() {
	e := &aaep.Event{
		AAEPVersion: aaep.Version,
		EventID:     "evt_1",
		SessionID:   "sess_1",
		Timestamp:   time.Date(2026, 7, 1, 9, 30, 0, 0, time.UTC),
		Producer:    aaep.Producer{AgentID: "bills"},
		Urgency:     aaep.UrgencyBackground,
		Summary:     aaep.Say("Thinking about your bills."),
		Payload:     &aaep.StateChanged{FromState: aaep.StateIdle, ToState: aaep.StateThinking},
	}
	data, err := aaep.Encode(e)
	fmt.Println(string(data), err)

	e.EventID, e.Summary = "1", aaep.Text{}
	_, err = aaep.Encode(e)
	var invalid *aaep.InvalidError
	if errors.As(err, &invalid) {
		for _, v := range invalid.Violations {
			fmt.Println(v)
		}
	}
	// Output:
	// {"@context":"https://aaep-protocol.org/context/v1","aaep_version":"1.0.0","type":"aaep:agent.state.changed","event_id":"evt_1","session_id":"sess_1","timestamp":"2026-07-01T09:30:00.000Z","producer":{"agent_id":"bills"},"urgency":"background","summary_normal":"Thinking about your bills.","from_state":"idle","to_state":"thinking"} <nil>
	// /event_id: must be "evt_" and 1 to 64 letters or digits (ENV-012)
	// /summary_normal: must not be empty (LVL-010)
}
