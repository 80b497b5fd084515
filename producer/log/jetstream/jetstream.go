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
//
// Cluster and its retries are in jetstream.go, connecting and refusals in connect.go. The agent
// appends in store.go, the other processes follow in feed.go, and both read in read.go. Claims,
// messages between processes and the profile are in shared_subjects.go.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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

	answerTime  = 5 * time.Second        // for the answer to one request
	askAgain    = time.Second / 2        // after which a request without an answer is sent again
	publishTime = time.Second            // for a message to be acknowledged, before the stream is asked for it
	pause       = 250 * time.Millisecond // between two tries, at most
	connectTime = 5 * time.Second
)

// Dial connects to one of the servers, whose addresses are separated by commas. For one that is not
// up yet, and for a leader among them, it waits until ctx is done, ten seconds where that has no
// deadline; so do Open and Follow. If the connection is lost, it is made again, to any of them,
// until Close.
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
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	err := c.connectTo(ctx, servers)
	if err != nil {
		return nil, err
	}
	if c.js, err = jetstream.New(c.nc); err == nil {
		err = c.checkJetStream(ctx)
	}
	if err != nil {
		c.nc.Close()
		return nil, err
	}
	return c, nil
}

// checkJetStream returns an error if the servers keep nothing, or this user may not ask what they
// keep. Dial calls it.
func (c *Cluster) checkJetStream(ctx context.Context) error {
	err := c.retryUntil(ctx, func(ctx context.Context) error {
		_, err := c.streamInfo(ctx, metaStream)
		if errors.Is(err, jetstream.ErrStreamNotFound) { // no agent was ever opened
			err = nil
		}
		return err
	}, metaStream)
	if err != nil {
		return errkind.Unreachable.Mark(c.explainError("cannot read the stream "+metaStream, err))
	}
	return nil
}

// makeShared makes the streams that all agents share, unless they exist, whatever their settings.
// Only Open calls it: who follows an agent need not be allowed to make them. Without
// Options.Replicas there are three in a cluster, else one. The error is marked errkind.Unreachable.
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

// Agents returns the names of the agents that have a log here, in no order. The error is that of
// ctx, or says that they cannot be listed.
func (c *Cluster) Agents(ctx context.Context) ([]string, error) {
	var agents []string
	streams := c.js.StreamNames(ctx)
	for name := range streams.Name() {
		if token, ok := strings.CutPrefix(name, agentStream); ok {
			agents = append(agents, agentOf(token))
		}
	}
	if err := streams.Err(); err != nil {
		return nil, c.explainError("cannot list the agents", err)
	}
	return agents, nil
}

// retryUntil calls do until it succeeds, fails in a way that waiting does not mend, or ctx is done;
// a ctx without a deadline gets one of ten seconds. subjects are the streams and subjects that do
// uses: a permission that the servers refuse for one of them is the error.
func (c *Cluster) retryUntil(ctx context.Context, do func(context.Context) error, subjects ...string) error {
	ctx, cancel := withDeadline(ctx)
	defer cancel()
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
		if denied := c.deniedError(began, subjects...); denied != nil {
			return denied
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// withDeadline returns ctx with a deadline: its own, or else in ten seconds.
func withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, 2*answerTime)
}

// reconnectElsewhere is called after each failed try. Where tries have failed for longer than
// patience, it makes the connection anew, to another server if there is one: this one answers
// pings, but may be cut off from the others.
func (c *Cluster) reconnectElsewhere() {
	now := time.Now().UnixNano()
	if began := c.failing.Load(); began == 0 {
		c.failing.CompareAndSwap(0, now)
	} else if now-began > int64(patience) && c.failing.CompareAndSwap(began, now) {
		_ = c.nc.ForceReconnect() // an error says that the connection was closed for good
	}
}

// callOnce calls do with a context that ends after answerTime.
func callOnce(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return do(ctx)
}

// askRepeatedly calls ask, and again every askAgain while no call has returned, and returns the
// result of the first that does: a request is lost while the stream has no leader, or its leader is
// gone. Earlier calls go on, so that a slow server does not count as gone.
func askRepeatedly[T any](ctx context.Context, ask func(context.Context) (T, error)) (answer T, err error) {
	type result struct {
		answer T
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result)
	askOnce := func() {
		answer, err := ask(ctx)
		select {
		case results <- result{answer, err}:
		case <-ctx.Done():
		}
	}
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	go askOnce()
	for {
		select {
		case r := <-results:
			return r.answer, r.err
		case <-tick.C:
			go askOnce()
		case <-ctx.Done():
			return answer, ctx.Err()
		}
	}
}

// errNoLeader is the error of a request that only the leader of a stream can answer.
var errNoLeader = errors.New("no server leads it; more than half of those that have it must be up, hear each other and have room on their disks")

// streamInfo asks the leader of a stream for its settings and state. Where a server answers that
// knows of no leader, the error is errNoLeader: nothing can be kept, however much can be read.
func (c *Cluster) streamInfo(ctx context.Context, name string) (jetstream.Stream, error) {
	return askRepeatedly(ctx, func(ctx context.Context) (jetstream.Stream, error) {
		s, err := c.js.Stream(ctx, name)
		if err == nil && s.CachedInfo().Cluster != nil && s.CachedInfo().Cluster.Leader == "" {
			return nil, errNoLeader
		}
		return s, err
	})
}

// noPeers is the code for too few servers that could have a stream.
const noPeers = 10005

// isPassing reports whether an error may be that of a moment, such as that there is no leader, no
// connection, or no answer, so that retryUntil tries again. A refusal for good is not.
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

// lastingError marks an error that waiting does not mend; see isPassing.
type lastingError struct{ error }

// Unwrap returns the error that is marked.
func (e lastingError) Unwrap() error { return e.error }

// explainError returns err with the words problem in front, and with what is the matter with the
// servers, where err shows that. An error that waiting may mend is marked as Unreachable.
func (c *Cluster) explainError(problem string, err error) error {
	explained := c.explainCause(problem, err)
	if isPassing(err) {
		return errkind.Unreachable.Mark(explained)
	}
	return explained
}

// noRoom are the codes for a message that is not kept: a limit of the account or of the stream is
// reached, or a disk is full.
var noRoom = []jetstream.ErrorCode{10002, 10023, 10028, 10047, 10077}

// explainCause returns an error with the problem, why that is, and which setting to mend, where
// that is known. explainError adds a mark.
func (c *Cluster) explainCause(problem string, err error) error {
	var refused *jetstream.APIError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode == noPeers && strings.Contains(refused.Description, "storage"):
		return fmt.Errorf("%s: too few servers have room for a copy: make room on their disks, or raise max_file_store "+
			"in their settings (%w)", problem, err)
	case errors.As(err, &refused) && (refused.ErrorCode == noPeers || refused.ErrorCode == 10074):
		return fmt.Errorf("%s: there are too few servers for the replicas: %w", problem, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%s: the account of this NATS user has no JetStream: %w", problem, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return fmt.Errorf("%s: the servers have no JetStream; start them with -js: %w", problem, err)
	case errors.As(err, &refused) && slices.Contains(noRoom, refused.ErrorCode):
		return fmt.Errorf("%s: the servers keep no more; is their disk full, or a limit of the account or of the stream "+
			"reached? (%w)", problem, err)
	case errors.As(err, &refused) && refused.Code == 503:
		return fmt.Errorf("%s: %w (%w)", problem, errNoLeader, err)
	case c.nc.Status() != nats.CONNECTED && c.nc.LastError() != nil:
		return fmt.Errorf("%s: there is no connection to NATS (%w): %w", problem,
			c.opts.connectError(c.nc.LastError()), err)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrReconnectBufExceeded):
		return fmt.Errorf("%s: JetStream does not answer; is it in the settings of the servers? (%w)", problem, err)
	}
	return fmt.Errorf("%s: %w", problem, err)
}

// subjectToken returns an agent's name as one token of a subject, or of a stream's name: every byte
// but letters, digits, hyphen and underscore is "=" and two hex digits.
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

// agentOf returns the agent's name that subjectToken made token of; it undoes the escapes =xx.
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

// streamBounds are the bounds of a stream as far as they are known; see log.Store. They never go
// back.
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

// raiseTo raises each bound that is lower than the given one; 0 leaves it.
func (b *streamBounds) raiseTo(start, end uint64) {
	b.Lock()
	defer b.Unlock()
	b.end = max(b.end, end)
	b.start = min(max(b.start, start), b.end)
}
