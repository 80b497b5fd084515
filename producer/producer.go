// Package producer is the agent's half of AAEP. An agent tells one Session what happens; every
// subscription gets its own stream of it, in the words, at the rate and at the boundaries it asked
// for, and answers come back.
//
//	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "planner"}})
//	s, err := p.StartSession(ctx, aaep.Say("Planning your retirement."))
//	defer s.Close()
//	out := s.Output()                  // an io.WriteCloser: tokens in, sentences out
//	result, err := s.Tool(ctx, tool, run) // asks first where it must, runs only on accept
//	s.Complete(aaep.Say("Plan ready."))
//
// The order of events, who may be asked, and what silence means are kept by the package: an agent
// cannot say something the protocol forbids, it gets an error that names the rule.
//
// Package producer/serve listens on the usual transports. Of an agent that exists, package producer/llm and module producer/mcp make a
// session from what it and its model say to each other, or of the calls of its tools.
package producer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer/log"
)

const (
	handshakeTimeout = 10 * time.Second // for the first message, and for the first stream after it
	openTimeout      = 30 * time.Second
	sendTimeout      = 10 * time.Second      // for one event on a link without a deadline of its own
	lastChance       = 2 * time.Second       // without a stream, during a shutdown
	closeTimeout     = 2 * time.Second       // for the last words to a subscriber
	hurryTimeout     = 50 * time.Millisecond // for them when Shutdown waits no longer
)

// ErrClosed is returned once a Producer has been shut down.
var ErrClosed = errors.New("producer: shut down")

// Producer serves one agent's sessions to its subscribers. All its methods may be called at once.
type Producer struct {
	// Whoever holds several locks took them in this order: announcing, link.mu, a Session's mu, putting, groups.mu, a group's mu, mu, a
	// subscription's mu, a course's counting. Against it only TryLock is called.

	cfg   Config
	offer handshake.Offer
	log   *eventlog.Log
	began uint64 // where the log ended then
	born  time.Time
	desk  *desk

	serving context.Context // ends when Shutdown has ended the sessions: subscriptions drain
	drain   context.CancelFunc
	waiting context.Context // ends when nobody is served any more: requests are no longer waited for
	leave   context.CancelFunc
	hurried context.Context // ends when a caller of Shutdown waits no longer
	hurry   context.CancelCauseFunc
	done    chan struct{}  // closed when Shutdown has ended
	loops   sync.WaitGroup // the subscriptions
	guests  sync.WaitGroup // and those who have not been answered yet

	// For an agent that is several processes; shared is nil otherwise.
	shared     log.Shared
	claims     context.Context // ends with Shutdown
	noClaims   context.CancelFunc
	parties    map[string]*party   // with mu held; the agent's
	followed   map[string]*Session // see's
	id         string              // of a process that follows
	kick       chan struct{}       // holds one: who is here has changed
	announcing sync.Mutex
	announced  presence  // with announcing held
	spoken     time.Time // with announcing held: when the agent was last told
	link       link      // to the agent, where that is followed
	notices    atomic.Pointer[notices]

	signed      signed
	putting     sync.Mutex // held while a question is put: nobody comes or begins to answer meanwhile
	encoded     encoded
	agreements  agreements
	audience    atomic.Pointer[[]*subscription] // who is served, as they came; changed by who has mu, and never in place
	groups      groups
	republished atomic.Bool

	mu       sync.Mutex
	closed   bool // Shutdown has begun
	ended    bool // it waits for no more guests
	sessions []*Session
	asking   *meter
	toldFull time.Time                    // when it was logged last that there is no room
	asked    map[aaep.ReplyToken]*pending // questions still open
	moved    chan struct{}                // closed when a subscription got on and somebody waits for it
	past     Stats                        // of the subscriptions that have ended
	reached  map[string]manifest.Endpoint // for the manifest
}

// New returns a Producer, which serves nobody until Serve or ServeConn is called. Its goroutines keep the open questions and the
// log; end them with Shutdown.
func New(cfg Config) (*Producer, error) {
	languages, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	spine := eventlog.New(cfg.KeepEvents)
	switch {
	case cfg.Log != nil:
		spine, err = eventlog.Open(cfg.Log, cfg.KeepEvents)
	case cfg.Follow != nil:
		spine, err = eventlog.Follow(cfg.Follow, cfg.KeepEvents)
	}
	if err != nil {
		return nil, err
	}
	p := &Producer{
		cfg: cfg,
		offer: handshake.Offer{
			Languages: languages, AnyLanguage: cfg.AnyLanguage, Extensions: cfg.Extensions,
			MaxEventsPerSecond: int64(cfg.MaxEventsPerSecond), Levels: []int64{1, 2}, SignedManifest: cfg.Signers != nil,
		},
		log:     spine,
		began:   spine.End(),
		born:    time.Now(),
		id:      newID("node_"),
		kick:    make(chan struct{}, 1),
		parties: map[string]*party{},
		desk:    newDesk(&trail{sink: cfg.Audit, logger: cfg.Logger}, asleep),
		done:    make(chan struct{}),
		asking:  newMeter(cfg.MaxRequestsPerSecond),
		asked:   map[aaep.ReplyToken]*pending{},
		moved:   make(chan struct{}),
		reached: map[string]manifest.Endpoint{},
	}
	p.audience.Store(new([]*subscription))
	p.groups.all.Store(new([]*group))
	p.notices.Store(&notices{})
	p.serving, p.drain = context.WithCancel(context.Background())
	p.hurried, p.hurry = context.WithCancelCause(context.Background())
	p.waiting, p.leave = context.WithCancel(context.Background())
	p.claims, p.noClaims = context.WithCancel(context.Background())
	if err := p.begin(); err != nil {
		p.noClaims()
		p.desk.close()
		return nil, errors.Join(err, p.log.Close())
	}
	if cfg.Log != nil || cfg.Follow != nil {
		go p.follow()
	}
	return p, nil
}

// WaitSubscriber waits until somebody has subscribed. The error is that of ctx, or ErrClosed.
func (p *Producer) WaitSubscriber(ctx context.Context) error {
	for {
		p.mu.Lock()
		some, moved := len(*p.audience.Load())+len(p.parties) > 0, p.moved
		p.mu.Unlock()
		if some {
			return nil
		}
		select {
		case <-moved:
		case <-p.serving.Done():
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// MaxSubscriptions is how many may be served at once; see Config.
func (p *Producer) MaxSubscriptions() int { return p.cfg.MaxSubscriptions }
