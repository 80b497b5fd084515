//go:build linux

// Package orcadesktop runs a desktop without a screen for tests, on which the real Orca reads to
// its user through a real speech server, at the pace of a voice. Several can run at once, and none
// touches the desktop, or the Orca, of the person who runs the tests.
package orcadesktop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/sessionbus/bustest"
	"github.com/aaep-go/aaep/internal/speechd"
)

// Start starts a desktop, which ends with the test and is the one that programs of the test find,
// and returns its speech server once Orca has greeted its user. Where a program is missing the test
// fails. With AAEP_ORCA_LOGS, what Orca and openbox print is kept in the folder of that name.
func Start(t *testing.T) *speechd.Server {
	t.Helper()
	for _, program := range append([]string{"orca", "Xvfb", "openbox", "xdotool", "gsettings"}, speechd.Programs...) {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is missing: make orca installs it, if root runs that on Debian", program)
		}
	}
	version, err := exec.Command("orca", "--version").Output()
	check(t, err)
	t.Logf("Orca %s", bytes.TrimSpace(version))
	home := setHome(t)
	startScreen(t)
	s := speechd.Start(t)
	t.Setenv("SPEECHD_ADDRESS", "unix_socket:"+s.Socket)
	bustest.Start(t)
	for _, key := range []string{"org.gnome.desktop.interface toolkit-accessibility", "org.gnome.desktop.a11y.applications screen-reader-enabled"} {
		schema, name, _ := strings.Cut(key, " ")
		if out, err := exec.Command("gsettings", "set", schema, name, "true").CombinedOutput(); err != nil {
			t.Fatalf("gsettings: %v: %s", err, out)
		}
	}
	// Orca reads only what has the focus, which no window has without a window manager.
	startProgram(t, exec.Command("openbox"))
	startOrca(t, home)
	for end := time.Now().Add(3 * time.Minute); len(s.Messages()) == 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("Orca never spoke")
		}
	}
	return s
}

// setHome makes a folder for all that a user's programs keep, points the environment to it until
// the test ends, and returns it.
func setHome(t *testing.T) (home string) {
	t.Helper()
	home, err := os.MkdirTemp("", "orca") // t.TempDir is too long for sockets
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	for _, name := range []string{"HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, home)
	}
	for name, value := range map[string]string{"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "GSETTINGS_BACKEND": "keyfile", "ACCESSIBILITY_ENABLED": "1"} {
		t.Setenv(name, value)
	}
	return home
}

// startScreen starts an X server, and sets DISPLAY to the number that it has chosen.
func startScreen(t *testing.T) {
	t.Helper()
	read, write, err := os.Pipe()
	check(t, err)
	defer read.Close()
	screen := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1280x900x24", "-nolisten", "tcp")
	screen.ExtraFiles = []*os.File{write}
	startProgram(t, screen)
	write.Close()
	var number int
	_, err = fmt.Fscan(read, &number)
	check(t, err)
	t.Setenv("DISPLAY", fmt.Sprintf(":%d", number))
}

// startOrca starts Orca with a pgrep, in home, that finds nothing: by pgrep Orca looks for others
// of its user, and refuses to start beside them, or ends them.
func startOrca(t *testing.T, home string) {
	t.Helper()
	check(t, os.Mkdir(filepath.Join(home, "bin"), 0o700))
	check(t, os.WriteFile(filepath.Join(home, "bin", "pgrep"), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	reader := exec.Command("orca")
	reader.Env = append(os.Environ(), "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"))
	startProgram(t, reader)
}

// startProgram starts a program that ends with the test, and its children with it. What it prints
// goes to a file in the folder AAEP_ORCA_LOGS, if that is set.
func startProgram(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if logs := os.Getenv("AAEP_ORCA_LOGS"); logs != "" {
		out, err := os.Create(filepath.Join(logs, filepath.Base(cmd.Path)+".log"))
		check(t, err)
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	check(t, cmd.Start())
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
}

// check fails the test if there is an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
