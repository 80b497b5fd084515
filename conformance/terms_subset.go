package conformance

import (
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
)

// requestedCapabilities returns what the first request on a link asked for; nil where there was
// none.
func requestedCapabilities(r *Recording, link int) object {
	for _, m := range ofTypes(r.messagesOn(link, true), "subscription.request") {
		return m.objectMember("capabilities")
	}
	return nil
}

// termsOf are the terms of an answer to what was asked for. What it leaves out is as it was asked
// for (D-45), as in the answer of §5.4.3, which has no filters.
func termsOf(asked, answer object) object { return withMembers(asked, answer) }

// termsAt returns the terms of a link when an entry came on it: those of the last answer before it
// that accepted any, defaults included.
func (r *Recording) termsAt(link, index int) object {
	terms := defaults
	for _, e := range r.exchanges(link) {
		if a := e.answer(); a.compactType() == "subscription.accepted" && a.index < index {
			terms = termsOf(withMembers(terms, e.asked.objectMember("capabilities")), a.objectMember("honored_capabilities"))
		}
	}
	return terms
}

// honoredTerms are the terms that were answered first, as they were said.
func honoredTerms(r *Recording, link int) object {
	a, _ := r.firstAnswer(link)
	return a.objectMember("honored_capabilities")
}

// agreedRate returns the lower of the requested and the honored rate on a link, in events a second;
// false where there is neither.
func (r *Recording) agreedRate(link int) (float64, bool) {
	asked, ok := requestedCapabilities(r, link)["max_events_per_second"].(float64)
	if rate, said := honoredTerms(r, link)["max_events_per_second"].(float64); said && (!ok || rate < asked) {
		return rate, true
	}
	return asked, ok
}

// honoredList returns an honored capability of a link that is a list, as texts.
func honoredList(r *Recording, link int, name string) (list []string) {
	return stringList(honoredTerms(r, link)[name])
}

// jsonText returns a value as JSON on one line, safe to show, for a finding.
func jsonText(v any) string {
	data, err := jsonv2.Marshal(v, jsonv2.Deterministic(true))
	if err != nil {
		panic(err) // it came as JSON, or is of our own making
	}
	return aaep.SafeText(string(data))
}

// stringList returns the values of a JSON array as text, and nil for what is no array.
func stringList(v any) (list []string) {
	all, _ := v.([]any)
	for _, t := range all {
		list = append(list, fmt.Sprint(t))
	}
	return list
}

// defaults hold where a request is silent (§5.3.1).
var defaults = object{
	"languages":                    []any{"en-US"},
	"supports_confirmation_reply":  false,
	"supports_clarification_reply": false,
	"coalesce_boundaries":          []any{"sentence", "completion"},
	"supported_conformance_levels": []any{1.0},
	"supported_extensions":         []any{},
}

// everyType is what filters are tried on.
var everyType = []string{started, completed, errored, cancelled, state, progress, invoked, done, output, confirm,
	clarify, handoff,
	"medai:dose.given", "aaep:other"}

// judgeSubset judges that an acceptance gives no more than was asked for.
func judgeSubset(r *Recording, a message) Finding {
	asked := withMembers(defaults, requestedCapabilities(r, 0))
	return judgeSubsetOf(asked, termsOf(asked, a.objectMember("honored_capabilities")), append(sentOn(r, 0),
		a.Entry)...)
}

// judgeSubsetOf judges that the terms got give no more than was asked for, in languages,
// boundaries, levels, extensions, replies, rate and event filters: it fails with the first that
// does. A list or a filter that got leaves out gives nothing more; a rate that it leaves out does.
// evidence is what both were said with.
func judgeSubsetOf(asked, got object, evidence ...Entry) Finding {
	wrong := func(name string) Finding {
		return failFinding(fmt.Sprintf("%s: %s is honored where %s was asked for", name, jsonText(got[name]),
			jsonText(asked[name])), evidence...)
	}
	for _, name := range []string{"languages", "coalesce_boundaries", "supported_conformance_levels",
		"supported_extensions"} {
		for _, v := range stringList(got[name]) {
			same := func(s string) bool { return s == v || name == "languages" && strings.EqualFold(s, v) }
			if !slices.ContainsFunc(stringList(asked[name]), same) {
				return wrong(name)
			}
		}
	}
	for _, name := range []string{"supports_confirmation_reply", "supports_clarification_reply"} {
		if got[name] == true && asked[name] != true {
			return wrong(name)
		}
	}
	if most, ok := asked["max_events_per_second"].(float64); ok {
		if rate, ok := got["max_events_per_second"].(float64); !ok || rate > most {
			return wrong("max_events_per_second")
		}
	}
	wants, _ := asked["event_filters"].(object)
	has, _ := got["event_filters"].(object)
	has = termsOf(wants, has)
	for _, t := range everyType {
		if passesFilters(has, t) && !passesFilters(wants, t) {
			return wrong("event_filters")
		}
	}
	return passFinding("nothing more was honored than was asked for", evidence...)
}

// passesFilters reports whether event filters let a type through, by the rules of §5.3.1.7; nil are
// the default filters.
func passesFilters(filters object, typ string) bool {
	match := func(name string) bool {
		return slices.ContainsFunc(stringList(filters[name]), func(p string) bool {
			if stem, ok := strings.CutSuffix(p, "*"); ok {
				return strings.HasPrefix(typ, stem)
			}
			return p == typ
		})
	}
	if _, ok := filters["include"]; !ok {
		return strings.HasPrefix(typ, "aaep:agent.") && !match("exclude")
	}
	return match("include") && !match("exclude")
}
