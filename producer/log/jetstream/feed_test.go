package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/natstest"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/jetstream"
)

// Who follows gets every record once and in order, what it heard and what it missed; and an error
// where it cannot.
func TestFeed(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1)
	c := dialCluster(t, servers.URLs(), jetstream.Options{Limits: log.Limits{Events: 4000}})
	if _, err := c.Follow(t.Context(), "planner"); !errors.Is(err, jetstream.ErrNoAgent) ||
		!strings.Contains(err.Error(), "cannot follow planner") {
		t.Errorf("an agent that never was: %v", err)
	}
	store, err := c.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	feed, err := dialCluster(t, servers.URLs(), jetstream.Options{}).Follow(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	add := func(batches, each int) {
		t.Helper()
		for range batches {
			var batch [][]byte
			for range each {
				last++
				batch = append(batch, []byte(fmt.Sprint(last)))
			}
			if err := store.Append(batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	cursor := 0
	follow := func() {
		t.Helper()
		for cursor < last {
			records, err := feed.Next(t.Context(), uint64(cursor))
			if err != nil || len(records) == 0 {
				t.Fatalf("Next(%d) = %d records, %v", cursor, len(records), err)
			}
			for _, r := range records {
				if cursor++; string(r) != fmt.Sprint(cursor) {
					t.Fatalf("record %d is %q", cursor, r)
				}
			}
		}
	}
	add(5, 1)
	follow()
	add(12, 250) // more than is kept of what is heard
	follow()
	add(3, 7)
	follow()

	waits := make(chan error, 1)
	go func() {
		records, err := feed.Next(t.Context(), uint64(cursor))
		if err == nil && string(records[0]) != fmt.Sprint(cursor+1) {
			err = fmt.Errorf("it is %q", records[0])
		}
		waits <- err
	}()
	add(1, 1)
	if err := <-waits; err != nil {
		t.Error(err)
	}

	add(20, 250) // and so much that the log no longer has it
	if _, err := feed.Next(t.Context(), uint64(cursor)); err == nil {
		_, err = feed.Next(t.Context(), 0)
		if err == nil || !strings.Contains(err.Error(), "was away for too long") {
			t.Errorf("who was away for too long: %v", err)
		}
	}
}

// What a log says of itself cannot be read for a while, such as when who led dies with the agent:
// who follows waits, and does not give up.
func TestFeedMeta(t *testing.T) {
	if testing.Short() {
		t.Skip("a server that was killed is waited for: make test-all runs it")
	}
	t.Parallel()
	s := natstest.Start(t, 1).Servers[0]
	c := dialCluster(t, s.URL, jetstream.Options{})
	store, err := c.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	feed, err := dialCluster(t, s.URL, jetstream.Options{}).Follow(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	s.Kill()
	if _, err := feed.Meta(); !errors.Is(err, log.ErrAway) {
		t.Errorf("Meta without servers: %v", err)
	}
}

// An agent whose stream was removed, for it was not to come back, may come back all the same: with
// another log, in which no place of the one before is.
func TestRemoved(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1).URLs()
	c := dialCluster(t, servers, jetstream.Options{})
	key := []byte(`{"settled":1}`)
	for _, again := range []bool{false, true} {
		store, err := c.Open(t.Context(), "planner")
		if err != nil {
			t.Fatal(err)
		}
		if meta, err := store.Meta(); meta != nil || err != nil {
			t.Errorf("opened again %v: the log says of itself %s, %v", again, meta, err)
		}
		if _, end := store.Bounds(); end != 0 {
			t.Errorf("%d events are in it", end)
		}
		if err := errors.Join(store.SetMeta(key), store.Append([][]byte{[]byte("one")}), store.Close()); err != nil {
			t.Fatal(err)
		}
		if again {
			break
		}
		nc, err := nats.Connect(servers)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if answer, err := nc.Request("$JS.API.STREAM.DELETE.AAEP_A_planner", nil, time.Minute); err != nil ||
			!strings.Contains(string(answer.Data), `"success":true`) {
			t.Fatalf("%v, %v", answer, err)
		}
	}
	// One that is there goes on.
	store, err := c.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if meta, err := store.Meta(); string(meta) != string(key) || err != nil {
		t.Errorf("gone on with: the log says of itself %s, %v", meta, err)
	}
}

// Servers that have lost what they had acknowledged, as a power cut can make them without
// "sync_interval: always", are not followed on without a word: what comes next has numbers that
// were given before.
func TestFeedRewound(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1)
	s := servers.Servers[0]
	store, err := dialCluster(t, s.URL, jetstream.Options{}).Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	feed, err := dialCluster(t, s.URL, jetstream.Options{}).Follow(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	add := func(records ...string) {
		t.Helper()
		for _, r := range records {
			if err := store.Append([][]byte{[]byte(r)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	add("one", "two")
	s.Kill()
	before := filepath.Join(t.TempDir(), "before")
	if err := os.CopyFS(before, os.DirFS(s.Files)); err != nil {
		t.Fatal(err)
	}
	s.Start()
	servers.Ready()
	add("three", "four")
	cursor := uint64(0)
	for cursor < 4 {
		records, err := feed.Next(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		cursor += uint64(len(records))
	}
	s.Kill()
	if err := errors.Join(os.RemoveAll(s.Files), os.CopyFS(s.Files, os.DirFS(before))); err != nil {
		t.Fatal(err)
	}
	s.Start()
	servers.Ready()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err = error(nil); err == nil || errors.Is(err, log.ErrAway); {
		_, err = feed.Next(ctx, cursor)
	}
	if !strings.Contains(err.Error(), "the servers have lost events 3 to 4 of planner, which they had acknowledged") {
		t.Errorf("it says %v", err)
	}
}

// openStream returns a stream as an operator reaches it, past this package.
func openStream(t *testing.T, servers, name string) (natsjs.JetStream, natsjs.Stream) {
	t.Helper()
	nc, err := nats.Connect(servers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return js, stream
}

// P8: an event that was removed from the middle of a stream, by hand or by damage, holds up neither
// the agent nor who follows it without a word: the log begins behind it.
func TestHole(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1).URLs()
	agent := startAgent(t, servers, &trail{}, 0)
	for range 3 {
		if _, err := agent.StartSession(t.Context(), aaep.Say("Planning.")); err != nil {
			t.Fatal(err)
		}
	}
	_, stream := openStream(t, servers, "AAEP_A_planner")
	for stream.CachedInfo().State.LastSeq < 3 { // what the agent tells is kept in its own time
		time.Sleep(10 * time.Millisecond)
		if _, err := stream.Info(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(agent.close(), stream.DeleteMsg(t.Context(), 2)); err != nil {
		t.Fatal(err)
	}
	feed, err := dialCluster(t, servers, jetstream.Options{}).Follow(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := feed.Next(ctx, 1); err == nil || !strings.Contains(err.Error(), "does not go back to event 2") {
		t.Errorf("who follows: %v", err)
	}
	if _, err := feed.Read(1, 9); !errors.Is(err, log.ErrTrimmed) {
		t.Errorf("Read: %v", err)
	}
	again, edge := startAgent(t, servers, &trail{}, 0), startReplica(t, servers, "edge") // which go on behind it
	l := listen(t, edge.Producer, "", nil)
	s, err := again.StartSession(t.Context(), aaep.Say("Planning again."))
	if err != nil {
		t.Fatal(err)
	}
	s.Complete(aaep.Say("Done."))
	l.awaitEvents("end", 1, isCompleted)
}

// An agent goes on with a log whose stream or whose words of itself were emptied meanwhile.
func TestPurged(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1).URLs()
	store, err := dialCluster(t, servers, jetstream.Options{}).Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Append([][]byte{[]byte("one"), []byte("two")}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AAEP_A_planner", "AAEP_META"} {
		if _, stream := openStream(t, servers, name); stream.Purge(t.Context()) != nil {
			t.Fatalf("%s is not emptied", name)
		}
	}
	if _, err := store.Read(0, 9); !errors.Is(err, log.ErrTrimmed) {
		t.Errorf("what was removed: %v", err)
	}
	if err := errors.Join(store.SetMeta([]byte("{}")), store.Append([][]byte{[]byte("three")})); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Read(2, 9); err != nil || string(joinRecords(got)) != "three" {
		t.Errorf("what came since: %q, %v", got, err)
	}
}

// A stream that keeps no more is told as that, and not as servers without a leader; the next
// process that is the agent has it drop what is old instead.
func TestFull(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1).URLs()
	c := dialCluster(t, servers, jetstream.Options{Patience: time.Second})
	store, err := c.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	js, stream := openStream(t, servers, "AAEP_A_planner")
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgs, cfg.Discard = 2, natsjs.DiscardNew
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	one := [][]byte{[]byte("one")}
	if err := errors.Join(store.Append(one), store.Append(one)); err != nil {
		t.Fatal(err)
	}
	if err := store.Append(one); err == nil || !strings.Contains(err.Error(), "the servers keep no more") ||
		!strings.Contains(err.Error(), "maximum messages exceeded") {
		t.Errorf("a stream that is full: %v", err)
	}
	store.Close()
	c = dialCluster(t, servers, jetstream.Options{Limits: log.Limits{Events: 2}})
	if store, err = c.Open(t.Context(), "planner"); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := errors.Join(store.Append(one), store.Append(one)); err != nil {
		t.Errorf("the next process: %v", err)
	}
	if start, end := store.Bounds(); start != 2 || end != 4 {
		t.Errorf("it has the events after %d up to %d", start, end)
	}
}

// A stream that no one may write to any more is told at once, and as what it is.
func TestSealed(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1).URLs()
	c := dialCluster(t, servers, jetstream.Options{})
	store, err := c.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
	js, stream := openStream(t, servers, "AAEP_A_planner")
	cfg := stream.CachedInfo().Config
	cfg.Sealed = true
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(t.Context(), "planner"); err == nil || strings.Contains(err.Error(), "does not answer") ||
		!strings.Contains(err.Error(), "sealed") {
		t.Errorf("Open = %v", err)
	}
}

// A log that a newer program has written is left alone.
func TestNewer(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1)
	c := dialCluster(t, servers.URLs(), jetstream.Options{})
	store, err := c.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
	js, stream := openStream(t, servers.URLs(), "AAEP_A_planner")
	cfg := stream.CachedInfo().Config
	cfg.Metadata = map[string]string{"aaep_log_format": "2"}
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	for what, open := range map[string]func() error{
		"Open":   func() error { _, err := c.Open(t.Context(), "planner"); return err },
		"Follow": func() error { _, err := c.Follow(t.Context(), "planner"); return err },
	} {
		if err := open(); !errors.Is(err, jetstream.ErrNewer) || !strings.Contains(err.Error(), "format 2") {
			t.Errorf("%s = %v", what, err)
		}
	}
}

// What cannot be kept is refused with words that say what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1)
	c := dialCluster(t, servers.URLs(), jetstream.Options{Patience: 3 * time.Second})
	store, err := c.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Append([][]byte{make([]byte, 9<<20)}); err == nil || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("too much at once: %v", err)
	}
	if _, err := c.Open(t.Context(), ""); err == nil {
		t.Error("an agent without a name")
	}
	three := dialCluster(t, servers.URLs(), jetstream.Options{Replicas: 3})
	if _, err := three.Open(t.Context(), "other"); err == nil ||
		!strings.Contains(err.Error(), "too few servers for the replicas") {
		t.Errorf("three replicas on one server: %v", err)
	}
	if _, err := jetstream.Dial(t.Context(), servers.URLs(), jetstream.Options{Credentials: "nothing"}); err == nil {
		t.Error("credentials that are not there")
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second/10)
	defer cancel()
	if _, err := jetstream.Dial(short, "nats://127.0.0.1:1", jetstream.Options{}); err == nil ||
		!strings.Contains(err.Error(), "cannot reach NATS at") {
		t.Errorf("nobody there: %v", err)
	}
	servers.Servers[0].Kill()
	var starting sync.WaitGroup
	starting.Go(func() {
		time.Sleep(time.Second / 2)
		servers.Servers[0].Start()
	})
	defer starting.Wait() // before the servers are killed
	late, err := jetstream.Dial(t.Context(), servers.URLs(), jetstream.Options{})
	if err != nil {
		t.Fatalf("a server that comes up meanwhile: %v", err)
	}
	late.Close()
}
