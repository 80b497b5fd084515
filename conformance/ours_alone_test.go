package conformance_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/transports/sse"
)

// suiteHalf are recordings in which only the suite's own half speaks.
func suiteHalf(all map[string]*conformance.Recording, substitutes bool) map[string]*conformance.Recording {
	alone := map[string]*conformance.Recording{}
	for name, r := range all {
		alone[name] = conformance.OursAlone(r, substitutes)
	}
	return alone
}

// recordedRuns are the recordings of a whole run on our own producer.
func recordedRuns(t *testing.T) (all map[string]*conformance.Recording) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newTarget(t)
		var err error
		if all, err = conformance.Record(t.Context(), checkExtraCases(g, g)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		g.Producer.Shutdown(ctx)
	})
	return all
}

// What the suite itself said decides nothing, however much of it there is: where the target is not
// heard, no case passes and none fails, nor where the link of the suite wrote in the target's
// place.
func TestOurHalfProvesNothing(t *testing.T) {
	all := recordedRuns(t)
	subscribers := map[string]*conformance.Recording{}
	synctest.Test(t, func(t *testing.T) {
		st := newStation()
		var err error
		if subscribers, err = conformance.RecordSubscriber(t.Context(),
			conformance.SubscriberRun{Listener: st, Subscriber: &reader{dialer: st, caps: usualReader()},
				Level: 3}); err != nil {
			t.Fatal(err)
		}
	})
	for _, role := range []struct {
		cases []conformance.Case
		all   map[string]*conformance.Recording
	}{{conformance.Cases(), all}, {conformance.SubscriberCases(), subscribers}} {
		for _, c := range role.cases {
			for _, substitutes := range []bool{false, true} {
				switch res := conformance.Judged(c, suiteHalf(role.all, substitutes)); res.Verdict {
				case conformance.Pass, conformance.Fail, conformance.Deviation:
					t.Errorf("%s, with substitutes %v: %s, %s", c.Name, substitutes, res.Verdict, res.Seen)
				}
			}
			if res := conformance.Judged(c, role.all); res.Verdict == conformance.Fail ||
				res.Verdict == conformance.Inconclusive {
				t.Errorf("%s, of what was recorded: %s, %s", c.Name, res.Verdict, res.Seen)
			}
		}
	}
}

// An answer that the link of the suite wrote in the target's place agrees to nothing: what is
// judged by answers alone is not passed, though events came.
func TestSubstitutedAnswer(t *testing.T) {
	all := map[string]*conformance.Recording{}
	for name, r := range recordedRuns(t) {
		all[name] = conformance.Unanswered(r)
	}
	byAnswers := []string{"answer-valid", "subscription-id", "honors-no-more", "version-refused", "signature-demanded",
		"unknown-extension",
		"unknown-not-honored", "version-agreed", "language-unknown", "invalid-refused", "reason-codes",
		"renegotiation-answered", "renegotiation-keeps",
		"same-everywhere", "manifest-true", "filters-kept", "critical-through-filters"}
	for _, c := range conformance.Cases() {
		if res := conformance.Judged(c, all); slices.Contains(byAnswers, c.Name) &&
			(res.Verdict == conformance.Pass || res.Verdict == conformance.Fail) {
			t.Errorf("%s: %s, %s", c.Name, res.Verdict, res.Seen)
		}
	}
}

// A producer without a handshake is told at Level 3 that it answered nothing, and nothing that the
// dialer made up in its place is passed or shown. HS-043
func TestNoHandshakeNothingAgreed(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/events" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		io.WriteString(w, ": hello\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer agent.Close()
	run := conformance.ProducerRun{Dialer: sse.Dialer{URL: agent.URL, RootLayout: true}, Level: 3,
		Only: []string{"request-answered", "answer-valid", "subscription-id", "honors-no-more", "version-agreed",
			"unknown-extension"},
		Driver: conformance.DriverFunc(func(context.Context, conformance.Scenario) error { return nil })}
	r, err := run.Prove(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range r.Results {
		if res.Verdict == conformance.Pass || res.Verdict == conformance.Fail {
			t.Errorf("%s: %s, %s", res.Case.Name, res.Verdict, res.Seen)
		}
		for _, e := range res.Evidence {
			if !e.Sent && strings.Contains(e.Text, "sub_implicit") {
				t.Errorf("%s shows what the dialer wrote: %s", res.Case.Name, e.Text)
			}
		}
	}
	if !strings.Contains(r.Results[slices.IndexFunc(r.Results,
		func(res conformance.Result) bool { return res.Case.Name == "subscription-id" })].Seen, "went on without it") {
		t.Error("the report does not say that there was no answer")
	}
}

// Of a producer that runs its tool and never asks, one case says so. What is about an answer is not
// run, once, with the cause: nothing was rejected, accepted or answered.
func TestNeverAsks(t *testing.T) {
	m := mutant{out: func(p *proxy, o object) []object {
		if shortName(o) != "awaiting.confirmation" || p.caps["event_filters"] != nil {
			return dropMessages(isType("awaiting.confirmation"))(p, o)
		}
		action := p.newToolCall(o)
		return []object{action, p.newEvent(o, "tool.completed",
			object{"tool": "pay", "tool_call_id": action["tool_call_id"], "status": "success"})}
	}}
	r := runMutant(t, &m)
	for _, res := range r.Results {
		if res.Verdict == conformance.Fail &&
			!slices.Contains([]string{"asks-first", "states-chained"}, res.Case.Name) {
			t.Errorf("%s: %s", res.Case.Name, res.Seen)
		}
	}
	if got := verdictsByCase(r)["asks-first"]; got != conformance.Fail {
		t.Errorf("asks-first: %s", got)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if said := text.String(); strings.Count(said, "the producer never asked.") != 1 ||
		strings.Count(said, "NOT RUN for the same reason: ") != 1 {
		t.Errorf("the cause is told %d times:\n%s", strings.Count(said, "the producer never asked"), said)
	}
}
