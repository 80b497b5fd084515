package ipc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"github.com/aaep-go/aaep/transports"
)

// IPC-002, INV-46: the pipe is ours, and lets only us in.
func TestPipeAlone(t *testing.T) {
	l := start(t)
	peer := raw(t, l)
	sd, err := windows.GetSecurityInfo(pipeHandle(peer), windows.SE_KERNEL_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	sid := strings.TrimPrefix(self(t), "sid:")
	got := strings.NewReplacer("FA", "rights", "GA", "rights", "0x1f01ff", "rights", "0x001f01ff",
		"rights").Replace(sd.String())
	if want := "O:" + sid + "D:P(A;;rights;;;" + sid + ")"; got != want {
		t.Errorf("the pipe's rights are %s, want %s", got, want)
	}
}

// INV-46, T-SQUAT: a pipe that another process made for another user is not spoken to, and its name
// not taken.
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
	c, err := Dialer{Path: path}.Dial(ctx)
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "S-1-5-32-544") {
		t.Errorf("Dial = %v, %v", c, err)
	}
	if err == nil {
		c.Close()
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
	who, _ := tokenUser(windows.GetCurrentProcessToken())
	ln, err := winio.ListenPipe(path,
		&winio.PipeConfig{SecurityDescriptor: "O:BAD:P(A;;GA;;;" + who.String() + ")", MessageMode: true})
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

// taken checks that no process can listen where another listens.
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
	killed(t, cmd, acceptConn(t, l))

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
	for _, id := range []string{"planner", `a\b`, "a/b", "a%5Cb", `..\..\x`, `\\server\pipe\x`, ".", "..", "", "%",
		"Ọjọ́", "a\x00b", "NUL", "c:", strings.Repeat("x", 300), strings.Repeat("x", 301)} {
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
	for path, says := range map[string]string{"": "no pipe", "planner": "no pipe", os.Args[0]: "no pipe",
		`\\.\pipe\`:                  "no pipe",
		`\\server\pipe\aaep\planner`: "no pipe", local + strings.Repeat("x", 250): "at most"} {
		if _, err := Listen(path, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Listen at %q: %v", path, err)
		}
		if _, err := (Dialer{Path: path}).Dial(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Dial of %q: %v", path, err)
		}
	}
}
