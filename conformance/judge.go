package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
)

// judgeCase lets a case judge each of its recordings, by their names, and joins the findings to its
// result. One that fails decides, and one that could not be judged keeps the case from passing,
// unless there need not have been anything in it. Recordings in c.beside count only if they fail. A
// name without a recording is passed over.
func judgeCase(c Case, recordings map[string]*Recording) Result {
	j := caseJudgement{result: Result{Case: c, Verdict: Inconclusive, Seen: "nothing was played"}}
	for _, name := range c.plays {
		r := recordings[name]
		if r == nil {
			continue
		}
		f := c.judgeRecording(name, r)
		j.addFinding(name, r, f)
		if f.Verdict == Fail && f.problems == nil {
			break // problems are gathered from all recordings, other failures are not
		}
	}
	for _, name := range c.beside {
		r := recordings[name]
		if r == nil {
			continue
		}
		if f := c.judgeRecording(name, r); f.problems != nil || f.Verdict == Fail {
			j.addFinding(name, r, f)
		}
	}
	return j.combineFindings()
}

// A rank orders findings about one case: the highest decides.
type rank int

const (
	unjudged rank = iota
	empty         // nothing to judge came, and nothing need have come
	needless      // the recording need not be judged
	judged        // it was judged, and is right
	missing       // it could not be judged
	failed
)

// rankOf returns the rank of a finding. An inconclusive one is empty where nothing need have come,
// and else missing.
func rankOf(f Finding) rank {
	switch {
	case f.problems != nil, f.Verdict == Fail:
		return failed
	case f.Verdict == Skipped:
		return needless
	case f.Verdict != Inconclusive:
		return judged
	case f.none:
		return empty
	}
	return missing
}

// A caseJudgement gathers what a case finds in its recordings.
type caseJudgement struct {
	result Result
	worst  rank
	plays  [failed + 1][]string // the names of the recordings, by rank
	wrong  problems
}

// addFinding adds what was found in the recording of one scenario run. The first finding of the
// worst rank makes the result.
func (j *caseJudgement) addFinding(name string, r *Recording, f Finding) {
	if f.problems != nil {
		j.wrong.addProblems(name, r, f.problems)
		j.result.Verdict, j.worst = Fail, failed
		return
	}
	is := rankOf(f)
	j.plays[is] = append(j.plays[is], name)
	if is > j.worst {
		j.worst = is
		j.result.Play, j.result.Verdict, j.result.Seen, j.result.cause = name, f.Verdict, f.Seen, f.cause
		j.result.Evidence = evidenceOf(r, f.Evidence)
	}
}

// combineFindings returns the result of all findings. A requirement that is only recommended does
// not fail.
func (j *caseJudgement) combineFindings() Result {
	result := j.result
	result.judged = len(j.plays[judged])
	if len(j.wrong.texts) > 0 {
		result.Play, result.Seen, result.Evidence = j.wrong.evidence[0].play, j.wrong.String(), j.wrong.evidence
	}
	if j.worst == missing && result.judged > 0 {
		result.cause = cmp.Or(result.cause, result.Seen) // which other cases may have as well
		result.Seen = fmt.Sprintf("it was right in %s, and %s could not be judged: %s",
			pluralOf(result.judged, "play"), strings.Join(j.plays[missing], ", "), result.Seen)
	}
	if result.Case.Strength == Should {
		switch result.Verdict {
		case Fail:
			result.Verdict = Deviation
		case Inconclusive:
			result.Verdict = Skipped
		}
	}
	return result
}

const (
	notPlayed = "the run was interrupted before it was played"
	notAsked  = "it was not asked for"
)

// withdrawUnfinished takes back what was judged by some of the scenario runs of a case alone, where
// the run was interrupted. What is wrong stays so.
func (res *Result) withdrawUnfinished(recordings map[string]*Recording) {
	for _, name := range res.Case.plays {
		if recordings[name] == nil && res.Verdict != Fail && res.Verdict != Deviation {
			res.Verdict, res.Seen, res.Evidence, res.Play, res.cause = Inconclusive, notPlayed, nil, "", ""
			res.judged = 0
			if res.Case.Strength == Should {
				res.Verdict = Skipped
			}
			return
		}
	}
}

// judgeRecording returns the finding of the case about the recording of the scenario run play. A
// pass or failure without anything from the target is made inconclusive, and so is a finding, other
// than a failure, where the link or the scenario did not begin.
func (c Case) judgeRecording(play string, r *Recording) Finding {
	f := c.Judge(r)
	if (f.Verdict == Pass || f.Verdict == Fail) && !r.hasTargetActivity() {
		f = explainInconclusive(inconclusiveFinding("nothing came from the target"), r)
	}
	if f.Verdict == Fail {
		return f
	}
	if _, missed := r.noteOn(0, noteNoDial); missed && play != unauthenticatedPlay {
		f = inconclusiveFinding(noteNoDial)
	} else if r.DriverErr != nil {
		return inconclusiveFinding("the scenario " + r.Scenario.Name + " could not be started: " +
			aaep.SafeText(r.DriverErr.Error()))
	}
	if f.Verdict == "" {
		f.Verdict = Inconclusive
	}
	if f.Verdict == Inconclusive {
		return explainInconclusive(f, r)
	}
	return f
}

// explainInconclusive adds to an inconclusive finding what the first subscriber met in place of
// what is to be judged, where that is known: a rejection, messages that cannot be read, an error,
// or a link that ended.
func explainInconclusive(f Finding, r *Recording) Finding {
	if a, ok := r.firstAnswer(0); ok && a.compactType() == "subscription.rejected" {
		return Finding{Verdict: Inconclusive,
			Seen:     f.Seen + ", for the request was rejected with " + quoteText(a.stringMember("reason_code")),
			Evidence: []Entry{a.Entry}}
	}
	if _, substituted := r.noteOn(0, noteSubstitute); substituted && r.limit == 0 {
		f.Seen += ", for " + noteSubstitute
	}
	if n := len(r.unreadableOn(0)); n > 0 && r.limit == 0 { // of a producer
		f.Seen += fmt.Sprintf(", but %d messages that are no JSON objects, or have no type or no session_id", n)
	}
	if m := ofTypes(r.eventsOn(0), errored); len(m) > 0 && r.Scenario.Name != Errored && r.limit == 0 {
		f.cause = "session.errored came: " + quoteText(m[0].stringMember("summary_normal"))
		f.Seen, f.Evidence = f.Seen+", and "+f.cause, append(f.Evidence, m[0].Entry)
	}
	if r.ended != nil && r.DriverErr == nil {
		f.none = false
		f.cause = aaep.SafeText(r.ended.Error())
		f.Seen += ", for the link ended: " + f.cause
	} else if r.hasViolation() {
		f.cause = "binding"
		f.Seen += ", maybe for what the case binding tells"
	}
	return f
}

// problems are all that is wrong in several scenario runs, each thing once.
type problems struct {
	texts    []string
	times    map[string]int
	evidence []Evidence // of the first of each
}

const maxProblems = 20

// addProblems adds what is wrong in the recording of one scenario run: each text once, with the
// evidence of its first time, and at most maxProblems of them. Further times are counted.
func (p *problems) addProblems(play string, r *Recording, list []problem) {
	if p.times == nil {
		p.times = map[string]int{}
	}
	for _, one := range list {
		if p.times[one.text]++; p.times[one.text] == 1 && len(p.texts) < maxProblems {
			e := evidenceOf(r, []Entry{one.entry})[0]
			e.play = play
			p.texts = append(p.texts, one.text)
			if !slices.Contains(p.evidence, e) {
				p.evidence = append(p.evidence, e)
			}
		}
	}
}

// String joins the problems into one sentence, with how often each occurred, and how many more
// there are than are listed.
func (p *problems) String() string {
	var all []string
	for _, text := range p.texts {
		if n := p.times[text]; n > 1 {
			text += fmt.Sprintf(", %d times", n)
		}
		all = append(all, text)
	}
	if more := len(p.times) - len(p.texts); more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}
