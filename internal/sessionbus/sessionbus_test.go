package sessionbus_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep/internal/sessionbus"
	"github.com/aaep-go/aaep/internal/sessionbus/bustest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDial(t *testing.T) {
	bustest.Start(t)
	conn, err := sessionbus.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var id string
	if err := conn.BusObject().CallWithContext(t.Context(), "org.freedesktop.DBus.GetId", 0).Store(&id); err != nil || id == "" {
		t.Errorf("the bus is called %q, %v", id, err)
	}
}

// Something that takes the connection and says nothing is no bus.
func TestDialSilence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Skip("no Unix sockets here: ", err)
	}
	defer ln.Close()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+path)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for range 2 {
		if _, err := sessionbus.Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial = %v", err)
		}
	}
}

func TestDialWithoutBus(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "bus"))
	if _, err := sessionbus.Dial(t.Context()); err == nil {
		t.Error("there is no bus, and Dial found one")
	}
}
