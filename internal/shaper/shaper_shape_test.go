package shaper

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/negotiation"
)

var sampleTexts = map[string]aaep.Text{"en": aaep.Say("One."),
	"es": {Terse: "U.", Normal: "Uno.", Detailed: "Uno, por fin."}, "yo": aaep.Say("Ọ̀kan.")}

// inLanguages gives an event translations.
func inLanguages(ev *aaep.Event, own string, others ...string) *aaep.Event {
	ev.LocalizationHints, ev.Summary = &aaep.LocalizationHints{PrimaryLanguage: own}, sampleTexts[own]
	for _, tag := range others {
		ev.Translations = append(ev.Translations,
			aaep.Translation{LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: tag},
				Summary: sampleTexts[tag]})
	}
	return ev
}

// agreed negotiates terms for a test, with our own extensions.
func agreed(t interface{ Fatal(...any) }, caps aaep.Capabilities) negotiation.Terms {
	terms, err := negotiation.Negotiate(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "x",
		Capabilities: caps},
		negotiation.Offer{Languages: []string{"en", "es", "yo-NG"}, Extensions: extensions.All()})
	if err != nil {
		t.Fatal(err)
	}
	return terms
}

// I18N-004, D-75: the first of the listener's languages that the event is in; else its own.
func TestShaperTranslations(t *testing.T) {
	for _, tc := range []struct {
		languages []string
		have      []string // the event's own first
		want      string
	}{
		{[]string{"es", "en"}, []string{"en", "es", "yo"}, "es"},
		{[]string{"en", "es"}, []string{"es", "en"}, "en"},
		{[]string{"es-MX"}, []string{"en", "yo", "es"}, "es"},
		{[]string{"yo", "es"}, []string{"en", "es"}, "es"},
		{[]string{"yo"}, []string{"en", "es"}, "en"},
		{[]string{"yo"}, []string{"en"}, "en"},
	} {
		terms := listener(aaep.BoundaryNone)
		terms.Languages = tc.languages
		r := newHarness(t, terms)
		r.push(inLanguages(tool("x"), tc.have[0], tc.have[1:]...))
		if ev := r.out[0].Event; ev.Language() != tc.want ||
			ev.Text(aaep.VerbosityNormal) != sampleTexts[tc.want].Normal ||
			ev.Translations != nil {
			t.Errorf("%v of %v: %q in %s", tc.languages, tc.have, ev.Text(aaep.VerbosityNormal), ev.Language())
		}
		r.checkOut()
	}
}

// A state that was folded keeps where it began in every language.
func TestShaperFoldsTranslations(t *testing.T) {
	terms := paced(1, aaep.BoundaryNone)
	terms.Languages = []string{"es"}
	r := newHarness(t, terms)
	r.push(tool("x"), inLanguages(change(aaep.StateIdle, aaep.StateThinking), "en", "es"),
		inLanguages(change(aaep.StateThinking, aaep.StateDeciding), "en", "es"))
	r.wait(time.Second)
	ev := r.out[1].Event
	if p := ev.Payload.(*aaep.StateChanged); p.FromState != aaep.StateIdle || p.ToState != aaep.StateDeciding ||
		ev.Language() != "es" {
		t.Errorf("%+v in %s", p, ev.Language())
	}
}

// Two events of one log whose Shapes are equal are the same to the byte, whichever subscription
// they are for and whenever they leave; and two listeners on equal terms share every shape.
func TestShapesProperty(t *testing.T) {
	v := extensions.HapticVocabulary
	rapid.Check(t, func(t *rapid.T) {
		st := drawScenario(t, false, true)
		for i, s := range st.steps {
			if s.ev == nil || s.ev.Type() == aaep.TypeOutputStreaming {
				continue
			}
			if i%2 == 0 {
				inLanguages(s.ev, "en", "es", "yo")
			}
			if i%3 == 0 {
				if err := s.ev.AddExtension(v, extensions.HapticData{Pattern: "pulse"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		draw := func(t *rapid.T) negotiation.Terms {
			caps := aaep.Capabilities{SupportsConfirmationReply: new(true), SupportsClarificationReply: new(true)}
			caps.PreferredVerbosity = rapid.SampledFrom([]aaep.Verbosity{"terse", "normal", "detailed"}).Draw(t,
				"verbosity")
			caps.CognitiveLoad = rapid.SampledFrom([]aaep.CognitiveLoad{"low", "high"}).Draw(t, "load")
			caps.Languages = rapid.SampledFrom([][]string{{"en"}, {"es", "en"}, {"yo"}}).Draw(t, "languages")
			caps.MaxEventsPerSecond = rapid.SampledFrom([]int64{0, 1, 3}).Draw(t, "rate")
			caps.CoalesceBoundaries = []aaep.Boundary{rapid.SampledFrom(ranked).Draw(t, "boundary")}
			for _, patterns := range [][]string{{"pulse"}, {"buzz", "pulse"}} {
				if rapid.Bool().Draw(t, "feels") {
					caps.AddExtension(v, extensions.Haptic{PatternsSupported: patterns})
				}
			}
			return agreed(t, caps)
		}
		written := map[Shape]string{}
		shared := 0
		for i := range 4 {
			r := newHarness(t, draw(t))
			r.terms.MaxEventsPerSecond = 0 // verify is another test's
			for _, s := range st.steps {
				r.wait(s.wait)
				if s.ev != nil {
					r.push(s.ev)
				}
			}
			r.wait(10 * time.Minute)
			for _, d := range r.out {
				data, err := json.Marshal(d.Event.Payload)
				if err != nil {
					t.Fatal(err)
				}
				ev := *d.Event
				ev.Payload, ev.LocalizationHints = nil, nil
				text := fmt.Sprintf("%+v %s %s", ev, d.Event.Language(), data)
				if was, ok := written[d.Shape]; ok {
					if shared++; was != text {
						t.Fatalf("listener %d, one shape:\n%s\n%s", i, was, text)
					}
				}
				if d.Shape.IsZero() {
					t.Fatalf("%s has no shape", line(d.Event))
				}
				written[d.Shape] = text
			}
		}
		twins := [2][]Shape{}
		terms := draw(t)
		for i := range twins {
			r := newHarness(t, terms)
			r.runSteps(st.steps)
			for _, d := range r.out {
				twins[i] = append(twins[i], d.Shape)
			}
		}
		if fmt.Sprint(twins[0]) != fmt.Sprint(twins[1]) {
			t.Fatalf("two listeners on equal terms got different shapes:\n%v\n%v", twins[0], twins[1])
		}
	})
}

// SetQuiet holds back what is not critical, folds it as a full budget does, and lets it go in
// order.
func TestShaperQuiet(t *testing.T) {
	r := newHarness(t, listener(aaep.BoundaryNone))
	r.s.SetQuiet(r.now.Add(10 * time.Second))
	r.push(tool("x"), advance("1"), advance("2"), handoff(), change(aaep.StateIdle, aaep.StateThinking),
		change(aaep.StateThinking, aaep.StateIdle))
	if len(r.out) != 1 || r.out[0].Event.Type() != aaep.TypeHandoffRequested || r.s.Ready(r.now) != 0 {
		t.Fatalf("%d left while it was to be quiet", len(r.out))
	}
	r.wait(9999 * time.Millisecond)
	if len(r.out) != 1 {
		t.Error("it did not stay quiet to the end")
	}
	r.wait(time.Millisecond)
	if s := r.s.Stats(); s.Delivered != 3 || s.Merged != 3 || s.Held != 0 {
		t.Errorf("%+v", s)
	}
	r.checkOut()
	r.s.SetQuiet(r.now.Add(time.Hour))
	burn := event("a", &aaep.ToolInvoked{Tool: "burn", Irreversible: new(true)})
	r.push(tool("y"), burn)
	if n := len(r.out); n != 4 || r.out[3].Event.Payload.(*aaep.ToolInvoked).Tool != "burn" {
		t.Errorf("%d left before something is done for good", n)
	}
}
