package producer_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// A log that cannot be written is reported once. The agent goes on, and its subscribers receive all
// of it.
func TestLogFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		runLife(t, t.TempDir(), producer.Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, func(st *stage, kept *sqlite.Store) {
			l, _ := st.listenAccepted(allEvents())
			failed := make(chan error, 1)
			go func() { failed <- st.p.WaitLogFailed(context.Background()) }()
			if st.p.Stats().LogFailed {
				t.Error("it is said to have failed before it did")
			}
			kept.Close()
			s := st.startSession("Going on.")
			s.Complete(aaep.Text{})
			if err := <-failed; err == nil || errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if !st.p.Stats().LogFailed {
				t.Error("no instrument can tell")
			}
			synctest.Wait()
			if n := strings.Count(logged.String(), "level=ERROR msg=\"nothing is kept any more"); n != 1 {
				t.Errorf("it is logged %d times: %s", n, &logged)
			}
			if got := storyOf(l.events()); got != "session.started idle>thinking session.completed" {
				t.Error(got)
			}
		})
	})
}

// slowDisk takes a second for everything.
type slowDisk struct{ log.Store }

// Append takes a second.
func (d slowDisk) Append(records [][]byte) error {
	time.Sleep(time.Second)
	return d.Store.Append(records)
}

// hungDisk takes nothing until it is let go.
type hungDisk struct {
	log.Store
	hangs chan struct{}
}

// Append waits until the disk is let go.
func (d hungDisk) Append(records [][]byte) error {
	<-d.hangs
	return d.Store.Append(records)
}

// onDisk runs f with a producer whose log is on a disk that wrap slows down.
func onDisk(t *testing.T, cfg producer.Config, wrap func(log.Store) log.Store, f func(*testing.T, *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		kept, err := sqlite.Open(t.TempDir(), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Close()
		cfg.Log = wrap(kept)
		st := newStage(t, cfg)
		defer st.end()
		f(t, st)
	})
}

// At Shutdown listeners still hear what the disk has yet to take.
func TestShutdownWithASlowDisk(t *testing.T) {
	onDisk(t, producer.Config{}, func(s log.Store) log.Store { return slowDisk{s} }, func(t *testing.T, st *stage) {
		l, _ := st.listenAccepted(allEvents())
		st.startSession("Working.")
		st.p.Shutdown(context.Background())
		if got := storyOf(l.events()); got != "session.started idle>thinking session.cancelled:system" {
			t.Errorf("heard %s", got)
		}
	})
}

// A disk that does not answer does not keep subscribers waiting, where Shutdown is told not to
// wait.
func TestShutdownWithAHungDisk(t *testing.T) {
	hangs := make(chan struct{})
	onDisk(t, producer.Config{}, func(s log.Store) log.Store {
		hangs = make(chan struct{}) // of the bubble
		return hungDisk{s, hangs}
	}, func(t *testing.T, st *stage) {
		defer close(hangs)
		l, _ := st.listenAccepted(allEvents())
		st.startSession("Working.")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		over := callLater(func() (any, error) { return nil, st.p.Shutdown(ctx) })
		<-l.served
		if kept := time.Since(began); kept > 100*time.Millisecond {
			t.Errorf("who listens was kept for %v", kept)
		}
		if r := <-over; !errors.Is(r.err, context.Canceled) || r.at.Sub(began) > 4*time.Second { // two seconds twice
			t.Errorf("Shutdown = %v after %v", r.err, r.at.Sub(began))
		}
	})
}

// unsettled is a cloud that fails to keep that everything before the new agent is settled.
type unsettled struct {
	node
	told *int
}

// SetMeta fails from the second call on.
func (u unsettled) SetMeta(m []byte) error {
	if *u.told++; *u.told > 1 {
		return errGone
	}
	return u.node.SetMeta(m)
}

// An agent that cannot begin leaves no goroutine behind.
func TestNewThatFails(t *testing.T) {
	before := goleak.IgnoreCurrent()
	_, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, Log: unsettled{node{newCloud(), "home", 0}, new(int)}})
	if !errors.Is(err, errGone) {
		t.Errorf("New = %v", err)
	}
	goleak.VerifyNone(t, before)
}

// fullDisk takes nothing.
type fullDisk struct{ log.Store }

var errFull = errors.New("the disk is full")

// Append returns errFull.
func (fullDisk) Append([][]byte) error { return errFull }

// An agent that cannot end what a crash left open says why, once.
func TestNewOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runLife(t, t.TempDir(), producer.Config{}, func(st *stage, kept *sqlite.Store) {
			st.startSession("Left open.")
			synctest.Wait() // it is on the disk
			_, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, Log: fullDisk{kept}})
			if !errors.Is(err, errFull) || strings.Count(err.Error(), errFull.Error()) != 1 {
				t.Errorf("New = %v", err)
			}
			var logged bytes.Buffer
			p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, Log: struct{ log.Store }{kept}, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			if err != nil {
				t.Fatal(err)
			}
			p.Shutdown(t.Context())
			if got := logged.String(); !strings.Contains(got, `level=ERROR msg="ended a session that the run before left open"`) || strings.Contains(got, "error=") {
				t.Errorf("once there is room the log has %q", got)
			}
		})
	})
}

// fillsUp is a disk that takes no event once it is full, and what the log says of itself all the
// same.
type fillsUp struct {
	log.Store
	full *atomic.Bool
}

// Append fails once the disk is full.
func (s fillsUp) Append(records [][]byte) error {
	if s.full.Load() && len(records) > 0 {
		return errFull
	}
	return s.Store.Append(records)
}

// A session that ended in good order is no crash at the next start, also where a full disk kept its
// end from the log or where its events were republished. One that was killed is, also after a run
// that ended in good order.
func TestEndedInGoodOrder(t *testing.T) {
	for _, c := range []struct{ name, level string }{
		{"full disk", "WARN"}, {"republished", "WARN"}, {"killed", "ERROR"}, {"whole", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept, err := sqlite.Open(t.TempDir(), sqlite.Options{})
				requireNoError(t, err)
				defer kept.Close()
				agent, full := aaep.Agent{AgentID: "tester", AgentName: "Tester"}, &atomic.Bool{}
				first, err := producer.New(producer.Config{Agent: agent, Log: fillsUp{kept, full}})
				requireNoError(t, err)
				requireNoError(t, first.Shutdown(t.Context()))
				second, err := producer.New(producer.Config{Agent: agent, Log: fillsUp{kept, full},
					Logger: slog.New(slog.DiscardHandler)})
				requireNoError(t, err)
				if c.name == "republished" {
					requireNoError(t, second.Republish(&aaep.Event{AAEPVersion: aaep.Version, EventID: "evt_1", SessionID: "sess_1",
						Timestamp: time.Now(), Producer: agent, Urgency: aaep.UrgencyNormal, Verbosity: aaep.VerbosityNormal,
						Summary: aaep.Say("Begun elsewhere."), Payload: &aaep.SessionStarted{}}))
				} else {
					_, err = second.StartSession(t.Context(), aaep.Say("Working."))
					requireNoError(t, err)
				}
				synctest.Wait() // it is on the disk
				var again log.Store = struct{ log.Store }{kept}
				if c.name == "killed" {
					defer second.Shutdown(t.Context())
				} else {
					full.Store(c.name == "full disk")
					second.Shutdown(t.Context())
					full.Store(false)
				}
				var logged bytes.Buffer
				p, err := producer.New(producer.Config{Agent: agent, Log: again, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
				requireNoError(t, err)
				p.Shutdown(t.Context())
				if found := strings.Count(logged.String(), "ended a session"); c.level == "" && found != 0 ||
					c.level != "" && (found != 1 || !strings.Contains(logged.String(), "level="+c.level+` msg="ended a session`)) {
					t.Errorf("the log has %s", &logged)
				}
			})
		})
	}
}
