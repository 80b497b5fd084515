// Package log is the spine of a producer: an event is appended once, and every subscription reads it
// from a cursor of its own. Live delivery and resuming after a cut are the same read.
//
// This log lives in memory and keeps the newest events of one process.
package log

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/aaep-go/aaep"
)

// ErrTrimmed is returned by Read where the log no longer holds what comes after the cursor.
var ErrTrimmed = errors.New("log: the events after this cursor are no longer kept")

// Log holds the newest events. All its methods may be called at once.
type Log struct {
	cipher cipher.Block
	salt   uint32

	mu      sync.Mutex
	events  []*aaep.Event // a ring: the event at position p is events[p%len]
	end     uint64        // the newest position; the first event is 1
	changed chan struct{}
}

// New returns a Log that keeps the newest size events.
func New(size int) *Log {
	var key [20]byte
	rand.Read(key[:])
	block, err := aes.NewCipher(key[:16])
	if err != nil {
		panic(err) // the key has a legal length
	}
	return &Log{cipher: block, salt: binary.BigEndian.Uint32(key[16:]),
		events: make([]*aaep.Event, max(size, 1)), changed: make(chan struct{})}
}

// Append adds an event, gives it its event id, and returns its position. The event must not be changed
// afterwards.
func (l *Log) Append(ev *aaep.Event) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end++
	ev.EventID = l.EventID(l.end, 0)
	l.events[l.end%uint64(len(l.events))] = ev
	close(l.changed)
	l.changed = make(chan struct{})
	return l.end
}

// End returns the position of the newest event, zero if there is none.
func (l *Log) End() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Start returns the cursor before the oldest event that is kept.
func (l *Log) Start() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end - min(l.end, uint64(len(l.events)))
}

// Read returns at most n events after the cursor. Where there is none yet, it returns a channel that is
// closed by the next Append. ErrTrimmed says that the next event is gone.
func (l *Log) Read(cursor uint64, n int) (events []*aaep.Event, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := uint64(len(l.events))
	if l.end > size && cursor < l.end-size {
		return nil, nil, ErrTrimmed
	}
	if cursor >= l.end {
		return nil, l.changed, nil
	}
	events = make([]*aaep.Event, min(uint64(max(n, 0)), l.end-cursor))
	for i := range events {
		events[i] = l.events[(cursor+1+uint64(i))%size]
	}
	return events, nil, nil
}

// EventID returns the id of the event at pos, or of the part of it that ends after offset bytes of its
// text. Ids look random, and never repeat within a log or between two logs; only the log that made one
// can tell where it points.
func (l *Log) EventID(pos uint64, offset int) string {
	var block [aes.BlockSize]byte
	binary.BigEndian.PutUint64(block[:8], pos)
	binary.BigEndian.PutUint32(block[8:12], uint32(offset))
	binary.BigEndian.PutUint32(block[12:], l.salt)
	l.cipher.Encrypt(block[:], block[:])
	return "evt_" + hex.EncodeToString(block[:])
}

// Locate is the reverse of EventID. It reports false for an id that this log did not make.
func (l *Log) Locate(id string) (pos uint64, offset int, ok bool) {
	var block [aes.BlockSize]byte
	if len(id) != len("evt_")+2*aes.BlockSize || id[:4] != "evt_" {
		return 0, 0, false
	}
	if _, err := hex.Decode(block[:], []byte(id[4:])); err != nil {
		return 0, 0, false
	}
	l.cipher.Decrypt(block[:], block[:])
	pos = binary.BigEndian.Uint64(block[:8])
	if binary.BigEndian.Uint32(block[12:]) != l.salt || pos == 0 || pos > l.End() {
		return 0, 0, false
	}
	offset = int(binary.BigEndian.Uint32(block[8:12]))
	if l.EventID(pos, offset) != id { // one spelling, in lower case
		return 0, 0, false
	}
	return pos, offset, true
}
