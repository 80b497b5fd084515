package subscriber

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// allReplies is what a subscriber asks for that can answer everything.
func allReplies() aaep.Capabilities {
	return aaep.Capabilities{SupportsConfirmationReply: new(true), SupportsClarificationReply: new(true)}
}

// runVirtual runs f in virtual time. It fails when a goroutine outlives it (INV-51).
func runVirtual(t *testing.T, f func(*testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// A fixture is a Dialer whose producers the test plays.
type fixture struct {
	dials atomic.Int64
	peers chan *peer
	fail  error // what Dial returns, if not nil
}

func newStage() *fixture { return &fixture{peers: make(chan *peer, 1024)} }

func (st *fixture) Dial(ctx context.Context) (transports.Conn, error) {
	st.dials.Add(1)
	if st.fail != nil {
		return nil, st.fail
	}
	a, b := transports.Pipe()
	st.peers <- &peer{b}
	return a, ctx.Err()
}

// dialer is a Dialer made of a function.
type dialer func(context.Context) (transports.Conn, error)

func (d dialer) Dial(ctx context.Context) (transports.Conn, error) { return d(ctx) }

// A peer is the producer's end of one link, played by the test.
type peer struct{ transports.Conn }

// nextPeer waits for the subscriber to dial.
func (st *fixture) nextPeer(t *testing.T) *peer {
	t.Helper()
	select {
	case p := <-st.peers:
		return p
	case <-time.After(time.Hour):
		t.Fatal("nobody dialed within an hour")
		return nil
	}
}

// readMessage returns the next message from the subscriber, as bytes and decoded.
func (p *peer) readMessage(t *testing.T) ([]byte, aaep.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	data, err := p.Receive(ctx)
	if err != nil {
		t.Fatalf("the subscriber sent nothing: %v", err)
	}
	m, err := aaep.Decode(data)
	if err != nil {
		m = nil
	}
	return data, m
}

// mustRead reads the next message, which must be of one type.
func mustRead[M aaep.Message](t *testing.T, p *peer) M {
	t.Helper()
	data, m := p.readMessage(t)
	got, ok := m.(M)
	if !ok {
		t.Fatalf("the subscriber sent %s, want a %T", data, got)
	}
	return got
}

// sendRaw sends bytes as they are.
func (p *peer) sendRaw(t *testing.T, msg string) {
	t.Helper()
	if err := p.Send(t.Context(), []byte(msg)); err != nil {
		t.Errorf("the subscriber did not take %.60s: %v", msg, err)
	}
}

// checkSilent checks that the subscriber sends nothing for d.
func (p *peer) checkSilent(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if msg, err := p.Receive(ctx); err == nil {
		t.Errorf("the subscriber sent %s, want nothing", msg)
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the link ended: %v", err)
	}
}

// checkGone checks that the link has ended without another message.
func (p *peer) checkGone(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if msg, err := p.Receive(ctx); err != io.EOF {
		t.Errorf("Receive = %s, %v; want io.EOF", msg, err)
	}
}

// acceptRequest reads the request and accepts it with everything it asked for.
func (p *peer) acceptRequest(t *testing.T, id string) *aaep.SubscriptionRequest {
	t.Helper()
	req := mustRead[*aaep.SubscriptionRequest](t, p)
	p.sendRaw(t, acceptedMessage(id, "{}"))
	return req
}

func acceptedMessage(id, honored string) string {
	return fmt.Sprintf(`{"type":"subscription.accepted","subscription_id":%q,"aaep_version":"1.0.0","producer":{"agent_id":"agent"},"honored_capabilities":%s}`, id, honored)
}

func rejectedMessage(code, more string) string {
	return fmt.Sprintf(`{"type":"subscription.rejected","reason_code":%q,"reason_message":"no"%s}`, code, more)
}

func closeMessage(id, code string) string {
	return fmt.Sprintf(`{"type":"subscription.close","subscription_id":%q,"reason_code":%q,"reason_message":"bye"}`,
		id, code)
}

// eventMessage is an event of any type, with more members.
func eventMessage(id, typ, more string) string {
	at := aaep.FormatTimestamp(time.Now())
	return fmt.Sprintf(`{"@context":%q,"type":%q,"event_id":%q,"session_id":"sess_1","timestamp":%q,"producer":{"agent_id":"agent"}%s}`,
		aaep.CoreContext, typ, id, at, more)
}

// numberedEvent is the event number n, of a type that is not known.
func numberedEvent(n int) string { return eventMessage(fmt.Sprintf("evt_%d", n), "acme:thing", "") }

func confirmationMessage(id, token, more string) string {
	return eventMessage(id, "aaep:agent.awaiting.confirmation",
		fmt.Sprintf(`,"urgency":"critical","summary_normal":"Pay?",
		"action":"Pay","consequence":"Gone","reply_token":%q,"timeout_seconds":60,"default_decision":"reject"%s`, token, more))
}

func clarificationMessage(id, token, more string) string {
	return eventMessage(id, "aaep:agent.awaiting.clarification",
		fmt.Sprintf(`,"urgency":"critical","summary_normal":"Which?",
		"question":"Which?","reply_token":%q,"timeout_seconds":60%s`, token, more))
}

// openSubscription makes a subscription over the fixture's first link.
func openSubscription(t *testing.T, st *fixture, cfg Config) (*Subscription, *peer) {
	t.Helper()
	if cfg.ID == "" {
		cfg.ID, cfg.Capabilities = "reader", allReplies()
	}
	var sub *Subscription
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		sub, err = Dial(t.Context(), st, cfg)
	}()
	p := st.nextPeer(t)
	p.acceptRequest(t, "sub_1")
	<-done
	if err != nil {
		t.Fatalf("Dial = %v", err)
	}
	t.Cleanup(func() { _ = sub.Close() }) // where the test fails before it does so
	return sub, p
}

// closeBoth closes both ends.
func closeBoth(t *testing.T, sub *Subscription, p *peer) {
	t.Helper()
	if err := sub.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if p != nil {
		_ = p.Close()
	}
}

// awaitStatus returns the first Status, from now on, whose link is up or broken as connected says.
func awaitStatus(sub *Subscription, connected bool) Status {
	for {
		status, changed := sub.Status()
		if status.Connected == connected {
			return status
		}
		<-changed
	}
}

// takeEvent returns the next event of the producer, which must have the id, unless that is empty.
func takeEvent(t *testing.T, sub *Subscription, id string) *aaep.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	ev, err := sub.Next(ctx)
	for err == nil && ev.Type() == aaep.TypeLost {
		ev, err = sub.Next(ctx)
	}
	if err != nil {
		t.Fatalf("Next = %v, want event %s", err, id)
	}
	if id != "" && ev.EventID != id {
		t.Fatalf("Next = %s, want %s", ev.EventID, id)
	}
	return ev
}

// checkNoEvent checks that no event comes for d.
func checkNoEvent(t *testing.T, sub *Subscription, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if ev, err := sub.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next = %v, %v; want nothing for %v", ev, err, d)
	}
}

func wantError(t *testing.T, what string, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%s = %v, want an error with %q", what, err, words)
	}
}

// A flakyDialer is a Conn whose incoming stream breaks and can be opened again, as that of
// Server-Sent Events. What the subscriber sends goes by another way.
type flakyDialer struct {
	out    transports.Conn // the test reads the other end
	in     chan string
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	broken  chan struct{}
	reopens []time.Time
	reopen  func(n int) error // what the nth Reopen returns; nil always succeeds
}

func newFlaky() (*flakyDialer, *peer) {
	a, b := transports.Pipe()
	return &flakyDialer{out: a, in: make(chan string, 64), closed: make(chan struct{}), broken: make(chan struct{})},
		&peer{b}
}

// interruptedError looks like what package sse returns at the end of a stream: there is an io.EOF
// inside.
func interruptedError() error { return fmt.Errorf("stream: %w: %w", transports.ErrInterrupted, io.EOF) }

func (f *flakyDialer) Receive(ctx context.Context) ([]byte, error) {
	f.mu.Lock()
	broken := f.broken
	f.mu.Unlock()
	select {
	case msg := <-f.in:
		return []byte(msg), nil
	default:
	}
	select {
	case msg := <-f.in:
		return []byte(msg), nil
	case <-broken:
		return nil, interruptedError()
	case <-f.closed:
		return nil, transports.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *flakyDialer) Send(ctx context.Context, msg []byte) error { return f.out.Send(ctx, msg) }

func (f *flakyDialer) Close() error {
	f.once.Do(func() { close(f.closed) })
	return f.out.Close()
}

func (f *flakyDialer) cutAll() { close(f.broken) }

func (f *flakyDialer) Reopen(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reopens = append(f.reopens, time.Now())
	if f.reopen != nil {
		if err := f.reopen(len(f.reopens)); err != nil {
			return err
		}
	}
	f.broken = make(chan struct{})
	return ctx.Err()
}

func (f *flakyDialer) attempts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.reopens)
}

// openFlaky makes a subscription over a link whose stream can be opened again; st serves later
// dials.
func openFlaky(t *testing.T, st *fixture, cfg Config) (*Subscription, *flakyDialer, *peer) {
	t.Helper()
	f, p := newFlaky()
	first := true
	d := dialer(func(ctx context.Context) (transports.Conn, error) {
		if first {
			first = false
			return f, nil
		}
		return st.Dial(ctx)
	})
	f.in <- acceptedMessage("sub_1", "{}")
	cfg.ID, cfg.Capabilities = "reader", allReplies()
	sub, err := Dial(t.Context(), d, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Close() })
	mustRead[*aaep.SubscriptionRequest](t, p)
	return sub, f, p
}
