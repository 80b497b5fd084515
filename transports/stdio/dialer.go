package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

const (
	// exitTimeout is how long a child has to end once its input has ended, and again once it was
	// told to terminate.
	exitTimeout = 5 * time.Second
	// outputTimeout is how long the output of a child that has ended is still read, and how long a
	// child whose output has ended has to end itself.
	outputTimeout = time.Second
)

// Dialer starts a producer as a child process and speaks with it over its standard input and output
// (B.6.4).
//
// Every Dial starts the program anew, and whatever it does is done again: a subscriber should set
// subscriber.Config.NoReconnect.
type Dialer struct {
	// Command makes the command, without Stdin and Stdout. Its Stderr is for people and is not read
	// as messages (B.6.5); nil discards it. The child inherits what exec.Cmd says: a child that
	// shall not see the terminal's Ctrl-C needs a process group of its own.
	Command func() *exec.Cmd
	// Logger receives diagnostics, such as lines that are no messages. Nil discards them.
	Logger *slog.Logger
}

// Dial starts the program. ctx bounds Dial alone.
//
// When the child ends with another code than 0, or by a signal, the error of Receive wraps an
// *exec.ExitError. Close ends the child's input; if it has not ended 5 seconds later it is told to
// terminate, and another 5 seconds later killed. The error of Close wraps an *exec.ExitError if the
// child did not end with code 0, even where Receive has told another reason.
func (d Dialer) Dial(ctx context.Context) (transports.Conn, error) {
	if d.Command == nil {
		return nil, errors.New("stdio: a Dialer needs a Command")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd := d.Command()
	if cmd.Stdin != nil || cmd.Stdout != nil {
		return nil, errors.New("stdio: the command's Stdin and Stdout are the link's")
	}
	childIn, out, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("stdio: %w", err)
	}
	in, childOut, err := os.Pipe()
	if err != nil {
		childIn.Close()
		out.Close()
		return nil, fmt.Errorf("stdio: %w", err)
	}
	cmd.Stdin, cmd.Stdout = childIn, childOut
	if cmd.WaitDelay == 0 { // a process that inherited its Stderr must not hold up Wait
		cmd.WaitDelay = outputTimeout
	}
	err = cmd.Start()
	childIn.Close()
	childOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("stdio: %w", err)
	}
	p := &process{cmd: cmd, output: in, exited: make(chan struct{})}
	go p.waitForExit()
	f := &frames{in: p, out: out, process: p, logger: d.Logger, violations: violation.ReporterOf(ctx)}
	return newConn(f, ""), nil
}

// A process is a child that Dial started. Reading it reads its standard output, which ends with the
// child, whatever other process holds it open.
type process struct {
	cmd    *exec.Cmd
	output *os.File
	exited chan struct{} // closed when the child has ended and err is set
	err    error         // how the child failed; nil after an exit with code 0
}

// waitForExit waits for the child's end, keeps why it failed in p.err, and lets Reads of its output
// go on for outputTimeout. It is a goroutine of its own for each process.
func (p *process) waitForExit() {
	err := p.cmd.Wait()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		p.err = fmt.Errorf("stdio: the producer ended: %w", err)
	}
	close(p.exited)
	p.output.SetReadDeadline(time.Now().Add(outputTimeout)) // for a Read that waits
}

// Read reads what the child prints. After the child's end it returns what is left in the pipe, and
// then io.EOF, even if another process still holds the pipe open.
func (p *process) Read(b []byte) (int, error) {
	if p.hasExited() {
		p.output.SetReadDeadline(time.Now().Add(outputTimeout))
	}
	n, err := p.output.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

// hasExited reports whether the child process has ended. It returns at once.
func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// exitError returns how the child, whose output has ended, failed; nil if it did not. It waits for
// the child's end at most outputTimeout, or until done is closed.
func (p *process) exitError(done <-chan struct{}) error {
	t := time.NewTimer(outputTimeout)
	defer t.Stop()
	select {
	case <-p.exited:
		return p.err
	case <-t.C:
	case <-done:
	}
	return nil
}

// endProcess waits until the child has ended, and terminates or kills it where that takes too long.
// It returns how the child failed.
func (p *process) endProcess() error {
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Kill} {
		t := time.NewTimer(exitTimeout)
		select {
		case <-p.exited:
			t.Stop()
			return p.err
		case <-t.C:
			if p.cmd.Process.Signal(sig) != nil { // there is no such signal, or no such process
				p.cmd.Process.Kill()
			}
		}
	}
	<-p.exited
	return p.err
}

// Close closes the output; endProcess ends the child.
func (p *process) Close() error { return p.output.Close() }
