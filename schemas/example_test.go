package schemas_test

import (
	"errors"
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/schemas"
)

// A question about something that cannot be undone must not be answered with yes by silence.
func ExampleValidate() {
	err := schemas.Validate([]byte(`{
		"@context": "https://aaep-protocol.org/context/v1",
		"type": "aaep:agent.awaiting.confirmation",
		"event_id": "evt_1",
		"session_id": "sess_1",
		"timestamp": "2026-07-01T09:30:00.000Z",
		"producer": {"agent_id": "org.example.bills"},
		"urgency": "critical",
		"summary_normal": "May I pay the bill?",
		"action": "Pay 12 euros to the water works.",
		"consequence": "The money is gone.",
		"reply_token": "rpl_1",
		"timeout_seconds": 300,
		"reversibility": "irreversible",
		"default_decision": "accept"
	}`))

	var invalid *aaep.InvalidError
	if errors.As(err, &invalid) {
		for _, v := range invalid.Violations {
			fmt.Println(v)
		}
	}
	// Output:
	// /default_decision: must be "reject" (CONF-031)
}
