package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aaep-go/aaep/internal/requirements"
)

// Explain writes to w what a requirement or a case demands, and how it is judged; or why it is not.
// A name that is neither is an error.
func Explain(w io.Writer, name string) error {
	var b strings.Builder
	found := Match(Cases(), name)
	row, known := requirements.Find(name)
	if known {
		b.WriteString(requirementText(row))
	}
	for _, c := range found {
		fmt.Fprintf(&b, "Case %s, %s at Level %d. Right is: %s.\n", c.Name, c.Strength, c.Level, c.Rule)
		if !known {
			for _, id := range c.Requirements {
				if row, ok := requirements.Find(id); ok {
					b.WriteString(requirementText(row))
				}
			}
		}
		for _, name := range c.plays {
			p := scenarioRunNamed(name)
			scenario := "No scenario is needed"
			if p.scenario.Name != "" {
				scenario = "The scenario is " + p.scenario.Name
			}
			fmt.Fprintf(&b, "  %s: %s. %s.\n", p.name, p.does, scenario)
		}
	}
	if known && len(found) == 0 {
		fmt.Fprintf(&b, "No case decides it: %s.\n", whyUnjudged(row.ID))
	}
	if b.Len() == 0 {
		return fmt.Errorf("there is no requirement and no case named %q", name)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// requirementText returns a requirement in one line: who owes it, at which level, and what.
func requirementText(r requirements.Requirement) string {
	level := "at Level " + r.Level
	if r.Level == "any" {
		level = "at any level"
	}
	return fmt.Sprintf("%s, %s for %s %s: %s\n", r.ID, r.Strength,
		map[string]string{"producer": "producers", "subscriber": "subscribers",
			"both": "producers and subscribers", "transport": "transports"}[r.Side], level, r.Text)
}

// whyUnjudged returns why no case of a producer decides the requirement id; "" if one does.
func whyUnjudged(id string) string {
	row, ok := requirements.Find(id)
	switch {
	case !ok:
		return "there is no such requirement"
	case len(Match(Cases(), id)) > 0:
		return ""
	case row.Side == "subscriber":
		return "it is a duty of subscribers"
	}
	return reasonFor(row, unjudgedRequirements)
}

// whyUnjudgedOfSubscribers returns why no case for subscribers decides a requirement; "" where a
// case is missing.
func whyUnjudgedOfSubscribers(row requirements.Requirement) string {
	if len(Match(SubscriberCases(), row.ID)) > 0 {
		return ""
	}
	return reasonFor(row, unjudgedOfSubscribers)
}

// reasonFor returns why no case decides a requirement, from a list of reasons and their ids, or by
// the requirement's side and strength; "" where a case is missing.
func reasonFor(row requirements.Requirement, reasons []struct{ reason, ids string }) string {
	for _, why := range reasons {
		if slices.Contains(strings.Fields(why.ids), row.ID) {
			return why.reason
		}
	}
	if family, _, _ := strings.Cut(row.ID, "-"); ofTransports[family] || row.Side == "transport" {
		return "it is about bytes below the messages; package transporttest and the tests of each transport judge it"
	}
	if row.Strength != string(Must) {
		return "it is no MUST"
	}
	return ""
}

// ofTransports are the families of requirements about one transport.
var ofTransports = map[string]bool{"TR": true, "SSE": true, "WS": true, "IPC": true, "STDIO": true, "GRPC": true,
	"XT": true}
