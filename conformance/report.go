package conformance

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
)

// Report is what came of a run.
type Report struct {
	Suite, SuiteVersion, SpecVersion string
	// Kind is what was judged: "producer" or "subscriber".
	Kind        string
	Began, Date time.Time
	Level       int
	// Name is what the target calls itself, Target where it was reached, and Transport how.
	Name, Target, Transport string
	Profile                 string // that was judged as well, with its version
	// Warnings say what the run could not see.
	Warnings []string
	// Partial says that only some cases were judged, which proves no level.
	Partial bool
	// Interrupted says that the run was ended before all was run.
	Interrupted bool
	// Verdict is Fail if one MUST failed, Inconclusive if one could not be put to the test, and
	// Pass otherwise.
	Verdict Verdict
	Counts  map[Verdict]int
	Results []Result
	// Stale are the cases of ProducerRun.Known that passed.
	Stale []string

	plays []runSummary
}

// Result is what became of one case.
type Result struct {
	Case    Case
	Verdict Verdict
	// Known says that the case was expected not to pass.
	Known bool
	// Play is what the runner's subscribers did.
	Play string
	// Seen is one sentence that says what was seen.
	Seen     string
	Evidence []Evidence

	judged int    // the scenarios in which there was something to judge
	cause  string // that keeps it and others from being judged, if that is not all that was seen
}

// Evidence is one message of a recording, or what happened instead.
type Evidence struct {
	Seconds float64 `json:"seconds"` // since the scenario run began
	Link    int     `json:"link"`
	Sent    bool    `json:"sent"`
	Text    string  `json:"text"` // of the message as it was on the wire, at most 600 bytes
	caller  bool    // the link is the target's, not one of the runner's subscribers
	play    string  // that it is from, if that is not Result.Play

}

// direction returns "sent" or "received", from the point of view of the runner.
func (e Evidence) direction() string {
	if e.Sent {
		return "sent"
	}
	return "received"
}

// Who returns, in words, who sent or received it, or what the user did: a subscriber or a link by
// its number from 1, the hook, or the user.
func (e Evidence) Who() string {
	switch {
	case e.Link == hookLink && e.Sent:
		return "the user did"
	case e.Link == hookLink:
		return "the hook told"
	case e.caller:
		return fmt.Sprintf("%s on link %d", e.direction(), e.Link+1)
	}
	return fmt.Sprintf("subscriber %d %s", e.Link+1, e.direction())
}

// In tells it in one line, with the scenario run it is from.
func (e Evidence) In(play string) string {
	return fmt.Sprintf("%s, after %.3f seconds, %s: %s", cmp.Or(e.play, play), e.Seconds, e.Who(), oneLine(e.Text))
}

const maxEvidence = 600

// evidenceOf returns entries as evidence of a report, printable and at most maxEvidence bytes each.
func evidenceOf(r *Recording, entries []Entry) (list []Evidence) {
	for _, e := range entries {
		text := e.Note
		if e.Data != nil {
			text = string(e.Data[:min(len(e.Data), maxEvidence)])
		}
		list = append(list, Evidence{r.secondsSince(e.At), e.Link, e.Sent,
			aaep.SafeText(strings.ToValidUTF8(text, "\uFFFD")), r.limit > 0, ""})
	}
	return list
}

// addResult appends the result of a case, counts its verdict and lowers that of the report where it
// must: to Fail, or from Pass to Inconclusive. A known failure that passes is stale.
func (r *Report) addResult(res Result) {
	if r.Counts == nil {
		r.Counts, r.Verdict = map[Verdict]int{}, Pass
	}
	r.Counts[res.Verdict]++
	r.Results = append(r.Results, res)
	if res.Known && res.Verdict == Pass {
		r.Stale = append(r.Stale, res.Case.Name)
	}
	switch {
	case res.Verdict == Fail:
		r.Verdict = Fail
	case res.Verdict == Inconclusive && r.Verdict == Pass:
		r.Verdict = Inconclusive
	}
}

// WriteText writes a line for each case that was judged, the verdict first: what passed, then what
// did not, with the messages that show it. Cases that share one cause are named together, and
// skipped ones are left out.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, res := range r.Results {
		if res.Verdict == Pass {
			writeResult(&b, &res)
		}
	}
	var causes []string
	for i, res := range r.Results { // next to the summary: a listener to the report should not have to go back
		wasNamed := isUnproved(&res) && slices.Contains(causes, res.causeOrSeen())
		if res.Verdict == Pass || res.Verdict == Skipped || wasNamed {
			continue
		}
		writeResult(&b, &res)
		var also []string // one cause keeps many cases from being judged, and is told once
		for _, other := range r.Results[i+1:] {
			if isUnproved(&res) && isUnproved(&other) && other.causeOrSeen() == res.causeOrSeen() {
				also = append(also, other.Case.ID()+" "+other.Case.Name)
			}
		}
		if causes = append(causes, res.causeOrSeen()); len(also) > 0 {
			fmt.Fprintf(&b, "%s for the same reason: %s.\n", res.verdictLabel(), strings.Join(also, ", "))
		}
	}
	for _, name := range r.Stale {
		fmt.Fprintf(&b, "STALE %s: it passed, and is among the known failures. Right would be: it is taken off that list.\n", name)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "Note: %s.\n", oneLine(w))
	}
	fmt.Fprintf(&b, "%s\n", r.Summary())
	if claim := r.Claim(); claim != "" {
		fmt.Fprintf(&b, "You may say: %s\n", claim)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// isUnproved reports whether a result is inconclusive and was not known to be.
func isUnproved(res *Result) bool { return res.Verdict == Inconclusive && !res.Known }

// causeOrSeen returns what cases that could not be judged may have in common: the cause or, where
// none is known, what was seen.
func (res *Result) causeOrSeen() string { return cmp.Or(res.cause, res.Seen) }

// verdictLabel returns the verdict as it is written. What a case is about may never have happened;
// then it is not run, and says no more.
func (res *Result) verdictLabel() string {
	if res.Verdict == Inconclusive && res.judged == 0 {
		return "NOT RUN"
	}
	return strings.ToUpper(string(res.Verdict))
}

// writeResult writes the result of a case as lines of text: the verdict, what was seen, what would
// be right, and the evidence.
func writeResult(b *strings.Builder, res *Result) {
	known := ""
	if res.Known {
		known = ", as is known"
	}
	fmt.Fprintf(b, "%s %s %s%s: %s.", res.verdictLabel(), res.Case.ID(), res.Case.Name, known, oneLine(res.Seen))
	if res.Verdict != Pass {
		fmt.Fprintf(b, " Right would be: %s.", res.Case.Rule)
	}
	b.WriteByte('\n')
	for _, e := range res.Evidence {
		if res.Verdict != Pass {
			fmt.Fprintf(b, "  %s\n", e.In(res.Play))
		}
	}
}

// Summary returns the verdict in one sentence, and the counts, the suite and the date in others.
func (r *Report) Summary() string {
	verdict := map[Verdict]string{Pass: "passed", Fail: "failed", Inconclusive: "not proved"}[r.Verdict]
	what := fmt.Sprintf("AAEP %s %s Level %d", r.SpecVersion, r.Kind, r.Level)
	if r.Partial {
		what = "Some cases of " + what
	}
	return fmt.Sprintf("%s: %s. %d passed, %d failed, %d inconclusive, %d deviations, %d skipped. Suite %s %s, %s.",
		what, verdict,
		r.Counts[Pass], r.Counts[Fail], r.Counts[Inconclusive], r.Counts[Deviation], r.Counts[Skipped], r.Suite,
		r.SuiteVersion, r.Date.Format(time.DateOnly))
}

// Claim returns the sentence with which a target that passed may be spoken of (§9.8). It is empty
// if a level was not passed.
func (r *Report) Claim() string {
	if r.Verdict != Pass || r.Partial || r.Interrupted {
		return ""
	}
	profile := ""
	if r.Profile != "" {
		profile = ", and with the profile " + oneLine(r.Profile)
	}
	return fmt.Sprintf("%s is AAEP Level %d conformant (%s, AAEP %s)%s, verified by AAEP Conformance Suite version %s %s on %s.",
		cmp.Or(oneLine(r.Name), "This implementation"), r.Level, r.Kind, r.SpecVersion, profile, r.Suite,
		r.SuiteVersion, r.Date.Format(time.DateOnly))
}

// OK reports whether something was judged and nothing is worse than was known: what did not pass is
// in ProducerRun.Known, and nothing there passed.
func (r *Report) OK() bool {
	return len(r.Stale) == 0 && r.Counts[Skipped] < len(r.Results) &&
		!slices.ContainsFunc(r.Results, func(res Result) bool {
			return !res.Known && (res.Verdict == Fail || res.Verdict == Inconclusive)
		})
}

// oneLine returns a peer's text on one line, without characters that a terminal would obey, for a
// report.
func oneLine(s string) string { return strings.Join(strings.Fields(aaep.SafeText(s)), " ") }
