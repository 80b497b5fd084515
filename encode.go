package aaep

import (
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Encode writes m after checking it: what Encode returns without an error has passed Validate. It
// is one line, with the members of an event in the recommended order (§3.6). The error is an
// *InvalidError.
func Encode(m Message) ([]byte, error) {
	if err := Validate(m); err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case *Event:
		return writeEvent(m)
	case *SubscriptionRequest:
		return marshalWire(typeRequest, &messageWire[SubscriptionRequest]{Type: typeRequest, Message: m})
	case *SubscriptionAccepted:
		return marshalWire(typeAccepted, &messageWire[SubscriptionAccepted]{Type: typeAccepted, Message: m})
	case *SubscriptionRejected:
		return marshalWire(typeRejected, &messageWire[SubscriptionRejected]{Type: typeRejected, Message: m})
	case *SubscriptionRenegotiate:
		return marshalWire(typeRenegotiate, &messageWire[SubscriptionRenegotiate]{Type: typeRenegotiate, Message: m})
	case *SubscriptionClose:
		return marshalWire(typeClose, &messageWire[SubscriptionClose]{Type: typeClose, Message: m})
	case *ConfirmationReply:
		return marshalWire(typeConfirmationReply,
			&messageWire[ConfirmationReply]{Type: typeConfirmationReply, Message: m})
	case *ClarificationReply:
		return marshalWire(typeClarificationReply,
			&messageWire[ClarificationReply]{Type: typeClarificationReply, Message: m})
	}
	panic("unreachable: Validate knows the messages")
}

// marshalWire turns the wire form of a message of type typ, which the error names, into JSON. The
// error is an *InvalidError.
func marshalWire(typ string, wire any) ([]byte, error) {
	data, err := jsonv2.Marshal(wire, writeOptions)
	if err != nil {
		return nil, wrapError(typ, err)
	}
	return data, nil
}

// MarshalJSON writes the event as it is, valid or not, unknown members included. Encode checks
// first.
func (e *Event) MarshalJSON() ([]byte, error) { return writeEvent(e) }

// UnmarshalJSON decodes an event as Decode does; another message of AAEP is an error. After an
// error e is as before.
func (e *Event) UnmarshalJSON(data []byte) error {
	m, err := Decode(data)
	if err != nil {
		return err
	}
	ev, ok := m.(*Event)
	if !ok {
		return fmt.Errorf("aaep: %s is not an event", m.MessageType())
	}
	*e = *ev
	return nil
}

var (
	_ json.Marshaler   = (*Event)(nil)
	_ json.Unmarshaler = (*Event)(nil)
)

// writeEvent writes an event as it is, valid or not. It fails where the event has no payload, or
// one that is not of this package, and where raw JSON in it is malformed.
func writeEvent(e *Event) ([]byte, error) {
	if e == nil || isNil(e.Payload) {
		return nil, &InvalidError{"event", []Violation{{"ENV-011", "/type", "has no payload, and so no type"}}}
	}
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
	case *ExtensionPayload:
		return writeExtension(e)
	}
	return nil, &InvalidError{"event", []Violation{{"ENV-011", "/type", notPayload}}}
}

// notPayload is what is wrong with a payload of a foreign type.
const notPayload = "has a payload that is not one of this package"

// writePayload encodes an event e with its core payload p, for writeEvent: the envelope, the
// payload's members, the extensions and the unknown members, in this order. The error is an
// *InvalidError.
func writePayload[P any](e *Event, p *P) ([]byte, error) {
	envelope, err := envelopeOf(e)
	if err != nil {
		return nil, wrapError(e.MessageType(), err)
	}
	return marshalWire(e.MessageType(), &eventWire[P]{envelope, p, e.Extensions, jsontext.Value(e.Unknown)})
}

// writeExtension encodes an event of a type that this package does not know, whose members are the
// extensions' and the unknown ones. The error is an *InvalidError.
func writeExtension(e *Event) ([]byte, error) {
	envelope, err := envelopeOf(e)
	if err != nil {
		return nil, wrapError(e.MessageType(), err)
	}
	return marshalWire(e.MessageType(), &extensionWire{envelope, e.Extensions, jsontext.Value(e.Unknown)})
}

var coreContext = jsontext.Value(`"` + CoreContext + `"`)

// envelopeOf returns the envelope of an event as it is written. An empty Context is written as the
// core context. The error is that of JSON.
func envelopeOf(e *Event) (w envelopeWire, err error) {
	context := coreContext
	if len(e.Context) > 1 || len(e.Context) == 1 && e.Context[0] != CoreContext {
		if context, err = jsonv2.Marshal(e.Context); err != nil {
			return w, err
		}
	}
	return envelopeWire{
		Context: context, AAEPVersion: e.AAEPVersion, Type: string(e.Type()), EventID: e.EventID,
		SessionID: e.SessionID, SequenceNumber: e.SequenceNumber, Timestamp: stamp{at: e.Timestamp},
		Producer: e.Producer, Verbosity: e.Verbosity, Urgency: e.Urgency,
		LocalizationHints: e.LocalizationHints, CorrelationID: e.CorrelationID, Summary: e.Summary,
	}, nil
}
