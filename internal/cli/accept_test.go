package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/manifest"
)

// What is to be typed can be typed: a thumbprint may begin with a hyphen. SEC-006
func TestAcceptHyphen(t *testing.T) {
	t.Chdir(t.TempDir())
	was, is := strings.Repeat("A", 43), "-_"+strings.Repeat("A", 41)
	if err := os.WriteFile("known.json", []byte(`[{"agent_id":"planner","key":"`+was+`","since":"2026-01-02T03:04:05Z"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	says := reach.HowToAccept(&manifest.KeyChangedError{AgentID: "planner", Known: was, Presented: is, File: "known.json"})
	if want := " Letter by letter it is: hyphen underscore A A, A A A A, "; !strings.Contains(says, want) {
		t.Errorf("%q is not in %s", want, says)
	}
	_, command, _ := strings.Cut(says, "type: aaep ")
	if code, _, talk := called("", strings.Fields(command)...); code != exits.OK || talk != "aaep: From now on planner is known by the key "+is+", and by no other.\n" {
		t.Errorf("%s: code %d, %s", command, code, talk)
	}
	if text, err := os.ReadFile("known.json"); err != nil || !strings.Contains(string(text), `"`+is+`"`) || strings.Contains(string(text), was) {
		t.Errorf("the file holds %s, %v", text, err)
	}
}
