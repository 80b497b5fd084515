package schemas_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/schemas"
)

// The table of docs/wire.md names every member of every event, and those that are always there in
// bold. On a difference the test prints the table as it should be.
func TestTheWirePageHasAllMembers(t *testing.T) {
	page, err := os.ReadFile("../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	rows.WriteString("| event | when | members besides the envelope's |\n|---|---|---|\n")
	envelope := membersOf(t, "envelope.schema.json")
	fmt.Fprintf(&rows, "| every one | the envelope | %s |\n", envelope.listMissing(nil))
	names, err := fs.Glob(schemas.FS(), "events/*.schema.json")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		of := membersOf(t, name)
		kind := strings.TrimSuffix(strings.TrimPrefix(name, "events/"), ".schema.json")
		fmt.Fprintf(&rows, "| `aaep:%s` | %s | %s |\n", kind, of.Title, of.listMissing(envelope.Properties))
	}
	if !strings.Contains(string(page), rows.String()) {
		t.Errorf("docs/wire.md does not have this table of the events:\n%s", &rows)
	}
	rows.Reset()
	rows.WriteString("| message | members besides `type` |\n|---|---|\n")
	for _, kind := range []string{"subscription.request", "subscription.accepted", "subscription.rejected", "subscription.renegotiate",
		"confirmation.reply", "clarification.reply", "subscription.close"} {
		fmt.Fprintf(&rows, "| `%s` | %s |\n", kind, membersOf(t, "messages/"+kind+".schema.json").listMissing(map[string]any{"type": nil}))
	}
	if !strings.Contains(string(page), rows.String()) {
		t.Errorf("docs/wire.md does not have this table of the messages:\n%s", &rows)
	}
}

type members struct {
	Title      string
	Required   []string
	AllOf      []struct{ Required []string }
	Properties map[string]any
}

func membersOf(t *testing.T, name string) (m members) {
	t.Helper()
	data, err := fs.ReadFile(schemas.FS(), name)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range m.AllOf {
		m.Required = append(m.Required, rule.Required...)
	}
	return m
}

// listMissing names the members that are not elsewhere, those that are always there first.
func (m members) listMissing(elsewhere map[string]any) string {
	var always, other []string
	for name := range m.Properties {
		if _, is := elsewhere[name]; is {
			continue
		}
		if slices.Contains(m.Required, name) {
			always = append(always, "**`"+name+"`**")
		} else {
			other = append(other, "`"+name+"`")
		}
	}
	slices.Sort(always)
	slices.Sort(other)
	return strings.Join(append(always, other...), ", ")
}
