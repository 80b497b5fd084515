package producer_test

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

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
