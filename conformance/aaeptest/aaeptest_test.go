package aaeptest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

func agent(t *testing.T) *aaeptest.Agent {
	t.Helper()
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "agent"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Shutdown(context.Background()) })
	return &aaeptest.Agent{Producer: p}
}

// The levels that the package comment shows, and what becomes of cases that do not pass.
func TestVirtual(t *testing.T) {
	r := aaeptest.Virtual(t, func(t *testing.T) conformance.Run {
		a := agent(t)
		return conformance.Run{Dialer: a, Driver: a, Level: 2}
	})
	if r.Verdict != conformance.Pass || r.Counts[conformance.Skipped] == 0 {
		t.Errorf("%s, %v", r.Verdict, r.Counts)
	}
}

func TestProducer(t *testing.T) {
	a := agent(t)
	no := conformance.DriverFunc(func(context.Context, conformance.Scenario) error { return errors.New("not here") })
	r := aaeptest.Producer(t, conformance.Run{Dialer: a, Driver: no, Level: 3, Only: []string{"version-refused", "hands-over"}, Known: []string{"hands-over"}})
	if !r.OK() || r.Verdict != conformance.Inconclusive {
		t.Errorf("%s, %v", r.Verdict, r.Counts)
	}
}

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
	aaeptest.Virtual(t, func(t *testing.T) conformance.Run {
		a := agent(t)
		return conformance.Run{Dialer: deaf{a}, Driver: conformance.DriverFunc(a.Start), Level: 3,
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
