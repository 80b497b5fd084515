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
	ask := &aaep.EventFilters{Include: []string{"medai:*"}, Exclude: []string{"aaep:agent.tool.*"}}
	terms := negotiate(t, aaep.Capabilities{EventFilters: ask}, generous)
	ask.Include[0], ask.Exclude[0] = "*", "none"
	if terms.Filters.Include[0] != "medai:*" || terms.Filters.Exclude[0] != "aaep:agent.tool.*" {
		t.Errorf("the terms changed with the request: %+v", terms.Filters)
	}
}

// A pattern that can match nothing is told, and is not honored; one that could is.
func TestFiltersThatMatchNothing(t *testing.T) {
	for pattern, told := range map[string]struct{ included, excluded bool }{
		"tool.invoked": {true, true}, "agent.*": {true, false}, "aaep:*.invoked": {true, false},
		"aaep:agent.**": {true, false}, "**": {true, false},
		"*": {}, "a*": {}, "aaep:*": {}, "medai:vitals": {}, "https://example.org/vitals": {},
		"https://example.org/*": {},
	} {
		for _, tc := range []struct {
			ask  aaep.EventFilters
			told bool
		}{{aaep.EventFilters{Include: []string{pattern}}, told.included},
			{aaep.EventFilters{Exclude: []string{pattern}}, told.excluded}} {
			terms := negotiate(t, aaep.Capabilities{EventFilters: &tc.ask}, generous)
			kept := slices.Contains(slices.Concat(terms.Filters.Include, terms.Filters.Exclude), pattern)
			if got := strings.Contains(terms.Note(),
				fmt.Sprintf("The filter %q matches no event", pattern)); got != tc.told || kept == tc.told {
				t.Errorf("%+v: told %v, kept %v: %s", tc.ask, got, kept, terms.Note())
			}
		}
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
