// Package manifest is what a producer says of itself before a subscriber asks (§5.10): who it is,
// what it speaks, in which languages and over which transports. It is an advertisement, not a
// promise; what holds is agreed on in the handshake.
//
// A producer builds one with Producer.Manifest, and producer/serve publishes it at Path. Assistive
// technology fetches it with Discover to learn how an agent can be reached; package
// subscriber/discover makes dialers of that.
//
// A signed manifest proves who wrote it (§10.4). Signer signs with a key of a file, or of a KMS;
// Verifier believes the keys and authorities that it is given, and nothing that a token brings
// along; Trust also gets keys from where an agent publishes them, and can remember them from the
// first use on.
//
// What a manifest holds is in manifest.go, fetching it in fetch.go. Signing is in sign.go, reading
// keys in keys.go, reading a token and its times in token.go, judging it in verify.go, and chains
// of certificates in certificate.go. Keys that are remembered are in firstuse.go, keys that are
// fetched in source.go, and names that mislead in lookalike.go.
package manifest

import (
	"errors"
	"fmt"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/nesting"
	"github.com/aaep-go/aaep/schemas"
)

// Type is the value of a manifest's "type" member.
const Type = "aaep:producer.manifest"

// Path is where a producer publishes its manifest, at the root of its HTTP origin (§5.10.2).
const Path = "/.well-known/aaep-manifest.json"

// MaxSize is the largest manifest that is read, in bytes.
const MaxSize = 256 << 10

// The names of transports. The first three are AAEP's own (§5.10.1), the others follow them.
const (
	SSE       = "sse"
	WebSocket = "websocket"
	Stdio     = "stdio-jsonrpc"
	Unix      = "unix-socket"
	Pipe      = "windows-named-pipe"
	GRPC      = "grpc"
)

// EndpointsVocabulary names the extension under which a manifest says where its transports are
// found, for which AAEP has no member.
var EndpointsVocabulary = aaep.Vocabulary{Prefix: "endpoints",
	URI: "https://github.com/aaep-go/aaep/extensions/endpoints/v1"}

// Endpoint is where one transport is found.
type Endpoint struct {
	// Address is a URL, relative to the manifest's own where the transport is HTTP ("/aaep/v1"), or
	// a socket's path ("unix:/run/user/1000/aaep/planner.sock").
	Address string `json:"address"`
	// Framing of a socket is "length" or "ndjson", of a pipe "message"; empty on others.
	Framing string `json:"framing,omitzero"`
}

// Manifest is what a producer says of itself. The zero values of what is optional are left out.
type Manifest struct {
	Context                    []string                  `json:"-"`
	AgentID                    string                    `json:"agent_id"`
	AgentVersion               string                    `json:"agent_version,omitzero"`
	AgentName                  string                    `json:"agent_name,omitzero"`
	AAEPVersionsSupported      []string                  `json:"aaep_versions_supported"`
	ConformanceLevelsSupported []int64                   `json:"conformance_levels_supported"`
	TransportsSupported        []string                  `json:"transports_supported"`
	LanguagesSupported         []string                  `json:"languages_supported"`
	EventTypesEmitted          []string                  `json:"event_types_emitted"`
	ExtensionsSupported        []string                  `json:"extensions_supported"`
	DefaultVerbosity           aaep.Verbosity            `json:"default_verbosity,omitzero"`
	MaxConcurrentSubscriptions int64                     `json:"max_concurrent_subscriptions,omitzero"`
	Contact                    string                    `json:"contact,omitzero"`
	Extensions                 map[string]jsontext.Value `json:"extensions,omitzero"`
}

// A manifestForm is a manifest as it is written.
type manifestForm struct {
	Context jsontext.Value `json:"@context,omitzero"`
	Type    string         `json:"type"`
	Manifest
}

// Encode writes a manifest that is valid, or returns an *aaep.InvalidError. The lists of m are left
// as they are. A nil list is written as an empty one, and an empty Context as the core context.
func Encode(m *Manifest) ([]byte, error) {
	f := manifestForm{Type: Type, Manifest: *m}
	for _, list := range []*[]string{&f.AAEPVersionsSupported, &f.TransportsSupported, &f.LanguagesSupported,
		&f.EventTypesEmitted, &f.ExtensionsSupported} {
		if *list == nil {
			*list = []string{} // a member that is there, for the schema to judge
		}
	}
	context := m.Context
	if len(context) == 0 {
		context = []string{aaep.CoreContext}
	}
	var err error
	if len(context) == 1 {
		f.Context, err = jsonv2.Marshal(context[0])
	} else {
		f.Context, err = jsonv2.Marshal(context)
	}
	if err != nil {
		return nil, err
	}
	data, err := jsonv2.Marshal(f, jsonv2.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if err := schemas.Validate(data); err != nil {
		return nil, err
	}
	return data, nil
}

// unmarshalBounded decodes JSON that an unknown peer may have written. It refuses what nests too
// deep before it decodes anything (INV-32).
func unmarshalBounded(data []byte, v any) error {
	if nesting.TooDeep(data) {
		return fmt.Errorf("it nests deeper than %d levels", nesting.Most)
	}
	return jsonv2.Unmarshal(data, v)
}

// Parse reads a manifest. Any JSON object that names an agent_id is one: members that are missing
// are zero, and unknown ones are left out. Repeated member names, invalid UTF-8 and members of a
// wrong type are errors. It fetches nothing.
func Parse(data []byte) (*Manifest, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("manifest: it has %d bytes; at most %d are read", len(data), MaxSize)
	}
	var f manifestForm
	if err := unmarshalBounded(data, &f); err != nil {
		return nil, fmt.Errorf("manifest: it cannot be read: %s", aaep.SafeText(err.Error()))
	}
	return f.readManifest()
}

// readManifest returns the manifest of a form that was decoded, with its context. One of another
// type, or without an agent_id, is an error.
func (f *manifestForm) readManifest() (*Manifest, error) {
	if f.Type != "" && aaep.CompactType(f.Type) != Type {
		return nil, fmt.Errorf("manifest: its type is %q, want %s", aaep.SafeText(f.Type), Type)
	}
	if f.AgentID == "" {
		return nil, errors.New("manifest: it names no agent_id")
	}
	m := &f.Manifest
	if len(f.Context) > 0 && jsonv2.Unmarshal(f.Context, &m.Context) != nil {
		var context string
		if err := jsonv2.Unmarshal(f.Context, &context); err != nil {
			return nil, errors.New("manifest: its @context is neither a string nor a list of strings")
		}
		m.Context = []string{context}
	}
	return m, nil
}

// AddEndpoint says where a transport is found, in place of what was said of it before, and that it
// is served. The error is for endpoints of m that cannot be read; m is as before then.
func (m *Manifest) AddEndpoint(transport string, endpoint Endpoint) error {
	endpoints, err := m.Endpoints()
	if err != nil {
		return err
	}
	if endpoints == nil {
		endpoints = map[string]Endpoint{}
	}
	endpoints[transport] = endpoint
	data, err := jsonv2.Marshal(endpoints, jsonv2.Deterministic(true))
	if err != nil {
		return err
	}
	if m.Extensions == nil {
		m.Extensions = map[string]jsontext.Value{}
	}
	m.Extensions[EndpointsVocabulary.Prefix] = data
	if len(m.Context) == 0 {
		m.Context = []string{aaep.CoreContext}
	}
	if !slices.Contains(m.Context, EndpointsVocabulary.URI) {
		m.Context = append(slices.Clip(m.Context), EndpointsVocabulary.URI)
	}
	if !slices.Contains(m.TransportsSupported, transport) {
		m.TransportsSupported = append(slices.Clip(m.TransportsSupported), transport)
	}
	return nil
}

// Endpoints returns where the transports are found, by name; nil where the manifest lacks the
// extension of EndpointsVocabulary.
func (m *Manifest) Endpoints() (map[string]Endpoint, error) {
	data := m.Extensions[EndpointsVocabulary.Prefix]
	if data == nil || !slices.Contains(m.Context, EndpointsVocabulary.URI) {
		return nil, nil
	}
	var endpoints map[string]Endpoint
	if err := unmarshalBounded(data, &endpoints); err != nil {
		return nil, fmt.Errorf("manifest: extensions.%s: %s", EndpointsVocabulary.Prefix, aaep.SafeText(err.Error()))
	}
	return endpoints, nil
}
