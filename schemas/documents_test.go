package schemas

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// The seed's own sample, §5.10.1 (HS-089, HS-090, D-59).
const seedManifest = `{"@context":"https://aaep-protocol.org/context/v1","type":"aaep:producer.manifest",
"agent_id":"retirement-planner","agent_version":"1.4.2","agent_name":"Retirement Planning Assistant",
"aaep_versions_supported":["1.0.0"],"conformance_levels_supported":[1,2],"transports_supported":["sse","websocket","stdio-jsonrpc"],
"languages_supported":["en-US","es-419","yo-NG"],
"event_types_emitted":["aaep:agent.session.*","aaep:agent.state.changed","aaep:agent.tool.*","aaep:agent.output.streaming","aaep:agent.awaiting.confirmation"],
"extensions_supported":["https://example.org/finance/context/v1"],"default_verbosity":"normal","max_concurrent_subscriptions":16,
"contact":"accessibility@example.com"}`

func TestManifest(t *testing.T) {
	if err := Validate([]byte(seedManifest)); err != nil {
		t.Errorf("the seed's manifest: %v", err)
	}
	for _, tt := range []struct {
		member string
		value  any // nil takes the member out
		at     string
	}{
		{"agent_id", nil, ""},
		{"agent_id", "", "/agent_id"},
		{"@context", "https://example.org/v1", "/@context"},
		{"aaep_versions_supported", []string{"one"}, "/aaep_versions_supported/0"},
		{"conformance_levels_supported", []int{4}, "/conformance_levels_supported/0"},
		{"transports_supported", []string{}, "/transports_supported"},
		{"languages_supported", []string{"en_US"}, "/languages_supported/0"},
		{"event_types_emitted", []string{}, "/event_types_emitted"},
		{"extensions_supported", []string{"finance"}, "/extensions_supported/0"},
		{"default_verbosity", "loud", "/default_verbosity"},
		{"max_concurrent_subscriptions", 0, "/max_concurrent_subscriptions"},
		{"shoe_size", 42, "/shoe_size"},
	} {
		var m map[string]any
		if err := json.Unmarshal([]byte(seedManifest), &m); err != nil {
			t.Fatal(err)
		}
		broken := maps.Clone(m)
		if broken[tt.member] = tt.value; tt.value == nil {
			delete(broken, tt.member)
		}
		data, err := json.Marshal(broken)
		if err != nil {
			t.Fatal(err)
		}
		expectAt(t, tt.member, Validate(data), tt.at)
	}
}

// EXT-011: what an extension of ours says has a schema.
func TestExtensions(t *testing.T) {
	for _, tt := range []struct{ name, part, data, at string }{
		{"delivery", "capability", `{"min_relevance":0.5,"presence":"user_typing","presence_expires_in":300}`, "ok"},
		{"delivery", "capability", `{"resume_after":"evt_0123","from_later":true,"idle_timeout_seconds":60,"max_duration_seconds":3600}`, "ok"},
		{"delivery", "capability", `{"presence_expires_in":301}`, "/presence_expires_in"},
		{"delivery", "capability", `{"min_relevance":1.5}`, "/min_relevance"},
		{"delivery", "capability", `{"resume_after":"42"}`, "/resume_after"},
		{"delivery", "event", `{"relevance":0.9}`, "ok"},
		{"delivery", "event", `{"resumable":false}`, "ok"},
		{"delivery", "event", `{}`, ""},
		{"braille", "capability", `{"cells":40,"rows":1,"table":"en-ueb-g2"}`, "ok"},
		{"braille", "capability", `{"rows":1}`, ""},
		{"braille", "capability", `{"cells":0}`, "/cells"},
		{"haptic", "capability", `{"patterns_supported":["pulse","directional"],"body_locations":["wrist"]}`, "ok"},
		// seed §5.3.2
		{"haptic", "capability", `{"patterns_supported":[]}`, "/patterns_supported"},
		{"haptic", "event", `{"pattern":"pulse","location":"wrist"}`, "ok"},
		{"haptic", "event", `{"location":"wrist"}`, ""},
		{"timing", "capability", `{"timeout_multiplier":10}`, "ok"},
		{"timing", "capability", `{"timeout_multiplier":11}`, "/timeout_multiplier"},
		{"timing", "capability", `{"timeout_multiplier":0.5}`, "/timeout_multiplier"},
		{"braille", "capability", `{"cells":40,"cells":80}`, ""}, // HS-034, INV-33
	} {
		err := ValidateExtension(tt.name, tt.part, []byte(tt.data))
		if tt.at == "ok" {
			if err != nil {
				t.Errorf("%s %s %s: %v", tt.name, tt.part, tt.data, err)
			}
			continue
		}
		expectAt(t, tt.name+" "+tt.data, err, tt.at)
	}
	if err := ValidateExtension("braille", "event", []byte(`{}`)); err == nil ||
		!strings.Contains(err.Error(), "no extension") {
		t.Errorf("a part that is not there: %v", err)
	}
}

func expectAt(t *testing.T, what string, err error, at string) {
	t.Helper()
	var invalid *aaep.InvalidError
	if !errors.As(err, &invalid) {
		t.Errorf("%s: %v, want an InvalidError", what, err)
		return
	}
	if got := invalid.Violations[0].Pointer; got != at {
		t.Errorf("%s: the violation is at %q, want %q: %v", what, got, at, err)
	}
}
