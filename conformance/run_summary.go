package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
)

// A runSummary says what came and went in one scenario run, without the contents of the messages.
type runSummary struct {
	Name     string  `json:"name"`
	Does     string  `json:"does"` // what the subscribers and the target do, in words
	Scenario string  `json:"scenario,omitzero"`
	Seconds  float64 `json:"seconds"`
	// Budgets are the rates that were agreed.
	Budgets []budget `json:"budgets,omitzero"`
	Marks   []mark   `json:"marks"`
	// Left is how many marks there is no room for.
	Left int `json:"left_out,omitzero"`

	caller bool // the links are the target's, and what passed the hook is among the marks
}

// Lane returns the label of a link's lane in the picture: a subscriber, or, where the target is one
// that calls, its link or the hook.
func (p runSummary) Lane(link int) string {
	switch {
	case link == hookLink:
		return "The hook"
	case p.caller:
		return fmt.Sprintf("Link %d", link+1)
	}
	return fmt.Sprintf("Subscriber %d", link+1)
}

// budget is how many events that are not critical one subscriber may get in a second.
type budget struct {
	Link      int     `json:"link"`
	PerSecond float64 `json:"per_second"`
	// Peak is the most that came within any one second.
	Peak int `json:"peak"`
}

// mark is one message.
type mark struct {
	Seconds  float64 `json:"seconds"`       // since the scenario run began
	Link     int     `json:"link"`          // from 0; -1 is the hook of a subscriber
	Sent     bool    `json:"sent,omitzero"` // by the runner
	Type     string  `json:"type"`
	Critical bool    `json:"critical,omitzero"`
	// Session says that it is an event of a session, which a rate is for.
	Session bool `json:"session,omitzero"`
}

// maxMarks bounds what a report holds of a target that talks without end.
const maxMarks = 500

// summarizeRun makes the summary of a recording for the report: what went over each link when, at
// most maxMarks of it, and how the rate was kept.
func summarizeRun(p scenarioRun, r *Recording) runSummary {
	out := runSummary{Name: p.name, Does: p.does, Scenario: p.scenario.Name, Marks: []mark{}, caller: r.limit > 0}
	var all []message
	for link := hookLink; link < r.linkCount(); link++ {
		all = slices.Concat(all, r.messagesOn(link, false), r.messagesOn(link, true))
	}
	// Two readers may note what comes at one moment in either order.
	slices.SortFunc(all, func(a, b message) int {
		return cmp.Or(cmp.Compare(r.secondsSince(a.At), r.secondsSince(b.At)), a.Link-b.Link, a.index-b.index)
	})
	for _, m := range all {
		name := cmp.Or(aaep.SafeText(strings.TrimPrefix(m.compactType(), "aaep:agent.")), hookEntryName(m), "no type")
		event := m.Sent == out.caller && m.stringMember("session_id") != ""
		out.Marks = append(out.Marks, mark{r.secondsSince(m.At), m.Link, m.Sent, name[:min(len(name), 80)], event &&
			m.isCritical(), event})
	}
	for link := range r.linkCount() {
		if rate, ok := r.agreedRate(link); ok && !out.caller {
			out.Budgets = append(out.Budgets, budget{link, rate, maxPerSecond(out.rateLimitedTimes(link))})
		}
	}
	if n := len(out.Marks); n > maxMarks {
		out.Marks, out.Left = out.Marks[:maxMarks], n-maxMarks
	}
	if n := len(r.Entries); n > 0 {
		out.Seconds = r.secondsSince(r.Entries[n-1].At)
	}
	return out
}

// hookEntryName names a message that passed the hook, or returns "" for one that did not.
func hookEntryName(m message) string {
	switch {
	case m.Link != hookLink:
	case m.Sent:
		return "the user acts"
	case m.members["text"] != nil:
		return "presented"
	case m.members["log"] != nil:
		return "logged"
	}
	return ""
}

// secondsSince returns the seconds from the start of the recording to a moment.
func (r *Recording) secondsSince(at time.Time) float64 {
	return at.Sub(r.began).Round(time.Millisecond).Seconds()
}

// rateLimitedTimes returns when the events came on a link that count against its rate.
func (p runSummary) rateLimitedTimes(link int) (list []float64) {
	for _, m := range p.Marks {
		if m.Link == link && m.Session && !m.Critical {
			list = append(list, m.Seconds)
		}
	}
	return list
}

// maxPerSecond returns the most of some sorted times, in seconds, that lie within any one second.
func maxPerSecond(times []float64) (most int) {
	first := 0
	for i, t := range times {
		for times[first] <= t-1 {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
