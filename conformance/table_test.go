package conformance_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/internal/requirements"
)

const tablePage = "../docs/conformance-cases.md"

// Every MUST of producers has a case, or a reason that is not stale; and the page that says so is
// current. AAEP_REPORT=1 writes it anew.
func TestTable(t *testing.T) {
	var cases, rows strings.Builder
	for _, c := range conformance.Cases() {
		fmt.Fprintf(&cases, "| %s | %d | %s | %s | %s |\n", c.Name, c.Level, c.Strength, c.Rule,
			strings.Join(c.Requirements, ", "))
		for _, id := range append(c.Requirements, c.Also...) {
			if _, ok := requirements.Find(id); !ok {
				t.Errorf("%s decides %s, which there is not", c.Name, id)
			}
		}
	}
	decided, excused := 0, 0
	for _, r := range requirements.All() {
		if r.Strength != "MUST" || r.Side == "subscriber" || r.Side == "transport" {
			continue
		}
		var names []string
		for _, c := range conformance.Match(conformance.Cases(), r.ID) {
			names = append(names, c.Name)
		}
		where, why := strings.Join(names, ", "), conformance.WhyNot(r.ID)
		switch {
		case where != "":
			decided++
		case why != "":
			excused++
			where = "none: " + why
		default:
			t.Errorf("%s has no case and no reason: %s", r.ID, r.Text)
		}
		fmt.Fprintf(&rows, "| %s | %s | %s | %s |\n", r.ID, r.Level, strings.ReplaceAll(r.Text, "|", `\|`), where)
	}
	theirs, theirRows := subscriberTables(t)
	page := fmt.Sprintf(`# The cases of the conformance suite

Written by `+"`make report`"+`; a test keeps it current. See [conformance.md](conformance.md) for how they are used.

## The %d cases

| case | level | strength | what is right | requirements |
| --- | --- | --- | --- | --- |
%s
## The requirements of producers

Of the %d MUSTs that producers have, cases decide %d. The other %d have none, and their row says why.

| id | level | requirement | cases, or why there is none |
| --- | --- | --- | --- |
%s
## The %d cases for subscribers

| case | level | strength | what is right | requirements |
| --- | --- | --- | --- | --- |
%s
## The requirements of subscribers

| id | level | requirement | cases, or why there is none |
| --- | --- | --- | --- |
%s`, len(conformance.Cases()), cases.String(), decided+excused, decided, excused, rows.String(), len(conformance.SubscriberCases()), theirs, theirRows)
	old, err := os.ReadFile(tablePage)
	if err == nil && string(old) == page {
		return
	}
	if os.Getenv("AAEP_REPORT") == "" {
		t.Fatalf("%s is out of date; run: make report", tablePage)
	}
	if err := os.WriteFile(tablePage, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// subscriberTables are the same two tables for subscribers, of which every MUST has a case or a
// reason as well.
func subscriberTables(t *testing.T) (string, string) {
	t.Helper()
	var cases, rows strings.Builder
	for _, c := range conformance.SubscriberCases() {
		fmt.Fprintf(&cases, "| %s | %d | %s | %s | %s |\n", c.Name, c.Level, c.Strength, c.Rule,
			strings.Join(c.Requirements, ", "))
	}
	for _, r := range requirements.All() {
		if r.Strength != "MUST" || r.Side == "producer" || r.Side == "transport" {
			continue
		}
		var names []string
		for _, c := range conformance.Match(conformance.SubscriberCases(), r.ID) {
			names = append(names, c.Name)
		}
		where := strings.Join(names, ", ")
		if why := conformance.WhyNotOfSubscribers(r); where == "" && why != "" {
			where = "none: " + why
		} else if where == "" {
			t.Errorf("%s has no case for subscribers and no reason: %s", r.ID, r.Text)
		}
		fmt.Fprintf(&rows, "| %s | %s | %s | %s |\n", r.ID, r.Level, strings.ReplaceAll(r.Text, "|", `\|`), where)
	}
	return cases.String(), rows.String()
}

// A reason whose requirement has a case by now is stale.
func TestReasonsAreNeeded(t *testing.T) {
	for _, id := range conformance.Unjudged() {
		if len(conformance.Match(conformance.Cases(), id)) > 0 {
			t.Errorf("%s has a case, and still a reason for having none", id)
		}
		if _, ok := requirements.Find(id); !ok {
			t.Errorf("%s has a reason, and there is no such requirement", id)
		}
	}
	page, err := os.ReadFile("../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	ofProducers, ofSubscribers, _ := strings.Cut(string(page), "\n## Proving a subscriber")
	for _, r := range requirements.All() {
		for _, side := range []struct {
			name, part string
			cases      []conformance.Case
		}{{"producer", ofProducers, conformance.Cases()}, {"subscriber", ofSubscribers, conformance.SubscriberCases()}} {
			if r.Strength == "MUST" && (r.Side == side.name || r.Side == "both") && len(conformance.Match(side.cases, r.ID)) == 0 &&
				!strings.Contains(side.part, r.ID) {
				t.Errorf("docs/conformance.md does not say of %ss that %s is not judged", side.name, r.ID)
			}
		}
	}
	for _, id := range conformance.UnjudgedOfSubscribers() {
		if len(conformance.Match(conformance.SubscriberCases(), id)) > 0 {
			t.Errorf("%s has a case for subscribers, and still a reason for having none", id)
		}
	}
}
