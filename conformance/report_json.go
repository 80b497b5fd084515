package conformance

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
)

// WriteJSON writes the report for programs. It has the members of both published layouts, under
// which "verdict" and "result" are PASS only if the level was passed.
func (r *Report) WriteJSON(w io.Writer) error {
	if err := jsonv2.MarshalWrite(w, r, jsonv2.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// jsonReport is a report as JSON: first the members of the published layouts, then those of this
// suite.
type jsonReport struct {
	AAEPSpecVersion  string            `json:"aaep_spec_version"`
	AAEPVersion      string            `json:"aaep_version"`
	SuiteVersion     string            `json:"suite_version"`
	ConformanceLevel int               `json:"conformance_level"`
	Endpoint         string            `json:"endpoint"`
	StartedAt        string            `json:"started_at"`
	CompletedAt      string            `json:"completed_at"`
	DurationSeconds  float64           `json:"duration_seconds"`
	Verdict          string            `json:"verdict"`
	Result           string            `json:"result"`
	TestsRun         int               `json:"tests_run"`
	TestsPassed      int               `json:"tests_passed"`
	TestsFailed      int               `json:"tests_failed"`
	TestsSkipped     int               `json:"tests_skipped"`
	PassRate         float64           `json:"pass_rate"`
	Metadata         map[string]string `json:"metadata"`
	TestResults      []jsonResult      `json:"test_results"`
	Failures         []jsonResult      `json:"failures"`

	TargetKind     string          `json:"target_kind"`
	Implementation string          `json:"implementation,omitzero"`
	Transport      string          `json:"transport,omitzero"`
	Profile        string          `json:"profile,omitzero"`
	Partial        bool            `json:"partial"`
	Interrupted    bool            `json:"interrupted"`
	Claim          string          `json:"claim,omitzero"`
	Warnings       []string        `json:"warnings,omitzero"`
	Stale          []string        `json:"stale_known_failures,omitzero"`
	Counts         map[Verdict]int `json:"counts"`
	Plays          []runSummary    `json:"plays"`
}

// MarshalJSON writes the report as WriteJSON has it: first the members of the published layouts,
// then those of this suite.
func (r *Report) MarshalJSON() ([]byte, error) {
	all, failures := make([]jsonResult, len(r.Results)), []jsonResult{}
	seconds := map[string]float64{}
	for _, p := range r.plays {
		seconds[p.Name] = p.Seconds
	}
	for i, res := range r.Results {
		all[i] = jsonResultOf(res, seconds[res.Play])
		if all[i].Severity != "info" {
			failures = append(failures, all[i])
		}
	}
	verdict := strings.ToUpper(string(r.Verdict))
	if r.Counts[Skipped] == len(r.Results) {
		verdict = "SKIPPED"
	}
	rate := 0.0
	if run := len(r.Results) - r.Counts[Skipped]; run > 0 {
		rate = float64(r.Counts[Pass]) / float64(run)
	}
	version := r.Suite + " " + r.SuiteVersion
	return jsonv2.Marshal(jsonReport{
		AAEPSpecVersion: r.SpecVersion, AAEPVersion: r.SpecVersion, SuiteVersion: version,
		ConformanceLevel: r.Level, Endpoint: r.Target,
		StartedAt: aaep.FormatTimestamp(r.Began), CompletedAt: aaep.FormatTimestamp(r.Date),
		DurationSeconds: r.Date.Sub(r.Began).Round(time.Millisecond).Seconds(),
		Verdict:         verdict, Result: verdict,
		TestsRun: len(r.Results), TestsPassed: r.Counts[Pass],
		TestsFailed:  r.Counts[Fail] + r.Counts[Inconclusive] + r.Counts[Deviation],
		TestsSkipped: r.Counts[Skipped], PassRate: rate,
		Metadata:    map[string]string{"aaep_spec_version": r.SpecVersion, "suite_version": version},
		TestResults: all, Failures: failures,
		TargetKind: r.Kind, Implementation: r.Name, Transport: r.Transport, Profile: r.Profile,
		Partial: r.Partial, Interrupted: r.Interrupted, Claim: r.Claim(), Warnings: r.Warnings,
		Stale: r.Stale, Counts: r.Counts, Plays: r.plays,
	})
}

// ReadReport reads a report that WriteJSON wrote, for ProducerRun.Resume and SubscriberRun.Resume.
// Of each result it has what those need: its verdict, what was seen and the evidence. Another file
// is an error.
func ReadReport(r io.Reader) (*Report, error) {
	var file jsonReport
	if err := jsonv2.UnmarshalRead(r, &file); err != nil {
		return nil, fmt.Errorf("conformance: the file is no report in JSON: %w", err)
	}
	date, ok := aaep.ParseTimestamp(file.CompletedAt)
	suite, version, _ := strings.Cut(file.SuiteVersion, " ")
	if !ok || file.TargetKind == "" || version == "" {
		return nil, errors.New("conformance: the file is no report of this suite; it has no target_kind, suite_version or completed_at")
	}
	report := &Report{Kind: file.TargetKind, Suite: suite, SuiteVersion: version, Level: file.ConformanceLevel,
		Target: file.Endpoint, Date: date, plays: file.Plays}
	for _, res := range file.TestResults {
		report.Results = append(report.Results,
			Result{Case: Case{Name: res.Name}, Verdict: res.Verdict, Play: res.Play, Seen: res.Message,
				Evidence: res.Evidence})
	}
	return report, nil
}

// settledResult returns what an earlier report says of a case, and whether the case need not be
// judged again: it was judged, or skipped for a reason of its own. A nil report has none.
func (r *Report) settledResult(c Case) (Result, bool) {
	if r == nil {
		return Result{}, false
	}
	i := slices.IndexFunc(r.Results, func(res Result) bool { return res.Case.Name == c.Name })
	if i < 0 {
		return Result{}, false
	}
	res := r.Results[i]
	res.Case = c
	wasLeftOut := res.Verdict == Skipped && (res.Seen == notPlayed || res.Seen == notAsked)
	return res, res.Verdict != Inconclusive && !wasLeftOut
}

// resumeFrom takes over the timelines of an earlier report of the same role, suite, level and
// target, with a warning, and refuses any other report. A nil one changes nothing.
func (r *Report) resumeFrom(earlier *Report) error {
	if earlier == nil {
		return nil
	}
	for _, same := range []struct {
		what    string
		was, is any
	}{{"role", earlier.Kind, r.Kind}, {"suite", earlier.Suite + " " + earlier.SuiteVersion,
		r.Suite + " " + r.SuiteVersion}, {"level", earlier.Level, r.Level},
		{"target", earlier.Target, r.Target}} {
		if same.was != same.is {
			return fmt.Errorf("conformance: the report to resume is of the %s %v, and this run of %v; they have to be the same", same.what, same.was, same.is)
		}
	}
	r.plays = append(r.plays, earlier.plays...)
	r.Warnings = append(r.Warnings, "what was judged by "+earlier.Date.UTC().Format(time.RFC3339)+
		" is taken from the report that this run resumed")
	return nil
}

// jsonResult has the members of the published layouts, and then ours.
type jsonResult struct {
	TestID        string  `json:"test_id"`
	Description   string  `json:"description"`
	Passed        bool    `json:"passed"`
	Severity      string  `json:"severity"`
	Message       string  `json:"message"`
	Expected      string  `json:"expected"`
	Actual        string  `json:"actual"`
	DurationMS    float64 `json:"duration_ms"`
	SpecReference string  `json:"spec_reference"`

	Name         string     `json:"name"`
	Requirements []string   `json:"requirements"`
	Level        int        `json:"level"`
	Strength     Strength   `json:"strength"`
	Verdict      Verdict    `json:"verdict"`
	Known        bool       `json:"known_failure,omitzero"`
	Play         string     `json:"play,omitzero"`
	Evidence     []Evidence `json:"evidence,omitzero"`
}

// jsonResultOf makes the JSON of a result; seconds is how long its scenario run took. What keeps a
// level from being passed has the severity error, a deviation warning, all else info.
func jsonResultOf(res Result, seconds float64) jsonResult {
	severity := "info"
	switch res.Verdict {
	case Fail, Inconclusive:
		severity = "error"
	case Deviation:
		severity = "warning"
	}
	c := res.Case
	return jsonResult{c.ID() + " " + c.Name, c.Rule, res.Verdict == Pass, severity, res.Seen, c.Rule, res.Seen,
		seconds * 1000,
		strings.Join(c.Requirements, ", "), c.Name, c.Requirements, c.Level, c.Strength, res.Verdict, res.Known,
		res.Play, res.Evidence}
}
