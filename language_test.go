package aaep_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// allWords tells what an event says in its own language and in others.
func allWords(e *aaep.Event) string {
	all := []string{fmt.Sprintf("%s: %s", e.Language(), e.Text(""))}
	for _, t := range e.Translations {
		all = append(all, fmt.Sprintf("%s: %s/%s/%s", t.Language(), t.Summary.Terse, t.Summary.Normal,
			t.Summary.Detailed))
	}
	return strings.Join(all, "; ")
}

// D-73, I18N-016: summaries in other languages, by suffix, whose case and separator do not matter.
func TestDecodeReadsVariants(t *testing.T) {
	const own = "en: Something happened."
	for members, want := range map[string]string{
		``:                        own,
		`"summary_normal_yo":"n"`: own + "; yo: /n/",
		`"summary_terse_yo":"t","summary_detailed_yo":"d","summary_normal_yo":"n"`: own + "; yo: t/n/d",
		`"summary_normal_yo_ng":"n","summary_normal_sw":"s"`:                       own + "; yo-ng: /n/; sw: /s/",
		`"summary_normal_ha-NG":"n","summary_terse_HA_ng":"t"`:                     own + "; ha-NG: t/n/",
		// one language in two spellings
		`"summary_normal_yo":"first","summary_normal_YO":"twice"`:                 own + "; yo: /first/",
		`"summary_normal_yo":7,"summary_normal_sw":"","summary_normal_fr":{}`:     own,
		`"summary_normal_yo!":"n","summary_normal__yo":"n","summary_normal_":"n"`: own,
		`"action_yo":"n","Summary_normal_yo":"n","summary_normal_y1":"n"`:         own,
		`"summary_normal_` + strings.Repeat("a_", 100) + `a":"n"`:                 own,
	} {
		comma := ","
		if members == "" {
			comma = ""
		}
		if got := allWords(decodeEvent(t, publishedEvent("aaep:agent.session.started", comma+members))); got != want {
			t.Errorf("%s: %s, want %s", members, got, want)
		}
	}
	if e := decodeEvent(t, publishedEvent("aaep:agent.output.streaming",
		`,"chunk":"Bonjour.","position":0,"complete":true,"language":"fr","summary_normal_en":"x"`)); allWords(e) != "fr: Bonjour." {
		t.Errorf("an output event, which has no summary, says %s", allWords(e))
	}
	for typ, members := range map[string]string{ // in which the summary is not all that is told
		"awaiting.confirmation": confirmation + `,"default_decision":"reject"`, "awaiting.clarification": clarification,
		"session.errored": `,"error_category":"unknown","remediation_hint":"Try again."`,
	} {
		if e := decodeEvent(t, publishedEvent("aaep:agent."+typ,
			members+`,"summary_normal_yo":"n"`)); e.Translations != nil {
			t.Errorf("%s is half in another language: %s", typ, allWords(e))
		}
	}
	e := decodeEvent(t, publishedEvent("medai:vitals", `,"summary_normal_yo":"Ìlù ọkàn 60."`))
	if allWords(e) != own+"; yo: /Ìlù ọkàn 60./" {
		t.Errorf("an event of an extension says %s", allWords(e))
	}
}

// The samples of §11.5.1 and of the published extension; a variant stays byte for byte (INV-34),
// and is no departure.
func TestVariantSamples(t *testing.T) {
	const variants = `"summary_normal_yo":"M\u006f ń ṣírò \/ àbáwọn"`
	e := decodeEvent(t, publishedEvent("aaep:agent.tool.invoked", `,"tool":"calc",`+variants))
	if string(e.Unknown) != "{"+variants+"}" || e.Diagnostics != nil {
		t.Errorf("unknown %s, diagnostics %v", e.Unknown, e.Diagnostics)
	}
	if allWords(e) != "en: Something happened.; yo: /Mo ń ṣírò / àbáwọn/" {
		t.Error(allWords(e))
	}
	e = decodeEvent(t, strings.Replace(publishedEvent("aaep:agent.session.started", ""),
		`"localization_hints":{"primary_language":"en"}`, `"language":"yo"`, 1))
	if e.Language() != "yo" {
		t.Errorf("a language beside the hints is read as %q", e.Language())
	}
}

// I18N-011: text in any normalization form is read as it is.
func TestAnyNormalizationForm(t *testing.T) {
	for _, s := range []string{"caf\u00e9", "cafe\u0301", "\ufb01n", "ẹ\u0301", "e\u0323\u0301"} {
		e := decodeEvent(t, strings.Replace(publishedEvent("aaep:agent.session.started", ""), "Something happened.", s,
			1))
		if e.Summary.Normal != s || e.Diagnostics != nil {
			t.Errorf("%+q is read as %+q with %v", s, e.Summary.Normal, e.Diagnostics)
		}
	}
}

// INV-32: decoding an event with many summary_normal_TAG members takes time in proportion to its
// length, and 64 of them are kept as translations.
func TestVariantsAreBounded(t *testing.T) {
	read := func(n int) func() {
		var members strings.Builder
		for i := range n {
			fmt.Fprintf(&members, `,"summary_normal_x_%d":"x"`, i)
		}
		text := []byte(publishedEvent("aaep:agent.session.started", members.String()))
		return func() {
			if m, err := aaep.Decode(text); err != nil || len(m.(*aaep.Event).Translations) != 64 {
				t.Fatalf("%+v, %v", m, err)
			}
		}
	}
	small, large := read(1000), read(8000)
	checkLinear(t, "variants", func() {
		for range 8 {
			small()
		}
	}, large)
}
