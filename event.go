package aaep

import (
	"encoding/json"
	"strings"
	"time"
)

// Event is one thing an agent did, is doing, or needs from its user (chapters 3 and 4). The
// envelope is read without looking at the payload; the payload is one of the twelve core payloads,
// or *ExtensionPayload for every other type.
//
// An Event is a value to be shared: once handed to a producer or received from a subscription it
// must not be changed.
type Event struct {
	// Context names the JSON-LD contexts, the core context first. Empty on a new event: Encode
	// writes the core context.
	Context []string
	// AAEPVersion is the version of the protocol, empty if the peer left it out.
	AAEPVersion string
	// EventID is "evt_" and letters or digits; it never repeats within a producer (§3.2.3).
	EventID   string
	SessionID string
	// SequenceNumber is nil unless events are numbered (§3.4.1).
	SequenceNumber *int64
	// Timestamp is when the event was created; it is written in UTC with milliseconds, or with
	// microseconds where it has them.
	Timestamp time.Time
	Producer  Agent
	Verbosity Verbosity
	// Urgency is empty if the peer left it out, which counts as normal. Decode makes all events of
	// the four critical types critical, and Event.Critical knows these types too.
	Urgency           Urgency
	LocalizationHints *LocalizationHints
	CorrelationID     string
	// Extensions holds one object per extension prefix (§3.4.3). Context names their vocabularies.
	Extensions map[string]json.RawMessage
	// Summary is what a person hears of this event. Output events have none.
	Summary Text
	Payload Payload
	// Translations are the same event in other languages. A producer gives each listener its own,
	// so they are never on the wire; a peer may send summaries in others as members such as
	// "summary_normal_yo_ng", which Decode reads into them where the summary is all that is told
	// (§11.5.1).
	Translations []Translation
	// Unknown is an object with the members this SDK does not know, or nil. Encode takes only the
	// summary in other languages, such as "summary_normal_yo", and on an *ExtensionPayload the
	// payload of the extension.
	Unknown json.RawMessage
	// Diagnostics is what Decode read liberally: one entry for each way in which the peer departed
	// from the protocol, with its own spelling of what was mapped; nil for an event that departs in
	// nothing. Fields hold what was understood. It is never on the wire, and Encode and Validate do
	// not look at it.
	Diagnostics []Violation
	// Within is the id of the tool call that a confirmation is part of, where its agent announced
	// the call, then asked, and never says that it waits (D-22). Package subscriber knows it from
	// what came before; it is never on the wire.
	Within string
}

// Translation is what of an event depends on the language.
type Translation struct {
	LocalizationHints *LocalizationHints
	Summary           Text
	// Payload is nil where it has no words in it.
	Payload Payload
}

// Language returns the tag of the language it is in, or "" if it does not say.
func (t Translation) Language() string {
	if t.LocalizationHints == nil {
		return ""
	}
	return t.LocalizationHints.PrimaryLanguage
}

// In returns a copy of the event in the words of one of its translations, without the others. Where
// t has no payload, the copy keeps the event's.
func (e *Event) In(t Translation) *Event {
	in := *e
	in.LocalizationHints, in.Summary, in.Translations = t.LocalizationHints, t.Summary, nil
	if t.Payload != nil {
		in.Payload = t.Payload
	}
	return &in
}

// Payload is the half of an event that depends on its type. It is implemented by pointers to the
// twelve core payloads and by *ExtensionPayload.
type Payload interface {
	EventType() Type
	// isPayload keeps types of other packages from being payloads.
	isPayload()
}

// Type returns the event's type in compact form, or "" if it has no payload.
func (e *Event) Type() Type {
	if isNil(e.Payload) {
		return ""
	}
	return e.Payload.EventType()
}

// Critical reports whether the event is exempt from filters, rates and merging: it says so, or it
// is of one of the four critical types (§5.5.4).
func (e *Event) Critical() bool { return e.Urgency == UrgencyCritical || e.Type().Critical() }

// Language returns the tag of the language the event's text is in, or "" if it does not say.
func (e *Event) Language() string {
	if p, ok := e.Payload.(*OutputStreaming); ok && p != nil && p.Language != "" {
		return p.Language
	}
	if e.LocalizationHints != nil {
		return e.LocalizationHints.PrimaryLanguage
	}
	return ""
}

// Text returns what a person should hear of the event at verbosity v: the summary for it, else the
// nearest other summary, else words made from the payload (§4, §9.3.1). The chunk of an output
// event is its text. The result is as the producer wrote it; see SafeText before showing it.
func (e *Event) Text(v Verbosity) string {
	if s := e.Summary.At(v); s != "" {
		return s
	}
	if p, ok := e.Payload.(interface{ fallbackText() string }); ok && !isNil(p) {
		return p.fallbackText()
	}
	return string(e.Type())
}

// Utterance is Text as a voice may say it and a screen may show it: see SafeText. It is false where
// there is nothing to say, as in the event that ends an output whose text has all been told; some
// voices say "blank" of that.
func (e *Event) Utterance(v Verbosity) (text string, ok bool) {
	text = SafeTextIn(e.Text(v), e.Language())
	return text, strings.TrimSpace(text) != ""
}

// Agent identifies an agent (§3.2.6).
type Agent struct {
	// AgentID is stable across versions and unique in its deployment.
	AgentID      string `json:"agent_id"`
	AgentVersion string `json:"agent_version,omitzero"`
	AgentName    string `json:"agent_name,omitzero"`
	Model        string `json:"model,omitzero"`
	ManifestURI  string `json:"manifest_uri,omitzero"`
}

// LocalizationHints describes the language of an event's text (§3.3.3, chapter 11).
type LocalizationHints struct {
	PrimaryLanguage    string        `json:"primary_language,omitzero"`
	TextDirection      TextDirection `json:"text_direction,omitzero"`
	AvailableLanguages []string      `json:"available_languages,omitzero"`
	FallbackChain      []string      `json:"fallback_chain,omitzero"`
	Script             string        `json:"script,omitzero"`
	Calendar           string        `json:"calendar,omitzero"`
}
