//go:build unix

package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aaep-go/aaep/transports"
)

// printEverywhere prints in every way there is.
func printEverywhere() {
	fmt.Println("by fmt")
	syscall.Write(1, []byte("by descriptor\n"))
	if out, err := exec.Command("cat").Output(); err != nil || len(out) > 0 { // it would eat the link's input
		os.Exit(5)
	}
	echo := exec.Command("echo", "by child")
	echo.Stdin, echo.Stdout = os.Stdin, os.Stdout
	if err := echo.Run(); err != nil {
		os.Exit(5)
	}
	exec.Command("sh", "-c", "for fd in 3 4 5 6 7 8 9; do echo by inheritance >&$fd; done").Run()
	if n, _ := os.Stdin.Read(make([]byte, 1)); n > 0 {
		os.Exit(6)
	}
}

// receiveSoon returns the next message, and waits a minute for it at most.
func receiveSoon(t *testing.T, c transports.Conn) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return c.Receive(ctx)
}

// STDIO-010, STDIO-011, D-68: whatever the agent prints goes to standard error, which is not read
// as messages, and the link stays whole. Listen works once.
func TestStrayPrints(t *testing.T) {
	cmd := childCommand("echo")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	var log bytes.Buffer
	c, err := Dialer{func() *exec.Cmd { return cmd }, slog.New(slog.NewTextHandler(&log, nil))}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for n := range 5 {
		msg := fmt.Sprintf(`{"n":%d}`, n)
		if err := c.Send(t.Context(), []byte(msg)); err != nil {
			t.Fatal(err)
		}
		if got, err := receiveSoon(t, c); err != nil || string(got) != msg {
			t.Fatalf("Receive = %q, %v; want %s", got, err, msg)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if log.Len() > 0 {
		t.Errorf("something else was on the link: %s", &log)
	}
	for _, text := range []string{"by fmt\n", "by descriptor\n", "by child\n"} {
		if n := strings.Count(stderr.String(), text); n != 5 {
			t.Errorf("%q is %d times on standard error:\n%s", text, n, &stderr)
		}
	}
}

// STDIO-009, TR-011: the end of the process is the end of the link, with what it said before and
// with how it ended.
func TestChildEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		messages int
		code     int // of the error of Receive; -1 is a signal, 0 none
		end      error
	}{
		"exit": {0, 3, nil}, "late": {1, 3, nil}, "torn": {0, 0, io.ErrUnexpectedEOF}, "leaver": {1, 0, io.EOF},
		"garbage": {2, 0, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := childCommand(name)
			cmd.Stderr = new(bytes.Buffer)
			c := dialChild(t, cmd)
			for range tc.messages {
				got, err := receiveSoon(t, c)
				if err != nil {
					t.Fatal(err)
				}
				var pid int
				if n, _ := fmt.Sscanf(string(got), `{"type":"left","pid":%d}`, &pid); n == 1 {
					defer syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			_, err := receiveSoon(t, c)
			closing := c.Close()
			if tc.end != nil {
				if !errors.Is(err, tc.end) || closing != nil {
					t.Errorf("Receive = %v, Close = %v; want %v", err, closing, tc.end)
				}
				return
			}
			for what, err := range map[string]error{"Receive": err, "Close": closing} {
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != tc.code {
					t.Errorf("%s = %v, want exit code %d", what, err, tc.code)
				}
			}
		})
	}
}

// STDIO-009, STDIO-010: kill -9 of the child is an error that names the signal, for a Receive that
// waits and for Send.
func TestChildKilled(t *testing.T) {
	cmd := childCommand("mute")
	c := dialChild(t, cmd)
	received := make(chan error, 1)
	go func() { _, err := receiveSoon(t, c); received <- err }()
	cmd.Process.Kill()
	err := <-received
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL ||
		!strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("Receive = %v, want what killed it", err)
	}
	if err := c.Send(t.Context(), []byte(`{}`)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Send = %v, want io.ErrClosedPipe", err)
	}
	if _, err := os.FindProcess(cmd.Process.Pid); err == nil && syscall.Kill(cmd.Process.Pid, 0) != syscall.ESRCH {
		t.Error("there is a zombie")
	}
}

// What a child left in its output is read however late.
func TestReadsLeftovers(t *testing.T) {
	r, w := newPipe(t)
	p := &process{output: r, exited: make(chan struct{})}
	close(p.exited)
	io.WriteString(w, "left")
	r.SetReadDeadline(time.Now().Add(-time.Second))
	b := make([]byte, 8)
	if n, err := p.Read(b); err != nil || string(b[:n]) != "left" {
		t.Errorf("Read = %q, %v", b[:n], err)
	}
	if n, err := p.Read(b); n > 0 || err != io.EOF { // another process still holds it
		t.Errorf("Read at the end = %d, %v", n, err)
	}
}

// Close does not wait for a peer that takes nothing.
func TestCloseStuck(t *testing.T) {
	r := rawProducer(t)
	sent, closed := make(chan error, 3), make(chan struct{})
	for range 3 { // no pipe has so much room
		go func() { sent <- r.Send(context.Background(), []byte(`{"x":"`+strings.Repeat("y", 1<<19)+`"}`)) }()
	}
	if _, err := r.out.ReadByte(); err != nil { // one is being written
		t.Fatal(err)
	}
	go func() { r.Close(); close(closed) }()
	for range 3 {
		if err := <-sent; !errors.Is(err, transports.ErrClosed) {
			t.Errorf("Send = %v, want ErrClosed", err)
		}
	}
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Fatal("Close still waits")
	}
}

// A child that closes its output is gone for us, and how it ends is what Close says.
func TestChildClosesOutput(t *testing.T) {
	c := dialChild(t, childCommand("closed"))
	if _, err := receiveSoon(t, c); err != io.EOF {
		t.Errorf("Receive = %v, want io.EOF", err)
	}
	var exit *exec.ExitError
	if err := c.Close(); !errors.As(err, &exit) || exit.ExitCode() != 4 {
		t.Errorf("Close = %v, want exit code 4", err)
	}
}

// A child that does not heed the end of its input is told to terminate after a while, and is gone
// when Close returns.
func TestChildStays(t *testing.T) {
	t.Parallel()
	cmd := childCommand("mute")
	c := dialChild(t, cmd)
	began := time.Now()
	var exit *exec.ExitError
	if err := c.Close(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("Close = %v, want that it was terminated", err)
	}
	if took := time.Since(began); took < exitTimeout {
		t.Errorf("it had %v, want %v", took, exitTimeout)
	}
	if cmd.ProcessState == nil {
		t.Error("nobody waited for it")
	}
}

// What cannot be started says so, and costs no descriptors.
func TestDialRefuses(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context
		make func() *exec.Cmd
		want string
	}{
		"no program": {t.Context(), func() *exec.Cmd { return exec.Command("no-such-program") }, "not found"},
		"no command": {t.Context(), nil, "Command"},
		"stdout":     {t.Context(), func() *exec.Cmd { c := childCommand("exit"); c.Stdout = io.Discard; return c }, "Stdout"},
		"stdin":      {t.Context(), func() *exec.Cmd { c := childCommand("exit"); c.Stdin = os.Stdin; return c }, "Stdin"},
		"too late":   {ended, func() *exec.Cmd { return childCommand("exit") }, "canceled"},
	} {
		if c, err := (Dialer{Command: tc.make}).Dial(tc.ctx); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: Dial = %v, want %q", name, err, tc.want)
			if err == nil {
				c.Close()
			}
		}
	}
}

// Streams that are one cannot be told apart, so they are not taken.
func TestListenSame(t *testing.T) {
	cmd := childCommand("echo")
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	if err := cmd.Run(); err == nil || !strings.Contains(both.String(), errSame.Error()) {
		t.Errorf("%v: %s", err, &both)
	}
}
