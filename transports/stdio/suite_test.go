//go:build unix

package stdio

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/transporttest"
)

// childEnv names what this test program is to be as a child.
const childEnv = "STDIO_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		os.Unsetenv(childEnv)
		os.Exit(children[name]())
	}
	goleak.VerifyTestMain(m)
}

// childCommand returns the command of a child.
func childCommand(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// dialChild starts a child.
func dialChild(t *testing.T, cmd *exec.Cmd) transports.Conn {
	t.Helper()
	c, err := Dialer{Command: func() *exec.Cmd { return cmd }}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// newPipe returns a pipe that is closed when the test ends.
func newPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// acceptEnd returns the producer's end on two streams.
func acceptEnd(t *testing.T, in io.ReadCloser, out io.WriteCloser) transports.Conn {
	t.Helper()
	c, err := NewListener(in, out, nil).Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// openLink returns both ends of a link without processes.
func openLink(t *testing.T) (subscriber, producer transports.Conn) {
	in, childOut := newPipe(t)
	childIn, out := newPipe(t)
	subscriber = newConn(&frames{in: in, out: out}, "")
	t.Cleanup(func() { subscriber.Close() })
	return subscriber, acceptEnd(t, childIn, childOut)
}

// STDIO-001: a link over two streams keeps what every link promises.
func TestSuite(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Link {
		a, b := openLink(t)
		return transporttest.Link{A: a, B: b, Principal: Principal}
	})
}

// STDIO-009: the same by way of a child, which is a process that passes everything on.
func TestSuiteChild(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Link {
		fromChild, childOut := newPipe(t)
		childIn, toChild := newPipe(t)
		cmd := childCommand("relay")
		cmd.ExtraFiles = []*os.File{childIn, childOut}
		a := dialChild(t, cmd)
		childIn.Close()
		childOut.Close()
		return transporttest.Link{A: a, B: acceptEnd(t, fromChild, toChild), Principal: Principal}
	})
}

// children are what this test program can be.
var children = map[string]func() int{
	"relay": func() int { // between its own streams and those that the test holds
		go func() {
			out := os.NewFile(4, "")
			io.Copy(out, os.Stdin)
			out.Close()
			os.Exit(0)
		}()
		io.Copy(os.Stdout, os.NewFile(3, ""))
		return 0
	},
	"echo": func() int { // a producer that says everything back, and prints where it should not
		l, err := Listen(nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		c, err := l.Accept(context.Background())
		for err == nil {
			var msg []byte
			if msg, err = c.Receive(context.Background()); err == nil {
				printEverywhere()
				err = c.Send(context.Background(), msg)
			}
		}
		if err != io.EOF {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		if _, err := Listen(nil); err != errListening {
			return 3
		}
		return 0
	},
	"agent": runAgent,
	"exit":  func() int { return 3 },
	"late":  func() int { time.Sleep(50 * time.Millisecond); fmt.Println(`{"type":"x"}`); return 3 },
	"torn":  func() int { fmt.Print(`{"type":"x"`); return 0 },
	"mute":  func() int { time.Sleep(time.Hour); return 0 },
	"closed": func() int { // its output ends before it does
		os.Stdout.Close()
		io.Copy(io.Discard, os.Stdin)
		return 4
	},
	"leaver": func() int { // what it leaves behind holds its output and its standard error
		cmd := childCommand("mute")
		cmd.Stdin, cmd.Stdout = nil, os.Stdout
		if err := cmd.Start(); err != nil {
			return 2
		}
		fmt.Printf(`{"type":"left","pid":%d}`+"\n", cmd.Process.Pid)
		return 0
	},
	"garbage": func() int {
		fmt.Print("Loading model…\n\x1b[1m50%\r\x00\xff\n{\n[1]\n{\"type\":\"a\"}\n")
		fmt.Println(`{"jsonrpc":"2.0","method":"aaep.event","params":{"type":"b"}}`)
		return 0
	},
}
