package aaep

import (
	"log/slog"
	"slices"
)

// Version is the AAEP version this SDK speaks. It is written on every event and handshake message.
const Version = "1.0.0"

// CoreContext is the JSON-LD context every event names first (§3.2.1).
const CoreContext = "https://aaep-protocol.org/context/v1"

// Type is the type of an event in its compact form, such as "aaep:agent.tool.invoked" (§3.2.2).
// The set is open: extensions add types of their own.
type Type string

// LogValue returns the type in one line that is safe to log, for log/slog: a peer may have made it
// up.
func (t Type) LogValue() slog.Value {
	return slog.StringValue(oneLine(hideTokens(shortenName(string(t)))))
}

// The twelve core event types (chapter 4).
const (
	TypeSessionStarted        Type = "aaep:agent.session.started"
	TypeSessionCompleted      Type = "aaep:agent.session.completed"
	TypeSessionErrored        Type = "aaep:agent.session.errored"
	TypeSessionCancelled      Type = "aaep:agent.session.cancelled"
	TypeStateChanged          Type = "aaep:agent.state.changed"
	TypeProgressUpdated       Type = "aaep:agent.progress.updated"
	TypeToolInvoked           Type = "aaep:agent.tool.invoked"
	TypeToolCompleted         Type = "aaep:agent.tool.completed"
	TypeOutputStreaming       Type = "aaep:agent.output.streaming"
	TypeAwaitingConfirmation  Type = "aaep:agent.awaiting.confirmation"
	TypeAwaitingClarification Type = "aaep:agent.awaiting.clarification"
	TypeHandoffRequested      Type = "aaep:agent.handoff.requested"
)

// TypeLost is the type of an event that no agent sends: package subscriber hands it on among those
// of an agent, where events of that agent were lost or may have been, such as over a cut that was
// too long. Its summary says so in the user's language. Its member unreadable_question is true
// where a question came that cannot be read. It belongs to no session and is never on the wire.
const TypeLost Type = "aaep-go:events.lost"

// Critical reports whether every event of this type is critical, whatever its label says (§5.5.4).
func (t Type) Critical() bool {
	switch t {
	case TypeSessionErrored, TypeAwaitingConfirmation, TypeAwaitingClarification, TypeHandoffRequested:
		return true
	}
	return false
}

// Terminal reports whether an event of this type ends its session: completed, errored or cancelled
// (§4.5.1).
func (t Type) Terminal() bool {
	switch t {
	case TypeSessionCompleted, TypeSessionErrored, TypeSessionCancelled:
		return true
	}
	return false
}

// Urgency says how soon an event wants to be heard (§3.3.2).
type Urgency string

const (
	UrgencyBackground Urgency = "background"
	UrgencyNormal     Urgency = "normal"
	UrgencyCritical   Urgency = "critical"
)

// Verbosity chooses the wording of an event, never whether it is sent (§2.2.8).
type Verbosity string

const (
	VerbosityTerse    Verbosity = "terse"
	VerbosityNormal   Verbosity = "normal"
	VerbosityDetailed Verbosity = "detailed"
)

// State is what an agent is doing (§4.2.1). The set is open.
type State string

const (
	StateIdle          State = "idle"
	StateThinking      State = "thinking"
	StateDeciding      State = "deciding"
	StateCallingTool   State = "calling_tool"
	StateWritingOutput State = "writing_output"
	StateAwaitingInput State = "awaiting_input"
	StateHandingOff    State = "handing_off"
)

// Risk is how much harm an action can do (§4.3.1).
type Risk string

const (
	RiskLow    Risk = "low"
	RiskMedium Risk = "medium"
	RiskHigh   Risk = "high"
)

// Reversibility says whether an action can be undone (§4.4.1).
type Reversibility string

const (
	Reversible           Reversibility = "reversible"
	ReversibleWithEffort Reversibility = "reversible_with_effort"
	Irreversible         Reversibility = "irreversible"
)

// Decision is a user's answer to a confirmation (§6.3.1). The zero Decision is neither of the two:
// code that acts only on Accept can never act by mistake.
type Decision string

const (
	Accept Decision = "accept"
	Reject Decision = "reject"
)

// Boundary is a place where streamed output may be cut for a listener (§5.3.1.6).
type Boundary string

const (
	BoundaryNone       Boundary = "none"
	BoundaryWord       Boundary = "word"
	BoundarySentence   Boundary = "sentence"
	BoundaryParagraph  Boundary = "paragraph"
	BoundaryCompletion Boundary = "completion"
)

// Rank orders the boundaries: none is 0, word 1, sentence 2, paragraph 3, completion 4. An unknown
// one is 0 too.
func (b Boundary) Rank() int {
	return max(slices.Index([]Boundary{BoundaryNone, BoundaryWord, BoundarySentence, BoundaryParagraph,
		BoundaryCompletion}, b), 0)
}

// ToolStatus is how a tool call ended (§4.3.2).
type ToolStatus string

const (
	ToolSuccess ToolStatus = "success"
	ToolError   ToolStatus = "error"
	ToolTimeout ToolStatus = "timeout"
)

// ErrorCategory says what an error means for the user (§4.1.3).
type ErrorCategory string

const (
	ErrorTransient    ErrorCategory = "transient"
	ErrorPermanent    ErrorCategory = "permanent"
	ErrorRequiresUser ErrorCategory = "requires_user"
	ErrorUnknown      ErrorCategory = "unknown"
)

// CancelledBy names who ended a session early (§4.1.4).
type CancelledBy string

const (
	CancelledByUser     CancelledBy = "user"
	CancelledByProducer CancelledBy = "producer"
	CancelledByTimeout  CancelledBy = "timeout"
	CancelledBySystem   CancelledBy = "system"
)

// ResponseKind is a form in which a clarification may be answered (§6.5.2).
type ResponseKind string

const (
	ResponseFreetext       ResponseKind = "freetext"
	ResponseYesNo          ResponseKind = "yes_no"
	ResponseMultipleChoice ResponseKind = "multiple_choice"
	ResponseNumeric        ResponseKind = "numeric"
)

// TargetKind is who takes over in a handoff (§4.4.3).
type TargetKind string

const (
	TargetHuman           TargetKind = "human"
	TargetSpecialistAgent TargetKind = "specialist_agent"
	TargetEscalationQueue TargetKind = "escalation_queue"
)

// CognitiveLoad is how much a user wants to be told (§5.3.1.10).
type CognitiveLoad string

const (
	LoadLow    CognitiveLoad = "low"
	LoadMedium CognitiveLoad = "medium"
	LoadHigh   CognitiveLoad = "high"
)

// TextDirection is the writing direction of an event's text (§11.1.1).
type TextDirection string

const (
	DirectionLTR  TextDirection = "ltr"
	DirectionRTL  TextDirection = "rtl"
	DirectionAuto TextDirection = "auto"
)
