// Package schemas holds JSON Schemas (draft 2020-12) for everything aaep.Encode writes, and a
// validator compiled from them.
//
// They are this project's own text, stricter than the schemas AAEP publishes: what is valid here is
// valid there too, and beyond that core events are closed, critical types say that they are
// critical, every event but a piece of output has a summary, and an irreversible action defaults to
// reject.
//
// Use aaep.Validate, or just aaep.Encode, in a program that sends: it is about a hundred times
// faster, and it also sees what a schema cannot: lengths in bytes, unbalanced bidirectional
// isolates, a step above total_steps. Use this package where raw JSON is judged exactly as it was
// written: in tests, in tools, in conformance runs. It is also a second opinion, since it shares no
// code with aaep.Validate. Neither judges the order of messages.
//
// Do not use it to decide whether to read a peer's event. Reading is liberal (§12.6); see
// aaep.Decode.
package schemas

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/aaep-go/aaep"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// base begins the $id of every schema. It names no place on the web: nothing is ever fetched.
const base = "urn:aaep-go:schemas:v1:"

// suffix ends the name of every schema file.
const suffix = ".schema.json"

//go:embed *.schema.json events/*.schema.json messages/*.schema.json documents/*.schema.json extensions/*.schema.json
var files embed.FS

// FS returns the schema files, for serving or copying: envelope.schema.json, common.schema.json,
// and one file per type in events, messages and documents, and one per extension of this SDK's own
// in extensions. The $id of a file is "urn:aaep-go:schemas:v1:" and its name without folder and
// ending.
func FS() fs.FS { return files }

// A set is the compiled schemas.
type set struct {
	byType   map[string]*jsonschema.Schema // by type of message, or what extensionPart returns
	envelope *jsonschema.Schema            // of events of unknown types
	docs     map[string]any                // the schema files by $id
}

// load compiles the embedded schemas once.
var load = sync.OnceValues(compileFiles)

// compileFiles compiles the embedded schemas; load calls it once. It fails only where a schema of
// this package is wrong.
func compileFiles() (*set, error) {
	s := &set{byType: map[string]*jsonschema.Schema{}, docs: map[string]any{}}
	types := map[string]string{} // $id by type
	c := newCompiler()
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := files.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		doc, err := jsonschema.UnmarshalJSON(f)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name := strings.TrimSuffix(d.Name(), suffix)
		id := base + name
		switch folder, _, _ := strings.Cut(path, "/"); folder {
		case "events", "documents":
			types["aaep:"+name] = id
		case "messages":
			types[name] = id
		case "extensions":
			types[extensionPart(name, "capability")] = id + "#/$defs/capability"
			if hasPart(doc, "event") {
				types[extensionPart(name, "event")] = id + "#/$defs/event"
			}
		}
		s.docs[id] = doc
		return c.AddResource(id, doc)
	})
	if err != nil {
		return nil, fmt.Errorf("schemas: %w", err)
	}
	for typ, id := range types {
		if s.byType[typ], err = c.Compile(id); err != nil {
			return nil, fmt.Errorf("schemas: %w", err)
		}
	}
	if s.envelope, err = c.Compile(base + "envelope"); err != nil {
		return nil, fmt.Errorf("schemas: %w", err)
	}
	return s, nil
}

// newCompiler makes a compiler that fetches nothing.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	return c
}

// noLoader refuses to fetch: every schema is embedded.
type noLoader struct{}

// Load fails; it is a jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not one of the embedded schemas", url)
}

// Validate checks one message, or a producer's manifest, as it is written: the "type" member
// chooses the schema, in any of its spellings (D-04), and an event of a type this SDK does not know
// is checked against the envelope alone. The error is an *aaep.InvalidError with one Violation per
// failure, 64 at most. Its text never repeats a value of the message, which may hold a reply token.
//
// Repeated member names, invalid UTF-8 and anything after the message are failures too. Validate
// may be called by many goroutines at once. The first call compiles the schemas, which takes some
// milliseconds.
func Validate(data []byte) error {
	s, err := load()
	if err != nil {
		return err
	}
	v, err := parseJSON(data)
	if err != nil {
		return err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return newInvalid("ENV-068", "", "a message must be a JSON object")
	}
	typ, ok := object["type"].(string)
	if !ok {
		return newInvalid("ENV-011", "/type", "must be a string")
	}
	if compact := string(aaep.CompactType(typ)); compact != typ { // read in any spelling, as the decoder does
		typ = compact
		object["type"] = compact
	}
	schema := s.byType[typ]
	if schema == nil {
		schema = s.envelope
	}
	return s.explainError(typ, schema.Validate(v))
}

// ValidateExtension checks data against the schema of one of this SDK's own extensions: delivery,
// braille, haptic or timing. Part is "capability" for what a subscriber declares, or "event" for
// what stands under the extension's prefix on an event. The error is as Validate's.
func ValidateExtension(name, part string, data []byte) error {
	s, err := load()
	if err != nil {
		return err
	}
	schema := s.byType[extensionPart(name, part)]
	if schema == nil {
		return fmt.Errorf("schemas: there is no extension %q with a part %q", name, part)
	}
	v, err := parseJSON(data)
	if err != nil {
		return err
	}
	return s.explainError(name, schema.Validate(v))
}

// extensionPart keys the schemas of extensions apart from the types, which have no space.
func extensionPart(name, part string) string { return name + " " + part }

// hasPart reports whether a schema document has a schema for a part under $defs.
func hasPart(doc any, part string) bool {
	object, _ := doc.(map[string]any)
	defs, _ := object["$defs"].(map[string]any)
	_, ok := defs[part]
	return ok
}

// parseJSON reads one JSON value as the validator wants it, and refuses, with an
// *aaep.InvalidError, what different parsers would read differently.
func parseJSON(data []byte) (v any, err error) {
	if err := jsonv2.Unmarshal(data, &v, jsonv2.WithUnmarshalers(exactNumbers)); err != nil {
		if jsontext.Value(data).IsValid() {
			return nil, newInvalid("ENV-066", "", "has a number no double can hold")
		}
		return nil, newInvalid("ENV-064", "", "must be one JSON value in UTF-8 in which no member name repeats")
	}
	return v, nil
}

// exactNumbers reads a number that is not whole as a double that is not, where the nearest double
// would be: 90.00000000000000001 is no integer (D-14).
var exactNumbers = jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	text := token.String()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return err
	}
	if f == math.Trunc(f) && !isWhole(text) {
		f = math.Nextafter(f, math.Inf(1))
	}
	*v = f
	return nil
})

// isWhole reports whether a JSON number is an integer, by its digits.
func isWhole(text string) bool {
	digits, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	integer, fraction, _ := strings.Cut(strings.TrimPrefix(digits, "-"), ".")
	digits = strings.TrimLeft(integer+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	shift, err := strconv.Atoi(cmp.Or(exponent, "0"))
	trailingZeros := len(digits) - len(significant)
	hasNoFraction := err == nil && shift+trailingZeros >= len(fraction)
	return significant == "" || hasNoFraction
}

// newInvalid returns an error with one violation.
func newInvalid(requirement, pointer, problem string) error {
	return &aaep.InvalidError{Violations: []aaep.Violation{{Requirement: requirement, Pointer: pointer,
		Problem: problem}}}
}

// MustCompile compiles an extension's own schema, which is in the program's text: a JSON Schema
// document with $defs for its parts, "capability" and "event", as the files in extensions have
// them. It returns the check of one part; nothing is ever fetched. The check's error is as
// Validate's, and it may be called by many goroutines at once. A schema that is wrong panics;
// keywords that JSON Schema does not know, as one that is misspelt, mean nothing in it.
func MustCompile(document, part string) func(json.RawMessage) error {
	s, schema, err := compilePart(document, part)
	if err != nil {
		panic(fmt.Errorf("schemas: %w", err))
	}
	return func(data json.RawMessage) error {
		v, err := parseJSON(data)
		if err != nil {
			return err
		}
		return s.explainError(part, schema.Validate(v))
	}
}

// compilePart compiles the part, such as event or capability, of an extension's own schema
// document. The error is for a document that is no schema, or has no such part.
func compilePart(document, part string) (*set, *jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	if err != nil {
		return nil, nil, err
	}
	if !hasPart(doc, part) {
		return nil, nil, fmt.Errorf("the document has no $defs/%s", part)
	}
	const id = "urn:extension"
	c := newCompiler()
	if err := c.AddResource(id, doc); err != nil {
		return nil, nil, err
	}
	schema, err := c.Compile(id + "#/$defs/" + part)
	return &set{docs: map[string]any{id: doc}}, schema, err
}
