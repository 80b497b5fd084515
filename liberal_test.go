package aaep_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// publishedEvent returns an event that departs in nothing, but for the members given.
func publishedEvent(typ, members string) string {
	urgency := "normal"
	if aaep.Type(typ).Critical() {
		urgency = "critical"
	}
	text := fmt.Sprintf(`{"type":%q,%s,"verbosity":"normal","urgency":%q,"localization_hints":{"primary_language":"en"}`, typ, envelope, urgency)
	if typ != "aaep:agent.output.streaming" {
		text += `,"summary_normal":"Something happened."`
	}
	return text + members + "}"
}

// decodeEvent decodes an event, which must be valid.
func decodeEvent(t *testing.T, data string) *aaep.Event {
	t.Helper()
	m, err := aaep.Decode([]byte(data))
	if err != nil {
		t.Fatalf("Decode(%s) = %v", data, err)
	}
	return m.(*aaep.Event)
}

const (
	confirmation  = `,"action":"Pay.","consequence":"Gone.","reply_token":"rpl_1","timeout_seconds":60`
	clarification = `,"question":"Which?","reply_token":"rpl_1","timeout_seconds":60`
	tool          = `,"tool":"t"`
)

// What published peers send, with what it is read as and the one diagnostic for it.
var departures = []struct {
	about, typ, members string
	requirement, at     string // of the one diagnostic
	raw                 string // what the diagnostic must still tell of the peer's words
	want                func(e *aaep.Event) bool
}{
	// D-15, EVT-018.
	{"D-15", "session.errored", `,"error_category":"timeout"`, "EVT-018", "/error_category", "timeout",
		hasCategory(aaep.ErrorTransient)},
	{"D-15", "session.errored", `,"error_category":"network"`, "EVT-018", "/error_category", "network",
		hasCategory(aaep.ErrorTransient)},
	{"D-15", "session.errored", `,"error_category":"rate_limit"`, "EVT-018", "/error_category", "rate_limit",
		hasCategory(aaep.ErrorTransient)},
	{"D-15", "session.errored", `,"error_category":"authentication"`, "EVT-018", "/error_category", "authentication",
		hasCategory(aaep.ErrorRequiresUser)},
	{"D-15", "session.errored", `,"error_category":"authorization"`, "EVT-018", "/error_category", "authorization",
		hasCategory(aaep.ErrorRequiresUser)},
	{"D-15", "session.errored", `,"error_category":"invalid_input"`, "EVT-018", "/error_category", "invalid_input",
		hasCategory(aaep.ErrorPermanent)},
	{"D-15", "session.errored", `,"error_category":"policy"`, "EVT-018", "/error_category", "policy",
		hasCategory(aaep.ErrorPermanent)},
	{"D-15", "session.errored", `,"error_category":"internal"`, "EVT-018", "/error_category", "internal",
		hasCategory(aaep.ErrorPermanent)},
	{"VER-003, D-13", "session.errored", `,"error_category":"requires_admin"`, "EVT-018", "/error_category",
		"requires_admin", hasCategory(aaep.ErrorUnknown)},
	{"D-13", "session.errored", `,"error_category":""`, "EVT-018", "/error_category", `""`,
		hasCategory(aaep.ErrorUnknown)},
	{"D-16", "session.errored", `,"error_category":"unknown","error_message":"No."`, "ENV-055", "/error_message", "",
		hasCategory(aaep.ErrorUnknown)},

	// D-16.
	{"D-16", "state.changed", `,"from_state":"idle","to_state":"awaiting_user"`, "D-16", "/to_state", "awaiting_user",
		func(e *aaep.Event) bool {
			return e.Payload.(*aaep.StateChanged).ToState == aaep.StateAwaitingInput
		}},
	{"D-16", "state.changed", `,"from_state":"awaiting_user","to_state":"idle"`, "D-16", "/from_state",
		"awaiting_user", func(e *aaep.Event) bool {
			return e.Payload.(*aaep.StateChanged).FromState == aaep.StateAwaitingInput
		}},
	{"D-16", "state.changed", `,"from_state":"idle","to_state":"completed"`, "D-16", "/to_state", "completed",
		func(e *aaep.Event) bool {
			return e.Payload.(*aaep.StateChanged).ToState == "completed"
		}},
	{"D-16", "session.cancelled", `,"cancelled_by":"policy"`, "EVT-024", "/cancelled_by", "policy",
		func(e *aaep.Event) bool {
			return e.Payload.(*aaep.SessionCancelled).CancelledBy == aaep.CancelledBySystem
		}},
	{"D-16", "awaiting.confirmation", confirmation + `,"default_decision":"reject","reversibility":"reversible_easy"`,
		"EVT-073", "/reversibility", "reversible_easy", func(e *aaep.Event) bool {
			p := e.Payload.(*aaep.AwaitingConfirmation)
			return p.Reversibility == aaep.Reversible && !p.IsIrreversible()
		}},
	{"D-16", "awaiting.confirmation", confirmation + `,"default_decision":"reject","decision_reason":"r"`, "ENV-055",
		"/decision_reason", "", nil},
	{"D-16, D-73", "tool.invoked", tool + `,"language":"yo"`, "ENV-055", "/language", "",
		func(e *aaep.Event) bool { return e.Language() == "en" }},

	// D-19, EVT-034, EVT-035.
	{"D-19", "progress.updated", `,"progress_percent":40,"progress_message":"Reading.","estimated_remaining_ms":1500`,
		"EVT-034", "/progress_percent", "progress_message, estimated_remaining_ms",
		hasProgress(40, 0, "Reading.", 1500)},
	{"D-19", "progress.updated", `,"estimated_remaining_ms":1500.4`, "EVT-034", "/estimated_remaining_ms", "",
		hasProgress(-1, 0, "", 1500)},
	{"D-19", "progress.updated", `,"progress_p\u0065rcent":40`, "EVT-034", "/progress_percent", "",
		hasProgress(40, 0, "", -1)},
	{"D-19", "progress.updated", `,"progress":{"percent":10,"description":"a"},"eta_ms":1,"progress_percent":40,"progress_message":"b","estimated_remaining_ms":2`, "EVT-034", "/progress_percent", "", hasProgress(10, 0, "a", 1)},
	{"D-19", "progress.updated", `,"progress":{"step":0,"description":"a"}`, "EVT-035", "/progress", "step of 0",
		hasProgress(-1, 0, "a", -1)},
	{"D-19", "progress.updated", `,"progress":{"total_steps":0,"description":"a"}`, "EVT-035", "/progress",
		"step of 0", hasProgress(-1, 0, "a", -1)},
	{"D-19", "progress.updated", `,"progress":{"st\u0065p":0,"total_steps":0.0,"percent":0}`, "EVT-035", "/progress",
		"step of 0", hasProgress(0, 0, "", -1)},
	{"D-19", "progress.updated", `,"progress":{"step":-3,"total_steps":-9223372036854775808,"percent":1}`, "EVT-035",
		"/progress", "step of 0 or less", hasProgress(1, 0, "", -1)},
	{"EVT-035", "progress.updated", `,"progress":{"percent":1e308,"description":"a"}`, "EVT-035", "/progress/percent",
		"1e+308", hasProgress(-1, 0, "a", -1)},
	{"EVT-035", "progress.updated", `,"progress":{"percent":-1,"step":2}`, "EVT-035", "/progress/percent", "-1",
		hasProgress(-1, 2, "", -1)},
	{"D-07", "progress.updated", `,"progress":{"step":2},"progress_percent":"40"`, "ENV-055", "/progress_percent", "",
		hasProgress(-1, 2, "", -1)},

	{"D-07", "progress.updated", `,"progress":{"step":2},"estimated_remaining_ms":1e300`, "ENV-055",
		"/estimated_remaining_ms", "", hasProgress(-1, 2, "", -1)},

	// D-24, EVT-082, EVT-084.
	{"D-07", "awaiting.clarification", clarification +
		`,"accepted_response_kinds":["yes_no"],"free_form_allowed":"no"`, "ENV-055", "/free_form_allowed", "",
		hasKinds("", aaep.ResponseYesNo)},
	{"D-24", "awaiting.clarification", clarification + `,"options":["A"` + strings.Repeat(`,"A"`, 400) + `]`,
		"EVT-082", "/options", "", hasKinds("A"+strings.Repeat(",A", 255), aaep.ResponseMultipleChoice)},
	{"D-07", "awaiting.clarification", clarification +
		`,"accepted_response_kinds":["multiple_choice"],"choices":[{"value":"A","label":"A"}` +
		strings.Repeat(`,{"value":"A","label":"A"}`, 400) + `]`, "EVT-083", "/choices", "",
		hasKinds("A"+strings.Repeat(",A", 255), aaep.ResponseMultipleChoice)},
	{"D-24", "awaiting.clarification", clarification + `,"options":["A","","B"]`, "EVT-082", "/options", "",
		hasKinds("A,B", aaep.ResponseMultipleChoice)},
	{"D-24", "awaiting.clarification", clarification +
		`,"options":["A","B"],"multi_select":true,"free_form_allowed":true`, "EVT-082", "/options",
		"multi_select, free_form_allowed", hasKinds("A,B", aaep.ResponseMultipleChoice, aaep.ResponseFreetext)},
	{"D-24", "awaiting.clarification", clarification + `,"options":["A","B"],"free_form_allowed":false`, "EVT-082",
		"/options", "", hasKinds("A,B", aaep.ResponseMultipleChoice)},
	{"D-24", "awaiting.clarification", clarification + `,"free_form_allowed":true`, "EVT-082", "/free_form_allowed",
		"", hasKinds("", aaep.ResponseFreetext)},
	{"D-24", "awaiting.clarification", clarification + `,"options":[]`, "EVT-082", "/options", "",
		hasKinds("", aaep.ResponseFreetext)},
	{"D-24", "awaiting.clarification", clarification + `,"accepted_response_kinds":["numeric"],"options":["1"]`,
		"EVT-082", "/options", "", hasKinds("1", aaep.ResponseNumeric)},
	{"D-07", "awaiting.clarification", clarification + `,"accepted_response_kinds":["freetext"],"options":["A",1]`,
		"ENV-055", "/options", "", hasKinds("", aaep.ResponseFreetext)},
	{"D-24", "awaiting.clarification", clarification, "D-24", "/accepted_response_kinds", "",
		hasKinds("", aaep.ResponseFreetext)},
	{"D-24", "awaiting.clarification", clarification + `,"accepted_response_kinds":[]`, "EVT-082",
		"/accepted_response_kinds", "", hasKinds("", aaep.ResponseFreetext)},
	{"D-24", "awaiting.clarification", clarification +
		`,"choices":[{"value":"1","label":"A"},{"value":"2","label":"B"}]`, "EVT-084", "/accepted_response_kinds", "",
		hasKinds("1,2", aaep.ResponseMultipleChoice, aaep.ResponseFreetext)},
	{"D-13", "awaiting.clarification", clarification + `,"accepted_response_kinds":["date","yes_no","speech"]`,
		"EVT-082", "/accepted_response_kinds", "date, speech", hasKinds("", aaep.ResponseYesNo)},
	{"D-13", "awaiting.clarification", clarification + `,"accepted_response_kinds":["date"]`, "EVT-082",
		"/accepted_response_kinds", "date", hasKinds("", aaep.ResponseFreetext)},

	// D-25, EVT-087.
	{"D-25", "handoff.requested", `,"reason":"Sign.","handoff_target":"human","context_summary":"Half done."`,
		"EVT-087", "/handoff_target", "context_summary", hasHandoff(aaep.TargetHuman, "", "Half done.")},
	{"D-25", "handoff.requested", `,"reason":"Sign.","handoff_target":"Billing team"`, "EVT-087", "/handoff_target",
		"", hasHandoff("", "Billing team", "")},
	{"D-25", "handoff.requested", `,"reason":"Sign.","target_kind":"specialist_agent","handoff_target":"tax-bot"`,
		"EVT-087", "/handoff_target", "", hasHandoff(aaep.TargetSpecialistAgent, "tax-bot", "")},
	{"D-25", "handoff.requested", `,"reason":"Sign."`, "EVT-087", "/target_kind", "", hasHandoff("", "", "")},
	{"D-13", "handoff.requested", `,"reason":"Sign.","target_kind":"supervisor"`, "EVT-087", "/target_kind",
		"supervisor", hasHandoff("", "", "")},
	{"D-13", "handoff.requested", `,"reason":"Sign.","target_kind":"human","urgency_for_handoff":"asap"`, "EVT-089",
		"/urgency_for_handoff", "asap", hasHandoff(aaep.TargetHuman, "", "")},

	// D-13: one unknown value for each enum (VER-003).
	{"D-13", "tool.completed", tool + `,"status":"cancelled"`, "EVT-049", "/status", "cancelled",
		func(e *aaep.Event) bool {
			return e.Payload.(*aaep.ToolCompleted).Status == aaep.ToolError
		}},
	{"D-13", "tool.invoked", tool + `,"risk_level":"critical"`, "EVT-046", "/risk_level", "critical",
		func(e *aaep.Event) bool {
			return e.Payload.(*aaep.ToolInvoked).RiskLevel == aaep.RiskHigh
		}},
	{"D-13", "output.streaming", `,"chunk":"a","position":0,"complete":false,"coalesce_hint":"token"`, "EVT-062",
		"/coalesce_hint", "token", func(e *aaep.Event) bool {
			return e.Payload.(*aaep.OutputStreaming).CoalesceHint == ""
		}},
	{"D-13", "awaiting.confirmation", confirmation + `,"default_decision":"ask"`, "EVT-071", "/default_decision",
		"ask", func(e *aaep.Event) bool {
			return e.Payload.(*aaep.AwaitingConfirmation).DefaultDecision == ""
		}},
	{"D-13", "awaiting.confirmation", confirmation + `,"default_decision":"reject","risk_level":"HIGH"`, "EVT-073",
		"/risk_level", "HIGH", func(e *aaep.Event) bool {
			return e.Payload.(*aaep.AwaitingConfirmation).RiskLevel == aaep.RiskHigh
		}},
	{"D-13", "awaiting.confirmation", confirmation + `,"default_decision":"reject","reversibility":"maybe"`, "EVT-073",
		"/reversibility", "maybe", func(e *aaep.Event) bool {
			return e.Payload.(*aaep.AwaitingConfirmation).IsIrreversible()
		}},

	// D-85, D-21: shown, flagged, and left as it is.
	{"D-85", "awaiting.confirmation", confirmation +
		`,"default_decision":"accept","irreversible":true,"risk_level":"medium"`, "EVT-072", "/default_decision", "",
		isAcceptable},
	{"D-85", "awaiting.confirmation", confirmation +
		`,"default_decision":"accept","reversibility":"irreversible","risk_level":"high"`, "EVT-072",
		"/default_decision", "", isAcceptable},
	{"D-85", "awaiting.confirmation", confirmation + `,"default_decision":"accept","irreversible":true`, "EVT-072",
		"/default_decision", "", isAcceptable},

	// D-05, D-06, D-07, D-08.
	{"ENV-008, D-05", "purple.flamingo", ``, "ENV-008", "/type", "", nil},
	{"ENV-047, D-06", "session.started", `,"extensions":{"medai":{},"b":{}}`, "ENV-047", "/@context", "", nil},
	{"ENV-055, D-07", "session.started", `,"custom_field":{"a":[1]}`, "ENV-055", "/custom_field", "", nil},
	{"ENV-052, D-08", "session.started", `,"aaep_foo":1`, "ENV-052", "/aaep_foo", "", nil},
	{"ENV-053", "session.started", `,"@graph":[]`, "ENV-053", "/@graph", "", nil},
	{"EXT-002, D-07", "session.started", `,"ext_medical_hipaa.audit_metadata":{}`, "ENV-055",
		"/ext_medical_hipaa.audit_metadata", "", nil},
	{"D-07", "output.streaming", `,"chunk":"a","position":0,"complete":true,"summary_normal_yo":"a"`, "ENV-055",
		"/summary_normal_yo", "", nil},
	{"D-73", "session.started", `,"summary_normal_yo-NG":"a"`, "ENV-055", "/summary_normal_yo-NG", "yo-NG", nil},
}

// hasCategory returns a check of the category of an error.
func hasCategory(want aaep.ErrorCategory) func(*aaep.Event) bool {
	return func(e *aaep.Event) bool { return e.Payload.(*aaep.SessionErrored).ErrorCategory == want }
}

// hasProgress returns a check of the progress; a negative percent or eta is none.
func hasProgress(percent float64, step int64, description string, eta int64) func(*aaep.Event) bool {
	return func(e *aaep.Event) bool {
		p := e.Payload.(*aaep.ProgressUpdated)
		return (p.Progress.Percent == nil && percent < 0 || p.Progress.Percent != nil &&
			*p.Progress.Percent == percent) &&
			p.Progress.Step == step && p.Progress.TotalSteps == 0 && p.Progress.Description == description &&
			(p.ETAMS == nil && eta < 0 || p.ETAMS != nil && *p.ETAMS == eta)
	}
}

// hasKinds returns a check of the kinds of answers, and of the values of the choices with commas
// between.
func hasKinds(values string, want ...aaep.ResponseKind) func(*aaep.Event) bool {
	return func(e *aaep.Event) bool {
		p := e.Payload.(*aaep.AwaitingClarification)
		var got []string
		for _, c := range p.Choices {
			got = append(got, c.Value)
		}
		return slices.Equal(p.AcceptedResponseKinds, want) && strings.Join(got, ",") == values
	}
}

// hasHandoff returns a check of who is to take over, and of the summary for that.
func hasHandoff(kind aaep.TargetKind, target, summary string) func(*aaep.Event) bool {
	return func(e *aaep.Event) bool {
		p := e.Payload.(*aaep.HandoffRequested)
		return p.TargetKind == kind && p.Target == target && p.ContextSummary == summary && p.UrgencyForHandoff == ""
	}
}

// isAcceptable reports whether silence accepts the action.
func isAcceptable(e *aaep.Event) bool {
	return e.Payload.(*aaep.AwaitingConfirmation).DefaultDecision == aaep.Accept
}

// What peers send beside the schema is read as they mean it, and told as a diagnostic.
func TestDecodeReadsWhatPeersSend(t *testing.T) {
	for _, c := range departures {
		e := decodeEvent(t, publishedEvent("aaep:agent."+c.typ, c.members))
		if len(e.Diagnostics) != 1 {
			t.Errorf("%s: %s %s has the diagnostics %v, want one", c.about, c.typ, c.members, e.Diagnostics)
			continue
		}
		v := e.Diagnostics[0]
		if v.Requirement != c.requirement || v.Pointer != c.at || !strings.Contains(v.Problem, c.raw) {
			t.Errorf("%s: %s %s: diagnostic %q, want %s at %s with %q", c.about, c.typ, c.members, v, c.requirement,
				c.at, c.raw)
		}
		if c.want != nil && !c.want(e) {
			t.Errorf("%s: %s %s is read as %+v", c.about, c.typ, c.members, e.Payload)
		}
		if e.Text(aaep.VerbosityNormal) == "" {
			t.Errorf("%s: %s %s has nothing to say", c.about, c.typ, c.members)
		}
	}
}

// The envelope: D-03, D-09, D-13, D-17, D-18, D-72, D-73. ENV-021, ENV-044: members that may be
// missing.
func TestDecodeReadsEnvelopesLiberally(t *testing.T) {
	const started, failed, out = "aaep:agent.session.started", "aaep:agent.session.errored",
		"aaep:agent.output.streaming"
	whole := map[string]string{
		started: publishedEvent(started, ``), failed: publishedEvent(failed, `,"error_category":"unknown"`),
		out:       publishedEvent(out, `,"chunk":"a","position":0,"complete":true`),
		"medai:x": publishedEvent("medai:x", `,"pulse":60,"language":"go"`),
		"aaep:agent.handoff.requested": publishedEvent("aaep:agent.handoff.requested",
			`,"reason":"r","target_kind":"human"`),
		"aaep:agent.awaiting.clarification": publishedEvent("aaep:agent.awaiting.clarification",
			clarification+`,"accepted_response_kinds":["yes_no"]`),
		"aaep:agent.awaiting.confirmation": publishedEvent("aaep:agent.awaiting.confirmation",
			confirmation+`,"default_decision":"reject"`),
	}
	for _, c := range []struct {
		about, typ, from, to string
		diagnostics          string
		want                 func(*aaep.Event) bool
	}{
		{"nothing", started, ``, ``, ``, nil},
		{"nothing", "medai:x", ``, ``, ``, nil},
		{"nothing", out, ``, ``, ``, nil},
		{"seconds", started, "00.000Z", "00Z", ``, nil},
		{"microseconds", started, "00.000Z", "00.123456Z", ``,
			func(e *aaep.Event) bool { return e.Timestamp.Nanosecond() == 123456000 }},
		{"offset", started, "00.000Z", "00.000+02:00", ``, nil},
		{"D-09", started, "00.000Z", "00.12Z", `ENV-021 /timestamp`,
			func(e *aaep.Event) bool { return e.Timestamp.Nanosecond() == 12e7 }},
		{"D-09", started, "00.000Z", "00.123456789Z", `ENV-021 /timestamp`,
			func(e *aaep.Event) bool { return e.Timestamp.Nanosecond() == 123456789 }},
		{"D-09", started, "T09:30:00.000Z", "t09:30:00.000Z", `ENV-020 /timestamp`, nil},
		{"D-09", started, "00.000Z", "00.000z", `ENV-020 /timestamp`, nil},
		{"D-03", started, `"verbosity":"normal",`, ``, `D-03 `, func(e *aaep.Event) bool { return e.Verbosity == "" }},
		{"D-03", started, `"urgency":"normal",`, ``, `D-03 `,
			func(e *aaep.Event) bool { return e.Urgency == "" && !e.Critical() }},
		{"D-03", started, `"verbosity":"normal","urgency":"normal",`, ``, `D-03 `, func(e *aaep.Event) bool {
			return strings.Contains(e.Diagnostics[0].Problem, "verbosity and urgency")
		}},
		{"D-72", started, `"localization_hints":{"primary_language":"en"},`, ``,
			`I18N-001 /localization_hints/primary_language`, func(e *aaep.Event) bool { return e.Language() == "" }},
		{"D-72", out, `"primary_language":"en"`, `"text_direction":"rtl"`,
			`I18N-001 /localization_hints/primary_language`, nil},
		{"D-73", started, `"localization_hints":{"primary_language":"en"}`, `"language":"yo"`, `I18N-001 /language`,
			func(e *aaep.Event) bool { return e.Language() == "yo" }},
		{"D-73", "medai:x", `"localization_hints":{"primary_language":"en"},`, ``, `I18N-001 /language`,
			func(e *aaep.Event) bool { return e.Language() == "go" }},
		{"D-73", started, `"localization_hints":{"primary_language":"en"}`, `"language":"Yoruba, of course"`,
			`ENV-055 /language;I18N-001 /localization_hints/primary_language`, nil},
		{"ENV-031", started, `"verbosity":"normal"`, `"verbosity":"loud"`, `ENV-031 /verbosity`,
			func(e *aaep.Event) bool { return e.Verbosity == aaep.VerbosityNormal }},
		{"ENV-033", started, `"urgency":"normal"`, `"urgency":"low"`, `ENV-033 /urgency`,
			func(e *aaep.Event) bool { return e.Urgency == aaep.UrgencyNormal }},
		{"ENV-033", failed, `"urgency":"critical"`, `"urgency":"high"`, `ENV-033 /urgency`, isCritical},
		{"EVT-019, D-18", failed, `"urgency":"critical",`, ``, `EVT-019 /urgency`, isCritical},
		{"EVT-088, D-18", "aaep:agent.handoff.requested", `"urgency":"critical",`, ``, `EVT-088 /urgency`, isCritical},
		{"EVT-081, D-18", "aaep:agent.awaiting.clarification", `"urgency":"critical",`, ``, `EVT-081 /urgency`,
			isCritical},
		{"EVT-068, D-18", "aaep:agent.awaiting.confirmation", `"urgency":"critical"`, `"urgency":"background"`,
			`EVT-068 /urgency`, isCritical},
		{"D-13", started, `"en"`, `"en","text_direction":"left"`, `ENV-037 /localization_hints/text_direction`,
			func(e *aaep.Event) bool { return e.LocalizationHints.TextDirection == aaep.DirectionAuto }},
		{"D-17", started, `,"summary_normal":"Something happened."`, ``, `LVL-010 /summary_normal`,
			func(e *aaep.Event) bool { return e.Text("") == "The agent started." }},
		{"D-17", started, `Something happened.`, ``, `LVL-010 /summary_normal`, nil},
		{"ENV-053", "medai:x", `"pulse"`, `"@id"`, `ENV-053 /@id`, nil},
		{"ENV-052, D-08", "medai:x", `"pulse"`, `"aaep_pulse"`, `ENV-052 /aaep_pulse`, nil},
		{"EXT-012", "medai:x", `,"summary_normal":"Something happened."`, ``, ``, nil},
		{"I18N-001", "medai:x", `"localization_hints":{"primary_language":"en"},"summary_normal":"Something happened.","pulse":60,"language":"go"`, `"a":1`, ``, nil},
		{"ENV-006, D-04", started, "aaep:agent", "https://aaep-protocol.org/types/agent", ``, nil},
		{"D-05", "medai:x", "medai:x", "https://aaep-protocol.org/vocab/v1#agent.x", `ENV-008 /type`, nil},
		{"VER-011", started, `"verbosity"`, `"later_field":{"a":1},"verbosity"`, `ENV-055 /later_field`, nil},
	} {
		text := strings.Replace(whole[c.typ], c.from, c.to, 1)
		if c.from != c.to && text == whole[c.typ] {
			t.Fatalf("%s: %s is not in %s", c.about, c.from, text)
		}
		e := decodeEvent(t, text)
		var got []string
		for _, v := range e.Diagnostics {
			got = append(got, v.Requirement+" "+v.Pointer)
		}
		if strings.Join(got, ";") != c.diagnostics {
			t.Errorf("%s: %s\nhas the diagnostics %v, want %s", c.about, text, e.Diagnostics, c.diagnostics)
		}
		if c.want != nil && !c.want(e) {
			t.Errorf("%s: %s\nis read as %+v", c.about, text, e)
		}
	}
}

// isCritical reports whether e is stamped as critical.
func isCritical(e *aaep.Event) bool { return e.Urgency == aaep.UrgencyCritical }

// What Encode writes is read back without a diagnostic, whatever its type; and an irreversible
// action of low risk may default to accept, as far as others are concerned (D-33).
func TestCleanEventsHaveNoDiagnostics(t *testing.T) {
	for _, p := range allPayloads() {
		data, err := aaep.Encode(newEvent(p))
		if err != nil {
			t.Fatal(err)
		}
		if e := decodeEvent(t, string(data)); e.Diagnostics != nil {
			t.Errorf("%s: %v", data, e.Diagnostics)
		}
	}
	for _, members := range []string{`"irreversible":true,"risk_level":"low"`,
		`"irreversible":false,"risk_level":"high"`} {
		e := decodeEvent(t, publishedEvent("aaep:agent.awaiting.confirmation",
			confirmation+`,"default_decision":"accept",`+members))
		if e.Diagnostics != nil {
			t.Errorf("%s: %v", members, e.Diagnostics)
		}
	}
}

// Diagnostics are not on the wire, are safe to log, and their number does not grow with what a peer
// adds (INV-32).
func TestDiagnosticsStayHere(t *testing.T) {
	var more strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&more, `,"m%d":1`, i)
	}
	e := decodeEvent(t, publishedEvent("aaep:agent.session.started",
		more.String()+`,"rpl_SECRET":1,"x\n`+strings.Repeat("y", 5000)+`":1`))
	if n := len(e.Diagnostics); n != 33 || !strings.Contains(e.Diagnostics[32].Problem, "970 more") {
		t.Errorf("%d diagnostics, the last %v", n, e.Diagnostics[n-1])
	}
	e = decodeEvent(t, publishedEvent("aaep:agent.session.started",
		`,"rpl_SECRET":1,"x\n`+strings.Repeat("y", 5000)+`":1,"urg":"`+strings.Repeat("z", 5000)+`"`))
	for _, v := range e.Diagnostics {
		if s := v.String(); strings.Contains(s, "SECRET") || s != aaep.SafeText(s) || strings.ContainsAny(s, "\n") ||
			len(s) > 400 {
			t.Errorf("diagnostic %q", s)
		}
	}
	data, err := e.MarshalJSON()
	if err != nil || strings.Contains(string(data), "iagnostic") {
		t.Errorf("%s, %v", data, err)
	}
	e.Unknown, e.Timestamp = nil, time.Date(2026, 7, 1, 9, 30, 0, 0, time.UTC)
	if err := aaep.Validate(e); err != nil || len(e.Diagnostics) == 0 {
		t.Errorf("Validate looks at %v: %v", e.Diagnostics, err)
	}
	if _, err := aaep.Encode(e); err != nil {
		t.Error(err)
	}
}

// ENV-070: the five examples of §3.11. Of the first two no event is left to hang a diagnostic on.
func TestDecodeDetectsTheInvalidExamples(t *testing.T) {
	example := func(with string) string {
		return `{"@context":"https://aaep-protocol.org/context/v1","type":"aaep:agent.session.started","event_id":"evt_abc123","session_id":"sess_def456","timestamp":"2026-05-24T14:22:11.342Z","producer":{"agent_id":"test"}` + with + `}`
	}
	for section, c := range map[string]struct{ data, want string }{
		"3.11.1": {strings.Replace(example(""), `"event_id":"evt_abc123",`, "", 1), `member "event_id" is missing`},
		"3.11.2": {strings.Replace(example(""), "2026-05-24T14:22:11.342Z", "May 24, 2026 14:22:11", 1), `/timestamp`},
		"3.11.3": {strings.Replace(example(""), "session.started", "purple.flamingo", 1), `ENV-008`},
		"3.11.4": {example(`,"extensions":{"medai":{"patient_data_accessed":true}}`), `ENV-047`},
		"3.11.5": {example(`,"custom_field":"value"`), `ENV-055`},
	} {
		m, err := aaep.Decode([]byte(c.data))
		said := fmt.Sprint(err)
		if e, ok := m.(*aaep.Event); ok {
			said = fmt.Sprint(e.Diagnostics)
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("§%s: %s, want %s", section, said, c.want)
		}
	}
}
