package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

// errorsRest is how long standard error is read after a program has ended that left it to another,
// in the background.
const errorsRest = time.Second

// runProgram runs the program with the session as its standard output, which ends when no process
// holds it any more, as in a pipe, and as its standard error. Neither of the two waits for the
// other, so that errors come first where the output is held up. When ctx ends the program gets a
// signal, and is killed if it goes on.
func (r *runner) runProgram(ctx context.Context, out, errs io.Writer) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	readErrors, writeErrors, err := os.Pipe()
	if err != nil {
		write.Close()
		return err
	}
	defer readErrors.Close()
	outputEnded := make(chan struct{}) // the output has ended, and most likely the program
	cmd := exec.CommandContext(ctx, r.args[0], r.args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = r.in, write, writeErrors, subprocess.Environment()
	cmd.WaitDelay = subprocess.KillDelay
	defer subprocess.EndWithParent(cmd)()
	cmd.Cancel = func() error {
		sig := os.Signal(os.Interrupt)
		if cause, ok := context.Cause(ctx).(exits.Signalled); ok {
			sig = cause.Signal
		}
		if sig == os.Interrupt {
			// A terminal has told the program itself, and many take a second Ctrl-C as an order to
			// drop everything.
			select {
			case <-outputEnded:
			case <-time.After(interruptTime):
			}
		}
		return cmd.Process.Signal(sig)
	}
	err = cmd.Start()
	write.Close()
	writeErrors.Close()
	if err != nil {
		return err
	}
	toldErrors := make(chan struct{})
	go func() {
		defer close(toldErrors)
		io.Copy(errs, readErrors)
		readErrors.Close() // where the session is over, the program need not wait
	}()
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(out, read)
		close(outputEnded)
		read.Close()
		copied <- err
	}()
	select {
	case err = <-copied:
	case <-ctx.Done():
		select {
		case err = <-copied:
		case <-time.After(interruptTime + subprocess.KillDelay + time.Second): // what the program left behind may hold on
			read.Close()
			err = <-copied
		}
	}
	failed := cmd.Wait()
	select {
	case <-toldErrors:
	case <-time.After(errorsRest):
		readErrors.Close()
		<-toldErrors
	}
	if failed != nil && !errors.Is(failed, context.Canceled) { // which Wait says of one that heeded us and ended with 0
		return failed
	}
	return err
}

// programStreams are the two that a program prints on, as one output of the session: what was read
// first is told first. Where one follows the other, that is said before it.
type programStreams struct {
	*producer.Output
	language string

	mu      sync.Mutex
	errs    bool // what was told last is error output
	midLine bool // and its line is not over
}

// programStream is one of them.
type programStream struct {
	of   *programStreams
	errs bool
}

// Write hands a piece of one of the two streams of a program on as output of the agent, behind a
// label where the other one wrote before.
func (s *programStream) Write(p []byte) (int, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.errs != s.of.errs && len(bytes.TrimSpace(p)) > 0 {
		if err := s.of.announceStream(s.errs); err != nil {
			return 0, err
		}
	}
	s.of.midLine = !bytes.HasSuffix(p, []byte("\n"))
	return s.of.Output.Write(p)
}

// Close ends nothing: the other stream may go on.
func (s *programStream) Close() error { return nil }

// announceStream writes a line that says which of the two streams follows, errs being standard
// error, in the language of the output where that is known. The caller holds mu.
func (b *programStreams) announceStream(errs bool) error {
	id := phrase.PlainOutput
	if errs {
		id = phrase.ErrorOutput
	}
	if b.midLine {
		if _, err := b.WriteString("\n"); err != nil {
			return err
		}
	}
	label, known := phrase.In(b.language, id, "")
	if !known {
		if err := b.SetLanguage("en"); err != nil {
			return err
		}
		defer b.SetLanguage(b.language)
	}
	b.errs = errs
	_, err := b.WriteString(label + "\n")
	return err
}
