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

// An idCipher turns places into event ids and back. An id is a place and the tag of a run,
// encrypted.
type idCipher struct{ current *atomic.Pointer[idKeys] }

// idKeys is what an idCipher works with. It is never changed, but replaced when another process
// begins a run.
type idKeys struct {
	cipher cipher.Block
	runs   []run // oldest first; the last one is the newest
}

// A run is what one opening of a log has appended. Positions that a run lost in a crash are given
// again by the next: the tag tells the two apart, so that no id is ever given twice.
type run struct {
	Tag  uint32 `json:"tag"`
	From uint64 `json:"from"` // its first position
}

const keySize = 16

// newKey returns a random key for event ids.
func newKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key)
	return key
}

// newTag returns a random tag for a run.
func newTag() uint32 {
	var b [4]byte
	rand.Read(b[:])
	return binary.BigEndian.Uint32(b[:])
}

// newIDs returns an idCipher with a key of keySize bytes and at least one run.
func newIDs(key []byte, runs []run) idCipher {
	c := idCipher{new(atomic.Pointer[idKeys])}
	c.setKeys(key, runs)
	return c
}

// setKeys replaces the key, of keySize bytes, and the runs for all later calls; calls under way
// finish with those from before.
func (c idCipher) setKeys(key []byte, runs []run) {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key has a legal length
	}
	c.current.Store(&idKeys{block, runs})
}

// RunStart returns the cursor before the first event of the newest run: the one of the process that
// appends now, or did last.
func (c idCipher) RunStart() uint64 {
	runs := c.current.Load().runs
	return max(runs[len(runs)-1].From, 1) - 1
}

// A Place is what an event id names: an event of the log, or a part of one, in one form.
type Place struct {
	// Pos is the event's position.
	Pos uint64
	// Offset is where the part ends, in bytes of the event's text; zero is all of it.
	Offset int
	// Form tells apart what is made of the same place in different bytes. Zero is the event as the
	// log has it.
	Form uint32
}

const (
	posBits    = 40 // of a position
	offsetBits = 24 // of an offset: no text in one event is as long
)

// EventID returns the id of a place, which is the place encrypted: ids look random, never repeat
// within a log or between two logs, and only the log that made one can decrypt it.
func (c idCipher) EventID(place Place) string {
	k := c.current.Load()
	i := len(k.runs) - 1 // the run that the position belongs to
	for i > 0 && k.runs[i].From > place.Pos {
		i--
	}
	var block [aes.BlockSize]byte
	binary.BigEndian.PutUint64(block[:8], place.Pos|uint64(place.Form>>8)<<posBits)
	binary.BigEndian.PutUint32(block[8:12], uint32(place.Offset)|place.Form<<offsetBits)
	binary.BigEndian.PutUint32(block[12:], k.runs[i].Tag)
	k.cipher.Encrypt(block[:], block[:])
	var id [len("evt_") + 2*aes.BlockSize]byte
	copy(id[:], "evt_")
	hex.Encode(id[len("evt_"):], block[:])
	return string(id[:])
}

// Locate returns the place that an event id names. ok is false for an id that this log did not make
// or no longer knows, and for an event that cannot be read yet. If the event was lost in a crash,
// lost is true and place is that of the last event before it that was not.
func (l *Log) Locate(id string) (place Place, lost, ok bool) {
	if place, lost, ok = l.locateAny(id); place.Pos > l.End() {
		return Place{}, false, false
	}
	return place, lost, ok
}

// locateAny decodes an event id into its place in the log, whether or not that event can be read
// yet. ok is false for an id that this log has not made. lost says that the event was lost when a
// process ended, and its position given again; place is then the last before the loss. Any
// goroutine may call it.
func (l *Log) locateAny(id string) (place Place, lost, ok bool) {
	var block [aes.BlockSize]byte
	if len(id) != len("evt_")+2*aes.BlockSize || id[:4] != "evt_" {
		return place, false, false
	}
	if _, err := hex.Decode(block[:], []byte(id[4:])); err != nil {
		return place, false, false
	}
	k := l.current.Load()
	k.cipher.Decrypt(block[:], block[:])
	first, second := binary.BigEndian.Uint64(block[:8]), binary.BigEndian.Uint32(block[8:12])
	place = Place{Pos: first & (1<<posBits - 1), Offset: int(second & (1<<offsetBits - 1)),
		Form: uint32(first>>posBits)<<8 | second>>offsetBits}
	tag := binary.BigEndian.Uint32(block[12:])
	i := slices.IndexFunc(k.runs, func(r run) bool { return r.Tag == tag })
	if i < 0 || place.Pos < k.runs[i].From {
		return Place{}, false, false
	}
	if i+1 < len(k.runs) && place.Pos >= k.runs[i+1].From { // the next run has given the position again
		return Place{Pos: k.runs[i+1].From - 1}, true, true
	}
	if l.EventID(place) != id { // an id in capitals is not one that this log has made
		return Place{}, false, false
	}
	return place, false, true
}
