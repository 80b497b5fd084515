package cli

import (
	"os"
	"testing"

	"github.com/aaep-go/aaep/internal/sessionbus/bustest"
)

// TestAnswerOverTheBus answers over a session bus that is real.
func TestAnswerOverTheBus(t *testing.T) {
	bustest.Start(t, "gdbus")
	runScripts(t, "bus", map[string]string{"DBUS_SESSION_BUS_ADDRESS": os.Getenv("DBUS_SESSION_BUS_ADDRESS")})
}
