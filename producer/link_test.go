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

// A sharedLink can be written to by one goroutine for many. As a Pipe chooses at random between room that there is and a context
// that is done, so does it whether it takes what it is offered: all tests here see listeners leave their groups and join them.
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

func (l *sharedLink) Framing() string { return "shared" }

func (l *sharedLink) AppendEvents(b []byte, events []transports.Event) ([]byte, error) {
	return appendShared(b, events), nil
}

func (l *sharedLink) TrySend(frames []byte) (taken int) {
	if !l.mu.TryLock() {
		return 0
	}
	defer l.mu.Unlock()
	if len(l.rest) > 0 || l.full {
		return 0
	}
	all := shared(frames)
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

func appendShared(b []byte, events []transports.Event) []byte {
	for _, ev := range events {
		b = binary.BigEndian.AppendUint32(b, uint32(len(ev.Message)))
		b = binary.BigEndian.AppendUint32(b, uint32(len(ev.ID)))
		b = append(append(b, ev.Message...), ev.ID...)
	}
	return b
}

func shared(frames []byte) (events []transports.Event) {
	for len(frames) > 0 {
		msg, id := binary.BigEndian.Uint32(frames), binary.BigEndian.Uint32(frames[4:])
		frames = frames[frameHead:]
		events = append(events, transports.Event{Message: append([]byte(nil), frames[:msg]...), ID: string(frames[msg : msg+id])})
		frames = frames[msg+id:]
	}
	return events
}

// link is a producer's end whose events go over streams that can break.
type link struct {
	transports.Conn
	streams chan transports.Stream // holds one
	in      chan []byte
	ended   error // once in is closed

	mu     sync.Mutex
	notify func()
	newest *eventStream
	alone  bool // nobody waits for an answer but on the stream
}

func (l *link) Send(ctx context.Context, msg []byte) error {
	l.mu.Lock()
	stream, alone := l.newest, l.alone
	l.mu.Unlock()
	if !alone {
		return l.Conn.Send(ctx, msg)
	}
	return stream.SendEvents(ctx, []transports.Event{{Message: msg}})
}

// hangUp ends what waits for an answer, as when a network is gone for a moment.
func (l *link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alone = true
}

func (l *link) Notify(f func()) {
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

func (l *link) Receive(ctx context.Context) ([]byte, error) {
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

func (l *link) NextStream(ctx context.Context) (transports.Stream, error) {
	select {
	case s := <-l.streams:
		return s, nil
	default:
		return nil, ctx.Err()
	}
}

func (l *link) open(s *eventStream) {
	l.mu.Lock()
	l.newest = s
	l.mu.Unlock()
	l.streams <- s
	l.told()
}

// told tells whoever is to know.
func (l *link) told() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notify()
}

// eventStream takes events until it breaks.
type eventStream struct {
	link *link
	last string // the id to go on after
	done chan struct{}

	mu     sync.Mutex
	broken bool
	got    []arrival
	resume string // the last id that may be gone on after
	lossy  bool   // what comes after so many events is lost on the way
	keeps  int
}

func (s *eventStream) LastEventID() string   { return s.last }
func (s *eventStream) Done() <-chan struct{} { return s.done }
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

func (s *eventStream) Framing() string { return "stream" }
func (s *eventStream) AppendEvents(b []byte, events []transports.Event) ([]byte, error) {
	return appendShared(b, events), nil
}
func (s *eventStream) TrySend(frames []byte) int {
	if s.SendEvents(context.Background(), shared(frames)) != nil {
		return 0
	}
	return len(frames)
}

func (s *eventStream) breaks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.broken {
		s.broken = true
		close(s.done)
		s.link.told()
	}
}

func (s *eventStream) arrivals() []arrival {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *eventStream) events() []*aaep.Event { return events(s.arrivals()) }

// resumable subscribes over a link whose streams are opened by open.
func (st *stage) resumable(c aaep.Capabilities) (l *listener, open func(last string) *eventStream) {
	a, b := transports.Pipe()
	wire := &link{Conn: b, streams: make(chan transports.Stream, 1), in: make(chan []byte, 2000)}
	l = &listener{t: st.t, conn: a, served: make(chan struct{})}
	st.all = append(st.all, l)
	go func() { defer close(l.served); st.p.ServeConn(wire) }()
	l.read()
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
			before.breaks() // one takes the place of the other
		}
		before = s
		wire.open(s)
		return s
	}
}
