// Package jetstream keeps a producer's log in NATS JetStream, for agents that are served by several
// machines: a log.Store that the agent's process appends to, wherever it runs, and a log.Feed by
// which any number of other processes serve its listeners.
//
//	cluster, err := jetstream.Dial(ctx, "nats://10.0.0.1,nats://10.0.0.2,nats://10.0.0.3", jetstream.Options{})
//	kept, err := cluster.Open(ctx, "planner")     // in the agent
//	p, err := producer.New(producer.Config{Agent: agent, Log: kept})
//
//	feed, err := cluster.Follow(ctx, "planner")   // on any machine
//	p, err := producer.New(producer.Config{Follow: feed})
//
// An agent's events are in a stream of its own, AAEP_ and its name; the position in the log is the
// sequence in the stream, so an event id means the same everywhere. Two more streams are shared by
// all agents: AAEP_META has what a log says of itself, and AAEP_REPLIES what settled each question.
// All are on three servers where there is a cluster, so that one of them may be lost.
//
// NATS acknowledges a message before it is on the disk unless its servers are told "sync_interval:
// always". Without that a power cut that hits a majority of them at once can take back what was
// acknowledged.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/producer/log"
)

// What keeps a log from being opened or appended to. The errors say it in words, with the agent's
// name.
var (
	ErrInUse     = errors.New("another process is this agent")
	ErrTakenOver = errors.New("another process has become this agent")
	ErrNoAgent   = errors.New("there is no such agent")
	ErrNewer     = errors.New("the agent is of a newer version")
)

// Options say how the servers are reached, and how much they keep. The zero value is for servers
// without credentials.
type Options struct {
	log.Limits
	// Credentials is the name of a file that says which NATS user this is: a .creds file, the seed
	// of the user's nkey, or one line USER:PASSWORD, which goes to another machine only over TLS.
	// Only its owner may open it.
	Credentials string
	// Certificate and Key are the names of PEM files with what this process shows servers that ask
	// for a certificate.
	Certificate, Key string
	// CA is the name of a PEM file with the certificates to know the servers by. Empty is what the
	// system trusts.
	CA string
	// Replicas is on how many servers everything is kept: 1, 3 or 5. Zero is 3 in a cluster, and 1
	// outside of one.
	Replicas int
	// Node names this process in what it claims. Empty is the host's name and the
	// process id, "web1:4711": no two processes have the same.
	Node string
	// Patience is how long an event waits for the servers, before the log is given up. Zero is 5
	// minutes.
	Patience time.Duration
}

// Cluster is a connection to the servers. All its methods may be called at once.
type Cluster struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	opts    Options
	refused atomic.Pointer[permissionRefusal] // the newest
	failing atomic.Int64                      // since when, in Unix nanoseconds, JetStream has not answered; 0: it does
}

const (
	metaStream    = "AAEP_META"
	repliesStream = "AAEP_REPLIES"
	agentStream   = "AAEP_A_" // and the agent's name

	answerTime  = 5 * time.Second        // for one request
	askAgain    = time.Second / 2        // is when a question without an answer is put again
	publishTime = time.Second            // for a message to be acknowledged, before it is looked what became of it
	pause       = 250 * time.Millisecond // between two tries, at most
	connectTime = 5 * time.Second
)

// Dial connects to one of the servers, whose addresses are separated by commas. If the connection
// is lost, it is made again, to any of them, until Close.
func Dial(ctx context.Context, servers string, opts Options) (*Cluster, error) {
	c := &Cluster{opts: opts}
	c.opts.Limits = c.opts.Limits.WithDefaults()
	if c.opts.Patience == 0 {
		c.opts.Patience = 5 * time.Minute
	}
	if c.opts.Node == "" {
		host, _ := os.Hostname()
		c.opts.Node = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	err := c.connectTo(servers)
	if err != nil {
		return nil, err
	}
	if c.js, err = jetstream.New(c.nc); err == nil {
		err = c.makeShared(ctx)
	}
	if err != nil {
		c.nc.Close()
		return nil, err
	}
	return c, nil
}

// makeShared makes the streams that all agents share, where they are not there.
func (c *Cluster) makeShared(ctx context.Context) error {
	if c.opts.Replicas == 0 {
		c.opts.Replicas = 1
		if c.nc.ConnectedClusterName() != "" {
			c.opts.Replicas = 3
		}
	}
	for _, cfg := range []jetstream.StreamConfig{
		{Name: metaStream, Subjects: []string{"aaep.m.*", "aaep.p.*"}, MaxMsgsPerSubject: 1},
		// A token is remembered for a day after its question, which is open for a day at most.
		{Name: repliesStream, Subjects: []string{"aaep.r.*.*"}, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew,
			DiscardNewPerSubject: true,
			MaxAge:               49 * time.Hour,
			RePublish:            &jetstream.RePublish{Source: "aaep.r.>", Destination: "aaep.w.>"}},
	} {
		cfg.Replicas, cfg.Duplicates = c.opts.Replicas, time.Second
		if cfg.MaxAge == 0 {
			cfg.Duplicates = 0
		}
		err := c.retryUntil(ctx, func(ctx context.Context) error {
			_, err := c.streamInfo(ctx, cfg.Name) // an operator may have made it otherwise
			if !errors.Is(err, jetstream.ErrStreamNotFound) {
				return err
			}
			if _, err = c.js.CreateStream(ctx, cfg); errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				err = nil
			}
			return err
		}, cfg.Name)
		if err != nil {
			return errkind.Unreachable.Mark(c.explainError("cannot make the stream "+cfg.Name, err))
		}
	}
	return nil
}

// Close ends the connection. Close what was opened over it first.
func (c *Cluster) Close() { c.nc.Close() }

// Agents returns the names of the agents that have a log here.
func (c *Cluster) Agents(ctx context.Context) ([]string, error) {
	var agents []string
	all := c.js.StreamNames(ctx)
	for name := range all.Name() {
		if token, ok := strings.CutPrefix(name, agentStream); ok {
			agents = append(agents, agentOf(token))
		}
	}
	if err := all.Err(); err != nil {
		return nil, c.explainError("cannot list the agents", err)
	}
	return agents, nil
}

// retryUntil does something until it succeeds, or fails in a way that waiting does not mend, or ctx
// is done; without a deadline that is after ten seconds. About are the streams and subjects that it
// takes.
func (c *Cluster) retryUntil(ctx context.Context, do func(context.Context) error, about ...string) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 2*answerTime)
		defer cancel()
	}
	var last error
	for wait := pause / 16; ; wait = min(2*wait, pause) {
		began := time.Now()
		err := callOnce(ctx, do)
		if err == nil || !isPassing(err) {
			c.failing.Store(0)
			return err
		}
		c.reconnectElsewhere()
		if last != nil && errors.Is(err, context.DeadlineExceeded) {
			err = last // which says more
		}
		last = err
		if no := c.deniedError(began, about...); no != nil {
			return no
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// reconnectElsewhere makes the connection anew, to another server if there is one, where this one
// has been of no use for longer than it takes until another leads: it answers by itself, but may be
// cut off from the others.
func (c *Cluster) reconnectElsewhere() {
	now := time.Now().UnixNano()
	if since := c.failing.Load(); since == 0 {
		c.failing.CompareAndSwap(0, now)
	} else if now-since > int64(patience) && c.failing.CompareAndSwap(since, now) {
		_ = c.nc.ForceReconnect() // or it is closed
	}
}

// callOnce calls do with a bound for one answer.
func callOnce(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return do(ctx)
}

// askRepeatedly asks, and asks again while there is no answer: a question is lost while the stream
// has no leader, or the leader has gone without a word. Those that were put before may still be
// answered, so that a slow server does not count as gone.
func askRepeatedly[T any](ctx context.Context, ask func(context.Context) (T, error)) (answer T, err error) {
	type result struct {
		answer T
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result)
	put := func() {
		answer, err := ask(ctx)
		select {
		case results <- result{answer, err}:
		case <-ctx.Done():
		}
	}
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	go put()
	for {
		select {
		case r := <-results:
			return r.answer, r.err
		case <-tick.C:
			go put()
		case <-ctx.Done():
			return answer, ctx.Err()
		}
	}
}

// streamInfo asks who leads a stream for what it is.
func (c *Cluster) streamInfo(ctx context.Context, name string) (jetstream.Stream, error) {
	return askRepeatedly(ctx, func(ctx context.Context) (jetstream.Stream, error) { return c.js.Stream(ctx, name) })
}

// noPeers is the code for too few servers that could have a stream.
const noPeers = 10005

// isPassing reports whether an error may be that of a moment: there is no leader, no connection, or
// no answer.
func isPassing(err error) bool {
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		// A server that another has not heard yet, or for a while, is offline to it.
		return refused.Code == 503 || refused.Code == 429 || refused.ErrorCode == noPeers &&
			strings.Contains(refused.Description, "offline")
	}
	if errors.As(err, new(lastingError)) {
		return false
	}
	for _, final := range []error{nats.ErrAuthorization, nats.ErrPermissionViolation, nats.ErrConnectionClosed,
		nats.ErrMaxPayload} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}

// lastingError is an error that waiting does not mend.
type lastingError struct{ error }

func (e lastingError) Unwrap() error { return e.error }

// explainError says in words why something failed.
func (c *Cluster) explainError(what string, err error) error {
	var refused *jetstream.APIError
	switch {
	case errors.As(err, &refused) && (refused.ErrorCode == noPeers || refused.ErrorCode == 10074):
		return fmt.Errorf("%s: there are too few servers for the replicas: %w", what, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%s: the account of this NATS user has no JetStream: %w", what, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return fmt.Errorf("%s: the servers have no JetStream; start them with -js: %w", what, err)
	case c.nc.Status() != nats.CONNECTED && c.nc.LastError() != nil:
		return fmt.Errorf("%s: there is no connection to NATS (%w): %w", what,
			c.opts.connectError(c.nc.LastError()), err)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrReconnectBufExceeded):
		return fmt.Errorf("%s: JetStream does not answer: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// subjectToken writes an agent's name as one token of a subject, and of a stream's name.
func subjectToken(agent string) string {
	var b strings.Builder
	for _, c := range []byte(agent) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	return b.String()
}

// agentOf is the reverse of token.
func agentOf(token string) string {
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c == '=' && i+2 < len(token) {
			if _, err := fmt.Sscanf(token[i+1:i+3], "%02x", &c); err == nil {
				i += 2
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// streamBounds are what is known of the ends of a stream. They never go back.
type streamBounds struct {
	sync.Mutex
	start, end uint64
}

// current returns the bounds that are known.
func (b *streamBounds) current() (start, end uint64) {
	b.Lock()
	defer b.Unlock()
	return b.start, b.end
}

// raiseTo raises the bounds to what was learned.
func (b *streamBounds) raiseTo(start, end uint64) {
	b.Lock()
	defer b.Unlock()
	b.end = max(b.end, end)
	b.start = min(max(b.start, start), b.end)
}
