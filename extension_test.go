package aaep_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

var medai = aaep.Vocabulary{Prefix: "medai", URI: "https://example.org/medai/context/v1"}

// A vocabulary has a prefix of its own and a URI with a version; what is wrong is named by
// requirement and place.
func TestVocabulary(t *testing.T) {
	for _, c := range []struct {
		prefix, uri, want string // want is the requirement and the place of what is wrong
	}{
		{"medai", "https://example.org/medai/context/v1", ""},
		{"azlearn", "https://aaep-protocol.org/extensions/multilingual-african-languages/v1", ""},
		{"own", "https://aaep-protocol.org/contexts/own/v1", ""},
		{"fi", "https://my-company.com/aaep-extensions/finance/v12#", ""},
		{"ext_a-b.c", "urn:example:medai:v2", ""},
		{"教育", "https://example.org/edu-v1.jsonld", ""},
		{"aaep2", "https://example.org/v1/terms?x=1.5", "EXT-016 /uri"},

		{"", medai.URI, "EXT-004 /prefix"},
		{"a:b", medai.URI, "EXT-004 /prefix"},
		{"a b", medai.URI, "EXT-004 /prefix"},
		{"a\u202eb", medai.URI, "EXT-004 /prefix"},
		{strings.Repeat("a", 257), medai.URI, "EXT-004 /prefix"},
		{"medai", "", "EXT-004 /uri"},
		{"medai", "medai/v1", "EXT-004 /uri"},
		{"medai", "https://example.org/ä/v1", "EXT-004 /uri"},
		{"x", medai.URI, "EXT-008 /prefix"},
		{"languages", medai.URI, "HS-041 /prefix"},
		{"event_filters", medai.URI, "HS-041 /prefix"},
		{"é", medai.URI, "EXT-008 /prefix"},
		{"aaep", medai.URI, "EXT-009 /prefix"},
		{"AAEP", medai.URI, "EXT-009 /prefix"},
		{"xsd", medai.URI, "EXT-009 /prefix"},
		{"rdf", medai.URI, "EXT-009 /prefix"},
		{"rdfs", medai.URI, "EXT-009 /prefix"},
		{"@id", medai.URI, "EXT-009 /prefix"},
		{"medai", aaep.CoreContext, "EXT-003 /uri"},
		{"medai", "https://aaep-protocol.org/context/medai/v1", "EXT-003 /uri"},
		{"medai", "HTTPS://AAEP-protocol.org/vocab/v1", "EXT-003 /uri"},
		{"medai", "aaep:medai/v1", "EXT-003 /uri"},
		{"medai", "https://example.org/medai", "EXT-016 /uri"}, // EXT-005
		{"medai", "https://v1.example.org/medai", "EXT-016 /uri"},
		{"medai", "https://v1.example.org", "EXT-016 /uri"},
		{"medai", "https://example.org/medai/v1.2.3", "EXT-016 /uri"},
		{"medai", "https://example.org/medai/v1.2", "EXT-016 /uri"},
		{"medai", "https://example.org/medai/1.0", "EXT-016 /uri"},
		{"medai", "https://example.org/v1/medai/1.0", "EXT-016 /uri"},
		{"medai", "https://example.org/vitals/video1", "EXT-016 /uri"},
	} {
		err := aaep.Vocabulary{Prefix: c.prefix, URI: c.uri}.Validate()
		var invalid *aaep.InvalidError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q %q: %v", c.prefix, c.uri, err)
		case c.want == "":
		case !errors.As(err, &invalid):
			t.Errorf("%q %q: %v, want %s", c.prefix, c.uri, err, c.want)
		case !slices.ContainsFunc(invalid.Violations,
			func(v aaep.Violation) bool { return v.Requirement+" "+v.Pointer == c.want }):
			t.Errorf("%q %q: %v, want %s", c.prefix, c.uri, err, c.want)
		case err.Error() != aaep.SafeText(err.Error()):
			t.Errorf("%q is not safe to log", err)
		}
	}
}

// D-06, ENV-046, ENV-047, EXT-019: what is added passes Validate and comes back, and its vocabulary
// is named once.
func TestAddExtension(t *testing.T) {
	e := startedEvent(func(e *aaep.Event) { e.Context = nil })
	type record struct {
		Accessed bool     `json:"patient_data_accessed"`
		Kinds    []string `json:"phi_categories"`
	}
	if err := e.AddExtension(medai, record{true, []string{"medications"}}); err != nil {
		t.Fatal(err)
	}
	before := *e
	if err := e.AddExtension(aaep.Vocabulary{Prefix: "haptic", URI: "https://example.org/haptic/v2"},
		json.RawMessage(`{"pulse": 2.50}`)); err != nil {
		t.Fatal(err)
	}
	if err := e.AddExtension(medai, map[string]any{"patient_data_accessed": false}); err != nil {
		t.Fatal(err)
	}
	data, err := aaep.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `"extensions":{"haptic":{"pulse":2.50},"medai":{"patient_data_accessed":false}}`
	if !strings.Contains(string(data), want) ||
		!strings.HasPrefix(string(data), `{"@context":["https://aaep-protocol.org/context/v1","https://example.org/medai/context/v1","https://example.org/haptic/v2"],`) {
		t.Errorf("%s", data)
	}
	if got := decodeEvent(t, string(data)); got.Diagnostics != nil || len(got.Extensions) != 2 {
		t.Errorf("read back with %v", got.Diagnostics)
	}
	if len(before.Context) != 2 || len(before.Extensions) != 1 ||
		!strings.Contains(string(before.Extensions["medai"]), "medications") {
		t.Errorf("a copy changed: %v %s", before.Context, before.Extensions)
	}
	if err := startedEvent(leaveUnchanged).AddExtension(medai, json.RawMessage(nestedJSON(6))); err != nil {
		t.Error(err) // the event and its extensions are two levels more
	}
	shared := make([]string, 1, 4)
	shared[0] = aaep.CoreContext
	a, b := startedEvent(leaveUnchanged), startedEvent(leaveUnchanged)
	a.Context, b.Context = shared, shared
	if a.AddExtension(medai, record{}) != nil ||
		b.AddExtension(aaep.Vocabulary{Prefix: "other", URI: "urn:a:v1"}, record{}) != nil ||
		a.Context[1] != medai.URI {
		t.Errorf("two events share a context: %v", a.Context)
	}
}

// ENV-005, EXT-013: what an extension brings is read by a program that knows it, by the vocabulary
// that the event names; another one of the same prefix is none of theirs.
func TestReadExtension(t *testing.T) {
	type record struct {
		Accessed bool `json:"patient_data_accessed"`
		Letters  int  `json:"letters"`
	}
	event := func(context, data string) *aaep.Event {
		return startedEvent(func(e *aaep.Event) {
			e.Context = []string{aaep.CoreContext, context}
			e.Extensions = map[string]json.RawMessage{"medai": json.RawMessage(data)}
		})
	}
	for name, c := range map[string]struct {
		event *aaep.Event
		there bool
		want  record
		wrong string // the place of what is wrong
	}{
		"known": {event(medai.URI, `{"patient_data_accessed":true,"letters":5,"later":{}}`), true,
			record{true, 5}, ""},
		"another's":       {event("https://example.org/medai/context/v2", `{"letters":5}`), false, record{}, ""},
		"nothing":         {startedEvent(leaveUnchanged), false, record{}, ""},
		"a whole number":  {event(medai.URI, `{"letters":5.0}`), true, record{Letters: 5}, ""},
		"a fraction":      {event(medai.URI, `{"letters":5.5}`), true, record{}, "/letters"},
		"beyond all":      {event(medai.URI, `{"letters":1e30}`), true, record{}, "/letters"},
		"another name":    {event(medai.URI, `{"Letters":5}`), true, record{}, ""},
		"another type":    {event(medai.URI, `{"letters":"five"}`), true, record{}, "/letters"},
		"a name is twice": {event(medai.URI, `{"letters":5,"letters":6}`), true, record{Letters: 5}, "/letters"},
	} {
		var got record
		there, err := c.event.ReadExtension(medai, &got)
		var invalid *aaep.InvalidError
		if there != c.there || got != c.want || errors.As(err, &invalid) != (c.wrong != "") {
			t.Errorf("%s: %v, %+v, %v", name, there, got, err)
		} else if invalid != nil && invalid.Violations[0].Pointer != c.wrong {
			t.Errorf("%s: what is wrong is at %q, want %q", name, invalid.Violations[0].Pointer, c.wrong)
		}
	}
}

// What no peer could read as it was meant is not added.
func TestAddExtensionRefuses(t *testing.T) {
	for about, c := range map[string]struct {
		v    aaep.Vocabulary
		data any
	}{
		"vocabulary": {aaep.Vocabulary{Prefix: "aaep", URI: medai.URI}, map[string]any{}},
		"list":       {medai, []int{1}},
		"nil":        {medai, nil},
		"number":     {medai, map[string]any{"n": uint64(1<<53 + 1)}},
		"not JSON":   {medai, map[string]any{"n": math.NaN()}},
		"function":   {medai, map[string]any{"f": func() {}}},
		"bytes":      {medai, map[string]any{"s": "\xff"}},
		"raw":        {medai, json.RawMessage(`{"a":1,"a":2}`)},
		"deep":       {medai, json.RawMessage(nestedJSON(7))},
	} {
		e := startedEvent(leaveUnchanged)
		err := e.AddExtension(c.v, c.data)
		var invalid *aaep.InvalidError
		if !errors.As(err, &invalid) || e.Extensions != nil || len(e.Context) != 1 {
			t.Errorf("%s: %v leaves %v and %s", about, err, e.Context, e.Extensions)
		}
	}
	// A context that names only AAEP itself declares no prefix, however often it does.
	e := startedEvent(withPrefixed("medai", `{}`))
	e.Context[1] = aaep.CoreContext
	if err := aaep.Validate(e); err == nil || !strings.Contains(err.Error(), "ENV-047") {
		t.Error(err)
	}
}

// ENV-048, EXT-012: unknown extensions cost an event nothing, and an event of an unknown type
// speaks. The samples of §7.4.1 and §7.5.1 are D-06's: an undeclared prefix is noted, a declared
// one is not.
func TestUnknownExtensions(t *testing.T) {
	context := `"@context":["https://aaep-protocol.org/context/v1","https://example.org/fedlearn/context/v1"]`
	text := strings.Replace(publishedEvent("fedlearn:model.parameters.updated",
		`,"round_number":47,"extensions":{"medai":{"audit":[1]}}`),
		`"@context":"https://aaep-protocol.org/context/v1"`, context, 1)
	e := decodeEvent(t, text)
	if e.Diagnostics != nil || e.Text("") != "Something happened." ||
		string(e.Extensions["medai"]) != `{"audit":[1]}` || string(e.Unknown) != `{"round_number":47}` {
		t.Errorf("%+v", e)
	}
}
