package conformance

import (
	"fmt"
	"io"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
)

// Report is what came of a run.
type Report struct {
	// Kind is what was judged: "producer" or "subscriber".
	Kind         string    `json:"target_kind"`
	Suite        string    `json:"suite"`
	SuiteVersion string    `json:"suite_version"`
	SpecVersion  string    `json:"spec_version"`
	Date         time.Time `json:"date"`
	Level        int       `json:"level"`
	Target       string    `json:"target,omitzero"`
	Transport    string    `json:"transport,omitzero"`
	// Partial says that only some cases were judged, which proves no level.
	Partial bool `json:"partial"`
	// Verdict is Fail if one MUST failed, Inconclusive if one could not be put to the test, and Pass otherwise.
	Verdict Verdict         `json:"verdict"`
	Counts  map[Verdict]int `json:"counts"`
	Results []Result        `json:"results"`
}

// Result is what became of one case.
type Result struct {
	Case    Case    `json:"-"`
	Verdict Verdict `json:"verdict"`
	// Play is what the runner's subscribers did.
	Play string
	// Seen is one sentence that says what was seen.
	Seen     string
	Evidence []Evidence
}

// Evidence is one message of a recording, or what happened instead.
type Evidence struct {
	Seconds float64 `json:"seconds"` // since the play began
	Link    int     `json:"link"`
	Sent    bool    `json:"sent"`
	Text    string  `json:"text"` // of the message as it was on the wire, at most 600 bytes

	caller bool // the link is the target's, not one of the runner's subscribers
}

const maxEvidence = 600

func evidenceOf(r *Recording, entries []Entry) (list []Evidence) {
	for _, e := range entries {
		text := e.Note
		if e.Data != nil {
			text = string(e.Data[:min(len(e.Data), maxEvidence)])
		}
		list = append(list, Evidence{e.At.Sub(r.began).Round(time.Millisecond).Seconds(), e.Link, e.Sent, aaep.SafeText(strings.ToValidUTF8(text, "\uFFFD")), r.limit > 0})
	}
	return list
}

// MarshalJSON writes a result with what its case says.
func (r Result) MarshalJSON() ([]byte, error) {
	return jsonv2.Marshal(struct {
		ID           string     `json:"id"`
		Name         string     `json:"name"`
		Requirements []string   `json:"requirements"`
		Level        int        `json:"level"`
		Strength     Strength   `json:"strength"`
		Verdict      Verdict    `json:"verdict"`
		Seen         string     `json:"seen"`
		Rule         string     `json:"rule"`
		Play         string     `json:"play,omitzero"`
		Evidence     []Evidence `json:"evidence,omitzero"`
	}{r.Case.ID(), r.Case.Name, r.Case.Requirements, r.Case.Level, r.Case.Strength, r.Verdict, r.Seen, r.Case.Rule, r.Play, r.Evidence})
}

func (r *Report) add(res Result) {
	if r.Counts == nil {
		r.Counts, r.Verdict = map[Verdict]int{}, Pass
	}
	r.Counts[res.Verdict]++
	r.Results = append(r.Results, res)
	switch {
	case res.Verdict == Fail:
		r.Verdict = Fail
	case res.Verdict == Inconclusive && r.Verdict == Pass:
		r.Verdict = Inconclusive
	}
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	if err := jsonv2.MarshalWrite(w, r, jsonv2.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// WriteText writes a line for each case that was judged, the verdict first, and below what is not right the messages
// that show it.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, res := range r.Results {
		if res.Verdict == Skipped {
			continue
		}
		fmt.Fprintf(&b, "%s %s %s: %s.", strings.ToUpper(string(res.Verdict)), res.Case.ID(), res.Case.Name, oneLine(res.Seen))
		if res.Verdict != Pass {
			fmt.Fprintf(&b, " Right would be: %s.", res.Case.Rule)
		}
		b.WriteByte('\n')
		for _, e := range res.Evidence {
			if res.Verdict != Pass {
				fmt.Fprintf(&b, "  %s, after %.3f seconds, %s: %s\n", res.Play, e.Seconds, e.Who(), oneLine(e.Text))
			}
		}
	}
	fmt.Fprintf(&b, "%s\n", r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// Who says who sent or received it, or what the user did.
func (e Evidence) Who() string {
	way := "received"
	if e.Sent {
		way = "sent"
	}
	switch {
	case e.Link == hookLink && e.Sent:
		return "the user did"
	case e.Link == hookLink:
		return "the hook told"
	case e.caller:
		return fmt.Sprintf("%s on link %d", way, e.Link+1)
	}
	return fmt.Sprintf("subscriber %d %s", e.Link+1, way)
}

// Summary is the verdict in one sentence.
func (r *Report) Summary() string {
	verdict := map[Verdict]string{Pass: "passed", Fail: "failed", Inconclusive: "not proved"}[r.Verdict]
	what := fmt.Sprintf("AAEP %s %s Level %d", r.SpecVersion, r.Kind, r.Level)
	if r.Partial {
		what = "Some cases of " + what
	}
	return fmt.Sprintf("%s: %s. %d passed, %d failed, %d inconclusive, %d deviations, %d skipped. Suite %s %s, %s.", what, verdict,
		r.Counts[Pass], r.Counts[Fail], r.Counts[Inconclusive], r.Counts[Deviation], r.Counts[Skipped], r.Suite, r.SuiteVersion, r.Date.Format(time.DateOnly))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
