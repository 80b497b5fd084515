package aaep

import (
	"encoding/json"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The two other spellings of a core type (§2.2.7, the published JSON-LD context).
var typeBases = []string{"https://aaep-protocol.org/types/", "https://aaep-protocol.org/vocab/v1#"}

// CompactType returns a core type as it is written here, aaep:agent.output.streaming, where t is
// one of its other two spellings: the URI, or what JSON-LD makes of it (D-04). Any other type is
// returned as it is.
func CompactType(t string) Type {
	for _, base := range typeBases {
		if rest, ok := strings.CutPrefix(t, base); ok {
			return Type("aaep:" + rest)
		}
	}
	return Type(t)
}

// compactFilters rewrites the event filters of a request or a renegotiation in place: their
// patterns become compact, as the types of events are, so that EventFilters.Match finds them. Other
// messages have no filters and are left alone.
func compactFilters(m Message) {
	var f *EventFilters
	switch m := m.(type) {
	case *SubscriptionRequest:
		f = m.Capabilities.EventFilters
	case *SubscriptionRenegotiate:
		f = m.Capabilities.EventFilters
	}
	if f == nil {
		return
	}
	for _, patterns := range [][]string{f.Include, f.Exclude} {
		for i, p := range patterns {
			patterns[i] = string(CompactType(p))
		}
	}
}

// envelopeWire is the envelope in the recommended member order (§3.6), in which the payload and
// then the extensions follow.
type envelopeWire struct {
	Context           jsontext.Value     `json:"@context"`
	AAEPVersion       string             `json:"aaep_version,omitzero"`
	Type              string             `json:"type"`
	EventID           string             `json:"event_id"`
	SessionID         string             `json:"session_id"`
	SequenceNumber    *int64             `json:"sequence_number,omitzero"`
	Timestamp         stamp              `json:"timestamp"`
	Producer          Agent              `json:"producer"`
	Verbosity         Verbosity          `json:"verbosity,omitzero"`
	Urgency           Urgency            `json:"urgency,omitzero"`
	LocalizationHints *LocalizationHints `json:"localization_hints,omitzero"`
	CorrelationID     string             `json:"correlation_id,omitzero"`
	Summary           Text               `json:",embed"`
}

// envelopeMembers are the names that every event takes for its envelope.
var envelopeMembers = memberNames[extensionWire]()

// eventWire is an event with the core payload P as it is written.
type eventWire[P any] struct {
	envelopeWire
	Payload    *P                         `json:",embed"`
	Extensions map[string]json.RawMessage `json:"extensions,omitzero"`
	Unknown    jsontext.Value             `json:",embed"`
}

// extensionWire is an event of a type we do not know: all its own members are unknown.
type extensionWire struct {
	envelopeWire
	Extensions map[string]json.RawMessage `json:"extensions,omitzero"`
	Unknown    jsontext.Value             `json:",embed"`
}

// readEvent decodes an event of a core type, whose payload is an M, and P is *M. toEvent makes safe
// what the protocol does not know. It is the read function of those types; the error is an
// *InvalidError.
func readEvent[M any, P interface {
	*M
	Payload
}](data []byte, options jsonv2.Options) (Message, error) {
	w := eventWire[M]{Payload: new(M)}
	p := P(w.Payload)
	if err := jsonv2.Unmarshal(data, &w, options); err != nil {
		return nil, wrapError(string(p.EventType()), err)
	}
	return w.toEvent(p, w.Extensions, w.Unknown)
}

// readExtension decodes an event of any type but the core ones, with its payload kept as raw JSON;
// it is the function of extensionReader. The error is an *InvalidError.
func readExtension(data []byte, options jsonv2.Options) (Message, error) {
	var w extensionWire
	if err := jsonv2.Unmarshal(data, &w, options); err != nil {
		return nil, wrapError("event", err)
	}
	return w.toEvent(&ExtensionPayload{Type: Type(w.Type)}, w.Extensions, w.Unknown)
}

// toEvent makes an Event of the envelope and of what came with it: the payload, the extensions and
// an object of unknown members. It refuses wrong identifiers and a wrong context as an
// *InvalidError; what else departs from the protocol is read liberally and noted in
// Event.Diagnostics.
func (w *envelopeWire) toEvent(p Payload, extensions map[string]json.RawMessage, unknown jsontext.Value) (Message,
	error) {
	var c checker
	e := &Event{
		AAEPVersion: w.AAEPVersion, EventID: w.EventID, SessionID: w.SessionID, SequenceNumber: w.SequenceNumber,
		Timestamp: w.Timestamp.at, Producer: w.Producer, Verbosity: w.Verbosity, Urgency: w.Urgency,
		LocalizationHints: w.LocalizationHints, CorrelationID: w.CorrelationID, Extensions: extensions,
		Summary: w.Summary, Payload: p, Unknown: json.RawMessage(unknown),
	}
	e.Context = readContext(&c, w.Context)
	c.checkID("ENV-012", "/event_id", e.EventID, "evt_")
	c.checkID("ENV-017", "/session_id", e.SessionID, "sess_")
	if e.Producer.AgentID == "" {
		c.addViolation("ENV-024", "/producer/agent_id", "must be a non-empty string")
	}
	switch p := p.(type) {
	case *AwaitingConfirmation:
		c.checkID("CONF-007", "/reply_token", string(p.ReplyToken), "rpl_")
	case *AwaitingClarification:
		c.checkID("CONF-007", "/reply_token", string(p.ReplyToken), "rpl_")
	}
	if err := c.asError(string(p.EventType())); err != nil {
		return nil, err
	}
	readLiberally(&c, e, w.Timestamp)
	e.Diagnostics = c.found
	return e, nil
}

// readContext reads "@context", the core context alone or first in an array of strings (§3.2.1),
// and adds a violation to c if it is anything else.
func readContext(c *checker, v jsontext.Value) []string {
	var list []string
	if string(v) == string(coreContext) {
		list = []string{CoreContext}
	} else if v.Kind() == '"' {
		list = make([]string, 1)
		if jsonv2.Unmarshal(v, &list[0]) != nil {
			list = nil
		}
	} else if jsonv2.Unmarshal(v, &list) != nil {
		list = nil
	}
	if len(list) == 0 || list[0] != CoreContext {
		c.addViolation("ENV-002", "/@context", "must be %q, or an array of strings that starts with it", CoreContext)
	}
	return list
}
