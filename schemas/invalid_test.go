package schemas_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/schemas"
)

// A fixture is the maximal instance of a type with one member changed, and what must be said of it.
type fixture struct {
	requirement string
	// at is the member, as a JSON pointer.
	at string
	// value is JSON text, or "" to leave the member out.
	value string
}

// Every fixture under a type is invalid; the unchanged instance is the valid one.
var fixtures = map[string][]fixture{
	"aaep:agent.session.started": {
		// The envelope, tried on the first type.
		{"ENV-001", "/@context", ``},
		{"ENV-001", "/event_id", ``},
		{"ENV-001", "/session_id", ``},
		{"ENV-001", "/timestamp", ``},
		{"ENV-001", "/producer", ``},
		{"ENV-002", "/@context", `"https://example.org/v1"`},
		{"ENV-002", "/@context", `[]`},
		{"ENV-002", "/@context", `{"aaep":"https://aaep-protocol.org/context/v1"}`},
		{"ENV-003", "/@context/1", `{"medai":"https://example.org/v1"}`},
		{"ENV-003", "/@context/1", `"not a uri"`},
		{"ENV-012", "/event_id", `"abc"`},
		{"ENV-012", "/event_id", `"evt_a-b"`},
		{"ENV-012", "/event_id", `"evt_abc\n"`},
		{"ENV-012", "/event_id", quoteText("evt_" + strings.Repeat("a", 65))},
		{"ENV-017", "/session_id", `"evt_1"`},
		{"ENV-020", "/timestamp", `"today"`},
		{"ENV-020", "/timestamp", `"2026-02-30T09:30:00.000Z"`},
		{"ENV-021", "/timestamp", `"2026-07-01T09:30:00.1Z"`},
		{"ENV-021", "/timestamp", `"2026-07-01T09:30:00.123456789Z"`},
		{"ENV-021", "/timestamp", `"2026-07-01t09:30:00z"`},
		{"ENV-024", "/producer", `"agent"`},
		{"ENV-024", "/producer/agent_id", ``},
		{"ENV-024", "/producer/agent_id", `""`},
		{"ENV-025", "/producer/vendor", `"v"`},
		{"ENV-029", "/producer/model", `""`},
		{"ENV-030", "/producer/manifest_uri", `"manifest.json"`},
		{"ENV-030", "/producer/manifest_uri", `"https://example.org/a b"`},
		{"ENV-030", "/producer/manifest_uri", `"https://"`},
		{"ENV-031", "/verbosity", `"loud"`},
		{"ENV-033", "/urgency", `"low"`},
		{"ENV-035", "/localization_hints/pace_wpm", `120`},
		{"ENV-036", "/localization_hints/primary_language", `"en_US"`},
		{"ENV-037", "/localization_hints/text_direction", `"left"`},
		{"ENV-038", "/localization_hints/available_languages", `["en","en"]`},
		{"ENV-038", "/localization_hints/fallback_chain", `[` + strings.Repeat(`"en",`, 16) + `"en"]`},
		{"ENV-039", "/localization_hints/script", `"latin"`},
		{"ENV-040", "/sequence_number", `-1`},
		{"ENV-040", "/sequence_number", `1.5`},
		{"ENV-040", "/sequence_number", `9007199254740992`},
		{"ENV-045", "/correlation_id", `1`},
		{"ENV-046", "/extensions/medai", `1`},
		{"ENV-047", "/@context", `"https://aaep-protocol.org/context/v1"`},
		{"ENV-051", "/aaep_version", `"1.0"`},
		{"ENV-052", "/aaep_foo", `1`},
		{"ENV-053", "/@graph", `[]`},
		{"ENV-055", "/custom_field", `1`},
		{"ENV-055", "/summary_normal_yo-NG", `"s"`},
		{"EXT-009", "/extensions/aaep", `{}`},
		{"EVT-007", "/summary_terse", quoteText(strings.Repeat("a", 4097))},
		{"EVT-007", "/summary_detailed", `""`},
		{"EVT-007", "/summary_terse_yo", `7`},
		{"LVL-010", "/summary_normal", ``},
		{"LVL-010", "/summary_normal", `""`},
		{"INV-57", "/summary_normal", `"a\u202eb"`},
		{"INV-57", "/summary_normal", `"a\u001bb"`},
		{"INV-57", "/summary_normal", `"a\udb40\udc67b"`},
		{"INV-57", "/summary_normal_yo_ng", `"a\u2028b"`},
		// Its own members.
		{"EVT-008", "/expected_duration_ms", `86400001`},
		{"EVT-009", "/requested_by", quoteText(strings.Repeat("a", 257))},
		{"EVT-009", "/request_text", `null`},
		{"EVT-010", "/tools_available", `["a","a"]`},
		{"EVT-010", "/tools_available/0", `""`},
		{"ENV-055", "/error_message", `"m"`},
	},
	"aaep:agent.session.completed": {
		{"EVT-008", "/duration_ms", `-1`},
		{"EVT-015", "/tool_invocations_count", `1.5`},
		{"EVT-015", "/output_summary", quoteText(strings.Repeat("a", 16385))},
		{"EVT-015", "/result_uri", `"result"`},
	},
	"aaep:agent.session.errored": {
		{"EVT-018", "/error_category", ``},
		{"EVT-018", "/error_category", `"timeout"`},
		{"EVT-019", "/urgency", ``},
		{"EVT-019", "/urgency", `"normal"`},
		{"EVT-020", "/error_code", `"timeout"`},
		{"EVT-020", "/error_code", `"E"`},
		{"EVT-021", "/error_uri", `"x"`},
		{"EVT-021", "/recoverable", `"yes"`},
		{"EVT-021", "/remediation_hint", `""`},
	},
	"aaep:agent.session.cancelled": {
		{"EVT-024", "/cancelled_by", ``},
		{"EVT-024", "/cancelled_by", `"policy"`},
		{"EVT-025", "/cancellation_reason", `"USER"`},
		{"EVT-025", "/partial_result", `1`},
	},
	"aaep:agent.state.changed": {
		{"EVT-028", "/from_state", ``},
		{"EVT-028", "/to_state", `""`},
		{"EVT-028", "/to_state", quoteText(strings.Repeat("a", 65))},
		{"EVT-008", "/expected_duration_ms", `"1"`},
	},
	"aaep:agent.progress.updated": {
		{"EVT-034", "/progress", ``},
		{"EVT-034", "/progress", `{}`},
		{"EVT-034", "/progress/speed", `1`},
		{"EVT-035", "/progress/percent", `101`},
		{"EVT-035", "/progress/step", `0`},
		{"EVT-035", "/progress/description", `""`},
		{"EVT-008", "/eta_ms", `86400001`},
		{"ENV-055", "/progress_percent", `1`},
	},
	"aaep:agent.tool.invoked": {
		{"EVT-040", "/tool", ``},
		{"EVT-040", "/tool", `"fs/read"`},
		{"EVT-044", "/tool_call_id", `"toolu_1"`},
		{"EVT-046", "/risk_level", `"extreme"`},
		{"EVT-046", "/irreversible", `null`},
		{"EVT-047", "/description", `""`},
		{"EVT-047", "/args_summary", `{}`},
	},
	"aaep:agent.tool.completed": {
		{"EVT-040", "/tool", `"1st"`},
		{"EVT-044", "/tool_call_id", `"call_"`},
		{"EVT-049", "/status", ``},
		{"EVT-049", "/status", `"cancelled"`},
		{"EVT-053", "/error_message", `""`},
	},
	"aaep:agent.output.streaming": {
		{"EVT-054", "/summary_normal", `"s"`},
		{"EVT-054", "/summary_normal_yo", `"s"`},
		{"EVT-055", "/chunk", ``},
		{"EVT-056", "/position", `-1`},
		{"EVT-057", "/complete", `"no"`},
		{"EVT-062", "/coalesce_hint", `"line"`},
		{"EVT-063", "/output_id", `"o1"`},
		{"EVT-064", "/content_type", `"text/plain; charset=utf-8"`},
		{"EVT-065", "/language", `""`},
	},
	"aaep:agent.awaiting.confirmation": {
		{"CONF-007", "/reply_token", `"token"`},
		{"CONF-031", "/default_decision", `"accept"`},
		{"EVT-068", "/urgency", ``},
		{"EVT-069", "/action", `""`},
		{"EVT-069", "/consequence", ``},
		{"EVT-070", "/timeout_seconds", `0`},
		{"EVT-071", "/default_decision", `"yes"`},
		{"EVT-073", "/reversibility", `"reversible"`},
		{"EVT-073", "/risk_level", `""`},
		{"EVT-074", "/allowed_replies", `[]`},
		{"EVT-075", "/extra_context", `"pay_bill"`},
	},
	"aaep:agent.awaiting.clarification": {
		{"CONF-007", "/reply_token", ``},
		{"EVT-070", "/timeout_seconds", `86401`},
		{"EVT-081", "/urgency", `"background"`},
		{"EVT-082", "/accepted_response_kinds", `[]`},
		{"EVT-082", "/accepted_response_kinds/0", `"speech"`},
		{"EVT-083", "/choices", `[{"value":"1","label":"One"}]`},
		{"EVT-083", "/choices/0/hint", `"h"`},
		{"EVT-084", "/choices", ``},
		{"EVT-085", "/default_response", `true`},
		{"EVT-095", "/question", `""`},
	},
	"aaep:agent.handoff.requested": {
		{"EVT-087", "/target_kind", ``},
		{"EVT-087", "/target_kind", `"robot"`},
		{"EVT-088", "/urgency", `"normal"`},
		{"EVT-089", "/target_uri", `"desk 5"`},
		{"EVT-089", "/packaged_context", `[]`},
		{"EVT-089", "/urgency_for_handoff", `"critical"`},
		{"EVT-095", "/reason", ``},
	},
	"subscription.request": {
		{"HS-005", "/aaep_version", `"1"`},
		{"HS-006", "/subscriber_id", `""`},
		{"HS-007", "/capabilities", ``},
		{"HS-009", "/subscriber_version", quoteText(strings.Repeat("1", 65))},
		{"HS-010", "/comment", `1`},
		{"HS-011", "/extensions/medai", `true`},
		{"HS-012", "/capabilities/max_events_per_second", `0`},
		{"HS-015", "/capabilities/preferred_verbosity", `"high"`},
		{"HS-017", "/capabilities/languages", `[]`},
		{"HS-017", "/capabilities/languages/0", `"en_US"`},
		{"HS-019", "/capabilities/supports_confirmation_reply", `1`},
		{"HS-023", "/capabilities/coalesce_boundaries/0", `"line"`},
		{"HS-025", "/capabilities/event_filters/only", `[]`},
		{"HS-025", "/capabilities/event_filters/include", `["a","a"]`},
		{"HS-030", "/capabilities/supported_conformance_levels/0", `4`},
		{"HS-032", "/capabilities/supported_extensions/0", `""`},
		{"HS-035", "/capabilities/cognitive_load", `"none"`},
		{"HS-037", "/capabilities/pace_wpm", `49`},
		{"HS-039", "/capabilities/accept_signed_manifests_only", `null`},
		{"HS-041", "/capabilities/medai.alerts", `true`},
	},
	"subscription.accepted": {
		{"HS-044", "/honored_capabilities", ``},
		{"HS-045", "/subscription_id", `"sub_quickstart-demo"`},
		{"ENV-025", "/producer/vendor", `"v"`}, // HS-046
		{"HS-047", "/session_id", `"sess_1"`},
		{"HS-048", "/signed_manifest", `"not a jws"`},
		{"HS-048", "/manifest_uri", `"/manifest"`},
	},
	"subscription.rejected": {
		{"HS-056", "/reason_message", ``},
		{"HS-057", "/reason_code", `"busy"`},
		{"HS-059", "/retry_after_seconds", `86401`},
		{"HS-060", "/subscription_id", `"sub_1"`},
	},
	"subscription.renegotiate": {
		{"HS-074", "/subscription_id", ``},
		{"HS-074", "/capabilities", `null`},
		{"HS-074", "/reason", `"r"`},
		{"HS-012", "/capabilities/max_events_per_second", `100001`},
	},
	"subscription.close": {
		{"HS-081", "/subscription_id", `""`},
		{"HS-081", "/reason_code", ``},
		{"HS-081", "/reason_message", `""`},
		{"HS-081", "/code", `4000`},
	},
	"confirmation.reply": {
		{"CONF-007", "/reply_token", `"rpl_"`},
		{"CONF-013", "/decision", `"Accept"`},
		{"CONF-014", "/subscription_id", ``},
		{"CONF-015", "/timestamp", ``},
		{"ENV-021", "/timestamp", `"2026-07-01T09:30:00.12Z"`},
		{"CONF-016", "/decided_by", `""`},
		{"CONF-016", "/modified_action", `"more"`},
		{"CONF-017", "/Decision", `"reject"`},
	},
	"clarification.reply": {
		{"CONF-041", "/response", `""`},
		{"CONF-041", "/response", `["1"]`},
		{"CONF-041", "/response", `null`},
		{"CONF-043", "/confidence", `1.5`},
		{"CONF-017", "/comment", `"c"`},
	},
	"medai:vitals": {
		{"ENV-009", "/@context", `["https://aaep-protocol.org/context/v1"]`},
		{"ENV-012", "/event_id", `1`},
		{"ENV-052", "/aaep_vitals", `1`},
		{"LVL-010", "/summary_normal", ``},
	},
}

func quoteText(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// validByType returns the maximal instances by type, and an event of a type no schema knows.
func validByType(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for name, data := range encodedInstances(t) {
		if typ, ok := strings.CutPrefix(name, "maximal "); ok {
			all[typ] = data
		}
	}
	all["medai:vitals"] = changeMember(t, all["aaep:agent.session.started"], "/type", `"medai:vitals"`)
	return all
}

func TestInvalid(t *testing.T) {
	for typ, data := range validByType(t) {
		if err := schemas.Validate(data); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
		if len(fixtures[typ]) == 0 {
			t.Errorf("%s has no invalid fixtures", typ)
		}
		for _, f := range fixtures[typ] {
			at := f.at
			if f.value == "" {
				at = f.at[:strings.LastIndexByte(f.at, '/')] // a missing member is reported at its object
			}
			v := violationsOf(t, schemas.Validate(changeMember(t, data, f.at, f.value)))
			if !hasViolation(v, f.requirement, at) {
				t.Errorf("%s with %s %s: violations %v, want one of %s at %q", typ, f.at, f.value, v, f.requirement,
					f.at)
			}
		}
	}
}

// Only the closing chunk may be empty (EVT-055), and types of AAEP are the twelve (ENV-008) in
// their compact form (ENV-007).
func TestInvalidTogether(t *testing.T) {
	all := validByType(t)
	chunk := changeMember(t, all["aaep:agent.output.streaming"], "/chunk", `""`)
	if err := schemas.Validate(chunk); err != nil {
		t.Errorf("empty closing chunk: %v", err)
	}
	for name, c := range map[string]struct {
		data        []byte
		requirement string
		at          string
	}{
		"empty chunk": {changeMember(t, chunk, "/complete", `false`), "EVT-055", "/chunk"},
		"undefined type": {changeMember(t, all["medai:vitals"], "/type", `"aaep:agent.purple.flamingo"`),
			"ENV-008", "/type"},
		"type without prefix": {changeMember(t, all["medai:vitals"], "/type", `"vitals"`), "ENV-006", "/type"},
		"type in another case": {changeMember(t, all["medai:vitals"], "/type", `"Subscription.Close"`), "ENV-006",
			"/type"},
		"core context second": {changeMember(t, all["medai:vitals"], "/@context/0", `"https://example.org/v1"`),
			"ENV-002", "/@context/0"},
		"choices, not asked": {changeMember(t, all["aaep:agent.awaiting.clarification"], "/accepted_response_kinds",
			`["freetext"]`), "EVT-084", "/choices"},
		"only reversibility": {changeMember(t,
			changeMember(t, all["aaep:agent.awaiting.confirmation"], "/irreversible", ``), "/default_decision",
			`"accept"`), "CONF-031", "/default_decision"},
		"only irreversible": {changeMember(t,
			changeMember(t, all["aaep:agent.awaiting.confirmation"], "/reversibility", ``), "/default_decision",
			`"accept"`), "CONF-031", "/default_decision"},
	} {
		if v := violationsOf(t, schemas.Validate(c.data)); !hasViolation(v, c.requirement, c.at) {
			t.Errorf("%s: violations %v, want %s at %s", name, v, c.requirement, c.at)
		}
	}
}
