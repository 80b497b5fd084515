package aaeptest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

func agent(t *testing.T) *aaeptest.Agent {
	t.Helper()
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "agent"}, ShortTimeouts: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Shutdown(context.Background()) })
	return &aaeptest.Agent{Producer: p}
}

// The levels that the package comment shows, and what becomes of cases that do not pass.
func TestVirtual(t *testing.T) {
	r := aaeptest.Virtual(t, func(t *testing.T) conformance.ProducerRun {
		a := agent(t)
		return conformance.ProducerRun{Dialer: a, Driver: a, Level: 2}
	})
	if r.Verdict != conformance.Pass || r.Counts[conformance.Skipped] == 0 {
		t.Errorf("%s, %v", r.Verdict, r.Counts)
	}
}

func TestProducer(t *testing.T) {
	a := agent(t)
	no := conformance.DriverFunc(func(context.Context, conformance.Scenario) error { return errors.New("not here") })
	r := aaeptest.Producer(t, conformance.ProducerRun{Dialer: a, Driver: no, Level: 3, Only: []string{"version-refused", "hands-over"}, Known: []string{"hands-over"}})
	if !r.OK() || r.Verdict != conformance.Inconclusive {
		t.Errorf("%s, %v", r.Verdict, r.Counts)
	}
}

// wards is a profile for hospitals: cases of its own, which count as the suite's do.
var wards = []conformance.Case{{
	Name: "wards-handoff-named", Requirements: []string{"WARDS-001"}, Level: 2, Strength: conformance.Must,
	Rule:  "a handoff says in target_uri to which ward",
	Play:  &conformance.Play{Does: "a subscriber follows a session that is handed over", Scenario: conformance.Scenario{Name: "wards-handoff"}},
	Judge: namesWard,
}}

func namesWard(r *conformance.Recording) conformance.Finding {
	for _, e := range r.Events(0) {
		m, err := aaep.Decode(e.Data)
		if err != nil {
			continue // events-valid says so
		}
		ev, _ := m.(*aaep.Event)
		switch h, ok := ev.Payload.(*aaep.HandoffRequested); {
		case ok && h.TargetURI == "":
			return conformance.Finding{Verdict: conformance.Fail, Seen: "a handoff went to no ward", Evidence: []conformance.Entry{e}}
		case ok:
			return conformance.Finding{Verdict: conformance.Pass, Seen: "it went to " + h.TargetURI}
		}
	}
	return conformance.Finding{Verdict: conformance.Inconclusive, Seen: "nothing was handed over"}
}

// hospital is an agent that has the profile's scenario too.
type hospital struct {
	*aaeptest.Agent
	ward string
}

func (h hospital) Start(ctx context.Context, sc conformance.Scenario) error {
	if sc.Name != "wards-handoff" {
		return h.Agent.Start(ctx, sc)
	}
	s, err := h.Producer.StartSession(ctx, aaep.Say("Looking for a bed."))
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Handoff(aaep.Say("The ward takes over."), aaep.HandoffRequested{Reason: "A nurse must decide.", TargetKind: "human", TargetURI: h.ward}); err != nil {
		return err
	}
	return s.Complete(aaep.Say("Handed over."))
}

// EXT-018, LVL-047: a profile is passed with its core level and its own cases, and the claim names it with its version. Whoever
// fails one of them claims nothing.
func TestProfile(t *testing.T) {
	const profile = "https://example.org/wards/v1 1.2.0"
	run := func(t *testing.T, ward string) conformance.ProducerRun {
		h := hospital{agent(t), ward}
		return conformance.ProducerRun{Dialer: h, Driver: h, Level: 2, Extra: wards, Profile: profile}
	}
	r := aaeptest.Virtual(t, func(t *testing.T) conformance.ProducerRun { return run(t, "tel:+1-555-0100") })
	if !strings.Contains(r.Claim(), "is AAEP Level 2 conformant (producer, AAEP 1.0.0), and with the profile "+profile+", verified by") {
		t.Errorf("the claim is %q", r.Claim())
	}
	if data, err := r.MarshalJSON(); err != nil || !strings.Contains(string(data), `"profile":"`+profile+`"`) {
		t.Errorf("the report does not name the profile: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		r, err := run(t, "").Prove(t.Context())
		if err != nil || r.Verdict != conformance.Fail || r.Counts[conformance.Fail] != 1 || r.Claim() != "" {
			t.Errorf("%v, %v", r, err)
		}
	})
	if _, err := (conformance.ProducerRun{Dialer: hospital{}, Driver: hospital{}, Level: 2, Profile: profile}).Prove(t.Context()); err == nil {
		t.Error("a profile without cases was judged")
	}
}

// LVL-012: a subscriber is proved in the same way.
func TestSubscriber(t *testing.T) {
	s, caps := make(station), subscriber.ScreenReader("en-US")
	caps.MaxEventsPerSecond = 0 // the clock is real
	r := aaeptest.Subscriber(t, conformance.SubscriberRun{Listener: s, Level: 2, Only: []string{"start-told", "unknown-type"},
		Subscriber: aaeptest.Reader{Dialer: s, Capabilities: caps}})
	if r.Verdict != conformance.Pass {
		t.Error(r.Summary())
	}
}

// station is where subscribers come to.
type station chan transports.Conn

func (s station) Dial(ctx context.Context) (transports.Conn, error) {
	near, far := transports.Pipe()
	select {
	case s <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s station) Accept(ctx context.Context) (transports.Conn, error) {
	select {
	case c := <-s:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (station) Close() error { return nil }

// A case that fails and one that is not proved fail their subtests, and one that is known to fail does not: this test runs TestBroken as
// a program of its own, for a test cannot look at the failure of another.
func TestFails(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestBroken$", "-test.v")
	cmd.Env = append(os.Environ(), "AAEPTEST_BROKEN=1")
	out, err := cmd.CombinedOutput()
	var failed []string
	for line := range strings.Lines(string(out)) {
		if _, name, ok := strings.Cut(line, "--- FAIL: TestBroken/"); ok {
			name, _, _ = strings.Cut(name, " ")
			failed = append(failed, name)
		}
	}
	slices.Sort(failed)
	if err == nil || !slices.Equal(failed, []string{"hands-over", "request-answered"}) || !strings.Contains(string(out), "Right would be: every request is answered") {
		t.Errorf("%v: %q failed:\n%s", err, failed, out)
	}
}

func TestBroken(t *testing.T) {
	if os.Getenv("AAEPTEST_BROKEN") == "" {
		t.Skip("it fails on purpose; TestFails runs it")
	}
	aaeptest.Virtual(t, func(t *testing.T) conformance.ProducerRun {
		a := agent(t)
		return conformance.ProducerRun{Dialer: deaf{a}, Driver: conformance.DriverFunc(a.Start), Level: 3,
			Only: []string{"request-answered", "hands-over", "events-valid"}, Known: []string{"events-valid"}}
	})
}

// deaf loses every request.
type deaf struct{ *aaeptest.Agent }

func (d deaf) Dial(ctx context.Context) (transports.Conn, error) {
	c, err := d.Agent.Dial(ctx)
	return deafConn{c}, err
}

type deafConn struct{ transports.Conn }

func (deafConn) Send(context.Context, []byte) error { return nil }
