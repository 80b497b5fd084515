package aaep

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxEventDepth is how deep our own events nest, the event itself being level 1 (§3.7, D-12).
const maxEventDepth = 8

// reservedPrefix reports whether an extension must not use a prefix (§7.3.2).
func reservedPrefix(prefix string) bool {
	return strings.HasPrefix(prefix, "@") || slices.ContainsFunc([]string{"aaep", "xsd", "rdf", "rdfs"},
		func(reserved string) bool { return strings.EqualFold(prefix, reserved) })
}

// validPrefix reports whether an extension's prefix can stand before a colon and be read by a
// person.
func validPrefix(s string) bool {
	return s != "" && len(s) <= 256 && !strings.ContainsAny(s, ": \t\r\n") && SafeText(s) == s
}

// checkPrefix checks a prefix that one of our own messages uses for an extension.
func (c *checker) checkPrefix(s string) {
	c.size += len(s)
	switch {
	case reservedPrefix(s):
		c.addViolation("EXT-009", "", "is not a prefix for extensions; take another")
	case !validPrefix(s):
		c.addViolation("EXT-004", "", "must have a prefix of 1 to 256 bytes without colon and blanks")
	}
}

// checkExtensionType checks the type of an event that is not of AAEP's own (§3.2.2, §7.4).
func checkExtensionType(c *checker, e *Event, typ Type) {
	s := string(typ)
	c.checkText("ENV-011", "/type", s, 1, maxShort)
	prefix, name, _ := strings.Cut(s, ":")
	switch {
	case isCore(CompactType(s)):
		c.addViolation("ENV-007", "/type", "is a type of AAEP; use its payload, which writes it in compact form")
	case CompactType(s) != typ || strings.EqualFold(prefix, "aaep"):
		c.addViolation("ENV-008", "/type", "is not defined by AAEP; an extension uses a prefix of its own")
	case name == "" || !validPrefix(prefix) || strings.ContainsAny(name, " \t\r\n"):
		c.addViolation("ENV-006", "/type", "must be a prefix, a colon and a name, or a URI")
	case reservedPrefix(prefix):
		c.addViolation("EXT-009", "/type", "has a prefix that is not for extensions; take another")
	case prefix != "http" && prefix != "https" && len(e.Context) < 2:
		c.addViolation("ENV-009", "/@context", "must name the vocabulary of the type's prefix")
	}
}

// isCore reports whether a type in compact form is one of the twelve events of AAEP.
func isCore(t Type) bool {
	_, ok := readers[string(t)]
	return ok && strings.HasPrefix(string(t), "aaep:")
}

// checkExtensions checks "extensions", an object of objects keyed by prefix (§3.4.3), and returns
// how many prefixes there are.
func checkExtensions(c *checker, extensions map[string]json.RawMessage) int {
	eachObject(extensions, func(prefix string, v json.RawMessage) {
		c.checkWithin(appendPointer("/extensions", prefix), func() {
			c.checkPrefix(prefix)
			c.checkObject("ENV-046", "", v, 2, maxEventDepth)
		})
	})
	return len(extensions)
}

// checkUnknown checks the members that are not those of the event's type, and returns how many
// there are. They are language variants of its summary (D-73) or, on a type of an extension, the
// extension's own payload (§7.4.1).
func checkUnknown(c *checker, e *Event) (n int) {
	if len(e.Unknown) == 0 || !c.checkObject("ENV-055", "", e.Unknown, 0, maxEventDepth) {
		return 0
	}
	_, extension := e.Payload.(*ExtensionPayload)
	eachMember(jsontext.Value(e.Unknown), func(name string, value []byte) {
		n++
		pointer := appendPointer("", name)
		limit := variantLimit(name)
		switch {
		case strings.HasPrefix(name, "aaep_"):
			c.addViolation("ENV-052", pointer, "is a name only AAEP may define")
		case reservedMember(name):
			c.addViolation("ENV-053", pointer, "is a keyword of JSON-LD, which an event must not use")
		case slices.Contains(envelopeMembers, name):
			c.addViolation("ENV-054", pointer, "is a member of the envelope, which the SDK writes; give it another name")
		case limit > 0 && e.Type() == TypeOutputStreaming:
			c.addViolation("EVT-054", pointer, "an output event has no summary; its chunk is what is heard")
		case limit > 0:
			text, err := jsontext.AppendUnquote(nil, value)
			if err != nil {
				c.addViolation("EVT-007", pointer, "must be a string")
				break
			}
			c.checkText("EVT-007", pointer, string(text), 1, limit)
		case !extension:
			c.addViolation("ENV-055", pointer, "is not a member of this event; put it under \"extensions\"")
		}
	})
	return n
}

// variantLimit returns how long a language variant of a summary may be, such as
// summary_normal_yo_ng, or 0 if name is not one (D-73).
func variantLimit(name string) int {
	for _, v := range []struct {
		base string
		most int
	}{{"summary_terse_", maxShort}, {"summary_normal_", maxText}, {"summary_detailed_", maxText}} {
		tag, ok := strings.CutPrefix(name, v.base)
		if ok && tag == strings.ToLower(tag) && !strings.Contains(tag, "-") &&
			ValidLanguageTag(strings.ReplaceAll(tag, "_", "-")) {
			return v.most
		}
	}
	return 0
}

// checkObject checks a JSON object that the caller handed over as text: its form, that it nests no
// deeper than level deepest of its message, in which it lies at level, and that every parser reads
// its numbers exactly (ENV-066). It reports whether the text is one well-formed object that nests
// no deeper.
func (c *checker) checkObject(req, pointer string, v json.RawMessage, level, deepest int) bool {
	c.size += len(v)
	d := jsontext.NewDecoder(bytes.NewBuffer(v))
	if d.PeekKind() != '{' {
		c.addViolation(req, pointer, "must be an object")
		return false
	}
	for {
		t, err := d.ReadToken()
		if err == io.EOF {
			return true
		}
		if err != nil {
			c.addViolation("ENV-064", pointer, "%s", plainError(err))
			return false
		}
		switch t.Kind() {
		case '{', '[':
			if level+d.StackDepth() > deepest {
				c.addViolation("ENV-060", pointer, "nests deeper than %d levels, counted from the message", deepest)
				return false
			}
		case '0':
			if !exactNumber(t.String()) {
				c.addViolation("ENV-066", pointer+string(d.StackPointer()),
					"is a number beyond 2^53, which not every parser reads exactly; write it as a string")
			}
		}
		if d.StackDepth() == 0 && len(bytes.TrimSpace(v[d.InputOffset():])) > 0 {
			c.addViolation("ENV-064", pointer, "has text after the end of the object")
			return false
		}
	}
}

// checkOptionalObject is checkObject for a member of a message that may be left out.
func (c *checker) checkOptionalObject(req, pointer string, v json.RawMessage, deepest int) {
	if v != nil {
		c.checkObject(req, pointer, v, 1, deepest)
	}
}

// exactNumber reports whether a JSON number survives being read as a double: a whole one up to 2^53
// either way, and any with a fraction or exponent that is not too large.
func exactNumber(s string) bool {
	if strings.ContainsAny(s, ".eE") {
		_, err := strconv.ParseFloat(s, 64)
		return err == nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && n >= -(1<<53) && n <= 1<<53
}

// readsAsAnother reports whether a JSON value is a whole number that a double cannot hold: the
// number of an account, typed as an answer, would be read as that of another.
func readsAsAnother(s string) bool {
	if strings.ContainsAny(s, "\".eE") { // a text, a word, or a number that is no account
		return false
	}
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && strconv.FormatFloat(f, 'f', -1, 64) != s
}

// pointerName escapes a name for a JSON pointer.
var pointerName = strings.NewReplacer("~", "~0", "/", "~1")

// appendPointer appends a member's name to a JSON pointer.
func appendPointer(pointer, name string) string {
	return pointer + "/" + pointerName.Replace(shortenName(name))
}

// shortenName cuts a peer's name to 200 bytes and "…", for an error text; a shorter one comes back
// as it is.
func shortenName(s string) string {
	if len(s) <= 200 {
		return s
	}
	return strings.ToValidUTF8(s[:200], "") + "…"
}
