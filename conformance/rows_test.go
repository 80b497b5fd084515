package conformance_test

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aaep-go/aaep/conformance"
)

// longText is a text of n characters.
func longText(n int) string { return strings.Repeat("a", n) }

// rows are the requirements that events-valid decides beside those it is known by: for each a fault
// in one event of a type.
var rows = []struct {
	id, typ string
	more    object // nil takes a member away
}{
	{"ENV-002", "session.started", object{"@context": "https://example.org/v1"}},
	{"ENV-003", "session.started", object{"@context": []any{"https://aaep-protocol.org/context/v1", object{"x": "y"}}}},
	{"ENV-006", "progress.updated", object{"type": "nocolon", "urgency": "critical"}},
	{"ENV-008", "progress.updated", object{"type": "aaep:agent.flamingo"}},
	{"ENV-009", "progress.updated", object{"type": "medai:dose.given"}},
	{"ENV-011", "progress.updated", object{"type": ""}},
	{"ENV-012", "session.started", object{"event_id": "evt_!"}},
	{"ENV-017", "session.started", object{"session_id": "sess-1"}},
	{"ENV-020", "session.started", object{"timestamp": "2026-07-01 09:30:00"}},
	{"ENV-024", "session.started", object{"producer": object{"agent_id": ""}}},
	{"ENV-025", "session.started", object{"producer": object{"agent_id": "target", "mood": "good"}}},
	{"ENV-029", "session.started", object{"producer": object{"agent_id": "target", "model": ""}}},
	{"ENV-031", "session.started", object{"verbosity": "chatty"}},
	{"ENV-033", "session.started", object{"urgency": "soon"}},
	{"ENV-035", "session.started", object{"localization_hints": object{"primary_language": "en", "accent": "Scots"}}},
	{"ENV-036", "session.started", object{"localization_hints": object{"primary_language": "en_US"}}},
	{"ENV-037", "session.started", object{"localization_hints": object{"primary_language": "en",
		"text_direction": "up"}}},
	{"ENV-038", "session.started", object{"localization_hints": object{"primary_language": "en",
		"available_languages": []string{"en", "en"}}}},
	{"ENV-039", "session.started", object{"localization_hints": object{"primary_language": "en", "script": "latin"}}},
	{"ENV-040", "session.started", object{"sequence_number": -1}},
	{"ENV-046", "session.started", object{"extensions": object{"medai": 1}}},
	{"ENV-047", "session.started", object{"extensions": object{"medai": object{"dose": 1}}}},
	{"ENV-051", "session.started", object{"aaep_version": "1.0"}},
	{"ENV-052", "session.started", object{"aaep_mood": "good"}},
	{"ENV-053", "session.started", object{"@id": "x"}},
	{"ENV-055", "session.started", object{"custom": 1}},
	{"TERM-004", "session.started", object{"custom": 1}},
	{"TERM-005", "progress.updated", object{"type": "aaep:agent.flamingo"}},
	{"EXT-001", "session.started", object{"medai_dose": 1}},
	{"EXT-003", "progress.updated", object{"type": "aaep:medai.dose"}},
	{"EXT-009", "session.started", object{"extensions": object{"xsd": object{"a": 1}}}},
	{"ENV-066", "session.completed", object{"tool_invocations_count": 9007199254740993}},
	{"EXT-010", "progress.updated", object{"type": "medai:dose.given"}},
	{"EXT-002", "session.started", object{"medai_dose": 1}},
	{"I18N-002", "session.started", object{"localization_hints": object{"primary_language": "english language"}}},

	{"EVT-006", "session.started", object{"summary_normal": longText(16385)}},
	{"EVT-013", "session.completed", object{"summary_normal": longText(16385)}},
	{"EVT-007", "session.started", object{"summary_terse": longText(4097)}},
	{"EVT-008", "session.completed", object{"duration_ms": -1}},
	{"EVT-009", "session.started", object{"requested_by": ""}},
	{"EVT-010", "session.started", object{"tools_available": []string{"a", "a"}}},
	{"EVT-015", "session.completed", object{"tool_invocations_count": -1}},
	{"EVT-017", "session.errored", object{"error_category": nil}},
	{"EVT-018", "session.errored", object{"error_category": "bad luck"}},
	{"EVT-020", "session.errored", object{"error_code": "oops"}},
	{"EVT-021", "session.errored", object{"recoverable": "yes"}},
	{"EVT-024", "session.cancelled", object{"cancelled_by": "fate"}},
	{"EVT-025", "session.cancelled", object{"cancellation_reason": "No Reason"}},
	{"EVT-028", "state.changed", object{"to_state": ""}},
	{"EVT-034", "progress.updated", object{"progress": object{}}},
	{"EVT-035", "progress.updated", object{"progress": object{"percent": 101}}},
	{"EVT-036", "progress.updated", object{"progress": object{"step": 3, "total_steps": 2}}},
	{"EVT-039", "tool.invoked", object{"tool": nil}},
	{"EVT-040", "tool.invoked", object{"tool": "rm -rf"}},
	{"EVT-044", "tool.invoked", object{"tool_call_id": "call-1"}},
	{"EVT-046", "tool.invoked", object{"risk_level": "enormous"}},
	{"EVT-047", "tool.invoked", object{"description": ""}},
	{"EVT-048", "tool.completed", object{"status": nil}},
	{"EVT-049", "tool.completed", object{"status": "fine"}},
	{"EVT-054", "output.streaming", object{"complete": nil}},
	{"EVT-055", "output.streaming", object{"chunk": longText(16385)}},
	{"EVT-062", "output.streaming", object{"coalesce_hint": "verse"}},
	{"EVT-063", "output.streaming", object{"output_id": "output1"}},
	{"EVT-064", "output.streaming", object{"content_type": "text"}},
	{"EVT-065", "output.streaming", object{"language": "en_US"}},
	{"EVT-066", "awaiting.confirmation", object{"consequence": nil}},
	{"EVT-068", "awaiting.confirmation", object{"urgency": "normal"}},
	{"EVT-069", "awaiting.confirmation", object{"action": ""}},
	{"EVT-070", "awaiting.confirmation", object{"timeout_seconds": 0}},
	{"EVT-071", "awaiting.confirmation", object{"default_decision": "maybe"}},
	{"EVT-073", "awaiting.confirmation", object{"reversibility": "perhaps"}},
	{"EVT-074", "awaiting.confirmation", object{"allowed_replies": []string{}}},
	{"EVT-075", "awaiting.confirmation", object{"extra_context": "text"}},
	{"CONF-007", "awaiting.confirmation", object{"reply_token": "token"}},
	{"EVT-080", "awaiting.clarification", object{"question": nil}},
	{"EVT-082", "awaiting.clarification", object{"accepted_response_kinds": []string{"dance"}}},
	{"EVT-083", "awaiting.clarification", object{"choices": []any{object{"value": "a", "label": "A"}}}},
	{"EVT-084", "awaiting.clarification", object{"accepted_response_kinds": []string{"multiple_choice"}}},
	{"EVT-085", "awaiting.clarification", object{"default_response": longText(4097)}},
	{"EVT-087", "handoff.requested", object{"target_kind": "alien"}},
	{"EVT-089", "handoff.requested", object{"urgency_for_handoff": "extreme"}},
	{"EVT-095", "handoff.requested", object{"reason": ""}},
}

// answerRows are those that answer-valid decides: for each a fault in an answer.
var answerRows = []struct {
	id, typ string
	more    object
}{
	{"HS-046", "subscription.accepted", object{"producer": object{"agent_id": "target", "mood": "good"}}},
	{"HS-048", "subscription.accepted", object{"negotiation_notes": longText(4097)}},
	{"HS-060", "subscription.rejected", object{"retry": true}},
	{"HS-092", "subscription.accepted", object{"aaep_version": "one"}},
	{"HS-093", "subscription.accepted", object{"honored_capabilities": object{"max_events_per_second": 0}}},
	{"HS-015", "subscription.accepted", object{"honored_capabilities": object{"preferred_verbosity": "chatty"}}},
	{"HS-017", "subscription.accepted", object{"honored_capabilities": object{"languages": []string{}}}},
	{"HS-019", "subscription.accepted", object{"honored_capabilities": object{"supports_confirmation_reply": "yes"}}},
	{"HS-023", "subscription.accepted", object{"honored_capabilities": object{"coalesce_boundaries": []string{"verse"}}}},
	{"HS-025", "subscription.accepted", object{"honored_capabilities": object{"event_filters": object{"only": []string{"x"}}}}},
	{"HS-030", "subscription.accepted", object{"honored_capabilities": object{"supported_conformance_levels": []int{4}}}},
	{"HS-032", "subscription.accepted", object{"honored_capabilities": object{"supported_extensions": []string{"https://a.example/", "https://a.example/"}}}},
	{"HS-035", "subscription.accepted", object{"honored_capabilities": object{"cognitive_load": "heavy"}}},
	{"HS-037", "subscription.accepted", object{"honored_capabilities": object{"pace_wpm": 5}}},
	{"HS-039", "subscription.accepted", object{"honored_capabilities": object{"accept_signed_manifests_only": "yes"}}},
}

// namedAs is what is named where it is another row that says the same, or more.
var namedAs = map[string]string{
	"ENV-003": "ENV-002", "ENV-020": "ENV-067", "TERM-004": "ENV-055", "TERM-005": "ENV-008", "EXT-002": "ENV-055",
	"I18N-002": "ENV-036",
	"EVT-017":  "ENV-067", "EVT-021": "ENV-067", "EVT-039": "ENV-067", "EVT-048": "ENV-067", "EVT-054": "ENV-067",
	"EVT-066": "ENV-067",
	"EVT-080": "ENV-067", "EVT-083": "EVT-084", "EVT-095": "EVT-087", "ENV-066": "EVT-015", "EVT-006": "LVL-010",
	"EVT-013": "LVL-010", "HS-046": "ENV-025", "HS-092": "HS-044", "HS-093": "ENV-067",
	"HS-019": "ENV-067", "HS-039": "ENV-067", "EXT-001": "ENV-055", "EXT-003": "ENV-008", "EXT-010": "ENV-009",
}

// The rows that one case decides are each seen broken, and named.
func TestRows(t *testing.T) {
	tried := map[string]bool{}
	try := func(name, id string, m mutant) {
		tried[id] = true
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			tryRow(t, name, id, &m)
		})
	}
	for _, row := range rows {
		try("events-valid", row.id, mutant{out: editType(row.typ, row.more)})
	}
	for _, row := range answerRows {
		try("answer-valid", row.id, mutant{out: editType(row.typ, row.more)})
	}
	for id, text := range map[string]string{"ENV-064": `{"type":"aaep:agent.progress.updated",}`,
		"ENV-068": `["aaep:agent.progress.updated"]`} {
		try("events-valid", id, mutant{raw: func(b []byte) []byte {
			if bytes.Contains(b, []byte("progress.updated")) {
				return []byte(text)
			}
			return b
		}})
	}
	for _, c := range conformance.Cases() {
		if c.Name == "binding" {
			continue // TestBinding, and TestViolations of each transport
		}
		for _, id := range c.Also {
			if !tried[id] {
				t.Errorf("%s says that it decides %s, and nothing shows it", c.Name, id)
			}
		}
	}
}

// tryRow sees that a case fails with a requirement, and names it.
func tryRow(t *testing.T, name, id string, m *mutant) {
	r := inBubble(t, func(g *target) conformance.ProducerRun {
		return conformance.ProducerRun{Dialer: mutantTarget{g, m, new(sync.Map), new(int)}, Driver: g, Level: 3,
			Only: []string{name}}
	})
	as := cmp.Or(namedAs[id], id)
	for _, res := range r.Results {
		if res.Case.Name == name && (res.Verdict != conformance.Fail || !strings.Contains(res.Seen, "("+as+")") ||
			!slices.Contains(res.Case.Also, id)) {
			t.Errorf("%s: %s, %s", id, res.Verdict, res.Seen)
		}
	}
}
