package aaep_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// The JSON samples of chapter 5 of the specification, word for word (D-01).
var seedSamples = map[string]string{
	"5.2.3": `{
"type": "subscription.request",
"aaep_version": "1.0.0",
"subscriber_id": "windows-narrator",
"subscriber_name": "Windows Narrator 11.2",
"subscriber_version": "11.2.5621.0",
"capabilities": {
"max_events_per_second": 3,
"preferred_verbosity": "normal",
"languages": ["en-US"],
"supports_confirmation_reply": true,
"supports_clarification_reply": true,
"coalesce_boundaries": ["sentence", "completion"],
"event_filters": {
"include": ["aaep:agent.*"],
"exclude": ["aaep:agent.progress.updated"]
},
"supported_conformance_levels": [1, 2]
}
}`,
	"5.3.2": `{
"capabilities": {
"max_events_per_second": 5,
"preferred_verbosity": "normal",
"haptic": {
"patterns_supported": ["pulse", "directional", "intensity_scale"],
"body_locations": ["wrist", "ankle"]
}
}
}`,
	"5.4.3": `{
"type": "subscription.accepted",
"subscription_id": "sub_8a4f2c9d1e7b5f3a",
"aaep_version": "1.0.0",
"producer": {
"agent_id": "retirement-planner",
"agent_version": "1.4.2",
"agent_name": "Retirement Planning Assistant"
},
"honored_capabilities": {
"max_events_per_second": 3,
"preferred_verbosity": "normal",
"languages": ["en-US"],
"supports_confirmation_reply": true,
"supports_clarification_reply": true,
"coalesce_boundaries": ["sentence", "completion"],
"supported_conformance_levels": [1, 2]
},
"manifest_uri": "https://example.com/.well-known/aaep-manifest.json"
}`,
	"5.7.1": `{
"type": "subscription.renegotiate",
"subscription_id": "sub_8a4f2c9d1e7b5f3a",
"capabilities": {
"max_events_per_second": 1,
"cognitive_load": "low"
}
}`,
	"5.8.1": `{
"type": "subscription.close",
"subscription_id": "sub_8a4f2c9d1e7b5f3a",
"reason_code": "subscriber_shutdown",
"reason_message": "Narrator is closing."
}`,
}

// The samples in the specification are read as what they show.
func TestSeedSamples(t *testing.T) {
	narrator := aaep.Capabilities{
		MaxEventsPerSecond: 3, PreferredVerbosity: aaep.VerbosityNormal, Languages: []string{"en-US"},
		SupportsConfirmationReply: pointerTo(true), SupportsClarificationReply: pointerTo(true),
		CoalesceBoundaries:         []aaep.Boundary{aaep.BoundarySentence, aaep.BoundaryCompletion},
		SupportedConformanceLevels: []int64{1, 2},
	}
	requested := narrator
	requested.EventFilters = &aaep.EventFilters{Include: []string{"aaep:agent.*"},
		Exclude: []string{"aaep:agent.progress.updated"}}
	for section, want := range map[string]aaep.Message{
		"5.2.3": &aaep.SubscriptionRequest{
			AAEPVersion: "1.0.0", SubscriberID: "windows-narrator", SubscriberName: "Windows Narrator 11.2",
			SubscriberVersion: "11.2.5621.0", Capabilities: requested,
		},
		"5.4.3": &aaep.SubscriptionAccepted{
			SubscriptionID: "sub_8a4f2c9d1e7b5f3a", AAEPVersion: "1.0.0",
			Producer: aaep.Agent{AgentID: "retirement-planner", AgentVersion: "1.4.2",
				AgentName: "Retirement Planning Assistant"},
			HonoredCapabilities: narrator, ManifestURI: "https://example.com/.well-known/aaep-manifest.json",
		},
		"5.7.1": &aaep.SubscriptionRenegotiate{
			SubscriptionID: "sub_8a4f2c9d1e7b5f3a",
			Capabilities:   aaep.Capabilities{MaxEventsPerSecond: 1, CognitiveLoad: aaep.LoadLow},
		},
		"5.8.1": &aaep.SubscriptionClose{
			SubscriptionID: "sub_8a4f2c9d1e7b5f3a", ReasonCode: aaep.SubscriberShutdown,
			ReasonMessage: "Narrator is closing.",
		},
	} {
		got, err := aaep.Decode([]byte(seedSamples[section]))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v; want %+v", section, got, err, want)
			continue
		}
		data, err := aaep.Encode(got)
		if err != nil {
			t.Errorf("%s: %v", section, err)
		}
		if !sameJSON(t, string(data), seedSamples[section]) {
			t.Errorf("%s is written as %s", section, data)
		}
	}
}

// The sample of 5.3.2 is a part of a request.
func TestSeedExtensionCapability(t *testing.T) {
	request := strings.Replace(seedSamples["5.3.2"], "{",
		`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"wristband",`, 1)
	m, err := aaep.Decode([]byte(request))
	if err != nil {
		t.Fatal(err)
	}
	caps := m.(*aaep.SubscriptionRequest).Capabilities
	want := `{"patterns_supported":["pulse","directional","intensity_scale"],"body_locations":["wrist","ankle"]}`
	if len(caps.Extensions) != 1 || !sameJSON(t, string(caps.Extensions["haptic"]), want) ||
		caps.MaxEventsPerSecond != 5 {
		t.Errorf("read as %+v", caps)
	}
}

// The field names of 5.2 to 5.8, once and exactly.
func TestSeedFieldNames(t *testing.T) {
	for typ, want := range map[reflect.Type]string{
		reflect.TypeFor[aaep.SubscriptionRequest]():     "aaep_version subscriber_id subscriber_name subscriber_version subscriber_manifest_uri correlation_id capabilities extensions",
		reflect.TypeFor[aaep.SubscriptionAccepted]():    "subscription_id aaep_version producer honored_capabilities manifest_uri signed_manifest negotiation_notes",
		reflect.TypeFor[aaep.SubscriptionRejected]():    "reason_code reason_message retry_after_seconds alternative_manifest_uri",
		reflect.TypeFor[aaep.SubscriptionRenegotiate](): "subscription_id capabilities",
		reflect.TypeFor[aaep.SubscriptionClose]():       "subscription_id reason_code reason_message",
		reflect.TypeFor[aaep.EventFilters]():            "include exclude",
		reflect.TypeFor[aaep.Capabilities](): "max_events_per_second preferred_verbosity languages supports_confirmation_reply " +
			"supports_clarification_reply coalesce_boundaries event_filters supported_conformance_levels " +
			"supported_extensions cognitive_load pace_wpm accept_signed_manifests_only",
	} {
		var got []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name != "" {
				got = append(got, name)
			}
		}
		if want := strings.Fields(want); !slices.Equal(got, want) {
			t.Errorf("%v has %v, want %v", typ, got, want)
		}
	}
}

// The enums of 5.3, the reason codes of 5.5.3 and the four critical types of 5.5.4.
func TestSeedWords(t *testing.T) {
	said := []string{
		string(aaep.VersionUnsupported), string(aaep.ManifestSignatureRequired), string(aaep.CapabilitiesIncompatible),
		string(aaep.RateLimit),
		string(aaep.AuthenticationRequired), string(aaep.AuthorizationDenied), string(aaep.TransportUnavailable),
		string(aaep.ReasonUnknown),
		string(aaep.VerbosityTerse), string(aaep.VerbosityNormal), string(aaep.VerbosityDetailed),
		string(aaep.BoundaryNone), string(aaep.BoundaryWord), string(aaep.BoundarySentence),
		string(aaep.BoundaryParagraph), string(aaep.BoundaryCompletion),
		string(aaep.LoadLow), string(aaep.LoadMedium), string(aaep.LoadHigh), string(aaep.SubscriberShutdown),
		aaep.Version,
	}
	want := strings.Fields("version_unsupported manifest_signature_required capabilities_incompatible rate_limit " +
		"authentication_required authorization_denied transport_unavailable unknown terse normal detailed " +
		"none word sentence paragraph completion low medium high subscriber_shutdown 1.0.0")
	if !slices.Equal(said, want) {
		t.Errorf("the words are %v, want %v", said, want)
	}
	for _, p := range allPayloads() {
		typ := p.EventType()
		critical := slices.Contains([]aaep.Type{
			"aaep:agent.session.errored", "aaep:agent.awaiting.confirmation", "aaep:agent.awaiting.clarification",
			"aaep:agent.handoff.requested",
		}, typ)
		terminal := slices.Contains([]aaep.Type{"aaep:agent.session.completed", "aaep:agent.session.errored",
			"aaep:agent.session.cancelled"}, typ)
		if typ.Critical() != critical || typ.Terminal() != terminal {
			t.Errorf("%s: Critical %v, Terminal %v", typ, typ.Critical(), typ.Terminal())
		}
	}
}

// sameJSON reports whether a and b are the same JSON value.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return reflect.DeepEqual(x, y)
}
