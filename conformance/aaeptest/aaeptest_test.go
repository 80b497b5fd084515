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
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}, ShortTimeouts: true})
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
	r := aaeptest.Producer(t, conformance.ProducerRun{Dialer: a, Driver: no, Level: 3,
		Only: []string{"version-refused", "hands-over"}, Known: []string{"hands-over"}})
	if !r.OK() || r.Verdict != conformance.Inconclusive {
		t.Errorf("%s, %v", r.Verdict, r.Counts)
	}
}

// wards is a profile for hospitals: cases of its own, which count as the suite's do.
var wards = []conformance.Case{{
	Name: "wards-handoff-named", Requirements: []string{"WARDS-001"}, Level: 2, Strength: conformance.Must,
	Rule: "a handoff says in target_uri to which ward",
	Play: &conformance.Play{Does: "a subscriber follows a session that is handed over",
		Scenario: conformance.Scenario{Name: "wards-handoff"}},
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
			return conformance.Finding{Verdict: conformance.Fail, Seen: "a handoff went to no ward",
				Evidence: []conformance.Entry{e}}
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
	if err := s.Handoff(aaep.Say("The ward takes over."),
		aaep.HandoffRequested{Reason: "A nurse must decide.", TargetKind: "human", TargetURI: h.ward}); err != nil {
		return err
	}
	return s.Complete(aaep.Say("Handed over."))
}

// EXT-018, LVL-047: a profile is passed with its core level and its own cases, and the claim names
// it with its version. Whoever fails one of them claims nothing.
func TestProfile(t *testing.T) {
	const profile = "https://example.org/wards/v1 1.2.0"
	run := func(t *testing.T, ward string) conformance.ProducerRun {
		h := hospital{agent(t), ward}
		return conformance.ProducerRun{Dialer: h, Driver: h, Level: 2, Extra: wards, Profile: profile}
	}
	r := aaeptest.Virtual(t, func(t *testing.T) conformance.ProducerRun { return run(t, "tel:+1-555-0100") })
	if !strings.Contains(r.Claim(), "is AAEP Level 2 conformant (producer, AAEP 1.0.0), and with the profile "+profile+
		", verified by") {
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
	if _, err := (conformance.ProducerRun{Dialer: hospital{}, Driver: hospital{}, Level: 2,
		Profile: profile}).Prove(t.Context()); err == nil {
		t.Error("a profile without cases was judged")
	}
}

// wardAlarms is the same profile for those who follow such agents.
func wardAlarms(t *testing.T) []conformance.Case {
	const uri = "https://example.org/wards/v1"
	play := func(a *conformance.Agent) {
		a.Tell("wards:agent.alarm", "The alarm of ward 7 rings",
			map[string]any{"@context": []string{aaep.CoreContext, uri}, "urgency": "critical"})
		q := a.Tell(string(aaep.TypeAwaitingConfirmation), "Silence it",
			map[string]any{"reply_token": "rpl_0123456789abcdef0123456789abcdef", "action": "Silence ward 7.",
				"consequence": "Nobody hears it any more.", "risk_level": "medium", "timeout_seconds": 60,
				"default_decision": "reject"})
		a.User(map[string]any{"event_id": q, "decision": "reject"})
	}
	terms := map[string]any{"supported_extensions": []string{uri, "https://example.org/not-asked-for/v1"},
		"wards": map[string]any{"floor": 2}, "cells": 40}
	return []conformance.Case{{
		Name: "wards-alarm-heard", Requirements: []string{"WARDS-002"}, Level: 1, Strength: conformance.Must,
		Rule: "an alarm is presented, with its ward",
		Play: &conformance.Play{Does: "an alarm rings", Agent: play, Capabilities: terms},
		Judge: func(r *conformance.Recording) conformance.Finding {
			var granted, replied bool
			for _, e := range r.Entries {
				text := string(e.Data)
				granted = granted || e.Sent && strings.Contains(text, `"supported_extensions":["`+uri+`"]`) &&
					strings.Contains(text, `"floor":2`) && !strings.Contains(text, "cells")
				replied = replied || e.Link == 0 && !e.Sent && strings.Contains(text, `"decision":"reject"`)
			}
			told := alarm(r)
			if len(told) == 0 || !strings.Contains(string(told[0].Data), "ward 7") || !granted || !replied ||
				len(r.Events(0)) < 4 {
				t.Errorf("granted %t, replied %t, told %d times of %d events", granted, replied, len(told),
					len(r.Events(0)))
				return conformance.Finding{Verdict: conformance.Fail, Seen: "the alarm of ward 7 was not heard"}
			}
			return conformance.Finding{Verdict: conformance.Pass, Seen: "the alarm was heard", Evidence: told}
		},
	}, {
		Name: "wards-alarm-sounds", Requirements: []string{"WARDS-003"}, Level: 2, Strength: conformance.Must,
		Rule: "an alarm has a sound of its own", Play: &conformance.Play{Does: "an alarm rings", Agent: play},
		Judge: func(r *conformance.Recording) conformance.Finding {
			return conformance.Finding{Verdict: conformance.Fail, Seen: "it is spoken as all else", Evidence: alarm(r)}
		},
	}}
}

// alarm is what was presented of the alarm.
func alarm(r *conformance.Recording) (told []conformance.Entry) {
	for _, e := range r.Events(0) {
		if m, err := aaep.Decode(e.Data); err == nil && m.(*aaep.Event).Type() == "wards:agent.alarm" {
			told = append(told, r.Presented(m.(*aaep.Event).EventID)...)
		}
	}
	return told
}

// EXT-018, LVL-047: what a profile demands of a subscriber counts as the suite's own cases do.
func TestSubscriberProfile(t *testing.T) {
	const profile = "https://example.org/wards/v1 1.2.0"
	run := func(level int) (r *conformance.Report) {
		synctest.Test(t, func(t *testing.T) {
			s, caps := make(station), subscriber.ScreenReader("en-US")
			caps.MaxEventsPerSecond = 0
			if err := caps.AddExtension(aaep.Vocabulary{Prefix: "wards", URI: "https://example.org/wards/v1"},
				map[string]int{"floor": 3}); err != nil {
				t.Fatal(err)
			}
			var err error
			r, err = conformance.SubscriberRun{Listener: s, Subscriber: aaeptest.Reader{Dialer: s, Capabilities: caps},
				Level: level,
				Extra: wardAlarms(t), Profile: profile}.Prove(t.Context())
			if err != nil {
				t.Fatal(err)
			}
		})
		return r
	}
	if r := run(1); !strings.Contains(r.Claim(),
		"is AAEP Level 1 conformant (subscriber, AAEP 1.0.0), and with the profile "+profile+", verified by") {
		t.Errorf("the claim is %q\n%s", r.Claim(), r.Summary())
	}
	if r := run(2); r.Verdict != conformance.Fail || r.Counts[conformance.Fail] != 1 || r.Claim() != "" {
		t.Errorf("%s, the claim is %q", r.Summary(), r.Claim())
	}
	for name, run := range map[string]conformance.SubscriberRun{
		"no cases":     {Profile: profile},
		"no agent":     {Extra: wards, Profile: profile},
		"a taken name": {Extra: append(wardAlarms(t)[:1:1], wardAlarms(t)[0])},
	} {
		run.Listener, run.Subscriber, run.Level = make(station), aaeptest.Reader{}, 1
		if _, err := run.Prove(t.Context()); err == nil {
			t.Errorf("%s: a profile was judged", name)
		}
	}
}

// LVL-012: a subscriber is proved in the same way.
func TestSubscriber(t *testing.T) {
	s, caps := make(station), subscriber.ScreenReader("en-US")
	caps.MaxEventsPerSecond = 0 // the clock is real
	r := aaeptest.Subscriber(t, conformance.SubscriberRun{Listener: s, Level: 2,
		Only:       []string{"start-told", "unknown-type"},
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

// A case that fails and one that is not proved fail their subtests, and one that is known to fail
// does not: this test runs TestBroken as a program of its own, for a test cannot look at the
// failure of another.
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
	if err == nil || !slices.Equal(failed, []string{"hands-over", "request-answered"}) ||
		!strings.Contains(string(out), "Right would be: every request is answered") {
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
