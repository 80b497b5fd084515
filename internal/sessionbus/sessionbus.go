// Package sessionbus reaches the D-Bus session bus of the user, on which screen readers and
// feedback daemons are, and holds what a double of them needs to do without a bus.
//
// It never starts a bus, as godbus by itself would with dbus-launch: a new one has none
// of those programs on it, and outlives this process.
//
// Dialing the bus, and the pipe for doubles, are in sessionbus.go. Whether a program of the user
// runs is found out in processes.go and ours_unix.go.
package sessionbus

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/godbus/dbus/v5"
)

// Processes is the folder where the system shows its processes, in which a screen reader is found
// that is not on the bus. Tests name another, or the screen reader of the developer who runs them
// would be taken for one of theirs: in their own process before anything reads it, and in programs
// they build with the linker's -X.
var Processes = "/proc"

// Dial connects to the session bus of the user. ctx bounds the connecting, not the connection,
// which the caller closes. The error says that there is no bus, or is that of ctx.
func Dial(ctx context.Context) (*dbus.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conn, err := dbus.SessionBusPrivateNoAutoStartup()
	if err != nil {
		return nil, fmt.Errorf("no session bus: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // a bus that does not answer
	if err = conn.Auth(nil); err == nil {
		err = conn.Hello()
	}
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("no session bus: %w", err)
	}
	return conn, nil
}

// Pipe returns the two ends of a link on which each takes the other for a bus. Nothing of it is
// real, so that it can be used where time is not, in a bubble of testing/synctest. Both ends are to
// be closed.
func Pipe() (client, service *dbus.Conn, err error) {
	a, b := net.Pipe()
	if client, err = open(a); err != nil {
		return nil, nil, err
	}
	if service, err = open(b); err != nil {
		client.Close()
		return nil, nil, err
	}
	return client, service, nil
}

// open makes one end of a connection that speaks D-Bus, without a bus between.
func open(end net.Conn) (*dbus.Conn, error) {
	conn, err := dbus.NewConn(&welcomed{Conn: end})
	if err == nil {
		err = conn.Auth([]dbus.Auth{dbus.AuthAnonymous()})
	}
	return conn, err
}

// welcomed answers the questions with which a client of a bus begins, since godbus has no other
// half of them.
type welcomed struct {
	net.Conn
	mu      sync.Mutex
	answers bytes.Buffer
	begun   bool
}

// Write answers the lines with which a client authenticates itself, as a bus does, and passes on
// what it writes after BEGIN.
func (w *welcomed) Write(p []byte) (int, error) {
	w.mu.Lock()
	begun := w.begun
	switch {
	case begun:
	case bytes.HasPrefix(p, []byte("BEGIN")):
		w.begun = true
	case bytes.HasPrefix(p, []byte("AUTH ")):
		w.answers.WriteString("OK 00000000000000000000000000000000\r\n")
	case bytes.HasPrefix(p, []byte("AUTH")):
		w.answers.WriteString("REJECTED ANONYMOUS\r\n")
	}
	w.mu.Unlock()
	if begun {
		return w.Conn.Write(p)
	}
	return len(p), nil
}

// Read returns the answers to the authentication first, and then what the peer sends.
func (w *welcomed) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answers.Len() > 0 {
		return w.answers.Read(p)
	}
	w.mu.Unlock()
	defer w.mu.Lock()
	return w.Conn.Read(p)
}
