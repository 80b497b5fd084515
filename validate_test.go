package aaep_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// eventWith returns a valid event with p, changed by edit.
func eventWith(p aaep.Payload, edit func(*aaep.Event)) *aaep.Event {
	e := newEvent(p)
	edit(e)
	return e
}

// startedEvent returns a valid session.started, changed by edit.
func startedEvent(edit func(*aaep.Event)) *aaep.Event { return eventWith(&aaep.SessionStarted{}, edit) }

// extensionEvent returns a valid event of an extension's type, changed by edit.
func extensionEvent(typ aaep.Type, edit func(*aaep.Event)) *aaep.Event {
	e := newEvent(&aaep.ExtensionPayload{Type: typ})
	e.Context = append(e.Context, "https://example.org/v1")
	edit(e)
	return e
}

// leaveUnchanged is an edit that changes nothing.
func leaveUnchanged(*aaep.Event) {}

// controlMessage returns the i-th of controlMessages, changed by edit.
func controlMessage[M aaep.Message](edit func(M)) aaep.Message {
	for _, m := range controlMessages() {
		if m, ok := m.(M); ok {
			edit(m)
			return m
		}
	}
	panic("no such message")
}

// capabilitiesMessage returns a subscription.request whose capabilities edit has changed.
func capabilitiesMessage(edit func(*aaep.Capabilities)) aaep.Message {
	return controlMessage(func(m *aaep.SubscriptionRequest) { edit(&m.Capabilities) })
}

// withUnknown returns an edit that adds members which this package does not know.
func withUnknown(members string) func(*aaep.Event) {
	return func(e *aaep.Event) { e.Unknown = json.RawMessage(members) }
}

// withPrefixed returns an edit that adds an object under the prefix of an extension.
func withPrefixed(prefix, object string) func(*aaep.Event) {
	return func(e *aaep.Event) {
		e.Context = append(e.Context, "https://example.org/v1")
		e.Extensions = map[string]json.RawMessage{prefix: json.RawMessage(object)}
	}
}

// nestedJSON returns objects within each other, of so many levels.
func nestedJSON(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + `{}` + strings.Repeat(`}`, levels-1)
}

// manyMembers returns an object of n members.
func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":1`, i)
	}
	return "{" + b.String()[1:] + "}"
}

type refusal struct {
	requirement, pointer string
	m                    aaep.Message
}

// INV-39: whatever a caller passes, what leaves is valid, or the call fails with a reason.
var refusals = []refusal{
	{"ENV-068", "", nil},
	{"ENV-068", "", (*aaep.Event)(nil)},
	{"ENV-068", "", (*aaep.ConfirmationReply)(nil)},
	{"ENV-011", "/type", startedEvent(func(e *aaep.Event) { e.Payload = nil })},
	{"ENV-011", "/type", startedEvent(func(e *aaep.Event) { e.Payload = (*aaep.SessionStarted)(nil) })},
	{"ENV-011", "/type", startedEvent(func(e *aaep.Event) { e.Payload = (*aaep.ExtensionPayload)(nil) })},

	{"ENV-002", "/@context", startedEvent(func(e *aaep.Event) { e.Context = []string{"https://example.org/v1"} })},
	{"ENV-003", "/@context/1", startedEvent(func(e *aaep.Event) { e.Context = append(e.Context, "medai") })},
	{"ENV-003", "/@context/1", startedEvent(func(e *aaep.Event) { e.Context = append(e.Context, "") })},
	{"ENV-051", "/aaep_version", startedEvent(func(e *aaep.Event) { e.AAEPVersion = "1.0" })},
	{"ENV-051", "/aaep_version", startedEvent(func(e *aaep.Event) { e.AAEPVersion = "1.0.0+build" })},
	{"ENV-012", "/event_id", startedEvent(func(e *aaep.Event) { e.EventID = "evt_" })},
	{"ENV-012", "/event_id", startedEvent(func(e *aaep.Event) { e.EventID = "evt_1\n" })},
	{"ENV-017", "/session_id", startedEvent(func(e *aaep.Event) { e.SessionID = "" })},
	{"ENV-020", "/timestamp", startedEvent(func(e *aaep.Event) { e.Timestamp = time.Time{} })},
	{"ENV-020", "/timestamp", startedEvent(func(e *aaep.Event) {
		e.Timestamp = time.Date(10000, 1, 1, 0, 0, 0, 0,
			time.UTC)
	})},
	{"ENV-020", "/timestamp", startedEvent(func(e *aaep.Event) {
		e.Timestamp = time.Date(-1, 1, 1, 0, 0, 0, 0,
			time.UTC)
	})},
	{"ENV-020", "/timestamp", startedEvent(func(e *aaep.Event) {
		e.Timestamp = time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))
	})},
	{"ENV-040", "/sequence_number", startedEvent(func(e *aaep.Event) { e.SequenceNumber = pointerTo(int64(-1)) })},
	{"ENV-040", "/sequence_number", startedEvent(func(e *aaep.Event) { e.SequenceNumber = pointerTo(int64(1 << 53)) })},
	{"ENV-024", "/producer/agent_id", startedEvent(func(e *aaep.Event) { e.Producer.AgentID = "" })},
	{"ENV-030", "/producer/manifest_uri", startedEvent(func(e *aaep.Event) { e.Producer.ManifestURI = "/manifest" })},
	{"ENV-030", "/producer/manifest_uri", startedEvent(func(e *aaep.Event) { e.Producer.ManifestURI = "https://a.example/a b" })},
	{"ENV-030", "/producer/manifest_uri", startedEvent(func(e *aaep.Event) { e.Producer.ManifestURI = "https://ä.example/" })},
	{"ENV-031", "/verbosity", startedEvent(func(e *aaep.Event) { e.Verbosity = "loud" })},
	{"ENV-033", "/urgency", startedEvent(func(e *aaep.Event) { e.Urgency = "low" })},
	{"EVT-068", "/urgency", eventWith(allPayloads()[9], func(e *aaep.Event) { e.Urgency = "" })},
	{"ENV-036", "/localization_hints/primary_language",
		startedEvent(func(e *aaep.Event) { e.LocalizationHints = &aaep.LocalizationHints{PrimaryLanguage: "en_US"} })},
	{"ENV-036", "/localization_hints/fallback_chain/1", startedEvent(func(e *aaep.Event) {
		e.LocalizationHints = &aaep.LocalizationHints{FallbackChain: []string{"en", ""}}
	})},
	{"ENV-037", "/localization_hints/text_direction",
		startedEvent(func(e *aaep.Event) { e.LocalizationHints = &aaep.LocalizationHints{TextDirection: "left"} })},
	{"ENV-038", "/localization_hints/available_languages", startedEvent(func(e *aaep.Event) {
		e.LocalizationHints = &aaep.LocalizationHints{AvailableLanguages: []string{"en", "en"}}
	})},
	{"ENV-039", "/localization_hints/script",
		startedEvent(func(e *aaep.Event) { e.LocalizationHints = &aaep.LocalizationHints{Script: "latin"} })},
	{"ENV-039", "/localization_hints/script",
		startedEvent(func(e *aaep.Event) { e.LocalizationHints = &aaep.LocalizationHints{Script: "latn"} })},
	{"INV-57", "/localization_hints/calendar",
		startedEvent(func(e *aaep.Event) { e.LocalizationHints = &aaep.LocalizationHints{Calendar: "\x1b"} })},
	{"D-12", "/correlation_id", startedEvent(func(e *aaep.Event) { e.CorrelationID = strings.Repeat("é", 8193) })},
	{"INV-57", "/correlation_id", startedEvent(func(e *aaep.Event) { e.CorrelationID = "\u202e" })},
	{"ENV-064", "/summary_normal", startedEvent(func(e *aaep.Event) { e.Summary.Normal = "a\xffb" })},
	{"INV-57", "/summary_normal", startedEvent(func(e *aaep.Event) { e.Summary.Normal = "a\rb" })},
	{"LVL-010", "/summary_normal", startedEvent(func(e *aaep.Event) { e.Summary = aaep.Text{Terse: "t"} })},
	{"EVT-007", "/summary_terse", startedEvent(func(e *aaep.Event) { e.Summary.Terse = strings.Repeat("a", 4097) })},
	{"D-12", "/summary_detailed", startedEvent(func(e *aaep.Event) { e.Summary.Detailed = strings.Repeat("你", 5462) })},
	{"EVT-007", "/summary_detailed", startedEvent(func(e *aaep.Event) {
		e.Summary.Detailed = strings.Repeat("a",
			16385)
	})},
	{"EVT-054", "/summary_normal", eventWith(allPayloads()[8], func(e *aaep.Event) { e.Summary = aaep.Say("s") })},

	{"ENV-046", "/extensions/medai", startedEvent(withPrefixed("medai", `1`))},
	{"ENV-046", "/extensions/medai", startedEvent(withPrefixed("medai", ``))},
	{"ENV-064", "/extensions/medai", startedEvent(withPrefixed("medai", `{"a":1,"a":2}`))},
	{"ENV-064", "/extensions/medai", startedEvent(withPrefixed("medai", `{} {}`))},
	{"ENV-064", "/extensions/medai", startedEvent(withPrefixed("medai", "{\"a\":\"\xff\"}"))},
	{"ENV-066", "/extensions/medai/a/0", startedEvent(withPrefixed("medai", `{"a":[9007199254740993]}`))},
	{"ENV-066", "/extensions/medai/a", startedEvent(withPrefixed("medai", `{"a":-100000000000000000000}`))},
	{"ENV-066", "/extensions/medai/a", startedEvent(withPrefixed("medai", `{"a":1e400}`))},
	{"ENV-060", "/extensions/medai", startedEvent(withPrefixed("medai", nestedJSON(7)))},
	{"ENV-047", "/@context", startedEvent(func(e *aaep.Event) { e.Extensions = map[string]json.RawMessage{"medai": json.RawMessage(`{}`)} })},
	{"EXT-009", "/extensions/aaep", startedEvent(withPrefixed("aaep", `{}`))},
	{"EXT-009", "/extensions/AAEP", startedEvent(withPrefixed("AAEP", `{}`))},
	{"EXT-009", "/extensions/rdfs", startedEvent(withPrefixed("rdfs", `{}`))},
	{"EXT-009", "/extensions/@id", startedEvent(withPrefixed("@id", `{}`))},
	{"EXT-004", "/extensions/", startedEvent(withPrefixed("", `{}`))},
	{"EXT-004", "/extensions/a~1b c", startedEvent(withPrefixed("a/b c", `{}`))},

	{"ENV-055", "/custom_field", startedEvent(withUnknown(`{"custom_field":1}`))},
	{"ENV-055", "/summary_normal_yo-NG", startedEvent(withUnknown(`{"summary_normal_yo-NG":"s"}`))},
	{"ENV-055", "/summary_normal_", startedEvent(withUnknown(`{"summary_normal_":"s"}`))},
	{"ENV-055", "/summary_normal_YO", startedEvent(withUnknown(`{"summary_normal_YO":"s"}`))},
	{"ENV-055", "/Urgency", startedEvent(withUnknown(`{"Urgency":"normal"}`))},
	{"ENV-052", "/aaep_foo", startedEvent(withUnknown(`{"aaep_foo":1}`))},
	{"ENV-052", "/aaep_foo", extensionEvent("medai:vitals", withUnknown(`{"aaep_foo":1}`))},
	{"ENV-053", "/@graph", startedEvent(withUnknown(`{"@graph":[]}`))},
	{"ENV-053", "/@id", extensionEvent("medai:vitals", withUnknown(`{"@id":"x"}`))},
	{"ENV-054", "/event_id", extensionEvent("medai:vitals", withUnknown(`{"event_id":"evt_2"}`))},
	{"ENV-054", "/summary_normal", startedEvent(withUnknown(`{"summary_normal":"other"}`))},
	{"ENV-055", "", startedEvent(withUnknown(`[]`))},
	{"ENV-064", "", startedEvent(withUnknown(`{"summary_normal_yo":"a"`))},
	{"EVT-007", "/summary_terse_yo", startedEvent(withUnknown(`{"summary_terse_yo":1}`))},
	{"EVT-007", "/summary_terse_yo", startedEvent(withUnknown(`{"summary_terse_yo":""}`))},
	{"INV-57", "/summary_terse_yo", startedEvent(withUnknown(`{"summary_terse_yo":"\u001b"}`))},
	{"EVT-054", "/summary_terse_yo", eventWith(allPayloads()[8], withUnknown(`{"summary_terse_yo":"s"}`))},

	{"ENV-011", "/type", extensionEvent("", leaveUnchanged)},
	{"ENV-006", "/type", extensionEvent("vitals", leaveUnchanged)},
	{"ENV-006", "/type", extensionEvent("medai:", leaveUnchanged)},
	{"ENV-006", "/type", extensionEvent(":vitals", leaveUnchanged)},
	{"ENV-006", "/type", extensionEvent("med ai:vitals", leaveUnchanged)},
	{"ENV-006", "/type", extensionEvent("subscription.close", leaveUnchanged)},
	{"ENV-007", "/type", extensionEvent(aaep.TypeToolInvoked, leaveUnchanged)},
	{"ENV-007", "/type", extensionEvent("https://aaep-protocol.org/types/agent.tool.invoked", leaveUnchanged)},
	{"ENV-007", "/type", extensionEvent("https://aaep-protocol.org/vocab/v1#agent.tool.invoked", leaveUnchanged)},
	{"ENV-008", "/type", extensionEvent("aaep:agent.purple.flamingo", leaveUnchanged)},
	{"ENV-008", "/type", extensionEvent("aaep:agent.medical.alert", leaveUnchanged)}, // TERM-005, EXT-003
	{"ENV-008", "/type", extensionEvent("https://aaep-protocol.org/types/agent.purple", leaveUnchanged)},
	{"ENV-008", "/type", extensionEvent("AAEP:agent.tool.invoked", leaveUnchanged)},
	{"EXT-009", "/type", extensionEvent("xsd:string", leaveUnchanged)},
	{"ENV-009", "/@context", newEvent(&aaep.ExtensionPayload{Type: "medai:vitals"})},

	{"EVT-008", "/duration_ms", newEvent(&aaep.SessionCompleted{DurationMS: pointerTo(int64(86_400_001))})},
	{"EVT-010", "/tools_available/1", newEvent(&aaep.SessionStarted{ToolsAvailable: []string{"a", ""}})},
	{"EVT-015", "/tool_invocations_count", newEvent(&aaep.SessionCompleted{ToolInvocationsCount: pointerTo(int64(-1))})},
	{"EVT-018", "/error_category", newEvent(&aaep.SessionErrored{ErrorCategory: "timeout"})},
	{"EVT-020", "/error_code", newEvent(&aaep.SessionErrored{ErrorCategory: aaep.ErrorUnknown, ErrorCode: "timeout"})},
	{"EVT-024", "/cancelled_by", newEvent(&aaep.SessionCancelled{CancelledBy: "policy"})},
	{"EVT-028", "/to_state", newEvent(&aaep.StateChanged{FromState: aaep.StateIdle})},
	{"EVT-034", "/progress", newEvent(&aaep.ProgressUpdated{})},
	{"EVT-035", "/progress/percent", newEvent(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: pointerTo(math.NaN())}})},
	{"EVT-036", "/progress/step", newEvent(&aaep.ProgressUpdated{Progress: aaep.Progress{Step: 6, TotalSteps: 5}})},
	{"EVT-040", "/tool", newEvent(&aaep.ToolInvoked{Tool: "fs/read"})},
	{"EVT-044", "/tool_call_id", newEvent(&aaep.ToolInvoked{Tool: "t", ToolCallID: "toolu_1"})},
	{"EVT-049", "/status", newEvent(&aaep.ToolCompleted{Tool: "t", Status: "cancelled"})},
	{"EVT-055", "/chunk", newEvent(&aaep.OutputStreaming{})},
	{"EVT-056", "/position", newEvent(&aaep.OutputStreaming{Chunk: "a", Position: -1})},
	{"EVT-064", "/content_type", newEvent(&aaep.OutputStreaming{Chunk: "a", ContentType: "text/plain; charset=utf-8"})},
	{"EVT-065", "/language", newEvent(&aaep.OutputStreaming{Chunk: "a", Language: "e n"})},
	{"CONF-031", "/default_decision", newEvent(&aaep.AwaitingConfirmation{Action: "a", Consequence: "c",
		ReplyToken: "rpl_SECRET", TimeoutSeconds: 1, DefaultDecision: aaep.Accept, Reversibility: aaep.Irreversible})},
	{"D-21", "/reversibility", newEvent(&aaep.AwaitingConfirmation{Action: "a", Consequence: "c",
		ReplyToken: "rpl_SECRET", TimeoutSeconds: 1, DefaultDecision: aaep.Reject, Irreversible: pointerTo(true),
		Reversibility: aaep.Reversible})},
	{"EVT-075", "/extra_context", newEvent(&aaep.AwaitingConfirmation{Action: "a", Consequence: "c",
		ReplyToken: "rpl_SECRET", TimeoutSeconds: 1, DefaultDecision: aaep.Reject,
		ExtraContext: json.RawMessage(`[]`)})},
	{"ENV-060", "/extra_context", newEvent(&aaep.AwaitingConfirmation{Action: "a", Consequence: "c",
		ReplyToken: "rpl_SECRET", TimeoutSeconds: 1, DefaultDecision: aaep.Reject,
		ExtraContext: json.RawMessage(nestedJSON(8))})},
	{"CONF-007", "/reply_token", newEvent(&aaep.AwaitingClarification{Question: "q", ReplyToken: "SECRET",
		TimeoutSeconds: 1})},
	{"EVT-070", "/timeout_seconds", newEvent(&aaep.AwaitingClarification{Question: "q", ReplyToken: "rpl_SECRET"})},
	{"EVT-082", "/accepted_response_kinds", newEvent(&aaep.AwaitingClarification{Question: "q",
		ReplyToken: "rpl_SECRET", TimeoutSeconds: 1, AcceptedResponseKinds: []aaep.ResponseKind{}})},
	{"EVT-082", "/accepted_response_kinds/0",
		newEvent(&aaep.AwaitingClarification{Question: "q", ReplyToken: "rpl_SECRET", TimeoutSeconds: 1,
			AcceptedResponseKinds: []aaep.ResponseKind{"speech"}})},
	{"EVT-083", "/choices", newEvent(&aaep.AwaitingClarification{Question: "q", ReplyToken: "rpl_SECRET",
		TimeoutSeconds: 1, Choices: []aaep.Choice{}})},
	{"EVT-084", "/choices", newEvent(&aaep.AwaitingClarification{Question: "q", ReplyToken: "rpl_SECRET",
		TimeoutSeconds: 1, AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice}})},
	{"EVT-083", "/choices/1/label", newEvent(&aaep.AwaitingClarification{Question: "q", ReplyToken: "rpl_SECRET",
		TimeoutSeconds: 1, AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice},
		Choices: []aaep.Choice{{"1", "One"}, {"2", ""}}})},
	{"EVT-087", "/target_kind", newEvent(&aaep.HandoffRequested{Reason: "r"})},
	{"EVT-089", "/target_uri", newEvent(&aaep.HandoffRequested{Reason: "r", TargetKind: aaep.TargetHuman,
		TargetURI: "desk 5"})},

	{"ENV-058", "", eventWith(&aaep.SessionStarted{RequestText: strings.Repeat("\"", 16384)}, func(e *aaep.Event) {
		e.Summary.Normal, e.Summary.Detailed = strings.Repeat("\"", 16384), strings.Repeat("a", 16384)
	})},
	{"ENV-059", "", extensionEvent("medai:vitals", withUnknown(manyMembers(24)))},

	{"HS-005", "/aaep_version", controlMessage(func(m *aaep.SubscriptionRequest) { m.AAEPVersion = "1" })},
	{"HS-006", "/subscriber_id", controlMessage(func(m *aaep.SubscriptionRequest) { m.SubscriberID = "" })},
	{"ENV-064", "/subscriber_name", controlMessage(func(m *aaep.SubscriptionRequest) { m.SubscriberName = "\xff" })},
	{"INV-57", "/correlation_id", controlMessage(func(m *aaep.SubscriptionRequest) { m.CorrelationID = "\x00" })},
	{"HS-011", "/extensions/haptic", controlMessage(func(m *aaep.SubscriptionRequest) { m.Extensions["haptic"] = nil })},
	{"EXT-009", "/extensions/rdf", controlMessage(func(m *aaep.SubscriptionRequest) { m.Extensions["rdf"] = json.RawMessage(`{}`) })},
	{"HS-012", "/capabilities/max_events_per_second",
		capabilitiesMessage(func(c *aaep.Capabilities) { c.MaxEventsPerSecond = 100001 })},
	{"HS-015", "/capabilities/preferred_verbosity",
		capabilitiesMessage(func(c *aaep.Capabilities) { c.PreferredVerbosity = "high" })},
	{"HS-017", "/capabilities/languages", capabilitiesMessage(func(c *aaep.Capabilities) { c.Languages = []string{} })},
	{"HS-023", "/capabilities/coalesce_boundaries/0",
		capabilitiesMessage(func(c *aaep.Capabilities) { c.CoalesceBoundaries = []aaep.Boundary{"line"} })},
	{"HS-025", "/capabilities/event_filters/exclude/0",
		capabilitiesMessage(func(c *aaep.Capabilities) { c.EventFilters.Exclude = []string{""} })},
	{"HS-030", "/capabilities/supported_conformance_levels",
		capabilitiesMessage(func(c *aaep.Capabilities) { c.SupportedConformanceLevels = []int64{4} })},
	{"HS-032", "/capabilities/supported_extensions/0",
		capabilitiesMessage(func(c *aaep.Capabilities) { c.SupportedExtensions = []string{""} })},
	{"HS-037", "/capabilities/pace_wpm", capabilitiesMessage(func(c *aaep.Capabilities) { c.PaceWPM = 49 })},
	{"HS-041", "/capabilities/haptic", capabilitiesMessage(func(c *aaep.Capabilities) { c.Extensions["haptic"] = json.RawMessage(`true`) })},
	{"HS-041", "/capabilities/haptic", capabilitiesMessage(func(c *aaep.Capabilities) { c.Extensions["haptic"] = nil })},
	{"HS-041", "/capabilities/pace_wpm", capabilitiesMessage(func(c *aaep.Capabilities) { c.Extensions["pace_wpm"] = json.RawMessage(`{}`) })},
	{"EXT-009", "/capabilities/aaep", capabilitiesMessage(func(c *aaep.Capabilities) { c.Extensions["aaep"] = json.RawMessage(`{}`) })},
	{"HS-045", "/subscription_id", controlMessage(func(m *aaep.SubscriptionAccepted) { m.SubscriptionID = "sub_quickstart-demo" })},
	{"HS-044", "/aaep_version", controlMessage(func(m *aaep.SubscriptionAccepted) { m.AAEPVersion = "1.0" })}, // HS-092
	{"HS-048", "/manifest_uri", controlMessage(func(m *aaep.SubscriptionAccepted) { m.ManifestURI = "https:" })},
	{"HS-048", "/signed_manifest", controlMessage(func(m *aaep.SubscriptionAccepted) { m.SignedManifest = "e30.e30" })},
	{"HS-048", "/signed_manifest", controlMessage(func(m *aaep.SubscriptionAccepted) { m.SignedManifest = "e30.e30.c2ln=" })},
	{"HS-048", "/signed_manifest", controlMessage(func(m *aaep.SubscriptionAccepted) { m.SignedManifest = "e30.e30.c2ln.e30" })},
	{"HS-057", "/reason_code", controlMessage(func(m *aaep.SubscriptionRejected) { m.ReasonCode = "busy" })},
	{"HS-056", "/reason_message", controlMessage(func(m *aaep.SubscriptionRejected) { m.ReasonMessage = "" })},
	{"HS-059", "/retry_after_seconds", controlMessage(func(m *aaep.SubscriptionRejected) { m.RetryAfterSeconds = pointerTo(int64(-1)) })},
	{"HS-074", "/subscription_id", controlMessage(func(m *aaep.SubscriptionRenegotiate) { m.SubscriptionID = strings.Repeat("s", 257) })},
	{"HS-081", "/reason_code", controlMessage(func(m *aaep.SubscriptionClose) { m.ReasonCode = "" })},
	{"CONF-007", "/reply_token", controlMessage(func(m *aaep.ConfirmationReply) { m.ReplyToken = "rpl_SECRET-" })},
	{"CONF-013", "/decision", controlMessage(func(m *aaep.ConfirmationReply) { m.Decision = "" })},
	{"CONF-015", "/timestamp", controlMessage(func(m *aaep.ConfirmationReply) { m.Timestamp = time.Time{} })},
	{"CONF-016", "/modified_action", controlMessage(func(m *aaep.ConfirmationReply) { m.ModifiedAction = json.RawMessage(`1`) })},
	{"CONF-041", "/response", controlMessage(func(m *aaep.ClarificationReply) { m.Response = 1 })},
	{"CONF-041", "/response", controlMessage(func(m *aaep.ClarificationReply) { m.Response = math.Inf(1) })},
	{"CONF-043", "/confidence", controlMessage(func(m *aaep.ClarificationReply) { m.Confidence = pointerTo(1.5) })},
}

// Encode refuses what the schemas forbid, and says which requirement and where.
func TestEncodeRefuses(t *testing.T) {
	for _, r := range refusals {
		data, err := aaep.Encode(r.m)
		var invalid *aaep.InvalidError
		if !errors.As(err, &invalid) || data != nil {
			t.Errorf("Encode = %s, %v; want %s at %q", data, err, r.requirement, r.pointer)
			continue
		}
		if !slices.ContainsFunc(invalid.Violations, func(v aaep.Violation) bool {
			return v.Requirement == r.requirement && v.Pointer == r.pointer && v.Problem != ""
		}) {
			t.Errorf("violations %v, want %s at %q", invalid.Violations, r.requirement, r.pointer)
		}
		if text := err.Error(); !strings.Contains(text, r.requirement) || !strings.Contains(text, r.pointer) ||
			strings.Contains(text, "SECRET") {
			t.Errorf("error %q, want one with %s and %q and without the reply token", text, r.requirement, r.pointer)
		}
	}
}

// What stands right at a limit passes, and so does what only others' messages hold.
func TestEncodeTakes(t *testing.T) {
	for _, m := range []aaep.Message{
		startedEvent(func(e *aaep.Event) { e.Context = nil }),
		startedEvent(func(e *aaep.Event) { e.CorrelationID = strings.Repeat("é", 8192) }),
		startedEvent(func(e *aaep.Event) { e.SequenceNumber = pointerTo(int64(1<<53 - 1)) }),
		startedEvent(withPrefixed("medai", nestedJSON(6))),
		startedEvent(withPrefixed("medai", `{"a":9007199254740992,"b":-9007199254740992,"c":1e300,"d":0.1}`)),
		startedEvent(withUnknown(`{"summary_terse_yo":"a","summary_normal_yo_ng":"b","summary_detailed_zh_hant":"c"}`)),
		extensionEvent("https://example.org/vitals", func(e *aaep.Event) { e.Context = nil }),
		extensionEvent("medai:vitals", withUnknown(manyMembers(19))), // 13 of the envelope and 19 are 32
		extensionEvent("medai:vitals", withUnknown(nestedJSON(8))),
		newEvent(&aaep.OutputStreaming{Complete: true}),
		controlMessage(func(m *aaep.SubscriptionRenegotiate) { m.SubscriptionID = "sub_quickstart-demo" }), // D-44
		controlMessage(func(m *aaep.ConfirmationReply) { m.SubscriptionID = "sub_quickstart-demo" }),       // echoed
	} {
		if _, err := aaep.Encode(m); err != nil {
			t.Errorf("Encode(%+v) = %v", m, err)
		}
	}
}

// D-12: the limit is on what is written, whatever the escapes.
func TestEncodeSizeLimit(t *testing.T) {
	for n := 16300; n <= 16384; n++ {
		e := newEvent(&aaep.SessionStarted{RequestText: strings.Repeat("a", n)})
		e.Summary = aaep.Text{Normal: strings.Repeat("\n", 16384), Detailed: strings.Repeat("b", 15900)}
		data, err := aaep.Encode(e)
		plain, _ := e.MarshalJSON()
		if len(plain) <= 65536 != (err == nil) || len(data) > 65536 {
			t.Fatalf("%d bytes: %v", len(plain), err)
		}
	}
}

// An event without a payload has no type and no text, and cannot be written.
func TestEmptyEventDoesNotPanic(t *testing.T) {
	for _, p := range []aaep.Payload{
		nil, (*aaep.ExtensionPayload)(nil), (*aaep.OutputStreaming)(nil), (*aaep.ToolInvoked)(nil),
		(*aaep.AwaitingConfirmation)(nil),
	} {
		e := &aaep.Event{Payload: p}
		if e.Type() != "" || e.MessageType() != "" || e.Critical() || e.Language() != "" || e.Text("") != "" {
			t.Errorf("an event with %#v has type %q, text %q", p, e.Type(), e.Text(""))
		}
		if _, err := e.MarshalJSON(); err == nil {
			t.Errorf("an event with %#v can be written", p)
		}
	}
}

// Percent is a Progress that says so, also of nothing done.
func TestPercent(t *testing.T) {
	for _, done := range []float64{0, 37.5, 100} {
		if p := aaep.Percent(done); p.Percent == nil || *p.Percent != done || p != (aaep.Progress{Percent: p.Percent}) {
			t.Errorf("Percent(%v) = %+v", done, p)
		}
	}
}
