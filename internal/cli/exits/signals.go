package exits

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A Signalled is why a context ended.
type Signalled struct{ os.Signal }

func (s Signalled) Error() string { return s.String() }

// WithInterrupt returns a context that ends with Ctrl-C, a request to terminate or the end of the
// terminal, and then has a signalled as its cause.
func WithInterrupt(ctx context.Context) (context.Context, context.CancelFunc) {
	return endedBy(ctx, nil)
}

// WithServiceStop returns the context of WithInterrupt, for a command that a service manager may
// run: without a terminal, SIGHUP ends nothing, and report prints why.
func WithServiceStop(ctx context.Context, report func(label, text string)) (context.Context,
	context.CancelFunc) {
	if hasTerminal() {
		return WithInterrupt(ctx)
	}
	return endedBy(ctx, func() {
		report("aaep", "SIGHUP changes nothing: files that changed are read again by themselves, and a new flag needs a restart.")
	})
}

// endedBy returns a context that ends with the first signal that ends a program; its cause is then
// Signalled. What comes within withTheFirst after any but an interrupt counts as the same signal,
// and after that one ends the program itself. Where hangUp is not nil, SIGHUP calls it instead, and
// nothing ends. A SIGHUP that the parent had ignored, as nohup has, is left ignored.
func endedBy(ctx context.Context, hangUp func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup wants it
		signals = append(signals, syscall.SIGHUP)
	}
	received := make(chan os.Signal, 1)
	signal.Notify(received, signals...)
	go func() {
		defer signal.Stop(received)
		for {
			select {
			case s := <-received:
				if s == syscall.SIGHUP && hangUp != nil {
					hangUp()
					continue
				}
				cancel(Signalled{s})
				if s != os.Interrupt {
					time.Sleep(withTheFirst)
				}
			case <-ctx.Done():
			}
			return
		}
	}()
	return ctx, func() { cancel(nil) }
}

const withTheFirst = time.Second

// StopError returns the error with which a command ends that serves until it is stopped: nil after
// SIGTERM, with which a service manager asks for what is no failure.
func StopError(ctx context.Context) error {
	if context.Cause(ctx) == (Signalled{syscall.SIGTERM}) {
		return nil
	}
	return With(Interrupted, errors.New("interrupted"))
}
