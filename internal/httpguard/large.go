package httpguard

import (
	"errors"
	"io"
	"sync"
	"time"
)

const (
	largeSize    = 64 << 10 // what a message of more bytes costs is bounded for all that a Large reads
	maxLarge     = 32       // so many such are held at once,
	maxLargeEach = 8        // and of one sender so many: who sends slowly keeps nobody else from sending
)

// ErrNoRoom is for the message for which there was no room in time.
var ErrNoRoom = errors.New("there were as many large messages as can be held")

// LargeMessages is room for the large messages that a listener reads. Its zero value is ready.
type LargeMessages struct {
	mu       sync.Mutex
	held     int
	bySender map[string]int
	freed    chan struct{} // closed when there is room again; nil where nobody waits
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

// takeRoom takes room, or returns what is closed when it is worth another try.
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
