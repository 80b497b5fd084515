package aaep

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// MaxRate is the most events in a second that a subscription can ask for (§5.3.1.1, D-49).
const MaxRate = 100000

// Capabilities is what a subscriber asks for, or what a producer honors (§5.3). A field that is
// zero or nil is absent; package internal/negotiation fills in the defaults.
type Capabilities struct {
	// MaxEventsPerSecond is from 1 to MaxRate; absent asks for no limit.
	MaxEventsPerSecond int64     `json:"max_events_per_second,omitzero"`
	PreferredVerbosity Verbosity `json:"preferred_verbosity,omitzero"`
	// Languages are BCP 47 tags, best first.
	Languages                  []string      `json:"languages,omitzero"`
	SupportsConfirmationReply  *bool         `json:"supports_confirmation_reply,omitzero"`
	SupportsClarificationReply *bool         `json:"supports_clarification_reply,omitzero"`
	CoalesceBoundaries         []Boundary    `json:"coalesce_boundaries,omitzero"`
	EventFilters               *EventFilters `json:"event_filters,omitzero"`
	SupportedConformanceLevels []int64       `json:"supported_conformance_levels,omitzero"`
	// SupportedExtensions are URIs.
	SupportedExtensions []string      `json:"supported_extensions,omitzero"`
	CognitiveLoad       CognitiveLoad `json:"cognitive_load,omitzero"`
	// PaceWPM is how fast the subscriber speaks, from 50 to 1000 words per minute.
	PaceWPM                   int64 `json:"pace_wpm,omitzero"`
	AcceptSignedManifestsOnly *bool `json:"accept_signed_manifests_only,omitzero"`
	// Extensions holds one capability object per extension prefix (§5.3.2). What a peer sent there
	// may be any JSON value. They stand among the other members on the wire.
	Extensions map[string]json.RawMessage `json:",embed"`
}

// EventFilters chooses event types by pattern: a literal type, or a prefix ending in * (§5.3.1.7).
// Exclude wins over Include; critical events pass whatever the filters say.
type EventFilters struct {
	Include []string `json:"include,omitzero"`
	Exclude []string `json:"exclude,omitzero"`
}

// Match reports whether events of type t pass: some Include pattern matches it, or there is none,
// and no Exclude pattern does. A pattern is a type, or a prefix and a final *. Critical events are
// sent whatever Match says. Nil lets all pass.
func (f *EventFilters) Match(t Type) bool {
	match := func(pattern string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(string(t), prefix)
		}
		return pattern == string(t)
	}
	if f == nil {
		return true
	}
	included := len(f.Include) == 0 || slices.ContainsFunc(f.Include, match)
	return included && !slices.ContainsFunc(f.Exclude, match)
}

// plainCapabilities are Capabilities without methods.
type plainCapabilities Capabilities

// MarshalJSON writes the capabilities as they stand in a message, extensions among the members.
func (c Capabilities) MarshalJSON() ([]byte, error) {
	return jsonv2.Marshal(plainCapabilities(c), writeOptions)
}

// UnmarshalJSON reads the capabilities as they stand in a message; what is no other member is the
// object of an extension. After an error c is as before.
func (c *Capabilities) UnmarshalJSON(data []byte) error {
	var read plainCapabilities
	if err := jsonv2.Unmarshal(data, &read, readOptions); err != nil {
		return err
	}
	*c = Capabilities(read)
	return nil
}

// With returns c with the fields that change sets in place of its own, as a renegotiation has it
// (§5.7.1). A zero field of change leaves that of c; of Extensions, each prefix counts by itself.
// Neither c nor change is changed.
func (c Capabilities) With(change Capabilities) Capabilities {
	extensions := c.Extensions
	if len(change.Extensions) > 0 {
		if extensions = maps.Clone(extensions); extensions == nil { // the caller's, or another goroutine's
			extensions = map[string]json.RawMessage{}
		}
		maps.Copy(extensions, change.Extensions)
	}
	target, changes := reflect.ValueOf(&c).Elem(), reflect.ValueOf(change)
	for i := range changes.NumField() {
		if field := changes.Field(i); !field.IsZero() { // an empty list is not absent
			target.Field(i).Set(field)
		}
	}
	c.Extensions = extensions
	return c
}

// AddExtension declares an extension: what is known of it goes under its prefix, and its URI among
// SupportedExtensions, so that its data is sent (§5.3.1.9, §5.3.2). Capability is what the JSON
// library writes as an object; it replaces what the same extension had there. It returns an
// *InvalidError, and leaves c as it was, if v or capability is not valid, or another extension has
// the prefix. Copies of c keep what they have.
//
// A change of terms that is already agreed on replaces SupportedExtensions whole, as any list: give
// it those that are to stay, too, as they are in Subscription.Accepted of package subscriber.
func (c *Capabilities) AddExtension(v Vocabulary, capability any) error {
	if err := v.Validate(); err != nil {
		return err
	}
	raw, err := jsonv2.Marshal(capability, writeOptions)
	if err != nil {
		return wrapError(v.Prefix, err)
	}
	var check checker
	check.checkWithin(appendPointer("/capabilities", v.Prefix), func() {
		check.checkObject("HS-041", "", raw, 2, maxEventDepth)
		check.checkUnshared(v, c.Extensions[v.Prefix] != nil, c.SupportedExtensions)
	})
	if err := check.asError("capabilities"); err != nil {
		return err
	}
	*c = c.With(Capabilities{Extensions: map[string]json.RawMessage{v.Prefix: raw}})
	if !slices.Contains(c.SupportedExtensions, v.URI) {
		c.SupportedExtensions = append(slices.Clip(c.SupportedExtensions), v.URI)
	}
	return nil
}
