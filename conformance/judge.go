package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
)

// judge lets a case judge each of its recordings: one that fails decides, one that could not be judged counts
// only where none could.
func judge(c Case, recordings map[string]*Recording) Result {
	result := Result{Case: c, Verdict: Inconclusive, Seen: "nothing was played"}
	var wrong problems
	for _, name := range c.plays {
		r := recordings[name]
		if r == nil {
			continue
		}
		f := c.Judge(r)
		if f.Verdict == "" {
			f.Verdict = Inconclusive
		}
		if r.DriverErr != nil && f.Verdict != Fail {
			f = unseen("the scenario " + r.Scenario.Name + " could not be started: " + aaep.SafeText(r.DriverErr.Error()))
		}
		if _, missed := r.noted(0, noteNoDial); missed && f.Verdict != Fail && name != strangerPlay {
			f = unseen(noteNoDial)
		}
		if f.Verdict == Inconclusive {
			f = because(f, r)
		}
		if f.problems != nil {
			wrong.add(name, r, f.problems)
			result.Verdict = Fail
			continue
		}
		better := result.Verdict == Inconclusive && (f.Verdict != Inconclusive || result.Play == "")
		if f.Verdict == Fail || better {
			result.Play, result.Verdict, result.Seen, result.Evidence = name, f.Verdict, f.Seen, evidenceOf(r, f.Evidence)
			result.cause = f.cause
		}
		if f.Verdict == Fail {
			break
		}
	}
	if len(wrong.texts) > 0 {
		result.Play, result.Seen, result.Evidence = wrong.evidence[0].play, wrong.String(), wrong.evidence
	}
	if c.Strength == Should {
		switch result.Verdict {
		case Fail:
			result.Verdict = Deviation
		case Inconclusive:
			result.Verdict = Skipped
		}
	}
	return result
}

// because says what the first subscriber met in place of what is to be judged, where that is known.
func because(f Finding, r *Recording) Finding {
	if a, ok := r.answer(0); ok && a.typ() == "subscription.rejected" {
		return Finding{Verdict: Inconclusive, Seen: f.Seen + ", for the request was rejected with " + quoted(a.str("reason_code")), Evidence: []Entry{a.Entry}}
	}
	if n := len(r.garbled(0)); n > 0 && r.limit == 0 { // of a producer
		f.Seen += fmt.Sprintf(", but %d messages that are no JSON objects, or have no type or no session_id", n)
	}
	if r.ended != nil && r.DriverErr == nil {
		f.cause = aaep.SafeText(r.ended.Error())
		f.Seen += ", for the link ended: " + f.cause
	} else if r.breached() {
		f.cause = "binding"
		f.Seen += ", maybe for what the case binding tells"
	}
	return f
}

// problems are all that is wrong in several plays, each thing once.
type problems struct {
	texts    []string
	times    map[string]int
	evidence []Evidence // of the first of each
}

const maxProblems = 20

func (p *problems) add(play string, r *Recording, list []problem) {
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

// String tells them in one sentence.
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
