package aaep

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Durations are whole milliseconds, at most a day. A pointer is nil where the member is absent and
// zero would say something else.

// SessionStarted opens a session (§4.1.1).
type SessionStarted struct {
	ExpectedDurationMS *int64   `json:"expected_duration_ms,omitzero"`
	RequestedBy        string   `json:"requested_by,omitzero"`
	RequestText        string   `json:"request_text,omitzero"`
	ToolsAvailable     []string `json:"tools_available,omitzero"`
}

// SessionCompleted ends a session that reached its aim (§4.1.2).
type SessionCompleted struct {
	DurationMS           *int64 `json:"duration_ms,omitzero"`
	ToolInvocationsCount *int64 `json:"tool_invocations_count,omitzero"`
	OutputSummary        string `json:"output_summary,omitzero"`
	ResultURI            string `json:"result_uri,omitzero"`
}

// SessionErrored ends a session that failed (§4.1.3). It is critical.
type SessionErrored struct {
	ErrorCategory   ErrorCategory `json:"error_category"`
	ErrorCode       string        `json:"error_code,omitzero"`
	ErrorURI        string        `json:"error_uri,omitzero"`
	Recoverable     *bool         `json:"recoverable,omitzero"`
	RemediationHint string        `json:"remediation_hint,omitzero"`
}

// SessionCancelled ends a session that was stopped (§4.1.4).
type SessionCancelled struct {
	CancelledBy        CancelledBy `json:"cancelled_by"`
	CancellationReason string      `json:"cancellation_reason,omitzero"`
	PartialResult      string      `json:"partial_result,omitzero"`
}

// StateChanged says what the agent does now (§4.2.1).
type StateChanged struct {
	FromState          State  `json:"from_state"`
	ToState            State  `json:"to_state"`
	ExpectedDurationMS *int64 `json:"expected_duration_ms,omitzero"`
}

// ProgressUpdated tells how far the agent has come (§4.2.2).
type ProgressUpdated struct {
	Progress Progress `json:"progress"`
	ETAMS    *int64   `json:"eta_ms,omitzero"`
}

// Progress is how far an agent has come; at least one of its members is there.
type Progress struct {
	// Percent is from 0 to 100; nil is absent. The function Percent makes it of a number.
	Percent *float64 `json:"percent,omitzero"`
	// Step counts from 1 and is never above TotalSteps; zero is absent.
	Step        int64  `json:"step,omitzero"`
	TotalSteps  int64  `json:"total_steps,omitzero"`
	Description string `json:"description,omitzero"`
}

// Percent is Progress of so many percent, from 0 to 100.
func Percent(done float64) Progress { return Progress{Percent: &done} }

// ToolInvoked comes before a tool's side effect (§4.3.1).
type ToolInvoked struct {
	Tool               string `json:"tool"`
	ToolCallID         string `json:"tool_call_id,omitzero"`
	Description        string `json:"description,omitzero"`
	ArgsSummary        string `json:"args_summary,omitzero"`
	ExpectedDurationMS *int64 `json:"expected_duration_ms,omitzero"`
	RiskLevel          Risk   `json:"risk_level,omitzero"`
	Irreversible       *bool  `json:"irreversible,omitzero"`
}

// ToolCompleted comes once after every ToolInvoked (§4.3.2).
type ToolCompleted struct {
	Tool         string     `json:"tool"`
	ToolCallID   string     `json:"tool_call_id,omitzero"`
	Status       ToolStatus `json:"status"`
	DurationMS   *int64     `json:"duration_ms,omitzero"`
	ErrorMessage string     `json:"error_message,omitzero"`
}

// OutputStreaming carries a piece of the agent's answer (§4.3.3). It has no summary: the chunk is
// what is heard.
type OutputStreaming struct {
	Chunk string `json:"chunk"`
	// Position is where Chunk starts in its output, in Unicode code points.
	Position int64 `json:"position"`
	// Complete is true on exactly one chunk of an output, the last.
	Complete     bool     `json:"complete"`
	CoalesceHint Boundary `json:"coalesce_hint,omitzero"`
	OutputID     string   `json:"output_id,omitzero"`
	ContentType  string   `json:"content_type,omitzero"`
	Language     string   `json:"language,omitzero"`
}

// AwaitingConfirmation asks the user to allow an action, which waits (§4.4.1, chapter 6). It is
// critical.
type AwaitingConfirmation struct {
	Action         string     `json:"action"`
	Consequence    string     `json:"consequence"`
	ReplyToken     ReplyToken `json:"reply_token"`
	TimeoutSeconds int64      `json:"timeout_seconds"`
	// DefaultDecision is empty where the peer wrote neither accept nor reject: what silence does is
	// not known.
	DefaultDecision Decision      `json:"default_decision"`
	RiskLevel       Risk          `json:"risk_level,omitzero"`
	Irreversible    *bool         `json:"irreversible,omitzero"`
	Reversibility   Reversibility `json:"reversibility,omitzero"`
	AllowedReplies  []Decision    `json:"allowed_replies,omitzero"`
	// ExtraContext is an object. Ours holds the tool and the tool_call_id the confirmation is for;
	// see also Event.Within.
	ExtraContext json.RawMessage `json:"extra_context,omitzero"`
}

// IsIrreversible reports whether either field calls the action irreversible.
func (p *AwaitingConfirmation) IsIrreversible() bool {
	return p.Reversibility == Irreversible || p.Irreversible != nil && *p.Irreversible
}

// AwaitingClarification asks the user a question (§4.4.2). It is critical.
type AwaitingClarification struct {
	Question              string         `json:"question"`
	ReplyToken            ReplyToken     `json:"reply_token"`
	TimeoutSeconds        int64          `json:"timeout_seconds"`
	AcceptedResponseKinds []ResponseKind `json:"accepted_response_kinds,omitzero"`
	Choices               []Choice       `json:"choices,omitzero"`
	Context               string         `json:"context,omitzero"`
	// DefaultResponse is a choice's value, "true" or "false", a decimal number, or text.
	DefaultResponse string `json:"default_response,omitzero"`
}

// Choice is one answer offered by a clarification.
type Choice struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// HandoffRequested asks a person or another agent to take over (§4.4.3). It is critical.
type HandoffRequested struct {
	Reason string `json:"reason"`
	// TargetKind is empty where the peer did not say it in AAEP's words.
	TargetKind        TargetKind      `json:"target_kind"`
	TargetURI         string          `json:"target_uri,omitzero"`
	PackagedContext   json.RawMessage `json:"packaged_context,omitzero"`
	UrgencyForHandoff Risk            `json:"urgency_for_handoff,omitzero"`

	// Target and ContextSummary are what published producers write in handoff_target and
	// context_summary: the name of who takes over, and what they should know. They are read, never
	// written.
	Target         string `json:"-"`
	ContextSummary string `json:"-"`
}

// ExtensionPayload is the payload of every event type this SDK does not know, kept whole. What it
// holds beside the envelope is in Event.Unknown; Event.ReadExtension reads it where it is of the
// version that is expected.
type ExtensionPayload struct{ Type Type }

func (*SessionStarted) EventType() Type        { return TypeSessionStarted }
func (*SessionCompleted) EventType() Type      { return TypeSessionCompleted }
func (*SessionErrored) EventType() Type        { return TypeSessionErrored }
func (*SessionCancelled) EventType() Type      { return TypeSessionCancelled }
func (*StateChanged) EventType() Type          { return TypeStateChanged }
func (*ProgressUpdated) EventType() Type       { return TypeProgressUpdated }
func (*ToolInvoked) EventType() Type           { return TypeToolInvoked }
func (*ToolCompleted) EventType() Type         { return TypeToolCompleted }
func (*OutputStreaming) EventType() Type       { return TypeOutputStreaming }
func (*AwaitingConfirmation) EventType() Type  { return TypeAwaitingConfirmation }
func (*AwaitingClarification) EventType() Type { return TypeAwaitingClarification }
func (*HandoffRequested) EventType() Type      { return TypeHandoffRequested }

// EventType returns the type that the payload was made with; "" for a nil payload.
func (p *ExtensionPayload) EventType() Type {
	if p == nil {
		return ""
	}
	return p.Type
}

func (*SessionStarted) isPayload()        {}
func (*SessionCompleted) isPayload()      {}
func (*SessionErrored) isPayload()        {}
func (*SessionCancelled) isPayload()      {}
func (*StateChanged) isPayload()          {}
func (*ProgressUpdated) isPayload()       {}
func (*ToolInvoked) isPayload()           {}
func (*ToolCompleted) isPayload()         {}
func (*OutputStreaming) isPayload()       {}
func (*AwaitingConfirmation) isPayload()  {}
func (*AwaitingClarification) isPayload() {}
func (*HandoffRequested) isPayload()      {}
func (*ExtensionPayload) isPayload()      {}

// fallbackText returns what a person hears when an event came without a summary; Event.Text calls
// it. So do its namesakes below for the other payloads.
func (*SessionStarted) fallbackText() string   { return "The agent started." }
func (*SessionCompleted) fallbackText() string { return "The agent finished." }
func (p *SessionErrored) fallbackText() string {
	return "The agent failed: " + spaceOut(string(p.ErrorCategory)) + "."
}
func (p *SessionCancelled) fallbackText() string {
	return "Cancelled by " + string(p.CancelledBy) + "."
}
func (p *StateChanged) fallbackText() string {
	return "The agent is now: " + spaceOut(string(p.ToState)) + "."
}

// fallbackText returns what is said of progress without a summary: its description, its percentage
// to a tenth, or its step, in English.
func (p *ProgressUpdated) fallbackText() string {
	switch g := p.Progress; {
	case g.Description != "":
		return g.Description
	case g.Percent != nil: // as exact as a person wants to hear it
		return strconv.FormatFloat(math.Round(*g.Percent*10)/10, 'f', -1, 64) + " percent."
	case g.Step > 0 && g.TotalSteps > 0:
		return "Step " + strconv.FormatInt(g.Step, 10) + " of " + strconv.FormatInt(g.TotalSteps, 10) + "."
	}
	return "The agent made progress."
}
func (p *ToolInvoked) fallbackText() string { return "Using the tool " + spaceOut(p.Tool) + "." }
func (p *ToolCompleted) fallbackText() string {
	return strings.TrimSpace(spaceOut(p.Tool) + ": " + string(p.Status) + ". " + p.ErrorMessage)
}
func (p *OutputStreaming) fallbackText() string       { return p.Chunk }
func (p *AwaitingConfirmation) fallbackText() string  { return p.Action + " " + p.Consequence }
func (p *AwaitingClarification) fallbackText() string { return p.Question }
func (p *HandoffRequested) fallbackText() string {
	return "Handing over to " + spaceOut(cmp.Or(p.Target, string(p.TargetKind), "somebody else")) + ": " + p.Reason
}
