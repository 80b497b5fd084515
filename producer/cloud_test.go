package producer_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

// cloud is what several processes of one agent share, in memory: a log.Shared, and the records of a
// log.
type cloud struct {
	mu            sync.Mutex // guards what follows
	records       [][]byte
	meta, profile []byte
	claims        map[string]log.Claim
	told          []func(string)      // those to call with a token that is claimed
	agent         func([]byte) []byte // answers messages to the agent
	changed       chan struct{}       // closed when there are more records
	skew          time.Duration       // by how much its clock is ahead
	gone          bool                // nothing can be claimed, and no message reaches the agent
	turn          int                 // the number of processes that have been the agent
	slow          string              // the node that receives no records for the time being
	away          chan bool           // has a feed say that it is away, or no longer
}

// newCloud returns a cloud that has no log and can be reached.
func newCloud() *cloud {
	return &cloud{claims: map[string]log.Claim{}, changed: make(chan struct{}), away: make(chan bool)}
}

// node is one process's end of a cloud.
type node struct {
	*cloud
	name string
	turn int // the cloud's turn when it became the agent; a later agent keeps it from appending
}

var errGone = errors.New("the cloud is gone")

// Bounds returns the cursors of all records.
func (c *cloud) Bounds() (start, end uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return 0, uint64(len(c.records))
}

// Append adds records, unless another process has become the agent.
func (c node) Append(records [][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != c.cloud.turn {
		return errors.New("another is the agent")
	}
	c.records = append(c.records, records...)
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// Read returns at most n records after the cursor.
func (c *cloud) Read(cursor uint64, n int) ([][]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.records[cursor:min(int(cursor)+n, len(c.records))]), nil
}

// Next waits for records after the cursor, for away, or for ctx.
func (c node) Next(ctx context.Context, cursor uint64) ([][]byte, error) {
	for {
		c.mu.Lock()
		found, changed := slices.Clone(c.records[min(int(cursor), len(c.records)):]), c.changed
		if c.slow == c.name {
			found = nil
		}
		c.mu.Unlock()
		if len(found) > 0 {
			return found, nil
		}
		select {
		case <-changed:
		case away := <-c.away:
			if away {
				return nil, log.ErrAway
			}
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Meta returns what SetMeta kept.
func (c *cloud) Meta() ([]byte, error) { return c.lockedGet(&c.meta), nil }

// SetMeta keeps data of the log's own.
func (c *cloud) SetMeta(m []byte) error { c.lockedSet(&c.meta, m); return nil }

// SetProfile keeps what the agent says of itself.
func (c *cloud) SetProfile(m []byte) error { c.lockedSet(&c.profile, m); return nil }

// Profile returns what SetProfile kept.
func (c *cloud) Profile(context.Context) ([]byte, error) { return c.lockedGet(&c.profile), nil }

// Node returns the name of the process.
func (n node) Node() string { return n.name }

// Claim settles a token, and tries until ctx is done while the cloud is gone.
func (c *cloud) Claim(ctx context.Context, token string, data []byte) (log.Claim, bool, error) {
	for c.isGone() {
		select {
		case <-ctx.Done():
			return log.Claim{}, false, errGone
		case <-time.After(time.Second):
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first, ok := c.claims[token]; ok {
		return first, false, nil
	}
	c.claims[token] = log.Claim{Data: data, At: time.Now().Add(c.skew)}
	for _, f := range c.told {
		go f(token)
	}
	return c.claims[token], true, nil
}

// lockedGet reads a field with the lock held.
func (c *cloud) lockedGet(what *[]byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *what
}

// lockedSet writes a field with the lock held.
func (c *cloud) lockedSet(what *[]byte, to []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*what = to
}

// withLock calls f with the lock held, so that it can change what is shared.
func (c *cloud) withLock(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// isGone reads gone with the lock held.
func (c *cloud) isGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// Claims has f called with every token that is claimed.
func (c *cloud) Claims(f func(string)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, f)
	return nil
}

// Receive has f answer the messages to the agent.
func (c *cloud) Receive(f func([]byte) []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.agent = f
	return nil
}

// Send hands a message to the agent and returns its answer.
func (c *cloud) Send(_ context.Context, msg []byte) ([]byte, error) {
	c.mu.Lock()
	agent := c.agent
	gone := c.gone || agent == nil
	c.mu.Unlock()
	if gone {
		return nil, errGone
	}
	return agent(msg), nil
}

// runInCloud runs f with an agent, two processes that follow it, and the agent's audit records.
func runInCloud(t *testing.T, f func(c *cloud, agent *stage, edges [2]*stage, kept *sink)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, kept := newCloud(), &sink{}
		agent := c.startAgent(t, kept)
		edges := [2]*stage{c.startReplica(t, "east"), c.startReplica(t, "west")}
		f(c, agent, edges, kept)
		agent.end()
		synctest.Wait() // the two that follow receive the end too
		edges[0].end()
		edges[1].end()
	})
}

// startAgent starts a process that is the agent from now on.
func (c *cloud) startAgent(t *testing.T, kept audit.Sink) *stage {
	t.Helper()
	c.withLock(func() { c.turn++ })
	return newStage(t, producer.Config{Log: node{c, "home", c.turn}, Languages: []string{"es"}, Audit: kept, ShortTimeouts: true})
}

// startReplica starts a process that follows the agent, and records nowhere.
func (c *cloud) startReplica(t *testing.T, name string) *stage {
	t.Helper()
	return c.startReplicaWith(t, name, nil)
}

// startReplicaWith starts a process that follows the agent, and records in kept.
func (c *cloud) startReplicaWith(t *testing.T, name string, kept audit.Sink) *stage {
	t.Helper()
	return newStage(t, producer.Config{Follow: node{c, name, 0}, Audit: kept})
}
