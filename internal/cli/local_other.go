//go:build !windows

package cli

import (
	"os"

	"github.com/aaep-go/aaep/subscriber/discover"
)

// The wire that only the agent's own user can reach is a Unix socket.
const (
	localScheme   = discover.LocalScheme
	localThing    = "socket"
	localFraming  = "length"
	localExample  = "unix:/run/user/1000/aaep/planner.sock"
	foreignScheme = "pipe:"
)

// hasTerminal reports whether there is a terminal that this program ends with.
func hasTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil {
		tty.Close()
	}
	return err == nil
}
