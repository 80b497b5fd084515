package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/conformance"
)

// A run that is interrupted reports what was judged by then, and passes nothing that was not run
// whole; a run that resumes that report judges the rest alone, and keeps what was wrong.
func TestInterrupted(t *testing.T) {
	m := mutant{out: dropMessages(isType("handoff.requested"))}
	prove := func(t *testing.T, until string, earlier *conformance.Report) (r *conformance.Report,
		played []string, err error) {
		synctest.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			g := newTarget(t)
			run := checkExtraCases(g, mutantTarget{g, &m, new(sync.Map), new(int)})
			run.Resume = earlier
			run.Progress = func(play string, _, _ int) {
				if !strings.Contains(play, ",") {
					played = append(played, play)
				}
				if play == until {
					time.AfterFunc(10*time.Millisecond, interrupt)
				}
			}
			r, err = run.Prove(ctx)
			shutDown(g)
		})
		return r, played, err
	}
	part, first, err := prove(t, "unanswered", nil)
	if !errors.Is(err, context.Canceled) || part == nil || !part.Interrupted || part.Verdict != conformance.Fail ||
		part.Claim() != "" {
		t.Fatalf("%v, %+v", err, part)
	}
	got := verdictsByCase(part)
	for name, want := range map[string]conformance.Verdict{"hands-over": conformance.Fail,
		"text-whole": conformance.Pass, "begins-once": conformance.Pass,
		"question-times-out": conformance.Inconclusive, "rate-kept": conformance.Inconclusive,
		"boundaries": conformance.Skipped} {
		if got[name] != want {
			t.Errorf("interrupted, %s is %s, want %s", name, got[name], want)
		}
	}
	var b bytes.Buffer
	if err := part.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	earlier, err := conformance.ReadReport(&b)
	if err != nil {
		t.Fatal(err)
	}
	all, second, err := prove(t, "", earlier)
	if err != nil || all.Interrupted || all.Verdict != conformance.Fail || all.Counts[conformance.Fail] != 2 ||
		all.Counts[conformance.Inconclusive] != 0 {
		t.Fatalf("%v: %s %s", err, all.Summary(), notPassed(all))
	}
	if i := slices.IndexFunc(all.Results, func(r conformance.Result) bool { return r.Case.Name == "hands-over" }); all.Results[i].Play != "handoff" || len(all.Results[i].Case.Requirements) == 0 {
		t.Errorf("what was wrong is told without its scenario: %+v", all.Results[i])
	}
	if slices.Contains(second, "twice") || !slices.Contains(first, "twice") {
		t.Errorf("first %v were played, and then %v", first, second)
	}
	earlier.Level = 2
	if _, _, err := prove(t, "", earlier); err == nil ||
		!strings.Contains(err.Error(), "the level 2, and this run of 3") {
		t.Errorf("a report of another level was resumed: %v", err)
	}
	for _, text := range []string{"{}", "null", "[",
		`{"target_kind":"producer","suite_version":"other","completed_at":"2026-01-01T00:00:00Z"}`} {
		if _, err := conformance.ReadReport(strings.NewReader(text)); err == nil {
			t.Errorf("%s was taken for a report", text)
		}
	}
}

// A subscriber's run that is interrupted reports as well.
func TestSubscriberInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		st := newStation()
		run := conformance.SubscriberRun{Listener: st, Subscriber: &reader{dialer: st, caps: usualReader()}, Level: 3}
		run.Progress = func(play string, _, _ int) {
			if play == "urgent" {
				interrupt()
			}
		}
		part, err := run.Prove(ctx)
		if !errors.Is(err, context.Canceled) || part == nil || !part.Interrupted ||
			part.Verdict != conformance.Inconclusive {
			t.Fatalf("%v, %+v", err, part)
		}
		if got := verdictsByCase(part); got["start-told"] != conformance.Pass ||
			got["critical-at-once"] != conformance.Inconclusive {
			t.Errorf("%v", got)
		}
		run.Progress, run.Resume = nil, part
		if all, err := run.Prove(t.Context()); err != nil || all.Verdict != conformance.Pass {
			t.Errorf("%v: %s", err, notPassed(all))
		}
	})
}

// The author who waits for a question of five minutes is told what for, and again every half a
// minute.
func TestLongQuestionIsNotMute(t *testing.T) {
	var told []time.Time
	var last string
	synctest.Test(t, func(t *testing.T) {
		g := newTarget(t)
		long := conformance.DriverFunc(func(ctx context.Context, s conformance.Scenario) error {
			s.TimeoutSeconds = 300
			return g.Start(ctx, s)
		})
		run := conformance.ProducerRun{Dialer: g, Driver: long, Level: 2, Only: []string{"silence-means-no"}}
		run.Progress = func(what string, _, _ int) { told, last = append(told, time.Now()), what }
		if r, err := run.Prove(t.Context()); err != nil || verdictsByCase(r)["silence-means-no"] != conformance.Pass {
			t.Errorf("%v", err)
		}
		shutDown(g)
	})
	for i := range told[1:] {
		if quiet := told[i+1].Sub(told[i]); quiet > 31*time.Second {
			t.Errorf("nothing was told for %v", quiet)
		}
	}
	if len(told) < 10 || !strings.Contains(last, "for the end of a question that nobody answers") {
		t.Errorf("%d times, and last %q", len(told), last)
	}
}
