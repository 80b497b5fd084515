package schemas_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
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

// The page names every capability, and every value of a member that takes only a few. On a
// difference the test prints what is to be there.
func TestTheWirePageHasAllValues(t *testing.T) {
	page, err := os.ReadFile("../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	common := readSchema(t, "common.schema.json")
	capabilities := common["$defs"].(map[string]any)["capabilities"].(map[string]any)["properties"].(map[string]any)
	for name := range capabilities {
		if !strings.Contains(string(page), "\n| `"+name+"` | ") {
			t.Errorf("docs/wire.md has no line for the capability %s", name)
		}
	}
	values := map[string]string{}
	names := []string{"envelope.schema.json"}
	for _, pattern := range []string{"events/*.schema.json", "messages/*.schema.json"} {
		found, err := fs.Glob(schemas.FS(), pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		names = append(names, found...)
	}
	for _, name := range names {
		for member, schema := range readSchema(t, name)["properties"].(map[string]any) {
			if few := fewValues(common, schema); len(few) > 1 {
				values[member] = "`" + strings.Join(few, "`, `") + "`"
			}
		}
	}
	delete(values, "coalesce_hint") // it is one of coalesce_boundaries
	var rows strings.Builder
	rows.WriteString("| member | values |\n|---|---|\n")
	for _, member := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&rows, "| `%s` | %s |\n", member, values[member])
	}
	if !strings.Contains(string(page), rows.String()) {
		t.Errorf("docs/wire.md does not have this table of the values:\n%s", &rows)
	}
}

// fewValues returns the texts that a member with a schema may be, or that the items of a list may
// be, if these are named.
func fewValues(common map[string]any, schema any) (texts []string) {
	s, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		_, name, _ := strings.Cut(ref, "#/$defs/")
		return fewValues(common, common["$defs"].(map[string]any)[name])
	}
	if items, ok := s["items"]; ok {
		return fewValues(common, items)
	}
	values, _ := s["enum"].([]any)
	for _, v := range values {
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

// readSchema reads a schema of this package.
func readSchema(t *testing.T, name string) (schema map[string]any) {
	t.Helper()
	data, err := fs.ReadFile(schemas.FS(), name)
	if err == nil {
		err = json.Unmarshal(data, &schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	return schema
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
