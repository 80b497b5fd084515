//go:build unix

package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

var _ duplex.Idler = (*frames)(nil)

// Listener waits for peers on a socket. Its Conns implement transports.Identified.
type Listener struct {
	ln     *net.UnixListener
	logger *slog.Logger
}

// Listen makes the socket at path, such as Path gives, in a folder that only this user can enter.
// What a producer that is gone left there is taken away; one that is there is an error. A nil
// logger discards.
func Listen(path string, logger *slog.Logger) (*Listener, error) {
	logger = shield.Logger(logger)
	if len(path) > maxPath {
		return nil, fmt.Errorf("ipc: the path %s has %d bytes; a socket's has at most %d", path, len(path), maxPath)
	}
	if err := makeFolder(path); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("ipc: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil { // no other user could enter the folder meanwhile
		ln.Close()
		return nil, err
	}
	return &Listener{ln, logger}, nil
}

// removeStale removes the socket at path if no process listens on it. A path that is free is nil; a
// socket that is listened on, and any other file, is an error. Listen calls it.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("ipc: %s is there and is no socket; remove it", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
		return fmt.Errorf("ipc: another producer listens at %s", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("ipc: %w", err)
	}
	return os.Remove(path)
}

// Addr returns the path.
func (l *Listener) Addr() string { return l.ln.Addr().String() }

// shortageWait is how long Accept waits when the system has no file descriptor or memory left for a
// connection.
const shortageWait = 100 * time.Millisecond

// Accept returns the Conn of the next peer, who is the user that we are; others are turned away and
// logged. Where the system lacks files or memory it tries again after shortageWait. The error is
// that of ctx, or transports.ErrClosed.
func (l *Listener) Accept(ctx context.Context) (transports.Conn, error) {
	stop := context.AfterFunc(ctx, func() { l.ln.SetDeadline(time.Now()) })
	defer func() {
		if !stop() {
			l.ln.SetDeadline(time.Time{})
		}
	}()
	for {
		conn, err := l.ln.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil, ctx.Err()
		case errors.Is(err, net.ErrClosed):
			return nil, transports.ErrClosed
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOBUFS),
			errors.Is(err, syscall.ENOMEM):
			l.logger.Error("ipc: a peer has to wait", "error", err)
			select {
			case <-time.After(shortageWait):
			case <-ctx.Done():
			}
			continue
		case err != nil:
			return nil, fmt.Errorf("ipc: %w", err)
		}
		uid, err := peerUID(conn)
		if err != nil || uid != os.Getuid() {
			l.logger.Warn("ipc: turned away", "uid", uid, "error", err)
			conn.Close()
			continue
		}
		f := newFrames(conn, framingUnknown)
		f.violations = violation.ReporterOf(ctx)
		return duplex.New(f, "uid:"+strconv.Itoa(uid)), nil
	}
}

// Close stops listening and removes the socket; a second Close does nothing. Conns that were
// accepted stay open.
func (l *Listener) Close() error {
	if err := l.ln.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Dialer reaches a producer.
type Dialer struct {
	// Path is the socket's, such as Path gives.
	Path string
}

// Dial connects, if the socket and its folder belong to the user of this process. If another user
// listens there, the error is fs.ErrPermission.
func (d Dialer) Dial(ctx context.Context) (transports.Conn, error) {
	if err := checkOwned(filepath.Dir(d.Path)); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", d.Path)
	if err != nil {
		return nil, fmt.Errorf("ipc: %w", err)
	}
	unix := conn.(*net.UnixConn)
	if uid, err := peerUID(unix); err != nil || uid != os.Getuid() {
		conn.Close()
		return nil, fmt.Errorf("ipc: who listens at %s is user %d, not %d (%v): %w", d.Path, uid, os.Getuid(), err,
			fs.ErrPermission)
	}
	f := newFrames(unix, framingLengths)
	f.violations = violation.ReporterOf(ctx)
	if info, err := os.Stat(d.Path); err == nil && info.Mode().Perm()&0o077 != 0 {
		f.violations.Report("IPC-008",
			fmt.Sprintf("the socket has the mode %#o: others than its owner may use it", info.Mode().Perm()))
	}
	return duplex.New(f, ""), nil
}
