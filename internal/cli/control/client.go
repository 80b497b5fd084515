package control

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
)

// stateTime is how long a listener may take to say how it stands with it. What listens at its
// address and does not in that time is none.
const stateTime = 2 * time.Second

// Link is a link to one listener.
type Link struct {
	// Slot tells the listener from the others.
	Slot int
	// State is how it stood with it when the Link was made.
	State State
	conn  transports.Conn
}

// Find returns a Link to each listener of this user that runs, in the order of their slots. Slots
// for which skips returns true are left out; nil skips none. The caller closes the Links.
func Find(ctx context.Context, skips func(slot int) bool) []*Link {
	bySlot := make([]*Link, slots)
	var dialing sync.WaitGroup
	for slot := range slots {
		if skips != nil && skips(slot) {
			continue
		}
		dialing.Go(func() { bySlot[slot] = dial(ctx, slot) })
	}
	dialing.Wait()
	var links []*Link
	for _, l := range bySlot {
		if l != nil {
			links = append(links, l)
		}
	}
	return links
}

// dial reaches the listener of a slot, and returns the link with the listener's state, or nil where
// none answers within stateTime.
func dial(ctx context.Context, slot int) *Link {
	ctx, cancel := context.WithTimeout(ctx, stateTime)
	defer cancel()
	path, err := slotPath(slot)
	if err != nil {
		return nil
	}
	conn, err := ipc.Dialer{Path: path}.Dial(ctx)
	if err != nil {
		return nil
	}
	l := &Link{Slot: slot, conn: conn}
	if receiveJSON(ctx, conn, &l.State) != nil {
		conn.Close()
		return nil
	}
	return l
}

// Call sends a Request to the listener, and returns what came of it, which takes at most a second
// more than replyTime. The error says that the link broke.
func (l *Link) Call(ctx context.Context, r Request) (got Response, err error) {
	if err := sendJSON(ctx, l.conn, r); err != nil {
		return got, err
	}
	ctx, cancel := context.WithTimeout(ctx, replyTime+time.Second) // the listener says so itself before
	defer cancel()
	return got, receiveJSON(ctx, l.conn, &got)
}

// Watch calls noteState with each State that follows, until the listener is gone or ctx is done.
func (l *Link) Watch(ctx context.Context, noteState func(State)) {
	if sendJSON(ctx, l.conn, Request{Name: WatchName}) != nil {
		return
	}
	for {
		var s State
		msg, err := l.conn.Receive(ctx)
		if err != nil || json.Unmarshal(msg, &s) != nil {
			return
		}
		noteState(s)
	}
}

// Close ends the Link.
func (l *Link) Close() error { return l.conn.Close() }
