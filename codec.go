package aaep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep a message may nest. The protocol asks for 8 (§3.7).
const maxDepth = 64

// Decode reads one message: an *Event or one of the handshake and reply messages.
//
// It reads exactly: member names match letter for letter, a repeated name, invalid UTF-8, an unpaired
// surrogate, a byte order mark or anything after the message is an error. Events are read liberally
// beyond that: unknown types, members and enum values are kept (§3.9, §12.6). Messages that ask for
// something are read strictly: a null, or a name that differs from a known one only in case, is an
// error, and so is every unknown member of a reply. The error is an *InvalidError.
//
// Decode does not limit the length of data; transports do. It keeps no reference to data.
func Decode(data []byte) (Message, error) {
	typ, members, err := scan(data)
	if err != nil {
		return nil, err
	}
	var required []string
	var read func([]byte) (Message, error)
	switch typ {
	case typeRequest:
		required, read = []string{"aaep_version", "subscriber_id", "capabilities"}, readMessage[SubscriptionRequest]
	case typeAccepted:
		required, read = []string{"subscription_id", "aaep_version", "producer", "honored_capabilities"}, readMessage[SubscriptionAccepted]
	case typeRejected:
		required, read = []string{"reason_code"}, readMessage[SubscriptionRejected]
	case typeRenegotiate:
		required, read = []string{"subscription_id", "capabilities"}, readMessage[SubscriptionRenegotiate]
	case typeClose:
		required, read = []string{"subscription_id"}, readMessage[SubscriptionClose]
	case typeConfirmationReply:
		required, read = []string{"reply_token", "decision", "subscription_id", "timestamp"}, readMessage[ConfirmationReply]
	case typeClarificationReply:
		required, read = []string{"reply_token", "response", "subscription_id", "timestamp"}, readMessage[ClarificationReply]
	default:
		required, read = requiredOf(compactType(typ))
	}
	if err := checkMembers(typ, members, required); err != nil {
		return nil, err
	}
	return read(data)
}

// Encode writes m after checking it: what Encode returns without an error is valid under the prose
// and the published schemas. The error is an *InvalidError.
func Encode(m Message) ([]byte, error) {
	if err := Validate(m); err != nil {
		return nil, err
	}
	return appendMessage(m)
}

// scan finds the type and the member names of a message and refuses what is not one JSON object.
func scan(data []byte) (typ string, members []string, err error) {
	bad := func(problem string) (string, []string, error) {
		return "", nil, &InvalidError{"", []Violation{{"ENV-064", "", problem}}}
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return bad("starts with a byte order mark; JSON must not")
	}
	if tooDeep(data) {
		return bad(fmt.Sprintf("nests deeper than %d levels", maxDepth))
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	if k := d.PeekKind(); k != '{' {
		if _, err := d.ReadValue(); err != nil {
			return bad(plainError(err))
		}
		return "", nil, &InvalidError{"", []Violation{{"ENV-068", "", "a message must be a JSON object, not a JSON " + k.String()}}}
	}
	if _, err := d.ReadToken(); err != nil {
		return bad(plainError(err))
	}
	members = make([]string, 0, 24)
	found := false
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return bad(plainError(err))
		}
		name := t.String()
		members = append(members, name)
		if name != "type" {
			if err := d.SkipValue(); err != nil {
				return bad(plainError(err))
			}
			continue
		}
		v, err := d.ReadToken()
		if err != nil {
			return bad(plainError(err))
		}
		if v.Kind() != '"' || v.String() == "" {
			return "", nil, &InvalidError{"", []Violation{{"ENV-011", "/type", "must be a non-empty string"}}}
		}
		typ, found = v.String(), true
	}
	if _, err := d.ReadToken(); err != nil {
		return bad(plainError(err))
	}
	if rest := data[d.InputOffset():]; len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
		return bad("has text after the end of the object; one message is one object")
	}
	if !found {
		return "", nil, checkMembers("", members, []string{"type"})
	}
	return typ, members, nil
}

// tooDeep reports whether the text opens more than maxDepth arrays and objects at once. It looks only
// at brackets outside strings, so it is right for every text that is JSON.
func tooDeep(data []byte) bool {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

func checkMembers(typ string, members, required []string) error {
	var c checker
	for _, want := range required {
		twin, ok := "", false
		for _, m := range members {
			if m == want {
				ok = true
				break
			}
			if strings.EqualFold(m, want) {
				twin = m
			}
		}
		switch {
		case ok:
		case twin != "":
			c.fail("ENV-067", "", "member %q is missing; %q does not count, names are case-sensitive", want, twin)
		default:
			c.fail("ENV-067", "", "member %q is missing", want)
		}
	}
	return c.err(typ)
}

// plainError takes the library's name and the input's position out of an error, for people.
func plainError(err error) string {
	var semantic *jsonv2.SemanticError
	if errors.As(err, &semantic) && semantic.Err != nil {
		err = semantic.Err
	}
	s := err.Error()
	for _, prefix := range []string{"jsontext: ", "json: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return s
}

// invalid turns an error of the JSON library into an *InvalidError.
func invalid(typ string, err error) error {
	var already *InvalidError
	if errors.As(err, &already) {
		already.Message = typ
		return already
	}
	v := Violation{Requirement: "ENV-067", Problem: plainError(err)}
	var semantic *jsonv2.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		v.Pointer = string(semantic.JSONPointer)
		if semantic.Err == nil && semantic.GoType != nil {
			v.Problem = fmt.Sprintf("must not be a JSON %v", semantic.JSONKind)
		}
	case errors.As(err, &syntactic):
		v.Requirement, v.Pointer = "ENV-064", string(syntactic.JSONPointer)
	}
	return &InvalidError{typ, []Violation{v}}
}

// A message on the wire is its type and its members.
type messageWire[M any] struct {
	Type    string         `json:"type"`
	Message *M             `json:",embed"`
	Unknown jsontext.Value `json:",embed"`
}

func readMessage[M any, P interface {
	*M
	Message
}](data []byte) (Message, error) {
	w := messageWire[M]{Message: new(M)}
	m := P(w.Message)
	if err := jsonv2.Unmarshal(data, &w, readOptions); err != nil {
		return nil, invalid(m.MessageType(), err)
	}
	c := checker{}
	strict := m.MessageType() == typeConfirmationReply || m.MessageType() == typeClarificationReply
	eachMember(w.Unknown, func(name string) {
		if strict {
			c.fail("CONF-017", "/"+name, "is not a member of this message; a reply has no others than the listed ones")
		} else if known := twinOf(name, knownMembers(m)); known != "" {
			c.fail("ENV-067", "/"+name, "is not a member of this message; names are case-sensitive, write %q", known)
		}
	})
	checkReceived(&c, m)
	if err := c.err(m.MessageType()); err != nil {
		return nil, err
	}
	return m, nil
}

func knownMembers(m Message) []string {
	switch m.(type) {
	case *SubscriptionRequest:
		return []string{"type", "aaep_version", "subscriber_id", "capabilities", "subscriber_name", "subscriber_version", "subscriber_manifest_uri", "correlation_id", "extensions"}
	case *SubscriptionAccepted:
		return []string{"type", "subscription_id", "aaep_version", "producer", "honored_capabilities", "manifest_uri", "signed_manifest", "negotiation_notes"}
	case *SubscriptionRejected:
		return []string{"type", "reason_code", "reason_message", "retry_after_seconds", "alternative_manifest_uri"}
	}
	return []string{"type", "subscription_id", "capabilities", "reason_code", "reason_message"}
}

func twinOf(name string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(k, strings.Map(func(r rune) rune {
			if r == 0 || unicode.IsSpace(r) {
				return -1
			}
			return r
		}, name)) {
			return k
		}
	}
	return ""
}

// eachMember calls f with every member name of a JSON object that is known to be well-formed.
func eachMember(object jsontext.Value, f func(name string)) {
	if len(object) == 0 {
		return
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(object))
	if _, err := d.ReadToken(); err != nil {
		return
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return
		}
		name := t.String() // t is void after the next call
		if d.SkipValue() != nil {
			return
		}
		f(name)
	}
}

func writeMessage[M any](m *M, typ string) ([]byte, error) {
	return jsonv2.Marshal(&messageWire[M]{Type: typ, Message: m}, writeOptions)
}

// appendMessage writes m without checking it.
func appendMessage(m Message) ([]byte, error) {
	switch m := m.(type) {
	case *Event:
		return writeEvent(m)
	case *SubscriptionRequest:
		return writeMessage(m, typeRequest)
	case *SubscriptionAccepted:
		return writeMessage(m, typeAccepted)
	case *SubscriptionRejected:
		return writeMessage(m, typeRejected)
	case *SubscriptionRenegotiate:
		return writeMessage(m, typeRenegotiate)
	case *SubscriptionClose:
		return writeMessage(m, typeClose)
	case *ConfirmationReply:
		return writeMessage(m, typeConfirmationReply)
	case *ClarificationReply:
		return writeMessage(m, typeClarificationReply)
	}
	return nil, fmt.Errorf("aaep: cannot encode a %T", m)
}

// MarshalJSON writes the event as it is, valid or not, unknown members included. Encode checks first.
func (e *Event) MarshalJSON() ([]byte, error) { return writeEvent(e) }

// UnmarshalJSON is Decode for a value that is known to be an event.
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

var _ json.Marshaler = (*Event)(nil)
