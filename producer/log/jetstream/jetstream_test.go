package jetstream_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/natstest"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/jetstream"
	"github.com/aaep-go/aaep/producer/log/logtest"
)

// opened is a store that closes its connection.
type opened struct {
	*jetstream.Store
	cluster *jetstream.Cluster
}

// Close closes the store and the connection.
func (o opened) Close() error {
	err := o.Store.Close()
	o.cluster.Close()
	return err
}

// dialCluster connects to the servers until the test ends.
func dialCluster(t testing.TB, servers string, opts jetstream.Options) *jetstream.Cluster {
	t.Helper()
	c, err := jetstream.Dial(t.Context(), servers, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const serversVariable = "AAEP_JETSTREAM_TEST"

// The suite of all stores, on one server: what three make of it is in the tests below.
func TestStore(t *testing.T) {
	servers := os.Getenv(serversVariable) // in the process that is killed
	if servers == "" {
		servers = natstest.Start(t, 1).URLs()
		t.Setenv(serversVariable, servers)
	}
	flag.Set("test.short", "true") // each round is a process
	logtest.Run(t, func(dir string, limits log.Limits) (logtest.Store, error) {
		c, err := jetstream.Dial(t.Context(), servers, jetstream.Options{Limits: limits})
		if err != nil {
			return nil, err
		}
		s, err := c.Open(t.Context(), dir[strings.LastIndex(dir[:len(dir)-len(filepath.Base(dir))-1], "/")+1:])
		if err != nil {
			c.Close()
			return nil, err
		}
		return opened{s, c}, nil
	})
}

// A second process is refused while the first is there; where that does not answer it is taken over
// from, and what it sends then is refused with a clear error and kept nowhere.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1)
	a := dialCluster(t, servers.URLs(), jetstream.Options{Patience: 5 * time.Second})
	first, err := a.Open(t.Context(), "planner / Ω")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Append([][]byte{[]byte("one")}); err != nil {
		t.Fatal(err)
	}
	b := dialCluster(t, servers.URLs(), jetstream.Options{})
	if _, err := b.Open(t.Context(), "planner / Ω"); !errors.Is(err, jetstream.ErrInUse) ||
		!strings.Contains(err.Error(), "process ") {
		t.Errorf("a second agent: %v", err)
	}
	first.Close() // it answers no more, and goes on all the same
	second, err := b.Open(t.Context(), "planner / Ω")
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range [][][]byte{{[]byte("lost")}, {[]byte("lost"), []byte("too")}} {
		if err := first.Append(batch); !errors.Is(err, jetstream.ErrTakenOver) {
			t.Errorf("the first goes on: %v", err)
		}
	}
	if err := first.SetMeta([]byte("mine")); !errors.Is(err, jetstream.ErrTakenOver) {
		t.Errorf("SetMeta: %v", err)
	}
	if err := second.Append([][]byte{[]byte("two"), []byte("three")}); err != nil {
		t.Fatal(err)
	}
	got, err := second.Read(0, 9)
	if err != nil || string(joinRecords(got)) != "one two three" {
		t.Errorf("%q, %v", got, err)
	}
	agents, err := b.Agents(t.Context())
	if err != nil || len(agents) != 1 || agents[0] != "planner / Ω" {
		t.Errorf("Agents() = %q, %v", agents, err)
	}
}

// Processes that become the agent at once: what one of them was told is kept is kept, once, and the
// others are told that another is the agent.
func TestOpenedAtOnce(t *testing.T) {
	t.Parallel()
	const processes = 6
	servers := natstest.Start(t, 1).URLs()
	for round := range 3 {
		name, errs := fmt.Sprint("planner ", round), make(chan error)
		var kept atomic.Int64
		for range processes {
			c := dialCluster(t, servers, jetstream.Options{})
			go func() {
				store, err := c.Open(t.Context(), name)
				for n := 0; err == nil && n < 20; n++ {
					if err = store.Append([][]byte{[]byte("one"), []byte("two")}); err == nil {
						kept.Add(2)
					}
				}
				errs <- err
			}()
		}
		for range processes {
			if err := <-errs; err != nil && !errors.Is(err, jetstream.ErrInUse) && !errors.Is(err, jetstream.ErrTakenOver) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		feed, err := dialCluster(t, servers, jetstream.Options{}).Follow(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		// The last two of each process may be kept without its knowing.
		if _, end := feed.Bounds(); int64(end) < kept.Load() || int64(end) > kept.Load()+2*processes {
			t.Errorf("round %d: %d events are kept, and %d were said to be", round, end, kept.Load())
		}
		feed.Close()
	}
}

// A process that was taken over from while it could not be reached is not the agent when it is
// back: who starts the agent again is not refused because of it, and is refused because of the one
// that is.
func TestBackTooLate(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t, 1).Servers[0]
	network, url := s.Behind()
	first, err := dialCluster(t, url, jetstream.Options{Node: "first"}).Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	network.Hold(true, true)
	other := dialCluster(t, s.URL, jetstream.Options{Node: "second"})
	second, err := other.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	network.Hold(false, false)
	for answer := []byte(nil); answer == nil; { // until it is back
		answer, _ = first.Profile(t.Context())
		if err := second.SetProfile([]byte("second")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dialCluster(t, s.URL, jetstream.Options{}).Open(t.Context(), "planner"); !errors.Is(err,
		jetstream.ErrInUse) || !strings.Contains(err.Error(), "on second") {
		t.Errorf("a third while there is the second: %v", err)
	}
	second.Close()
	third, err := dialCluster(t, s.URL, jetstream.Options{}).Open(t.Context(), "planner")
	if err != nil {
		t.Fatalf("a third after the second: %v", err)
	}
	third.Close()
}

// joinRecords returns the records with spaces between.
func joinRecords(records [][]byte) []byte {
	var all []string
	for _, r := range records {
		all = append(all, string(r))
	}
	return []byte(strings.Join(all, " "))
}
