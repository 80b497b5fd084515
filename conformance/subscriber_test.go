package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/check"
	"github.com/aaep-go/aaep/transports"
)

// What the runner sends is itself right, but for what is wrong on purpose: a subscriber must not
// learn from it to expect what no producer may send.
func TestSubscribersAreTreatedWell(t *testing.T) {
	onPurpose := map[string]bool{}
	for _, c := range conformance.SubscriberCases() {
		if strings.Contains(c.Scenario, "odd") {
			onPurpose[strings.ReplaceAll(c.Name, "-", "")] = true
		}
	}
	for _, label := range []string{"nocontext", "nosession", "notime", "two", "double", "doubleerror", "takenback", "casecontext", "oddrisk",
		"othercontext", "numbersession", "nozone", "noproducer", "stringproducer", "commatoomany", "commented", "twoobjects",
		"casesession", "casetime"} {
		onPurpose[label] = true
	}
	var mu sync.Mutex
	seen := 0
	watch := fault{conn: func(c transports.Conn, _ hook) transports.Conn {
		var checker check.Checker
		return &messageMutator{Conn: c, raw: func(msg []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			seen++
			for _, f := range checker.Message(seen, msg) {
				var id string
				for label := range onPurpose {
					if strings.Contains(string(msg), label+`"`) {
						id = label
					}
				}
				if !f.Note && id == "" && strings.Contains(string(msg), `"session_id"`) {
					t.Errorf("%s %s: %s %.150s", f.Requirement, f.Pointer, f.Problem, msg)
				}
			}
			return msg
		}}
	}}
	if proveReader(t, 3, watch, 0); seen < 100 {
		t.Errorf("only %d messages came", seen)
	}
}

// D-76, D-77 line 19: a target that does not cooperate ends in bounded time, and passes nothing.
func TestSubscribersThatDoNotPlayAlong(t *testing.T) {
	dial := func(ctx context.Context, d transports.Dialer) transports.Conn {
		c, err := d.Dial(ctx)
		if err != nil {
			return nil
		}
		context.AfterFunc(ctx, func() { c.Close() })
		return c
	}
	for name, tt := range map[string]struct {
		run  func(context.Context, *conformance.Hook, transports.Dialer) error
		want conformance.Verdict
		err  error
	}{
		"never comes": {func(ctx context.Context, _ *conformance.Hook,
			_ transports.Dialer) error {
			<-ctx.Done()
			return nil
		}, "", conformance.ErrUnreachable},
		"ends at once": {func(context.Context, *conformance.Hook, transports.Dialer) error { return nil }, "",
			conformance.ErrUnreachable},
		"cannot be started": {func(context.Context, *conformance.Hook, transports.Dialer) error {
			return errors.New("no such program")
		}, "", conformance.ErrUnreachable},
		"reads nothing": {func(ctx context.Context, _ *conformance.Hook, d transports.Dialer) error {
			dial(ctx, d)
			<-ctx.Done()
			return nil
		}, conformance.Inconclusive, nil},
		"reads and says nothing": {func(ctx context.Context, _ *conformance.Hook, d transports.Dialer) error {
			for c := dial(ctx, d); c != nil; {
				if _, err := c.Receive(ctx); err != nil {
					break
				}
			}
			return nil
		}, conformance.Inconclusive, nil},
		"speaks another protocol": {func(ctx context.Context, h *conformance.Hook, d transports.Dialer) error {
			if c := dial(ctx, d); c != nil {
				c.Send(ctx, []byte("220 mail ready"))
			}
			h.Tell([]byte("hello"))
			<-ctx.Done()
			return nil
		}, conformance.Inconclusive, nil},
		"floods": {func(ctx context.Context, _ *conformance.Hook, d transports.Dialer) error {
			for c := dial(ctx, d); c != nil &&
				c.Send(ctx, []byte(`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"f","capabilities":{}}`)) == nil; {
			}
			return nil
		}, conformance.Inconclusive, nil},
		"floods the hook": {func(ctx context.Context, h *conformance.Hook, d transports.Dialer) error {
			dial(ctx, d)
			for range 5000 {
				h.Tell([]byte(`{"event_id":"evt_1","text":"noise"}`))
			}
			<-ctx.Done()
			return nil
		}, conformance.Fail, nil},
		"rejoices in everything": {func(ctx context.Context, h *conformance.Hook, d transports.Dialer) error {
			c := dial(ctx, d)
			if c == nil {
				return nil
			}
			c.Send(ctx, []byte(`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"f","capabilities":{}}`))
			for {
				msg, err := c.Receive(ctx)
				if err != nil {
					return nil
				}
				c.Send(ctx, msg)
				h.Tell(msg)
			}
		}, conformance.Fail, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, level := range []int{1, 2} {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					st := newStation()
					var said []string
					r, err := conformance.SubscriberRun{Listener: st, Level: level,
						Progress: func(what string, _, _ int) { said = append(said, what) },
						Subscriber: conformance.SubscriberFunc(func(ctx context.Context, h *conformance.Hook) error {
							return tt.run(ctx, h, st)
						})}.Prove(t.Context())
					if !errors.Is(err, tt.err) {
						t.Fatal(err)
					}
					if r != nil && (r.Verdict == conformance.Pass || level == 1 && r.Verdict != tt.want) {
						t.Errorf("level %d: %s", level, r.Summary())
					}
					if want := []string{"story",
						"story, waiting up to 17 more seconds for the subscriber"}; name == "never comes" &&
						!slices.Equal(said, want) {
						t.Errorf("it is told %q, want %q", said, want)
					}
					if took := time.Since(began); took > 30*time.Minute {
						t.Errorf("it took %v", took)
					}
				})
			}
		})
	}
}

// LVL-018: at Level 1 no handshake is needed.
func TestSubscriberWithoutHandshake(t *testing.T) {
	silent := fault{conn: func(c transports.Conn, _ hook) transports.Conn {
		told := false
		return &messageMutator{Conn: c, out: func(o object) []object {
			if shortName(o) == "subscription.request" {
				return nil
			}
			return []object{o}
		}, in: func(o object) []object {
			if !told {
				told = true // what our subscriber waits for
				return []object{{"type": "subscription.accepted", "subscription_id": "sub_1", "aaep_version": "1.0.0",
					"producer": object{"agent_id": "a"}, "honored_capabilities": object{}}, o}
			}
			return []object{o}
		}}
	}}
	for level, want := range map[int]conformance.Verdict{1: conformance.Pass, 3: conformance.Fail} {
		r := proveReader(t, level, silent, 0)
		if r == nil || r.Verdict != want || level == 3 && verdictsByCase(r)["request-first"] != conformance.Fail {
			t.Errorf("level %d: %s\n%s", level, r.Summary(), notPassed(r))
		}
	}
}

// A run that cannot be is refused with what is wrong about it.
func TestSubscriberRunIsChecked(t *testing.T) {
	st := newStation()
	target := conformance.SubscriberFunc(func(context.Context, *conformance.Hook) error { return nil })
	for _, run := range []conformance.SubscriberRun{{Subscriber: target, Level: 1}, {Listener: st, Level: 1},
		{Listener: st, Subscriber: target},
		{Listener: st, Subscriber: target, Level: 1, Only: []string{"asks-first"}}} {
		if _, err := run.Prove(t.Context()); err == nil {
			t.Errorf("%+v ran", run)
		}
	}
}

// The names are unique, and everything a case needs is there.
func TestSubscriberCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range conformance.SubscriberCases() {
		if names[c.Name] || len(c.Requirements) == 0 || c.Rule == "" || c.Level < 1 || c.Level > 3 || c.Scenario == "" {
			t.Errorf("%+v", c)
		}
		names[c.Name] = true
	}
	t.Log(len(names), "cases")
}
