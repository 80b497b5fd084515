package speech

import (
	"context"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/aaep-go/aaep/internal/sessionbus"
)

// screenReader returns the name of a screen reader that runs for this user, or "". Each way to find
// one misses some: Orca is on the bus from version 49 on; the desktop's switch is not touched when
// the person starts Orca by hand; and a container sees no processes but its own.
func screenReader(ctx context.Context, proc string) string {
	if name := readerOnBus(ctx); name != "" {
		return name
	}
	return sessionbus.Running(proc, "orca", "cthulhu", "odilia", "fenrir")
}

// readerOnBus asks the session bus whether a screen reader runs, within two seconds, and starts
// nothing. It returns the reader's name for an error, or "" where there is no bus or none runs.
func readerOnBus(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	bus, err := sessionbus.Dial(ctx)
	if err != nil {
		return ""
	}
	defer bus.Close()
	var names []string
	if bus.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.ListNames", 0).Store(&names) != nil {
		return ""
	}
	for _, name := range names {
		if strings.HasPrefix(name, "org.gnome.Orca") { // org.gnome.Orca.Service, or Orca1 in other versions
			return "orca"
		}
	}
	var enabled bool
	get := bus.Object("org.a11y.Bus", "/org/a11y/bus").CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get",
		dbus.FlagNoAutoStart, "org.a11y.Status", "ScreenReaderEnabled")
	if get.Store(&enabled) == nil && enabled {
		return "the desktop's screen reader"
	}
	return ""
}
