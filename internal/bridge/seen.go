package bridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// Memory is how long what was told is remembered. What is older when it comes counts as told.
	Memory    = 24 * time.Hour
	mostSeen  = 1 << 20 // entries; what was sent before the newest that had to be forgotten counts as told, too
	entrySize = sha256.Size + 8

	// seenHeader begins the file, so that no other is taken for one.
	seenHeader = "aaep told 1\n"
)

// A Seen remembers what was told, so that it is told once however often it comes. It is kept in a
// file, where there is one: what was told is recorded after it is in the producer's log and before
// the sender is answered. A crash in between has it told once more and never lost; no store of a
// log takes both in one step. All its methods may be called at once.
type Seen struct {
	mu    sync.Mutex
	at    map[[sha256.Size]byte]int64 // when each was sent, in Unix seconds
	order [][sha256.Size]byte         // oldest record first
	floor int64                       // what was sent before counts as told
	file  *os.File                    // nil is none
	size  int                         // entries in it
}

// OpenSeen reads the names of announced news from a file, which it makes where there is none. An
// empty file name keeps them in memory alone. What is older than Memory at now is forgotten. A file
// of something else is an error.
func OpenSeen(name string, now time.Time) (*Seen, error) {
	s := &Seen{at: map[[sha256.Size]byte]int64{}}
	if name == "" {
		return s, nil
	}
	file, all, err := OpenKept(name)
	if err != nil {
		return nil, err
	}
	entries, hasHeader := bytes.CutPrefix(all, []byte(seenHeader))
	if len(all) > 0 && !hasHeader {
		file.Close()
		return nil, errors.New("it is no file of what was told")
	}
	whole := entries[:len(entries)/entrySize*entrySize] // a torn entry at the end was never told of
	for entry := range slices.Chunk(whole, entrySize) {
		s.addEntry([sha256.Size]byte(entry), int64(binary.BigEndian.Uint64(entry[sha256.Size:])))
	}
	s.forgetOld(now)
	s.file = file
	if err := s.rewriteFile(); err != nil {
		file.Close()
		return nil, err
	}
	return s, nil
}

// rewriteFile writes what is remembered, and nothing else, to the file. The caller holds s.mu, or
// is OpenSeen.
func (s *Seen) rewriteFile() error {
	all := bytes.NewBufferString(seenHeader)
	for _, key := range s.order {
		all.Write(entryOf(key, s.at[key]))
	}
	s.size = len(s.order)
	return ReplaceContent(s.file, all.Bytes())
}

// entryOf returns what the file has of something that was told.
func entryOf(key [sha256.Size]byte, sent int64) []byte {
	return binary.BigEndian.AppendUint64(key[:], uint64(sent))
}

// addEntry adds the hash of a name and when the news was sent. The caller holds s.mu, or nothing
// else knows s yet.
func (s *Seen) addEntry(key [sha256.Size]byte, sent int64) {
	if _, known := s.at[key]; !known {
		s.at[key] = sent
		s.order = append(s.order, key)
	}
}

// forgetOld forgets entries older than Memory, and the oldest beyond mostSeen. s.floor, before
// which everything counts as announced, is never later than now, so that news dated ahead does not
// hide what comes until then. The caller holds s.mu.
func (s *Seen) forgetOld(now time.Time) {
	oldest := now.Add(-Memory).Unix()
	n := 0
	for n < len(s.order) && (len(s.order)-n > mostSeen || s.at[s.order[n]] < oldest) {
		s.floor = max(s.floor, min(s.at[s.order[n]], now.Unix()))
		delete(s.at, s.order[n])
		n++
	}
	s.order = s.order[n:]
	s.floor = max(s.floor, oldest)
}

// keyOf returns the hash of a name of several words; no other words have the same.
func keyOf(words []string) [sha256.Size]byte {
	h := sha256.New()
	for _, word := range words {
		fmt.Fprintf(h, "%d:%s", len(word), word)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Told reports whether news with a name, sent at a time, was announced before, or is older than
// what is remembered.
func (s *Seen) Told(now, sent time.Time, name ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetOld(now)
	_, known := s.at[keyOf(name)]
	return known || sent.Unix() < s.floor
}

// Record remembers the name of news that was announced, with when it was sent, also in the file. A
// name that is remembered already changes nothing. After an error it is remembered in memory alone.
// It takes s.mu.
func (s *Seen) Record(sent time.Time, name ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(name)
	if _, known := s.at[key]; known {
		return nil
	}
	s.addEntry(key, sent.Unix())
	if s.file == nil {
		return nil
	}
	if s.size++; s.size > len(s.order)+mostSeen { // most of the file is forgotten
		return s.rewriteFile()
	}
	_, err := s.file.Write(entryOf(key, sent.Unix()))
	return err
}

// Close closes the file, if there is one.
func (s *Seen) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
