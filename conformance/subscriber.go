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

	"github.com/aaep-go/aaep/transports"
)

// SubscriberRun says which subscriber is to be proved. The runner acts as its producer.
type SubscriberRun struct {
	// Listener is where the target connects to, such as an endpoint.Endpoint. A Conn with a method
	// Cut() is broken by it without a word; others are closed. What the transports of this module
	// notice of how it speaks is judged too, and reported where the target does not connect.
	Listener transports.Listener
	// Subscriber starts the target.
	Subscriber Subscriber
	// Level is 1, 2 or 3, and includes the lower ones (§9.1).
	Level int
	// Only names the cases to judge, by name or requirement. Empty is all of the level.
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
	// Timeout is how long the target may take to present or answer what it was sent. Zero is three
	// seconds.
	Timeout time.Duration
	// Arrival is how long the target may take to come for the first time. Zero is twenty seconds,
	// as for each scenario run after that.
	Arrival time.Duration
	// Progress is called before each scenario run with its name, and again where the target is long
	// in coming. Nil is none.
	Progress func(play string, n, of int)
	// Target and Transport are for the report.
	Target, Transport string
}

// Subscriber is a target: an AT, or a program that drives one.
type Subscriber interface {
	// Run runs the target for one scenario run. It returns nil when ctx is done, and else why the
	// target ended. The target connects to the runner by itself, tells h what it presents, and does
	// what the user does there.
	Run(ctx context.Context, h *Hook) error
}

// SubscriberFunc is a Subscriber within this process.
type SubscriberFunc func(ctx context.Context, h *Hook) error

// Run calls f.
func (f SubscriberFunc) Run(ctx context.Context, h *Hook) error { return f(ctx, h) }

// SubscriberCases returns all cases for subscribers, ordered by level; each has the names of the
// scenarios that it judges.
func SubscriberCases() []Case {
	all := slices.Concat(subscriberBindingCases, presentedCases, invalidInputCases, questionedCases, wireCases,
		flowCases, reasonCases, linkCases)
	slices.SortStableFunc(all, func(a, b Case) int { return a.Level - b.Level })
	for i := range all {
		if all[i].Scenario = strings.Join(all[i].plays, ", "); all[i].everywhere {
			all[i].Scenario = "all"
		}
	}
	return all
}

// Prove puts the target through all scenario runs that the cases need, one after another, each with
// a fresh start of the target, and judges. Where ctx ends, Prove returns its error and a report of
// what was run by then, as that of a producer; any other error comes without a report:
// ErrUnreachable where the target never connected, or a wrong SubscriberRun.
func (run SubscriberRun) Prove(ctx context.Context) (*Report, error) {
	if run.Listener == nil || run.Subscriber == nil {
		return nil, errors.New("conformance: a SubscriberRun needs a Listener and a Subscriber")
	}
	cases, plays, err := run.allCases()
	if err != nil {
		return nil, err
	}
	r := runner{
		report: &Report{Kind: "subscriber", Level: run.Level, Profile: run.Profile, Target: run.Target,
			Transport: run.Transport},
		cases: cases, extra: run.Extra, only: run.Only, known: run.Known, resume: run.Resume,
		perform: func(ctx context.Context, open func(Case) bool) (performedRuns, error) {
			plays = slices.DeleteFunc(plays, func(p subscriberScenario) bool {
				return !slices.ContainsFunc(cases,
					func(c Case) bool { return open(c) && slices.Contains(c.plays, p.name) })
			})
			return run.performScenarios(ctx, plays)
		},
	}
	return r.prove(ctx)
}

// performScenarios puts the target through scenario runs, one after another. Where ctx ends, it
// returns what was run to its end, and the error. A target that never came is an error; one that
// takes no stream ends the runs, and useless says why. wait for the target grows short where it
// stayed away twice.
func (run SubscriberRun) performScenarios(ctx context.Context, plays []subscriberScenario) (performedRuns, error) {
	all := performedRuns{of: map[string]*Recording{}}
	for _, p := range plays {
		all.needed = append(all.needed, p.name)
	}
	var t targetHistory
	t.names = map[string]bool{}
	for i, p := range plays {
		progress := func(what string) {
			if run.Progress != nil {
				run.Progress(what, i+1, len(plays))
			}
		}
		progress(p.name)
		wait := arrival
		switch {
		case i == 0:
			wait = cmp.Or(run.Arrival, arrival)
		case t.missed > 1:
			wait = presentTime
		}
		rec := run.performScenario(ctx, p, progress, wait, t.mute, t.plain, maps.Clone(t.names))
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
		if _, away := rec.noteOn(0, noteNoDial); away && !t.came {
			return performedRuns{}, rec.noConnectionError()
		}
		if i == 0 || t.mute != "" {
			t.mute = rec.whyUnobservable()
		}
		t.addRun(rec)
		all.runs, all.of[p.name] = append(all.runs, scenarioRun{name: p.name, does: p.does}), rec
		if _, deaf := rec.noteOn(0, noteNoStream); deaf && i == 0 {
			all.useless = rec.whyUnobservable()
			break // nor will it at the next scenario run
		}
	}
	return all, nil
}

// targetHistory is what the scenario runs so far have shown of the target.
type targetHistory struct {
	came   bool            // it connected at least once
	plain  bool            // it knows no handshake
	missed int             // runs in a row to which it did not come
	mute   string          // why nothing that it does can be observed, or ""
	names  map[string]bool // the subscriber ids that it gave
}

// addRun adds what the recording of one scenario run shows. Whether the target knows a handshake is
// seen when it first comes.
func (t *targetHistory) addRun(rec *Recording) {
	t.missed++
	if _, away := rec.noteOn(0, noteNoDial); !away {
		t.missed = 0
	}
	if !t.came {
		t.came, t.plain = true, len(ofTypes(rec.messagesOn(0, false), "subscription.request")) == 0
	}
	for l := range rec.linkCount() {
		for _, m := range ofTypes(rec.messagesOn(l, false), "subscription.request") {
			t.names[m.stringMember("subscriber_id")] = true
		}
	}
}

// noConnectionError returns the error of a target that did not connect, with the violation that was
// seen, the driver's error or that the target ended.
func (r *Recording) noConnectionError() error {
	err := ErrUnreachable
	if noticed := r.firstViolations(); noticed != "" {
		err = fmt.Errorf("%w: %s", err, noticed)
	}
	switch _, gone := r.noteOn(0, noteGone+noError); {
	case r.DriverErr != nil:
		err = fmt.Errorf("%w: %w", err, r.DriverErr)
	case gone:
		err = fmt.Errorf("%w: it ended, and reports no error", err)
	}
	return err
}

// usedHook reports whether the target ever reported what it presents.
func (r *Recording) usedHook() bool { return len(r.messagesOn(hookLink, false)) > 0 }
