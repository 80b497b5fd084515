//go:build unix

package ipc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep/transports"
)

// quiet names no goroutine that may outlive the tests.
func quiet() []goleak.Option { return nil }

func self(*testing.T) string { return "uid:" + strconv.Itoa(os.Getuid()) }

// start listens in a folder of its own.
func start(t *testing.T) *Listener {
	t.Helper()
	l, err := Listen(filepath.Join(t.TempDir(), "aaep", "agent.sock"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func raw(t *testing.T, l *Listener) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unix", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.UnixConn)
}

// IPC-009, D-69: a peer that sends lines is answered in lines; empty lines and carriage returns
// cost nothing.
func TestLines(t *testing.T) {
	l := start(t)
	peer := raw(t, l)
	c := acceptConn(t, l)
	io.WriteString(peer, "\n\r\n{\"a\":1}\r\n {\"b\":2}\n{\"c\"")
	for _, want := range []string{`{"a":1}`, ` {"b":2}`} {
		if got, err := c.Receive(t.Context()); err != nil || string(got) != want {
			t.Errorf("Receive = %q, %v; want %q", got, err, want)
		}
	}
	io.WriteString(peer, ":3}\n")
	if got, err := c.Receive(t.Context()); err != nil || string(got) != `{"c":3}` {
		t.Errorf("a line in two halves: %q, %v", got, err)
	}
	if err := c.Send(t.Context(), []byte(`{"d":4}`)); err != nil {
		t.Error(err)
	}
	if got, err := bufio.NewReader(peer).ReadString('\n'); err != nil || got != "{\"d\":4}\n" {
		t.Errorf("the answer is %q, %v", got, err)
	}
	if err := c.Send(t.Context(), []byte("{\n}")); err == nil || !strings.Contains(err.Error(), "line end") { // TR-005
		t.Errorf("a message that would be two lines: %v", err)
	}
}

// INV-32, INV-35: lies about the length, a torn message, a changed framing and lines without end
// are errors of the one link, and cost no memory.
func TestBadFrames(t *testing.T) {
	length := func(n uint32, msg string) string { return string(binary.BigEndian.AppendUint32(nil, n)) + msg }
	for name, tc := range map[string]struct {
		bytes string
		want  string // "" is io.EOF
	}{
		"clean end":         {length(2, "{}"), ""},
		"empty":             {"", ""},
		"one byte too many": {length(transports.MaxMessage+1, ""), "1 MiB"},
		"far too many":      {length(0x00ffffff, "{}"), "1 MiB"},
		"torn length":       {"\x00\x00", "unexpected EOF"},
		"torn message":      {length(1<<20, `{"a"`), "unexpected EOF"},
		"torn line":         {"{\"a\":1", "unexpected EOF"},
		"changed to lines":  {length(2, "{}") + "{}\n", "framing"},
		"changed to length": {"{}\n" + length(2, "{}"), "framing"},
		"another length":    {"\xff\xff\xff\xff{}", "first byte"},
		"another protocol":  {"GET / HTTP/1.1", "first byte"},
		"endless empty":     {strings.Repeat("\n", transports.MaxMessage+10), "1 MiB"},
		"endless blanks":    {strings.Repeat(" \t \r\n", transports.MaxMessage/4+10), "1 MiB"},
		"endless line":      {strings.Repeat("{", transports.MaxMessage+10), "1 MiB"},
	} {
		l := start(t)
		peer := raw(t, l)
		c := acceptConn(t, l)
		go func() { io.WriteString(peer, tc.bytes); peer.CloseWrite() }()
		var err error
		for err == nil {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err = c.Receive(ctx)
			cancel()
		}
		if tc.want == "" && err != io.EOF || tc.want != "" &&
			(err == io.EOF || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		peer.Close()
		c.Close()
	}
}

// IPC-008, IPC-011, SEC-015, INV-46: the folder is 0700 and ours, the socket 0600; what is there
// already must be so too.
func TestFolder(t *testing.T) {
	l := start(t)
	for path, want := range map[string]os.FileMode{filepath.Dir(l.Addr()): 0o700, l.Addr(): 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s is %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	for name, tc := range map[string]struct {
		make func(dir string) error
		says string
	}{
		"open to others": {func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o755))
		}, "0700"},
		"a file": {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "not a folder"},
		"a link": {func(dir string) error {
			return errors.Join(os.Mkdir(dir+"x", 0o700), os.Symlink(dir+"x", dir))
		}, "not a folder"},
		"somebody else's": {func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 12345, 12345))
		}, "somebody else"},
		"a file in it": {func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "a.sock"), nil, 0o600))
		}, "no socket"},
	} {
		dir := filepath.Join(t.TempDir(), "aaep")
		if err := tc.make(dir); err != nil {
			if errors.Is(err, os.ErrPermission) {
				t.Logf("%s: not tried: %v", name, err)
				continue
			}
			t.Fatal(err)
		}
		if l, err := Listen(filepath.Join(dir, "a.sock"), nil); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: Listen = %v, want %q", name, err, tc.says)
			if err == nil {
				l.Close()
			}
		}
		if _, err := (Dialer{Path: filepath.Join(dir, "a.sock")}).Dial(t.Context()); err == nil {
			t.Errorf("%s: Dial went through", name)
		}
	}
}

// A socket that a dead producer left is taken over; a live one's is not.
func TestStaleSocket(t *testing.T) {
	l := start(t)
	path := l.Addr()
	if _, err := Listen(path, nil); err == nil || !strings.Contains(err.Error(), "another producer") {
		t.Errorf("a second Listen: %v", err)
	}
	go func() { // what the second one knocked with
		if c, err := l.Accept(context.Background()); err == nil {
			c.Close()
		}
	}()
	l.ln.SetUnlinkOnClose(false) // as kill -9 does
	l.Close()
	again, err := Listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := again.Accept(t.Context()); !errors.Is(err, transports.ErrClosed) {
		t.Errorf("Accept after Close = %v", err)
	}
}

// IPC-007, D-69: any agent id makes a path that a socket can have, and two never the same.
func TestPath(t *testing.T) {
	runtime := t.TempDir()
	if err := os.Chmod(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	seen := map[string]string{}
	for _, id := range []string{"planner", "Planner", "a/b", "a%2Fb", "../../etc/passwd", ".", "..", "", "%", "Ọjọ́",
		"a\x00b", strings.Repeat("x", 300), strings.Repeat("x", 301), "a b", "a_b-c.d"} {
		path, err := Path(id)
		if err != nil {
			t.Errorf("%q: %v", id, err)
			continue
		}
		if len(path) > maxPath || seen[path] != "" || bytes.ContainsAny([]byte(filepath.Base(path)), "/\x00 ") ||
			filepath.Base(filepath.Dir(path)) != "aaep" && !strings.Contains(path, "Application Support") {
			t.Errorf("%q: %s, as %q", id, path, seen[path])
		}
		seen[path] = id
	}
	if path, _ := Path("planner"); !strings.HasSuffix(path, "/planner.sock") {
		t.Errorf("planner is at %s", path)
	}
	t.Setenv("XDG_RUNTIME_DIR", "relative")
	if path, err := Path("planner"); err != nil || strings.HasPrefix(path, "relative") {
		t.Errorf("with a bad XDG_RUNTIME_DIR: %s, %v", path, err)
	}
}

// A process that has no file to spare for a peer lets it wait, and goes on listening.
func TestFilesRunOut(t *testing.T) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	l := start(t)
	said := make(logLines, 100)
	l.logger = slog.New(slog.NewTextHandler(said, nil))
	peer := raw(t, l)
	low := was
	low.Cur = 3
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	restore := sync.OnceFunc(func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) })
	defer restore()
	go func() {
		<-said
		restore()
	}()
	c := acceptConn(t, l)
	io.WriteString(peer, "{}\n")
	if got, err := c.Receive(t.Context()); err != nil || string(got) != "{}" {
		t.Errorf("Receive = %q, %v", got, err)
	}
}

// logLines are those of a log, as many as are read.
type logLines chan string

// Write hands the line on, or drops it where no reader waits.
func (l logLines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}
