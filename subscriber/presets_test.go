package subscriber

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/schemas"
)

var presets = map[string]aaep.Capabilities{
	"ScreenReader": ScreenReader("en-US"), "VoiceControl": VoiceControl("en-US"), "Braille": Braille(40, "en-US"),
	"Captions": Captions("en-US"), "Switch": Switch("en-US"), "Haptic": Haptic("buzz", "pulse"), "Logger": Logger(),
	"no language": ScreenReader(), "empty languages": Braille(1000, []string{}...),
}

func encodableRequest(c aaep.Capabilities) *aaep.SubscriptionRequest {
	return &aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "r", Capabilities: c}
}

// Every preset can be sent, and a producer that has the language honors each word of it. HS-008,
// HS-012, HS-017, HS-023, HS-041
func TestPresets(t *testing.T) {
	offer := negotiation.Offer{Languages: []string{"en-US"}, Levels: []int64{1, 2}, Extensions: extensions.All()}
	for name, c := range presets {
		msg, err := aaep.Encode(encodableRequest(c))
		if err == nil {
			err = errors.Join(schemas.Validate(msg), extensions.Check(c))
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		terms, err := negotiation.Negotiate(encodableRequest(c), offer)
		if err != nil || len(terms.Notes) > 0 {
			t.Errorf("%s: %v %q, want no notes", name, err, terms.Notes)
		}
		honored := terms.Capabilities()
		if err := checkAccepted(encodableRequest(c),
			&aaep.SubscriptionAccepted{AAEPVersion: aaep.Version, HonoredCapabilities: honored}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if honored.EventFilters.Exclude = nil; c.EventFilters == nil {
			honored.EventFilters = nil
		}
		// What was left out has its default; all that was asked for must be as it was.
		if got := honored.With(c); !reflect.DeepEqual(got, honored) {
			t.Errorf("%s: honored are\n%+v, asked for was\n%+v", name, honored, c)
		}
	}
}

// A preset that offers to answer answers everything, which Level 2 asks for, and the others are not
// asked. A person who reads by touch can answer, in the time that takes. HS-022, D-58, D-34
func TestPresetsAnswer(t *testing.T) {
	multiplier := map[string]float64{"VoiceControl": 2, "Braille": 3, "empty languages": 3, "Switch": 10}
	for name, c := range presets {
		answers := name != "Haptic" && name != "Logger"
		if isTrue(c.SupportsConfirmationReply) != answers || isTrue(c.SupportsClarificationReply) != answers ||
			slices.Contains(c.SupportedConformanceLevels, 2) != answers {
			t.Errorf("%s: %+v", name, c)
		}
		var timing extensions.Timing
		if raw := c.Extensions["timing"]; raw != nil {
			if err := json.Unmarshal(raw, &timing); err != nil {
				t.Error(err)
			}
		}
		if timing.TimeoutMultiplier != multiplier[name] {
			t.Errorf("%s has %v times the time, want %v", name, timing.TimeoutMultiplier, multiplier[name])
		}
	}
}

// A preset is the caller's own: nothing is shared with what it was made of, or with the next one.
func TestPresetsAreValues(t *testing.T) {
	tags := []string{"en"}
	c := Braille(40, tags...)
	tags[0] = "de"
	quiet := c.With(aaep.Capabilities{PaceWPM: 60, SupportsConfirmationReply: new(false)})
	if c.Languages[0] != "en" || c.PaceWPM != 0 || !isTrue(c.SupportsConfirmationReply) ||
		quiet.Extensions["braille"] == nil {
		t.Errorf("%+v, %+v", c, quiet)
	}
	Logger().SupportedExtensions[0] = "https://acme.example/x"
	if Logger().SupportedExtensions[0] != extensions.DeliveryVocabulary.URI {
		t.Error("two loggers share a list")
	}
}

// What no device has is not sent: the error says what it was and what would be right. HS-041
func TestPresetsRefused(t *testing.T) {
	for _, tt := range []struct {
		c    aaep.Capabilities
		want string
	}{
		{Braille(0, "en"), "braille/cells: must be at least 1"},
		{ScreenReader("yo", "english"), `languages/1: must be the tag of a language, such as en-US, and is "english"`},
		{Braille(-40, "en"), "braille/cells: must be at least 1"},
		{Braille(1001, "en"), "braille/cells: must be at most 1000"},
		{Haptic(), "haptic/patterns_supported: must not be empty"},
		{Haptic("buzz", "buzz"), "haptic/patterns_supported: must not have the same entry twice"},
		{Haptic("buzz", ""), "haptic/patterns_supported/1: must"},
		{Haptic(strings.Repeat("x", 257)), "haptic/patterns_supported/0: must"},
		{Haptic("\xff"), `haptic: member "patterns_supported" is missing`},
	} {
		st := newStage()
		_, err := Dial(t.Context(), st, Config{ID: "r", Capabilities: tt.c})
		var invalid *aaep.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "/capabilities/"+tt.want) ||
			st.dials.Load() != 0 {
			t.Errorf("Dial = %v, %d dials; want %q and none", err, st.dials.Load(), tt.want)
		}
	}
	other := aaep.Capabilities{}
	if err := other.AddExtension(aaep.Vocabulary{Prefix: "braille", URI: "https://acme.example/braille/v1"},
		map[string]int{"cells": 0}); err != nil {
		t.Fatal(err)
	}
	if err := extensions.Check(other); err != nil {
		t.Errorf("somebody else's extension: %v", err)
	}
}
