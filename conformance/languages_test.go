package conformance_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/producer"
)

// requestedLanguage is the n-th language that the link asked for.
func (p *proxy) requestedLanguage(n int) string {
	if all, _ := p.caps["languages"].([]any); n < len(all) {
		tag, _ := all[n].(string)
		return tag
	}
	return ""
}

func languageOf(o object) string {
	hints, _ := o["localization_hints"].(object)
	tag, _ := hints["primary_language"].(string)
	return tag
}

// inEnglish is an event that was never translated.
func inEnglish(o object) object {
	return cloneWith(o, object{"localization_hints": object{"primary_language": "en-US"}, "summary_normal": "In English."})
}

// languageMutants are producers that do not speak as was agreed. HS-003, I18N-004, I18N-008,
// I18N-009.
var languageMutants = []mutant{
	{name: "goes by the first language alone", caught: []string{"language-chosen"},
		out: func(p *proxy, o object) []object {
			if p.requestedLanguage(0) == "tlh" && p.requestedLanguage(1) == "es" && languageOf(o) == "es" {
				o = inEnglish(o)
			}
			return []object{o}
		}},
	{name: "knows no region but its own", caught: []string{"language-chosen"}, out: func(p *proxy, o object) []object {
		if p.requestedLanguage(0) == "es-ZZ" && languageOf(o) == "es" {
			o = inEnglish(o)
		}
		return []object{o}
	}},
	{name: "goes on in the language it began in", caught: []string{"language-switched"},
		out: func(p *proxy, o object) []object {
			if p.requestedLanguage(1) == "es" && p.requestedLanguage(0) == "en" && languageOf(o) == "es" {
				o = inEnglish(o)
			}
			return []object{o}
		}},
	{name: "keeps back what is not translated", caught: []string{"untranslated-sent"},
		out: func(p *proxy, o object) []object {
			if p.requestedLanguage(0) == "tlh" && p.requestedLanguage(1) == "es" && languageOf(o) == "en-US" {
				return nil
			}
			return []object{o}
		}},
	{name: "answers otherwise elsewhere", caught: []string{"same-everywhere"}, out: func(p *proxy, o object) []object {
		if o["honored_capabilities"] != nil && p.hasRequested("max_events_per_second", 3.0) &&
			p.hasRequested("preferred_verbosity", "terse") && p.caps["cognitive_load"] == nil && p.shareTwice("one way") {
			terms, _ := o["honored_capabilities"].(object)
			terms["preferred_verbosity"] = "normal"
		}
		return []object{o}
	}},
}

// An agent with one language, reached in one way, has nothing to choose; one that honors what it
// never speaks is not proved.
func TestOneLanguage(t *testing.T) {
	cases := []string{"language-chosen", "language-switched", "untranslated-sent", "same-everywhere"}
	prove := func(t *testing.T, languages []string, out func(*proxy, object) []object) *conformance.Report {
		return inBubble(t, func(g *target) conformance.ProducerRun {
			p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "target"}, ShortTimeouts: true,
				Languages: languages})
			if err != nil {
				t.Fatal(err)
			}
			g.Producer.Shutdown(context.Background())
			g.Producer = p
			run := checkExtraCases(g, mutantTarget{target: g, m: &mutant{out: out}, shared: new(sync.Map), links: new(int)})
			run.Only, run.OtherWays = cases, nil
			return run
		})
	}
	for _, res := range prove(t, nil, nil).Results {
		if slices.Contains(cases, res.Case.Name) && res.Verdict != conformance.Skipped {
			t.Errorf("%s: %s, %s", res.Case.Name, res.Verdict, res.Seen)
		}
	}
	silent := func(_ *proxy, o object) []object {
		if languageOf(o) == "es" {
			o = inEnglish(o)
		}
		return []object{o}
	}
	for _, res := range prove(t, []string{"es"}, silent).Results {
		if slices.Contains(cases[:3], res.Case.Name) && res.Verdict != conformance.Inconclusive {
			t.Errorf("%s: %s, %s", res.Case.Name, res.Verdict, res.Seen)
		}
	}
}
