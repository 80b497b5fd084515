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
// Package producer/serve listens on the usual transports.
package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

// Config says who an agent is and how much it serves. Only Agent.AgentID is required.
type Config struct {
	// Agent is written on every event.
	Agent aaep.Producer
	// Contact is for those who have questions about its accessibility: an address for the manifest.
	Contact string
	// Language is the tag of the language the agent's text is in. Empty is "en-US".
	Language string
	// Languages are the tags of further languages that the agent has text in: what aaep.Text.In adds is told to
	// those who understand it better. Text that is not translated is told in Language.
	Languages []string
	// AnyLanguage serves subscribers that asked only for other languages in Language, instead of
	// refusing them.
	AnyLanguage bool
	// FromStart lets a subscriber that comes in the middle of a session have all of it, at its own
	// rate. Otherwise it is told what the agent is doing, and hears what follows.
	FromStart bool
	// MaxEventsPerSecond caps every subscription; zero is no cap.
	MaxEventsPerSecond int
	// MaxSubscriptions is how many may be served at once. Zero is 256.
	MaxSubscriptions int
	// MaxPerPrincipal is how many of them one peer that the transport has authenticated may have; one whose
	// link broke counts until its Grace is over. Zero is no limit but MaxSubscriptions. That alone holds for
	// peers nobody asked for credentials, for they may be anybody: on one machine the screen reader, the
	// braille display and a log viewer must not lock each other out.
	MaxPerPrincipal int
	// MaxRequestsPerSecond is how many subscription requests of one principal are answered in a second, and
	// of all those nobody asked for credentials together; the others are told to wait. Zero is 256, or
	// MaxSubscriptions if that is more, so that after a restart all may come back at once. Negative is no
	// limit.
	MaxRequestsPerSecond int
	// KeepEvents is how many events are kept in memory for those who reconnect, of at most 64 MiB and a day. Zero is 4096.
	KeepEvents int
	// Log keeps the events for longer: whoever was there before a restart, or a crash, then goes on where they were.
	// What was open when the last process died is ended by New. Close it after Shutdown. Nil is memory alone; see
	// package producer/log, also for what happens when it fails, and WaitLogFailed.
	Log log.Store
	// Follow makes a Producer that serves the listeners of an agent in another process, from its log: package
	// producer/log/jetstream. It has no sessions of its own, and what Agent, Contact, Language, Languages, AnyLanguage,
	// FromStart and MaxEventsPerSecond are is what the agent says. WaitLogFailed says when it hears nothing more of that: call
	// Shutdown then. Nil is an agent.
	Follow Feed
	// Grace is how long a subscriber whose stream broke may stay away before it counts as gone.
	// Zero is 10 seconds; negative is none.
	Grace time.Duration
	// RefuseSecrets refuses every text that holds a private key, an API key of a known form, a web token
	// or a payment card number; see aaep.Secret. Streamed output is not looked at: a secret may come in
	// two chunks.
	RefuseSecrets bool
	// QuestionsAtOnce is how many questions of one session are put side by side; the others wait for their turn.
	// Zero is one, which is what a person can follow.
	QuestionsAtOnce int
	// ShortTimeouts allows questions that are open for less than 20 seconds, in which nobody can hear the
	// question and answer it: for tests and demonstrations.
	ShortTimeouts bool
	// Extensions are those that are served. Nil is extensions.All(); add to it to serve more, or give an empty
	// slice to serve none.
	Extensions []handshake.Extension
	// Admit decides whether a subscriber may have what it asks for, and what more it may do; principal is who
	// its transport says it is, or "". Nil admits everyone with all rights. An error that is an *aaep.Rejection
	// is sent as it is; any other is told as authorization_denied, in words that give nothing away, and logged.
	//
	// It is asked once for each subscription, last of all: the request is valid, within the limits, and
	// could be served on its terms. So it sees no flood, and may count what it admits. Who is not admitted
	// learns no more than the manifest tells everybody. It may be called many times at once, without any
	// lock held, and may take its time, but must return: the subscriber waits for it, and so does Shutdown.
	Admit func(principal string, req *aaep.SubscriptionRequest) (Rights, error)
	// Audit keeps the trail of questions, answers and deeds: who allowed what, having been shown which words. What
	// it cannot keep is not done. Nil is audit.Slog(Logger).
	Audit audit.Sink
	// Signers sign the manifest, with which the producer proves who it is (§5.10.3): the first of them does, and the keys of all
	// are published, so that one can take the place of another. It is called whenever a signature or the keys are
	// wanted, from many goroutines at once. Nil signs nothing, and those who demand a signature are refused.
	Signers func() []*manifest.Signer
	// Observer is told what to measure. Nil is nobody.
	Observer Observer
	// Logger receives diagnostics and, where Audit is nil, the audit trail. Nil discards them.
	Logger *slog.Logger
}

const (
	handshakeTimeout = 10 * time.Second // for the first message, and for the first stream after it
	openTimeout      = 30 * time.Second
	sendTimeout      = 10 * time.Second      // for one event on a link without a deadline of its own
	lastChance       = 2 * time.Second       // for a stream to be opened during a shutdown
	closeTimeout     = 2 * time.Second       // for the last words to a subscriber
	hurryTimeout     = 50 * time.Millisecond // for them when Shutdown waits no longer
)

// Feed is the log of an agent in another process, and what that shares besides.
type Feed interface {
	log.Feed
	log.Shared
}

// ErrClosed is returned once a Producer has been shut down.
var ErrClosed = errors.New("producer: shut down")

// Producer serves one agent's sessions to its subscribers. All its methods may be called at once.
type Producer struct {
	cfg   Config
	offer handshake.Offer
	log   *log.Log
	began uint64 // where the log ended then
	born  time.Time
	desk  *desk

	serving context.Context // ends when Shutdown has ended the sessions: subscriptions drain
	drain   context.CancelFunc
	waiting context.Context // ends when nobody is served any more: requests are no longer waited for
	leave   context.CancelFunc
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
	announced  presence // with announcing held
	notices    atomic.Pointer[notices]

	putting     sync.Mutex // held while a question is put: nobody comes or begins to answer meanwhile; before mu
	encoded     encoded
	agreements  agreements
	audience    atomic.Pointer[[]*subscription] // who is served; changed by who has mu, and never in place
	groups      groups
	republished atomic.Bool

	mu       sync.Mutex
	closed   bool // Shutdown has begun
	ended    bool // it waits for no more guests
	sessions []*Session
	subs     map[string]*subscription
	asking   *meter
	asked    map[aaep.ReplyToken]*pending // questions still open
	moved    chan struct{}                // closed when a subscription got on and somebody waits for it
	past     coalesce.Stats               // of the subscriptions that have ended
	reached  map[string]manifest.Endpoint // for the manifest
}

// New returns a Producer. It starts nothing but the clerk that keeps the open questions, and the one that keeps the log;
// end it with Shutdown.
func New(cfg Config) (*Producer, error) {
	if cfg.Extensions == nil {
		cfg.Extensions = extensions.All()
	}
	if cfg.Follow != nil {
		if err := cfg.followed(); err != nil {
			return nil, err
		}
	}
	if cfg.Language == "" {
		cfg.Language = "en-US"
	}
	languages := append([]string{cfg.Language}, cfg.Languages...)
	for _, tag := range languages {
		if !aaep.ValidLanguageTag(tag) {
			return nil, fmt.Errorf("producer: %q in Config.Language or Languages is no language tag such as en-US", tag)
		}
	}
	for _, ext := range cfg.Extensions {
		if err := ext.Validate(); err != nil {
			return nil, err
		}
	}
	if cfg.MaxSubscriptions == 0 {
		cfg.MaxSubscriptions = 256
	}
	if cfg.MaxRequestsPerSecond == 0 {
		cfg.MaxRequestsPerSecond = max(256, cfg.MaxSubscriptions)
	}
	cfg.QuestionsAtOnce = max(cfg.QuestionsAtOnce, 1)
	if cfg.KeepEvents == 0 {
		cfg.KeepEvents = 4096
	}
	if cfg.Grace == 0 {
		cfg.Grace = 10 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = unobserved{}
	}
	if cfg.Audit == nil {
		cfg.Audit = audit.Slog(cfg.Logger)
	}
	if cfg.Agent.AgentID == "" {
		return nil, errors.New("producer: Config.Agent.AgentID is empty; give the agent an id that stays the same")
	}
	// The identity is on every message, so what is wrong with it is better said now.
	probe := &aaep.SubscriptionAccepted{SubscriptionID: "sub_0", AAEPVersion: aaep.Version, Producer: cfg.Agent}
	if err := aaep.Validate(probe); err != nil {
		return nil, err
	}
	spine := log.New(cfg.KeepEvents)
	var err error
	switch {
	case cfg.Log != nil:
		spine, err = log.Open(cfg.Log, cfg.KeepEvents)
	case cfg.Follow != nil:
		spine, err = log.Follow(cfg.Follow, cfg.KeepEvents)
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
		desk:    newDesk(&trail{cfg.Audit, cfg.Logger}, asleep),
		done:    make(chan struct{}),
		subs:    map[string]*subscription{},
		asking:  newMeter(cfg.MaxRequestsPerSecond),
		asked:   map[aaep.ReplyToken]*pending{},
		moved:   make(chan struct{}),
		reached: map[string]manifest.Endpoint{},
	}
	p.audience.Store(new([]*subscription))
	p.groups.all.Store(new([]*group))
	p.notices.Store(&notices{})
	p.serving, p.drain = context.WithCancel(context.Background())
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

// WaitSubscriber waits until somebody has subscribed.
func (p *Producer) WaitSubscriber(ctx context.Context) error {
	for {
		p.mu.Lock()
		some, moved := len(p.subs)+len(p.parties) > 0, p.moved
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

func (p *Producer) live() []*subscription {
	p.mu.Lock()
	defer p.mu.Unlock()
	subs := make([]*subscription, 0, len(p.subs))
	for _, sub := range p.subs {
		subs = append(subs, sub)
	}
	return subs
}

// pending is a question that is open.
type pending struct {
	coalesce.Entry
	answer <-chan *ledger.Outcome
	asked  audit.Record
	more   chan time.Duration // there is so much time left, after somebody asked for more
	slowest
}

// slowest are the needs of those who are asked: each of them waits for the one who needs most.
type slowest struct {
	patience int64 // by which the time to answer is stretched, in thousandths
	least    int64 // that it is, in seconds
	pace     int64 // in words per minute
}

// open puts a question to every subscription that can answer it. prepare makes its event, if there is anybody; the
// result is nil if nobody can answer, or nobody any more.
func (p *Producer) open(q *ledger.Question, prepare func(slowest) (*aaep.Event, error)) (*pending, error) {
	p.meet(q.Confirmation != nil)
	p.putting.Lock()
	defer p.putting.Unlock()
	put := &pending{more: make(chan time.Duration, 1), slowest: slowest{patience: 1000, pace: usualPace}}
	var able []*subscription
	for _, sub := range p.live() {
		if sub.mayBeAsked(q.Confirmation != nil) {
			able = append(able, sub)
			put.slowest.add(sub.patience.Load(), sub.least.Load(), sub.pace.Load())
		}
	}
	elsewhere := p.ableParties(q, &put.slowest)
	if len(able)+len(elsewhere) == 0 {
		return nil, nil
	}
	ev, err := prepare(put.slowest)
	if err != nil {
		return nil, err
	}
	q.Stamp, put.asked = ev.Timestamp, audit.Question(ev)
	for _, sub := range able {
		put.asked.Recipients = append(put.asked.Recipients, sub.who(ev))
	}
	for _, party := range elsewhere {
		put.asked.Recipients = append(put.asked.Recipients, party.who())
		q.Recipients = append(q.Recipients, party.ID)
	}
	if err := p.desk.trail.record(put.asked); err != nil { // which may take a while: p.mu is for those who deliver
		return nil, ErrNotRecorded
	}
	here := func(sub *subscription) bool { // it has not left meanwhile
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.subs[sub.id] != nil
	}
	for _, sub := range able {
		if here(sub) {
			q.Recipients = append(q.Recipients, sub.id)
		}
	}
	if len(q.Recipients) == 0 {
		return nil, nil
	}
	// The book is open before the event is out, so that no reply can come too early. The desk may be waiting for what it
	// records, so p.mu is not held.
	if put.answer, err = p.desk.open(q, put.asked); err != nil {
		return nil, err
	}
	p.mu.Lock()
	put.Entry = coalesce.Entry{Pos: p.append(ev), Event: ev}
	p.asked[q.Token] = put
	p.mu.Unlock()
	p.log.Wait(put.Pos) // whoever comes after it is asked too, and must find it
	for _, sub := range able {
		if !here(sub) { // it left before it was in the book
			p.desk.gone(sub.id)
		}
	}
	return put, nil
}
