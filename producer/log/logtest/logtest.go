// Package logtest has the tests that every log.Store passes. Call Run from a test of its own, and
// from that test alone, for it runs that test again as a process that it kills:
//
//	func TestStore(t *testing.T) {
//		logtest.Run(t, func(dir string, limits log.Limits) (logtest.Store, error) { return mystore.Open(dir, limits) })
//	}
package logtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep/producer/log"
)

// Store is a log.Store that lets go of its folder when it is closed.
type Store interface {
	log.Store
	io.Closer
}

// Open opens the store in a folder, which goes on with what is there.
type Open func(dir string, limits log.Limits) (Store, error)

// Run tests a kind of store.
func Run(t *testing.T, open Open) {
	if dir := os.Getenv(childVariable); dir != "" {
		runChild(open, dir)
	}
	s := suite{open}
	t.Run("Empty", s.testEmpty)
	t.Run("Model", s.testModel)
	t.Run("Meta", s.testMeta)
	t.Run("Concurrent", s.testConcurrent)
	t.Run("Events", s.testEvents)
	t.Run("Bytes", s.testBytes)
	t.Run("Age", s.testAge)
	t.Run("Log", s.testLog)
	t.Run("Trimmed", s.testTrimmed)
	t.Run("Kill", s.testKill)
}

// unlimited keeps everything.
var unlimited = log.Limits{Events: -1, Bytes: -1, Age: -1}

type suite struct{ open Open }

// openStore opens the store and fails the test if it cannot.
func (s suite) openStore(t *testing.T, dir string, limits log.Limits) Store {
	t.Helper()
	st, err := s.open(dir, limits)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// requireNoError fails the test on an error.
func requireNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// checkBounds checks the bounds.
func checkBounds(t *testing.T, st Store, start, end uint64) {
	t.Helper()
	if a, b := st.Bounds(); a != start || b != end {
		t.Fatalf("Bounds() = %d, %d; want %d, %d", a, b, start, end)
	}
}

// readFrom reads everything after a cursor.
func readFrom(t *testing.T, st Store, cursor uint64, n int) (all [][]byte) {
	t.Helper()
	for _, end := st.Bounds(); cursor < end; {
		records, err := st.Read(cursor, n)
		if err != nil || len(records) == 0 || len(records) > n {
			t.Fatalf("Read(%d, %d) = %d records, %v", cursor, n, len(records), err)
		}
		all, cursor = append(all, records...), cursor+uint64(len(records))
	}
	return all
}

// testEmpty tests a store without records.
func (s suite) testEmpty(t *testing.T) {
	st := s.openStore(t, t.TempDir(), unlimited)
	checkBounds(t, st, 0, 0)
	requireNoError(t, st.Append(nil))
	checkBounds(t, st, 0, 0)
	if meta, err := st.Meta(); meta != nil || err != nil {
		t.Errorf("Meta() = %q, %v", meta, err)
	}
}

// The store against a slice that forgets nothing, and is opened again now and then.
func (s suite) testModel(t *testing.T) {
	dir, seed := t.TempDir(), rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	st := s.openStore(t, dir, unlimited)
	var all [][]byte
	for range 300 {
		switch r.IntN(8) {
		case 0:
			requireNoError(t, st.Close())
			st = s.openStore(t, dir, unlimited)
		case 1, 2, 3:
			var batch [][]byte
			for range r.IntN(50) {
				record := make([]byte, r.IntN(2000)+1) // any bytes
				for i := range record {
					record[i] = byte(r.Uint32())
				}
				batch = append(batch, record)
			}
			requireNoError(t, st.Append(batch))
			all = append(all, batch...)
		default:
			cursor := r.IntN(len(all) + 1)
			got := readFrom(t, st, uint64(cursor), r.IntN(100)+1)
			if len(got) != len(all)-cursor {
				t.Fatalf("%d records after %d of %d", len(got), cursor, len(all))
			}
			for i, record := range got {
				if !bytes.Equal(record, all[cursor+i]) {
					t.Fatalf("record %d is another", cursor+i+1)
				}
			}
		}
		checkBounds(t, st, 0, uint64(len(all)))
	}
}

// testMeta tests that what a log says of itself is kept.
func (s suite) testMeta(t *testing.T) {
	dir := t.TempDir()
	st := s.openStore(t, dir, unlimited)
	for _, want := range []string{"first", "", "second\x00"} {
		requireNoError(t, st.SetMeta([]byte(want)))
		requireNoError(t, st.Append([][]byte{[]byte("x")}))
		for range 2 {
			if got, err := st.Meta(); err != nil || string(got) != want {
				t.Errorf("Meta() = %q, %v; want %q", got, err, want)
			}
			requireNoError(t, st.Close())
			st = s.openStore(t, dir, unlimited)
		}
	}
}

// Those who read while records are added and dropped get them in order, or are told that they are
// gone.
func (s suite) testConcurrent(t *testing.T) {
	const count = 3000
	st := s.openStore(t, t.TempDir(), log.Limits{Events: 200, Bytes: -1, Age: -1})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for cursor := uint64(0); cursor < count; {
				start, end := st.Bounds()
				if cursor = max(cursor, start); cursor == end {
					continue
				}
				records, err := st.Read(cursor, 20)
				if errors.Is(err, log.ErrTrimmed) {
					if start, _ := st.Bounds(); start <= cursor {
						t.Errorf("%d is trimmed, and the store starts at %d", cursor, start)
						return
					}
					continue
				}
				for _, r := range records {
					if cursor++; string(r) != fmt.Sprint(cursor) {
						err = fmt.Errorf("record %d is %q", cursor, r)
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for pos := 0; pos < count; {
		var batch [][]byte
		for range min(rand.IntN(30), count-pos) {
			pos++
			batch = append(batch, []byte(fmt.Sprint(pos)))
		}
		if err := st.Append(batch); err != nil {
			t.Error(err)
			break
		}
	}
	all.Wait()
}

// testEvents tests the limit of events.
func (s suite) testEvents(t *testing.T) {
	dir := t.TempDir()
	st := s.openStore(t, dir, log.Limits{Events: 10, Bytes: -1, Age: -1})
	for range 8 {
		requireNoError(t, st.Append([][]byte{[]byte("a"), []byte("b"), []byte("c")}))
	}
	checkBounds(t, st, 14, 24)
	if _, err := st.Read(13, 1); !errors.Is(err, log.ErrTrimmed) {
		t.Errorf("Read(13) = %v", err)
	}
	if got := readFrom(t, st, 14, 100); len(got) != 10 || string(got[0]) != "c" {
		t.Errorf("%q", got)
	}
	requireNoError(t, st.Close())
	st = s.openStore(t, dir, log.Limits{Events: 4, Bytes: -1, Age: -1})
	checkBounds(t, st, 14, 24)
	trimStore(t, st)
	checkBounds(t, st, 20, 24)
}

// trimStore appends nothing until the store drops no more: an empty append has it trim itself.
func trimStore(t *testing.T, st Store) {
	t.Helper()
	for lastStart := ^uint64(0); ; {
		start, _ := st.Bounds()
		if start == lastStart {
			return
		}
		lastStart = start
		requireNoError(t, st.Append(nil))
	}
}

// testBytes tests the limit of bytes.
func (s suite) testBytes(t *testing.T) {
	const most = 4 << 20
	st := s.openStore(t, t.TempDir(), log.Limits{Events: -1, Bytes: most, Age: -1})
	record := make([]byte, 100_000)
	for range 200 {
		requireNoError(t, st.Append([][]byte{record}))
	}
	trimStore(t, st)
	start, end := st.Bounds()
	if kept := (end - start) * uint64(len(record)); end != 200 || kept > most || kept < most/2 {
		t.Errorf("%d to %d are kept, %d bytes of %d", start, end, kept, most)
	}
}

// What is too old goes, all of it, and the positions go on where they were, after a restart too.
func (s suite) testAge(t *testing.T) {
	dir, limits := t.TempDir(), log.Limits{Events: -1, Bytes: -1, Age: time.Millisecond}
	st := s.openStore(t, dir, limits)
	for range 20 {
		requireNoError(t, st.Append([][]byte{[]byte("old"), []byte("old")}))
	}
	for start, end := st.Bounds(); start < end; start, end = st.Bounds() {
		requireNoError(t, st.Append(nil))
	}
	checkBounds(t, st, 40, 40)
	if _, err := st.Read(39, 1); !errors.Is(err, log.ErrTrimmed) {
		t.Errorf("Read(39) = %v", err)
	}
	requireNoError(t, st.Close())
	st = s.openStore(t, dir, unlimited)
	checkBounds(t, st, 40, 40)
	requireNoError(t, st.Append([][]byte{[]byte("new")}))
	if got := readFrom(t, st, 40, 9); len(got) != 1 || string(got[0]) != "new" {
		t.Errorf("%q", got)
	}
}
