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
// signal, and is killed if it goes on. The error is that of the program, or else that of writing
// its output.
func (r *runner) runProgram(ctx context.Context, out, errs io.Writer) error {
	output, outputEnd, err := openStream(out)
	if err != nil {
		return err
	}
	defer output.read.Close()
	errorOutput, errorsEnd, err := openStream(errs)
	if err != nil {
		outputEnd.Close()
		return err
	}
	defer errorOutput.read.Close()
	cmd := exec.CommandContext(ctx, r.args[0], r.args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = r.in, outputEnd, errorsEnd, subprocess.Environment()
	cmd.WaitDelay = subprocess.KillDelay
	cmd.Cancel = func() error { return stopProgram(cmd.Process, context.Cause(ctx), output.ended) }
	defer subprocess.EndWithParent(cmd)()
	err = cmd.Start()
	outputEnd.Close()
	errorsEnd.Close()
	if err != nil {
		return err
	}
	go output.copyToEnd()
	go errorOutput.copyToEnd()

	select {
	case <-output.ended:
	case <-ctx.Done(): // what the program left behind may hold on to its output
		output.awaitCopied(interruptTime + subprocess.KillDelay + time.Second)
	}
	failed := cmd.Wait()
	errorOutput.awaitCopied(errorsRest)
	programEndedWell := failed == nil || errors.Is(failed, context.Canceled) // if it heeded us and ended with 0
	if !programEndedWell {
		return failed
	}
	return output.err
}

// outputStream is the end of a pipe that a program writes to, and where that is copied to.
type outputStream struct {
	read  *os.File
	to    io.Writer
	ended chan struct{} // is closed when nothing is copied any more, most likely since the program has ended
	err   error         // of copying; may be read when ended is closed
}

// openStream opens a pipe to copy to a writer; the program gets its other end.
func openStream(to io.Writer) (_ *outputStream, write *os.File, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &outputStream{read: read, to: to, ended: make(chan struct{})}, write, nil
}

// copyToEnd copies until no process holds the other end of the pipe, or until nothing can be
// written, as where the session is over. The program need not wait then, so the pipe is closed.
func (s *outputStream) copyToEnd() {
	defer close(s.ended)
	_, s.err = io.Copy(s.to, s.read)
	s.read.Close()
}

// awaitCopied waits until all is copied, but not longer than limit: it then closes the pipe.
func (s *outputStream) awaitCopied(limit time.Duration) {
	select {
	case <-s.ended:
	case <-time.After(limit):
		s.read.Close()
		<-s.ended
	}
}

// stopProgram sends a program the signal that this one got, at once; or, for a Ctrl-C and any other
// cause, an interrupt once the program's output has ended, or interruptTime is over. A terminal has
// told the program itself of a Ctrl-C, and many take a second one as an order to drop everything.
func stopProgram(p *os.Process, cause error, outputEnded <-chan struct{}) error {
	if signalled, ok := cause.(exits.Signalled); ok && signalled.Signal != os.Interrupt {
		return p.Signal(signalled.Signal)
	}
	select {
	case <-outputEnded:
	case <-time.After(interruptTime):
	}
	return p.Signal(os.Interrupt)
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
