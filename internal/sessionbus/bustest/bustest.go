// Package bustest starts real message buses for tests.
package bustest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/realtest"
)

// Start runs a session bus until the test ends, and makes it the one that the process finds.
// Services that are installed start on it when they are called, in a home of their own. Without
// dbus-daemon, or one of the programs that the test needs besides, the test is skipped; with
// AAEP_REAL=1 it fails.
func Start(t *testing.T, programs ...string) {
	t.Helper()
	realtest.Need(t, append(programs, "dbus-daemon")...)
	home, err := os.MkdirTemp("", "bus") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	bus := exec.Command("dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address", "--address=unix:dir="+home)
	bus.Env = append(os.Environ(), "HOME="+home, "XDG_RUNTIME_DIR="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home)
	out, err := bus.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		bus.Process.Kill()
		bus.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("dbus-daemon said %q: %v", address, err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(address))
}
