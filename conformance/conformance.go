// Package conformance proves that a producer, or a subscriber, keeps the duties of Level 1, 2 or 3
// (chapter 9), in any implementation and over any transport it is reached.
//
//	run := conformance.ProducerRun{Dialer: dialer, Driver: conformance.HTTPDriver{Base: "http://127.0.0.1:9100"}, Level: 3}
//	report, err := run.Prove(ctx)
//	report.WriteText(os.Stdout)
//
// A Driver makes the producer act: a Scenario says what. The runner connects subscribers that see
// every byte, some of them ill-behaved, keeps a Recording of what was said, and when, and lets
// Cases judge it. What was never seen is inconclusive, and passes nothing. A SubscriberRun turns
// that round: the runner acts as the producer, and a Hook tells it what the person got.
//
// The cases are in the files judge_*.go (of producers) and subscriber_*.go (of subscribers), each
// named by what it judges; scenario_runs.go lists what a producer is made to do. Of producers, one
// event by itself is judged in judge_events.go, and the order of a session's events, in states,
// tools and time, in judge_sessions.go. The request, its refusal, filters, rates, renegotiation and
// the close are in judge_terms.go; who is let in, and what becomes of a question whose only
// listener is gone, in judge_access.go.
// That something is asked before it is done is in judge_consent.go, and which reply counts in
// judge_replies.go. Of subscribers, cuts, resuming and leaving are in subscriber_departure.go.
//
// producer.go and subscriber.go prove one, producer_harness.go and subscriber_harness.go act as its
// peer, and recording.go keeps what was seen. Which verdict findings give is in judge.go; reports
// are in report.go and the files report_*.go, and what is not judged in unjudged_requirements.go.
package conformance

import (
	"context"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
)

// SuiteVersion is the version of the cases; a claim names it (§9.1).
const SuiteVersion = "0.3.0"

// Strength is how much a requirement asks.
type Strength string

const (
	Must   Strength = "MUST"
	Should Strength = "SHOULD"
)

// Verdict is what became of a case, or of a level.
type Verdict string

const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	// Inconclusive is a MUST that could not be put to the test. The level is then not passed.
	Inconclusive Verdict = "inconclusive"
	// Skipped cases are of a higher level, were not chosen, or are a SHOULD that could not be put
	// to the test.
	Skipped Verdict = "skipped"
	// Deviation is a SHOULD that is not kept. It fails nothing.
	Deviation Verdict = "deviation"
)

// Case decides one clause of the specification.
type Case struct {
	Name         string
	Requirements []string // ids, best known first
	// Also are requirements that it decides as well, where they are many. What is seen then names
	// the one.
	Also     []string
	Level    int
	Strength Strength
	// Rule is one sentence that says what is right.
	Rule string
	// Scenario is what the producer must do for it.
	Scenario string

	// Play and Judge are set in cases from outside, for ProducerRun.Extra and SubscriberRun.Extra:
	// what is run, and what is made of it.
	Play  *Play
	Judge func(*Recording) Finding

	plays      []string // whose recordings are judged
	beside     []string // those that are judged too where they were run, of which only what is wrong counts
	everywhere bool     // and those of all else that is run
}

// Play is one of two things. With a producer it is a subscriber that asks for some capabilities
// beside the usual ones, and follows one scenario to its end. With a subscriber it is an agent that
// grants some, and does what Agent says.
type Play struct {
	// Does says in words what happens.
	Does string
	// Scenario may have a name of its own: the Driver is given it as it is.
	Scenario Scenario
	// Capabilities are asked for as well, and nil takes one of the usual ones away. To a subscriber
	// they are granted, where it asked for them.
	Capabilities map[string]any
	// Agent is for SubscriberRun.Extra, in place of Scenario: what the runner's agent does in a
	// session that has begun, and that is completed when Agent returns.
	Agent func(*Agent)
}

// ID is the requirement that the case is cited by.
func (c Case) ID() string { return c.Requirements[0] }

// isNamed reports whether a user means the case by its name or by a requirement.
func (c Case) isNamed(name string) bool {
	same := func(id string) bool { return strings.EqualFold(id, name) }
	return c.Name == name || slices.ContainsFunc(c.Requirements, same) || slices.ContainsFunc(c.Also, same)
}

// Cases returns all cases for producers, ordered by level. The Scenario of each lists the scenarios
// that it judges; "all" for a case that judges whatever was run.
func Cases() []Case {
	all := slices.Concat(messageCases, bindingCases, sessionCases, outputCases, consentCases, replyCases, resumeCases,
		questionCases, accessCases, handshakeCases, termsCases, languageCases, isolationCases, manifestCases)
	slices.SortStableFunc(all, func(a, b Case) int { return a.Level - b.Level })
	for i := range all {
		if all[i].plays == nil {
			all[i].plays = wholeRuns
			all[i].Scenario = "all"
			continue
		}
		var names []string
		for _, p := range all[i].plays {
			if s := scenarioRunNamed(p).scenario.Name; s != "" && !slices.Contains(names, s) {
				names = append(names, s)
			}
		}
		all[i].Scenario = strings.Join(names, ", ")
	}
	return all
}

// Match returns those of some cases that have a name, or that decide a requirement.
func Match(cases []Case, name string) []Case {
	return slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !c.isNamed(name) })
}

// The scenarios a Driver must be able to start. Each but Shutdown is one session, from its
// beginning to its end.
const (
	Stream  = "stream"  // writes Sentences as one output and is completed
	Tools   = "tools"   // runs a tool of low risk and is completed
	Ask     = "ask"     // wants to run one irreversible tool of high risk, tells what came of it, and is completed
	Errored = "fail"    // makes 20 progress reports at once, then fails
	Handoff = "handoff" // hands over to a human and is completed
	Clarify = "clarify" // asks a yes-or-no question and is completed with whatever is answered
	Idle    = "idle"    // thinks for a moment and is cancelled
	Hang    = "hang"    // runs a tool of low risk that never returns, gives it up after TimeoutSeconds, and is completed
	// Withdraw is as Ask, but the session is cancelled half a second after it asked, while the
	// question is open.
	Withdraw = "withdraw"
	// Shutdown begins no session: the target closes all subscriptions as it does when it ends. It
	// is the last.
	Shutdown = "shutdown"
)

// Scenario is something that a producer is made to do. No model is asked: it does exactly this.
type Scenario struct {
	Name string `json:"name"`
	// Sentences are what Stream writes, one after another, each as it is.
	Sentences []string `json:"sentences,omitzero"`
	// TimeoutSeconds is how long the questions of Ask, Clarify and Withdraw should be open, for
	// which the event's own member counts, and how long the tool of Hang is waited for.
	TimeoutSeconds int `json:"timeout_seconds,omitzero"`
}

// Driver starts scenarios on the target.
type Driver interface {
	// Start begins a scenario. It may return at once or when the scenario is over; ctx ends when
	// no subscriber listens any more. An error says that it could not be started.
	Start(ctx context.Context, s Scenario) error
}

// DriverFunc is a Driver within this process.
type DriverFunc func(ctx context.Context, s Scenario) error

// Start calls f.
func (f DriverFunc) Start(ctx context.Context, s Scenario) error { return f(ctx, s) }

// Finding is what a judge makes of one recording.
type Finding struct {
	Verdict Verdict // Pass, Fail or Inconclusive
	// Seen is one sentence that says what was seen, without its full stop.
	Seen     string
	Evidence []Entry

	none  bool   // there was nothing in this scenario run for the case, and need not have been
	cause string // of an inconclusive one, where it keeps other cases from being judged too
	// problems are all that is wrong, in place of Seen and Evidence, where there may be much.
	problems []problem
}

// A problem is one thing that is wrong, with the first message that shows it.
type problem struct {
	text  string
	entry Entry
}

// passFinding is a Finding of a rule that is kept. Seen is one sentence without its full stop.
func passFinding(seen string, evidence ...Entry) Finding {
	return Finding{Verdict: Pass, Seen: seen, Evidence: evidence}
}

// failFinding is a Finding of a rule that is broken, with the entries that show it.
func failFinding(seen string, evidence ...Entry) Finding {
	return Finding{Verdict: Fail, Seen: seen, Evidence: evidence}
}

// inconclusiveFinding is a Finding of a rule that this recording cannot decide, and says why.
func inconclusiveFinding(why string) Finding { return Finding{Verdict: Inconclusive, Seen: why} }

// skippedFinding is a Finding of a rule that does not apply to this target, and says why.
func skippedFinding(why string, evidence ...Entry) Finding {
	return Finding{Verdict: Skipped, Seen: why, Evidence: evidence}
}

// nothingToJudge is an inconclusive Finding that does not keep the case from passing by its other
// recordings.
func nothingToJudge(why string) Finding { return Finding{Verdict: Inconclusive, Seen: why, none: true} }

// event types, short.
const (
	started   = string(aaep.TypeSessionStarted)
	completed = string(aaep.TypeSessionCompleted)
	errored   = string(aaep.TypeSessionErrored)
	cancelled = string(aaep.TypeSessionCancelled)
	state     = string(aaep.TypeStateChanged)
	progress  = string(aaep.TypeProgressUpdated)
	invoked   = string(aaep.TypeToolInvoked)
	done      = string(aaep.TypeToolCompleted)
	output    = string(aaep.TypeOutputStreaming)
	confirm   = string(aaep.TypeAwaitingConfirmation)
	clarify   = string(aaep.TypeAwaitingClarification)
	handoff   = string(aaep.TypeHandoffRequested)
)
