package httpguard

import (
	"errors"
	"io"
	"sync"
	"time"
)

const (
	// A message of more bytes is large. What large messages cost is bounded for all that a
	// LargeMessages reads.
	largeSize = 64 << 10
	// how many are held at once
	maxLarge = 32
	// And how many of one sender, so that a slow sender keeps no other from sending.
	maxLargeEach = 8
)

// ErrNoRoom is for the message for which there was no room in time.
var ErrNoRoom = errors.New("there were as many large messages as can be held")

// A LargeMessages is the room for large messages that a listener reads. Its zero value is ready.
type LargeMessages struct {
	mu       sync.Mutex
	held     int // large messages that are held
	bySender map[string]int
	freed    chan struct{} // closed when there is room again; nil where no reader waits
}

// Read reads a message of sender to the end of r. If it is large, Read waits for room, at most
// timeout, which is ErrNoRoom. The message has its room until release is called, which must always
// be called, also after an error; more calls do nothing.
func (l *LargeMessages) Read(r io.Reader, sender string, timeout time.Duration) (msg []byte, release func(),
	err error) {
	release = func() {}
	msg, err = io.ReadAll(io.LimitReader(r, largeSize+1))
	if err != nil || len(msg) <= largeSize {
		return msg, release, err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		freed := l.takeRoom(sender)
		if freed == nil {
			break
		}
		select {
		case <-freed:
		case <-timer.C:
			return msg, release, ErrNoRoom
		}
	}
	rest, err := io.ReadAll(r)
	return append(msg, rest...), sync.OnceFunc(func() { l.freeRoom(sender) }), err
}

// takeRoom takes room for a message of sender, and returns nil. Where there is none it returns a
// channel that is closed when room is given back, so that the caller can try again.
func (l *LargeMessages) takeRoom(sender string) (freed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == maxLarge || l.bySender[sender] == maxLargeEach {
		if l.freed == nil {
			l.freed = make(chan struct{})
		}
		return l.freed
	}
	if l.bySender == nil {
		l.bySender = map[string]int{}
	}
	l.held++
	l.bySender[sender]++
	return nil
}

// freeRoom gives back the room of a message of sender, and wakes the readers that wait for room.
func (l *LargeMessages) freeRoom(sender string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held--
	if l.bySender[sender]--; l.bySender[sender] == 0 {
		delete(l.bySender, sender)
	}
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}
