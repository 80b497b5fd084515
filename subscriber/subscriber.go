// Package subscriber is the assistive technology's half of AAEP. It reaches a producer, negotiates what its
// user can follow, hands on the events in order and each once, and sends the user's decisions back.
//
//	sub, err := subscriber.Dial(ctx, sse.Dialer{URL: "https://bank.example"}, subscriber.Config{
//		ID: "orca", Capabilities: subscriber.ScreenReader("en-US")})
//	for ev, err := range sub.Events(ctx) {
//		switch p := ev.Payload.(type) {
//		case *aaep.AwaitingConfirmation:
//			sub.Reply(ctx, ev, ask(p)) // never by itself
//		default:
//			announce(ev.Text(aaep.VerbosityNormal)) // an unknown event still speaks
//		}
//	}
//
// A Subscription outlives its link: where that breaks it resumes, and where the producer is gone it
// subscribes again.
package subscriber

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// Config says who subscribes and what its user can follow. Only ID is required.
type Config struct {
	// ID names the subscriber and stays the same over its restarts; Name and Version are for people.
	ID      string
	Name    string
	Version string
	// Capabilities are asked for; ScreenReader and its neighbours are good beginnings.
	Capabilities aaep.Capabilities
	// NoReconnect ends the subscription when its link breaks, instead of trying again.
	NoReconnect bool
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

const (
	handshakeTimeout = 10 * time.Second
	firstDelay       = 500 * time.Millisecond // between two attempts, doubled each time, with full jitter
	longestDelay     = 60 * time.Second
	healthyAfter     = 30 * time.Second // of connection before the delay starts over
	remembered       = 4096             // event ids, to drop what comes twice
	waitingEvents    = 256              // events nobody has asked for yet
)

// ErrUnknownEvent is returned by Reply and Answer for an event that asks nothing, came from another
// subscription, or was answered before.
var ErrUnknownEvent = errors.New("subscriber: not an open question of this subscription")

// Subscription is one negotiated channel. All its methods may be called at once, and from inside the loop
// over Events.
type Subscription struct {
	cfg    Config
	dialer transports.Dialer
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when the reading goroutine has ended

	events  chan *aaep.Event
	answers chan aaep.Message // to a renegotiation

	asking sync.Mutex // one renegotiation at a time

	mu       sync.Mutex
	wanted   aaep.Capabilities // what the next handshake asks for
	conn     transports.Conn
	accepted *aaep.SubscriptionAccepted
	status   Status
	changed  chan struct{} // closed when status changes
	open     map[aaep.ReplyToken]*question
	err      error // why the subscription is over
	seen     map[string]bool
	order    []string // of seen, oldest first
}

// question is one that was received and may be answered once.
type question struct {
	event    *aaep.Event
	received time.Time
	sub      string       // the subscription it came on
	reply    aaep.Message // once one was made
	value    any          // what it says
	answered bool         // it is under way, or has arrived
}

// Status says how a subscription is doing.
type Status struct {
	// Connected is false while the link is broken; Err then says why.
	Connected bool
	Err       error
	// Subscribed counts handshakes: above one, the producer was reached anew and may have lost its place.
	Subscribed int
}

// Dial subscribes to the producer that dialer reaches and returns when it has answered. A refusal is an
// *aaep.Rejection. Close the Subscription when it is no longer needed; ctx bounds Dial alone.
func Dial(ctx context.Context, dialer transports.Dialer, cfg Config) (*Subscription, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Subscription{
		cfg: cfg, dialer: dialer, wanted: cfg.Capabilities, done: make(chan struct{}),
		events: make(chan *aaep.Event, waitingEvents), answers: make(chan aaep.Message, 1),
		changed: make(chan struct{}), open: map[aaep.ReplyToken]*question{}, seen: map[string]bool{},
	}
	if err := aaep.Validate(s.request()); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	conn, err := s.subscribe(ctx)
	if err != nil {
		s.cancel()
		return nil, err
	}
	go s.run(conn)
	return s, nil
}

func (s *Subscription) request() *aaep.SubscriptionRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: s.cfg.ID, SubscriberName: s.cfg.Name,
		SubscriberVersion: s.cfg.Version, Capabilities: s.wanted}
}

// subscribe dials and shakes hands.
func (s *Subscription) subscribe(ctx context.Context) (transports.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn, err := s.dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	accepted, err := s.shakeHands(ctx, conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	s.mu.Lock()
	s.conn, s.accepted = conn, accepted
	clear(s.open) // their tokens died with the subscription they came on
	s.mu.Unlock()
	s.setStatus(func(st *Status) { st.Connected, st.Err = true, nil; st.Subscribed++ })
	return conn, nil
}

func (s *Subscription) shakeHands(ctx context.Context, conn transports.Conn) (*aaep.SubscriptionAccepted, error) {
	req := s.request()
	msg, err := aaep.Encode(req)
	if err != nil {
		return nil, err
	}
	if err := conn.Send(ctx, msg); err != nil {
		return nil, err
	}
	data, err := conn.Receive(ctx)
	if err != nil {
		return nil, err
	}
	m, err := aaep.Decode(data)
	if err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case *aaep.SubscriptionAccepted:
		return m, checkAccepted(req, m)
	case *aaep.SubscriptionRejected:
		return nil, rejection(m)
	}
	return nil, &aaep.Rejection{Code: aaep.ReasonUnknown,
		Message: "the producer answered with " + m.MessageType() + " instead of subscription.accepted"}
}

func rejection(m *aaep.SubscriptionRejected) *aaep.Rejection {
	r := &aaep.Rejection{Code: m.ReasonCode, Message: m.ReasonMessage, Remote: true}
	if m.RetryAfterSeconds != nil {
		r.RetryAfter = time.Duration(min(max(*m.RetryAfterSeconds, 0), 86400)) * time.Second
	}
	return r
}

// Next returns the next event, in order and each once. It returns io.EOF after Close, an *aaep.Rejection
// after the producer closed or refused for good, and ctx's error if that is done first, which
// loses nothing.
func (s *Subscription) Next(ctx context.Context) (*aaep.Event, error) {
	select {
	case ev := <-s.events:
		return ev, nil
	default:
	}
	select {
	case ev := <-s.events:
		return ev, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.done:
		select { // what was received before the end is still handed on
		case ev := <-s.events:
			return ev, nil
		default:
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return nil, s.err
	}
}

// Events is Next as an iterator. After Close it ends; any other error is its last pair. Leaving the loop
// leaves the subscription open.
func (s *Subscription) Events(ctx context.Context) iter.Seq2[*aaep.Event, error] {
	return func(yield func(*aaep.Event, error) bool) {
		for {
			ev, err := s.Next(ctx)
			if errors.Is(err, io.EOF) || !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// Accepted returns the producer's newest answer: who it is and what it honors.
func (s *Subscription) Accepted() *aaep.SubscriptionAccepted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Status returns how the subscription is doing now, and a channel that is closed when that changes.
func (s *Subscription) Status() (Status, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.changed
}

func (s *Subscription) setStatus(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.status
	change(&s.status)
	if was != s.status {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// Close ends the subscription: it tells the producer, waiting at most two seconds, and releases everything.
// A second Close does nothing.
func (s *Subscription) Close() error {
	s.mu.Lock()
	conn, over := s.conn, s.err != nil
	if !over {
		s.err = io.EOF
	}
	s.mu.Unlock()
	if over {
		<-s.done
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := s.send(ctx, conn, &aaep.SubscriptionClose{SubscriptionID: s.Accepted().SubscriptionID,
		ReasonCode: aaep.SubscriberShutdown, ReasonMessage: "The subscriber is closing."})
	s.cancel()
	conn.Close()
	<-s.done
	if errors.Is(err, transports.ErrClosed) || errors.Is(err, transports.ErrInterrupted) {
		return nil
	}
	return err
}

// send writes one message to the link.
func (s *Subscription) send(ctx context.Context, conn transports.Conn, m aaep.Message) error {
	msg, err := aaep.Encode(m)
	if err != nil {
		return err
	}
	return conn.Send(ctx, msg)
}

// jitter is a random part of the delay before the next attempt (INV-52).
func jitter(attempt int) time.Duration {
	longest := longestDelay
	if attempt < 8 {
		longest = min(firstDelay<<attempt, longestDelay)
	}
	return time.Duration(rand.Int64N(int64(longest))) + 1
}
