package check_test

import (
	"fmt"
	"strings"

	"github.com/aaep-go/aaep/conformance/check"
)

// A recording is judged line by line: each message by itself, and the events of a session in their
// order.
func Example() {
	recording := `{"@context":"https://aaep-protocol.org/context/v1","type":"aaep:agent.session.completed","aaep_version":"1.0.0","event_id":"evt_1","session_id":"sess_1","timestamp":"2026-07-01T09:30:00.000Z","producer":{"agent_id":"planner"},"verbosity":"normal","urgency":"normal","localization_hints":{"primary_language":"en","text_direction":"ltr"},"summary_normal":"Done."}
{"type":"subscription.close","subscription_id":"sub_1"}`
	var c check.Checker
	var err error
	for line, message := range check.Messages(strings.NewReader(recording), &err) {
		for _, f := range c.Message(line, message) {
			fmt.Printf("line %d, %s: %s (%s)\n", f.Line, f.Type, f.Problem, f.Requirement)
		}
	}
	fmt.Println(c.Messages, "messages,", err)
	// Output:
	// line 1, aaep:agent.session.completed: its session does not begin here; the order of the session is not judged (EVT-003)
	// line 2, subscription.close: member "reason_code" is missing (HS-081)
	// line 2, subscription.close: member "reason_message" is missing (HS-081)
	// 2 messages, <nil>
}
