// Package extensions holds the extensions of AAEP that this SDK brings: braille, haptic, timing and delivery.
// They are made as anybody's are (see handshake.Extension), and a producer serves them unless it is told
// otherwise. Their JSON Schemas are in schemas/extensions.
//
// A subscriber declares one with Capabilities.AddExtension:
//
//	caps.AddExtension(extensions.BrailleVocabulary, extensions.Braille{Cells: 40})
package extensions

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/schemas"
)

// All returns the extensions of this package, for producer.Config.Extensions.
func All() []handshake.Extension {
	return []handshake.Extension{braille(), delivery(), haptic(), timing()}
}

// vocabulary names one of our own extensions. The URI is a name under our control; nothing is ever fetched.
func vocabulary(prefix string) aaep.Vocabulary {
	return aaep.Vocabulary{Prefix: prefix, URI: "https://github.com/aaep-go/aaep/extensions/" + prefix + "/v1"}
}

// extension makes one whose capability object is read into a T.
func extension[T any](v aaep.Vocabulary, honor func(asked T) handshake.Effect) handshake.Extension {
	return handshake.Extension{
		Vocabulary: v,
		Capability: check(v, "capability"),
		Honor: func(asked json.RawMessage) handshake.Effect {
			var capability T
			if err := jsonv2.Unmarshal(asked, &capability); err != nil { // it has passed the schema
				return handshake.Effect{}
			}
			return honor(capability)
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
