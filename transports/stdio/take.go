package stdio

import (
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
)

var (
	listening    atomic.Bool
	errListening = errors.New("stdio: this process's standard streams are a link already")
	errSame      = errors.New("stdio: standard output and standard error are one stream; the link needs its own")
)

// Listen makes the standard input and output of this process the link to the process that started
// it; they cannot be had a second time. From then on what the program prints goes to standard
// error, whether it prints to os.Stdout, to file descriptor 1 or by a child of its own, and what it
// reads from standard input is empty: neither can harm the link (B.6.5). Call it before anything is
// printed. A nil logger discards.
func Listen(logger *slog.Logger) (*Listener, error) {
	if listening.Swap(true) {
		return nil, errListening
	}
	in, out, err := separateStreams()
	if err != nil {
		listening.Store(false)
		return nil, err
	}
	return NewListener(in, out, logger), nil
}

// separateStreams moves the standard streams and returns the link's two. If standard output and
// standard error are one stream, it moves nothing and returns errSame: what the program prints
// would go into the link.
func separateStreams() (in, out *os.File, err error) {
	if stdout, err := os.Stdout.Stat(); err == nil {
		if stderr, err := os.Stderr.Stat(); err == nil && os.SameFile(stdout, stderr) {
			return nil, nil, errSame
		}
	}
	return moveStreams()
}
