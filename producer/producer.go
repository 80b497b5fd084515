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
	"github.com/aaep-go/aaep/producer/log"
)

const (
	handshakeTimeout = 10 * time.Second // for the first message
	openTimeout      = 30 * time.Second // for the first stream after it
	sendTimeout      = 10 * time.Second // for one event on a link without a deadline of its own
)

// ErrClosed is returned once a Producer has been shut down.
var ErrClosed = errors.New("producer: shut down")

var errNotMade = errors.New("producer: this Producer is nil, or was not made by New")

// made reports whether New made p.
func (p *Producer) made() bool { return p != nil && p.log != nil }

// Producer serves one agent's sessions to its subscribers: all of them to each, and its questions to all that may answer. In a
// service with several users each needs one of their own, as an example of package producer/serve
// shows. All its methods may be called at once.
type Producer struct {
	// Whoever holds several locks took them in this order: follower.telling, follower.link.mu, a Session's mu, putting, groups.mu, a
	// group's mu, mu, a subscription's mu, a course's counting. Against it only TryLock is called. Whoever
	// holds any other lock takes none.

	cfg    Config
	shield *shield
	offer  handshake.Offer
	log    *eventlog.Log
	began  uint64    // where the log ended at New, which was
	born   time.Time // then
	desk   *desk

	*closing
	shared   log.Shared // nil for an agent that is one process
	follower follower

	audience    atomic.Pointer[[]*subscription] // who is served, as they came; changed by who has mu, and never in place
	groups      groups
	notices     atomic.Pointer[notices] // changed by who has mu
	moved       signal                  // somebody came or left, or got on and was waited for
	asking      *meter
	shortTimes  warnings // questions that are open too short, of which the log is told
	agreements  agreements
	encoded     encoded
	published   published
	republished atomic.Bool
	putting     sync.Mutex // held while a question is put: nobody comes or begins to answer meanwhile

	mu       sync.Mutex
	closed   bool // Shutdown has begun
	ended    bool // it waits for no more guests
	sessions []*Session
	asked    map[aaep.ReplyToken]*pending // questions still open
	parties  map[string]*party            // who serve the agent's listeners elsewhere
	past     Stats                        // of the subscriptions that have ended
	toldFull time.Time                    // when it was logged last that there is no room
}

// A signal tells all who wait for it that something has changed. The zero signal is ready.
type signal struct {
	mu   sync.Mutex
	next chan struct{} // nil: nobody waits
}

// wait returns a channel that is closed when something changes. Take it, then look at what may have.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

func (s *signal) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}

// New returns a Producer, which serves nobody until Serve or ServeConn is called. Its goroutines keep the open questions and the
// log; end them with Shutdown.
func New(cfg Config) (*Producer, error) {
	languages, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	shield := cfg.shielded()
	spine := eventlog.New(cfg.KeepEvents)
	switch {
	case cfg.Log != nil:
		spine, err = eventlog.Open(cfg.Log, cfg.KeepEvents, cfg.Agent.AgentID)
	case cfg.Follow != nil:
		spine, err = eventlog.Follow(cfg.Follow, cfg.KeepEvents)
	}
	if err != nil {
		return nil, err
	}
	p := &Producer{
		cfg:    cfg,
		shield: shield,
		offer: handshake.Offer{
			Languages: languages, AnyLanguage: cfg.AnyLanguage, Extensions: cfg.Extensions,
			MaxEventsPerSecond: int64(cfg.MaxEventsPerSecond), Levels: []int64{1, 2}, SignedManifest: cfg.Signers != nil,
			Report: shield.fault,
		},
		log:      spine,
		began:    spine.End(),
		born:     time.Now(),
		desk:     newDesk(&trail{sink: cfg.Audit, logger: cfg.Logger}, asleep),
		closing:  newClosing(),
		follower: newFollower(),
		asking:   newMeter(cfg.MaxRequestsPerSecond),
		asked:    map[aaep.ReplyToken]*pending{},
		parties:  map[string]*party{},
	}
	p.audience.Store(new([]*subscription))
	p.groups.all.Store(new([]*group))
	p.notices.Store(&notices{})
	p.log.Need(p.needed)
	if err := p.begin(); err != nil {
		p.hurry(err)
		p.desk.close()
		p.log.Close() // what it has to say is why this failed
		return nil, err
	}
	if cfg.Log != nil || cfg.Follow != nil {
		go p.follow()
	}
	return p, nil
}

// WaitSubscriber waits until somebody has subscribed. The error is that of ctx, or ErrClosed.
func (p *Producer) WaitSubscriber(ctx context.Context) error {
	if !p.made() {
		return errNotMade
	}
	for {
		moved := p.moved.wait()
		p.mu.Lock()
		some := len(*p.audience.Load())+len(p.parties) > 0
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
