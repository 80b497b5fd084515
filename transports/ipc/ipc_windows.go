package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

const (
	local = `\\.\pipe\`
	// socketFolder is what precedes the name of an agent's pipe.
	socketFolder = local + `aaep\`
	maxName      = 256 // of a pipe, with what precedes its name
)

// Path returns where an agent's pipe is (B.3.1). All users of a machine share these names, and
// their case does not count.
func Path(agentID string) (string, error) {
	return socketFolder + fileName(agentID, maxName-len(socketFolder)), nil
}

// checkPath returns an error for a path that is not a pipe of this machine: it could be a file, or
// a pipe of another machine, which would see that it is opened.
func checkPath(path string) error {
	if len(path) <= len(local) || !strings.EqualFold(path[:len(local)], local) {
		return fmt.Errorf(`ipc: %q is no pipe of this machine; its path begins with %s`, path, local)
	}
	if len(path) > maxName {
		return fmt.Errorf("ipc: the path %s has %d bytes; a pipe's has at most %d", path, len(path), maxName)
	}
	return nil
}

// Listener waits for peers on a pipe. Its Conns implement transports.Identified.
type Listener struct {
	ln     net.Listener
	self   *windows.SID // the user of this process
	logger *slog.Logger
	peers  chan accepted // from acceptLoop to Accept
	closed chan struct{} // closed by Close
	once   sync.Once     // of Close
	ended  chan struct{} // closed when acceptLoop has returned
}

// accepted is what one call of the pipe's Accept returned.
type accepted struct {
	conn net.Conn
	err  error
}

// Listen makes the pipe at path, such as Path gives, which only the user of this process can open,
// and not over a network. A pipe that is there already is an error. A nil logger discards.
func Listen(path string, logger *slog.Logger) (*Listener, error) {
	logger = shield.Logger(logger)
	if err := checkPath(path); err != nil {
		return nil, err
	}
	self, err := tokenUser(windows.GetCurrentProcessToken())
	if err != nil {
		return nil, fmt.Errorf("ipc: which user we are: %w", err)
	}
	ln, err := winio.ListenPipe(path, &winio.PipeConfig{
		SecurityDescriptor: ownerOnlyDescriptor(self),
		MessageMode:        true, // B.3.2
		InputBufferSize:    transports.MaxMessage,
		OutputBufferSize:   transports.MaxMessage,
	})
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrExist), errors.Is(err, windows.ERROR_PIPE_BUSY):
		return nil, fmt.Errorf("ipc: another producer, of this user or another one, listens at %s: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("ipc: %w", err)
	}
	l := &Listener{ln: ln, self: self, logger: logger, peers: make(chan accepted), closed: make(chan struct{}),
		ended: make(chan struct{})}
	go l.acceptLoop()
	return l, nil
}

// acceptLoop is a goroutine that waits for clients, since that cannot be cancelled, and holds one
// ready for Accept. It ends when the pipe is closed.
func (l *Listener) acceptLoop() {
	defer close(l.ended)
	for {
		conn, err := l.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		select {
		case l.peers <- accepted{conn, err}:
		case <-l.closed:
			if err == nil {
				conn.Close()
			}
			return
		}
	}
}

// Addr returns the path.
func (l *Listener) Addr() string { return l.ln.Addr().String() }

// Accept returns the Conn of the next peer, who is the user that we are; others are turned away and
// logged. The error is that of ctx, or transports.ErrClosed.
func (l *Listener) Accept(ctx context.Context) (transports.Conn, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var a accepted
		select {
		case a = <-l.peers:
		case <-l.closed:
			return nil, transports.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if a.err != nil {
			return nil, fmt.Errorf("ipc: %w", a.err)
		}
		user, pid, err := clientUser(a.conn)
		if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			// Windows does not say who runs a process with more rights than ours, such as a screen
			// reader. Only a process of this user can have opened our pipe.
			user, err = l.self, nil
		}
		if err != nil || !user.Equals(l.self) {
			l.logger.Warn("ipc: turned away", "pid", pid, "sid", user, "error", err)
			a.conn.Close()
			continue
		}
		return duplex.New(newPipe(a.conn, violation.ReporterOf(ctx)), "sid:"+user.String()), nil
	}
}

// Close stops listening and removes the pipe, and returns when both are done. Conns that were
// accepted stay open.
func (l *Listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.ln.Close()
	})
	<-l.ended
	return nil
}

// Dialer reaches a producer.
type Dialer struct {
	// Path is the pipe's, such as Path gives.
	Path string
}

// Dial connects, if the pipe belongs to the user of this process. It waits while the producer is
// busy with others. The producer learns our process, but cannot act as us.
func (d Dialer) Dial(ctx context.Context) (transports.Conn, error) {
	if err := checkPath(d.Path); err != nil {
		return nil, err
	}
	conn, err := winio.DialPipeContext(ctx, d.Path) // anonymously
	if err != nil {
		return nil, fmt.Errorf("ipc: %w", err)
	}
	frames, err := d.checkPipe(conn, violation.ReporterOf(ctx))
	if err != nil {
		conn.Close()
		return nil, err
	}
	return duplex.New(frames, ""), nil
}

// checkPipe returns the frames of a pipe that was opened, if it belongs to the user of this
// process. Nothing is sent on it before. A pipe of bytes is read as a socket is, with lengths.
func (d Dialer) checkPipe(conn net.Conn, reporter violation.Reporter) (duplex.Frames, error) {
	self, err := tokenUser(windows.GetCurrentProcessToken())
	if err != nil {
		return nil, fmt.Errorf("ipc: which user we are: %w", err)
	}
	owner, err := pipeOwner(conn)
	if err != nil {
		return nil, fmt.Errorf("ipc: whose the pipe %s is: %w", d.Path, err)
	}
	if !owner.Equals(self) {
		return nil, fmt.Errorf("ipc: the pipe %s belongs to %s, not to us, %s: %w", d.Path, owner, self,
			os.ErrPermission)
	}
	var flags uint32
	if err := windows.GetNamedPipeInfo(pipeHandle(conn), &flags, nil, nil, nil); err != nil {
		return nil, fmt.Errorf("ipc: %w", err)
	}
	if flags&windows.PIPE_TYPE_MESSAGE == 0 { // B.3.4
		f := newFrames(pipeStream{conn, conn}, framingLengths)
		f.violations = reporter
		return f, nil
	}
	return newPipe(conn, reporter), nil
}
