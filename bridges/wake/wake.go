// Package wake makes the wake messages of a Neo agent swarm (its ADR 0002) news that a person
// hears: messages that were sent to an identity, changes of its tasks, permissions that it got, and
// digests of those.
//
//	bridge, err := wake.New(p, wake.Config{Keys: keys})
//	http.Handle("POST /wake", bridge)
//
// Such a message counts only if it is signed with the key of its subscription. Bridge.Follow takes
// them from the swarm's memory server instead, which needs no signature:
//
//	err = bridge.Follow(ctx, wake.Server{URL: "https://swarm.example/mcp", Token: token})
//
// A message counts once, however often and on whichever way it comes. A digest in which nothing is
// counted, as of a heartbeat, is nothing and is not told. The sentences are in English: give p
// Config.Languages with "en", so that its manifest says so.
//
// What comes in a burst is told as one digest, for all identities together where they are many, so
// that a swarm does not drown its listener; a task that needs a person is told at once. Wake has no
// way to answer: nothing is asked here, and what a task waits for is told with who waits.
//
// All state is guarded by Bridge.mu. A timer of the coalescing window and the reader of a server's
// notifications are the only goroutines. Begin reading at Bridge.Take.
//
// The words for a message, and what waits for a person, are in envelope.go; windows and sessions
// are in wake.go, signatures in webhook.go, and a server is followed in follow.go. How many of the
// messages of a window are told one by one is said by a Digest of package internal/bridge.
package wake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/producer"
)

// Config says whose wakes are taken and how they are told. Its zero value takes none.
type Config struct {
	// Keys are the signing keys of each subscription, by its id. Of several keys each counts, so
	// that one can take the place of another.
	Keys map[string][]string
	// Identity, if set, is the only one whose wakes are taken, such as @ada.
	Identity string
	// Only, if set, are the kinds that are told, such as sent_to_me; digests are told as far as
	// they count those.
	Only []string
	// Window is how long what follows a wake, for whichever identity, is gathered into one digest,
	// 5 minutes at most. Zero tells each at once. Neo's own default is 30 seconds, and what comes
	// through its window was gathered there.
	Window time.Duration
	// Seen is a file that remembers across restarts what was told, and one beside it, whose name
	// ends with .places, how far in the log of a Server. Empty is memory alone.
	Seen string
	// Logger receives what was refused or cannot be read. Nil discards it.
	Logger *slog.Logger
}

const (
	mostWindow     = 5 * time.Minute
	mostVoices     = 3    // identities that are told one by one when a window ends
	mostOfInbox    = 1000 // wakes that one session tells
	leastKey       = 16   // characters of a signing key
	mostIdentities = 1024 // whose wakes are told in sessions of their own

	// What waits for a person is told at once, so often within handoffTime; what follows is told
	// together, each handoffPause.
	mostHandoffs = 16
	handoffTime  = time.Minute
	handoffPause = 5 * time.Second
)

// The errors of Take.
var (
	// ErrUnknown is for an identity that is not followed.
	ErrUnknown = errors.New("wake: the identity is not followed here")
	// ErrInvalid is for a message that is none of the protocol.
	ErrInvalid = errors.New("wake: the message is not a wake")
)

// A Bridge tells the wakes of a swarm. All its methods may be called at once.
type Bridge struct {
	p    *producer.Producer
	cfg  Config
	seen *bridge.Seen

	mu      sync.Mutex
	inboxes map[string]*inbox // by identity
	places  map[string]int64  // how far in the swarm's log each subscription that is followed was told
	window  bridge.Window     // in which wakes are gathered
	closed  bool

	handoffs      []time.Time // when the newest were told, the oldest first; mostHandoffs at most
	handoffsTimer *time.Timer // until those that were held back are told; nil where there are none
}

// An inbox is what is told to one identity.
type inbox struct {
	identity string
	s        *producer.Session
	told     int // in the session
	pending  gathered
}

// New returns a Bridge that announces wakes through p. The error is for a Window out of range, or a
// Seen that cannot be read. Close ends it.
func New(p *producer.Producer, cfg Config) (*Bridge, error) {
	if cfg.Window < 0 || cfg.Window > mostWindow {
		return nil, fmt.Errorf("wake: the window must be from 0 to %v; it is %v", mostWindow, cfg.Window)
	}
	cfg.Logger = shield.Logger(cfg.Logger)
	seen, err := bridge.OpenSeen(cfg.Seen, time.Now())
	if err != nil {
		return nil, fmt.Errorf("wake: what was told cannot be remembered: %w", err)
	}
	b := &Bridge{p: p, cfg: cfg, seen: seen, inboxes: map[string]*inbox{}, places: map[string]int64{}}
	file := bridge.PlacesFile(cfg.Seen)
	if err := bridge.ReadState(file, &b.places); err != nil {
		seen.Close()
		return nil, fmt.Errorf("wake: how far the swarm's log was told cannot be read from %s: %w", file, err)
	}
	return b, nil
}

// Close announces what was gathered, ends the sessions and closes the file of what was announced;
// wakes that come later are refused.
func (b *Bridge) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.flushAll()
	b.announceWaiting()
	for _, in := range b.inboxes {
		in.endSession()
	}
	return b.seen.Close()
}

// Take announces a wake as the swarm sends it; the caller knows that it comes from there. fresh is
// false for a repeated one. The error is ErrInvalid or ErrUnknown, or says why it could not be
// announced; then it may be sent again.
func (b *Bridge) Take(message []byte) (fresh bool, err error) {
	e, err := decodeEnvelope(message)
	if err != nil {
		return false, err
	}
	return b.takeAll([]*envelope{e})
}

// takeAll announces wakes that came together, each once, and records them so that none is announced
// again. It reports whether any was new. Wakes for another identity are left out, which is
// ErrUnknown if no other was new. It takes b.mu.
func (b *Bridge) takeAll(all []*envelope) (fresh bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false, producer.ErrClosed
	}
	untold, err := b.findUntold(all, time.Now())
	if len(untold) == 0 {
		return false, err
	}
	if err := b.announceWakes(untold); err != nil {
		return false, err
	}
	for _, e := range untold {
		for _, name := range e.knownNames() {
			if err := b.seen.Record(e.sent, name...); err != nil {
				b.cfg.Logger.Error("wake: what was told is not remembered across a restart", "error", err)
				return true, nil
			}
		}
	}
	return true, nil
}

// findUntold returns those of all that were not announced, nor come twice in all. Those for another
// identity are left out, which is ErrUnknown. The caller holds b.mu.
func (b *Bridge) findUntold(all []*envelope, now time.Time) (untold []*envelope, err error) {
	inAll := map[string]bool{}
	for _, e := range all {
		if b.cfg.Identity != "" && e.Identity != b.cfg.Identity {
			err = ErrUnknown
			continue
		}
		names := e.knownNames()
		repeated := func(name []string) bool {
			return inAll[strings.Join(name, "\x00")] || b.seen.Told(now, e.sent, name...)
		}
		if slices.ContainsFunc(names, repeated) {
			continue
		}
		if e.sent.After(now.Add(clockSkew)) || e.sent.Before(now.Add(-clockSkew)) {
			b.cfg.Logger.Warn("wake: the sender's clock is off, or the message is late", "sent", e.sent)
		}
		for _, name := range names {
			inAll[strings.Join(name, "\x00")] = true
		}
		untold = append(untold, e)
	}
	return untold, err
}

// announceWakes gathers wakes, and announces them now, or when the window ends; tasks that wait for
// a person are announced now in any case. The caller holds b.mu.
func (b *Bridge) announceWakes(all []*envelope) error {
	var urgent []*inbox
	for _, e := range all {
		news := e.gatherNews(b.cfg.Only)
		if news.isEmpty() {
			continue
		}
		in, err := b.inboxOf(e.Identity)
		if err != nil {
			return err
		}
		in.pending.addNews(news)
		if len(news.waits) > 0 && !slices.Contains(urgent, in) {
			urgent = append(urgent, in)
		}
	}
	if !b.window.IsOpen() {
		return b.flushAll()
	}
	for _, in := range urgent {
		if err := b.flushInbox(in); err != nil {
			return err
		}
	}
	return nil
}

// inboxOf returns the inbox of an identity, a new one where there is none, with its session and
// what was gathered for it. The caller holds b.mu.
func (b *Bridge) inboxOf(identity string) (*inbox, error) {
	in := b.inboxes[identity]
	if in == nil {
		if len(b.inboxes) >= mostIdentities {
			return nil, fmt.Errorf("wake: more than %d identities are followed", mostIdentities)
		}
		in = &inbox{identity: identity}
		b.inboxes[identity] = in
	}
	return in, nil
}

// flushAll announces what was gathered, and opens the next window. The caller holds b.mu. What is
// for more than mostVoices identities is announced together, so that a swarm has one voice; a task
// that waits for a person is announced by itself.
func (b *Bridge) flushAll() error {
	b.window.Close()
	var due []*inbox
	for _, identity := range slices.Sorted(maps.Keys(b.inboxes)) {
		if in := b.inboxes[identity]; !in.pending.isEmpty() {
			due = append(due, in)
		}
	}
	if len(due) == 0 {
		return nil
	}
	if b.cfg.Window > 0 && !b.closed {
		b.window.Open(b.cfg.Window, &b.mu, func() {
			if err := b.flushAll(); err != nil {
				b.cfg.Logger.Error("wake: wakes could not be told", "error", err)
			}
		})
	}
	if len(due) > mostVoices {
		var err error
		if due, err = b.joinInboxes(due); err != nil {
			return err
		}
	}
	for _, in := range due {
		if err := b.flushInbox(in); err != nil {
			return err
		}
	}
	return nil
}

// joinInboxes moves what several inboxes gathered into the common one, except tasks that wait for a
// person, and returns the inboxes to flush.
func (b *Bridge) joinInboxes(due []*inbox) (telling []*inbox, err error) {
	together, err := b.inboxOf("")
	if err != nil {
		return nil, err
	}
	for _, in := range due {
		if len(in.pending.waits) > 0 {
			telling = append(telling, in)
		} else if in != together {
			together.pending.addNews(in.pending)
			together.pending.Count()
			together.pending.agents++
			in.pending = gathered{}
		}
	}
	return append(telling, together), nil
}

// flushInbox announces what was gathered for one identity. The caller holds b.mu. Tasks that wait
// for a person stay gathered where mayHandOff forbids it; a timer announces them soon.
func (b *Bridge) flushInbox(in *inbox) error {
	sentences, waits := in.pending.describeAll(), in.pending.waits
	if len(waits) > 0 && !b.mayHandOff() {
		waits = nil
		b.holdBack()
	}
	if len(sentences) == 0 && len(waits) == 0 {
		return nil
	}
	if err := in.openSession(b.p); err != nil {
		return err
	}
	for _, text := range sentences {
		if err := in.announceResult(b.p, text); err != nil {
			return err
		}
	}
	if len(waits) > 0 {
		if err := in.handOver(b.p, describeWaits(waits)); err != nil {
			return err
		}
		in.pending.waits = nil
	}
	in.pending = gathered{waits: in.pending.waits}
	return in.enterIdle()
}

// mayHandOff reports whether a handoff may be emitted now, and counts it: at most mostHandoffs in
// handoffTime, so that a swarm in which everything waits does not call without end. The caller
// holds b.mu.
func (b *Bridge) mayHandOff() bool {
	now := time.Now()
	if len(b.handoffs) == mostHandoffs {
		if b.handoffsTimer != nil || now.Sub(b.handoffs[0]) < handoffTime {
			return false
		}
		b.handoffs = b.handoffs[1:]
	}
	b.handoffs = append(b.handoffs, now)
	return true
}

// holdBack starts the timer, unless it runs, after which the tasks that wait for a person are
// announced together. The caller holds b.mu.
func (b *Bridge) holdBack() {
	if b.handoffsTimer != nil || b.closed {
		return
	}
	b.handoffsTimer = time.AfterFunc(handoffPause, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.announceWaiting()
	})
}

// announceWaiting announces together all tasks that wait for a person and were held back, for all
// identities at once where they are several. What could not be announced is tried again. The caller
// holds b.mu.
func (b *Bridge) announceWaiting() {
	if b.handoffsTimer != nil {
		b.handoffsTimer.Stop()
		b.handoffsTimer = nil
	}
	var of []*inbox
	var waits []waitingTask
	for _, in := range b.inboxes {
		if len(in.pending.waits) > 0 {
			of = append(of, in)
			waits = append(waits, in.pending.waits...)
		}
	}
	if len(of) == 0 {
		return
	}
	telling := of[0]
	if len(of) > 1 {
		var err error
		if telling, err = b.inboxOf(""); err != nil {
			telling = of[0]
		}
	}
	if err := errors.Join(telling.handOver(b.p, describeWaits(waits)), telling.enterIdle()); err != nil {
		b.cfg.Logger.Error("wake: what waits for a person could not be told; it is tried again", "error", err)
		b.holdBack()
		return
	}
	for _, in := range of {
		in.pending.waits = nil
	}
}

// enterIdle says that nothing is under way until the next wake: a session else counts as thinking.
func (in *inbox) enterIdle() error {
	return in.s.State(aaep.StateIdle, bridge.Ours("Waiting for the next wake."))
}

// openSession starts a session for the identity where there is none, or where the old one has
// mostOfInbox announcements.
func (in *inbox) openSession(p *producer.Producer) error {
	if in.told >= mostOfInbox {
		in.endSession()
	}
	if in.s != nil {
		return nil
	}
	owner := cmp.Or(toolwords.Label(in.identity), "the swarm")
	s, err := p.StartSession(context.Background(), bridge.Ours("Wakes for "+owner+"."))
	if err != nil {
		return err
	}
	in.s, in.told = s, 0
	return nil
}

// handOver announces as a handoff, with text as the reason, that a person is waited for who cannot
// answer here. The caller holds the Bridge's mu.
func (in *inbox) handOver(p *producer.Producer, text string) error {
	if err := in.openSession(p); err != nil {
		return err
	}
	in.told++
	return bridge.HandOver(in.s, text)
}

// announceResult emits a sentence as an output of its own, which later news does not replace, in
// the inbox's session, which it begins if need be.
func (in *inbox) announceResult(p *producer.Producer, text string) error {
	if err := in.openSession(p); err != nil {
		return err
	}
	in.told++
	return bridge.AnnounceResult(in.s, text)
}

// endSession ends the session, if there is one.
func (in *inbox) endSession() {
	if in.s != nil {
		in.s.Complete(bridge.Ours("These wakes end here."))
		in.s = nil
	}
}

// ReadKeys reads the keys of subscriptions from a file that only its owner may open: on each line
// an id, a space and a key. Empty lines and those that begin with # are left out.
func ReadKeys(path string) (map[string][]string, error) {
	text, err := credentials.ReadPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("wake: %w", err)
	}
	keys := map[string][]string{}
	for n, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case len(fields) != 2 || len(fields[1]) < leastKey:
			return nil, fmt.Errorf("wake: line %d must be the id of a subscription, a space and its key of %d "+
				"characters or more", n+1, leastKey)
		case !slices.Contains(keys[fields[0]], fields[1]):
			keys[fields[0]] = append(keys[fields[0]], fields[1])
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("wake: there is no key: write the id of a subscription, a space and its key on each " +
			"line")
	}
	return keys, nil
}
