package serving

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/lineio"
)

// Systemd hears that listeners are served, and the program that is run does not hear of systemd.
func TestReady(t *testing.T) {
	at := t.TempDir() + "/notify"
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		t.Skip("no such sockets here: ", err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", at)
	var out strings.Builder
	PrintInvitations(&lineio.Printer{Out: &out}, "planner", "", []Invitation{{command: "aaep listen", at: "unix:planner"}})
	NotifyReady()
	if got, want := out.String(), "aaep: Serving planner. Follow it with: aaep listen unix:planner\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	b := make([]byte, 100)
	l.SetReadDeadline(time.Now().Add(clitest.Patience))
	if n, err := l.Read(b); err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("told %q, %v", b[:n], err)
	}
	if _, there := os.LookupEnv("NOTIFY_SOCKET"); there {
		t.Error("the program that is run would be told where systemd listens")
	}
}
