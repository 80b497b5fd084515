package negotiation_test

import (
	"reflect"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// full is a request in which no field has its default.
func full() aaep.Capabilities {
	return aaep.Capabilities{
		MaxEventsPerSecond: 3, PreferredVerbosity: aaep.VerbosityTerse, Languages: []string{"yo-NG", "en"},
		SupportsConfirmationReply: new(true), SupportsClarificationReply: new(true),
		CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryParagraph},
		EventFilters: &aaep.EventFilters{Include: []string{"xb:*"},
			Exclude: []string{"aaep:agent.tool.*"}},
		SupportedConformanceLevels: []int64{2, 3}, SupportedExtensions: []string{"https://example.org/b"},
		CognitiveLoad: aaep.LoadLow, PaceWPM: 120, AcceptSignedManifestsOnly: new(true),
	}
}

// HS-073, HS-075, §5.7.1: a renegotiation changes what it names, and nothing else.
func TestRenegotiateKeepsTheRest(t *testing.T) {
	offer := generous
	offer.Languages = []string{"en-US", "yo"}
	changes := map[string]aaep.Capabilities{
		"MaxEventsPerSecond":         {MaxEventsPerSecond: 100000},
		"PreferredVerbosity":         {PreferredVerbosity: aaep.VerbosityDetailed},
		"Languages":                  {Languages: []string{"en-GB"}},
		"SupportsConfirmationReply":  {SupportsConfirmationReply: new(false)},
		"SupportsClarificationReply": {SupportsClarificationReply: new(false)},
		"CoalesceBoundaries":         {CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryNone}},
		"EventFilters":               {EventFilters: &aaep.EventFilters{Include: []string{}, Exclude: []string{"x:y"}}},
		"SupportedConformanceLevels": {SupportedConformanceLevels: []int64{1}},
		"SupportedExtensions":        {SupportedExtensions: []string{}},
		"CognitiveLoad":              {CognitiveLoad: aaep.LoadHigh},
		"PaceWPM":                    {PaceWPM: 400},
		"AcceptSignedManifestsOnly":  {AcceptSignedManifestsOnly: new(false)},
		"":                           {}, // nothing
	}
	if n := reflect.TypeFor[aaep.Capabilities]().NumField() - 1; len(changes)-1 != n { // without Extensions
		t.Fatalf("%d capabilities are changed here; there are %d", len(changes)-1, n)
	}
	for name, change := range changes {
		now := negotiate(t, full(), offer)
		before := now.Capabilities()
		if !reflect.DeepEqual(before, full()) {
			t.Fatalf("honored %+v; want as requested", before)
		}
		after := renegotiate(t, now, change, offer).Capabilities()
		for i := range reflect.TypeFor[aaep.Capabilities]().NumField() {
			field := reflect.TypeFor[aaep.Capabilities]().Field(i).Name
			want := reflect.ValueOf(before).Field(i).Interface()
			if field == name {
				want = reflect.ValueOf(change).Field(i).Interface()
			}
			if got := reflect.ValueOf(after).Field(i).Interface(); !reflect.DeepEqual(got, want) {
				t.Errorf("%s changed: %s became %v; want %v", name, field, got, want)
			}
		}
		if !reflect.DeepEqual(now.Capabilities(), before) {
			t.Errorf("%s changed: the old terms changed too", name)
		}
	}
}

// HS-075, HS-053, INV-30: what was honored as nothing stays nothing; it does not come back as the
// default.
func TestRenegotiateKeepsNothing(t *testing.T) {
	offer := negotiation.Offer{Languages: []string{"en-US"}, AnyLanguage: true, Levels: []int64{1, 2}}
	terms := negotiate(t, aaep.Capabilities{Languages: []string{"fr"}, SupportedConformanceLevels: []int64{3},
		EventFilters: &aaep.EventFilters{Include: []string{}}}, offer)
	for range 3 {
		if len(terms.Levels)+len(terms.Languages)+len(terms.Filters.Include) != 0 {
			t.Fatalf("honored %+v", terms)
		}
		terms = renegotiate(t, terms, aaep.Capabilities{MaxEventsPerSecond: 1}, offer)
	}
}

// HS-025, D-47: filters are one field. A change that names only what to exclude includes the
// default.
func TestRenegotiateFilters(t *testing.T) {
	now := negotiate(t, aaep.Capabilities{EventFilters: &aaep.EventFilters{Include: []string{"xb:*"}}}, generous)
	terms := renegotiate(t, now,
		aaep.Capabilities{EventFilters: &aaep.EventFilters{Exclude: []string{"aaep:agent.tool.*"}}}, generous)
	want := negotiation.Filters{Include: []string{"aaep:agent.*"}, Exclude: []string{"aaep:agent.tool.*"}}
	if !reflect.DeepEqual(terms.Filters, want) {
		t.Errorf("filters %+v; want %+v", terms.Filters, want)
	}
}

// D-54: asking for 100000 lifts a limit up to what the producer serves; a note says where that
// ends.
func TestRenegotiateRate(t *testing.T) {
	offer := generous
	offer.MaxEventsPerSecond = 10
	terms := negotiate(t, aaep.Capabilities{MaxEventsPerSecond: 2}, offer)
	terms = renegotiate(t, terms, aaep.Capabilities{MaxEventsPerSecond: 100000}, offer)
	if terms.MaxEventsPerSecond != 10 || terms.Note() != "At most 10 events per second are served." {
		t.Errorf("rate %d, note %q", terms.MaxEventsPerSecond, terms.Note())
	}
	if terms = renegotiate(t, terms, aaep.Capabilities{PaceWPM: 100}, offer); terms.Note() != "" {
		t.Errorf("the limit is known by now, yet the note says %q", terms.Note())
	}
}
