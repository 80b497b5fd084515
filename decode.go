package aaep

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/nesting"
)

// Decode reads one message: an *Event or one of the handshake and reply messages.
//
// It reads exactly: member names match letter for letter, a repeated name, invalid UTF-8, an
// unpaired surrogate, a byte order mark or anything after the message is an error. Events are read
// liberally beyond that: unknown types and members are kept, and what a peer wrote in its own way
// is read as what the protocol says for it, with a line in Event.Diagnostics (§3.9, §12.2.1,
// §12.6). Messages that ask for something are read strictly: a name that differs from a known one
// only in case is an error, and so is every unknown member of a reply. A known member is never
// null. The error is an *InvalidError.
//
// Decode does not limit the length of data; transports do. It keeps no reference to data.
func Decode(data []byte) (Message, error) {
	typ, members, err := scanMembers(data)
	if err != nil {
		return nil, err
	}
	r, ok := readers[string(CompactType(typ))]
	if !ok {
		r = extensionReader
	}
	required := r.required
	// The published form of ProgressUpdated has other members in the place of "progress" (D-19).
	if required[0] == "progress" && hasAny(members, flatProgress) {
		required = required[1:]
	}
	if err := checkMembers(typ, members, required); err != nil {
		if !ok && !strings.Contains(typ, ":") { // nor is it the type of an event
			return nil, unknownMessageType(typ)
		}
		return nil, err
	}
	options := readOptions
	if bytes.Contains(data, []byte("null")) {
		options = readOptionsNull
	}
	return r.read(data, options)
}

// A reader reads the messages of one type.
type reader struct {
	required []string // the names of the members that it must have beside "type"
	read     func(data []byte, options jsonv2.Options) (Message, error)
}

// readers has the reader of each type of message that this package knows.
var readers = map[string]reader{
	typeRequest: {[]string{"aaep_version", "subscriber_id", "capabilities"},
		readMessage[SubscriptionRequest]},
	typeAccepted: {[]string{"subscription_id", "aaep_version", "producer", "honored_capabilities"},
		readMessage[SubscriptionAccepted]},
	typeRejected:    {[]string{"reason_code"}, readMessage[SubscriptionRejected]},
	typeRenegotiate: {[]string{"subscription_id", "capabilities"}, readMessage[SubscriptionRenegotiate]},
	typeClose:       {[]string{"subscription_id"}, readMessage[SubscriptionClose]},
	typeConfirmationReply: {[]string{"reply_token", "decision", "subscription_id", "timestamp"},
		readMessage[ConfirmationReply]},
	typeClarificationReply: {[]string{"reply_token", "response", "subscription_id", "timestamp"},
		readMessage[ClarificationReply]},

	string(TypeSessionStarted):   {eventMembers(), readEvent[SessionStarted]},
	string(TypeSessionCompleted): {eventMembers(), readEvent[SessionCompleted]},
	string(TypeSessionErrored):   {eventMembers("error_category"), readEvent[SessionErrored]},
	string(TypeSessionCancelled): {eventMembers("cancelled_by"), readEvent[SessionCancelled]},
	string(TypeStateChanged):     {eventMembers("from_state", "to_state"), readEvent[StateChanged]},
	string(TypeProgressUpdated):  {eventMembers("progress"), readEvent[ProgressUpdated]},
	string(TypeToolInvoked):      {eventMembers("tool"), readEvent[ToolInvoked]},
	string(TypeToolCompleted):    {eventMembers("tool", "status"), readEvent[ToolCompleted]},
	string(TypeOutputStreaming):  {eventMembers("chunk", "position", "complete"), readEvent[OutputStreaming]},
	string(TypeAwaitingConfirmation): {eventMembers("action", "consequence", "reply_token", "timeout_seconds",
		"default_decision"), readEvent[AwaitingConfirmation]},
	string(TypeAwaitingClarification): {eventMembers("question", "reply_token", "timeout_seconds"),
		readEvent[AwaitingClarification]},
	string(TypeHandoffRequested): {eventMembers("reason"), readEvent[HandoffRequested]},
}

// extensionReader reads messages of all other types: each is an event of an extension.
var extensionReader = reader{eventMembers(), readExtension}

// eventMembers returns the members that an event must have: those of its payload, then those of
// every envelope.
func eventMembers(payloadMembers ...string) []string {
	return append(payloadMembers, "@context", "event_id", "session_id", "timestamp", "producer")
}

// scanMembers goes once through a message, before it is known which reader is for it, and returns
// its type and the names of its members, which may be parts of data. It refuses what is not one
// JSON object with a type. Repeated names are left to the reader of the type, which refuses them.
func scanMembers(data []byte) (typ string, members [][]byte, err error) {
	problem := ""
	switch {
	case len(bytes.TrimLeft(data, " \t\r\n")) == 0:
		problem = "is empty; a message is one JSON object"
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		problem = "starts with a byte order mark; JSON must not"
	case nesting.TooDeep(data):
		problem = fmt.Sprintf("nests deeper than %d levels", nesting.Most)
	}
	if problem != "" {
		return "", nil, &InvalidError{"", []Violation{{"ENV-064", "", problem}}}
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))
	if err := beginObject(d); err != nil {
		return "", nil, err
	}
	members = make([][]byte, 0, 24)
	for d.PeekKind() == '"' {
		quoted, err := d.ReadValue()
		if err != nil {
			return "", nil, wrapError("", err)
		}
		end := int(d.InputOffset())
		name := unquoteName(data[end-len(quoted) : end])
		members = append(members, name)
		if string(name) == "type" {
			if typ, err = readType(d); err != nil {
				return "", nil, err
			}
		} else if err := d.SkipValue(); err != nil {
			return "", nil, wrapError("", err)
		}
	}
	if _, err := d.ReadToken(); err != nil { // the end of the object
		return "", nil, wrapError("", err)
	}
	if rest := data[d.InputOffset():]; len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
		return "", nil, &InvalidError{"", []Violation{{"ENV-064", "",
			"has text after the end of the object; one message is one object"}}}
	}
	if typ == "" {
		return "", nil, checkMembers("", members, []string{"type"})
	}
	return typ, members, nil
}

// beginObject reads the brace that a message begins with. The error is an *InvalidError for any
// other JSON value, or for what is no JSON.
func beginObject(d *jsontext.Decoder) error {
	if kind := d.PeekKind(); kind != '{' {
		if _, err := d.ReadValue(); err != nil {
			return wrapError("", err)
		}
		return &InvalidError{"", []Violation{{"ENV-068", "",
			"a message must be a JSON object, not a JSON " + kindName(kind)}}}
	}
	if _, err := d.ReadToken(); err != nil {
		return wrapError("", err)
	}
	return nil
}

// readType reads the value of a message's type. The error is an *InvalidError where it is no text
// or empty.
func readType(d *jsontext.Decoder) (string, error) {
	value, err := d.ReadToken()
	if err != nil {
		return "", wrapError("", err)
	}
	if value.Kind() != '"' || value.String() == "" {
		return "", &InvalidError{"", []Violation{{"ENV-011", "/type", "must be a non-empty string"}}}
	}
	return value.String(), nil
}

// checkMembers refuses a message that lacks a required member. A name that differs only in case
// does not count, and the error says so. The error is nil or an *InvalidError with a violation for
// each that is missing.
func checkMembers(typ string, members [][]byte, required []string) error {
	var c checker
	for _, want := range required {
		twin, ok := "", false
		for _, m := range members {
			if ok = string(m) == want; ok {
				break
			}
			if len(m) < 128 && bytes.EqualFold(m, []byte(want)) {
				twin = string(m)
			}
		}
		switch {
		case ok:
		case twin != "":
			c.addViolation("ENV-067", "", "member %q is missing; %q does not count, names are case-sensitive", want,
				twin)
		default:
			c.addViolation("ENV-067", "", "member %q is missing", want)
		}
	}
	return c.asError(typ)
}

// hasAny reports whether members has one of the names.
func hasAny(members [][]byte, names []string) bool {
	return slices.ContainsFunc(members, func(m []byte) bool { return slices.Contains(names, string(m)) })
}

// unknownMessageType returns the error for a type that is no message's, and has no event's form; it
// lists the types that there are.
func unknownMessageType(typ string) error {
	var messages []string
	for known := range readers {
		if !strings.Contains(known, ":") {
			messages = append(messages, known)
		}
	}
	slices.Sort(messages)
	var c checker
	c.addViolation("ENV-006", "/type",
		"is the type of no message; there are %s, and that of an event has a colon, as aaep:agent.progress.updated",
		strings.Join(messages, ", "))
	return c.asError(typ)
}

// A messageWire is a message as it is written: its type and its members.
type messageWire[M any] struct {
	Type    string         `json:"type"`
	Message *M             `json:",embed"`
	Unknown jsontext.Value `json:",embed"`
}

// readMessage decodes a handshake or reply message into an M, and checks what it must satisfy to be
// acted on. P is *M, which is the Message. It is the read function of their readers. The error is
// an *InvalidError.
func readMessage[M any, P interface {
	*M
	Message
}](data []byte, options jsonv2.Options) (Message, error) {
	w := messageWire[M]{Message: new(M)}
	m := P(w.Message)
	if err := jsonv2.Unmarshal(data, &w, options); err != nil {
		return nil, wrapError(m.MessageType(), err)
	}
	compactFilters(m)
	var c checker
	switch m := Message(m).(type) {
	case *ConfirmationReply:
		checkReply(&c, data, w.Unknown, m.SubscriptionID)
	case *ClarificationReply:
		checkReply(&c, data, w.Unknown, m.SubscriptionID)
	default:
		c.checkNames("", data, knownMembers[m.MessageType()])
	}
	checkReceived(&c, m)
	if err := c.asError(m.MessageType()); err != nil {
		return nil, err
	}
	return m, nil
}

// checkReply checks what is asked of replies alone, which authorize actions and are read most
// strictly (D-37, D-41): data, the whole reply, has the listed members and no others, none of them
// is present and empty, and subscriptionID is one that a producer of this SDK made. unknown is an
// object with the members that were not listed.
func checkReply(c *checker, data, unknown []byte, subscriptionID string) {
	c.checkID("CONF-014", "/subscription_id", subscriptionID, "sub_")
	eachMember(unknown, func(name string, _ []byte) {
		c.addViolation("CONF-017", appendPointer("", name),
			"is not a member of this message; a reply has no others than the listed ones")
	})
	eachMember(data, func(name string, value []byte) {
		switch {
		case (name == "decided_by" || name == "decision_rationale") && len(value) == len(`""`):
			c.addViolation("CONF-016", "/"+name, "must not be empty; leave the member out instead")
		case name == "response" && readsAsAnother(string(value)):
			c.addViolation("ENV-066", "/response",
				"is a number that would be read as another one; it has too many digits")
		}
	})
}

// knownMembers are the names in the messages that ask for something, and in the objects within
// them.
var knownMembers = map[string][]string{
	typeRequest:     memberNames[messageWire[SubscriptionRequest]](),
	typeAccepted:    memberNames[messageWire[SubscriptionAccepted]](),
	typeRejected:    memberNames[messageWire[SubscriptionRejected]](),
	typeRenegotiate: memberNames[messageWire[SubscriptionRenegotiate]](),
	typeClose:       memberNames[messageWire[SubscriptionClose]](),

	"capabilities":         memberNames[Capabilities](),
	"honored_capabilities": memberNames[Capabilities](),
	"event_filters":        memberNames[EventFilters](),
	"producer":             memberNames[Agent](),
}

// memberNames returns the names that a struct has in JSON.
func memberNames[T any]() []string { return membersOf(reflect.TypeFor[T]()) }

// membersOf returns the names of the JSON members that a struct type, or a pointer to one, has,
// with those of what it embeds; none for any other type. It is memberNames for a type that is known
// at run time.
func membersOf(t reflect.Type) (names []string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous || options == "embed":
			names = append(names, membersOf(field.Type)...)
		case name != "":
			names = append(names, name)
		}
	}
	return names
}

// checkNames refuses the members of an object that differ from known ones only in case or blanks:
// they would silently not count (INV-33).
func (c *checker) checkNames(pointer string, object []byte, knownNames []string) {
	eachMember(object, func(name string, value []byte) {
		switch {
		case !slices.Contains(knownNames, name):
			if twin := twinOf(name, knownNames); twin != "" {
				c.addViolation("ENV-067", appendPointer(pointer, name),
					"is not a member of this message; names are case-sensitive, write %q", twin)
			}
		case knownMembers[name] != nil:
			c.checkNames(appendPointer(pointer, name), value, knownMembers[name])
		}
	})
}

// twinOf returns the known name that a lax reader would take name for, which differs from it only
// in case and in blanks; or "". A name of more than 128 bytes has none.
func twinOf(name string, knownNames []string) string {
	if len(name) > 128 {
		return ""
	}
	bare := strings.Map(func(r rune) rune {
		if r == 0 || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, name)
	for _, knownName := range knownNames {
		if strings.EqualFold(knownName, bare) {
			return knownName
		}
	}
	return ""
}

// eachMember calls f with every member of a JSON object that is known to be well-formed, in the
// order they stand. Empty bytes have none. value is only valid until f returns.
func eachMember(object []byte, f func(name string, value []byte)) {
	d := jsontext.NewDecoder(bytes.NewBuffer(object),
		jsontext.AllowDuplicateNames(true)) // which were looked for before
	if _, err := d.ReadToken(); err != nil {
		return
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return
		}
		name := t.String() // t is void after the next call
		value, err := d.ReadValue()
		if err != nil {
			return
		}
		f(name, value)
	}
}

// unquoteName returns what a well-formed JSON string says; without escapes it is a part of quoted.
func unquoteName(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	s, _ := jsontext.AppendUnquote(nil, quoted)
	return s
}

// plainError returns the text of an error of the JSON library for people, without the library's
// name and the position in the input.
func plainError(err error) string {
	var semantic *jsonv2.SemanticError
	if errors.As(err, &semantic) && semantic.Err != nil {
		err = semantic.Err
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && syntactic.Err != nil {
		err = syntactic.Err
	}
	s := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "jsontext: "), "json: ")
	if strings.HasPrefix(s, "invalid surrogate pair") { // goes on with a part of the string
		return "half a surrogate pair in a string"
	}
	return s
}

// kindName names a kind of JSON value in an error: object, array, or as the library does.
func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "object"
	case '[':
		return "array"
	}
	return k.String()
}

// formOf names the JSON value that a Go type is read from, in an error.
func formOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return formOf(t.Elem())
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int64, reflect.Float64:
		return "a number"
	}
	return "an object"
}

// wrapError turns an error of the JSON library into an *InvalidError of a message of type typ. An
// error that holds an *InvalidError already is returned as that.
func wrapError(typ string, err error) *InvalidError {
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		return invalid
	}
	v := Violation{Requirement: "ENV-067", Problem: plainError(err)}
	var semantic *jsonv2.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		v.Pointer = shortenName(string(semantic.JSONPointer))
		if semantic.Err == nil && semantic.GoType != nil {
			v.Problem = "must be " + formOf(semantic.GoType) + ", and not a JSON " + kindName(semantic.JSONKind)
			if semantic.JSONKind == jsontext.KindInvalid { // it was to be written
				v.Problem = "has a Go " + semantic.GoType.String() + ", which has no form in JSON"
			}
		}
	case errors.As(err, &syntactic):
		v.Requirement, v.Pointer = "ENV-064", shortenName(string(syntactic.JSONPointer))
	}
	return &InvalidError{typ, []Violation{v}}
}
