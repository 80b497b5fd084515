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
		Producer:    aaep.Agent{AgentID: "bills"},
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

// What a peer writes in its own way is read, and told apart from what it should have written.
func ExampleDecode_diagnostics() {
	m, err := aaep.Decode([]byte(`{
		"@context": "https://aaep-protocol.org/context/v1",
		"type": "aaep:agent.progress.updated",
		"event_id": "evt_1",
		"session_id": "sess_1",
		"timestamp": "2026-07-01T09:30:00.000Z",
		"producer": {"agent_id": "bills"},
		"verbosity": "normal",
		"urgency": "low",
		"localization_hints": {"primary_language": "en"},
		"summary_normal": "Reading your bills.",
		"progress_percent": 40
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	e := m.(*aaep.Event)
	fmt.Println(*e.Payload.(*aaep.ProgressUpdated).Progress.Percent, "percent,", e.Urgency)
	for _, v := range e.Diagnostics {
		fmt.Println(v)
	}
	// Output:
	// 40 percent, normal
	// /urgency: "low" is not one of the listed values; it is read as "normal" (ENV-033)
	// /progress_percent: is not AAEP's way to say it; read as progress and eta_ms (EVT-034)
}

func ExampleEvent_AddExtension() {
	medai := aaep.Vocabulary{Prefix: "medai", URI: "https://example.org/medai/context/v1"}
	e := &aaep.Event{Payload: &aaep.ToolInvoked{Tool: "fetch_record"}}
	if err := e.AddExtension(medai, map[string]any{"patient_data_accessed": true}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(e.Context[1], string(e.Extensions["medai"]))
	fmt.Println(e.AddExtension(aaep.Vocabulary{Prefix: "m", URI: "https://example.org/medai/v1.2"}, nil))
	// Output:
	// https://example.org/medai/context/v1 {"patient_data_accessed":true}
	// aaep: invalid vocabulary: /prefix: is a single character; take a name that others will not take (EXT-008); /uri: has a minor version; only the major one belongs there, as in /v1 (EXT-016)
}
