package speech

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// serverAddress returns where the speech server listens, by the rules of its own library:
// SPEECHD_ADDRESS, else a Unix socket in the user's runtime folder. An empty address of a method
// stands for the usual one. The error is for a SPEECHD_ADDRESS of another method.
func serverAddress() (network, addr string, err error) {
	method, rest, _ := strings.Cut(os.Getenv("SPEECHD_ADDRESS"), ":")
	switch {
	case (method == "" || method == "unix_socket") && rest == "":
		dir := os.Getenv("XDG_RUNTIME_DIR")
		if dir == "" {
			if dir, err = os.UserCacheDir(); err != nil {
				return "", "", err
			}
		}
		return "unix", filepath.Join(dir, "speech-dispatcher", "speechd.sock"), nil
	case method == "unix_socket":
		return "unix", rest, nil
	case method == "inet_socket":
		host, port, _ := strings.Cut(rest, ":")
		if host == "" {
			host = "127.0.0.1"
		}
		if port == "" {
			port = "6560"
		}
		return "tcp", net.JoinHostPort(host, port), nil
	}
	return "", "", fmt.Errorf("SPEECHD_ADDRESS is %.80q: want unix_socket:PATH or inet_socket:HOST:PORT",
		os.Getenv("SPEECHD_ADDRESS"))
}

// dialServer connects to the user's speech server. Where none answers it starts one, if spawn says
// so and the server would be on this machine. The error is that of the first connection, or of the
// start.
func dialServer(ctx context.Context, spawn bool) (net.Conn, error) {
	network, addr, err := serverAddress()
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err == nil || !spawn {
		return conn, err
	}
	args := []string{"--spawn", "--communication-method", "unix_socket", "--socket-path", addr}
	if network == "tcp" {
		host, port, _ := net.SplitHostPort(addr)
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, err // a server elsewhere is not ours to start
		}
		args = []string{"--spawn", "--communication-method", "inet_socket", "--port", port}
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "speech-dispatcher", args...)
	cmd.Stderr = &stderr
	cmd.WaitDelay = replyLimit // the server that goes on in the background may keep the pipe open
	if e := cmd.Run(); e != nil && !errors.Is(e, exec.ErrWaitDelay) {
		return nil, fmt.Errorf("%w; starting one failed: %w %.200q", err, e, strings.TrimSpace(stderr.String()))
	}
	return d.DialContext(ctx, network, addr)
}
