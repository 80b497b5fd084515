package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trail.jsonl")
	for run := 1; run <= 3; run++ {
		f, err := Open(path, Options{EachSecond: run == 2})
		must(t, err)
		if _, err := Open(path, Options{}); !errors.Is(err, ErrInUse) {
			t.Errorf("a second Open: %v", err)
		}
		must(t, f.Record(sample(run)))
		must(t, f.Close())
		must(t, f.Close())
		if err := f.Record(sample(run)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Record after Close: %v", err)
		}
		data, err := os.ReadFile(path)
		must(t, err)
		if rep, fault := verify(t, data, f.Head()); fault != nil || rep.Runs != run || rep.Records != uint64(2*run) ||
			rep.Anchored != rep.Records {
			t.Errorf("run %d: %+v, %v", run, rep, fault)
		}
	}
	info, err := os.Stat(path)
	must(t, err)
	if mode := info.Mode().Perm(); mode != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("mode %o", mode)
	}
}

// A file that another user made first, or may write, is no trail of ours: in a shared folder they
// could write it anew (T-SQUAT).
func TestOpenRefusesOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there a file has the access list of its folder")
	}
	for want, prepare := range map[string]func(path string) error{
		"chmod 600": func(path string) error { return os.Chmod(path, 0o666) },
		"somebody else": func(path string) error {
			if os.Geteuid() != 0 {
				return errors.ErrUnsupported // only root can give a file away
			}
			return os.Chown(path, 65534, -1)
		},
		"symbolic link": func(path string) error {
			return errors.Join(os.Rename(path, path+".other"), os.Symlink(path+".other", path))
		},
		"": func(path string) error { return os.Chmod(path, 0o644) },
	} {
		path := filepath.Join(t.TempDir(), "trail.jsonl")
		must(t, os.WriteFile(path, nil, 0o600))
		if err := prepare(path); err == errors.ErrUnsupported {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, Options{})
		if want == "" {
			must(t, err)
			must(t, f.Close())
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		} else if left, _ := os.ReadFile(path); len(left) > 0 {
			t.Errorf("%q: it was written", want)
		}
	}
}

// What is no trail, or one whose end is not in order, is left as it is.
func TestOpenRefuses(t *testing.T) {
	data, _ := written(t, 6)
	l := linesOf(data)
	long := joined(l[0], strings.Repeat("x", 3*maxLine)+"\n")
	for name, content := range map[string][]byte{
		"a letter":            []byte("Dear diary,"),
		"two lines":           []byte("Dear diary,\nnothing.\n"),
		"a changed last line": bytes.Replace(data, []byte("q_5"), []byte("q_6"), 1),
		"a missing line":      joined(l[0], l[1], l[3]),
		"lines that changed":  joined(l[0], l[2], l[1], l[3]),
		"an empty last line":  append(bytes.Clone(data), '\n'),
		"a long line":         long,
		"a long torn line":    long[:len(long)-1],
		"a longish torn line": long[:maxLine*3/2],
	} {
		path := filepath.Join(t.TempDir(), "trail.jsonl")
		must(t, os.WriteFile(path, content, 0o600))
		_, err := Open(path, Options{})
		var fault *Fault
		if !errors.As(err, &fault) || strings.ContainsAny(err.Error(), "\n") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, content) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if _, err := Open(t.TempDir(), Options{}); err == nil {
		t.Error("a folder was opened")
	}
	missing := filepath.Join(t.TempDir(), "state", "trail.jsonl")
	if _, err := Open(missing, Options{}); !errors.Is(err, os.ErrNotExist) || !strings.HasSuffix(err.Error(), ": make its folder first") {
		t.Errorf("in a folder that is not there: %v", err)
	}
	path := filepath.Join(t.TempDir(), "trail.jsonl")
	must(t, os.WriteFile(path, data, 0o400))
	if _, err := Open(path, Options{}); os.Geteuid() != 0 && !errors.Is(err, os.ErrPermission) {
		t.Errorf("a file that may not be written: %v", err)
	}
}

// A long trail is opened by its end; a fault before that is for Verify to find.
func TestOpenLongTrail(t *testing.T) {
	m := &memory{}
	f := m.open(t)
	r := sample(1)
	r.Shown[0].Detailed = strings.Repeat("many words ", 50_000)
	for range 8 {
		must(t, f.Record(r))
	}
	f = m.open(t)
	must(t, f.Record(r))
	if rep, fault := verify(t, m.data, f.Head()); fault != nil || rep.Records != 11 || rep.Anchored != 11 {
		t.Errorf("%+v, %v", rep, fault)
	}
	m.data[100] ^= 1
	f = m.open(t)
	if _, fault := verify(t, m.data, f.Head()); fault == nil || fault.Line != 1 {
		t.Errorf("%v", fault)
	}
	r.Shown[0].Detailed += r.Shown[0].Detailed
	if err := f.Record(r); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("a record of more than a megabyte: %v", err)
	}
	must(t, f.Record(sample(2))) // one record that cannot be written is no reason to stop
}

func TestRecordRefuses(t *testing.T) {
	m := &memory{}
	f := m.open(t)
	size := len(m.data)
	for name, r := range map[string]Record{
		"no kind":      {},
		"opened":       {Kind: Opened},
		"not UTF-8":    {Kind: Replied, Refused: "\xff"}, // INV-39
		"not a number": {Kind: Settled, Response: make(chan int)},
	} {
		if err := f.Record(r); err == nil || len(m.data) != size {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, f.Record(Record{Kind: Settled, Time: began.In(time.FixedZone("", 3600))}))
	if !bytes.Contains(m.data, []byte(`"time":"2026-10-02T09:30:00Z"`)) {
		t.Errorf("not in UTC: %s", m.data)
	}
	must(t, f.Record(Record{Kind: Settled, Version: 7, Torn: 9})) // these are the File's own
	if _, fault := verify(t, m.data, f.Head()); fault != nil {
		t.Error(fault)
	}
}

// Concurrent writers share a trail, and each has its record on the disk when Record returns.
func TestConcurrentWriters(t *testing.T) {
	const writers, each = 8, 25
	path := filepath.Join(t.TempDir(), "trail.jsonl")
	f, err := Open(path, Options{})
	must(t, err)
	defer f.Close()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				if err := f.Record(Record{Kind: Invoked, Tool: fmt.Sprint(w), ToolCallID: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
				f.Head()
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(path)
	must(t, err)
	if rep, fault := verify(t, data, f.Head()); fault != nil || rep.Records != writers*each+1 ||
		rep.Anchored != rep.Records {
		t.Fatalf("%+v, %v", rep, fault)
	}
	next := map[string]int{}
	for e, err := range Read(bytes.NewReader(data)) {
		must(t, err)
		if e.Kind != Invoked {
			continue
		}
		if e.ToolCallID != fmt.Sprint(next[e.Tool]) {
			t.Fatalf("record %d of writer %s is %s", next[e.Tool], e.Tool, e.ToolCallID)
		}
		next[e.Tool]++
	}
}

// INV-02 needs a sink that says when it did not keep a record: a full disk, or one that is broken.
func TestDiskErrors(t *testing.T) {
	full, broken := syscall.ENOSPC, errors.New("input/output error")
	m := &memory{writeErr: full}
	f := m.open(t)
	must(t, f.Record(sample(1)))
	head := f.Head()
	m.limited, m.room = true, 30
	if err := f.Record(sample(2)); !errors.Is(err, full) {
		t.Errorf("on a full disk: %v", err)
	}
	m.limited = false
	size := len(m.data)
	if err := f.Record(sample(3)); !errors.Is(err, full) || len(m.data) != size {
		t.Errorf("after that: %v", err)
	}
	if f.Head() != head {
		t.Error("the head moved")
	}
	must(t, f.Close())
	f = m.open(t) // there is room again
	must(t, f.Record(sample(3)))
	if rep, fault := verify(t, m.data, head); fault != nil || rep.Records != 4 || rep.Torn != 1 || rep.Anchored != 2 {
		t.Errorf("%+v, %v", rep, fault)
	}

	m = &memory{}
	f = m.open(t)
	head = f.Head()
	m.syncErr = broken
	if err := f.Record(sample(1)); !errors.Is(err, broken) {
		t.Errorf("on a broken disk: %v", err)
	}
	m.syncErr = nil // a second Sync may well say that all is fine
	syncs := m.syncs
	if err := f.Record(sample(2)); !errors.Is(err, broken) || f.Head() != head {
		t.Errorf("after that: %v", err)
	}
	if err := f.Close(); !errors.Is(err, broken) || m.syncs != syncs || !m.closed {
		t.Errorf("Close: %v", err)
	}

	for _, m := range []*memory{{limited: true, room: 20, writeErr: full}, {syncErr: full}} {
		if _, err := openChain(m, m, 0, false); !errors.Is(err, full) {
			t.Errorf("start: %v", err)
		}
	}
}

// A record is on the disk when Record returns, or at most a second later.
func TestSync(t *testing.T) {
	m := &memory{}
	f := m.open(t)
	for i := range 3 {
		must(t, f.Record(sample(i)))
		if m.syncs != i+2 || f.Head() != f.head {
			t.Errorf("%d syncs after %d records", m.syncs, i+1)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		f, err := openChain(m, m, 0, true)
		must(t, err)
		head := f.Head()
		for range 2 {
			syncs := m.syncs
			for i := range 3 {
				must(t, f.Record(sample(i)))
				time.Sleep(300 * time.Millisecond) // virtual
			}
			if m.syncs != syncs || f.Head() != head {
				t.Errorf("%d syncs before a second was over", m.syncs-syncs)
			}
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if head = f.Head(); m.syncs != syncs+1 || head != f.head {
				t.Errorf("%d syncs after a second", m.syncs-syncs)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if m.syncs != syncs+1 {
				t.Error("syncs where there was nothing to do")
			}
		}
		must(t, f.Record(sample(1)))
		m.breakDown(syscall.EIO)
		time.Sleep(time.Second)
		synctest.Wait()
		if err := f.Record(sample(2)); !errors.Is(err, syscall.EIO) {
			t.Errorf("after a sync that failed: %v", err)
		}
	})
}

// A trail that is opened again knows the newest record of each question, and takes over what is
// recorded of it since; what was put since is not among them.
func TestQuestions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trail")
	f, err := Open(path, Options{})
	must(t, err)
	about := func(kind Kind, call string, d aaep.Decision) Record {
		return Record{Kind: kind, SessionID: "sess_1", ToolCallID: call, QuestionID: "q_" + call, Decision: d}
	}
	asked := about(Asked, "call_1", "")
	asked.AgentID, asked.Shown, asked.Recipients = "planner", []Words{{Action: "Pay."}}, []Subscription{{SubscriptionID: "sub_1"}}
	for _, r := range []Record{asked, about(Asked, "call_1", ""), about(Settled, "call_2", aaep.Accept),
		about(Replied, "call_2", ""), about(Settled, "call_3", aaep.Accept), about(Invoked, "call_3", ""),
		about(Settled, "call_4", aaep.Reject)} {
		must(t, f.Record(r))
	}
	if got := f.Questions(); len(got) != 0 {
		t.Errorf("a new trail knows %v", got)
	}
	must(t, f.Close())
	f, err = Open(path, Options{})
	must(t, err)
	defer f.Close()
	must(t, f.Record(about(NotDone, "call_2", "")))
	must(t, f.Record(about(Asked, "call_5", "")))
	var got []string
	for _, r := range f.Questions() {
		got = append(got, string(r.Kind)+" "+r.QuestionID+" "+r.AgentID)
		if r.Shown != nil || r.Recipients != nil || r.SessionID != "sess_1" {
			t.Errorf("%+v", r)
		}
	}
	want := []string{"asked q_call_1 planner", "not_done q_call_2 ", "invoked q_call_3 ", "settled q_call_4 "}
	if !slices.Equal(got, want) {
		t.Errorf("the trail knows %q, want %q", got, want)
	}
}

// TestRemoved checks that records for a trail that was removed are refused, and that one that was
// moved away goes on where it is.
func TestRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there a file that is open cannot be removed")
	}
	path := filepath.Join(t.TempDir(), "trail.jsonl")
	f, err := Open(path, Options{})
	must(t, err)
	defer f.Close()
	must(t, os.Rename(path, path+".1"))
	must(t, f.Record(sample(1)))
	must(t, os.Remove(path+".1"))
	for range 2 {
		if err := f.Record(sample(2)); err == nil || !strings.Contains(err.Error(), "the file was removed") {
			t.Errorf("Record = %v", err)
		}
	}
}
