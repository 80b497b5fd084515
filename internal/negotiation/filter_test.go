package negotiation_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// core are the twelve types of chapter 4, written out; others are types of extensions, and near
// misses.
var (
	core = []aaep.Type{"aaep:agent.session.started", "aaep:agent.session.completed", "aaep:agent.session.errored",
		"aaep:agent.session.cancelled", "aaep:agent.state.changed", "aaep:agent.progress.updated",
		"aaep:agent.tool.invoked",
		"aaep:agent.tool.completed", "aaep:agent.output.streaming", "aaep:agent.awaiting.confirmation",
		"aaep:agent.awaiting.clarification", "aaep:agent.handoff.requested"}
	others = []aaep.Type{"medai:vitals.changed", "medai:vitals", "haptic:pulse", "aaep:agent", "aaep:agent.",
		"aaep:agent.tool", "aaep:producer.manifest", ""}
	allTypes = append(append([]aaep.Type{}, core...), others...)
)

// HS-025, 026, 027 and 028, D-47, §5.3.1.7.
func TestFilters(t *testing.T) {
	agent := []string{"aaep:agent.*"}
	for _, tc := range []struct {
		include, exclude []string
		typ              aaep.Type
		want             bool
	}{
		{agent, nil, aaep.TypeToolInvoked, true},
		{agent, nil, "medai:vitals.changed", false}, // HS-026: extensions do not come unasked
		{agent, nil, "aaep:agentx.foo", false},
		{agent, nil, "aaep:agent", false},
		{[]string{"aaep:agent.tool.*"}, nil, aaep.TypeToolCompleted, true},
		{[]string{"aaep:agent.tool.*"}, nil, "aaep:agent.tool.a.b", true}, // any continuation
		{[]string{"aaep:agent.tool.*"}, nil, "aaep:agent.tool.", true},    // even none
		{[]string{"aaep:agent.tool.*"}, nil, "aaep:agent.tool", false},    // not what comes before
		{[]string{"aaep:agent.tool*"}, nil, "aaep:agent.toolbox", true},
		{[]string{"aaep:agent.tool"}, nil, aaep.TypeToolInvoked, false},
		{[]string{"aaep:agent.session.started"}, nil, aaep.TypeSessionStarted, true},
		{[]string{"aaep:agent.session.started"}, nil, aaep.TypeSessionCompleted, false},
		{[]string{"AAEP:agent.*"}, nil, aaep.TypeToolInvoked, false}, // types have one spelling
		{[]string{"medai:*"}, nil, "medai:vitals.changed", true},
		{[]string{"medai:*"}, nil, aaep.TypeToolInvoked, false},
		{[]string{"*"}, nil, "medai:vitals.changed", true},
		{[]string{"*"}, nil, "", true},
		// A wildcard is one only at the end.
		{[]string{"aaep:*.invoked"}, nil, aaep.TypeToolInvoked, false},
		{[]string{"aaep:*.invoked"}, nil, "aaep:*.invoked", true},
		{[]string{"aaep:agent.**"}, nil, aaep.TypeToolInvoked, false},
		{[]string{"aaep:agent.**"}, nil, "aaep:agent.*x", true},
		{[]string{"aaep:agent.too?.invoked"}, nil, aaep.TypeToolInvoked, false},
		{[]string{"aaep:agent.[a-z]*"}, nil, aaep.TypeToolInvoked, false},
		// HS-028: exclude wins, whichever says more.
		{agent, []string{"aaep:agent.progress.updated"}, aaep.TypeProgressUpdated, false},
		{agent, []string{"aaep:agent.progress.updated"}, aaep.TypeStateChanged, true},
		{[]string{"aaep:agent.progress.updated"}, agent, aaep.TypeProgressUpdated, false},
		{agent, agent, aaep.TypeToolInvoked, false},
		{agent, []string{"*"}, aaep.TypeToolInvoked, false},
		{[]string{"a", "aaep:agent.*", "b"}, []string{"c", "d"}, aaep.TypeToolInvoked, true},
		// An empty list of includes lets nothing through but what is critical.
		{[]string{}, nil, aaep.TypeToolInvoked, false},
		{nil, nil, aaep.TypeToolInvoked, false},
	} {
		if got := (negotiation.Filters{Include: tc.include, Exclude: tc.exclude}).Match(tc.typ); got != tc.want {
			t.Errorf("include %q, exclude %q: Match(%q) = %v", tc.include, tc.exclude, tc.typ, got)
		}
	}
}

// passes reads filters a second time, by regular expression.
func passes(include, exclude []string, typ aaep.Type) bool {
	any := func(patterns []string) bool {
		for _, p := range patterns {
			expr := regexp.QuoteMeta(p)
			if len(p) > 0 && p[len(p)-1] == '*' {
				expr = regexp.QuoteMeta(p[:len(p)-1]) + ".*"
			}
			if regexp.MustCompile("^(?s:" + expr + ")$").MatchString(string(typ)) {
				return true
			}
		}
		return false
	}
	return any(include) && !any(exclude)
}

var patterns = rapid.OneOf(
	rapid.SampledFrom([]string{"*", "a*", "aaep:*", "aaep:agent.*", "aaep:agent.tool.*", "aaep:agent.session.*",
		"aaep:agent.progress.updated",
		"aaep:agent.tool.invoked", "aaep:*.invoked", "aaep:agent.**", "medai:*", "medai:vitals", "haptic:pulse",
		"aaep:agent"}),
	rapid.StringMatching(`(aaep|medai):[a-z.*]{0,12}`))

// Whatever the patterns, Match agrees with regular expressions of the same meaning.
func TestFiltersProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := negotiation.Filters{Include: rapid.SliceOfN(patterns, 0, 5).Draw(t, "include"),
			Exclude: rapid.SliceOfN(patterns, 0, 5).Draw(t, "exclude")}
		for _, typ := range allTypes {
			if got, want := f.Match(typ), passes(f.Include, f.Exclude, typ); got != want {
				t.Fatalf("%+v: Match(%q) = %v", f, typ, got)
			}
		}
	})
}

// HS-026, D-47: what is asked of the two lists, present, empty or absent.
func TestNegotiatedFilters(t *testing.T) {
	agent, tools := []string{"aaep:agent.*"}, []string{"aaep:agent.tool.*"}
	for _, tc := range []struct {
		ask              *aaep.EventFilters
		include, exclude []string
	}{
		{nil, agent, []string{}},
		{&aaep.EventFilters{}, agent, []string{}},
		{&aaep.EventFilters{Include: tools}, tools, []string{}},
		{&aaep.EventFilters{Exclude: tools}, agent, tools},
		{&aaep.EventFilters{Include: []string{}}, []string{}, []string{}},
		{&aaep.EventFilters{Include: []string{}, Exclude: []string{}}, []string{}, []string{}},
	} {
		terms := negotiate(t, aaep.Capabilities{EventFilters: tc.ask}, generous)
		got := terms.Capabilities().EventFilters
		if !sameList(got.Include, tc.include) || !sameList(got.Exclude, tc.exclude) || got.Include == nil ||
			got.Exclude == nil {
			t.Errorf("asked %+v: honored %+v", tc.ask, got)
		}
	}
	// The terms keep no reference to the request.
	ask := &aaep.EventFilters{Include: []string{"xa:*"}, Exclude: []string{"aaep:agent.tool.*"}}
	terms := negotiate(t, aaep.Capabilities{EventFilters: ask}, generous)
	ask.Include[0], ask.Exclude[0] = "*", "none"
	if terms.Filters.Include[0] != "xa:*" || terms.Filters.Exclude[0] != "aaep:agent.tool.*" {
		t.Errorf("the terms changed with the request: %+v", terms.Filters)
	}
}

// A pattern that can match no event of this agent is told, whether it includes or excludes. One
// that includes is not honored, and one that excludes stays: without it more would come than was
// asked for.
func TestFiltersThatMatchNothing(t *testing.T) {
	for pattern, told := range map[string]bool{
		"tool.invoked": true, "agent.*": true, "aaep:*.invoked": true, "aaep:agent.**": true, "**": true,
		"aaep:agent.sesion.*": true, "aaep:agent.output.streming": true, "aaep:agent": true, "aaep:agentx.*": true,
		"nosuch:*": true, "medai:vitals": true, "https://example.org/vitals": true, "xa": true, "xa:": true,
		"xa:*.b": true, "xab:*": true, "xb*a": true,
		"*": false, "a*": false, "aaep:*": false, "aaep:agent.too*": false, "aaep:agent.handoff.requested": false,
		"xa:*": false, "xa:vitals": false, "xa:vit*": false, "x*": false, "xb*": false,
	} {
		for _, ask := range []aaep.EventFilters{{Include: []string{pattern}}, {Exclude: []string{pattern}}} {
			terms := negotiate(t, aaep.Capabilities{EventFilters: &ask}, generous)
			got := strings.Contains(terms.Note(), fmt.Sprintf("The filter %q matches no event and ", pattern))
			if includes := ask.Include != nil; got != told || slices.Contains(terms.Filters.Include, pattern) != (includes && !told) ||
				slices.Contains(terms.Filters.Exclude, pattern) == includes ||
				strings.Contains(terms.Note(), "only what is critical is sent") != (includes && told) {
				t.Errorf("%+v: honored %+v: %s", ask, terms.Filters, terms.Note())
			}
			again := renegotiate(t, terms, aaep.Capabilities{PaceWPM: 200}, generous)
			if again.Note() != "" {
				t.Errorf("%+v: said once more at a change of something else: %s", ask, again.Note())
			}
		}
	}
	some := aaep.EventFilters{Include: []string{"aaep:agent.sesion.*", "aaep:agent.tool.*"}}
	terms := negotiate(t, aaep.Capabilities{EventFilters: &some}, generous)
	if want := []string{"aaep:agent.tool.*"}; !slices.Equal(terms.Filters.Include, want) || strings.Contains(terms.Note(), "only") {
		t.Errorf("%+v: %s", terms.Filters, terms.Note())
	}
}

func sameList(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
