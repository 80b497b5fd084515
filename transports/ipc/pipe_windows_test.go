package ipc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Microsoft/go-winio"
	"go.uber.org/goleak"
	"golang.org/x/sys/windows"

	"github.com/aaep-go/aaep/transports"
)

// quiet names a goroutine that may outlive the tests: it serves every pipe there will ever be.
func quiet() []goleak.Option {
	return []goleak.Option{goleak.IgnoreAnyFunction("github.com/Microsoft/go-winio.ioCompletionProcessor")}
}

func self(t *testing.T) string {
	who, err := user(windows.GetCurrentProcessToken())
	if err != nil {
		t.Fatal(err)
	}
	return "sid:" + who.String()
}

// wine says that this is no Windows.
var wine = windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil

var count atomic.Int64

// fresh returns the path of a pipe that nobody has.
func fresh(t *testing.T) string {
	t.Helper()
	path, err := Path(fmt.Sprintf("test %d %d", os.Getpid(), count.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// start listens on a pipe of its own.
func start(t *testing.T) *Listener {
	t.Helper()
	l, err := Listen(fresh(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	knock(t, l.Addr())
	t.Cleanup(func() { l.Close() })
	return l
}

// knock takes the first place at a pipe. Package winio keeps it only to have the name: Windows lets nobody connect there,
// but Wine does, and who got it would wait forever.
func knock(t *testing.T, path string) {
	if !wine {
		return
	}
	c, err := winio.DialPipeContext(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// raw is a peer that is not ours.
func raw(t *testing.T, l *Listener) net.Conn {
	t.Helper()
	c, err := winio.DialPipeContext(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func put(t *testing.T, c net.Conn, msg string) {
	t.Helper()
	if _, err := io.WriteString(c, msg); err != nil {
		t.Error(err)
	}
}

func want(t *testing.T, c transports.Conn, msgs ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, want := range msgs {
		if got, err := c.Receive(ctx); err != nil || string(got) != want {
			t.Errorf("Receive = %.80q, %v; want %.80q", got, err, want)
		}
	}
}

// IPC-002, IPC-004: one write is one message, however many are waiting and whatever their size and line ends; a peer that
// stops at a message's end sees ours so too.
func TestPipeMessages(t *testing.T) {
	l := start(t)
	peer := raw(t, l)
	c := accept(t, l)
	big := `{"x":"` + strings.Repeat("y", 100_000) + "\"}"
	sent := []string{"{\n\"a\": 1\n}\n", `{"b":2}`, "{}", big, `{"c":3}`, "{\"d\":4}\n"}
	for _, msg := range sent {
		put(t, peer, msg)
	}
	want(t, c, sent...)
	mode := uint32(windows.PIPE_READMODE_MESSAGE)
	if err := windows.SetNamedPipeHandleState(handle(peer), &mode, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, msg := range sent {
		if err := c.Send(t.Context(), []byte(msg)); err != nil {
			t.Error(err)
		}
	}
	buf := make([]byte, 1<<20)
	for _, want := range sent {
		if n, err := peer.Read(buf); err != nil || string(buf[:n]) != want {
			t.Errorf("the peer reads %.80q, %v; want %.80q", buf[:n], err, want)
		}
	}
}

// D-69: who puts a length in front, or a line end behind, is answered so; in one write, for a peer that stops at its end.
func TestPipeStreams(t *testing.T) {
	length := func(msg string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(msg)))) + msg }
	most := `{"x":"` + strings.Repeat("y", transports.MaxMessage-8) + `"}`
	for name, tc := range map[string]struct {
		writes, want []string
		frame        func(string) string
	}{
		"lengths":            {[]string{length(`{"a":1}`), length("{}") + length(`{"b":2}`)}, []string{`{"a":1}`, "{}", `{"b":2}`}, length},
		"in pieces":          {[]string{"\x00", "\x00\x00\x07", `{"a"`, ":1}" + length("{}")[:3], length("{}")[3:]}, []string{`{"a":1}`, "{}"}, length},
		"a mebibyte":         {[]string{length(most), length(most)}, []string{most, most}, length},
		"lines":              {[]string{"{\"a\":1}\r\n", "{\"b\":2}\n{\"c\"", ":3}\n"}, []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, func(s string) string { return s + "\n" }},
		"a mebibyte's lines": {[]string{most + "\n", most + "\n"}, []string{most, most}, func(s string) string { return s + "\n" }},
	} {
		l := start(t)
		peer := raw(t, l)
		c := accept(t, l)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, w := range tc.writes {
				put(t, peer, w)
			}
		}()
		want(t, c, tc.want...)
		<-done
		if err := c.Send(t.Context(), []byte(`{"d":4}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		mode := uint32(windows.PIPE_READMODE_MESSAGE)
		if err := windows.SetNamedPipeHandleState(handle(peer), &mode, nil, nil); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		if n, err := peer.Read(buf); err != nil || string(buf[:n]) != tc.frame(`{"d":4}`) {
			t.Errorf("%s: the answer is %q, %v", name, buf[:n], err)
		}
		peer.Close()
		c.Close()
		l.Close()
	}
}

// B.3.4: at a pipe of bytes, which only somebody else makes, lengths part the messages.
func TestPipeOfBytes(t *testing.T) {
	who, err := user(windows.GetCurrentProcessToken())
	if err != nil {
		t.Fatal(err)
	}
	sd, err := windows.SecurityDescriptorFromString(alone(who))
	if err != nil {
		t.Fatal(err)
	}
	path := fresh(t)
	h, err := windows.CreateNamedPipe(windows.StringToUTF16Ptr(path), windows.PIPE_ACCESS_DUPLEX|windows.FILE_FLAG_OVERLAPPED,
		windows.PIPE_TYPE_BYTE, 1, 1<<16, 1<<16, 0, &windows.SecurityAttributes{Length: 24, SecurityDescriptor: sd})
	if err != nil {
		t.Fatal(err)
	}
	producer, err := winio.NewOpenFile(h)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	c, err := Dialer{Path: path}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, msg := range []string{"{}", `{"a":1}`} {
		if err := c.Send(t.Context(), []byte(msg)); err != nil {
			t.Error(err)
		}
	}
	got := make([]byte, 4+2+4+7)
	if _, err := io.ReadFull(producer, got); err != nil || string(got) != "\x00\x00\x00\x02{}\x00\x00\x00\x07{\"a\":1}" {
		t.Errorf("the producer reads %q, %v", got, err)
	}
	if _, err := producer.Write(got); err != nil {
		t.Error(err)
	}
	want(t, c, "{}", `{"a":1}`)
}

// INV-32, INV-35: what is too large, torn or changed is an error of the one link.
func TestPipeBadMessages(t *testing.T) {
	huge := bytes.Repeat([]byte("{"), 4<<20)
	for name, tc := range map[string]struct {
		writes [][]byte
		says   string
	}{
		"one byte too many": {[][]byte{huge[:transports.MaxMessage+1]}, "1 MiB"},
		"far too many":      {[][]byte{huge}, "1 MiB"},
		"a lying length":    {[][]byte{[]byte("\x00\x10\x00\x01{}")}, "1 MiB"},
		"a torn length":     {[][]byte{[]byte("\x00\x00\x00\x09{}")}, "unexpected EOF"},
		"a torn line":       {[][]byte{[]byte("{}\n"), []byte("{}")}, "unexpected EOF"},
		"changed":           {[][]byte{[]byte("{}"), []byte("\x00\x00\x00\x02{}")}, "framing"},
		"changed to lines":  {[][]byte{[]byte("\x00\x00\x00\x02{}"), []byte("{}\n")}, "framing"},
	} {
		l := start(t)
		peer := raw(t, l)
		c := accept(t, l)
		go func() {
			for _, w := range tc.writes {
				peer.Write(w)
			}
			peer.Close()
		}()
		var err error
		for err == nil {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err = c.Receive(ctx)
			cancel()
		}
		if err == io.EOF || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
		c.Close()
		l.Close()
	}
}

// IPC-002, INV-46: the pipe is ours, and lets only us in.
func TestPipeAlone(t *testing.T) {
	l := start(t)
	peer := raw(t, l)
	sd, err := windows.GetSecurityInfo(handle(peer), windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	sid := strings.TrimPrefix(self(t), "sid:")
	got := strings.NewReplacer("FA", "rights", "GA", "rights", "0x1f01ff", "rights", "0x001f01ff", "rights").Replace(sd.String())
	if want := "O:" + sid + "D:P(A;;rights;;;" + sid + ")"; got != want {
		t.Errorf("the pipe's rights are %s, want %s", got, want)
	}
}

// INV-46, T-SQUAT: a pipe that another process made for somebody else is not spoken to, and its name not taken.
func TestSquatter(t *testing.T) {
	if path := os.Getenv("IPC_SQUAT"); path != "" {
		squat(path)
		return
	}
	path := fresh(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestSquatter$")
	cmd.Env = append(os.Environ(), "IPC_SQUAT="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	lines.Scan()
	if lines.Text() != "ready" {
		cmd.Wait()
		t.Skipf("a pipe of the administrators' cannot be made here: %s", lines.Text())
	}
	knock(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if c, err := (Dialer{Path: path}).Dial(ctx); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "S-1-5-32-544") {
		t.Errorf("Dial = %v, %v", c, err)
	}
	lines.Scan()
	if got := lines.Text(); got != `heard ""` {
		t.Errorf("the squatter %s", got)
	}
	taken(t, path)
	in.Close()
	cmd.Wait()
}

// squat serves a pipe that belongs to the administrators, and says what it hears.
func squat(path string) {
	who, _ := user(windows.GetCurrentProcessToken())
	ln, err := winio.ListenPipe(path, &winio.PipeConfig{SecurityDescriptor: "O:BAD:P(A;;GA;;;" + who.String() + ")", MessageMode: true})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	c, err := ln.Accept()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	heard, _ := io.ReadAll(c)
	fmt.Printf("heard %q\n", heard)
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// taken checks that nobody can listen where somebody listens.
func taken(t *testing.T, path string) {
	t.Helper()
	if wine {
		t.Logf("not tried: Wine lets a second program make the first instance of a pipe")
		return
	}
	if l, err := Listen(path, nil); err == nil || !strings.Contains(err.Error(), "another producer") {
		t.Errorf("a second Listen: %v, %v", l, err)
	}
}

// A pipe has one producer; when it is gone, another one may have the name.
func TestPipeTaken(t *testing.T) {
	l := start(t)
	taken(t, l.Addr())
	l.Close()
	again, err := Listen(l.Addr(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if _, err := again.Accept(t.Context()); !errors.Is(err, transports.ErrClosed) {
		t.Errorf("Accept after Close = %v", err)
	}
	if _, err := (Dialer{Path: l.Addr()}).Dial(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Dial where nobody listens = %v", err)
	}
}

// A process that is killed ends its links, at either end.
func TestPipeKilled(t *testing.T) {
	switch path := os.Getenv("IPC_PATH"); os.Getenv("IPC_KILL") {
	case "client":
		c, err := Dialer{Path: path}.Dial(context.Background())
		fmt.Println(c.Send(context.Background(), []byte(`{"a":1}`)), err)
		select {}
	case "server":
		l, err := Listen(path, nil)
		fmt.Println(err)
		c, err := l.Accept(context.Background())
		fmt.Println(c.Send(context.Background(), []byte(`{"a":1}`)), err)
		select {}
	}
	run := func(kill, path string) (*exec.Cmd, *bufio.Scanner) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPipeKilled$")
		cmd.Env = append(os.Environ(), "IPC_KILL="+kill, "IPC_PATH="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, bufio.NewScanner(out)
	}
	l := start(t)
	cmd, _ := run("client", l.Addr())
	killed(t, cmd, accept(t, l))

	path := fresh(t)
	cmd, out := run("server", path)
	out.Scan()
	knock(t, path)
	c, err := Dialer{Path: path}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	killed(t, cmd, c)
}

func killed(t *testing.T, cmd *exec.Cmd, c transports.Conn) {
	t.Helper()
	want(t, c, `{"a":1}`)
	cmd.Process.Kill()
	cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.Receive(ctx); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Receive from a process that was killed: %v", err)
	}
	if err := c.Send(ctx, []byte("{}")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Send to a process that was killed: %v", err)
	}
	c.Close()
}

// IPC-001, D-69: any agent id makes the name of a pipe, in one folder, and that name works.
func TestPipePath(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"planner", `a\b`, "a/b", "a%5Cb", `..\..\x`, `\\server\pipe\x`, ".", "..", "", "%", "Ọjọ́", "a\x00b", "NUL", "c:", strings.Repeat("x", 300), strings.Repeat("x", 301)} {
		path, err := Path(id)
		name, ok := strings.CutPrefix(path, `\\.\pipe\aaep\`)
		if err != nil || !ok || len(path) > 256 || strings.ContainsAny(name, "\\/\x00:") || seen[path] != "" {
			t.Errorf("%q: %s, %v, as %q", id, path, err, seen[path])
			continue
		}
		seen[path] = id
		l, err := Listen(path, nil)
		if err != nil {
			t.Errorf("%q: %v", id, err)
			continue
		}
		l.Close()
	}
	if path, err := Path("Planner.v2"); path != `\\.\pipe\aaep\Planner.v2` || err != nil {
		t.Errorf("Planner.v2 is at %s, %v", path, err)
	}
	for _, path := range []string{"", "planner", `C:\planner`, `\\.\pipe\`, `\\server\pipe\aaep\planner`, local + strings.Repeat("x", 250)} {
		if _, err := Listen(path, nil); err == nil || !strings.Contains(err.Error(), "ipc: ") {
			t.Errorf("Listen at %q: %v", path, err)
		}
		if _, err := (Dialer{Path: path}).Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "ipc: ") {
			t.Errorf("Dial of %q: %v", path, err)
		}
	}
}
