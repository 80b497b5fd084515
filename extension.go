package aaep

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Vocabulary is what an extension of AAEP calls itself (§7.3): a short prefix for its names, and
// the URI of its JSON-LD context, which its publisher controls. The URI is a name; it is never
// fetched.
type Vocabulary struct {
	// Prefix is such as "medai": at least two characters, without colon and blanks.
	Prefix string
	// URI carries the major version and no other, as in "https://example.org/medai/context/v1".
	URI string
}

// Validate reports what keeps v from naming an extension, as an *InvalidError, or nil. What chapter
// 7 only recommends is asked for: a prefix of more than one letter, and a URI with the major
// version.
func (v Vocabulary) Validate() error {
	var c checker
	c.checkWithin("/prefix", func() { c.checkPrefix(v.Prefix) })
	if slices.Contains(knownMembers["capabilities"], v.Prefix) {
		c.addViolation("HS-041", "/prefix", "is a capability of AAEP itself; take a name that others will not take")
	}
	if utf8.RuneCountInString(v.Prefix) == 1 {
		c.addViolation("EXT-008", "/prefix", "is a single character; take a name that others will not take")
	}
	c.checkURI("EXT-004", "/uri", v.URI)
	if inOwnNamespace(v.URI) {
		c.addViolation("EXT-003", "/uri", "is in the namespace of AAEP itself; an extension has its publisher's")
	}
	switch major, minor := versionsIn(v.URI); {
	case minor:
		c.addViolation("EXT-016", "/uri", "has a minor version; only the major one belongs there, as in /v1")
	case !major:
		c.addViolation("EXT-016", "/uri", "has no major version, as in /v1")
	}
	return c.asError("vocabulary")
}

// AddExtension puts data under the extension's prefix and names its vocabulary in the event's
// context (§7.5). Data is what the JSON library writes as an object, or a json.RawMessage; it
// replaces what the same extension had there. It returns an *InvalidError, and leaves the event as
// it was, if v or data is not valid, or another extension has the prefix. It is for the maker of an
// event, before anyone else has it; copies of the event keep what they have.
func (e *Event) AddExtension(v Vocabulary, data any) error {
	if err := v.Validate(); err != nil {
		return err
	}
	raw, err := jsonv2.Marshal(data, writeOptions)
	if err != nil {
		return wrapError(v.Prefix, err)
	}
	var c checker
	c.checkWithin(appendPointer("/extensions", v.Prefix), func() {
		c.checkObject("ENV-046", "", raw, 2, maxEventDepth)
		c.checkUnshared(v, e.Extensions[v.Prefix] != nil, e.Context)
	})
	if err := c.asError(e.MessageType()); err != nil {
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

// checkUnshared refuses v where its prefix is used already and v.URI is not among uris, those of
// the extensions that are in use: two extensions cannot share a prefix.
func (c *checker) checkUnshared(v Vocabulary, used bool, uris []string) {
	if used && !slices.Contains(uris, v.URI) {
		c.addViolation("EXT-002", "",
			"has what another extension put there, and %s has the same prefix; one of them can go along", v.URI)
	}
}

// Read reads what stands under the extension's prefix, a capability object or the data of an event,
// into a value. An integer may be written 300.0, as in all of AAEP, members that the value has no
// room for are passed over, and a name that comes twice is an error; for the rest it is as the JSON
// library reads. A field without a json tag takes the member of its own name alone: where there is
// one in other letters, as mg for a field Mg, that is an error, and not a zero. The error is an
// *InvalidError.
func (v Vocabulary) Read(object json.RawMessage, into any) error {
	if err := jsonv2.Unmarshal(object, into, wholeNumbers); err != nil {
		return wrapError(v.Prefix, err)
	}
	if !hasUntagged(reflect.TypeOf(into), map[reflect.Type]bool{}) {
		return nil
	}
	var c checker
	c.checkMissed(jsontext.Value(object), reflect.TypeOf(into), 0)
	return c.asError(v.Prefix)
}

// hasUntagged reports whether typ is, or holds at any depth, a struct with an exported field that
// has no json tag. seen has the types that were looked at, and grows; typ may refer to itself.
func hasUntagged(typ reflect.Type, seen map[reflect.Type]bool) bool {
	if typ == nil || seen[typ] {
		return false
	}
	seen[typ] = true
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return hasUntagged(typ.Elem(), seen)
	case reflect.Struct:
		for i := range typ.NumField() {
			f := typ.Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && tag == "" && !f.Anonymous || hasUntagged(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// checkMissed refuses members of value, a JSON value that was read into a typ, which a field
// without a json tag was likely meant for and did not take, because the names differ in upper and
// lower case. level is how deep value lies in what was read; nothing below maxEventDepth is looked
// at.
func (c *checker) checkMissed(value jsontext.Value, typ reflect.Type, level int) {
	for typ != nil && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ == nil || level > maxEventDepth || reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		reflect.PointerTo(typ).Implements(reflect.TypeFor[jsonv2.UnmarshalerFrom]()) {
		return
	}
	switch typ.Kind() {
	case reflect.Slice, reflect.Array:
		var items []jsontext.Value
		if jsonv2.Unmarshal(value, &items) != nil {
			return
		}
		c.checkEach("", len(items), func(i int) { c.checkMissed(items[i], typ.Elem(), level+1) })
	case reflect.Struct, reflect.Map:
		var members map[string]jsontext.Value
		if jsonv2.Unmarshal(value, &members) != nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			c.checkWithin(appendPointer("", name), func() {
				if typ.Kind() == reflect.Map {
					c.checkMissed(members[name], typ.Elem(), level+1)
				} else {
					c.checkMissedMember(name, members, typ, level)
				}
			})
		}
	}
}

// checkMissedMember is checkMissed for the member called name of an object, all of whose members
// are in members, that was read into the struct typ, level objects deep. A member whose name
// differs from a field's in capitals alone is recorded as unread; one of no field is left alone.
func (c *checker) checkMissedMember(name string, members map[string]jsontext.Value, typ reflect.Type, level int) {
	for _, f := range reflect.VisibleFields(typ) {
		tag, tagged := f.Tag.Lookup("json")
		tag, options, _ := strings.Cut(tag, ",")
		_, hasExact := members[f.Name]
		switch {
		case !f.IsExported() || f.Anonymous && tag == "" || tag == "-":
		case cmp.Or(tag, f.Name) == name:
			c.checkMissed(members[name], f.Type, level+1)
			return
		case tag == "" && !hasExact && strings.EqualFold(f.Name, name) &&
			!(tagged && strings.Contains(options, "case:ignore")):
			c.addViolation("ENV-067", "",
				"was not read into the field %s of %s, whose name has other letters; tag it `json:%q`",
				f.Name, typ, name)
			return
		}
	}
}

// ReadExtension is Vocabulary.Read of what an event carries of an extension: on an event of the
// extension's own type (§7.4) its members beside the envelope, and on any other what stands under
// the prefix. It reports false, and reads nothing, if there is none, or the event's context does
// not name the vocabulary, so that the prefix is another vocabulary's (§3.2.1), such as another
// version of this one.
func (e *Event) ReadExtension(v Vocabulary, into any) (bool, error) {
	data := e.Extensions[v.Prefix]
	if _, isOwn := e.Payload.(*ExtensionPayload); isOwn && strings.HasPrefix(string(e.Type()), v.Prefix+":") {
		if data = e.Unknown; len(data) == 0 {
			data = json.RawMessage("{}")
		}
	}
	if data == nil || !slices.Contains(e.Context, v.URI) {
		return false, nil
	}
	return true, v.Read(data, into)
}

// inOwnNamespace reports whether a URI is one of AAEP's own names. Those of extensions that the
// project hosts are not.
func inOwnNamespace(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(scheme, "aaep") ||
		slices.ContainsFunc([]string{"context", "types", "vocab"}, func(name string) bool {
			namespace := "https://aaep-protocol.org/" + name
			return len(uri) >= len(namespace) && strings.EqualFold(uri[:len(namespace)], namespace) &&
				(len(uri) == len(namespace) || uri[len(namespace)] == '/')
		})
}

// versionsIn reports whether a part of the path of a URI is a major version, such as v1, and
// whether one is a version with a minor number, such as v1.2 or 1.2. The host does not count.
func versionsIn(uri string) (major, minor bool) {
	_, path, _ := strings.Cut(uri, ":")
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		i := strings.IndexAny(rest, "/?#")
		if i < 0 {
			return false, false
		}
		path = rest[i:]
	}
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/?#:=&;,-_", r) }) {
		number, hasV := strings.CutPrefix(strings.ToLower(part), "v")
		first, rest, _ := strings.Cut(number, ".")
		switch {
		case first == "" || strings.Trim(first, "0123456789") != "":
		case rest != "" && isDigit(rest[0]):
			minor = true
		case hasV:
			major = true
		}
	}
	return major, minor
}
