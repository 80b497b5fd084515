package call

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
)

// InputPath is where the server takes inputs.
func InputPath() (string, error) { return ipc.Path(AgentID + "-input") }

// The lines of the record of where the server is.
const (
	recordedOutput = iota // for listeners
	recordedInput
)

// recordPath is the file in which the server says where it is. Who has another runtime directory
// than the server finds it by that: a user has one server, as they have one folder of state.
func recordPath() (string, error) {
	dir, err := StateFolder()
	return filepath.Join(dir, "hook.server"), err
}

// RecordServer writes the file with the addresses of this server, which other programs of the user
// read: that for listeners, then that for hooks. A file that is there is replaced.
func RecordServer() error {
	input, err := InputPath()
	if err != nil {
		return err
	}
	output, err := ipc.Path(AgentID)
	if err != nil {
		return err
	}
	path, err := recordPath()
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // a link is not followed
		return err
	}
	return os.WriteFile(path, []byte(output+"\n"+input+"\n"), 0o600)
}

// dialRecorded reaches the server at a path, or, where none is there, at the address in a line of
// the record that the server wrote. The error is that of path. The dialer sees that either is this
// user's.
func dialRecorded(ctx context.Context, path string, line int) (transports.Conn, error) {
	conn, err := ipc.Dialer{Path: path}.Dial(ctx)
	if err == nil || !isAbsent(err) {
		return conn, err
	}
	record, failed := recordPath()
	if failed != nil {
		return nil, err
	}
	data, _ := os.ReadFile(record)
	lines := strings.Split(string(data), "\n")
	if len(lines) <= line || lines[line] == path || !filepath.IsAbs(lines[line]) {
		return nil, err
	}
	if conn, failed := (ipc.Dialer{Path: lines[line]}).Dial(ctx); failed == nil {
		return conn, nil
	}
	return nil, err
}

// Dial reaches the server as a listener does, at the address that the server has written down.
func Dial(ctx context.Context) (transports.Conn, error) {
	path, err := ipc.Path(AgentID)
	if err != nil {
		return nil, err
	}
	return dialRecorded(ctx, path, recordedOutput)
}

// Status returns how many listeners the server has. An error says that there is no server, or that
// it does not answer.
func Status(ctx context.Context) (listeners int, err error) {
	conn, err := reachServer(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	got, err := sendInput(ctx, conn, Request{}, nil)
	return got.Listeners, err
}

// LockPath is a file that the server holds while it serves, so that of two that start at once one
// gives way.
func LockPath() (string, error) {
	path, err := InputPath()
	return filepath.Join(filepath.Dir(path), AgentID+".lock"), err
}
