package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
)

// Some tests need a process to kill: the test program itself, told by this variable what to write
// to.
const childVariable = "AUDIT_TEST_TRAIL"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		child(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// memory is a disk that can be filled, broken and looked at.
type memory struct {
	mu       sync.Mutex
	data     []byte
	room     int // bytes that fit, if limited
	limited  bool
	writeErr error
	syncErr  error
	syncs    int
	closed   bool
}

func (m *memory) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(p)
	if m.limited {
		n = min(n, m.room)
		m.room -= n
	}
	m.data = append(m.data, p[:n]...)
	if n < len(p) {
		return n, m.writeErr
	}
	return n, nil
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.data).ReadAt(p, off)
}

func (m *memory) Sync() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.syncs++
	return m.syncErr
}

func (m *memory) Close() error {
	m.closed = true
	return nil
}

// breakDown makes every Sync that follows fail.
func (m *memory) breakDown(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.syncErr = err
}

// open continues the trail in m.
func (m *memory) open(t testing.TB) *File {
	t.Helper()
	f, err := openChain(m, m, int64(len(m.data)), false)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// written returns a trail of n records, the first of them being that it was opened, and its head.
func written(t testing.TB, n int) ([]byte, string) {
	m := &memory{}
	f := m.open(t)
	for i := 1; i < n; i++ {
		must(t, f.Record(sample(i)))
	}
	return m.data, f.Head()
}

// crashed is a trail of three runs: the first was stopped in the middle of its third line, the
// second in the middle of noting that.
func crashed(t testing.TB) []byte {
	m := &memory{}
	f := m.open(t)
	must(t, f.Record(sample(1)))
	must(t, f.Record(sample(2)))
	m.data = m.data[:len(m.data)-40]
	whole := len(m.data)
	m.open(t)
	m.data = m.data[:whole+len(tornMark)+1+25]
	f = m.open(t)
	must(t, f.Record(sample(3)))
	must(t, f.Record(sample(4)))
	return m.data
}

var began = time.Date(2026, 10, 2, 9, 30, 0, 0, time.UTC)

// sample is one of a few records that people could see.
func sample(i int) Record {
	r := Record{Time: began.Add(time.Duration(i) * time.Second), SessionID: "sess_1", QuestionID: fmt.Sprint("q_", i)}
	switch i % 3 {
	case 1:
		r.Kind, r.Shown = Asked,
			[]Words{{Language: "en", Action: `Transfer $500 to "savings", (torn)`},
				{Language: "fa", Action: "می\u200cخواهید؟"}}
	case 2:
		r.Kind, r.By, r.Claims = Replied, &Subscription{SubscriptionID: "sub_1", Principal: "alice"},
			&Claims{Decision: aaep.Accept}
		r.Counted = true
	default:
		r.Kind, r.Cause, r.Decision = Settled, "replied", aaep.Accept
	}
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// verify is Verify of bytes; the fault is nil if all is well.
func verify(t testing.TB, data []byte, head string) (Report, *Fault) {
	t.Helper()
	rep, err := Verify(bytes.NewReader(data), head)
	var fault *Fault
	if err != nil && !errors.As(err, &fault) {
		t.Fatal(err)
	}
	return rep, fault
}

func linesOf(data []byte) (lines []string) {
	for line := range strings.Lines(string(data)) {
		lines = append(lines, line)
	}
	return lines
}

func joined(lines ...string) []byte { return []byte(strings.Join(lines, "")) }
