package conformance

import (
	"io"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
)

// WriteJSON writes the report for programs. It has the members of both published layouts, under which "verdict"
// and "result" are PASS only if the level was passed.
func (r *Report) WriteJSON(w io.Writer) error {
	if err := jsonv2.MarshalWrite(w, r, jsonv2.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// MarshalJSON writes the members of the published layouts first.
func (r *Report) MarshalJSON() ([]byte, error) {
	all, failures := make([]jsonResult, len(r.Results)), []jsonResult{}
	seconds := map[string]float64{}
	for _, p := range r.plays {
		seconds[p.Name] = p.Seconds
	}
	for i, res := range r.Results {
		all[i] = jsonOf(res, seconds[res.Play])
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
	return jsonv2.Marshal(struct {
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
		Claim          string          `json:"claim,omitzero"`
		Warnings       []string        `json:"warnings,omitzero"`
		Stale          []string        `json:"stale_known_failures,omitzero"`
		Counts         map[Verdict]int `json:"counts"`
		Plays          []played        `json:"plays"`
	}{r.SpecVersion, r.SpecVersion, version, r.Level, r.Target, aaep.FormatTimestamp(r.Began), aaep.FormatTimestamp(r.Date),
		r.Date.Sub(r.Began).Round(time.Millisecond).Seconds(), verdict, verdict, len(r.Results), r.Counts[Pass],
		r.Counts[Fail] + r.Counts[Inconclusive] + r.Counts[Deviation], r.Counts[Skipped], rate,
		map[string]string{"aaep_spec_version": r.SpecVersion, "suite_version": version}, all, failures,
		r.Kind, r.Name, r.Transport, r.Profile, r.Partial, r.Claim(), r.Warnings, r.Stale, r.Counts, r.plays})
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

// jsonOf calls severe what keeps a level from being passed.
func jsonOf(res Result, seconds float64) jsonResult {
	severity := "info"
	switch res.Verdict {
	case Fail, Inconclusive:
		severity = "error"
	case Deviation:
		severity = "warning"
	}
	c := res.Case
	return jsonResult{c.ID() + " " + c.Name, c.Rule, res.Verdict == Pass, severity, res.Seen, c.Rule, res.Seen, seconds * 1000,
		strings.Join(c.Requirements, ", "), c.Name, c.Requirements, c.Level, c.Strength, res.Verdict, res.Known, res.Play, res.Evidence}
}
