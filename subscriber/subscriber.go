// Package subscriber is the assistive technology's half of AAEP. It reaches a producer, negotiates
// what its user can follow, hands on the events in order and each once, and sends the user's
// decisions back.
//
//	sub, err := subscriber.Dial(ctx, sse.Dialer{URL: "https://bank.example"}, subscriber.Config{
//		ID: "orca", Capabilities: subscriber.ScreenReader("en-US")})
//
//	// person is a present.Presenter: it says what is to be heard, and when, and takes the answers.
//	err = present.Follow(ctx, sub, "Bank", person)
//
// A program that tells no person anything, such as a log, reads sub.Events. What its user is asked
// are handles that sub.Questions yields, and sub.Question gives for an event. They do not know what
// the user has heard: whatever a person answers, with two buttons or by voice, goes to
// person.Answer, where nothing but a no counts before they had the whole.
//
// Events are as they came: chunks that must not be heard alone, states that tell nothing new.
// Package present makes of them what a person hears; who speaks by other means plans that with
// package announce. Only of an event with summaries in several languages the one is handed on that
// serves Capabilities.Languages best.
//
// A Subscription outlives its link: where that breaks it resumes, and where the producer is gone it
// subscribes again. Where something was lost over that, or may have been, an event of aaep.TypeLost
// stands in its place.
//
// One goroutine of a Subscription reads the link and mends it (run.go). It hands events to Next
// through an inbox (inbox.go); what it shares with the other methods is guarded by Subscription.mu.
//
// Dialing is in subscriber.go, asking for terms in handshake.go, and judging what was granted in
// terms.go. How long a broken link waits is in run.go, where it goes on in place.go, and what comes
// twice in overlap.go. Questions are in question.go and answers in reply.go; capabilities for kinds
// of assistive technology are in presets.go, the limit on floods in flood.go, and proving who the
// agent is in verify.go.
package subscriber

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/transports"
)

// Config says who subscribes and what its user can follow. Only ID is required.
type Config struct {
	// ID names the subscriber and stays the same over its restarts; Name and Version are for
	// people.
	ID      string
	Name    string
	Version string
	// Capabilities are asked for; ScreenReader and its neighbours are good beginnings. With the
	// extension delivery among their SupportedExtensions, as those have it, a new subscription goes
	// on where the one before it broke off, where the producer can; over Server-Sent Events it does
	// without.
	Capabilities aaep.Capabilities
	// Trust says whose signatures prove who an agent is (§5.10.3). What an agent has signed is then
	// verified before any event is handed on: a signature that does not hold ends the subscription,
	// and so does, if Capabilities demand a signed manifest, none. Nil verifies nothing, and
	// nothing may be demanded. See Verified.
	Trust *manifest.Trust
	// Fallback are further ways to the same producer. Where the one before does not lead to it, the
	// next is tried, with a handshake of its own (B.7.2); a refusal by the producer ends the
	// search. The agent that is reached must be the same: each way needs the encryption and the
	// credentials that the first has. Status.Way says which it is.
	Fallback []transports.Dialer
	// Unreadable, if not nil, is called with what is wrong with each message of the producer that
	// is not valid, and so is not among Events: the user should know that something is missing. The
	// Message of an *aaep.InvalidError says what it was to be, maybe a question. ErrFlood says that
	// events are left out because far too many come. It is called by the goroutine that reads the
	// link, and must not wait. Where it is nil, an event of aaep.TypeLost stands in the place of
	// all messages between two events, and another where a question is among them: its text says
	// that something is asked which cannot be read.
	Unreadable func(error)
	// NoReconnect ends the subscription when its link breaks, instead of trying again; an orderly
	// end of the link is ErrEnded.
	NoReconnect bool
	// Logger receives diagnostics, and the stacks of what panics in a Dialer or a function of this
	// Config. Nil discards them.
	Logger *slog.Logger
}

const (
	handshakeTimeout = 10 * time.Second // of one attempt, and of waiting for a renegotiation's answer
	closeTimeout     = 2 * time.Second  // for the last words to a producer
	remembered       = 4096             // event ids, to drop what comes twice
	// openQuestions is how many questions may be answered, of waitingBytes together; the oldest are
	// forgotten first.
	openQuestions = 1024
)

// Subscription is one negotiated channel, made by Dial. All its methods may be called at once, and
// from inside the loop over Events. Of one that Dial did not make, they return an error, or
// nothing.
type Subscription struct {
	cfg    Config
	ways   []transports.Dialer
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when the reading goroutine has ended

	inbox   inbox
	asking  chan struct{} // held by Renegotiate
	crowded chan struct{} // told that the answer is behind more events than may wait

	// Only the reading goroutine uses these.
	numbers   map[string]int64             // of the newest event of each session that is numbered
	announced map[string]*aaep.ToolInvoked // by session: the call that its last event announced
	texts     overlap
	flood     flood
	reported  map[string]bool
	gap       bool                // what could not be read since the last event is reported as lost,
	gapAsked  bool                // and that a question was among it
	origin    *credentials.Origin // of what the last handshake was tried with
	unchanged error               // the refusal of other terms that ended a subscription

	mu         sync.Mutex
	wanted     aaep.Capabilities // what the next handshake asks for
	requested  aaep.Capabilities // what this subscription asked for, with the changes that were answered
	conn       transports.Conn
	accepted   *aaep.SubscriptionAccepted
	verified   *Verified
	generation int    // of subscriptions: the number of handshakes
	place      string // the event to go on after on a new subscription; "" is unknown
	extended   bool   // the newest request had extensions
	status     Status
	changed    chan struct{}    // closed when status changes
	pending    []*renegotiation // oldest first
	questions  map[aaep.ReplyToken]*pendingQuestion
	asked      []askedQuestion // oldest first
	askedCount int
	askedMore  chan struct{}                   // closed when asked has grown; nil where nothing waits for that
	lapsed     map[aaep.ReplyToken]timeAllowed // of questions of subscriptions that are gone
	err        error                           // why the subscription is over
	farewell   error                           // what came of telling the producer
	seen       map[string]int                  // event ids, with the generation each came in
	order      []string                        // of seen, oldest first
}

// Status says how a subscription is doing.
type Status struct {
	// Connected is false while the link is broken and after the end; Err then says why.
	Connected bool
	Err       error
	// Awaits is the file in which newer credentials are waited for, as those in it were refused:
	// its owner should know. Empty otherwise.
	Awaits string
	// Next is when the next attempt is made to mend the link; zero while there is none to wait for.
	Next time.Time
	// Over is true once the subscription has ended; nothing changes after that.
	Over bool
	// Subscribed counts handshakes: above one, the producer was reached anew. Resumed says that
	// after the last cut it went on where it had come to before; otherwise what was said in between
	// may be missing, and Events say so.
	Subscribed int
	Resumed    bool
	// Received counts the events that had come by then: to tell a person both in their order, tell
	// this after so many from Next.
	Received int
	// Way is by which Dialer the producer was reached last: 0 is that of Dial, 1 the first of
	// Config.Fallback.
	Way int
}

// Dial subscribes to the producer that dialer reaches and returns when it has answered. A refusal
// is an *aaep.Rejection. Close the Subscription when it is no longer needed; ctx bounds Dial alone.
func Dial(ctx context.Context, dialer transports.Dialer, cfg Config) (*Subscription, error) {
	cfg.Logger = shield.Logger(cfg.Logger)
	ways := append([]transports.Dialer{dialer}, cfg.Fallback...)
	for _, way := range ways {
		if err := shield.CheckNil("subscriber: a Dialer", way); err != nil {
			return nil, err
		}
	}
	s := &Subscription{
		cfg: cfg, ways: ways, wanted: cfg.Capabilities,
		done:  make(chan struct{}),
		inbox: newInbox(), asking: make(chan struct{}, 1), crowded: make(chan struct{}, 1),
		numbers: map[string]int64{}, changed: make(chan struct{}),
		questions: map[aaep.ReplyToken]*pendingQuestion{}, seen: map[string]int{},
	}
	_, err := aaep.Encode(s.currentRequest())
	if err == nil {
		err = checkCapabilities(cfg.Capabilities)
	}
	if err != nil && cfg.ID == "" {
		return nil, fmt.Errorf("subscriber: Config.ID is empty; give this program an id that stays the same over its "+
			"restarts: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("subscriber: this Config cannot be sent: %w", err)
	}
	if demandsProof(cfg.Capabilities) && cfg.Trust == nil {
		return nil, errNoTrust
	}
	if slices.Contains(s.ways, nil) {
		return nil, errors.New("subscriber: a Dialer is required, and each of Config.Fallback")
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	conn, err := s.subscribeWithFallback(ctx)
	if err != nil {
		s.cancel()
		return nil, err
	}
	go s.readUntilOver(conn)
	return s, nil
}

// Accepted returns the producer's newest answer: who it is and what it honors; its NegotiationNotes
// say in words what it does not, and are logged. It must not be changed. It is nil for a
// Subscription that Dial did not make.
func (s *Subscription) Accepted() *aaep.SubscriptionAccepted {
	if !s.isDialed() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Status returns how the subscription is doing now, and a channel that is closed when that changes.
func (s *Subscription) Status() (Status, <-chan struct{}) {
	if !s.isDialed() {
		return Status{Over: true, Err: errNotDialed}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.changed
}

// setStatus changes the status and wakes those who wait for a change. It does not compare: two
// errors of a type that cannot be compared would panic.
func (s *Subscription) setStatus(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
	s.status.Received = s.inbox.receivedCount()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Close ends the subscription: it tells the producer, waiting at most two seconds, and releases
// everything. A second Close does nothing. The error says that a producer that was there could not
// be told.
func (s *Subscription) Close() error {
	if !s.isDialed() {
		return errNotDialed
	}
	s.mu.Lock()
	isFirst := s.err == nil
	if isFirst {
		s.err = io.EOF
	}
	s.mu.Unlock()
	s.cancel()
	<-s.done
	if !isFirst {
		return nil
	}
	return s.farewell
}

// endSubscription says goodbye on the current link, for at most closeTimeout, closes it, settles
// what waits, and makes err, or a reason from before, that for which the subscription is over. The
// reading goroutine calls it last, so that after it no goroutine of the subscription is left.
func (s *Subscription) endSubscription(conn transports.Conn, err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	err = s.err
	connected, id := s.status.Connected, s.accepted.SubscriptionID
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	closeErr := s.sendClose(ctx, conn, id, err)
	s.closeConn(conn)
	if connected && !isGone(closeErr) {
		s.farewell = closeErr
	}
	s.settleAll(err)
	s.setStatus(func(st *Status) { st.Connected, st.Over, st.Err = false, true, err })
	s.cancel()
	close(s.done)
}

// sendClose tells the producer that this side ends the subscription with an id, and why: reason is
// the error it ended with. It sends nothing where the producer ended it, or where the link failed.
func (s *Subscription) sendClose(ctx context.Context, conn transports.Conn, id string, reason error) error {
	m := &aaep.SubscriptionClose{SubscriptionID: id, ReasonCode: aaep.SubscriberShutdown,
		ReasonMessage: "The subscriber is closing."}
	var r *aaep.Rejection
	if errors.As(reason, &r) {
		if r.Remote {
			return nil
		}
		m.ReasonCode, m.ReasonMessage = aaep.PolicyViolation, "The subscriber does not agree to these terms."
		if r.Code == aaep.ManifestSignatureRequired {
			m.ReasonCode, m.ReasonMessage = manifestNotVerified, "The subscriber demands a manifest that it can verify."
		}
	} else if reason != io.EOF && !errors.Is(reason, transports.ErrInterrupted) {
		return nil // the link failed, and the subscription with it
	}
	return s.sendMessage(ctx, conn, m)
}

// sendMessage encodes and sends a message on conn, within ctx. An invalid message is an
// *aaep.InvalidError, and is not sent.
func (s *Subscription) sendMessage(ctx context.Context, conn transports.Conn, m aaep.Message) error {
	msg, err := aaep.Encode(m)
	if err != nil {
		return err
	}
	return s.writeMessage(ctx, conn, msg)
}

// writeMessage hands a message to the link. The link is read until that returns even if the caller
// takes no events, since the producer may be waiting for that before it reads in turn.
func (s *Subscription) writeMessage(ctx context.Context, conn transports.Conn, msg []byte) error {
	defer s.inbox.widenRoom()()
	return s.callShielded("Conn.Send", func() error { return conn.Send(ctx, msg) })
}

// receiveFrom is conn.Receive, where a panic counts as a link that broke.
func (s *Subscription) receiveFrom(ctx context.Context, conn transports.Conn) (msg []byte, err error) {
	err = s.callShielded("Conn.Receive", func() (err error) { msg, err = conn.Receive(ctx); return err })
	return msg, err
}

// closeConn closes a link.
func (s *Subscription) closeConn(conn transports.Conn) { _ = s.callShielded("Conn.Close", conn.Close) }
