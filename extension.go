package aaep

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
)

// A Vocabulary is what an extension of AAEP calls itself (§7.3): a short prefix for its names, and the URI of its
// JSON-LD context, which its publisher controls. The URI is a name; it is never fetched.
type Vocabulary struct {
	// Prefix is such as "medai": at least two characters, without colon and blanks.
	Prefix string
	// URI carries the major version and no other, as in "https://example.org/medai/context/v1".
	URI string
}

// Validate reports what keeps v from naming an extension, as an *InvalidError, or nil. What chapter 7 only
// recommends is asked for: a prefix of more than one letter, and a URI with the major version.
func (v Vocabulary) Validate() error {
	var c checker
	c.within("/prefix", func() { c.prefix(v.Prefix) })
	if utf8.RuneCountInString(v.Prefix) == 1 {
		c.fail("EXT-008", "/prefix", "is a single character; take a name that others will not take")
	}
	c.uri("EXT-004", "/uri", v.URI)
	if poses(v.URI) {
		c.fail("EXT-003", "/uri", "is in the namespace of AAEP itself; an extension has its publisher's")
	}
	switch major, full := versionsIn(v.URI); {
	case full:
		c.fail("EXT-016", "/uri", "has a minor version; only the major one belongs there, as in /v1")
	case !major:
		c.fail("EXT-016", "/uri", "has no major version, as in /v1")
	}
	return c.err("vocabulary")
}

// AddExtension puts data under the extension's prefix and names its vocabulary in the event's context (§7.5).
// Data is what the JSON library writes as an object, or a json.RawMessage; it replaces what was there under the
// prefix. It returns an *InvalidError, and leaves the event as it was, if v or data is not valid. It is for the
// maker of an event, before anyone else has it; copies of the event keep what they have.
func (e *Event) AddExtension(v Vocabulary, data any) error {
	if err := v.Validate(); err != nil {
		return err
	}
	raw, err := jsonv2.Marshal(data, writeOptions)
	if err != nil {
		return invalid(v.Prefix, err)
	}
	var c checker
	c.within(pointer("/extensions", v.Prefix), func() { c.object("ENV-046", "", raw, 2, maxEventDepth) })
	if err := c.err(e.MessageType()); err != nil {
		return err
	}
	extensions := maps.Clone(e.Extensions)
	if extensions == nil {
		extensions = make(map[string]json.RawMessage, 1)
	}
	extensions[v.Prefix] = raw
	e.Extensions = extensions
	if len(e.Context) == 0 {
		e.Context = []string{CoreContext}
	}
	if !slices.Contains(e.Context, v.URI) {
		e.Context = append(slices.Clip(e.Context), v.URI)
	}
	return nil
}

// Read reads what stands under the extension's prefix, a capability object or the data of an event, into a value. An integer may
// be written 300.0, as in all of AAEP, members that the value has no room for are passed over, and a name that comes twice is an
// error; for the rest it is as the JSON library reads. The error is an *InvalidError.
func (v Vocabulary) Read(object json.RawMessage, into any) error {
	if err := jsonv2.Unmarshal(object, into, wholeNumbers); err != nil {
		return invalid(v.Prefix, err)
	}
	return nil
}

// ReadExtension is Vocabulary.Read of what an event carries of an extension. It reports false, and reads nothing, if there is none:
// the event has nothing under the prefix, or its context does not name the vocabulary, so that the prefix is somebody else's (§3.2.1).
func (e *Event) ReadExtension(v Vocabulary, into any) (bool, error) {
	data := e.Extensions[v.Prefix]
	if data == nil || !slices.Contains(e.Context, v.URI) {
		return false, nil
	}
	return true, v.Read(data, into)
}

// poses reports whether a URI is one of AAEP's own names. Extensions that the project hosts are not.
func poses(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(scheme, "aaep") || slices.ContainsFunc([]string{"context", "types", "vocab"}, func(name string) bool {
		own := "https://aaep-protocol.org/" + name
		return len(uri) >= len(own) && strings.EqualFold(uri[:len(own)], own) && (len(uri) == len(own) || uri[len(own)] == '/')
	})
}

// versionsIn reports whether a URI has a major version as a part, such as v1, and whether it has a longer one.
func versionsIn(uri string) (major, full bool) {
	_, path, _ := strings.Cut(uri, ":")
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		i := strings.IndexAny(rest, "/?#")
		if i < 0 {
			return false, false
		}
		path = rest[i:]
	}
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/?#:=&;,-_", r) }) {
		number, named := strings.CutPrefix(strings.ToLower(part), "v")
		first, rest, _ := strings.Cut(number, ".")
		switch {
		case first == "" || strings.Trim(first, "0123456789") != "":
		case rest != "" && isDigit(rest[0]):
			full = true
		case named:
			major = true
		}
	}
	return major, full
}
