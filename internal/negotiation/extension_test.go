package negotiation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/negotiation"
)

func ext(prefix, uri string) handshake.Extension {
	return handshake.Extension{Vocabulary: aaep.Vocabulary{Prefix: prefix, URI: uri}}
}

// object is a capability object under a prefix.
func object(prefix, json_ string) map[string]json.RawMessage {
	return map[string]json.RawMessage{prefix: json.RawMessage(json_)}
}

const a1, a2, b1 = "https://a.example/med/context/v1", "https://a.example/med/context/v2",
	"https://b.example/medical/v1"

// EXT-006, EXT-017, D-62: two extensions with one prefix cannot both be had; two majors of one are
// no collision, and the newer is honored. Only what is chosen counts: by its URI, or by its prefix
// where no URI says which.
func TestCollisions(t *testing.T) {
	offer := negotiation.Offer{Extensions: []handshake.Extension{ext("med", a1), ext("med", a2), ext("med", b1),
		ext("ok", "https://c.example/v1")}}
	majors := negotiation.Offer{Extensions: offer.Extensions[:2]}
	for name, tc := range map[string]struct {
		offer  negotiation.Offer
		listed []string
		object string
		want   string // extensions honored, or "refused"
	}{
		"two URIs":                {offer, []string{a1, b1}, "", "refused"},
		"the prefix alone":        {offer, nil, `{}`, "refused"},
		"one URI":                 {offer, []string{a1}, "", a1},
		"one URI and the prefix":  {offer, []string{b1}, `{}`, b1},
		"others do not matter":    {offer, []string{"https://c.example/v1", b1}, "", "https://c.example/v1 " + b1},
		"two majors":              {majors, []string{a1, a2}, "", a2},
		"two majors, other order": {majors, []string{a2, a1}, `{}`, a2},
		"two majors by prefix":    {majors, nil, `{}`, ""},
		"an unknown URI":          {majors, []string{b1}, "", ""},
	} {
		ask := aaep.Capabilities{SupportedExtensions: tc.listed}
		if tc.object != "" {
			ask.Extensions = object("med", tc.object)
		}
		terms, err := negotiation.Negotiate(request(ask), tc.offer)
		if tc.want == "refused" {
			refused(t, err, aaep.CapabilitiesIncompatible, `"med"`)
			continue
		}
		if err != nil || strings.Join(terms.Extensions, " ") != tc.want {
			t.Errorf("%s: honored %v, %v; want %s", name, terms.Extensions, err, tc.want)
		}
		if honored := terms.Capabilities().Extensions["med"] != nil; honored != (tc.object != "") {
			t.Errorf("%s: the object is honored: %t", name, honored)
		}
	}
}

// An object whose prefix may be that of another extension that the subscriber lists is honored as
// that of the producer's (§5.3.2), and the notes say so.
func TestWhoseObject(t *testing.T) {
	offer := negotiation.Offer{Extensions: extensions.All()}
	ask := aaep.Capabilities{Extensions: object("braille", `{"cells":10}`)}
	for uri, note := range map[string]string{
		extensions.TimingVocabulary.URI:    "",
		extensions.BrailleVocabulary.URI:   "",
		"https://other.example/braille/v1": "braille is read as that of " + extensions.BrailleVocabulary.URI,
	} {
		ask.SupportedExtensions = []string{uri}
		terms, err := negotiation.Negotiate(request(ask), offer)
		if err != nil || terms.MaxChunk != 10 || !strings.Contains(terms.Note(), note) || note == "" && terms.Note() != "" {
			t.Errorf("%s: %v, note %q", uri, err, terms.Note())
		}
	}
}

// HS-041, HS-042, EXT-015, §5.3.2: an object that is not valid for its extension is left out, and a
// note says why in words that help; the subscription stands, and so does what was honored before.
func TestCapabilityObjects(t *testing.T) {
	offer := negotiation.Offer{Extensions: extensions.All()}
	for name, tc := range map[string]struct {
		ask     map[string]json.RawMessage
		honored string
		note    string
	}{
		"braille": {object("braille", `{"cells":40,"rows":2,"table":"en-ueb-g2"}`),
			`{"cells":40,"rows":2,"table":"en-ueb-g2"}`, ""},
		"no cells":   {object("braille", `{"rows":2}`), "", "cells"},
		"wrong type": {object("braille", `{"cells":"40"}`), "", "cells"},
		"another case": {object("braille", `{"cells":40,"Cells":80}`), `{"cells":40}`,
			"Of braille this is not served: Cells."},
		"from later": {object("haptic", `{"patterns_supported":["buzz"],"warmth":1}`),
			`{"patterns_supported":["buzz"]}`, "warmth"},
		"repeated":     {object("braille", `{"cells":40,"cells":80}`), "", "repeats"},
		"out of range": {object("timing", `{"timeout_multiplier":11}`), "", "timeout_multiplier"},
		"no number":    {object("timing", `{"timeout_multiplier":1e999}`), "", "number"},
		"no object":    {object("haptic", `["buzz"]`), "", "object"},
		"nothing":      {object("haptic", ``), "", ""},
		"partly": {object("delivery", `{"min_relevance":0.5,"digest_seconds":30,"debounce_ms":5}`),
			`{"min_relevance":0.5}`, "Of delivery this is not served: debounce_ms, digest_seconds."},
		"unknown":         {object("smell", `{"roses":true}`), "", ""},
		"not ours at all": {object("smell", `true`), "", "not known"},
	} {
		terms, err := negotiation.Negotiate(request(aaep.Capabilities{Extensions: tc.ask}), offer)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		for _, o := range terms.Capabilities().Extensions {
			got += string(o)
		}
		if got != tc.honored || !strings.Contains(terms.Note(), tc.note) || (tc.note == "") != (terms.Note() == "") &&
			name != "nothing" {
			t.Errorf("%s: honored %q with note %q", name, got, terms.Note())
		}
	}
	// A renegotiation that spoils one object leaves the others as they were.
	now, err := negotiation.Negotiate(
		request(aaep.Capabilities{Extensions: object("timing", `{"timeout_multiplier":3}`)}), offer)
	if err != nil {
		t.Fatal(err)
	}
	now = renegotiate(t, now, aaep.Capabilities{Extensions: object("braille", `{"cells":0}`)}, offer)
	if now.TimeoutMultiplier != 3 || now.MaxChunk != 0 || !strings.Contains(now.Note(), "braille") {
		t.Errorf("%+v", now)
	}
}

// What an extension honors is checked as what it was asked: a mistake of its author does not
// travel. Where two change the same, the subscriber gets what asks more of the producer.
func TestEffects(t *testing.T) {
	strict := func(data json.RawMessage) error {
		if strings.Contains(string(data), "bad") {
			return fmt.Errorf("it is bad")
		}
		return nil
	}
	says := func(e handshake.Effect) func(json.RawMessage) handshake.Effect {
		return func(json.RawMessage) handshake.Effect { return e }
	}
	offer := negotiation.Offer{Extensions: []handshake.Extension{
		{Vocabulary: aaep.Vocabulary{Prefix: "one", URI: "urn:one:v1"},
			Honor: says(handshake.Effect{MaxChunk: 40, TimeoutMultiplier: 2, Quiet: 5, IdleTimeout: 9})},
		{Vocabulary: aaep.Vocabulary{Prefix: "two", URI: "urn:two:v1"},
			Honor: says(handshake.Effect{MaxChunk: 20, TimeoutMultiplier: 99, Quiet: 4, MaxDuration: 3, Note: "Two."})},
		{Vocabulary: aaep.Vocabulary{Prefix: "bad", URI: "urn:bad:v1"}, Capability: strict,
			Honor: says(handshake.Effect{Honored: json.RawMessage(`{"bad":1}`), MaxChunk: 1})},
		{Vocabulary: aaep.Vocabulary{Prefix: "neg", URI: "urn:neg:v1"},
			Honor: says(handshake.Effect{MaxChunk: -1, IdleTimeout: -1, MaxDuration: -1, Quiet: -1,
				TimeoutMultiplier: -1})},
	}}
	terms := negotiate(t,
		aaep.Capabilities{Extensions: map[string]json.RawMessage{"one": json.RawMessage(`{}`),
			"two": json.RawMessage(`{}`),
			"bad": json.RawMessage(`{}`), "neg": json.RawMessage(`{}`)}}, offer)
	if terms.MaxChunk != 20 || terms.TimeoutMultiplier != 10 || terms.Quiet != 5 || terms.IdleTimeout != 9 ||
		terms.MaxDuration != 3 {
		t.Errorf("%+v", terms)
	}
	if note := terms.Note(); !strings.Contains(note, "Two.") || !strings.Contains(note, "bad is not used") ||
		terms.Capabilities().Extensions["bad"] != nil {
		t.Errorf("note %q", note)
	}
}

// EXT-001: data is for those who listed the extension, replaces nothing of the core, and is an
// object or nothing.
func TestExtend(t *testing.T) {
	weather := ext("weather", "https://w.example/v1")
	weather.Event = func(data json.RawMessage) error {
		if !strings.Contains(string(data), "rain") {
			return fmt.Errorf("no rain")
		}
		return nil
	}
	odd := ext("odd", "https://o.example/v1")
	odd.Honor = func(json.RawMessage) handshake.Effect {
		return handshake.Effect{Data: func(ev *aaep.Event, data json.RawMessage) json.RawMessage {
			return json.RawMessage(`"no object"`)
		}}
	}
	terms := negotiate(t,
		aaep.Capabilities{SupportedExtensions: []string{weather.URI, odd.URI}, Extensions: object("odd", `{}`)},
		negotiation.Offer{Extensions: []handshake.Extension{weather, odd, ext("other", "https://x.example/v1")}})
	for name, tc := range map[string]struct {
		had     map[string]json.RawMessage
		context []string
		payload aaep.Payload
		want    string
	}{
		"listed": {object("weather", `{"rain":1}`), []string{aaep.CoreContext, weather.URI},
			&aaep.SessionStarted{}, "map[weather:{\"rain\":1}] [" + aaep.CoreContext + " " + weather.URI + "]"},
		"not its own": {object("weather", `{"sun":1}`), []string{aaep.CoreContext, weather.URI},
			&aaep.SessionStarted{}, "map[] []"},
		"not listed": {object("other", `{}`), []string{aaep.CoreContext, "https://x.example/v1"},
			&aaep.SessionStarted{}, "map[] []"},
		"of another version": {object("weather", `{"rain":1}`), []string{aaep.CoreContext, "https://w.example/v2"},
			&aaep.SessionStarted{}, "map[] []"},
		"none": {nil, nil, &aaep.SessionStarted{}, "map[] []"},
		"its own event": {nil, []string{aaep.CoreContext, "urn:med:v1"}, &aaep.ExtensionPayload{Type: "med:dose"},
			"map[] [" + aaep.CoreContext + " urn:med:v1]"},
		"both": {object("weather", `{"rain":1}`), []string{aaep.CoreContext, "urn:med:v1", weather.URI},
			&aaep.ExtensionPayload{Type: "med:dose"}, "map[weather:{\"rain\":1}] [" + aaep.CoreContext + " urn:med:v1 " +
				weather.URI + "]"},
	} {
		ev := &aaep.Event{Extensions: tc.had, Context: tc.context, Payload: tc.payload}
		before := fmt.Sprintf("%s", tc.had)
		terms.Extend(ev)
		if got := fmt.Sprintf("%s %s", ev.Extensions, ev.Context); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if fmt.Sprintf("%s", tc.had) != before {
			t.Errorf("%s: the agent's own data was changed", name)
		}
	}
}

// What is kept for every event and told in every answer does not grow with what a peer declares
// (P7, P10).
func TestLongCapability(t *testing.T) {
	ext := handshake.Extension{Vocabulary: aaep.Vocabulary{Prefix: "lamp", URI: "https://lamp.example/v1"}}
	profiles := map[string]bool{}
	for _, size := range []int{1, 2, 1000, 60000, 100000, 900000} {
		object := fmt.Sprintf(`{"a":%q}`, strings.Repeat("a", size))
		terms, err := negotiation.Negotiate(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "x",
			Capabilities: aaep.Capabilities{
				SupportedExtensions: []string{ext.URI},
				Extensions:          map[string]json.RawMessage{"lamp": json.RawMessage(object)}}},
			negotiation.Offer{Extensions: []handshake.Extension{ext}})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(terms.Profile()); n == 0 || n > 64 {
			t.Errorf("%d bytes: the profile has %d", size, n)
		}
		honored := terms.Capabilities().Extensions["lamp"]
		if fits := size < 64<<10; fits != (honored != nil) || fits == (terms.Note() != "") {
			t.Errorf("%d bytes: honored %d bytes with the note %q", size, len(honored), terms.Note())
		}
		if honored != nil && profiles[terms.Profile()] {
			t.Errorf("%d bytes: the profile of another", size)
		}
		profiles[terms.Profile()] = true
	}
}

// Whatever an extension's author got wrong is reported with the field and has no effect; the
// negotiation and the event go on without it. (P5, P10)
func TestFaults(t *testing.T) {
	const uri = "https://x.example/v1"
	anything := json.RawMessage(`{"n":3,"on":false,"list":["a",{"b":2}],"deep":{"n":1},"text":"a"}`)
	honoring := func(e handshake.Effect) handshake.Extension {
		return handshake.Extension{Honor: func(json.RawMessage) handshake.Effect { return e }}
	}
	object := func(s string) handshake.Extension { return honoring(handshake.Effect{Honored: json.RawMessage(s)}) }
	drowned := func(data json.RawMessage) error {
		if strings.Contains(string(data), "wet") {
			return errors.New("is wet")
		}
		return nil
	}
	for name, tc := range map[string]struct {
		ext    handshake.Extension
		fields string // that are reported, in order
		used   bool   // the capability object
		data   string // on the event
	}{
		"right": {object(`{"n":2,"on":false,"list":[{"b":1}],"deep":{},"text":"b"}`), "", true,
			`{"a":1}`},
		"Capability panics": {handshake.Extension{Capability: func(json.RawMessage) error { panic("c") }},
			"Capability", false, `{"a":1}`},
		"Honor panics": {handshake.Extension{Honor: func(json.RawMessage) handshake.Effect { panic("h") }},
			"Honor", false, `{"a":1}`},
		"Event panics": {handshake.Extension{Event: func(json.RawMessage) error { panic("e") }},
			"Event", true, ``},
		"Keep panics": {
			honoring(handshake.Effect{Keep: func(*aaep.Event, json.RawMessage) bool { panic("k") }}), "Effect.Keep",
			true, `{"a":1}`},
		"Data panics": {
			honoring(handshake.Effect{Data: func(*aaep.Event, json.RawMessage) json.RawMessage { panic("d") }}),
			"Effect.Data", true, ``},
		"Data of nil": {
			honoring(handshake.Effect{Data: func(*aaep.Event, json.RawMessage) json.RawMessage { return nil }}),
			"", true, ``},
		"Data returns no object": {
			honoring(handshake.Effect{Data: func(*aaep.Event, json.RawMessage) json.RawMessage {
				return json.RawMessage(`{`)
			}}), "Effect.Data", true, ``},
		"Data returns what its schema refuses": {handshake.Extension{Event: drowned,
			Honor: func(json.RawMessage) handshake.Effect {
				return handshake.Effect{Data: func(*aaep.Event, json.RawMessage) json.RawMessage {
					return json.RawMessage(`{"wet":1}`)
				}}
			}}, "Effect.Data", true, ``},
		"a larger number":     {object(`{"n":4}`), "Effect.Honored", false, `{"a":1}`},
		"a larger one within": {object(`{"deep":{"n":1.5}}`), "Effect.Honored", false, `{"a":1}`},
		"a larger element":    {object(`{"list":[{"b":3}]}`), "Effect.Honored", false, `{"a":1}`},
		"another element":     {object(`{"list":["b"]}`), "Effect.Honored", false, `{"a":1}`},
		"an element twice":    {object(`{"list":["a","a"]}`), "Effect.Honored", false, `{"a":1}`},
		"true for false":      {object(`{"on":true}`), "Effect.Honored", false, `{"a":1}`},
		"another member":      {object(`{"m":0}`), "Effect.Honored", false, `{"a":1}`},
		"another kind":        {object(`{"n":"3"}`), "Effect.Honored", false, `{"a":1}`},
		"no JSON":             {object(`{"n":`), "Effect.Honored", false, `{"a":1}`},
		"more granted": {honoring(handshake.Effect{MoreTime: "rpl_1", Granted: json.RawMessage(`{"n":9}`)}),
			"Effect.Granted", false, `{"a":1}`},
		"more resumed": {honoring(handshake.Effect{ResumeAfter: "evt_1", Resumed: json.RawMessage(`{"n":9}`)}),
			"Effect.Resumed", false, `{"a":1}`},
		"limits": {honoring(handshake.Effect{MaxChunk: -1, TimeoutMultiplier: 50, MinTimeout: 25 * time.Hour, Quiet: -1,
			IdleTimeout: -1, MaxDuration: -1}),
			"Effect.Quiet Effect.IdleTimeout Effect.MaxDuration Effect.MinTimeout Effect.MaxChunk " +
				"Effect.TimeoutMultiplier", true, `{"a":1}`},
		"no number": {honoring(handshake.Effect{TimeoutMultiplier: math.NaN()}), "Effect.TimeoutMultiplier", true,
			`{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			tc.ext.Vocabulary = aaep.Vocabulary{Prefix: "x1", URI: uri}
			var fields []string
			terms, err := negotiation.Negotiate(
				request(aaep.Capabilities{SupportedExtensions: []string{uri},
					Extensions: map[string]json.RawMessage{"x1": anything}}),
				negotiation.Offer{Extensions: []handshake.Extension{tc.ext}, Report: func(f *negotiation.Fault) {
					fields = append(fields, f.Field)
					if panics := strings.Contains(name, "panics"); f.Extension != uri || panics != f.Panicked {
						t.Errorf("reported %v, panicked %v", f, f.Panicked)
					}
				}})
			if err != nil {
				t.Fatal(err)
			}
			if used := terms.Capabilities().Extensions["x1"] != nil; used != tc.used ||
				used == strings.Contains(terms.Note(), "x1 is not used") {
				t.Errorf("used %v, with the note %q", used, terms.Note())
			}
			ev := &aaep.Event{Payload: &aaep.SessionStarted{}, Context: []string{aaep.CoreContext, uri},
				Extensions: map[string]json.RawMessage{"x1": json.RawMessage(`{"a":1}`)}}
			if !terms.Keeps(ev) {
				t.Error("the event is left out")
			}
			terms.Extend(ev)
			if got := string(ev.Extensions["x1"]); got != tc.data {
				t.Errorf("it carries %s, want %s", got, tc.data)
			}
			if got := strings.Join(fields, " "); got != tc.fields {
				t.Errorf("reported %q, want %q", got, tc.fields)
			}
			if terms.MaxChunk < 0 ||
				!(terms.TimeoutMultiplier == 0 || terms.TimeoutMultiplier >= 1 && terms.TimeoutMultiplier <= 10) ||
				terms.MinTimeout > 24*time.Hour || terms.Quiet < 0 {
				t.Errorf("%+v", terms)
			}
		})
	}
}

// What an extension does to the event that it is asked about changes nothing: a question whose
// payload was taken away could not be sent.
func TestExtensionChangesNoEvent(t *testing.T) {
	const uri = "https://x.example/v1"
	spoil := func(ev *aaep.Event) { ev.Payload, ev.SessionID, ev.Summary = nil, "", aaep.Text{} }
	ext := handshake.Extension{Vocabulary: aaep.Vocabulary{Prefix: "x1", URI: uri},
		Honor: func(json.RawMessage) handshake.Effect {
			return handshake.Effect{
				Keep: func(ev *aaep.Event, _ json.RawMessage) bool { spoil(ev); return true },
				Data: func(ev *aaep.Event, _ json.RawMessage) json.RawMessage { spoil(ev); return json.RawMessage(`{"a":1}`) }}
		}}
	terms, err := negotiation.Negotiate(request(aaep.Capabilities{SupportedExtensions: []string{uri},
		Extensions: map[string]json.RawMessage{"x1": json.RawMessage(`{}`)}}), negotiation.Offer{Extensions: []handshake.Extension{ext}})
	if err != nil {
		t.Fatal(err)
	}
	ev := &aaep.Event{SessionID: "sess_1", Summary: aaep.Text{Normal: "Pay $5."}, Payload: &aaep.ProgressUpdated{}}
	kept := terms.Keeps(ev)
	terms.Extend(ev)
	if !kept || ev.Payload == nil || ev.SessionID == "" || ev.Summary.Normal == "" || string(ev.Extensions["x1"]) != `{"a":1}` {
		t.Errorf("kept %v, and the event is %+v", kept, ev)
	}
}

// A member that is no capability, such as a misspelt one, has no effect, and a note says so; the
// object of an extension that is not offered needs none.
func TestUnknownCapability(t *testing.T) {
	terms := negotiate(t, aaep.Capabilities{Extensions: map[string]json.RawMessage{
		"max_event_per_second": json.RawMessage(`5`), "lamps": json.RawMessage(`{"color":true}`)}}, generous)
	if note := terms.Note(); !strings.Contains(note, `"max_event_per_second" is not known`) || strings.Contains(note, "lamps") {
		t.Errorf("note %q", note)
	}
}
