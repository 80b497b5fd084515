package delivery

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/internal/shield"
)

// Agent is what delivery asks of the agent whose log it sends. Its methods may be called by any
// goroutine that holds no lock of delivery, except where it says otherwise.
type Agent interface {
	// States returns one state.changed for each session that is under way, for a subscriber that
	// did not see how it came to where it is at cursor: that is upTo, or the end of the log if upTo
	// is beyond it. A session that has changed state after that reports it itself, though maybe not
	// first: changed is then the position of the newest such change, and 0 if there is none.
	States(upTo uint64) (cursor uint64, entries []shaper.Entry, changed uint64)
	// OpenQuestions returns the questions that are open, in the order in which they were put.
	OpenQuestions() []shaper.Entry
	// IsSettled reports whether ev asks a question that is not open here: it has been settled, or
	// was never put by this agent, as one that was republished.
	IsSettled(ev *aaep.Event) bool
	// StampsInOrder reports whether every event of a session is stamped no earlier than the one
	// before it, and LastStamp knows the newest stamp.
	StampsInOrder() bool
	// LastStamp returns the newest stamp of a session if all its events are before cursor, and
	// zero otherwise. certain is false if that could not be found out without waiting. It is called
	// with a group's mu held, and must not wait.
	LastStamp(session string, cursor uint64) (stamp time.Time, certain bool)
}

// Config is what a Dispatcher is made of. All of it is needed, except Critical.
type Config struct {
	Agent Agent
	// Log is what is sent. What is in it when the Dispatcher is made was put there by an earlier
	// process, whose questions are no longer open.
	Log    *eventlog.Log
	Logger *slog.Logger
	Shield *shield.Shield // calls the links
	// Grace is how long a subscription may be without a stream.
	Grace time.Duration
	// Serving ends when the agent appends nothing more. Subscriptions send what is left, and end.
	Serving context.Context
	// Critical is called when a critical event was handed to a link, with the time since the agent
	// emitted it; nil: it is not measured. Resumed is called when a stream that broke goes on, and
	// its result when it has.
	Critical func(delay time.Duration)
	Resumed  func() (ended func(error))
	// Receivers counts the goroutines that receive from links, and Groups those that serve groups.
	Receivers, Groups *sync.WaitGroup
}

// Dispatcher sends one log to its subscriptions.
type Dispatcher struct {
	Config
	// Moved is broadcast when a subscription is connected or disconnected while it is watched, or
	// has let a watched event leave. The producer broadcasts it for changes of its own too.
	Moved Signal

	began   uint64    // the end of the log when the Dispatcher was made
	born    time.Time // when that was
	groups  groups
	encoded encodedCache

	// served is the list of the subscriptions that are served, in the order in which they came. Any
	// goroutine may load it. It is replaced with mu held, and what a loaded slice shows never
	// changes.
	served  atomic.Pointer[[]*Subscription]
	notices atomic.Pointer[notices] // replaced with mu held
	mu      sync.Mutex              // a leaf; held while served or notices is replaced
}

// notices are events that subscribers receive outside the log: no stream goes on after one. A value
// never changes; Dispatcher.notices points to the newest.
type notices struct {
	all  []*aaep.Event // the newest, at most keptNotices
	last uint64        // how many there have been
}

// keptNotices is how many notices are kept for streams that have not read them.
const keptNotices = 64

// New returns a Dispatcher without subscriptions. The log keeps what those are yet to read.
func New(cfg Config) *Dispatcher {
	d := &Dispatcher{Config: cfg, began: cfg.Log.End(), born: time.Now()}
	d.served.Store(new([]*Subscription))
	d.groups.all.Store(new([]*group))
	d.notices.Store(&notices{})
	d.Log.SetNeeded(d.lowestCursor)
	return d
}

// Add adds a subscription to those that are served; Begin has been called for it.
func (d *Dispatcher) Add(sub *Subscription) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.served.Store(new(append(*d.served.Load(), sub))) // a loaded slice does not show it
}

// Remove takes a subscription out of those that are served.
func (d *Dispatcher) Remove(gone *Subscription) {
	d.mu.Lock()
	defer d.mu.Unlock()
	isGone := func(sub *Subscription) bool { return sub == gone }
	d.served.Store(new(slices.DeleteFunc(slices.Clone(*d.served.Load()), isGone)))
}

// Announce sends events outside the log, to every subscription that is served now. Any goroutine
// may call it; it takes d.mu, and does not wait for the subscribers.
func (d *Dispatcher) Announce(events ...*aaep.Event) {
	d.mu.Lock()
	old := d.notices.Load()
	now := &notices{all: append(slices.Clone(old.all), events...), last: old.last + uint64(len(events))}
	now.all = now.all[max(0, len(now.all)-keptNotices):]
	d.notices.Store(now)
	d.mu.Unlock()
	d.WakeAll()
}

// WakeAll wakes every group, and every subscription in no group, to read the log and the notices.
// Any goroutine may call it, with any lock held; it never waits.
func (d *Dispatcher) WakeAll() {
	for _, g := range *d.groups.all.Load() {
		g.wake()
	}
	for _, sub := range *d.served.Load() {
		if sub.group.Load() == nil {
			sub.Wake()
		}
	}
}

// lowestCursor returns the lowest cursor of the subscriptions that have a stream, or
// math.MaxUint64: the log keeps what comes after it. The log calls it with its own lock held, so it
// takes no lock.
func (d *Dispatcher) lowestCursor() uint64 {
	need := uint64(math.MaxUint64)
	for _, sub := range *d.served.Load() {
		c := &sub.logCursor
		if g := sub.group.Load(); g != nil {
			c = &g.logCursor
		}
		need = min(need, c.needs.Load())
	}
	return need
}

// SlowestLag returns how many entries the slowest subscription that has a stream is yet to read. It
// takes no lock.
func (d *Dispatcher) SlowestLag() uint64 {
	end := d.Log.End()
	return end - min(end, d.lowestCursor())
}

// eventID returns the id of an event that a Shaper makes of the entry at pos; see eventlog.Place.
// Every Shaper gets it when it is made.
func (d *Dispatcher) eventID(pos uint64, offset int, form uint32) string {
	return d.Log.EventID(eventlog.Place{Pos: pos, Offset: offset, Form: form})
}

// newEventID returns a random id for an event that is not in the log.
func newEventID() string {
	var b [16]byte
	rand.Read(b[:])
	return "evt_" + hex.EncodeToString(b[:])
}

// Signal wakes all goroutines that wait for something to change. The zero Signal is ready, and any
// goroutine may use it.
type Signal struct {
	mu   sync.Mutex    // a leaf; guards next
	next chan struct{} // closed at the next change; nil while no goroutine waits
}

// Changed returns a channel that is closed at the next change. The caller takes the channel first
// and looks at the state that may change afterwards, so that it misses no change in between.
func (s *Signal) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

// Broadcast wakes every goroutine that waits for a change. Any goroutine may call it, with any lock
// held; it never waits.
func (s *Signal) Broadcast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}
