package subscriber

import (
	"context"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/transports"
)

// Events nobody has asked for yet. Past these bounds the link is not read, so that the producer feels it;
// while the user's own message is under way it is read on, up to the wider bounds.
const (
	waitingEvents = 256
	waitingBytes  = 16 << 20
	wider         = 16 // times as much
)

// An inbox is the queue between the goroutine that reads the link and those that call Next.
type inbox struct {
	mu     sync.Mutex
	events []arrival
	bytes  int
	count  int           // of events that ever came
	place  string        // of the last that was taken
	hurry  int           // messages under way
	calm   chan struct{} // closed when none is; nil before the first

	arrived chan struct{} // one token while there are events
	room    chan struct{} // one token when there may be room again
}

type arrival struct {
	event *aaep.Event
	size  int
	place string    // the event to go on after, for who has had this one
	hold  time.Time // until when a late question waits for what settles it; zero for all else
	own   bool      // it came from no producer, and place is none
}

// A question that comes more than late after it was asked is kept for so long: what settled it comes right behind it where a
// producer tells its past to whoever begins, or after a cut.
const (
	late     = 2 * time.Second // more than clocks differ that show the same time (D-35)
	longHeld = 250 * time.Millisecond
)

// presses reports whether it is critical and waits for nothing but its turn: what is held before it then goes first, at once.
func (a arrival) presses() bool { return a.hold.IsZero() && a.event.Critical() }

func newInbox() inbox {
	return inbox{arrived: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// signal leaves a token without waiting.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put adds an event if there is room; crowded is true if there is none even though somebody is in a hurry.
func (b *inbox) put(a arrival) (ok, crowded bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 1
	if b.hurry > 0 {
		n = wider
	}
	if len(b.events) >= n*waitingEvents || b.bytes >= n*waitingBytes {
		return false, b.hurry > 0
	}
	b.events, b.bytes = append(b.events, a), b.bytes+a.size
	if a.hold.IsZero() {
		b.count++
	}
	signal(b.arrived)
	return true, false
}

// received is how many events came that will be handed on.
func (b *inbox) received() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// take removes the oldest event, or returns nil; if that is held, also for how long. Nothing is held once all is over.
func (b *inbox) take(over bool) (ev *aaep.Event, held time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.events) == 0 {
		return nil, 0
	}
	a := b.events[0]
	if !a.hold.IsZero() {
		if held = time.Until(a.hold); held > 0 && !over && !slices.ContainsFunc(b.events, arrival.presses) {
			return nil, held
		}
		b.count++
	}
	if !a.own {
		b.place = a.place
	}
	b.events[0] = arrival{}
	b.events, b.bytes = b.events[1:], b.bytes-a.size
	if len(b.events) > 0 {
		signal(b.arrived) // for another Next
	}
	signal(b.room)
	return a.event, 0
}

// withdraw removes the held questions that ev says are no longer open.
func (b *inbox) withdraw(ev *aaep.Event) (settled []*aaep.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = slices.DeleteFunc(b.events, func(a arrival) bool {
		gone := !a.hold.IsZero() && closes.Question(a.event, ev)
		if gone {
			settled, b.bytes = append(settled, a.event), b.bytes-a.size
		}
		return gone
	})
	if len(settled) > 0 {
		signal(b.room)
		signal(b.arrived) // what is behind them waits for nothing
	}
	return settled
}

// widen makes room for more until the function it returns is called.
func (b *inbox) widen() func() {
	add := func(n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.hurry == 0 {
			b.calm = make(chan struct{})
		}
		if b.hurry += n; b.hurry == 0 {
			close(b.calm)
		}
	}
	add(1)
	signal(b.room)
	return func() { add(-1) }
}

// settled waits until no message of the user's is under way, but not long: a reply whose subscription ends while
// the producer answers it has arrived, and its sender should know.
func (b *inbox) settled(ctx context.Context) {
	b.mu.Lock()
	calm := b.calm
	b.mu.Unlock()
	if calm == nil {
		return
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-calm:
	case <-t.C:
	case <-ctx.Done():
	}
}

// Next returns the next event, in order and each once; a question that is still open comes again after the
// producer was subscribed to anew, for only then can it be answered there. Next returns io.EOF after
// Close, an *aaep.Rejection after the producer closed or refused for good, and ctx's error if that is done
// first, which loses nothing. What was received before the end is handed on before the error. Where events of the producer were lost,
// or may have been, an event of aaep.TypeLost stands in their place.
//
// A question that comes long after it was asked, and together with what settled it, is not handed on to a subscriber that
// offered to answer it: nobody should be asked what is decided.
func (s *Subscription) Next(ctx context.Context) (*aaep.Event, error) {
	if !s.dialed() {
		return nil, errNotDialed
	}
	for {
		ev, held := s.inbox.take(false)
		if ev != nil {
			return ev, nil
		}
		var release <-chan time.Time
		if held > 0 {
			release = time.After(held)
		}
		select {
		case <-s.inbox.arrived:
		case <-release:
		case <-ctx.Done():
			signal(s.inbox.arrived) // for another Next
			return nil, ctx.Err()
		case <-s.done:
			if ev, _ := s.inbox.take(true); ev != nil {
				return ev, nil
			}
			return nil, s.why()
		}
	}
}

// Events is Next as an iterator. After Close it ends; any other error is its last pair. Leaving the loop
// leaves the subscription open. An agent that shuts down does not end it, for that may come back: the
// subscription asks anew until Close, or ctx is done.
func (s *Subscription) Events(ctx context.Context) iter.Seq2[*aaep.Event, error] {
	return func(yield func(*aaep.Event, error) bool) {
		for {
			ev, err := s.Next(ctx)
			// Not errors.Is: the error of a broken link may have an io.EOF inside.
			if err == io.EOF || !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// why is the reason for which the subscription is over.
func (s *Subscription) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// receive hands an event on, unless it came before or is one of far too many. It waits while too many wait already.
func (s *Subscription) receive(conn transports.Conn, ev *aaep.Event, size int) error {
	s.noteWithin(ev)
	s.withdraw(ev)
	if !s.note(ev, size) || s.floods(ev) || !s.texts.trim(ev) || s.texts.stale(ev) {
		return nil
	}
	s.checkOrder(ev)
	s.report(ev)
	s.translate(ev)
	if saysLost(ev) {
		s.tellLost()
	}
	return s.queue(arrival{ev, size, s.placeOn(conn), s.hold(ev), false})
}

// queue waits for room for an event that is handed on.
func (s *Subscription) queue(a arrival) error {
	for {
		ok, crowded := s.inbox.put(a)
		if ok {
			return nil
		}
		if crowded {
			signal(s.crowded)
		}
		select {
		case <-s.inbox.room:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// hold is until when a late question is kept, for a user who could answer it.
func (s *Subscription) hold(ev *aaep.Event) (until time.Time) {
	now := time.Now()
	if _, asks := closes.Token(ev); !asks || now.Sub(ev.Timestamp) <= late {
		return until
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mayAnswer(ev) {
		until = now.Add(longHeld)
	}
	return until
}

// withdraw forgets the questions that nobody was asked yet and that an event settles. That event may have come before.
func (s *Subscription) withdraw(by *aaep.Event) {
	for _, ev := range s.inbox.withdraw(by) {
		s.cfg.Logger.Info("question was settled before it came", "session_id", ev.SessionID, "event_id", ev.EventID)
		token, _ := closes.Token(ev)
		s.mu.Lock()
		s.forget(token)
		s.mu.Unlock()
	}
}

// note remembers an event, and reports whether it is to be handed on.
func (s *Subscription) note(ev *aaep.Event, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passLocked(ev)
	token, asks := closes.Token(ev)
	before, known := s.seen[ev.EventID]
	q := s.open[token]
	if known && (!asks || before == s.generation || q != nil && q.answered) {
		return false
	}
	if asks && q.inAnotherLanguage(ev) && q.answered {
		return false
	}
	s.seen[ev.EventID] = s.generation
	if !known {
		s.order = append(s.order, ev.EventID)
		if len(s.order) > remembered {
			delete(s.seen, s.order[0])
			s.order = s.order[1:]
		}
	}
	if asks {
		s.openQuestion(ev, size, token)
	} else {
		for t, q := range s.open {
			if told, ok := closes.TimeIn(q.event, q.limit(), ev); ok {
				q.time.told = told
			}
			if !closes.Question(q.event, ev) {
				continue
			}
			if q.close(); q.reply == nil || ev.Type().Terminal() { // one decision for each token
				s.forget(t)
			}
		}
	}
	return true
}

// checkOrder reports a session whose numbers run backwards (§8.2.3, D-10). Only the reading goroutine
// calls it.
func (s *Subscription) checkOrder(ev *aaep.Event) {
	if ev.SequenceNumber == nil {
		return
	}
	last, known := s.numbers[ev.SessionID]
	if known && *ev.SequenceNumber <= last {
		s.cfg.Logger.Warn("event out of order", "session_id", ev.SessionID, "event_id", ev.EventID,
			"sequence_number", *ev.SequenceNumber, "after", last)
		return
	}
	if !known && len(s.numbers) >= openQuestions {
		clear(s.numbers)
	}
	s.numbers[ev.SessionID] = *ev.SequenceNumber
	if ev.Type().Terminal() {
		delete(s.numbers, ev.SessionID)
	}
}

// report logs what was read liberally, once for each kind and place (D-07). Only the reading goroutine calls it.
func (s *Subscription) report(ev *aaep.Event) {
	const most = 256
	for _, v := range ev.Diagnostics {
		kind := v.Requirement + " " + v.Pointer + " " + string(ev.Type())
		kind = strings.Clone(kind[:min(len(kind), 256)])
		if s.reported[kind] || len(s.reported) >= most {
			continue
		}
		if s.reported == nil {
			s.reported = map[string]bool{}
		}
		s.reported[kind] = true
		s.cfg.Logger.Info("event read liberally", "type", ev.Type(), "event_id", ev.EventID, "violation", v.String())
	}
}
