package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

type dialer func(context.Context) (transports.Conn, error)

func (d dialer) Dial(ctx context.Context) (transports.Conn, error) { return d(ctx) }

// connectPipe is a target that does with its end of a link whatever it likes.
func connectPipe(serve func(transports.Conn)) dialer {
	return func(context.Context) (transports.Conn, error) {
		a, b := transports.Pipe()
		go func() { defer b.Close(); serve(b) }()
		return a, nil
	}
}

func verdictsByCase(r *conformance.Report) map[string]conformance.Verdict {
	all := map[string]conformance.Verdict{}
	for _, res := range r.Results {
		all[res.Case.Name] = res.Verdict
	}
	return all
}

// D-76, LVL-043: whatever a target does instead of speaking the protocol, the run ends and nothing
// is passed.
func TestTargetsThatDoNotPlayAlong(t *testing.T) {
	started := conformance.DriverFunc(func(context.Context, conformance.Scenario) error { return nil })
	hangs := conformance.DriverFunc(func(ctx context.Context,
		_ conformance.Scenario) error {
		<-ctx.Done()
		return ctx.Err()
	})
	read := func(c transports.Conn) {
		for {
			if _, err := c.Receive(context.Background()); err != nil {
				return
			}
		}
	}
	for _, tt := range []struct {
		name   string
		serve  func(transports.Conn)
		driver conformance.Driver
		want   conformance.Verdict
		// verdicts of single cases
		begins, valid, answered conformance.Verdict
	}{
		{"is silent", read, started, conformance.Inconclusive, conformance.Inconclusive, conformance.Inconclusive,
			conformance.Inconclusive},
		{"reads nothing", func(c transports.Conn) { time.Sleep(time.Hour) }, started, conformance.Inconclusive,
			conformance.Inconclusive, conformance.Inconclusive, conformance.Inconclusive},
		{"has a driver that hangs", read, hangs, conformance.Inconclusive, conformance.Inconclusive,
			conformance.Inconclusive, conformance.Inconclusive},
		{"hangs up", func(transports.Conn) {}, started, conformance.Fail, conformance.Inconclusive,
			conformance.Inconclusive, conformance.Fail},
		{"speaks another protocol", func(c transports.Conn) {
			c.Send(context.Background(),
				[]byte("220 mail ready"))
			read(c)
		}, started,
			conformance.Fail, conformance.Inconclusive, conformance.Fail, conformance.Fail},
		{"floods", func(c transports.Conn) {
			for c.Send(context.Background(), []byte(`{"type":"noise"}`)) == nil {
			}
		}, started, conformance.Fail, conformance.Inconclusive, conformance.Fail, conformance.Fail},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "floods" && testing.Short() {
				t.Skip("it reads all that a recording may hold: make test-all runs it")
			}
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				// The floods take memory: fewer runs do.
				run := conformance.ProducerRun{Dialer: connectPipe(tt.serve), Driver: tt.driver, Level: 3,
					Only: []string{"begins-once", "events-valid", "request-answered", "asks-first"}}
				r, err := run.Prove(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got := verdictsByCase(r)
				if r.Verdict != tt.want || got["begins-once"] != tt.begins || got["events-valid"] != tt.valid ||
					got["request-answered"] != tt.answered ||
					got["asks-first"] != conformance.Inconclusive {
					t.Errorf("the verdict is %s: %v", r.Verdict, got)
				}
				if took := time.Since(began); took > time.Hour {
					t.Errorf("it took %v", took)
				}
				time.Sleep(time.Hour) // for the target that reads nothing
			})
		})
	}
}

// driverWithout is a driver that does not have a scenario.
func driverWithout(g *target, name string) conformance.Driver {
	return conformance.DriverFunc(func(ctx context.Context, s conformance.Scenario) error {
		if s.Name == name {
			return errors.New("501 not here")
		}
		return g.Start(ctx, s)
	})
}

// Whatever its driver cannot start, a producer that is right fails nothing, and passes nothing that
// it was not seen to do.
func TestMissingScenarios(t *testing.T) {
	for _, name := range []string{conformance.Stream, conformance.Tools, conformance.Ask, conformance.Errored,
		conformance.Handoff, conformance.Clarify,
		conformance.Idle, conformance.Hang, conformance.Withdraw, conformance.Shutdown} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := inBubble(t, func(g *target) conformance.ProducerRun {
				run := checkExtraCases(g, g)
				run.Driver = driverWithout(g, name)
				return run
			})
			beside := []string{conformance.Hang, conformance.Withdraw,
				conformance.Shutdown} // what every event is judged by goes without them
			for _, res := range r.Results {
				needs := slices.Contains(strings.Split(res.Case.Scenario, ", "), name) || res.Case.Scenario == "all" &&
					!slices.Contains(beside, name)
				if res.Verdict == conformance.Fail || res.Verdict == conformance.Pass && needs {
					t.Errorf("%s %s: %s", res.Verdict, res.Case.Name, res.Seen)
				}
			}
		})
	}
}

// A level that was not put to the test is not passed, and a scenario that cannot be started passes
// nothing.
func TestInconclusiveIsNotPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTarget(t)
		r, err := conformance.ProducerRun{Dialer: g, Driver: driverWithout(g, conformance.Ask), Level: 2}.Prove(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := verdictsByCase(r); r.Verdict != conformance.Inconclusive ||
			got["asks-first"] != conformance.Inconclusive || got["begins-once"] != conformance.Inconclusive ||
			got["rate-kept"] != conformance.Skipped || r.Counts[conformance.Fail] != 0 {
			t.Errorf("the verdict is %s: %v", r.Verdict, got)
		}
		var text bytes.Buffer
		if err := r.WriteText(&text); err != nil ||
			!strings.Contains(text.String(), "INCONCLUSIVE LVL-009 events-valid: it was right in 6 plays, and accept, reject, silence could not be judged: the scenario ask could not be started: 501 not here. Right would be:") {
			t.Errorf("%v: %s", err, text.String())
		}
		// A listener hears one cause once, however many cases it kept from being judged.
		if said := text.String(); strings.Count(said, "501 not here") != 1 ||
			!strings.Contains(said, "\nINCONCLUSIVE for the same reason: ") ||
			!strings.Contains(said, " reject-means-no") {
			t.Errorf("the cause is told %d times:\n%s", strings.Count(said, "501 not here"), said)
		}
		g.Producer.Shutdown(context.Background())
	})
}

// LVL-018: at Level 1 no handshake is needed; at Level 3 it is missed.
func TestWithoutHandshake(t *testing.T) {
	m := mutant{out: dropMessages(isType("subscription.accepted"))}
	for level, want := range map[int]conformance.Verdict{1: conformance.Pass, 3: conformance.Fail} {
		r := inBubble(t, func(g *target) conformance.ProducerRun {
			return conformance.ProducerRun{Dialer: mutantTarget{g, &m, new(sync.Map), new(int)}, Driver: g, Level: level}
		})
		if r == nil || r.Verdict != want || level == 3 && verdictsByCase(r)["request-answered"] != conformance.Fail {
			t.Errorf("level %d: %+v", level, r)
		}
	}
}

// The report says why nothing could be judged where the target accepts no subscriber.
func TestRejected(t *testing.T) {
	m := mutant{in: func(_ *proxy, o object) []object { return []object{cloneWith(o, object{"aaep_version": "99.0.0"})} }}
	r := inBubble(t, func(g *target) conformance.ProducerRun {
		return conformance.ProducerRun{Dialer: mutantTarget{g, &m, new(sync.Map), new(int)}, Driver: g, Level: 1}
	})
	var text bytes.Buffer
	if r.WriteText(&text); r.Verdict != conformance.Inconclusive ||
		!strings.Contains(text.String(), `no event came, for the request was rejected with "version_unsupported"`) {
		t.Error(text.String())
	}
}

// Where events come in a way that no client reads, the report says which.
func TestUnreadable(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"type":"subscription.accepted","subscription_id":"sub_1","aaep_version":"1.0.0","producer":{"agent_id":"a"},"honored_capabilities":{}}`)
		} // and of the stream it forgets the type
	}))
	defer agent.Close()
	run := conformance.ProducerRun{Dialer: sse.Dialer{URL: agent.URL}, Level: 1, Only: []string{"begins-once"},
		Driver: conformance.DriverFunc(func(context.Context, conformance.Scenario) error { return nil })}
	r, err := run.Prove(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range r.Results {
		if res.Case.Name == "begins-once" && (res.Verdict != conformance.Inconclusive ||
			!strings.Contains(res.Seen, `no session began, for the link ended: sse: GET events: Content-Type is "", want text/event-stream`)) {
			t.Errorf("%s: %s", res.Verdict, res.Seen)
		}
	}
}

// A run in which nothing could be judged proves nothing.
func TestNothingJudged(t *testing.T) {
	r := inBubble(t, func(g *target) conformance.ProducerRun {
		return conformance.ProducerRun{Dialer: g, Driver: g, Level: 3, Only: []string{"strangers-refused"}}
	})
	if r.Verdict != conformance.Inconclusive || r.OK() ||
		verdictsByCase(r)["strangers-refused"] != conformance.Skipped {
		t.Errorf("%s, OK is %v: %v", r.Verdict, r.OK(), r.Counts)
	}
}

func TestUnreachable(t *testing.T) {
	g := newTarget(t)
	refuses := dialer(func(context.Context) (transports.Conn, error) { return nil, net.ErrClosed })
	if _, err := (conformance.ProducerRun{Dialer: refuses, Driver: g, Level: 1}).Prove(t.Context()); !errors.Is(err,
		conformance.ErrUnreachable) {
		t.Errorf("err = %v", err)
	}
	for _, run := range []conformance.ProducerRun{{Driver: g, Level: 1}, {Dialer: g, Level: 1}, {Dialer: g, Driver: g},
		{Dialer: g, Driver: g, Level: 1, Only: []string{"no-such"}}} {
		if _, err := run.Prove(t.Context()); err == nil {
			t.Errorf("%+v ran", run)
		}
	}
	g.Producer.Shutdown(context.Background())
}

// driverEndpoint is the endpoint that HTTPDriver asks.
func driverEndpoint(g *target) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var s conformance.Scenario
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil || r.URL.Path != "/scenarios/"+s.Name {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		if err := g.Start(r.Context(), s); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}

// LVL-029: some of the cases over sockets that are real, with an HTTP driver.
func TestRealTransports(t *testing.T) {
	g := newTarget(t)
	ctx, stop := context.WithCancel(t.Context())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 2)
	go func() { served <- serve.Serve(ctx, ln, g.Producer) }()
	private, err := os.MkdirTemp("", "aaep") // 0700, and short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(private)
	path := filepath.Join(private, "agent.sock")
	local, err := ipc.Listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { served <- g.Producer.Serve(ctx, local) }()
	driver := httptest.NewServer(driverEndpoint(g))
	for name, d := range map[string]transports.Dialer{
		"sse":       sse.Dialer{URL: "http://" + ln.Addr().String()},
		"websocket": websocket.Dialer{URL: "ws://" + ln.Addr().String() + "/aaep/v1/ws"},
		"ipc":       ipc.Dialer{Path: path},
	} {
		t.Run(name, func(t *testing.T) {
			run := conformance.ProducerRun{Dialer: d,
				Driver: conformance.HTTPDriver{Base: driver.URL, Client: driver.Client()}, Level: 3,
				Only: []string{"first-reply-wins", "invalid-refused",
					"honors-no-more"}} // the clock is real here; TestTransports judges all
			r, err := run.Prove(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != conformance.Pass || r.Counts[conformance.Pass] < 3 {
				var text bytes.Buffer
				r.WriteText(&text)
				t.Error(text.String())
			}
		})
	}
	driver.Close()
	stop()
	g.Producer.Shutdown(context.Background())
	local.Close()
	for range 2 {
		<-served
	}
}

// A case from outside that is not whole, or has a name that is taken, is refused before any
// scenario is run.
func TestExtra(t *testing.T) {
	whole := conformance.Case{Name: "x", Requirements: []string{"X-001"}, Level: 1, Strength: conformance.Must,
		Rule: "r",
		Play: &conformance.Play{}, Judge: func(*conformance.Recording) conformance.Finding { return conformance.Finding{} }}
	for what, spoil := range map[string]func(*conformance.Case){
		"its name is that of a case": func(c *conformance.Case) { c.Name = "begins-once" },
		"its name is that of a play": func(c *conformance.Case) { c.Name = "stream" },
		"it has no name":             func(c *conformance.Case) { c.Name = "" },
		"it decides nothing":         func(c *conformance.Case) { c.Requirements = nil },
		"it is of Level 4":           func(c *conformance.Case) { c.Level = 4 },
		"it plays nothing":           func(c *conformance.Case) { c.Play = nil },
		"nobody judges":              func(c *conformance.Case) { c.Judge = nil },
	} {
		c := whole
		spoil(&c)
		_, err := conformance.ProducerRun{Dialer: refusing, Driver: conformance.HTTPDriver{}, Level: 1,
			Extra: []conformance.Case{c}}.Prove(t.Context())
		if err == nil || !strings.Contains(err.Error(), "from outside") {
			t.Errorf("%s: %v", what, err)
		}
	}
	r := inBubble(t, func(g *target) conformance.ProducerRun {
		return conformance.ProducerRun{Dialer: g, Driver: g, Level: 1, Extra: []conformance.Case{whole},
			Only: []string{"x-001"}}
	})
	if got := verdictsByCase(r)["x"]; got != conformance.Inconclusive {
		t.Errorf("a judge that finds nothing made it %s", got)
	}
}

// The names that the report and --list show are unique, and everything a case needs is there.
func TestCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range conformance.Cases() {
		if names[c.Name] || len(c.Requirements) == 0 || c.Rule == "" || c.Level < 1 || c.Level > 3 {
			t.Errorf("%+v", c)
		}
		names[c.Name] = true
	}
	if got := conformance.Match(conformance.Cases(), "hs-020"); len(got) != 1 || got[0].Name != "not-asked-if-mute" {
		t.Errorf("HS-020 is decided by %v", got)
	}
	fmt.Fprintln(t.Output(), len(names), "cases")
}
