//go:build unix

package acp

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A named pipe is no file: reading it is refused at once, and not once something writes to it.
func TestReadNamedPipe(t *testing.T) {
	cfg := Config{Folder: t.TempDir()}
	if err := syscall.Mkfifo(filepath.Join(cfg.Folder, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := cfg.readFile("pipe")
		failed <- err
	}()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("it was read")
		}
	case <-time.After(10 * time.Second):
		t.Error("it is waited for")
	}
}

// What a command has started ends with it.
func TestKillGroup(t *testing.T) {
	c := &Conversation{agent: &Agent{cfg: Config{Folder: t.TempDir()}, done: make(chan struct{})}}
	c.turn = &turn{c: c, ended: true}
	id, err := c.startCommand(createTerminalRequest{Command: "sleep 60 & echo $!; wait"}, c.agent.cfg.Folder)
	if err != nil {
		t.Fatal(err)
	}
	m := c.terminals[id]
	var child int
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && child == 0; time.Sleep(time.Millisecond) {
		child, _ = strconv.Atoi(strings.TrimSpace(m.readOutput().Output))
	}
	if child == 0 {
		t.Fatal("the command says no process")
	}
	c.Stop()
	<-m.over
	for end := time.Now().Add(10 * time.Second); !processEnded(child); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the child goes on")
		}
	}
}

// processEnded reports whether a process has ended, though nothing may have waited for it.
func processEnded(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ")
}

// A write keeps the mode of the file, follows no link that came after the path was resolved, and
// leaves nothing beside the file.
func TestReplace(t *testing.T) {
	old := "old"
	for _, tc := range []struct {
		name string
		meet func(folder string) error // what happens between the question and the write
		ok   bool
	}{
		{"nothing", func(string) error { return nil }, true},
		{"another text", func(folder string) error { return os.WriteFile(folder+"/sub/a", []byte("other"), 0o600) },
			false},
		{"no file any more", func(folder string) error {
			return os.Rename(folder+"/sub/a", folder+"/b")
		}, false},
		{"a link in place of the file", func(folder string) error {
			os.Rename(folder+"/sub/a", folder+"/b")
			return os.Symlink("../b", folder+"/sub/a")
		}, false},
		{"a link in place of its folder", func(folder string) error {
			os.Rename(folder+"/sub", folder+"/b")
			return os.Symlink("b", folder+"/sub")
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := Config{Folder: t.TempDir()}
			path := filepath.Join(cfg.Folder, "sub", "a")
			os.Mkdir(filepath.Dir(path), 0o700)
			if err := os.WriteFile(path, []byte(old), 0o640); err != nil {
				t.Fatal(err)
			}
			os.Chmod(path, 0o751)
			if got, err := cfg.resolvePath("sub/a"); got != path || err != nil {
				t.Fatal(got, err)
			}
			if err := tc.meet(cfg.Folder); err != nil {
				t.Fatal(err)
			}
			err := cfg.replaceFile(path, &old, "new")
			if (err == nil) != tc.ok {
				t.Error(err)
			}
			text, _ := os.ReadFile(path)
			if (string(text) == "new") != tc.ok {
				t.Errorf("the file says %q", text)
			}
			if info, err := os.Stat(path); tc.ok && (err != nil || info.Mode() != 0o751) {
				t.Error(info.Mode(), err)
			}
			if left, _ := filepath.Glob(filepath.Join(cfg.Folder, "*", ".aaep-*")); len(left) > 0 {
				t.Error(left)
			}
		})
	}
}
