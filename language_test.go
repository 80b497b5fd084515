package aaep_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// spoken returns an event in a language, with variants given as name and text.
func spoken(own string, members ...string) *aaep.Event {
	e := newEvent(&aaep.ToolInvoked{Tool: "pay"})
	e.LocalizationHints = nil
	if own != "" {
		e.LocalizationHints = &aaep.LocalizationHints{PrimaryLanguage: own}
	}
	e.Summary = aaep.Say("own")
	var b strings.Builder
	for i := 0; i < len(members); i += 2 {
		fmt.Fprintf(&b, ",%q:%q", members[i], members[i+1])
	}
	if b.Len() > 0 {
		e.Unknown = json.RawMessage("{" + b.String()[1:] + "}")
	}
	return e
}

// D-73, I18N-016: variants by suffix. I18N-003: with and without region. I18N-004: the order of matching. I18N-005: in
// the end the event's own language, whatever it is.
func TestTextIn(t *testing.T) {
	const n = "summary_normal_"
	for _, c := range []struct {
		own, variants, wanted, chain string
		text, language               string
	}{
		{"en", "", "yo", "", "own", "en"},
		{"en", "yo", "", "", "own", "en"},
		{"en", "yo", "yo", "", "yo", "yo"},
		{"en", "yo", "fr", "", "own", "en"},
		{"", "yo", "fr", "", "own", ""},
		{"en", "yo", "en,yo", "", "own", "en"},
		{"en", "yo", "yo,en", "", "yo", "yo"},
		{"en", "yo", "fr,yo", "", "yo", "yo"},
		// The case and the separator of a suffix do not matter.
		{"en", "yo_ng", "yo-NG", "", "yo_ng", "yo-ng"},
		{"en", "YO_NG", "yo-ng", "", "YO_NG", "YO-NG"},
		{"en", "yo-NG", "YO-ng", "", "yo-NG", "yo-NG"},
		// With and without region.
		{"fr", "en_us", "en", "", "en_us", "en-us"},
		{"fr", "en", "en-US", "", "en", "en"},
		{"fr", "en_gb", "en-US", "", "en_gb", "en-gb"},
		{"en-US", "yo", "en", "", "own", "en-US"},
		{"en", "yo", "en-GB", "", "own", "en"},
		// The longest match first.
		{"fr", "zh,zh_hant,zh_hant_tw", "zh-Hant-TW", "", "zh_hant_tw", "zh-hant-tw"},
		{"fr", "zh,zh_hant", "zh-Hant-TW", "", "zh_hant", "zh-hant"},
		{"fr", "zh_hant,zh", "zh-Hant-TW", "", "zh_hant", "zh-hant"},
		{"fr", "zh", "zh-Hant-TW", "", "zh", "zh"},
		{"fr", "en_us_posix,en_us", "EN-US", "", "en_us", "en-us"},
		{"fr", "de_1996", "de-1901", "", "de_1996", "de-1996"},
		{"en", "en_gb", "en-GB", "", "en_gb", "en-gb"},
		{"en", "en_gb", "en-AU", "", "own", "en"},
		{"fr", "en_gb,en", "en-AU", "", "en", "en"},
		{"fr", "en_gb,en_au", "en", "", "en_gb", "en-gb"},
		// Another language with the same beginning is another language.
		{"fr", "eng,e", "en", "", "own", "fr"},
		{"fr", "en", "eng", "", "own", "fr"},
		// Scripts are not crossed, unless the offer names none.
		{"fr", "zh_hans", "zh-Hant", "", "own", "fr"},
		{"fr", "zh_hans", "zh-TW", "", "own", "fr"},
		{"fr", "zh_cn", "zh-TW", "", "own", "fr"},
		{"fr", "zh_tw", "zh-HK", "", "zh_tw", "zh-tw"},
		{"fr", "zh_hans", "zh-hk", "", "own", "fr"},
		{"fr", "zh_hant", "zh-CN", "", "own", "fr"},
		{"fr", "zh_hant", "zh-MY", "", "own", "fr"},
		{"fr", "zh_yue_hant", "zh-yue-Hans", "", "own", "fr"},
		{"fr", "zh_hant", "zh-TW", "", "zh_hant", "zh-hant"},
		{"fr", "sr_latn", "sr-Cyrl", "", "own", "fr"},
		{"fr", "ha_arab,ha", "ha-Latn", "", "ha", "ha"},
		// The event's chain comes after what was asked for, and before its own language.
		{"fr", "yo,en", "de", "en,yo", "en", "en"},
		{"fr", "yo,en", "yo", "en", "yo", "yo"},
		{"fr", "yo", "de", "sw", "own", "fr"},
		// What is no tag is no variant.
		{"en", "yo!,_yo,,y1", "yo", "", "own", "en"},
		{"en", "en", "en", "", "own", "en"},
	} {
		var members []string
		if c.variants != "" {
			for _, s := range strings.Split(c.variants, ",") {
				members = append(members, n+s, s)
			}
		}
		e := spoken(c.own, members...)
		if c.chain != "" {
			e.LocalizationHints.FallbackChain = strings.Split(c.chain, ",")
		}
		text, language := e.TextIn(aaep.VerbosityNormal, strings.Split(c.wanted, ","))
		if text != c.text || language != c.language {
			t.Errorf("in %s with %s, asked for %s: %q in %q, want %q in %q", c.own, c.variants, c.wanted, text, language, c.text, c.language)
		}
	}
}

// A translation is found in the verbosity that was asked for, or in the nearest.
func TestTextInVerbosity(t *testing.T) {
	e := spoken("en", "summary_terse_yo", "t", "summary_normal_yo", "n", "summary_detailed_yo", "d", "summary_detailed_sw", "only", "action_yo", "x", "summary_normal_YO", "twice")
	for v, want := range map[aaep.Verbosity]string{aaep.VerbosityTerse: "t", aaep.VerbosityNormal: "n", aaep.VerbosityDetailed: "d", "": "n"} {
		if got, in := e.TextIn(v, []string{"yo-NG"}); got != want || in != "yo" {
			t.Errorf("%s: %q in %q, want %q", v, got, in, want)
		}
		if got, _ := e.TextIn(v, []string{"sw"}); got != "only" {
			t.Errorf("%s: %q is not the nearest wording", v, got)
		}
	}
	e.Unknown = json.RawMessage(`{"summary_normal_ha_NG":"n","summary_terse_HA_ng":"t"}`)
	if got, in := e.TextIn(aaep.VerbosityTerse, []string{"ha"}); got != "t" || in != "ha-NG" {
		t.Errorf("one language in two spellings: %q in %q", got, in)
	}
	out := &aaep.Event{Payload: &aaep.OutputStreaming{Chunk: "Bonjour.", Language: "fr"}, Unknown: json.RawMessage(`{"summary_normal_en":"x"}`)}
	if got, in := out.TextIn("", []string{"en"}); got != "Bonjour." || in != "fr" {
		t.Errorf("an output event says %q in %q", got, in)
	}
	e.Unknown = json.RawMessage(`{"summary_normal_yo":7,"summary_normal_sw":"","summary_normal_fr":null}`)
	if got, in := e.TextIn("", []string{"yo", "sw", "fr"}); got != "own" || in != "en" {
		t.Errorf("%q in %q", got, in)
	}
}

// An event without a summary: what its payload says is in its own language, what this package says of it in English.
func TestTextInWithoutSummary(t *testing.T) {
	yo := &aaep.LocalizationHints{PrimaryLanguage: "yo"}
	for _, c := range []struct {
		p              aaep.Payload
		text, language string
	}{
		{&aaep.SessionStarted{}, "The agent started.", "en"},
		{&aaep.ToolInvoked{Tool: "pay"}, "Using the tool pay.", "en"},
		{&aaep.ProgressUpdated{Progress: aaep.Progress{Description: "Ń kà."}}, "Ń kà.", "yo"},
		{&aaep.ProgressUpdated{Progress: aaep.Progress{Step: 1, TotalSteps: 2}}, "Step 1 of 2.", "en"},
		{&aaep.AwaitingClarification{Question: "Èwo?"}, "Èwo?", "yo"},
		{&aaep.AwaitingConfirmation{Action: "San.", Consequence: "Owó lọ."}, "San. Owó lọ.", "yo"},
		{&aaep.OutputStreaming{Chunk: "Bonjour.", Language: "fr-FR"}, "Bonjour.", "fr-FR"}, // the chunk's own
		{&aaep.OutputStreaming{Chunk: "Ó ti parí."}, "Ó ti parí.", "yo"},
		{(*aaep.ProgressUpdated)(nil), "", "yo"}, {(*aaep.OutputStreaming)(nil), "", "yo"}, {nil, "", "yo"},
	} {
		e := &aaep.Event{Payload: c.p, LocalizationHints: yo, Unknown: json.RawMessage(`{"summary_normal_sw":"x"}`)}
		if text, in := e.TextIn("", []string{"en"}); text != c.text || in != c.language {
			t.Errorf("%#v: %q in %q, want %q in %q", c.p, text, in, c.text, c.language)
		}
	}
	question := &aaep.Event{Payload: &aaep.AwaitingClarification{Question: "Which?"}, Unknown: json.RawMessage(`{"summary_normal_yo":"Èwo?"}`),
		LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en"}}
	if text, in := question.TextIn("", []string{"en", "yo"}); text != "Which?" || in != "en" {
		t.Errorf("%q in %q", text, in)
	}
}

// The samples of §11.5.1 and of the published extension; a variant stays byte for byte (INV-34), and is no departure.
func TestVariantSamples(t *testing.T) {
	const variants = `"summary_normal_yo":"M\u006f ń ṣírò \/ àbáwọn"`
	e := read(t, published("aaep:agent.tool.invoked", `,"tool":"calc",`+variants))
	if string(e.Unknown) != "{"+variants+"}" || e.Diagnostics != nil {
		t.Errorf("unknown %s, diagnostics %v", e.Unknown, e.Diagnostics)
	}
	if text, in := e.TextIn("", []string{"yo-NG"}); text != "Mo ń ṣírò / àbáwọn" || in != "yo" {
		t.Errorf("%q in %q", text, in)
	}
	e = read(t, strings.Replace(published("aaep:agent.session.started", ""), `"localization_hints":{"primary_language":"en"}`, `"language":"yo"`, 1))
	if _, in := e.TextIn("", nil); in != "yo" {
		t.Errorf("a language beside the hints is read as %q", in)
	}
}

// I18N-011: text in any normalization form is read as it is.
func TestAnyNormalizationForm(t *testing.T) {
	for _, s := range []string{"caf\u00e9", "cafe\u0301", "\ufb01n", "ẹ\u0301", "e\u0323\u0301"} {
		e := read(t, strings.Replace(published("aaep:agent.session.started", ""), "Something happened.", s, 1))
		if e.Summary.Normal != s || e.Diagnostics != nil {
			t.Errorf("%+q is read as %+q with %v", s, e.Summary.Normal, e.Diagnostics)
		}
	}
}

// INV-32: many variants and long tags do not cost more than they weigh.
func TestTextInIsLinear(t *testing.T) {
	took := func(n int) time.Duration {
		var members, wanted []string
		for i := range n {
			members = append(members, fmt.Sprintf("summary_normal_x_%d", i), "x")
			wanted = append(wanted, fmt.Sprintf("y-%d", i))
		}
		e := spoken("en", append(members, "summary_normal_a"+strings.Repeat("_a", 10*n), "x")...)
		best := time.Hour
		for range 3 {
			start := time.Now()
			e.TextIn("", wanted)
			best = min(best, time.Since(start))
		}
		return best
	}
	if small, large := took(1000), took(8000); large > 40*small+20*time.Millisecond {
		t.Errorf("%v for 1000 and %v for 8000", small, large)
	}
}
