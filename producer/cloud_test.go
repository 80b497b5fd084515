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

// cloud is what several processes of one agent share, in memory.
type cloud struct {
	mu            sync.Mutex
	records       [][]byte
	meta, profile []byte
	claims        map[string]log.Claim
	told          []func(string)
	agent         func([]byte) []byte
	changed       chan struct{}
	skew          time.Duration // of its clock
	gone          bool          // nothing can be claimed, and nobody reached
	turn          int           // of who is the agent
	slow          string        // the node that hears of no records for the time being
	away          chan bool     // has a feed say that it is away, or no longer
}

func newCloud() *cloud {
	return &cloud{claims: map[string]log.Claim{}, changed: make(chan struct{}), away: make(chan bool)}
}

// node is one process's end of a cloud.
type node struct {
	*cloud
	name string
	turn int // of those who were the agent; others can append nothing any more
}

var errGone = errors.New("the cloud is gone")

func (c *cloud) Bounds() (start, end uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return 0, uint64(len(c.records))
}

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

func (c *cloud) Read(cursor uint64, n int) ([][]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.records[cursor:min(int(cursor)+n, len(c.records))]), nil
}

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

func (c *cloud) Meta() ([]byte, error)                   { return c.get(&c.meta), nil }
func (c *cloud) SetMeta(m []byte) error                  { c.set(&c.meta, m); return nil }
func (c *cloud) SetProfile(m []byte) error               { c.set(&c.profile, m); return nil }
func (c *cloud) Profile(context.Context) ([]byte, error) { return c.get(&c.profile), nil }
func (n node) Node() string                              { return n.name }

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

func (c *cloud) get(what *[]byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *what
}

func (c *cloud) set(what *[]byte, to []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*what = to
}

// with changes what is shared.
func (c *cloud) with(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *cloud) isGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

func (c *cloud) Claims(f func(string)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, f)
	return nil
}

func (c *cloud) Receive(f func([]byte) []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.agent = f
	return nil
}

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

// clouded runs f with an agent and two processes that follow it, and the agent's trail.
func clouded(t *testing.T, f func(c *cloud, agent *stage, edges [2]*stage, kept *sink)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, kept := newCloud(), &sink{}
		agent := c.lead(t, kept)
		edges := [2]*stage{c.follow(t, "east"), c.follow(t, "west")}
		f(c, agent, edges, kept)
		agent.end()
		synctest.Wait() // the others hear the end too
		edges[0].end()
		edges[1].end()
	})
}

func (c *cloud) lead(t *testing.T, kept audit.Sink) *stage {
	t.Helper()
	c.with(func() { c.turn++ })
	return newStage(t, producer.Config{Log: node{c, "home", c.turn}, Languages: []string{"es"}, Audit: kept, ShortTimeouts: true})
}

func (c *cloud) follow(t *testing.T, name string) *stage {
	t.Helper()
	return c.followWith(t, name, nil)
}

func (c *cloud) followWith(t *testing.T, name string, kept audit.Sink) *stage {
	t.Helper()
	return newStage(t, producer.Config{Follow: node{c, name, 0}, Audit: kept})
}
