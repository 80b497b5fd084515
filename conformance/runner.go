package conformance

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// A runner puts a target through the scenario runs that its cases need, and judges what was
// recorded. It is the same for producers and subscribers; what differs stands in its fields.
type runner struct {
	report *Report // with its Kind, Level, Profile, Target and Transport
	cases  []Case  // all of them, those from outside too
	extra  []Case  // those from outside
	only   []string
	known  []string
	resume *Report // the report of an earlier run; nil is none

	// perform runs the scenarios that the cases need for which open holds. Where ctx ends, it
	// returns what was run to its end, and the error of ctx; other errors end the run.
	perform func(ctx context.Context, open func(Case) bool) (performedRuns, error)
	// skips says why a case cannot be judged with what there is, or "". Nil is never.
	skips    func(Case) string
	warnings []string
}

// performedRuns are the scenario runs that cases needed.
type performedRuns struct {
	needed []string // the names of all
	runs   []scenarioRun
	of     map[string]*Recording // what was recorded of runs, by name
	// useless says why nothing else was run after the first, or is "".
	useless string
}

// prove chooses the cases, runs what they need, and judges. The error is that of beginning, or of
// perform; the report comes with it where ctx ended and something was run by then. Cases that the
// resumed report has settled are not run again.
func (r *runner) prove(ctx context.Context) (*Report, error) {
	chosen, err := r.report.beginReport(r.cases, r.extra, r.only, r.known)
	if err == nil {
		err = r.report.resumeFrom(r.resume)
	}
	if err != nil {
		return nil, err
	}
	performed, err := r.perform(ctx, func(c Case) bool {
		_, settled := r.resume.settledResult(c)
		return chosen(c) && !settled
	})
	if err != nil && (len(performed.runs) == 0 || ctx.Err() == nil) {
		return nil, err
	}
	r.report.Interrupted = err != nil
	r.report.addRuns(performed)
	r.report.Warnings = append(r.report.Warnings, r.warnings...)
	if !slices.ContainsFunc(performed.runs, func(run scenarioRun) bool { return performed.of[run.name].watched }) {
		r.report.Warnings = append(r.report.Warnings, unreported)
	}
	for _, c := range r.cases {
		r.report.addResult(r.resultOf(c, chosen(c), performed).withKnown(r.known))
	}
	if r.report.Counts[Skipped] == len(r.report.Results) {
		r.report.Verdict = Inconclusive // nothing was judged
	}
	return r.report, err
}

// addRuns adds what is reported of scenario runs beside the verdicts: a timeline for each, the name
// of a producer, which the first run that has one gives, warnings of higher levels, and the date.
func (r *Report) addRuns(performed performedRuns) {
	for _, run := range performed.runs {
		rec := performed.of[run.name]
		r.plays = append(r.plays, summarizeRun(run, rec))
		if r.Kind == "producer" {
			r.Name = cmp.Or(r.Name, nameOf(rec))
		}
		r.addHigherLevelWarnings(rec)
	}
	r.Date = time.Now().UTC()
}

// resultOf returns the verdict on a case: the earlier one, where that is settled, or what its
// recordings show. One that is not chosen, or that r.skips has a reason against, is skipped; after
// an interruption what is not finished is withdrawn.
func (r *runner) resultOf(c Case, chosen bool, performed performedRuns) Result {
	if !chosen {
		return Result{Case: c, Verdict: Skipped, Seen: notAsked}
	}
	if earlier, settled := r.resume.settledResult(c); settled {
		return earlier
	}
	if c.everywhere {
		c.plays = performed.needed
	}
	result := judgeCase(c, performed.of)
	if result.Play == "" && result.Verdict == Inconclusive && performed.useless != "" {
		result.Seen = performed.useless
	}
	if r.report.Interrupted {
		result.withdrawUnfinished(performed.of)
	}
	if r.skips != nil {
		if why := r.skips(c); why != "" {
			result.Verdict, result.Seen = Skipped, why
		}
	}
	return result
}
