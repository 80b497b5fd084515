package call

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// idleTime is how long a server stays that a hook has started.
const idleTime = 10 * time.Minute

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
