package a2a_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/freeport"
	"github.com/aaep-go/aaep/internal/realtest"
)

// goCommand builds the command of the Go library of the protocol's authors, at one version.
func goCommand(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a large program is built: make test-all runs it")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":   "module x\n\ngo 1.26\n",
		"tools.go": "//go:build tools\n\npackage x\n\nimport _ \"github.com/a2aproject/a2a-go/v2/cmd/a2a\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"get", "github.com/a2aproject/a2a-go/v2/cmd/a2a@v2.3.1"}, {"build", "-o", "a2a",
		"github.com/a2aproject/a2a-go/v2/cmd/a2a"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			realtest.Missing(t, "the a2a command of a2a-go 2.3.1 cannot be had: %v: %.200q", err, out)
		}
	}
	return filepath.Join(dir, "a2a")
}

// The command of the Go library serves a program's output in parts, over JSON-RPC in both versions
// of the protocol, the older one with a card that names the newer, and as it does by itself, over
// HTTP+JSON; each part is heard once. Without parts it refuses the streams that its card promises.
func TestGoCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent is a shell script")
	}
	command := goCommand(t)
	script := filepath.Join(filepath.Dir(command), "say.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf 'One half. \\nThe other half.\\n'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		transport, version string
		args               []string
	}{
		{"jsonrpc", "latest", []string{"--chunk", "\n"}},
		{"jsonrpc", "0.3", []string{"--chunk", "\n"}},
		{"rest", "latest", []string{"--chunk", "\n"}},
		{"jsonrpc", "latest", nil},
		{"rest", "latest", nil},
	} {
		addr := freeport.Addr()
		_, port, _ := net.SplitHostPort(addr)
		bridgetest.Start(t, filepath.Dir(command), command, append([]string{"serve", "--quiet", "--transport",
			way.transport, "--protocol", way.version, "--exec", script, "--name", "Teller", "--port", port}, way.args...)...)
		url := "http://" + addr
		var agent *a2a.Agent
		for agent == nil { // it does not say when it serves
			if answer, err := http.Get(url + "/.well-known/agent-card.json"); err == nil {
				answer.Body.Close()
				agent = dial(t, url, a2a.Config{})
				continue
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-t.Context().Done():
				t.Fatal("the command does not serve")
			}
		}
		p := bridgetest.NewProducer(t)
		l := bridgetest.Listen(t, p, func(*bridgetest.Listener, *aaep.Event) {})
		task, err := agent.Send(context.Background(), p, "go")
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		heard := strings.Join(strings.Fields(l.AwaitEnd(t, 1)), " ")
		if !strings.Contains(heard, "One half. The other half.") {
			t.Errorf("%s: heard %q", way, heard)
		}
	}
}
