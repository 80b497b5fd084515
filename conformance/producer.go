package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/transports"
)

var (
	// ErrUnreachable is returned where the target was never reached. It wraps the error of the
	// Dialer or of its link.
	ErrUnreachable = errors.New("conformance: the target cannot be reached")
	// ErrSilent is told with ErrUnreachable of a target that takes a connection and says nothing on
	// it.
	ErrSilent = errors.New("conformance: the target takes the connection and is silent")
	// ErrNoDriver is returned where the driver was never reached. A Driver wraps it in what Start
	// returns; any other error says that it does not have this scenario.
	ErrNoDriver = errors.New("conformance: the driver cannot be reached")
)

// maxRunTime bounds one scenario run, whatever the target does, unless ProducerRun.Timeout does.
const maxRunTime = 12 * time.Minute

// ProducerRun says what is to be proved of whom.
type ProducerRun struct {
	// Dialer reaches the target, several times and sometimes twice at once.
	Dialer transports.Dialer
	Driver Driver
	// Unauthenticated reach the target in ways that it has to refuse: without credentials, and with
	// some that it never gave out. It is empty where none are asked for, as on one's own machine;
	// whether it refuses is then not judged.
	Unauthenticated []transports.Dialer
	// OtherWays reach the target in other ways than Dialer, as over another transport; what is
	// agreed there is compared.
	OtherWays []transports.Dialer
	// OtherPrincipal reaches the target with credentials too, but as a principal other than that of
	// Dialer. It is nil where no other principal is known; whether they can speak in each other's
	// name is then not judged.
	OtherPrincipal transports.Dialer
	// StolenStream sends as the principal of Dialer, and opens the event stream of its subscription
	// as the one of OtherPrincipal. It is nil where the transport has no stream of its own, or no
	// other principal is known.
	StolenStream transports.Dialer
	// Manifest fetches the manifest. If nil, it is fetched from the manifest_uri of an accepted
	// subscription.
	Manifest func(ctx context.Context) ([]byte, error)
	// Keys are those that a signed manifest is signed with.
	Keys *manifest.KeySet
	// Level is 1, 2 or 3, and includes the lower ones (§9.1).
	Level int
	// Only names the cases to judge, by name or requirement. Empty is all of the level; a level is
	// then passed or not.
	Only []string
	// Extra are cases from outside, of an extension or a profile (§9.6). They count as the suite's
	// own do.
	Extra []Case
	// Profile is the URI of the profile that Extra are the cases of, with its version. The claim
	// then names it (§9.6).
	Profile string
	// Resume is the report of an earlier run on the same target, whose verdicts are kept; only what
	// has none there is judged. Nil is none.
	Resume *Report
	// Known are the names of cases that are known to fail, or not to be provable. See Report.OK.
	Known []string
	// Progress is called before each scenario run with its name, and again after three seconds of
	// silence with what is waited for. Nil is none.
	Progress func(play string, n, of int)
	// Extensions are the URIs of extensions that the target is said to support (§9.7): it must then
	// honor them.
	Extensions []string
	// Timeout bounds each scenario run. If 0, 12 minutes.
	Timeout time.Duration
	// OneLink says that a target has one subscriber at a time, as a program that speaks on its
	// standard output has. What needs two is then skipped, and the report says so.
	OneLink bool
	// Target and Transport are for the report.
	Target, Transport string
}

// Prove puts the target through all scenario runs that the cases need, one after another, and
// judges. It takes some seconds, and longer if the target's questions are open for longer than they
// should be. Where ctx ends, Prove returns its error and a report of what was run by then, in which
// nothing is passed that was not run to its end; the report is nil where nothing was. Any other
// error comes without a report: ErrUnreachable, ErrNoDriver, or a wrong ProducerRun.
func (run ProducerRun) Prove(ctx context.Context) (*Report, error) {
	if run.Dialer == nil || run.Driver == nil || slices.Contains(slices.Concat(run.OtherWays, run.Unauthenticated), nil) {
		return nil, errors.New("conformance: a ProducerRun needs a Dialer and a Driver, and other Dialers that are not nil")
	}
	cases, plays, err := run.allCases()
	if err != nil {
		return nil, err
	}
	r := runner{
		report: &Report{Kind: "producer", Level: run.Level, Profile: run.Profile, Target: run.Target,
			Transport: run.Transport},
		cases: cases, extra: run.Extra, only: run.Only, known: run.Known, resume: run.Resume,
		perform: func(ctx context.Context, open func(Case) bool) (performedRuns, error) {
			return run.performRuns(ctx, run.neededRuns(plays, cases, open))
		},
		skips: run.whyUnjudgeable,
	}
	if len(run.Unauthenticated) == 0 {
		r.warnings = append(r.warnings,
			"the target asked for no credentials, or nobody tried to do without; in production it has to ask (§8.2.7)")
	}
	if run.OneLink {
		r.warnings = append(r.warnings,
			"what a producer owes to several subscribers at once was not judged, for the target has one at a time")
	}
	return r.prove(ctx)
}

// nameOf returns the name and version that a target gives in its messages, or "".
func nameOf(r *Recording) string {
	for _, m := range r.messagesOn(0, false) {
		if p := m.objectMember("producer"); p != nil {
			name, _ := p["agent_name"].(string)
			id, _ := p["agent_id"].(string)
			version, _ := p["agent_version"].(string)
			return strings.TrimSpace(cmp.Or(name, id) + " " + version)
		}
	}
	return ""
}

// allCases are the suite's cases and scenario runs, and those from outside. The scenario run of a
// case from outside has its name. ProducerRun.Extensions is one more case. The error is for a case
// from outside that is not whole.
func (run ProducerRun) allCases() ([]Case, []scenarioRun, error) {
	cases, list := Cases(), slices.Clone(scenarioRuns)
	extra := run.Extra
	if len(run.Extensions) > 0 {
		extra = append(slices.Clone(extra), extensionsHonored(run.Extensions))
	}
	var names []string
	for _, p := range list {
		names = append(names, p.name)
	}
	if err := checkExtraCases(extra, cases, names, func(p *Play) bool { return p.Agent == nil }); err != nil {
		return nil, nil, err
	}
	for _, c := range extra {
		c.plays = []string{c.Name}
		c.Scenario = c.Play.Scenario.Name
		cases = append(cases, c)
		list = append(list, scenarioRun{c.Name, c.Play.Does, c.Play.Scenario, c.Level, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(), c.Play.Capabilities))
			h.startScenario()
			h.awaitSessionEnd(l, slow)
		}})
	}
	return cases, list, nil
}

// checkExtraCases refuses cases from outside that are not whole, or have a name that a case or a
// scenario run (plays) of the suite has. fits reports whether a Play is for this role.
func checkExtraCases(extra, cases []Case, plays []string, fits func(*Play) bool) error {
	taken := slices.Clone(plays)
	for _, c := range cases {
		taken = append(taken, c.Name)
	}
	for _, c := range extra {
		wrong := ""
		hasLevel := c.Level >= 1 && c.Level <= 3
		hasStrength := c.Strength == Must || c.Strength == Should
		switch {
		case c.Name == "" || slices.Contains(taken, c.Name):
			wrong = "needs a name that no other case has, and no play"
		case len(c.Requirements) == 0 || c.Rule == "" || !hasLevel || !hasStrength:
			wrong = "needs Requirements, a Rule, a Level and a Strength"
		case c.Play == nil || c.Judge == nil:
			wrong = "needs a Play and a Judge"
		case !fits(c.Play):
			wrong = "needs a Play with an Agent for a subscriber, and with a Scenario for a producer"
		}
		if wrong != "" {
			return fmt.Errorf("conformance: the case %q from outside %s", c.Name, wrong)
		}
		taken = append(taken, c.Name)
	}
	return nil
}

// whyUnplayable returns why a scenario run (play) cannot be run with what ProducerRun has, such as
// no second credentials; "" where it can.
func (run ProducerRun) whyUnplayable(play string) string {
	switch {
	case play == unauthenticatedPlay && len(run.Unauthenticated) == 0:
		return "no way was given to reach the target without credentials"
	case play == otherPrincipalPlay && run.OtherPrincipal == nil:
		return "no way was given to reach the target as somebody else, with other credentials"
	case play == stolenStreamPlay && run.StolenStream == nil:
		return "no way was given to open an event stream as somebody else, with other credentials"
	case run.OneLink && slices.Contains(twoSubscriberRuns, play):
		return "it needs two subscribers at once, and the target has one"
	}
	return ""
}

// whyUnjudgeable returns "" where one of the scenario runs by which a case is judged can be run
// with what there is; else why the first of them cannot.
func (run ProducerRun) whyUnjudgeable(c Case) string {
	if slices.ContainsFunc(c.plays, func(name string) bool { return run.whyUnplayable(name) == "" }) {
		return ""
	}
	return run.whyUnplayable(c.plays[0])
}

// neededRuns returns the scenario runs, of plays, that the chosen cases are judged by, up to the
// level and where there is what they need.
func (run ProducerRun) neededRuns(plays []scenarioRun, cases []Case, chosen func(Case) bool) (list []scenarioRun) {
	for _, p := range plays {
		if run.whyUnplayable(p.name) == "" && p.level <= run.Level &&
			slices.ContainsFunc(cases, func(c Case) bool { return chosen(c) && slices.Contains(c.plays, p.name) }) {
			list = append(list, p)
		}
	}
	return list
}

// performRuns performs scenario runs one after another, and returns their recordings by name. Where
// nothing came in the first one, the others are left out, and useless says so. The error is
// performEach's.
func (run ProducerRun) performRuns(ctx context.Context, plays []scenarioRun) (performedRuns, error) {
	harnesses, err := run.performEach(ctx, plays)
	performed := performedRuns{of: map[string]*Recording{}}
	for _, p := range plays {
		performed.needed = append(performed.needed, p.name)
	}
	for _, h := range harnesses {
		rec := h.finishedRecording()
		rec.keys = run.Keys
		performed.runs, performed.of[h.scenarioRun.name] = append(performed.runs, h.scenarioRun), rec
	}
	if len(harnesses) == 1 && harnesses[0].mute {
		performed.useless = "nothing more was played, for no event came within " + slow.String() +
			" of a scenario that the driver said had begun"
	}
	return performed, err
}

// performEach runs scenarios, one after another, and returns the harness of each that was run to
// its end. It ends with an error if the target cannot be reached in the first one, no driver is
// there, or ctx is done; then those that were run to their end come with it. If nothing at all
// comes in the first one, it ends there without an error.
func (run ProducerRun) performEach(ctx context.Context, plays []scenarioRun) (harnesses []*producerHarness, err error) {
	known, turn, begun := map[string]bool{}, make(chan struct{}, 1), false
	var last *producerHarness
	defer func() { last.awaitListeners() }()
	for i, p := range plays {
		progress := func(what string) {
			if run.Progress != nil {
				run.Progress(what, i+1, len(plays))
			}
		}
		progress(p.name)
		mustBeAlone := slices.Contains(soloRuns, p.name) && last.couldAnswer()
		if run.OneLink || mustBeAlone {
			last.awaitListeners()
		}
		within, stop := context.WithTimeout(ctx, cmp.Or(run.Timeout, maxRunTime))
		last = &producerHarness{ctx: within, run: run, recorder: newRecorder(p.scenario, maps.Clone(known)), stop: stop,
			scenarioRun: p, turn: turn, progress: progress, before: last,
			endless: last != nil && last.endless, over: make(chan struct{})}
		last.performRun()
		harnesses = append(harnesses, last)
		rec := last.recorder.snapshot()
		begun = begun || p.scenario.Name != "" && rec.DriverErr == nil
		if ctx.Err() != nil {
			return harnesses[:len(harnesses)-1], ctx.Err()
		}
		if i == 0 && last.isUnreached(rec) {
			return nil, last.unreachedError(rec)
		}
		if !begun && errors.Is(rec.DriverErr, ErrNoDriver) {
			return nil, rec.DriverErr
		}
		rec.addKnown(known)
		if last.mute && i == 0 {
			break // nor will anything come of the others
		}
	}
	return harnesses, nil
}

// isUnreached reports whether the agent was not there for this run: it could not be dialled, or its
// only link ended, and nothing came of it that could be judged.
func (h *producerHarness) isUnreached(rec *Recording) bool {
	if h.scenarioRun.name == unauthenticatedPlay || rec.hasViolation() || len(rec.messagesOn(0, false)) > 0 {
		return false
	}
	if _, missed := rec.noteOn(0, noteNoDial); missed {
		return true
	}
	_, hungUp := rec.noteOn(0, noteClosed)
	return h.run.OneLink && (hungUp || h.links[0].dead)
}

// unreachedError says why the agent was not there, and what was noticed of it.
func (h *producerHarness) unreachedError(rec *Recording) error {
	err := h.links[0].unreachedReason()
	if noticed := rec.firstViolations(); noticed != "" {
		err = fmt.Errorf("%s: %w", noticed, err)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}
