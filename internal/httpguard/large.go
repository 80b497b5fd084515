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

// Read reads a message of who to the end of r. If it is large, it waits for room at most so long,
// and keeps it until done is called, which may be called always, and many times.
func (l *LargeMessages) Read(r io.Reader, who string, patience time.Duration) (msg []byte, done func(), err error) {
	done = func() {}
	msg, err = io.ReadAll(io.LimitReader(r, largeSize+1))
	if err != nil || len(msg) <= largeSize {
		return msg, done, err
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		freed := l.takeRoom(who)
		if freed == nil {
			break
		}
		select {
		case <-freed:
		case <-late.C:
			return msg, done, ErrNoRoom
		}
	}
	rest, err := io.ReadAll(r)
	return append(msg, rest...), sync.OnceFunc(func() { l.freeRoom(who) }), err
}

// takeRoom takes room for a message of who. Where there is none it returns a channel that is closed
// when it is worth another try.
func (l *LargeMessages) takeRoom(who string) (freed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == maxLarge || l.bySender[who] == maxLargeEach {
		if l.freed == nil {
			l.freed = make(chan struct{})
		}
		return l.freed
	}
	if l.bySender == nil {
		l.bySender = map[string]int{}
	}
	l.held++
	l.bySender[who]++
	return nil
}

// freeRoom gives back the room of a message of who.
func (l *LargeMessages) freeRoom(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held--
	if l.bySender[who]--; l.bySender[who] == 0 {
		delete(l.bySender, who)
	}
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}
