// Package extensions holds the extensions of AAEP that this SDK brings: braille, haptic, timing and
// delivery. They are made as any other extension is (see handshake.Extension), and a producer
// serves them unless it is told otherwise. Their JSON Schemas are in schemas/extensions.
//
// A subscriber declares one with Capabilities.AddExtension:
//
//	caps.AddExtension(extensions.BrailleVocabulary, extensions.Braille{Cells: 40})
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
	return []handshake.Extension{braille(), delivery(), haptic(), timing()}
}

// Check reports what is wrong with the capability objects of this package's extensions in c, as an
// *aaep.InvalidError. A producer only leaves out of what it honors what it cannot read. An object
// is judged where c names the extension's URI: any author may use the same prefix for another.
func Check(c aaep.Capabilities) error {
	var all []aaep.Violation
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
				all = append(all, v)
			}
		default:
			return err
		}
	}
	if all == nil {
		return nil
	}
	return &aaep.InvalidError{Message: "capabilities", Violations: all}
}

// vocabulary names one of our own extensions. The URI is a name under our control; nothing is ever
// fetched.
func vocabulary(prefix string) aaep.Vocabulary {
	return aaep.Vocabulary{Prefix: prefix, URI: "https://github.com/aaep-go/aaep/extensions/" + prefix + "/v1"}
}

// extension makes one whose capability object is read into a T. What T does not know, as from a
// newer peer, is not honored and costs nothing but a note.
func extension[T any](v aaep.Vocabulary, honor func(asked T) handshake.Effect) handshake.Extension {
	return handshake.Extension{
		Vocabulary: v,
		Capability: check(v, "capability"),
		Honor: func(asked json.RawMessage) handshake.Effect {
			var capability struct {
				Known T                         `json:",embed"`
				Other map[string]jsontext.Value `json:",embed"`
			}
			if err := v.Read(asked, &capability); err != nil { // though it has passed the schema
				return handshake.Effect{Honored: json.RawMessage("null")} // which leaves the extension out, and says so
			}
			e := honor(capability.Known)
			if e.Honored == nil {
				e.Honored = raw(capability.Known)
			}
			if len(capability.Other) > 0 {
				e.Note = "Of " + v.Prefix + " this is not served: " +
					strings.Join(slices.Sorted(maps.Keys(capability.Other)), ", ") + "."
			}
			return e
		},
	}
}

func check(v aaep.Vocabulary, part string) func(json.RawMessage) error {
	return func(data json.RawMessage) error { return schemas.ValidateExtension(v.Prefix, part, data) }
}

// raw writes what is of this package's own making.
func raw(v any) json.RawMessage {
	data, err := jsonv2.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
