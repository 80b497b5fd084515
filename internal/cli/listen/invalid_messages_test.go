package listen

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// rawAgent is an agent that accepts one subscription, under that id, and then says what it is told
// to.
func rawAgent(t *testing.T, id string) (say func(msg string), dial func(context.Context) (transports.Conn, error)) {
	theirs, ours := transports.Pipe()
	t.Cleanup(func() { ours.Close() })
	say = func(msg string) {
		if err := ours.Send(t.Context(), []byte(msg)); err != nil {
			t.Error(err)
		}
	}
	go func() {
		if _, err := ours.Receive(t.Context()); err != nil {
			t.Error(err)
		}
		say(`{"type":"subscription.accepted","subscription_id":"` + id +
			`","aaep_version":"1.0.0","producer":{"agent_id":"planner"},"honored_capabilities":{}}`)
		ours.Receive(context.Background()) // the end
	}()
	return say, func(context.Context) (transports.Conn, error) { return theirs, nil }
}

// A person learns that something is missing, and above all that they were asked something. SEC-002,
// HS-070
func TestGarbled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say, dial := rawAgent(t, "sub_1")
		envelope := func(id, typ, rest string) string {
			return `{"@context":"https://aaep-protocol.org/context/v1","aaep_version":"1.0.0","type":"` + typ +
				`","event_id":"` + id +
				`","session_id":"sess_1","timestamp":"2026-01-01T00:00:00Z","producer":{"agent_id":"planner"}` + rest +
				`}`
		}
		listenTo(t, dial, aaep.Capabilities{Languages: []string{"en"}}, func(e *testListener) {
			for range 3 {
				say(envelope("evt_1", "aaep:agent.output.streaming", `,"chunk":"Hello."`))
				say(envelope("evt_2", "aaep:agent.awaiting.confirmation", `,"urgency":"critical","action":"Pay."`))
				say("{")
			}
			synctest.Wait()
			lines := strings.Split(strings.TrimSpace(e.err.String()), "\n")
			want := []string{"A message of the agent is left out, because it is not valid: aaep:agent.output.streaming, member \"position\" is missing",
				"The agent asks something that cannot be shown or answered here, because it is not valid: ",
				"A message of the agent is left out, because it is not valid: "}
			if len(lines) != len(want) {
				t.Fatalf("it is told:\n%s", e.err.String())
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, "aaep: "+want[i]) {
					t.Errorf("%q, want %q", line, want[i])
				}
			}
		})
	})
}

// An agent without a handshake asks everybody. Who cannot answer here hears that too, and is not
// told how. D-34, D-43
func TestAskedWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say, dial := rawAgent(t, "sub_implicit")
		listenTo(t, dial, aaep.Capabilities{Languages: []string{"en"}}, func(e *testListener) {
			say(`{"@context":"https://aaep-protocol.org/context/v1","type":"aaep:agent.awaiting.confirmation","event_id":"evt_1","session_id":"sess_1",
				"timestamp":"2026-01-01T00:00:00Z","producer":{"agent_id":"planner"},"action":"Pay.","consequence":"Gone.","reply_token":"rpl_1",
				"timeout_seconds":60,"default_decision":"reject","summary_normal":"Pay?"}`)
			synctest.Wait()
			if said := e.out.String(); !strings.Contains(said, "Decide: Pay.") ||
				!strings.Contains(said, "It cannot be answered here.") || strings.Contains(said, "Type y") {
				t.Errorf("it is told:\n%s", said)
			}
		})
	})
}
