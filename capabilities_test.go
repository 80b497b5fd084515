package aaep_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// allCapabilities asks for something in each field.
func allCapabilities() aaep.Capabilities {
	return aaep.Capabilities{
		MaxEventsPerSecond: 2, PreferredVerbosity: aaep.VerbosityTerse, Languages: []string{"yo"},
		SupportsConfirmationReply: new(true), SupportsClarificationReply: new(false),
		CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryWord},
		EventFilters:       &aaep.EventFilters{Exclude: []string{"a:b"}}, SupportedConformanceLevels: []int64{2},
		SupportedExtensions: []string{},
		CognitiveLoad:       aaep.LoadLow, PaceWPM: 200, AcceptSignedManifestsOnly: new(false),
		Extensions: map[string]json.RawMessage{"medai": json.RawMessage(`{"a":1}`)},
	}
}

// A change says what it says and nothing else, field by field; what is false or an empty list is
// said too.
func TestWith(t *testing.T) {
	all := reflect.ValueOf(allCapabilities())
	for i := range all.NumField() {
		name := all.Type().Field(i).Name
		if all.Field(i).IsZero() {
			t.Fatalf("this test asks for nothing in %s", name)
		}
		var alone aaep.Capabilities
		reflect.ValueOf(&alone).Elem().Field(i).Set(all.Field(i))
		if got := (aaep.Capabilities{}).With(alone); !reflect.DeepEqual(got, alone) {
			t.Errorf("%s alone makes %+v", name, got)
		}
		left := allCapabilities()
		reflect.ValueOf(&left).Elem().Field(i).SetZero()
		if got := left.With(alone); !reflect.DeepEqual(got, allCapabilities()) {
			t.Errorf("%s is not added: %+v", name, got)
		}
		if got := allCapabilities().With(left); !reflect.DeepEqual(got, allCapabilities()) {
			t.Errorf("a change without %s makes %+v", name, got)
		}
	}
	before, other := allCapabilities(), map[string]json.RawMessage{"b": json.RawMessage(`{}`)}
	if got := before.With(aaep.Capabilities{Extensions: other}); len(got.Extensions) != 2 ||
		len(before.Extensions) != 1 || len(other) != 1 {
		t.Errorf("the objects of both: %s, before %s", got.Extensions, before.Extensions)
	}
}

// A capability is declared under its prefix and by its URI, once, and copies keep what they have;
// what is none is refused.
func TestAddCapability(t *testing.T) {
	var c aaep.Capabilities
	for range 2 {
		if err := c.AddExtension(medai, map[string]int{"a": 1}); err != nil {
			t.Fatal(err)
		}
	}
	before := c
	if err := c.AddExtension(aaep.Vocabulary{Prefix: "other", URI: "urn:a:v1"}, struct{}{}); err != nil {
		t.Fatal(err)
	}
	if len(c.SupportedExtensions) != 2 || string(c.Extensions["medai"]) != `{"a":1}` || len(before.Extensions) != 1 ||
		len(before.SupportedExtensions) != 1 {
		t.Errorf("%+v, and before %+v", c, before)
	}
	for about, bad := range map[string]struct {
		v          aaep.Vocabulary
		capability any
	}{
		"vocabulary": {aaep.Vocabulary{Prefix: "aaep", URI: medai.URI}, struct{}{}},
		"list":       {medai, []int{1}},
		"nil":        {medai, nil},
		"function":   {medai, map[string]any{"f": func() {}}},
		"deep":       {medai, json.RawMessage(nestedJSON(7))},
	} {
		var invalid *aaep.InvalidError
		if err := c.AddExtension(bad.v, bad.capability); !errors.As(err, &invalid) || len(c.Extensions) != 2 {
			t.Errorf("%s: %v leaves %s", about, err, c.Extensions)
		}
	}
}

// A pattern matches its type or, with a final *, all that begin with it; what is included and
// not excluded passes, and no Include is all.
func TestEventFiltersMatch(t *testing.T) {
	for _, tc := range []struct {
		filters *aaep.EventFilters
		passes  bool
	}{
		{nil, true},
		{&aaep.EventFilters{}, true},
		{&aaep.EventFilters{Include: []string{"aaep:agent.*"}}, true},
		{&aaep.EventFilters{Include: []string{"aaep:agent.state"}}, false},
		{&aaep.EventFilters{Include: []string{string(aaep.TypeStateChanged)}}, true},
		{&aaep.EventFilters{Exclude: []string{"aaep:agent.state.*"}}, false},
		{&aaep.EventFilters{Include: []string{"*"}, Exclude: []string{"aaep:agent.output.*"}}, true},
	} {
		if got := tc.filters.Match(aaep.TypeStateChanged); got != tc.passes {
			t.Errorf("%+v lets %s pass: %v", tc.filters, aaep.TypeStateChanged, got)
		}
	}
}

// Capabilities that a program keeps by encoding/json, alone or in a message, are those of the wire:
// extensions are not lost, and whole numbers are read as there.
func TestCapabilitiesInPlainJSON(t *testing.T) {
	caps := aaep.Capabilities{MaxEventsPerSecond: 3, Languages: []string{"en-US"},
		Extensions: map[string]json.RawMessage{"braille": json.RawMessage(`{"cells":14}`)}}
	data, err := json.Marshal(map[string]any{"wanted": caps})
	if want := `{"wanted":{"max_events_per_second":3,"languages":["en-US"],"braille":{"cells":14}}}`; err != nil || string(data) != want {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
	var read struct{ Wanted aaep.Capabilities }
	if err := json.Unmarshal([]byte(strings.Replace(string(data), ":3", ":3.0", 1)), &read); err != nil || !reflect.DeepEqual(read.Wanted, caps) {
		t.Errorf("%+v, %v; want %+v", read.Wanted, err, caps)
	}
	if err := json.Unmarshal([]byte(`{"Wanted":{"languages":"en"}}`), &read); err == nil || !reflect.DeepEqual(read.Wanted, caps) {
		t.Errorf("what is none: %v, %+v", err, read.Wanted)
	}
}
