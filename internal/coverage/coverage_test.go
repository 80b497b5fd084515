package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/requirements"
)

func TestPageIsCurrent(t *testing.T) {
	want, err := renderPage("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/coverage.md is out of date; run: go generate ./internal/coverage")
	}
}

func TestIDs(t *testing.T) {
	got := ids("// AAA-001, 002 and 003; BBB-004/005, XAAA-006 AAA-0070")
	if len(got) != 0 {
		t.Errorf("unknown families were found: %v", got)
	}
	family := "EV" + "T" // so that this file names no requirement
	got = ids(family + "-001, 002 and 003; " + family + "-010/011 X" + family + "-020 " + family + "-0300")
	want := []string{family + "-001", family + "-002", family + "-003", family + "-010", family + "-011"}
	if !slices.Equal(got, want) {
		t.Errorf("ids = %v, want %v", got, want)
	}
}

func TestReasons(t *testing.T) {
	named, err := findTests("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range check(requirements.All(), named, reasons) {
		t.Error(problem)
	}
}

func TestReasonsCanFail(t *testing.T) {
	first, second := "SM"+"-001", "SM"+"-002"
	reqs := []requirements.Requirement{{ID: first}, {ID: second}}
	for _, tt := range []struct {
		named   string
		reasons []reason
		want    string
	}{
		{first, []reason{{second, "later"}}, ""},
		{first, nil, "neither"},
		{first, []reason{{first, "later"}, {second, "later"}}, "stale"},
		{first, []reason{{second, "later"}, {"SM" + "-999", "later"}}, "no such"},
		{"", []reason{{second, "later"}, {first, "later"}}, "order"},
		{first, []reason{{second, "later"}, {second, "again"}}, "order"},
		{first, []reason{{second, ""}}, "neither"},
	} {
		got := strings.Join(check(reqs, map[string][]string{tt.named: {"a_test.go"}}, tt.reasons), "\n")
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%v: %q, want %q", tt.reasons, got, tt.want)
		}
	}
}

// whole are the areas in which each requirement needs a test or a reason.
var whole = []string{"ENV", "EVT", "SM", "HS", "CONF", "EXT", "I18N", "VER", "TERM", "TR", "SSE"}

// check says what is wrong with a table of reasons.
func check(reqs []requirements.Requirement, named map[string][]string, table []reason) (problems []string) {
	why := map[string]string{}
	for i, r := range table {
		why[r.id] = r.why
		if i > 0 && r.id <= table[i-1].id {
			problems = append(problems, r.id+" is out of order")
		}
		if !slices.ContainsFunc(reqs, func(q requirements.Requirement) bool { return q.ID == r.id }) {
			problems = append(problems, r.id+": there is no such requirement")
		}
		if len(named[r.id]) > 0 {
			problems = append(problems, r.id+": the reason is stale; a test names it: "+strings.Join(named[r.id], ", "))
		}
	}
	for _, q := range reqs {
		prefix, _, _ := strings.Cut(q.ID, "-")
		if slices.Contains(whole, prefix) && len(named[q.ID]) == 0 && why[q.ID] == "" {
			problems = append(problems, q.ID+" has neither a test that names it nor a reason")
		}
	}
	return problems
}
