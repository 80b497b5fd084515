//go:build linux

package speech

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/aaep-go/aaep/internal/realtest"
)

// noBus lets the test have no session bus, and returns an empty folder.
func noBus(t *testing.T) string {
	dir, err := os.MkdirTemp("", "aaep")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(dir, "bus"))
	return dir
}

// A screen reader is found by its process where no bus tells of it.
func TestScreenReaderProcess(t *testing.T) {
	dir := noBus(t)
	for comm, want := range map[string]string{"orca\n": "orca", "fenrir\n": "fenrir", "bash\n": "", "orcad\n": ""} {
		proc := filepath.Join(dir, "proc")
		if err := os.MkdirAll(filepath.Join(proc, "77"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, "77", "comm"), []byte(comm), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := screenReader(t.Context(), proc); got != want {
			t.Errorf("with a process %q: found %q", comm, got)
		}
	}
	if os.Getuid() == 0 { // another user's is not ours
		if err := os.WriteFile(filepath.Join(dir, "proc", "77", "comm"), []byte("orca\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(dir, "proc", "77", "comm"), 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if got := screenReader(t.Context(), filepath.Join(dir, "proc")); got != "" {
			t.Errorf("found %q of another user", got)
		}
	}
	if got := screenReader(t.Context(), filepath.Join(dir, "nowhere")); got != "" {
		t.Errorf("found %q where there is nothing", got)
	}
}

// A bus that accepts and says nothing holds nothing up.
func TestScreenReaderStalledBus(t *testing.T) {
	dir := noBus(t)
	l, err := net.Listen("unix", filepath.Join(dir, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if got := screenReader(ctx, dir); got != "" || time.Since(start) > time.Minute {
		t.Errorf("found %q after %v", got, time.Since(start))
	}
}

// Orca on the session bus, under each of its names, or the desktop's switch: Dial refuses and says
// what to do.
func TestScreenReaderBus(t *testing.T) {
	realtest.Need(t, "dbus-daemon")
	dir := noBus(t)
	daemon := exec.Command("dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address",
		"--address=unix:path="+filepath.Join(dir, "bus"))
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer daemon.Wait()
	defer daemon.Process.Kill()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if got := readerOnBus(t.Context()); got != "" {
		t.Errorf("found %q on an empty bus", got)
	}
	bus, err := dbus.ConnectSessionBus()
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	for _, name := range []string{"org.gnome.Orca.Service", "org.gnome.Orca1.Service"} {
		if _, err := bus.RequestName(name, dbus.NameFlagDoNotQueue); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Options{Dial: func(context.Context) (net.Conn, error) {
			t.Error("it connected")
			return nil, net.ErrClosed
		}})
		if !errors.Is(err, ErrScreenReader) || !strings.Contains(err.Error(), "speak through it") {
			t.Errorf("with %s, Open = %v", name, err)
		}
		if _, err := bus.ReleaseName(name); err != nil {
			t.Fatal(err)
		}
	}
	var on status
	if err := bus.Export(&on, "/org/a11y/bus", "org.freedesktop.DBus.Properties"); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.RequestName("org.a11y.Bus", dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	if got := readerOnBus(t.Context()); got != "" {
		t.Errorf("found %q, though the switch is off", got)
	}
	on.Store(true)
	if got := readerOnBus(t.Context()); got == "" {
		t.Error("found none, though the switch is on")
	}
}

type status struct{ atomic.Bool }

func (s *status) Get(iface, name string) (dbus.Variant, *dbus.Error) {
	if iface != "org.a11y.Status" || name != "ScreenReaderEnabled" {
		return dbus.Variant{}, dbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", nil)
	}
	return dbus.MakeVariant(s.Load()), nil
}
