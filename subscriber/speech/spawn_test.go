//go:build unix

package speech

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where no server listens, one is started if that is wished for; it is told where to listen.
func TestSpawn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	args := filepath.Join(dir, "args")
	program := func(end string) {
		script := "#!/bin/sh\necho \"$@\" >'" + args + "'\n" + end + "\n"
		if err := os.WriteFile(filepath.Join(dir, "speech-dispatcher"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		address, end string
		spawn        bool
		args, err    string
	}{
		{"unix_socket:" + dir + "/s", "exit 0", false, "", "no such file"},
		{"unix_socket:" + dir + "/s", "exit 0", true,
			"--spawn --communication-method unix_socket --socket-path " + dir + "/s", "no such file"},
		{"unix_socket:" + dir + "/s", "echo Autospawn is off >&2; exit 1", true,
			"--spawn --communication-method unix_socket --socket-path " + dir + "/s", "Autospawn is off"},
		{"inet_socket:127.0.0.1:1", "exit 0", true, "--spawn --communication-method inet_socket --port 1", "refused"},
		{"inet_socket:0.0.0.0:1", "exit 0", true, "", "refused"}, // it may be elsewhere
	} {
		t.Setenv("SPEECHD_ADDRESS", c.address)
		program(c.end)
		os.Remove(args)
		conn, err := dialServer(t.Context(), c.spawn)
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: connect = %v, %v; want %q", c.address, conn, err, c.err)
		}
		if got, _ := os.ReadFile(args); strings.TrimSpace(string(got)) != c.args {
			t.Errorf("%s: it was started with %q, want %q", c.address, got, c.args)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	os.Remove(args)
	if _, err := dialServer(ctx, true); err == nil {
		t.Error("connect with a context that is over")
	}
	if _, err := os.Stat(args); err == nil {
		t.Error("a server was started with a context that is over")
	}

	t.Setenv("SPEECHD_ADDRESS", "unix_socket:"+dir+"/s")
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Skip(err) // the folder's name is too long
	}
	defer l.Close()
	conn, err := dialServer(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if _, err := os.Stat(args); err == nil {
		t.Error("a server was started beside another one")
	}
}
