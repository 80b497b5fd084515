package aaep

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxDiagnostics is how many unknown members get a diagnostic of their own.
	maxDiagnostics = 32
	// maxOptions is how many choices of a clarification are read. The protocol has 32.
	maxOptions = 256
)

// unknowns is what was read from members that published peers write in the place of others (D-16,
// D-19, D-24, D-25). A zero field was not there.
type unknowns struct {
	names     []string // of those members, in order
	language  string   // of the event
	percent   *float64 // of a progress
	message   string   // of a progress
	remaining *int64   // milliseconds until the end, of a progress
	choices   []Choice // of a clarification
	freeForm  bool     // of a clarification: any text may answer it
	target    string   // of a handoff
	summary   string   // of a handoff's context
}

// noteForm adds one diagnostic for all the members in u.names, if there are any. They were read as
// the members that replacement names.
func (u *unknowns) noteForm(c *checker, requirement, replacement string) {
	switch len(u.names) {
	case 0:
	case 1:
		c.addViolation(requirement, appendPointer("", u.names[0]), "is not AAEP's way to say it; read as %s", replacement)
	default:
		c.addViolation(requirement, appendPointer("", u.names[0]), "and %s are not AAEP's way to say it; read as %s",
			strings.Join(u.names[1:], ", "), replacement)
	}
}

// readUnknowns reads e.Unknown, the members beside the known ones. Each is a published way to write
// another one, which goes into u; a summary in another language, which goes into e.Translations; or
// gets a diagnostic in c (D-07). At most maxDiagnostics members get one each; the others are
// counted.
func readUnknowns(c *checker, e *Event) (u unknowns) {
	_, extension := e.Payload.(*ExtensionPayload)
	start, unlisted := len(c.found), 0
	eachMember(e.Unknown, func(name string, value []byte) {
		base, tag := splitVariant(name)
		if tag != "" {
			e.addVariant(base, tag, value)
		}
		switch {
		case u.readMember(e.Payload, name, value):
			u.names = append(u.names, name)
			return
		case variantLimit(name) > 0 && e.Type() != TypeOutputStreaming:
			return
		case name == "language" && u.readLanguage(e, value):
			return
		case extension && !reservedMember(name):
			return
		}
		if len(c.found)-start >= maxDiagnostics {
			unlisted++
			return
		}
		switch pointer := appendPointer("", name); {
		case strings.HasPrefix(name, "aaep_"):
			c.addViolation("ENV-052", pointer, "is a name only AAEP may define; it is ignored")
		case reservedMember(name):
			c.addViolation("ENV-053", pointer, "is a keyword of JSON-LD, which an event must not use; it is ignored")
		case tag != "" && e.Type() != TypeOutputStreaming:
			c.addViolation("ENV-055", pointer,
				"is read as the summary in %s; its name should be in lower case with underscores", tag)
		default:
			c.addViolation("ENV-055", pointer, "is not a member of this event; it is ignored")
		}
	})
	if unlisted > 0 {
		c.addViolation("ENV-055", "", "has %d more members that are not those of this event; they are ignored", unlisted)
	}
	return u
}

// reservedMember reports whether no event may have a member of this name, whatever its type (§3.5).
func reservedMember(name string) bool {
	return strings.HasPrefix(name, "aaep_") || name == "@id" || name == "@graph" || name == "@base" || name == "@vocab"
}

// readLanguage reads a "language" of the event as its primary language where the hints have none,
// and reports whether it did (D-73).
func (u *unknowns) readLanguage(e *Event, value []byte) bool {
	if e.LocalizationHints != nil && e.LocalizationHints.PrimaryLanguage != "" {
		return false
	}
	tag, ok := asString(value)
	if !ok || !ValidLanguageTag(tag) {
		return false
	}
	u.language = tag
	return true
}

// readMember reads a member into u if published producers write it on an event with this kind of
// payload, and reports whether it did. A value of another kind than such producers write is not
// read.
func (u *unknowns) readMember(p Payload, name string, value []byte) (ok bool) {
	switch p.(type) {
	case *ProgressUpdated:
		switch name {
		case "progress_percent":
			f, ok := asNumber(value)
			if ok {
				u.percent = &f
			}
			return ok
		case "progress_message":
			u.message, ok = asString(value)
		case "estimated_remaining_ms":
			f, ok := asNumber(value)
			if ok = ok && math.Abs(f) <= maxInt; ok {
				n := int64(math.Round(f))
				u.remaining = &n
			}
			return ok
		}
	case *AwaitingClarification:
		switch name {
		case "options":
			u.choices, ok = asOptions(value)
		case "free_form_allowed":
			u.freeForm = string(value) == "true"
			ok = u.freeForm || string(value) == "false"
		case "multi_select":
			ok = string(value) == "true" || string(value) == "false"
		}
	case *HandoffRequested:
		switch name {
		case "handoff_target":
			u.target, ok = asString(value)
		case "context_summary":
			u.summary, ok = asString(value)
		}
	}
	return ok
}

// flatProgress are the members that may stand in for "progress" (D-19).
var flatProgress = []string{"progress_percent", "progress_message", "estimated_remaining_ms"}

// asString returns what a JSON value says if it is a string.
func asString(value []byte) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, value)
	return string(s), err == nil
}

// asNumber returns what a JSON value says if it is a number that a float64 can hold.
func asNumber(value []byte) (float64, bool) {
	f, err := strconv.ParseFloat(string(value), 64)
	return f, err == nil
}

// asOptions reads a list of texts as choices whose value is their label. An empty text could not be
// answered. At most maxOptions are read; ok is false for anything but a list of texts.
func asOptions(value []byte) (choices []Choice, ok bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(value))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return nil, false
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		if s := t.String(); s != "" && len(choices) < maxOptions {
			choices = append(choices, Choice{s, s})
		}
	}
	if d.PeekKind() != ']' {
		return nil, false
	}
	return choices, true
}
