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
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/transports"
)

// Bounds of the events that Next has not returned yet. Past these the link is not read, so that the
// producer feels it; while the user's own message is under way it is read on, up to the wider
// bounds.
const (
	waitingEvents = 256
	waitingBytes  = 16 << 20
	widerTimes    = 16 // times as much
)

// An inbox is the queue between the goroutine that reads the link and those that call Next.
type inbox struct {
	mu      sync.Mutex
	events  []arrival
	bytes   int           // the sizes of events together
	count   int           // how many events ever came
	place   string        // of the last event that was taken; see ResumeAfter
	sending int           // how many messages of the user's are under way
	read    bool          // Next was called
	ranging int           // how many loops over Questions run
	sentAll chan struct{} // closed when no message is under way; nil before the first

	arrived chan struct{} // one token while there are events
	room    chan struct{} // one token when there may be room again
}

// An arrival is an event in the inbox.
type arrival struct {
	event     *aaep.Event
	size      int
	place     string    // the event to go on after, for who has had this one
	heldUntil time.Time // until when a late question waits for what settles it; zero for all else
	own       bool      // it came from no producer, and place is none
}

// holdTime is how long a question is kept that comes later after it was asked than clocks differ:
// what settled it comes right behind it where a producer tells its past to a new subscription, or
// after a cut.
const holdTime = 250 * time.Millisecond

// isCriticalAndFree reports whether an event is critical and not held: what is held before it then
// goes first, at once.
func (a arrival) isCriticalAndFree() bool { return a.heldUntil.IsZero() && a.event.Critical() }

// newInbox makes an empty inbox.
func newInbox() inbox {
	return inbox{arrived: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// leaveToken puts a token into a channel of one, and never waits.
func leaveToken(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// addEvent adds an event at the end, and reports whether there was room; crowded says that there
// was none although a message of the user's is under way, for which the room is widened. Where only
// Questions is read, the oldest events make room. Any goroutine may call it.
func (b *inbox) addEvent(a arrival) (ok, crowded bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	times := 1
	if b.sending > 0 {
		times = widerTimes
	}
	isFull := func() bool { return len(b.events) >= times*waitingEvents || b.bytes >= times*waitingBytes }
	for b.ranging > 0 && !b.read && isFull() {
		b.removeOldest()
	}
	if isFull() {
		return false, b.sending > 0
	}
	b.events, b.bytes = append(b.events, a), b.bytes+a.size
	if a.heldUntil.IsZero() {
		b.count++
	}
	leaveToken(b.arrived)
	return true, false
}

// receivedCount returns how many events came that will be handed on.
func (b *inbox) receivedCount() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// takeOldest removes and returns the oldest event; Next calls it. It returns nil where there is
// none, or where the oldest is held for another while, which held is. isOver says that the
// subscription has ended: then nothing is held, nor is anything while a critical event that is not
// held waits.
func (b *inbox) takeOldest(isOver bool) (ev *aaep.Event, held time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = true
	if len(b.events) == 0 {
		return nil, 0
	}
	a := b.events[0]
	if !a.heldUntil.IsZero() {
		held = time.Until(a.heldUntil)
		endsHolding := isOver || slices.ContainsFunc(b.events, arrival.isCriticalAndFree)
		if held > 0 && !endsHolding {
			return nil, held
		}
		b.count++
	}
	b.removeOldest()
	if len(b.events) > 0 {
		leaveToken(b.arrived) // for another Next
	}
	leaveToken(b.room)
	return a.event, 0
}

// removeOldest removes the oldest event, which there must be, and notes its place as the one to
// resume after, unless this package made the event. It is called with b.mu held.
func (b *inbox) removeOldest() {
	a := b.events[0]
	if !a.own {
		b.place = a.place
	}
	b.events[0] = arrival{}
	b.events, b.bytes = b.events[1:], b.bytes-a.size
}

// dropUnread drops the oldest events where there is no room for more, as long as Next was never
// called, until the function it returns is called.
func (b *inbox) dropUnread() func() {
	add := func(n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ranging += n
	}
	add(1)
	leaveToken(b.room)
	return func() { add(-1) }
}

// removeSettled takes the questions out of the inbox that ev says are no longer open, and returns
// them. Only questions that are still held back count: one that the program may have read already
// stays. withdrawSettled calls it. It takes b.mu.
func (b *inbox) removeSettled(ev *aaep.Event) (settled []*aaep.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = slices.DeleteFunc(b.events, func(a arrival) bool {
		isSettled := !a.heldUntil.IsZero() && closes.Question(a.event, ev)
		if isSettled {
			settled, b.bytes = append(settled, a.event), b.bytes-a.size
		}
		return isSettled
	})
	if len(settled) > 0 {
		leaveToken(b.room)
		leaveToken(b.arrived) // what is behind them waits for nothing
	}
	return settled
}

// widenRoom makes room for more events while a message of the user's is under way, until the
// function it returns is called.
func (b *inbox) widenRoom() func() {
	add := func(n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.sending == 0 {
			b.sentAll = make(chan struct{})
		}
		if b.sending += n; b.sending == 0 {
			close(b.sentAll)
		}
	}
	add(1)
	leaveToken(b.room)
	return func() { add(-1) }
}

// awaitSent waits until no message of the user's is under way, for a second at most: a reply whose
// subscription ends while the producer answers it has arrived, and its sender should know.
func (b *inbox) awaitSent(ctx context.Context) {
	b.mu.Lock()
	sentAll := b.sentAll
	b.mu.Unlock()
	if sentAll == nil {
		return
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-sentAll:
	case <-t.C:
	case <-ctx.Done():
	}
}

// Next returns the next event, in order and each once; a question that is still open comes again
// after the producer was subscribed to anew, for only then can it be answered there. Next returns
// io.EOF after Close, an *aaep.Rejection after the producer closed or refused for good, and ctx's
// error if that is done first, which loses nothing. What was received before the end is handed on
// before the error. Where events of the producer were lost, or may have been, an event of
// aaep.TypeLost stands in their place.
//
// A question that comes long after it was asked, and together with what settled it, is not handed
// on to a subscriber that offered to answer it: a user should not be asked what is decided.
func (s *Subscription) Next(ctx context.Context) (*aaep.Event, error) {
	if !s.isDialed() {
		return nil, errNotDialed
	}
	for {
		ev, held := s.inbox.takeOldest(false)
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
			leaveToken(s.inbox.arrived) // for another Next
			return nil, ctx.Err()
		case <-s.done:
			if ev, _ := s.inbox.takeOldest(true); ev != nil {
				return ev, nil
			}
			return nil, s.endReason()
		}
	}
}

// Events is Next as an iterator. After Close it ends; any other error is its last pair. Leaving the
// loop leaves the subscription open. An agent that shuts down does not end it, for that may come
// back: the subscription asks anew until Close, or ctx is done.
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

// endReason returns why the subscription is over.
func (s *Subscription) endReason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// handleEvent hands an event on to Next, unless it came before or is one of far too many. It waits
// while too many wait already, and runs on the reading goroutine.
func (s *Subscription) handleEvent(conn transports.Conn, ev *aaep.Event, size int) error {
	s.noteWithin(ev)
	s.withdrawSettled(ev)
	if !s.noteEvent(ev, size) || s.isFlood(ev) || !s.texts.trimKnown(ev) || s.texts.isStale(ev) {
		return nil
	}
	s.checkOrder(ev)
	s.logDiagnostics(ev)
	s.chooseTranslation(ev)
	if saysLost(ev) {
		s.reportLost(false)
	}
	s.gap, s.gapAsked = false, false
	a := arrival{ev, size, s.placeOn(conn), s.holdUntil(ev), false}
	s.noteAsked(a)
	return s.queueEvent(a)
}

// queueEvent waits for room for an event, and adds it to the inbox; a renegotiation that waits is
// told that the inbox is full, which it may be because of its caller. The error is that of s.ctx.
// The reading goroutine calls it.
func (s *Subscription) queueEvent(a arrival) error {
	for {
		ok, crowded := s.inbox.addEvent(a)
		if ok {
			return nil
		}
		if crowded {
			leaveToken(s.crowded)
		}
		select {
		case <-s.inbox.room:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// holdUntil returns until when a late question is held, for a user who could answer it; the zero
// time for every other event.
func (s *Subscription) holdUntil(ev *aaep.Event) (until time.Time) {
	now := time.Now()
	if _, asks := closes.Token(ev); !asks || now.Sub(ev.Timestamp) <= hearing.ClocksDiffer {
		return until
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mayAnswer(ev) {
		until = now.Add(holdTime)
	}
	return until
}

// withdrawSettled drops the questions held in the inbox that an event settles, and forgets them, so
// that an answer to one is refused. Questions are held for a moment for this: what settles one may
// come before it.
func (s *Subscription) withdrawSettled(settling *aaep.Event) {
	for _, ev := range s.inbox.removeSettled(settling) {
		s.cfg.Logger.Info("question was settled before it came", "session_id", ev.SessionID, "event_id", ev.EventID)
		token, _ := closes.Token(ev)
		s.mu.Lock()
		s.forgetQuestion(token)
		s.mu.Unlock()
	}
}

// noteEvent remembers an event of size bytes, opens the question that it asks or closes those that
// it settles, and reports whether it is to be handed on. One that came before is not, unless it
// asks anew on another subscription what has no answer; nor is the same question in another
// language once it is answered. Only the reading goroutine calls it.
func (s *Subscription) noteEvent(ev *aaep.Event, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notePlaceLocked(ev)
	token, asks := closes.Token(ev)
	generation, known := s.seen[ev.EventID]
	q := s.questions[token]
	isAnswered := q != nil && q.answered
	asksAnew := asks && generation != s.generation && !isAnswered // on another subscription
	if known && !asksAnew {
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
		s.settleQuestions(ev)
	}
	return true
}

// settleQuestions closes the questions that an event settles, and takes from it how much time
// others have. One that a reply was made for is remembered until its session ends, for its token
// takes one decision. It is called with s.mu held.
func (s *Subscription) settleQuestions(ev *aaep.Event) {
	for token, q := range s.questions {
		if limit, ok := closes.TimeIn(q.event, q.timeLimit(), ev); ok {
			q.time.announcedLimit = limit
		}
		if !closes.Question(q.event, ev) {
			continue
		}
		q.close()
		if q.reply == nil || ev.Type().Terminal() {
			s.forgetQuestion(token)
		}
	}
}

// checkOrder logs a session whose numbers run backwards (§8.2.3, D-10), and nothing else: the event
// is handed on. An event without a number is not looked at, and beyond openQuestions sessions it
// begins anew. Only the reading goroutine calls it.
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

// logDiagnostics logs what was read liberally, once for each kind and place (D-07). Only the
// reading goroutine calls it.
func (s *Subscription) logDiagnostics(ev *aaep.Event) {
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
