package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// killed reports whether a program was ended by force.
func killed(exit *exec.ExitError) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// ending says how a program failed, and the exit code that says the same.
func ending(exit *exec.ExitError) (code int, how string) {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), "was ended by a signal: " + status.Signal().String()
	}
	return exit.ExitCode(), fmt.Sprintf("failed with exit code %d", exit.ExitCode())
}

// whyNot is why a program could not be started.
func whyNot(err error) string {
	if errors.Is(err, exec.ErrNotFound) {
		return "there is no such program"
	}
	return innermost(err)
}

// program runs the program with the session as its standard output, which ends when nobody holds it any more,
// as in a pipe. When ctx ends the program is told to end; if it does not heed that, it is killed.
func (r *runner) program(ctx context.Context, out io.Writer) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	gone := make(chan struct{}) // the output has ended, and most likely the program
	cmd := exec.CommandContext(ctx, r.args[0], r.args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.in, write, r.errs
	cmd.WaitDelay = lastChance
	defer noOrphan(cmd)()
	cmd.Cancel = func() error {
		sig := os.Signal(os.Interrupt)
		if cause, ok := context.Cause(ctx).(signalled); ok {
			sig = cause.Signal
		}
		if sig == os.Interrupt {
			// A terminal has told the program itself, and many take a second Ctrl-C as an order to drop everything.
			select {
			case <-gone:
			case <-time.After(heedTime):
			}
		}
		return cmd.Process.Signal(sig)
	}
	err = cmd.Start()
	write.Close()
	if err != nil {
		return err
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(out, read)
		close(gone)
		read.Close()
		copied <- err
	}()
	select {
	case err = <-copied:
	case <-ctx.Done():
		select {
		case err = <-copied:
		case <-time.After(heedTime + lastChance + time.Second): // what the program left behind may hold on
			read.Close()
			err = <-copied
		}
	}
	if failed := cmd.Wait(); failed != nil && !errors.Is(failed, context.Canceled) { // which Wait says of one that heeded us and ended with 0
		return failed
	}
	return err
}

// copyInterruptible copies until src ends or ctx is done. A read that waits cannot be stopped; its goroutine
// ends with the program.
func copyInterruptible(ctx context.Context, dst io.Writer, src io.Reader) error {
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(dst, src)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
