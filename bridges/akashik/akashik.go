// Package akashik makes what happens in a field of the Akashik Protocol 0.1.0, the memory that
// agents share, news that a person hears: new, replaced and disputed records, conflicts, tasks,
// agents.
//
//	bridge, err := akashik.New(p, akashik.Config{URL: "https://field.example", Token: token})
//	err = bridge.Follow(ctx)
//
// The field is subscribed to where it pushes (over WebSocket or server-sent events), and asked by
// ATTUNE with since_epoch for what was not pushed; a field that does not push is asked alone. A
// record counts once, on whichever way it comes. The sentences are in English: give p
// Config.Languages with "en", so that its manifest says so.
//
// What the field says requires an action is told at once. No field is known that acts on a person's
// decision, so none is put as a consent: with Config.Record a person may have their answer written
// into the field as a human_directive, and hears before they answer that this is all it does.
//
// Bridge.mu guards all state. Follow, a reader for each link that pushes, a timer of the window and
// one open question are the only goroutines. Begin reading at Bridge.Follow.
//
// Following and catching up are in follow.go, links that push in push.go, and calls of the field in
// wire.go. What is news, and its words, are in news.go, telling it in akashik.go, and the person's
// own answer in ask.go. How many of the news of a window are told one by one, and how more are
// summed up, is what the bridges share: a Digest of package internal/bridge.
package akashik

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// Config says which field is followed and how it is told. Only URL is needed.
type Config struct {
	// URL is where the field's HTTP binding is, without /v1. With MCP it is where its server of the
	// Model Context Protocol takes messages.
	URL string
	// MCP has the field's tools called by the Model Context Protocol. Nothing is pushed there.
	MCP bool
	// Token is sent as a bearer token. Empty is none.
	Token string
	// Name is what a person hears the field called. Empty is the host of URL.
	Name string
	// AgentID is by what the field knows this listener. Empty is one made at random, which Seen
	// keeps.
	AgentID string
	// Role, Interests and Task are the scope by which the field judges what is relevant. An empty
	// Role is "observer"; the others may be empty.
	Role      string
	Interests []string
	Task      string
	// Events are the events that are told. Empty is all of them, see Events.
	Events []string
	// MinRelevance, from 0 to 1, hides what the field holds less relevant than that, but for what
	// requires an action and what is handed over.
	MinRelevance float64
	// Debounce is how long the field waits at least between two notifications about the same.
	Debounce time.Duration
	// Poll is how often a field that does not push is asked for news: a second at least. Zero is 5
	// seconds. One that pushes is asked each minute, or after Poll if that is longer.
	Poll time.Duration
	// Window is how long what follows a piece of news is gathered, 5 minutes at most: up to three
	// are told one by one, more as one digest. Zero tells each by itself, however many they are.
	Window time.Duration
	// Record has the user asked about what requires an action, and their answer written into the
	// field.
	Record bool
	// AnswerTime is how long there is to answer. Zero is 5 minutes. Silence writes nothing.
	AnswerTime time.Duration
	// Seen is a file that remembers across restarts what was told, and one beside it, whose name
	// ends with .places, how far. Empty is memory alone.
	Seen string
	// Logger receives what cannot be read. Nil discards it.
	Logger *slog.Logger
}

const (
	mostWindow    = 5 * time.Minute
	mostOfSession = 1000 // news that one session tells
	mostClaims    = 4096 // records whose content is known, for the questions about them
	lateTime      = time.Minute
)

// A Bridge tells the news of a field. All its methods may be called at once, but Follow, which runs
// once at a time.
type Bridge struct {
	p    *producer.Producer
	cfg  Config
	name string
	f    *field
	seen *bridge.Seen

	ctx    context.Context // until Close
	cancel context.CancelFunc
	asks   sync.WaitGroup

	mu       sync.Mutex
	s        *producer.Session
	told     int // in the session
	about    string
	pending  bridge.Digest
	late     time.Duration // how late the oldest of pending is
	window   bridge.Window // in which news is gathered
	place    place
	claims   map[string]string // what records say, by their ids
	waiting  []*news           // that are to be asked about
	asking   *news
	withdraw context.CancelFunc
	warned   map[string]bool // what is said once
	closed   bool
}

// New makes a Bridge whose news are told by p.
func New(p *producer.Producer, cfg Config) (*Bridge, error) { return newOver(p, cfg, nil) }

// newOver does the work of New; transport is the network, which tests replace, or nil for the real
// one. It checks cfg, and opens what was told before; nothing is sent yet.
func newOver(p *producer.Producer, cfg Config, transport http.RoundTripper) (*Bridge, error) {
	address, isWeb := httpguard.WebAddress(cfg.URL)
	unknown := slices.IndexFunc(cfg.Events, func(name string) bool { return !slices.Contains(Events(), name) })
	switch {
	case !isWeb:
		return nil, fmt.Errorf("akashik: %q is not the address of a field, such as https://field.example", cfg.URL)
	case cfg.Token != "" && address.Scheme == "http" && !httpguard.LoopbackName(address.Hostname()):
		return nil, errors.New("akashik: the token could be read on the way: the address must begin with https")
	case math.IsNaN(cfg.MinRelevance) || cfg.MinRelevance < 0 || cfg.MinRelevance > 1:
		return nil, fmt.Errorf("akashik: the relevance must be from 0 to 1; it is %v", cfg.MinRelevance)
	case unknown >= 0:
		return nil, fmt.Errorf("akashik: %q is no event of a field; those are %s", cfg.Events[unknown],
			strings.Join(Events(), ", "))
	case cfg.Debounce < 0:
		return nil, fmt.Errorf("akashik: the debounce must not be negative; it is %v", cfg.Debounce)
	case cfg.Poll != 0 && cfg.Poll < time.Second:
		return nil, fmt.Errorf("akashik: the field must be asked after a second at least; it is %v", cfg.Poll)
	case cfg.Window < 0 || cfg.Window > mostWindow:
		return nil, fmt.Errorf("akashik: the window must be from 0 to %v; it is %v", mostWindow, cfg.Window)
	}
	if len(cfg.Events) == 0 {
		cfg.Events = Events()
	}
	cfg.Logger = shield.Logger(cfg.Logger)
	cfg.Role = cmp.Or(cfg.Role, "observer")
	cfg.Poll = cmp.Or(cfg.Poll, 5*time.Second)
	cfg.AnswerTime = cmp.Or(cfg.AnswerTime, 5*time.Minute)
	seen, err := bridge.OpenSeen(cfg.Seen, time.Now())
	if err != nil {
		return nil, fmt.Errorf("akashik: what was told cannot be remembered: %w", err)
	}
	b := &Bridge{p: p, cfg: cfg, seen: seen, claims: map[string]string{}, warned: map[string]bool{}}
	b.name = cmp.Or(toolwords.Label(cfg.Name), toolwords.Label(address.Host))
	file := bridge.PlacesFile(cfg.Seen)
	if err := bridge.ReadState(file, &b.place); err != nil {
		seen.Close()
		return nil, fmt.Errorf("akashik: how far the field was told cannot be read from %s: %w", file, err)
	}
	if id := cmp.Or(cfg.AgentID, b.place.Agent, "aaep-"+strings.ToLower(rand.Text()[:8])); id != b.place.Agent {
		b.place.Agent, b.place.Registered = id, false
	}
	b.f = &field{url: cfg.URL, token: cfg.Token, agent: b.place.Agent, http: bridge.NewClient(transport, "field")}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b, nil
}

// Close withdraws an open question and waits for it, announces what was gathered, ends the session
// and closes the files. The Bridge takes no news afterwards.
func (b *Bridge) Close() error {
	b.mu.Lock()
	b.cancel()
	b.mu.Unlock()
	b.asks.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	err := b.flushPending()
	b.endSession(bridge.Ours("The field is no longer followed."))
	return errors.Join(err, b.seen.Close())
}

// takeNews announces news that came together: each once, and only of the kinds and relevance that
// Config wants. With an error they were not announced, and may be taken again. b.seen remembers
// them, also across a restart. It takes b.mu.
func (b *Bridge) takeNews(all []*news) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.ctx.Err() != nil {
		return producer.ErrClosed
	}
	now := time.Now()
	for _, n := range all {
		b.learnClaims(n)
		isRelevant := n.relevance >= b.cfg.MinRelevance || n.event == handoffIncoming
		isWanted := isRelevant && slices.Contains(b.cfg.Events, n.event)
		if !isWanted && !n.wantAction {
			continue
		}
		wasTold := b.seen.Told(now, now, n.name...)
		mustAsk := n.wantAction && !b.seen.Told(now, now, n.actionName()...)
		if !wasTold {
			if err := b.announceNews(n, now); err != nil {
				return err
			}
		}
		names := [][]string{n.name}
		if mustAsk {
			if err := b.requireAction(n); err != nil {
				return err
			}
			names = append(names, n.actionName())
		}
		for _, name := range names {
			if err := b.seen.Record(now, name...); err != nil {
				b.cfg.Logger.Error("akashik: what was told is not remembered across a restart", "error", err)
			}
		}
	}
	if !b.window.IsOpen() {
		return b.flushPending()
	}
	return nil
}

// learnClaims stores the summary of the record that news are about, of mostClaims records at most,
// and withdraws the questions that the news settle: about a conflict that is resolved, or a record
// that another took the place of. The caller holds b.mu.
func (b *Bridge) learnClaims(n *news) {
	hasRoom := len(b.claims) < mostClaims || b.claims[n.unit] != ""
	if n.unit != "" && n.summary != "" && hasRoom {
		b.claims[n.unit] = n.summary
	}
	settled := func(open *news) bool {
		isResolved := n.event == conflictResolved && n.conflict != "" && n.conflict == open.conflict
		isSuperseded := n.event == superseded && n.unit != "" && n.unit == open.unit
		return isResolved || isSuperseded
	}
	b.waiting = slices.DeleteFunc(b.waiting, settled)
	if b.asking != nil && settled(b.asking) {
		b.withdraw()
	}
}

// announceNews announces news at once, or gathers them until the window ends. News that want an
// action of a person, a handoff and the end of the field's session are never gathered. The caller
// holds b.mu.
func (b *Bridge) announceNews(n *news, now time.Time) error {
	atOnce := n.wantAction || n.event == handoffIncoming || n.event == sessionEnded
	if !atOnce {
		if b.cfg.Window > 0 {
			b.pending.Add(n.event, n.epoch, n.sentence)
		} else if err := b.announceResult(n.sentence); err != nil {
			return err
		}
		if delay := now.Sub(n.at); !n.at.IsZero() && delay > max(b.late, lateTime) {
			b.late = delay
		}
		return nil
	}
	if err := b.flushPending(); err != nil {
		return err
	}
	switch {
	case n.event == sessionEnded && !n.wantAction:
		if err := b.openSession(); err != nil {
			return err
		}
		b.endSession(aaep.Say(n.sentence))
		return nil
	case n.event == handoffIncoming && !n.wantAction:
		return b.handOver(n.sentence)
	}
	if !b.cfg.Record { // requireAction tells it
		return nil
	}
	return b.announceResult(n.sentence)
}

// handOver announces as a handoff, with text as the reason, that a person is waited for who cannot
// answer here. The caller holds b.mu.
func (b *Bridge) handOver(text string) error {
	if err := b.openSession(); err != nil {
		return err
	}
	b.told++
	return bridge.HandOver(b.s, text)
}

// flushPending announces what was gathered, as one digest, and how late it comes, and opens the
// next window; without anything gathered it only closes this one. What could not be announced stays
// gathered. The caller holds b.mu.
func (b *Bridge) flushPending() error {
	b.window.Close()
	if b.pending.Total() == 0 && b.late == 0 {
		return nil
	}
	if b.cfg.Window > 0 && !b.closed {
		b.window.Open(b.cfg.Window, &b.mu, func() {
			if err := b.flushPending(); err != nil {
				b.cfg.Logger.Error("akashik: news could not be told", "error", err)
			}
		})
	}
	for _, text := range b.pending.Sentences("update", "", kinds) {
		if err := b.announceResult(text); err != nil {
			return err
		}
	}
	if b.late > 0 {
		delay := words.Spoken(b.late.Round(time.Minute))
		if err := b.announceResult("That comes late: the oldest is from " + delay + " ago."); err != nil {
			return err
		}
	}
	b.pending, b.late = bridge.Digest{}, 0
	return nil
}

// openSession starts a session where there is none, or where the old one has mostOfSession
// announcements. The caller holds b.mu.
func (b *Bridge) openSession() error {
	if b.told >= mostOfSession && b.asking == nil {
		b.endSession(bridge.Ours("What follows is told in a new session."))
	}
	if b.s != nil {
		return nil
	}
	text := "Following the field " + words.Sentence(b.name)
	if b.about != "" {
		text += " " + b.about
	}
	s, err := b.p.StartSession(context.Background(), bridge.Ours(text))
	if err != nil {
		return err
	}
	b.s, b.told = s, 0
	return nil
}

// announceResult emits a sentence as an output of its own, which later news does not replace. The
// caller holds b.mu.
func (b *Bridge) announceResult(text string) error {
	if err := b.openSession(); err != nil {
		return err
	}
	b.told++
	return bridge.AnnounceResult(b.s, text)
}

// endSession completes the session with a text, if there is one. The caller holds b.mu.
func (b *Bridge) endSession(text aaep.Text) {
	if b.s != nil {
		b.s.Complete(text)
		b.s = nil
	}
}

// announceNote announces a sentence about the field or its link that is no news of the field, after
// what was gathered. Once the Bridge is closed it does nothing. An error is logged. It takes b.mu.
func (b *Bridge) announceNote(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if err := errors.Join(b.flushPending(), b.announceResult(text)); err != nil {
		b.cfg.Logger.Error("akashik: it could not be told", "error", err)
	}
}

// announceNoteOnce announces a sentence as announceNote does, unless it was announced before. It
// takes b.mu.
func (b *Bridge) announceNoteOnce(text string) {
	b.mu.Lock()
	before := b.warned[text]
	b.warned[text] = true
	b.mu.Unlock()
	if !before {
		b.announceNote(text)
	}
}
