package aaep

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The two other spellings of a core type (§2.2.7, the published JSON-LD context). We read all three
// and write the compact one.
var typeBases = []string{"https://aaep-protocol.org/types/", "https://aaep-protocol.org/vocab/v1#"}

func compactType(t string) Type {
	for _, base := range typeBases {
		if rest, ok := strings.CutPrefix(t, base); ok {
			return Type("aaep:" + rest)
		}
	}
	return Type(t)
}

// envelopeWire is the envelope in the recommended member order (§3.6).
type envelopeWire struct {
	Context           jsontext.Value             `json:"@context"`
	AAEPVersion       string                     `json:"aaep_version,omitzero"`
	Type              string                     `json:"type"`
	EventID           string                     `json:"event_id"`
	SessionID         string                     `json:"session_id"`
	SequenceNumber    *int64                     `json:"sequence_number,omitzero"`
	Timestamp         time.Time                  `json:"timestamp"`
	Producer          Producer                   `json:"producer"`
	Verbosity         Verbosity                  `json:"verbosity,omitzero"`
	Urgency           Urgency                    `json:"urgency,omitzero"`
	LocalizationHints *LocalizationHints         `json:"localization_hints,omitzero"`
	CorrelationID     string                     `json:"correlation_id,omitzero"`
	Extensions        map[string]json.RawMessage `json:"extensions,omitzero"`
	Summary           Text                       `json:",embed"`
}

type eventWire[P any] struct {
	envelopeWire
	Payload *P             `json:",embed"`
	Unknown jsontext.Value `json:",embed"`
}

// noPayload stands for a type we do not know: all its members are unknown.
type noPayload struct {
	_ struct{}
}

var envelopeRequired = []string{"@context", "event_id", "session_id", "timestamp", "producer"}

func requiredOf(t Type) ([]string, func([]byte) (Message, error)) {
	with := func(names ...string) []string { return append(names, envelopeRequired...) }
	switch t {
	case TypeSessionStarted:
		return with(), readEvent[SessionStarted]
	case TypeSessionCompleted:
		return with(), readEvent[SessionCompleted]
	case TypeSessionErrored:
		return with("error_category"), readEvent[SessionErrored]
	case TypeSessionCancelled:
		return with("cancelled_by"), readEvent[SessionCancelled]
	case TypeStateChanged:
		return with("from_state", "to_state"), readEvent[StateChanged]
	case TypeProgressUpdated:
		return with("progress"), readEvent[ProgressUpdated]
	case TypeToolInvoked:
		return with("tool"), readEvent[ToolInvoked]
	case TypeToolCompleted:
		return with("tool", "status"), readEvent[ToolCompleted]
	case TypeOutputStreaming:
		return with("chunk", "position", "complete"), readEvent[OutputStreaming]
	case TypeAwaitingConfirmation:
		return with("action", "consequence", "reply_token", "timeout_seconds", "default_decision"), readEvent[AwaitingConfirmation]
	case TypeAwaitingClarification:
		return with("question", "reply_token", "timeout_seconds"), readEvent[AwaitingClarification]
	case TypeHandoffRequested:
		return with("reason"), readEvent[HandoffRequested]
	}
	return envelopeRequired, readExtension
}

func readEvent[M any, P interface {
	*M
	Payload
}](data []byte) (Message, error) {
	w := eventWire[M]{Payload: new(M)}
	p := P(w.Payload)
	if err := jsonv2.Unmarshal(data, &w, readOptions); err != nil {
		return nil, invalid(string(p.EventType()), err)
	}
	return w.event(p, w.Unknown)
}

func readExtension(data []byte) (Message, error) {
	var w struct {
		envelopeWire
		Unknown jsontext.Value `json:",embed"`
	}
	if err := jsonv2.Unmarshal(data, &w, readOptions); err != nil {
		return nil, invalid("event", err)
	}
	return w.event(&Extension{Type: Type(w.Type)}, w.Unknown)
}

func (w *envelopeWire) event(p Payload, unknown jsontext.Value) (Message, error) {
	var c checker
	e := &Event{
		AAEPVersion: w.AAEPVersion, EventID: w.EventID, SessionID: w.SessionID, SequenceNumber: w.SequenceNumber,
		Timestamp: w.Timestamp, Producer: w.Producer, Verbosity: w.Verbosity, Urgency: w.Urgency,
		LocalizationHints: w.LocalizationHints, CorrelationID: w.CorrelationID, Extensions: w.Extensions,
		Summary: w.Summary, Payload: p, Unknown: json.RawMessage(unknown),
	}
	e.Context = readContext(&c, w.Context)
	c.id("ENV-012", "/event_id", e.EventID, "evt_")
	c.id("ENV-017", "/session_id", e.SessionID, "sess_")
	if e.Producer.AgentID == "" {
		c.fail("ENV-024", "/producer/agent_id", "must be a non-empty string")
	}
	switch p := p.(type) {
	case *AwaitingConfirmation:
		c.id("CONF-007", "/reply_token", string(p.ReplyToken), "rpl_")
	case *AwaitingClarification:
		c.id("CONF-007", "/reply_token", string(p.ReplyToken), "rpl_")
	}
	if err := c.err(string(p.EventType())); err != nil {
		return nil, err
	}
	return e, nil
}

// readContext reads "@context": the core context, alone or first in an array of strings (§3.2.1).
func readContext(c *checker, v jsontext.Value) []string {
	var list []string
	if v.Kind() == '"' {
		list = make([]string, 1)
		if jsonv2.Unmarshal(v, &list[0]) != nil {
			list = nil
		}
	} else if jsonv2.Unmarshal(v, &list) != nil {
		list = nil
	}
	if len(list) == 0 || list[0] != CoreContext {
		c.fail("ENV-002", "/@context", "must be %q, or an array of strings that starts with it", CoreContext)
	}
	return list
}

func writeEvent(e *Event) ([]byte, error) {
	switch p := e.Payload.(type) {
	case *SessionStarted:
		return writePayload(e, p)
	case *SessionCompleted:
		return writePayload(e, p)
	case *SessionErrored:
		return writePayload(e, p)
	case *SessionCancelled:
		return writePayload(e, p)
	case *StateChanged:
		return writePayload(e, p)
	case *ProgressUpdated:
		return writePayload(e, p)
	case *ToolInvoked:
		return writePayload(e, p)
	case *ToolCompleted:
		return writePayload(e, p)
	case *OutputStreaming:
		return writePayload(e, p)
	case *AwaitingConfirmation:
		return writePayload(e, p)
	case *AwaitingClarification:
		return writePayload(e, p)
	case *HandoffRequested:
		return writePayload(e, p)
	case *Extension:
		return jsonv2.Marshal(&struct {
			envelopeWire
			Unknown jsontext.Value `json:",embed"`
		}{envelopeOf(e), jsontext.Value(e.Unknown)}, writeOptions)
	}
	return nil, &InvalidError{"event", []Violation{{"ENV-011", "", "has no payload"}}}
}

func writePayload[P any](e *Event, p *P) ([]byte, error) {
	return jsonv2.Marshal(&eventWire[P]{envelopeOf(e), p, jsontext.Value(e.Unknown)}, writeOptions)
}

var coreContext = jsontext.Value(`"` + CoreContext + `"`)

func envelopeOf(e *Event) envelopeWire {
	context := coreContext
	if len(e.Context) > 1 || len(e.Context) == 1 && e.Context[0] != CoreContext {
		context, _ = jsonv2.Marshal(e.Context)
	}
	return envelopeWire{
		Context: context, AAEPVersion: e.AAEPVersion, Type: string(e.Type()), EventID: e.EventID, SessionID: e.SessionID,
		SequenceNumber: e.SequenceNumber, Timestamp: e.Timestamp, Producer: e.Producer, Verbosity: e.Verbosity,
		Urgency: e.Urgency, LocalizationHints: e.LocalizationHints, CorrelationID: e.CorrelationID,
		Extensions: e.Extensions, Summary: e.Summary,
	}
}

var (
	errNotInteger = errors.New("must be an integer")
	errZero       = errors.New("must be at least 1")
	errNotTime    = errors.New("must be an RFC 3339 date-time such as 2026-05-24T14:22:20.014Z")
	errNull       = errors.New("must not be null; leave the member out instead")
	errSkip       = errors.ErrUnsupported
)

// readOptions: integers may be written 300.0 (JSON Schema calls that an integer), times follow RFC
// 3339 with any fraction, and null is never a value.
var readOptions = jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *int64) error {
		if d.PeekKind() != '0' {
			return errNotInteger
		}
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		n, ok := parseInteger(t.String())
		if !ok {
			return errNotInteger
		}
		// Absent, these two mean "no limit" and "unknown", which zero must not.
		if name := d.StackPointer().LastToken(); n == 0 && (name == "max_events_per_second" || name == "pace_wpm") {
			return errZero
		}
		*v = n
		return nil
	}),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *time.Time) error {
		if d.PeekKind() != '"' {
			return errNotTime
		}
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		parsed, ok := ParseTimestamp(t.String())
		if !ok {
			return errNotTime
		}
		*v = parsed
		return nil
	}),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v any) error {
		if d.PeekKind() == 'n' {
			return errNull
		}
		return errSkip
	}),
))

var writeOptions = jsonv2.JoinOptions(jsonv2.Deterministic(true), jsonv2.WithMarshalers(
	jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, t time.Time) error {
		return enc.WriteToken(jsontext.String(FormatTimestamp(t)))
	})))

func parseInteger(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// FormatTimestamp writes t the way AAEP wants it: UTC, with milliseconds, or with microseconds where
// t has them (§3.2.5).
func FormatTimestamp(t time.Time) string {
	if t.Nanosecond()%int(time.Millisecond) >= int(time.Microsecond) {
		return t.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// ParseTimestamp reads an RFC 3339 date-time with any fraction, in lower case too, and takes a leap second
// for the moment it ends.
func ParseTimestamp(s string) (t time.Time, ok bool) {
	s = strings.ToUpper(s)
	leap := len(s) > 19 && s[16:19] == ":60"
	if leap {
		s = s[:16] + ":59" + s[19:]
	}
	// Go's parser also takes a comma, and the T and Z it knows are upper case.
	if strings.Contains(s, ",") {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, false
	}
	if leap {
		t = t.Truncate(time.Second).Add(time.Second)
	}
	return t, true
}
