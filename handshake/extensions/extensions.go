// Package extensions holds the extensions of AAEP that this SDK brings: braille, haptic, timing and
// delivery. They are made as any other extension is (see handshake.Extension), and a producer
// serves them unless it is told otherwise. Their JSON Schemas are in schemas/extensions.
//
// A subscriber declares one with Capabilities.AddExtension:
//
//	caps.AddExtension(extensions.BrailleVocabulary, extensions.Braille{Cells: 40})
//
// Each extension has a file of its name; extensions.go lists them all and checks their data against
// the schemas.
package extensions

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/schemas"
)

// All returns the extensions of this package, for producer.Config.Extensions.
func All() []handshake.Extension {
	return []handshake.Extension{newBraille(), newDelivery(), newHaptic(), newTiming()}
}

// Check reports what is wrong with the capability objects of this package's extensions in c, as an
// *aaep.InvalidError. A producer only leaves out of what it honors what it cannot read. An object
// is judged where c names the extension's URI: any author may use the same prefix for another.
func Check(c aaep.Capabilities) error {
	var violations []aaep.Violation
	for _, ext := range All() {
		declared := c.Extensions[ext.Prefix]
		if declared == nil || !slices.Contains(c.SupportedExtensions, ext.URI) {
			continue
		}
		var invalid *aaep.InvalidError
		switch err := ext.Capability(declared); {
		case err == nil:
		case errors.As(err, &invalid):
			for _, v := range invalid.Violations {
				v.Pointer = "/capabilities/" + ext.Prefix + v.Pointer
				violations = append(violations, v)
			}
		default:
			return err
		}
	}
	if violations == nil {
		return nil
	}
	return &aaep.InvalidError{Message: "capabilities", Violations: violations}
}

// newVocabulary names one of our own extensions. The URI is a name under our control; nothing is
// ever fetched.
func newVocabulary(prefix string) aaep.Vocabulary {
	return aaep.Vocabulary{Prefix: prefix, URI: "https://github.com/aaep-go/aaep/extensions/" + prefix + "/v1"}
}

// newExtension makes an extension of this package. Its capability object is read into a T, and
// honor says what the extension changes for a subscriber that asked for that T; where honor leaves
// Effect.Honored nil, all of the T is honored. A member that T does not know, as from a newer peer,
// is not honored, and a note says so.
func newExtension[T any](v aaep.Vocabulary, honor func(asked T) handshake.Effect) handshake.Extension {
	return handshake.Extension{
		Vocabulary: v,
		Capability: makeSchemaCheck(v, "capability"),
		Honor: func(asked json.RawMessage) handshake.Effect {
			var capability struct {
				Known T                         `json:",embed"`
				Other map[string]jsontext.Value `json:",embed"`
			}
			if err := v.Read(asked, &capability); err != nil { // though it has passed the schema
				// No capability object is null, so the producer leaves the extension out and says
				// so.
				return handshake.Effect{Honored: json.RawMessage("null")}
			}
			e := honor(capability.Known)
			if e.Honored == nil {
				e.Honored = marshalOwn(capability.Known)
			}
			if len(capability.Other) > 0 {
				e.Note = "Of " + v.Prefix + " this is not served: " +
					strings.Join(slices.Sorted(maps.Keys(capability.Other)), ", ") + "."
			}
			return e
		},
	}
}

// makeSchemaCheck returns a function that checks data against the JSON Schema of one part of our
// own extension v: "capability" or "event".
func makeSchemaCheck(v aaep.Vocabulary, part string) func(json.RawMessage) error {
	return func(data json.RawMessage) error { return schemas.ValidateExtension(v.Prefix, part, data) }
}

// marshalOwn returns the JSON of a value that this package made, which cannot fail.
func marshalOwn(v any) json.RawMessage {
	data, err := jsonv2.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
