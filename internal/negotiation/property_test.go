package negotiation_test

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// wish is what a subscriber asked for, read from the seed and not from this package.
type wish struct {
	rate             int64 // 0 is no limit
	languages        []string
	confirm, clarify bool
	boundaries       []aaep.Boundary
	include, exclude []string
	levels           []int64
	extensions       []string
	signed           bool
	verbosity, load  string
	pace             int64
	objects          map[string]json.RawMessage // by prefix of an extension
}

// add reads a request: what it leaves out stays.
func (w wish) add(c aaep.Capabilities) wish {
	if c.MaxEventsPerSecond != 0 {
		w.rate = c.MaxEventsPerSecond
	}
	if c.Languages != nil {
		w.languages = c.Languages
	}
	if c.SupportsConfirmationReply != nil {
		w.confirm = *c.SupportsConfirmationReply
	}
	if c.SupportsClarificationReply != nil {
		w.clarify = *c.SupportsClarificationReply
	}
	if c.CoalesceBoundaries != nil {
		w.boundaries = c.CoalesceBoundaries
	}
	if f := c.EventFilters; f != nil {
		if w.include, w.exclude = f.Include, f.Exclude; w.include == nil {
			w.include = []string{"aaep:agent.*"}
		}
	}
	if c.SupportedConformanceLevels != nil {
		w.levels = c.SupportedConformanceLevels
	}
	if c.SupportedExtensions != nil {
		w.extensions = c.SupportedExtensions
	}
	if c.AcceptSignedManifestsOnly != nil {
		w.signed = *c.AcceptSignedManifestsOnly
	}
	if c.PreferredVerbosity != "" {
		w.verbosity = string(c.PreferredVerbosity)
	}
	if c.CognitiveLoad != "" {
		w.load = string(c.CognitiveLoad)
	}
	if c.PaceWPM != 0 {
		w.pace = c.PaceWPM
	}
	if c.Extensions != nil {
		w.objects = maps.Clone(w.objects)
		if w.objects == nil {
			w.objects = map[string]json.RawMessage{}
		}
		maps.Copy(w.objects, c.Extensions)
	}
	return w
}

// nothing is asked by an empty request.
var nothing = wish{languages: []string{"en-US"}, boundaries: []aaep.Boundary{"sentence", "completion"},
	include: []string{"aaep:agent.*"},
	levels:  []int64{1}, verbosity: "normal", load: "medium"}

// honored reads terms as the wish they grant.
func honored(t negotiation.Terms) wish {
	return wish{t.MaxEventsPerSecond, t.Languages, t.ConfirmationReply, t.ClarificationReply, t.Boundaries,
		t.Filters.Include,
		t.Filters.Exclude, t.Levels, t.Extensions, t.SignedOnly, string(t.Verbosity), string(t.CognitiveLoad),
		t.PaceWPM, t.Capabilities().Extensions}
}

// excess names the fields in which w gives more than was asked. INV-30, P5, HS-049, 050, 051, 052,
// 053 and 054.
func (w wish) excess(asked wish) (fields []string) {
	more := func(field string, is bool) {
		if is {
			fields = append(fields, field)
		}
	}
	more("rate", asked.rate != 0 && (w.rate == 0 || w.rate > asked.rate))
	more("languages", !subset(w.languages, asked.languages))
	more("confirmation replies", w.confirm && !asked.confirm)
	more("clarification replies", w.clarify && !asked.clarify)
	known := func(b aaep.Boundary) bool {
		return slices.Contains([]aaep.Boundary{"none", "word", "sentence", "paragraph", "completion"}, b)
	}
	more("boundaries", !subset(w.boundaries, asked.boundaries) || len(w.boundaries) == 0 &&
		slices.ContainsFunc(asked.boundaries, known))
	more("levels", !subset(w.levels, asked.levels))
	more("extensions", !subset(w.extensions, asked.extensions))
	more("signature", asked.signed && !w.signed)
	for _, typ := range allTypes {
		more("filters for "+string(typ), passes(w.include, w.exclude, typ) &&
			!passes(asked.include, asked.exclude, typ))
	}
	for prefix, object := range w.objects { // nothing of ours gives something other than what was asked
		var is, was map[string]any
		if json.Unmarshal(object, &is) != nil || json.Unmarshal(asked.objects[prefix], &was) != nil {
			more(prefix, true)
		}
		for name, v := range is {
			more(prefix+"."+name, !reflect.DeepEqual(v, was[name]))
		}
	}
	// What has no order is granted as asked, or not at all.
	more("verbosity", w.verbosity != asked.verbosity &&
		slices.Contains([]string{"terse", "normal", "detailed"}, asked.verbosity))
	more("load", w.load != asked.load && slices.Contains([]string{"low", "medium", "high"}, asked.load))
	more("pace", w.pace != asked.pace)
	return fields
}

func subset[T comparable](a, b []T) bool {
	return !slices.ContainsFunc(a, func(v T) bool { return !slices.Contains(b, v) })
}

func distinct[T comparable](g *rapid.Generator[T], least, most int) *rapid.Generator[[]T] {
	return rapid.SliceOfNDistinct(g, least, most, rapid.ID[T])
}

// maybe draws from g, or its zero value, which is an absent capability.
func maybe[T any](t *rapid.T, name string, g *rapid.Generator[T]) (v T) {
	if rapid.Bool().Draw(t, name+" given") {
		v = g.Draw(t, name)
	}
	return v
}

func flag() *rapid.Generator[*bool] {
	return rapid.Map(rapid.Bool(), func(b bool) *bool { return &b })
}

var uris = rapid.SampledFrom([]string{"https://example.org/a", "https://example.org/b", "https://example.org/c",
	"urn:x:y"})

// anyCapabilities is whatever aaep.Decode lets a peer ask for, unknown values included.
func anyCapabilities(t *rapid.T) aaep.Capabilities {
	verbosity := rapid.SampledFrom([]aaep.Verbosity{"terse", "normal", "detailed", "brief", "\u202e"})
	boundary := rapid.SampledFrom([]aaep.Boundary{"none", "word", "sentence", "paragraph", "completion",
		"token", "line"})
	load := rapid.SampledFrom([]aaep.CognitiveLoad{"low", "medium", "high", "none"})
	return aaep.Capabilities{
		MaxEventsPerSecond:         maybe(t, "rate", rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, 100000))),
		PreferredVerbosity:         maybe(t, "verbosity", verbosity),
		Languages:                  maybe(t, "languages", distinct(tags, 1, 6)),
		SupportsConfirmationReply:  maybe(t, "confirm", flag()),
		SupportsClarificationReply: maybe(t, "clarify", flag()),
		CoalesceBoundaries:         maybe(t, "boundaries", distinct(boundary, 1, 7)),
		EventFilters: maybe(t, "filters", rapid.Custom(func(t *rapid.T) *aaep.EventFilters {
			return &aaep.EventFilters{Include: maybe(t, "include", distinct(patterns, 0, 5)),
				Exclude: maybe(t, "exclude", distinct(patterns, 0, 5))}
		})),
		SupportedConformanceLevels: maybe(t, "levels", distinct(rapid.Int64Range(1, 3), 1, 3)),
		SupportedExtensions: maybe(t, "extensions",
			distinct(rapid.OneOf(uris, rapid.Just("bare-signal")), 0, 4)),
		CognitiveLoad:             maybe(t, "load", load),
		PaceWPM:                   maybe(t, "pace", rapid.Int64Range(50, 1000)),
		AcceptSignedManifestsOnly: maybe(t, "signed", flag()),
		Extensions:                maybe(t, "objects", rapid.Custom(anyObjects)),
	}
}

// anyObjects declares extensions, rightly and wrongly.
func anyObjects(t *rapid.T) map[string]json.RawMessage {
	objects := map[string]json.RawMessage{}
	for prefix, members := range map[string]map[string]*rapid.Generator[any]{
		"braille": {"cells": number(0, 80), "rows": number(1, 3), "table": text("en-ueb-g2", "")},
		"haptic": {"patterns_supported": rapid.Just[any]([]string{"pulse", "buzz"}),
			"body_locations": rapid.Just[any]([]string{"wrist"})},
		"timing": {"timeout_multiplier": number(0, 11), "min_seconds": number(0, 2),
			"no_limit": rapid.Just[any](true)},
		"delivery": {"min_relevance": number(0, 1), "presence": text("user_typing", "idle"),
			"presence_expires_in": number(1, 300), "digest_seconds": number(0, 9),
			"idle_timeout_seconds": number(1, 9), "max_duration_seconds": number(1, 9), "debounce_ms": number(0, 9),
			"snapshot": rapid.Just[any](true), "resume_after": text("evt_1")},
		"unknown": {"x": number(0, 1)},
	} {
		if !rapid.Bool().Draw(t, prefix) {
			continue
		}
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if rapid.Bool().Draw(t, name) {
				object[name] = members[name].Draw(t, name)
			}
		}
		objects[prefix], _ = json.Marshal(object)
	}
	return objects
}

func number(least, most int) *rapid.Generator[any] {
	return rapid.Map(rapid.IntRange(least, most), func(n int) any { return n })
}

func text(values ...string) *rapid.Generator[any] {
	return rapid.Map(rapid.SampledFrom(values), func(s string) any { return s })
}

func anyOffer(t *rapid.T) negotiation.Offer {
	return negotiation.Offer{
		Languages: rapid.OneOf(rapid.Just([]string{"en-US", "yo-NG", "zh-Hant", "fr"}),
			rapid.SliceOfN(tags, 0, 6)).Draw(t, "offered languages"),
		AnyLanguage:        rapid.IntRange(0, 2).Draw(t, "any language") > 0,
		MaxEventsPerSecond: rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64()).Draw(t, "offered rate"),
		Levels: rapid.OneOf(rapid.Just([]int64{1, 2, 3}), distinct(rapid.Int64Range(0, 4), 0, 4)).Draw(t,
			"offered levels"),
		Extensions: slices.Concat(named(distinct(uris, 0, 4).Draw(t, "offered extensions")...),
			rapid.SampledFrom([][]handshake.Extension{nil, extensions.All()}).Draw(t, "ours")),
		SignedManifest: rapid.IntRange(0, 3).Draw(t, "offered signature") > 0,
	}
}

// INV-30, P5, HS-093: for arbitrary requests, offers and chains of renegotiations the honored terms
// are no more than was asked, can be sent, and are stable; a refusal has one of the codes of
// §5.5.3.
func TestNeverMoreThanAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offer, first := anyOffer(t), anyCapabilities(t)
		asked := nothing.add(first)
		terms, err := negotiation.Negotiate(request(first), offer)
		for i := 0; ; i++ {
			if err != nil {
				var r *aaep.Rejection
				if !errors.As(err, &r) || r.Code != aaep.CapabilitiesIncompatible &&
					r.Code != aaep.ManifestSignatureRequired ||
					r.Message == "" || !reflect.DeepEqual(terms, negotiation.Terms{}) {
					t.Fatalf("refused with %v and %+v", err, terms)
				}
				return
			}
			check(t, terms, asked, offer)
			if len(terms.Languages) == 0 && !offer.AnyLanguage && i == 0 {
				t.Fatalf("no language, and nobody allowed that: %+v", terms)
			}
			if i == 5 {
				return
			}
			change := anyCapabilities(t)
			asked = honored(terms).add(change)
			terms, err = negotiation.Renegotiate(terms, change, offer)
		}
	})
}

func check(t *rapid.T, terms negotiation.Terms, asked wish, offer negotiation.Offer) {
	if more := honored(terms).excess(asked); more != nil {
		t.Fatalf("more than asked: %v\nhonored %+v\nasked %+v\noffered %+v", more, terms, asked, offer)
	}
	var offered []string
	for _, ext := range offer.Extensions {
		offered = append(offered, ext.URI)
	}
	if !subset(terms.Extensions, offered) || !subset(terms.Levels, offer.Levels) || terms.SignedOnly &&
		!offer.SignedManifest ||
		offer.MaxEventsPerSecond > 0 &&
			(terms.MaxEventsPerSecond == 0 || terms.MaxEventsPerSecond > offer.MaxEventsPerSecond) {
		t.Fatalf("more than offered: %+v of %+v", terms, offer)
	}
	if raw, err := answer(terms); err != nil {
		t.Fatalf("the answer cannot be sent: %v", err)
	} else if _, err := aaep.Decode(raw); err != nil {
		t.Fatalf("the answer cannot be read: %v", err)
	}
	// Asking for nothing new, or again for what was honored, changes nothing.
	again, err := negotiation.Renegotiate(terms, aaep.Capabilities{}, offer)
	if err != nil || !same(again, terms) {
		t.Fatalf("an empty renegotiation: %v\n%+v\nwas %+v", err, again, terms)
	}
	if len(terms.Languages) == 0 || len(terms.Levels) == 0 || len(terms.Boundaries) == 0 {
		return // left out of the answer, which a request can only read as the default
	}
	again, err = negotiation.Negotiate(request(terms.Capabilities()), offer)
	isNews := func(note string) bool { return !strings.Contains(note, "leaves out nothing") } // that stays honored
	if err != nil || !same(again, terms) || slices.ContainsFunc(again.Notes, isNews) {
		t.Fatalf("asked for what was honored: %v\n%+v\nwas %+v", err, again, terms)
	}
}

// The comparison itself sees every field: a wish granted in one field more is caught.
func TestExcessSees(t *testing.T) {
	asked := nothing.add(full())
	for field, more := range map[string]aaep.Capabilities{
		"rate":                     {MaxEventsPerSecond: 4},
		"languages":                {Languages: []string{"fr"}},
		"boundaries":               {CoalesceBoundaries: []aaep.Boundary{"paragraph", "word"}},
		"levels":                   {SupportedConformanceLevels: []int64{1}},
		"extensions":               {SupportedExtensions: []string{"urn:x:y"}},
		"signature":                {AcceptSignedManifestsOnly: new(false)},
		"filters for haptic:pulse": {EventFilters: &aaep.EventFilters{Include: []string{"medai:*", "haptic:*"}}},
		"verbosity":                {PreferredVerbosity: "normal"},
		"load":                     {CognitiveLoad: "high"},
		"pace":                     {PaceWPM: 121},
		"timing.timeout_multiplier": {
			Extensions: map[string]json.RawMessage{"timing": json.RawMessage(`{"timeout_multiplier":3}`)}},
	} {
		if got := asked.add(more).excess(asked); !slices.Contains(got, field) {
			t.Errorf("%s: excess = %v", field, got)
		}
	}
	mute := asked.add(aaep.Capabilities{SupportsConfirmationReply: new(false), SupportsClarificationReply: new(false)})
	if got := asked.excess(mute); !slices.Equal(got, []string{"confirmation replies", "clarification replies"}) {
		t.Errorf("flags: excess = %v", got)
	}
	if got := asked.excess(asked); got != nil {
		t.Errorf("as asked: excess = %v", got)
	}
}
