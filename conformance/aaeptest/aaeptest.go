// Package aaeptest proves in a test of your own that a producer, or a subscriber, is conformant,
// with a subtest for each case:
//
//	func TestConformance(t *testing.T) {
//		aaeptest.Producer(t, conformance.ProducerRun{
//			Dialer: sse.Dialer{URL: "http://" + addr},
//			Driver: conformance.DriverFunc(myAgent.play),
//			Level:  3,
//		})
//	}
//
// What lives in one process and is reached over transports.Pipe can be proved in virtual time, in
// less than a second:
//
//	func TestConformance(t *testing.T) {
//		aaeptest.Virtual(t, func(t *testing.T) conformance.ProducerRun {
//			agent := newAgent(t)
//			return conformance.ProducerRun{Dialer: agent, Driver: agent, Level: 3}
//		})
//	}
//
// Proving is in aaeptest.go; agent.go has an Agent that plays the scenarios, and reader.go a
// Reader, a small screen reader.
package aaeptest

import (
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep/conformance"
)

// Producer runs the suite and has a subtest for each case, by its name. A case that failed or could
// not be judged fails its subtest, with the evidence; one in run.Known is skipped, unless it
// passed. A whole level takes some seconds.
func Producer(t *testing.T, run conformance.ProducerRun) *conformance.Report {
	t.Helper()
	report, err := run.Prove(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkReport(t, report)
	return report
}

// Subscriber is Producer for a subscriber: it proves the target of run, fails the test for what
// does not pass, and returns the report.
func Subscriber(t *testing.T, run conformance.SubscriberRun) *conformance.Report {
	t.Helper()
	report, err := run.Prove(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkReport(t, report)
	return report
}

// Virtual is Producer in virtual time. What start makes lives in a synctest bubble: it must use no
// network and no processes, and its goroutines must have ended when the cleanups of start's t have
// run.
func Virtual(t *testing.T, start func(t *testing.T) conformance.ProducerRun) *conformance.Report {
	t.Helper()
	var report *conformance.Report
	synctest.Test(t, func(t *testing.T) {
		var err error
		if report, err = start(t).Prove(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if report == nil {
		t.FailNow()
	}
	checkReport(t, report)
	return report
}

// checkReport makes a subtest of every case of a report: a failure, an inconclusive case and a
// known failure that passes fail it, a deviation is logged, and what was skipped, or is known to
// fail, is skipped.
func checkReport(t *testing.T, report *conformance.Report) {
	for _, res := range report.Results {
		t.Run(res.Case.Name, func(t *testing.T) {
			for _, e := range res.Evidence {
				if res.Verdict != conformance.Pass {
					t.Log(e.In(res.Play))
				}
			}
			switch right := "Right would be: " + res.Case.Rule + "."; {
			case res.Known && res.Verdict == conformance.Pass:
				t.Errorf("%s: it passed, and is among the known failures", res.Case.ID())
			case res.Verdict == conformance.Skipped:
				t.Skipf("%s: %s", res.Case.ID(), res.Seen)
			case res.Verdict == conformance.Deviation:
				t.Logf("%s, a deviation: %s. %s", res.Case.ID(), res.Seen, right)
			case res.Known:
				t.Skipf("%s, as is known: %s. %s", res.Case.ID(), res.Seen, right)
			case res.Verdict != conformance.Pass:
				t.Errorf("%s, %s: %s. %s", res.Case.ID(), res.Verdict, res.Seen, right)
			}
		})
	}
	t.Log(report.Summary())
}
