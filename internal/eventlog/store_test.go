package eventlog_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/producer/log"
)

// memory is a store that forgets nothing as long as the process lives, and that can be made to hang
// or to fail.
type memory struct {
	mu      sync.Mutex
	start   uint64
	records [][]byte
	meta    []byte
	err     error
	hang    chan struct{} // until this is closed; nil: not at all
}

// Bounds returns the cursors before the oldest and at the newest record.
func (m *memory) Bounds() (start, end uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.start, m.start + uint64(len(m.records))
}

// Append keeps the records, or hangs or fails.
func (m *memory) Append(records [][]byte) error {
	m.mu.Lock()
	hang := m.hang
	m.mu.Unlock()
	if hang != nil {
		<-hang
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	m.records = append(m.records, records...)
	return nil
}

// Read returns n records after the cursor.
func (m *memory) Read(cursor uint64, n int) ([][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if cursor < m.start {
		return nil, log.ErrTrimmed
	}
	rest := m.records[cursor-m.start:]
	return rest[:min(n, len(rest))], nil
}

// Meta returns what SetMeta kept.
func (m *memory) Meta() ([]byte, error) { m.mu.Lock(); defer m.mu.Unlock(); return m.meta, nil }

// SetMeta keeps data of the log's own.
func (m *memory) SetMeta(data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.meta = data
	return nil
}

// numberedEvent returns an event whose correlation_id is n.
func numberedEvent(n int) *aaep.Event {
	return &aaep.Event{AAEPVersion: aaep.Version, SessionID: "sess_1", Timestamp: time.UnixMilli(1).UTC(),
		Verbosity: aaep.VerbosityNormal,
		Producer:  aaep.Agent{AgentID: "a", AgentName: "A"}, Urgency: aaep.UrgencyNormal,
		CorrelationID: fmt.Sprint(n),
		Summary:       aaep.Say("Said."), Payload: &aaep.SessionStarted{}}
}

// openLog opens a log of this size on m.
func openLog(t *testing.T, m *memory, size int) *eventlog.Log {
	t.Helper()
	l, err := eventlog.Open(m, size, "")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// P7, INV-23: nothing is shown before the store has it; but a store that hangs holds no caller up
// for long, and what it gets in the end is all of it.
func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		l := openLog(t, m, 8)
		defer l.Close()
		m.hang = make(chan struct{})
		for i := range 4 {
			l.Append(numberedEvent(i))
		}
		synctest.Wait()
		if _, changed, err := l.Read(0, 9); changed == nil || err != nil || l.End() != 0 {
			t.Errorf("shown before it is kept: %v, %v, up to %d", changed != nil, err, l.End())
		}
		began := time.Now()
		l.Wait(4)
		l.Append(numberedEvent(4))
		if waited := time.Since(began); waited != 2*time.Second || l.End() != 5 || !l.Overdue() {
			t.Errorf("after %v, up to %d", waited, l.End())
		}
		if err := l.Settle(); err == nil {
			t.Error("Settle says that it is on the disk")
		}
		close(m.hang)
		m.mu.Lock()
		m.hang = nil
		m.mu.Unlock()
		synctest.Wait()
		if _, end := m.Bounds(); end != 5 || l.Err() != nil || l.Overdue() {
			t.Errorf("kept up to %d, %v", end, l.Err())
		}
		if err := l.Settle(); err != nil {
			t.Error(err)
		}
	})
}

// slow takes a millisecond for whatever it keeps.
type slow struct {
	memory
	times int
}

// Append takes a millisecond, and counts how often it was called.
func (s *slow) Append(records [][]byte) error {
	s.times++
	time.Sleep(time.Millisecond)
	return s.memory.Append(records)
}

// What those append who were just told that an event is kept goes to the disk together, and not the
// first of it alone.
func TestEventsAreStoredTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const writers, each = 64, 50
		s := &slow{}
		l, err := eventlog.Open(s, 256, "")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for i := range each {
					l.Wait(l.Append(numberedEvent(i)))
				}
			})
		}
		all.Wait()
		if err := l.Close(); err != nil || s.times > each*7/4 { // twice as often if the first went alone
			t.Errorf("%d events of each of %d writers took the disk %d times, %v", each, writers, s.times, err)
		}
	})
}

// A store that hangs while memory fills up is given up, and so is one that fails; the log goes on.
func TestStoreFails(t *testing.T) {
	full := errors.New("the disk is full")
	for name, m := range map[string]*memory{"hangs": {}, "fails": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := openLog(t, m, 8)
				if name == "fails" {
					m.err = full
				} else {
					m.hang = make(chan struct{})
				}
				began := time.Now()
				for i := range 20 {
					l.Append(numberedEvent(i))
				}
				<-l.Failed()
				if waited := time.Since(began); waited > 2*time.Second || l.End() != 20 || l.Err() == nil ||
					m.err != nil && l.Err() != full {
					t.Errorf("after %v, up to %d: %v", waited, l.End(), l.Err())
				}
				if events, _, err := l.Read(12, 99); len(events) != 8 || err != nil {
					t.Errorf("%d events, %v", len(events), err)
				}
				if _, _, err := l.Read(11, 99); err != log.ErrTrimmed {
					t.Errorf("Read = %v", err)
				}
				if err := l.Close(); err == nil {
					t.Error("Close says that all is kept")
				}
				if m.hang != nil {
					close(m.hang)
				}
			})
		})
	}
}

// INV-23: what a listener saw and a crash lost has a place no more, and its id is never given
// again; the place is where what is left of that run ends.
func TestEventLostInCrashKeepsID(t *testing.T) {
	m := &memory{}
	l := openLog(t, m, 8)
	var ids []string
	for i := range 6 {
		ev := numberedEvent(i)
		l.Wait(l.Append(ev))
		ids = append(ids, ev.EventID)
	}
	l.Close()
	m.records = m.records[:4]
	l = openLog(t, m, 8)
	ev := numberedEvent(9)
	l.Wait(l.Append(ev))
	for i, want := range []uint64{1, 2, 3, 4, 4, 4} {
		got, lost, ok := l.Locate(ids[i])
		if pos := got.Pos; !ok || pos != want || lost == (i < 4) {
			t.Errorf("event %d is at %d, %v", i+1, pos, ok)
		}
	}
	if got, _, ok := l.Locate(ev.EventID); !ok || got.Pos != 5 || ev.EventID == ids[4] {
		t.Errorf("the new one is at %v, %v", got, ok)
	}
	l.Close()
}

// Bad meta is refused in words: without the key no subscriber would find its place.
func TestBadMeta(t *testing.T) {
	for name, m := range map[string]*memory{
		"no key":       {records: [][]byte{{'x'}}},
		"no object":    {meta: []byte("[")},
		"a short key":  {meta: []byte(`{"key":"AAAA"}`)},
		"a bad record": {meta: []byte(`{"key":"AAAAAAAAAAAAAAAAAAAAAA=="}`), records: [][]byte{{'x'}}},
	} {
		if l, err := eventlog.Open(m, 8, ""); err == nil {
			l.Close()
			t.Errorf("%s: opened", name)
		}
	}
}

// What has no words is the event's own in every language, also after it was read again: the reader
// that folds several into one changes it there (P6).
func TestTranslationsWithoutWords(t *testing.T) {
	m := &memory{}
	l := openLog(t, m, 1)
	ev := numberedEvent(1)
	ev.Payload = &aaep.StateChanged{FromState: aaep.StateIdle, ToState: aaep.StateThinking}
	ev.Translations = []aaep.Translation{{LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "es"},
		Summary: aaep.Say("Pensando.")}}
	l.Append(ev)
	l.Append(numberedEvent(2))
	l.Wait(2)
	events, _, err := l.Read(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := events[0].Translations; len(got) != 1 || got[0].Payload != nil || got[0].Summary.Normal != "Pensando." {
		t.Errorf("read again, its translations are %+v", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// A log is gone on with by the agent that began it; one that an older version wrote is any agent's,
// and then of the first.
func TestLogOfAnotherAgent(t *testing.T) {
	m := &memory{}
	for _, step := range []struct {
		agent string
		ok    bool
	}{{"", true}, {"planner", true}, {"bank", false}, {"planner", true}, {"", true}, {"bank", false}} {
		l, err := eventlog.Open(m, 8, step.agent)
		if (err == nil) != step.ok || err != nil && !strings.Contains(err.Error(), `the agent "planner"`) {
			t.Fatalf("opened by %q: %v", step.agent, err)
		}
		if err == nil {
			l.Close()
		}
	}
}
