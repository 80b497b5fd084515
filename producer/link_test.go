package producer_test

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// sharedLink is a Pipe's end that one goroutine can write to for many. A Pipe chooses at random
// between room that there is and a context that is done, and so it is random whether this takes
// what it is offered: in all tests here subscriptions leave their groups and join them.
type sharedLink struct {
	transports.Conn
	mu   sync.Mutex
	rest []transports.Event // taken, and not sent
	full bool               // takes nothing that is offered
}

var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Framing names the frames of appendShared.
func (l *sharedLink) Framing() string { return "shared" }

// AppendEvents appends events in the frames of appendShared.
func (l *sharedLink) AppendEvents(b []byte, events []transports.Event) ([]byte, error) {
	return appendShared(b, events), nil
}

// TrySend sends whole events as long as the Pipe takes them, and keeps the rest if it took one.
func (l *sharedLink) TrySend(frames []byte) (taken int) {
	if !l.mu.TryLock() {
		return 0
	}
	defer l.mu.Unlock()
	if len(l.rest) > 0 || l.full {
		return 0
	}
	all := readShared(frames)
	for i, ev := range all {
		if l.Send(over, ev.Message) != nil {
			l.rest = all[i:]
			if i == 0 {
				l.rest = nil
			}
			return taken
		}
		taken += frameHead + len(ev.Message) + len(ev.ID)
	}
	return taken
}

// SendEvents sends what TrySend has kept, and then the events.
func (l *sharedLink) SendEvents(ctx context.Context, events []transports.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	events, l.rest = append(l.rest, events...), nil
	for _, ev := range events {
		if err := l.Send(ctx, ev.Message); err != nil {
			return err
		}
	}
	return nil
}

const frameHead = 8

// appendShared appends events as frames, each with its length and the length of its id before it.
func appendShared(b []byte, events []transports.Event) []byte {
	for _, ev := range events {
		b = binary.BigEndian.AppendUint32(b, uint32(len(ev.Message)))
		b = binary.BigEndian.AppendUint32(b, uint32(len(ev.ID)))
		b = append(append(b, ev.Message...), ev.ID...)
	}
	return b
}

// readShared is the reverse of appendShared.
func readShared(frames []byte) (events []transports.Event) {
	for len(frames) > 0 {
		msg, id := binary.BigEndian.Uint32(frames), binary.BigEndian.Uint32(frames[4:])
		frames = frames[frameHead:]
		events = append(events, transports.Event{Message: append([]byte(nil), frames[:msg]...), ID: string(frames[msg : msg+id])})
		frames = frames[msg+id:]
	}
	return events
}

// agentLink is a producer's end whose events go over streams that can break.
type agentLink struct {
	transports.Conn
	streams chan transports.Stream // holds one
	in      chan []byte            // messages for Receive
	ended   error                  // why in was closed; set before that

	mu     sync.Mutex
	notify func()
	newest *eventStream
	alone  bool // answers can only be sent on the stream
}

// Send sends an answer: in response to a message or, after hangUp, on the newest stream.
func (l *agentLink) Send(ctx context.Context, msg []byte) error {
	l.mu.Lock()
	stream, alone := l.newest, l.alone
	l.mu.Unlock()
	if !alone {
		return l.Conn.Send(ctx, msg)
	}
	return stream.SendEvents(ctx, []transports.Event{{Message: msg}})
}

// hangUp breaks the requests that wait for an answer, as when a network is gone for a moment.
func (l *agentLink) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alone = true
}

// Notify starts to receive messages, and calls f for each.
func (l *agentLink) Notify(f func()) {
	l.mu.Lock()
	l.notify = f
	l.mu.Unlock()
	go func() {
		for l.ended == nil {
			msg, err := l.Conn.Receive(context.Background())
			if err == nil {
				l.in <- msg
			} else {
				l.ended = err
				close(l.in)
			}
			f()
		}
	}()
	f()
}

// Receive waits for the request; with a context that is done it returns what has come.
func (l *agentLink) Receive(ctx context.Context) ([]byte, error) {
	if ctx.Err() == nil { // the request
		return l.Conn.Receive(ctx)
	}
	select {
	case msg, ok := <-l.in:
		if !ok {
			return nil, l.ended
		}
		return msg, nil
	default:
		return nil, ctx.Err()
	}
}

// NextStream returns a stream that has been opened and not taken; it does not wait.
func (l *agentLink) NextStream(ctx context.Context) (transports.Stream, error) {
	select {
	case s := <-l.streams:
		return s, nil
	default:
		return nil, ctx.Err()
	}
}

// open makes s the newest stream and notifies the producer.
func (l *agentLink) open(s *eventStream) {
	l.mu.Lock()
	l.newest = s
	l.mu.Unlock()
	l.streams <- s
	l.notifyOwner()
}

// notifyOwner calls the function that Notify was given.
func (l *agentLink) notifyOwner() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notify()
}

// eventStream is a stream that takes events until it breaks.
type eventStream struct {
	link *agentLink
	last string // the id to go on after
	done chan struct{}

	mu     sync.Mutex
	broken bool
	got    []arrival
	resume string // the last id that a stream can go on after
	lossy  bool   // what comes after the first keeps events is lost on the way
	keeps  int
}

// LastEventID returns the id to go on after.
func (s *eventStream) LastEventID() string { return s.last }

// Done returns a channel that is closed when the stream breaks.
func (s *eventStream) Done() <-chan struct{} { return s.done }

// SendEvents takes the events, or loses them if the stream is lossy.
func (s *eventStream) SendEvents(_ context.Context, events []transports.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range events {
		if s.broken {
			return transports.ErrInterrupted
		}
		m, err := aaep.Decode(ev.Message)
		if err != nil {
			return err
		}
		if s.lossy && len(s.got) >= s.keeps {
			continue
		}
		if s.got = append(s.got, arrival{time.Now(), ev.Message, m}); ev.ID != "" {
			s.resume = ev.ID
		}
	}
	return nil
}

// Framing names the frames of appendShared.
func (s *eventStream) Framing() string { return "stream" }

// AppendEvents appends events in the frames of appendShared.
func (s *eventStream) AppendEvents(b []byte, events []transports.Event) ([]byte, error) {
	return appendShared(b, events), nil
}

// TrySend takes all frames or, if the stream is broken, none.
func (s *eventStream) TrySend(frames []byte) int {
	if s.SendEvents(context.Background(), readShared(frames)) != nil {
		return 0
	}
	return len(frames)
}

// breakStream breaks the stream and notifies the producer.
func (s *eventStream) breakStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.broken {
		s.broken = true
		close(s.done)
		s.link.notifyOwner()
	}
}

// arrivals returns what has come, once everything that can happen now has happened.
func (s *eventStream) arrivals() []arrival {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// resumableID returns the last id that may be gone on after, or "".
func (s *eventStream) resumableID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resume
}

// events returns the events among the arrivals.
func (s *eventStream) events() []*aaep.Event { return eventsOf(s.arrivals()) }

// listenResumable subscribes over a link whose streams are opened by open.
func (st *stage) listenResumable(c aaep.Capabilities) (l *listener, open func(last string) *eventStream) {
	a, b := transports.Pipe()
	wire := &agentLink{Conn: b, streams: make(chan transports.Stream, 1), in: make(chan []byte, 2000)}
	l = &listener{t: st.t, conn: a, served: make(chan struct{})}
	st.all = append(st.all, l)
	go func() { defer close(l.served); st.p.ServeConn(wire) }()
	l.startReading()
	l.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: c})
	if l.lastMessage() == nil { // a question that is open is being recorded
		time.Sleep(100 * time.Millisecond)
	}
	acc, ok := l.lastMessage().(*aaep.SubscriptionAccepted)
	if !ok {
		st.t.Fatalf("the answer is %+v", l.lastMessage())
	}
	l.id, l.wire = acc.SubscriptionID, wire
	var before *eventStream
	return l, func(last string) *eventStream {
		s := &eventStream{link: wire, last: last, done: make(chan struct{})}
		if st.lose != nil {
			s.keeps, s.lossy = st.lose()
		}
		if before != nil {
			before.breakStream() // one takes the place of the other
		}
		before = s
		wire.open(s)
		return s
	}
}
