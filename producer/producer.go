// Package producer is the agent's half of AAEP. An agent tells one Session what happens. Every
// subscription gets its own stream of that, in the words, at the rate and at the boundaries it
// asked for, and answers come back.
//
//	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}})
//	s, err := p.StartSession(ctx, aaep.Say("Planning your retirement."))
//	defer s.Close()
//	out := s.Output()                  // an io.WriteCloser: tokens in, sentences out
//	account, err := s.AskChoice(ctx, producer.Question{Text: aaep.Say("Which account?"), Choices: accounts})
//	result, err := s.Tool(ctx, tool, run) // asks first where it must, runs only on accept
//	s.Complete(aaep.Say("Plan ready."))
//
// The package keeps the order of events, who may be asked, and what silence means. An agent cannot
// say something the protocol forbids: it gets an error that names the rule.
//
// Package producer/serve listens on the usual transports. Package producer/llm and module
// producer/mcp make a session of an agent that exists already: from what it and its model say to
// each other, or from the calls of its tools.
//
// # Inside
//
// An event goes one way. Session.emitEvent stamps it, checks it and appends it to the log. Package
// internal/delivery reads it from the log and sends it to each subscriber, in the form and at the
// time that its terms say. A reply goes the other way: subscription.HandleMessage gets it from the
// link, the broker lets the first valid one settle the question, and the agent's goroutine that
// waits in askQuestion returns. Begin to read at Session.emitEvent, then in package
// internal/delivery. For questions, begin at Session.askQuestion and package internal/questions.
//
// Each file has one concern, which its name says. The defaults of Config are in config.go, how long
// a question is open in timeout.go, what refuses a subscription in subscribe.go and limits.go (and,
// for its terms, in internal/negotiation), what happens when the log fails in log_failure.go, and
// what several processes of one agent share in follow.go and replicas.go.
//
// What an agent calls is in session.go, session_end.go, output.go, tool.go and clarify.go
// (questions for an answer); confirm.go has the words and outcome of a consent, ask.go what both
// kinds of question share, wording.go what is said in which language, check.go what is refused
// before it is sent, recover.go what happens after a restart, and renegotiate.go changes of terms.
// messages.go takes what a subscriber sends, bounds it and logs what of that has no effect;
// warnings.go keeps warnings from filling the log, and shield.go logs what the author's code does
// wrong.
//
// Every piece of state that changes has one goroutine that owns it, or a lock:
//
//   - A Session belongs to the callers of its methods, who hold Session.mu.
//   - The goroutine of the broker in internal/questions owns the ledger of questions. Each outcome
//     is recorded and handed out by a goroutine of its own.
//   - A subscription is owned by a goroutine of package internal/delivery, which sends its events.
//     It calls HandlePending, PutOpenQuestions, RepeatQuestions and Ended.
//   - What a subscriber sends is received by one goroutine a subscription, which calls
//     HandleMessage. It hands changes of the terms to the owner.
//   - Producer.mu guards the list of sessions. No lock is held while a link is waited for.
//   - With Config.Log or Config.Follow, one goroutine wakes the subscriptions as the log shows
//     events. With Config.Follow, two more read the agent's log, and report to the agent which
//     subscribers are here. An agent with replicas has one that notices which of them have gone.
//
// The package never decides how a user hears an event, and it knows no concrete transport.
package producer

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep/internal/delivery"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/questions"
	"github.com/aaep-go/aaep/internal/replica"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/producer/log"
)

// handshakeTimeout is how long the first message may take.
const handshakeTimeout = 10 * time.Second

// ErrClosed is returned once a Producer has been shut down.
var ErrClosed = errors.New("producer: shut down")

// errNotMade is returned by the exported methods of a Producer for which isMade is false.
var errNotMade = errors.New("producer: this Producer is nil, or was not made by New")

// isMade reports whether p was made by New. Exported methods call it first; p may be nil.
func (p *Producer) isMade() bool { return p != nil && p.log != nil }

// Producer serves one agent's sessions to its subscribers: all of them to each, and its questions
// to all that may answer. In a service with several users each needs one of their own, as an
// example of package producer/serve shows. All its methods may be called at once.
type Producer struct {
	// A goroutine that holds several locks took them in this order:
	//
	//  1. Follower.reporting, then the mu of its link (package replica)
	//  2. Session.mu
	//  3. Board.putting, which HoldRecipients takes (package questions)
	//  4. groups.mu, then the mu of a group (package delivery)
	//  5. Producer.mu
	//  6. Board.mu, then the mu of a Recipient (package questions)
	//
	// Only holdSessions takes the mu of several Sessions, in the order in which they began. One
	// lock is taken against the order, by TryLock alone: deliveryAgent.LastStamp takes a Session's
	// with that of a group held. None of these is taken while any other lock of the producer is
	// held, of whatever package. The goroutine of the Broker takes no lock, so it may be waited for
	// with any of them held. An extension's Event function is called with a Session's mu held.

	cfg    Config         // complete, with the caller's functions behind shield; never changes after New
	shield *shield.Shield // calls what the author of the agent wrote
	offer  negotiation.Offer
	log    *eventlog.Log
	began  uint64            // the end of the log at New: events up to here are of an earlier process
	born   time.Time         // when New was called
	broker *questions.Broker // owns the ledger of questions; its goroutine ends with Shutdown
	board  *questions.Board  // which questions are open, and to whom each was put

	*closing
	releaseStore func()              // ends what claimStore began
	shared       log.Shared          // what the agent's processes share; nil for an agent that is one process
	leader       *replica.Leader     // knows the other processes of the agent; empty where there are none
	follower     *replica.Follower   // reports to the agent; nil without Config.Follow
	followed     map[string]*Session // with Config.Follow, the agent's, by id; only applyFollowedEvent uses it

	// audience is the list of the subscriptions that are served, in the order in which they came.
	// Any goroutine may load it. It is replaced with mu held, and what a loaded slice shows never
	// changes.
	audience     atomic.Pointer[[]*subscription]
	delivery     *delivery.Dispatcher // sends the log to the audience
	asking       *requestMeter        // counts subscription requests
	shortTimes   warnings             // counts warnings about questions that are open too short
	misuses      warnings             // counts warnings about tools and questions that are not valid
	malformed    warnings             // counts warnings about messages that cannot be read
	agreements   agreements
	published    published
	republished  atomic.Bool       // Republish was called: the order of its sessions is not known here
	sharedClaims *questions.Claims // settle questions for all processes; nil for an agent that is one

	mu         sync.Mutex // guards what follows
	closed     bool       // Shutdown has begun
	ended      bool       // Shutdown waits for no new link any more
	sessions   []*Session // under way; with Config.Follow, the agent's
	past       Stats      // of the subscriptions that have ended
	loggedFull time.Time  // when the lack of room was last logged
}

// New returns a Producer, which serves no subscriber until Serve or ServeConn is called. Its
// goroutines keep the open questions and the log; end them with Shutdown.
func New(cfg Config) (*Producer, error) {
	languages, err := cfg.applyDefaults()
	if err != nil {
		return nil, err
	}
	release, err := claimStore(cfg.Log)
	if err != nil {
		return nil, err
	}
	p, err := newProducer(cfg, languages)
	if err != nil {
		release()
		return nil, err
	}
	p.releaseStore = release
	return p, nil
}

// newProducer makes the Producer of a complete Config, and opens, creates or follows its log;
// languages are those that the agent has text in, its own first. New calls it, and claims the
// stores before. On an error everything that it opened is closed.
func newProducer(cfg Config, languages []string) (_ *Producer, err error) {
	guard := cfg.shieldOthers()
	events := eventlog.New(cfg.KeepEvents)
	switch {
	case cfg.Log != nil:
		events, err = eventlog.Open(cfg.Log, cfg.KeepEvents, cfg.Agent.AgentID)
	case cfg.Follow != nil:
		events, err = eventlog.Follow(cfg.Follow, cfg.KeepEvents)
	}
	if err != nil {
		return nil, err
	}
	records := questions.NewAuditLog(cfg.Audit, cfg.Logger)
	records.OfReplica = cfg.Follow != nil
	p := &Producer{
		cfg:    cfg,
		shield: guard,
		offer: negotiation.Offer{
			Languages: languages, AnyLanguage: cfg.AnyLanguage, Extensions: cfg.Extensions,
			MaxEventsPerSecond: int64(cfg.MaxEventsPerSecond), Levels: []int64{1, 2},
			SignedManifest: cfg.Signers != nil,
			Report:         func(f *negotiation.Fault) { logExtensionFault(guard, f) },
		},
		log:      events,
		began:    events.End(),
		born:     time.Now(),
		broker:   questions.NewBroker(records, nil),
		closing:  newClosing(),
		followed: map[string]*Session{},
		asking:   newRequestMeter(cfg.MaxRequestsPerSecond),
	}
	p.audience.Store(new([]*subscription))
	p.board = questions.NewBoard(p.boardConfig(), p.broker)
	p.delivery = delivery.New(p.deliveryConfig())
	p.leader = replica.NewLeader(replicaAgent{p}, cfg.Logger, p.delivery.Moved.Broadcast)
	if err := p.resumeOrFollow(); err != nil {
		p.abort(err)
		p.broker.Close()
		p.log.Close() // its error would say again why this failed
		return nil, err
	}
	if cfg.Log != nil || cfg.Follow != nil {
		go p.wakeAsLogGrows()
	}
	return p, nil
}

// deliveryConfig returns what the Dispatcher is made of: the Producer's log and limits, and hooks
// for the Observer where Config has one. newProducer calls it.
func (p *Producer) deliveryConfig() delivery.Config {
	c := delivery.Config{Agent: deliveryAgent{p}, Log: p.log, Logger: p.cfg.Logger, Shield: p.shield,
		Grace: p.cfg.Grace, Serving: p.serving, Receivers: &p.loops, Groups: &p.links,
		Resumed: func() func(error) { return p.cfg.Observer.Began(Resume) }}
	if p.cfg.Observer != Observer(unobserved{}) {
		c.Critical = p.cfg.Observer.Critical
	}
	return c
}

// boardConfig returns what the Board needs of the Producer: who may be asked, here and at the
// replicas, and how to record. New calls it, before there are subscriptions; the functions in it
// are called later, and read the subscriptions of that moment.
func (p *Producer) boardConfig() questions.Config {
	return questions.Config{
		Recipients: func() iter.Seq[*questions.Recipient] {
			return func(yield func(*questions.Recipient) bool) {
				for _, sub := range *p.audience.Load() {
					if !yield(sub.Recipient) {
						return
					}
				}
			}
		},
		Replicas:  func() []replica.Presence { return p.leader.Present() },
		Recording: &p.recording, BeginRecord: p.beginRecord,
		NewEventID: func() string { return newID("evt_") }, Logger: p.cfg.Logger}
}

// WaitSubscriber waits until there is a subscriber, here or at a replica. The error is that of ctx,
// or ErrClosed after Shutdown.
func (p *Producer) WaitSubscriber(ctx context.Context) error {
	if !p.isMade() {
		return errNotMade
	}
	for {
		moved := p.delivery.Moved.Changed()
		p.mu.Lock()
		some := len(*p.audience.Load())+len(p.leader.Present()) > 0
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

// MaxSubscriptions returns how many may be served at once; see Config. It is zero for a Producer
// that New did not make, and for no other.
func (p *Producer) MaxSubscriptions() int {
	if !p.isMade() {
		return 0
	}
	return p.cfg.MaxSubscriptions
}
