package producer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// A log that cannot be written says so once; the agent goes on, and so do its listeners.
func TestLogFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life(t, t.TempDir(), producer.Config{}, func(st *stage, kept *sqlite.Store) {
			l, _ := st.accepted(everything())
			failed := make(chan error, 1)
			go func() { failed <- st.p.WaitLogFailed(context.Background()) }()
			if st.p.Stats().LogFailed {
				t.Error("it is said to have failed before it did")
			}
			kept.Close()
			s := st.session("Going on.")
			s.Complete(aaep.Text{})
			if err := <-failed; err == nil || errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if !st.p.Stats().LogFailed {
				t.Error("no instrument can tell")
			}
			if got := story(l.events()); got != "session.started idle>thinking session.completed" {
				t.Error(got)
			}
		})
	})
}

// slowDisk takes a second for everything.
type slowDisk struct{ log.Store }

func (d slowDisk) Append(records [][]byte) error {
	time.Sleep(time.Second)
	return d.Store.Append(records)
}

// At Shutdown listeners still hear what the disk has yet to take.
func TestShutdownWithASlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, err := sqlite.Open(t.TempDir(), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Close()
		cfg := producer.Config{Log: slowDisk{kept}}
		cfg.Agent.AgentID = "tester"
		p, err := producer.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		st := &stage{t: t, p: p}
		defer st.end()
		l, _ := st.accepted(everything())
		st.session("Working.")
		p.Shutdown(context.Background())
		if got := story(l.events()); got != "session.started idle>thinking session.cancelled:system" {
			t.Errorf("heard %s", got)
		}
	})
}

// unsettled is a cloud that does not keep that all before the new agent is settled.
type unsettled struct {
	node
	told *int
}

func (u unsettled) SetMeta(m []byte) error {
	if *u.told++; *u.told > 1 {
		return errGone
	}
	return u.node.SetMeta(m)
}

// An agent that cannot begin leaves no goroutine behind.
func TestNewThatFails(t *testing.T) {
	before := goleak.IgnoreCurrent()
	_, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "tester"}, Log: unsettled{node{newCloud(), "home", 0}, new(int)}})
	if !errors.Is(err, errGone) {
		t.Errorf("New = %v", err)
	}
	goleak.VerifyNone(t, before)
}
