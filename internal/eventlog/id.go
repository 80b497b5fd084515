package eventlog

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"sync/atomic"
)

// ids turn positions into event ids and back. An id is a position, an offset and the tag of a run, encrypted.
type ids struct{ now *atomic.Pointer[known] }

// known is what it takes. It is never changed, but replaced where another process begins a run.
type known struct {
	cipher cipher.Block
	runs   []run // oldest first; the last one is the newest
}

// A run is what one opening of a log has appended. What a run before lost in a crash has positions that are given again:
// the tag tells the two apart, so that no id is ever given twice.
type run struct {
	Tag  uint32 `json:"tag"`
	From uint64 `json:"from"` // its first position
}

const keySize = 16

func newKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key)
	return key
}

func newTag() uint32 {
	var b [4]byte
	rand.Read(b[:])
	return binary.BigEndian.Uint32(b[:])
}

func newIDs(key []byte, runs []run) ids {
	d := ids{new(atomic.Pointer[known])}
	d.set(key, runs)
	return d
}

func (d ids) set(key []byte, runs []run) {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key has a legal length
	}
	d.now.Store(&known{block, runs})
}

// Began returns the cursor before the first event of whoever appends now, or did last.
func (d ids) Began() uint64 {
	runs := d.now.Load().runs
	return max(runs[len(runs)-1].From, 1) - 1
}

// EventID returns the id of the event at pos, or of the part of it that ends after offset bytes of its
// text. Ids look random, and never repeat within a log or between two logs; only the log that made one
// can tell where it points.
func (d ids) EventID(pos uint64, offset int) string {
	k := d.now.Load()
	i := len(k.runs) - 1
	for i > 0 && k.runs[i].From > pos {
		i--
	}
	var block [aes.BlockSize]byte
	binary.BigEndian.PutUint64(block[:8], pos)
	binary.BigEndian.PutUint32(block[8:12], uint32(offset))
	binary.BigEndian.PutUint32(block[12:], k.runs[i].Tag)
	k.cipher.Encrypt(block[:], block[:])
	return "evt_" + hex.EncodeToString(block[:])
}

// Locate is the reverse of EventID. It reports false for an id that this log did not make, or no longer knows. Where
// the event was lost in a crash, it returns the last one before it that was not, whose id is another.
func (l *Log) Locate(id string) (pos uint64, offset int, ok bool) {
	if pos, offset, ok = l.locate(id); pos > l.End() {
		return 0, 0, false
	}
	return pos, offset, ok
}

// locate is Locate for an event that is yet to come, too.
func (l *Log) locate(id string) (pos uint64, offset int, ok bool) {
	var block [aes.BlockSize]byte
	if len(id) != len("evt_")+2*aes.BlockSize || id[:4] != "evt_" {
		return 0, 0, false
	}
	if _, err := hex.Decode(block[:], []byte(id[4:])); err != nil {
		return 0, 0, false
	}
	k := l.now.Load()
	k.cipher.Decrypt(block[:], block[:])
	pos, offset = binary.BigEndian.Uint64(block[:8]), int(binary.BigEndian.Uint32(block[8:12]))
	tag := binary.BigEndian.Uint32(block[12:])
	i := slices.IndexFunc(k.runs, func(r run) bool { return r.Tag == tag })
	if i < 0 || pos < k.runs[i].From {
		return 0, 0, false
	}
	if i+1 < len(k.runs) && pos >= k.runs[i+1].From {
		return k.runs[i+1].From - 1, 0, true
	}
	if l.EventID(pos, offset) != id { // one spelling, in lower case
		return 0, 0, false
	}
	return pos, offset, true
}
