package negotiation_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// §5.3.1, HS-012..039: the default of every capability is the one the seed writes;
// testdata/defaults.txt is its text.
func TestSeedDefaults(t *testing.T) {
	text, err := os.ReadFile("testdata/defaults.txt")
	if err != nil {
		t.Fatal(err)
	}
	terms := negotiate(t, aaep.Capabilities{}, generous)
	raw, err := json.Marshal(terms.Capabilities())
	if err != nil {
		t.Fatal(err)
	}
	var honored map[string]any
	if err := json.Unmarshal(raw, &honored); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 24 {
		t.Fatalf("%d lines; want twelve capabilities of two lines", len(lines))
	}
	for i := 0; i < len(lines); i += 2 {
		_, name, _ := strings.Cut(lines[i], " ")
		byDefault := strings.TrimPrefix(lines[i+1], "Default if absent: ")
		got, present := honored[name]
		switch name {
		case "max_events_per_second", "pace_wpm": // "No rate limit", "Subscriber-defined": nothing is written
			if present {
				t.Errorf("%s is honored as %v; the seed says %s", name, got, byDefault)
			}
		default:
			var want any
			if err := json.Unmarshal([]byte(byDefault), &want); err != nil {
				t.Fatalf("%s: %v in %s", name, err, byDefault)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s is honored as %v; the seed says %v", name, got, want)
			}
		}
	}
	if terms.Note() != "" {
		t.Errorf("defaults need no note, yet it says %q", terms.Note())
	}
}

// The exchange of §5.2.3 and §5.4.3: honored as requested.
func TestSeedExample(t *testing.T) {
	asked := aaep.Capabilities{MaxEventsPerSecond: 3, PreferredVerbosity: aaep.VerbosityNormal,
		Languages:                 []string{"en-US"},
		SupportsConfirmationReply: new(true), SupportsClarificationReply: new(true),
		CoalesceBoundaries: []aaep.Boundary{aaep.BoundarySentence, aaep.BoundaryCompletion},
		EventFilters: &aaep.EventFilters{Include: []string{"aaep:agent.*"},
			Exclude: []string{"aaep:agent.progress.updated"}},
		SupportedConformanceLevels: []int64{1, 2}}
	want := asked
	want.SupportedExtensions, want.CognitiveLoad, want.AcceptSignedManifestsOnly = []string{},
		aaep.LoadMedium, new(false)
	if got := negotiate(t, asked, generous).Capabilities(); !reflect.DeepEqual(got, want) {
		t.Errorf("honored %+v; want %+v", got, want)
	}
}

// D-57, HS-005, HS-058, VER-008: our MAJOR as a release is spoken, everything else is refused, and
// told what is.
func TestVersions(t *testing.T) {
	for _, v := range []string{"1.0.0", "1.9.0", "1.0.1", "1.10.20", "1.999999999999999999999.0"} {
		req := request(aaep.Capabilities{})
		req.AAEPVersion = v
		if _, err := negotiation.Negotiate(req, generous); err != nil {
			t.Errorf("%q: %v", v, err)
		}
	}
	for _, v := range []string{"", "1", "1.0", "1.0.0.0", "0.1.0-draft", "0.9.0", "2.0.0", "10.0.0", "11.0.0",
		"99.99.99", "abc",
		"1.0.0-rc1", "1.0.0+build", "1..0", "1.0.", ".1.0.0", "v1.0.0", " 1.0.0", "1.0.0\n", "1.0.x", "1.-1.0", "١.٠.٠",
		"1.0.٠", "\u202e0.0.1", strings.Repeat("9", 64)} {
		req := request(aaep.Capabilities{})
		req.AAEPVersion = v
		_, err := negotiation.Negotiate(req, generous)
		refused(t, err, aaep.VersionUnsupported, "1.0.0")
		if t.Failed() {
			t.Fatalf("at %q", v)
		}
	}
}

// HS-040, HS-058, §5.5.3: every reason Negotiate has, and what it says.
func TestRefusals(t *testing.T) {
	english := negotiation.Offer{Languages: []string{"en-US", "yo-NG"}}
	for _, tc := range []struct {
		name  string
		ask   aaep.Capabilities
		offer negotiation.Offer
		code  aaep.ReasonCode
		says  []string
	}{
		{"no signed manifest", aaep.Capabilities{AcceptSignedManifestsOnly: new(true)}, english,
			aaep.ManifestSignatureRequired, []string{"accept_signed_manifests_only"}},
		{"no common language", aaep.Capabilities{Languages: []string{"fr", "de-DE"}}, english,
			aaep.CapabilitiesIncompatible, []string{"languages", "en-US, yo-NG"}},
		{"the default language is not offered", aaep.Capabilities{}, negotiation.Offer{Languages: []string{"de"}},
			aaep.CapabilitiesIncompatible, []string{"languages", "Available: de"}},
		{"no language at all", aaep.Capabilities{Languages: []string{}}, english,
			aaep.CapabilitiesIncompatible, []string{"en-US"}},
		{"more languages than a message has room for", aaep.Capabilities{Languages: []string{"fr"}},
			negotiation.Offer{Languages: strings.Fields(strings.Repeat("en-US-x-private ", 1000))},
			aaep.CapabilitiesIncompatible, []string{"en-US"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			terms, err := negotiation.Negotiate(request(tc.ask), tc.offer)
			refused(t, err, tc.code, tc.says...)
			if !reflect.DeepEqual(terms, negotiation.Terms{}) {
				t.Errorf("a refusal came with terms %+v", terms)
			}
			// HS-073: a renegotiation is refused for the same reasons, but for no language: that
			// would end what a person hears.
			now := negotiate(t, aaep.Capabilities{Languages: []string{"en", "de"}}, generous)
			if tc.ask.Languages == nil {
				tc.ask.Languages = []string{"en-US"}
			}
			terms, err = negotiation.Renegotiate(now, tc.ask, tc.offer)
			if tc.code != aaep.CapabilitiesIncompatible {
				refused(t, err, tc.code, tc.says...)
			} else if raw, _ := answer(terms); err != nil || strings.Contains(string(raw), `"languages"`) ||
				!strings.Contains(terms.Note(), tc.offer.Languages[0]) {
				t.Errorf("a renegotiation got %s, note %q, error %v", raw, terms.Note(), err)
			}
		})
	}
}

// D-49, HS-012, HS-049: the rate is the least of what was asked, what the producer serves, and
// 100000.
func TestRate(t *testing.T) {
	for _, tc := range []struct{ ask, top, want int64 }{
		{0, 0, 0}, // unlimited on both sides
		{3, 0, 3},
		{3, 2, 2},
		{3, 3, 3},
		{3, 4, 3},
		{0, 50, 50},
		{100000, 0, 100000},
		{0, 100000, 100000},
		{0, 100001, 100000},
		{0, 1 << 62, 100000},
		{1, -1, 1},
		{0, -1, 0},
	} {
		offer := generous
		offer.MaxEventsPerSecond = tc.top
		terms := negotiate(t, aaep.Capabilities{MaxEventsPerSecond: tc.ask}, offer)
		if terms.MaxEventsPerSecond != tc.want {
			t.Errorf("asked %d of %d: honored %d; want %d", tc.ask, tc.top, terms.MaxEventsPerSecond, tc.want)
		}
		if noted := strings.Contains(terms.Note(), "events per second"); noted != (tc.want != tc.ask) {
			t.Errorf("asked %d of %d: note %q", tc.ask, tc.top, terms.Note())
		}
		if _, err := answer(terms); err != nil {
			t.Errorf("asked %d of %d: %v", tc.ask, tc.top, err)
		}
	}
}

// D-13: what we do not know is ignored and noted; what we know of it is honored.
func TestUnknownValues(t *testing.T) {
	terms := negotiate(t, aaep.Capabilities{PreferredVerbosity: "brief", CognitiveLoad: "none",
		CoalesceBoundaries: []aaep.Boundary{"token", aaep.BoundaryWord}, SupportedConformanceLevels: []int64{3},
		SupportedExtensions: []string{"aaep-ext-medical-1.0", "https://example.org/b"},
		// HS-042, D-61
		Extensions: map[string]json.RawMessage{"zzz": json.RawMessage(`{}`), "haptic.on": json.RawMessage(`true`)},
	}, negotiation.Offer{Levels: []int64{1, 2}, Extensions: generous.Extensions})
	c := terms.Capabilities()
	if c.PreferredVerbosity != aaep.VerbosityNormal || c.CognitiveLoad != aaep.LoadMedium ||
		!reflect.DeepEqual(c.CoalesceBoundaries, []aaep.Boundary{aaep.BoundaryWord}) ||
		c.SupportedConformanceLevels != nil ||
		!reflect.DeepEqual(c.SupportedExtensions, []string{"https://example.org/b"}) || c.Extensions != nil {
		t.Errorf("honored %+v", c)
	}
	for _, s := range []string{`"brief"`, `"none"`, `"token"`} {
		if !strings.Contains(terms.Note(), s) {
			t.Errorf("note %q does not name %s", terms.Note(), s)
		}
	}
}

// HS-048, P10: a long request makes no long note, and no lasting one.
func TestNoteIsBounded(t *testing.T) {
	boundaries := []aaep.Boundary{aaep.BoundaryWord, aaep.Boundary(strings.Repeat("é", 9000))}
	for i := range 50000 {
		boundaries = append(boundaries, aaep.Boundary(strings.Repeat("x", i%50+1)))
	}
	terms := negotiate(t, aaep.Capabilities{PreferredVerbosity: "\u202e\x1b[2J", CoalesceBoundaries: boundaries},
		generous)
	if _, err := answer(terms); err != nil {
		t.Error(err)
	}
	if n := len([]rune(terms.Note())); n != 4096 || !strings.HasSuffix(terms.Note(), "…") {
		t.Errorf("the note has %d characters", n)
	}
	if strings.ContainsAny(terms.Note(), "\u202e\x1b") {
		t.Error("the note shows what could deceive or disturb its reader")
	}
	if n := len(strings.Join(terms.Notes, "")); n > 3*4096 {
		t.Errorf("the terms keep %d bytes of notes", n)
	}
}

// BenchmarkNegotiate is one request with everything in it, against an offer of forty languages.
func BenchmarkNegotiate(b *testing.B) {
	offer := generous
	for i := range 40 {
		offer.Languages = append(offer.Languages, fmt.Sprintf("%c%c-NG", 'a'+i/26, 'a'+i%26))
	}
	offer.Languages = append(offer.Languages, "yo")
	for name, req := range map[string]*aaep.SubscriptionRequest{"full": request(full()),
		"empty": request(aaep.Capabilities{})} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := negotiation.Negotiate(req, offer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// D-13, D-45: unknown boundaries cost nothing but a note; text comes sentence by sentence, also
// later on.
func TestNoKnownBoundary(t *testing.T) {
	terms := negotiate(t, aaep.Capabilities{CoalesceBoundaries: []aaep.Boundary{"page", "line"}}, generous)
	for range 2 {
		if c := terms.Capabilities(); c.CoalesceBoundaries != nil || len(terms.Boundaries) != 0 {
			t.Errorf("honored %v", terms.Boundaries)
		}
		if _, err := answer(terms); err != nil {
			t.Error(err)
		}
		terms = renegotiate(t, terms, aaep.Capabilities{PaceWPM: 100}, generous)
	}
	first := negotiate(t, aaep.Capabilities{CoalesceBoundaries: []aaep.Boundary{"page"}}, generous)
	if note := first.Note(); !strings.Contains(note, `"page"`) || !strings.Contains(note, "sentence by sentence") {
		t.Errorf("note %q", note)
	}
}

// SEC-017: who may only listen is not asked, and is told so if it wanted to be; a renegotiation
// opens no other door.
func TestReadOnly(t *testing.T) {
	offer := generous
	offer.ReadOnly = true
	for _, wants := range []bool{true, false} {
		asks := aaep.Capabilities{SupportsConfirmationReply: new(wants), SupportsClarificationReply: new(wants)}
		terms := negotiate(t, asks, offer)
		again, err := negotiation.Renegotiate(terms, asks, offer)
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []negotiation.Terms{terms, again} {
			if got.ConfirmationReply || got.ClarificationReply {
				t.Errorf("replies wanted %t: they are honored: %+v", wants, got)
			}
			if told := strings.Contains(got.Note(), "questions are put to others"); told != wants {
				t.Errorf("replies wanted %t: the note is %q", wants, got.Note())
			}
		}
	}
}
