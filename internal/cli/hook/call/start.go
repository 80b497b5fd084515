package call

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/aaep-go/aaep/transports"
)

const (
	idleTime  = 10 * time.Minute // in which nothing happens, until a server ends that a hook has started
	startTime = 5 * time.Second  // for a server to start
	startPoll = 5 * time.Millisecond
)

// StateFolder returns where the server keeps what outlives it: the trail of what was asked, its
// log, the secret for HTTP.
func StateFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "aaep"), nil
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "aaep"), err
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state", "aaep"), err
}

// Start starts a server that ends when it is idle, as a process that outlives this one. ended gets
// the error with which it ended, and the last line of its log.
func Start() (ended <-chan error, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := StateFolder()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "hook.log"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(program, "hook", "serve", "--idle", idleTime.String())
	cmd.Dir, cmd.Stdout, cmd.Stderr = string(filepath.Separator), log, log
	detachProcess(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	over := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		over <- errors.Join(errors.New("the server of hooks ended: "+lastLine(log.Name())+" Its log is "+log.Name()),
			err)
	}()
	return over, nil
}

// lastLine returns the last line of a short file, as a log that says why a program ended.
func lastLine(path string) string {
	text, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// reachServer reaches the server. If there is none, start is called to start one, unless it is nil,
// and the server is waited for, for at most startTime. The error is that of the last try, or how
// the server ended.
func reachServer(ctx context.Context, start func() (ended <-chan error, err error)) (transports.Conn, error) {
	path, err := InputPath()
	if err != nil {
		return nil, err
	}
	conn, err := dialRecorded(ctx, path, recordedInput)
	if err == nil || !isAbsent(err) || start == nil {
		return conn, err
	}
	ended, err := start()
	if err != nil {
		return nil, err
	}
	for timeout := time.After(startTime); ; {
		if conn, err = dialRecorded(ctx, path, recordedInput); err == nil || !isAbsent(err) {
			return conn, err
		}
		select {
		case <-time.After(startPoll):
		case <-timeout:
			return nil, err
		case failed := <-ended: // another may have been quicker
			if conn, err = dialRecorded(ctx, path, recordedInput); err != nil {
				return nil, failed
			}
			return conn, nil
		}
	}
}

// Ensure starts a server of hooks if none answers, with an empty request, which changes nothing.
func Ensure(ctx context.Context, start func() (ended <-chan error, err error)) error {
	conn, err := reachServer(ctx, start)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = sendInput(ctx, conn, Request{}, nil)
	return err
}
