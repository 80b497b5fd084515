//go:build !windows

package reach

import "github.com/aaep-go/aaep/subscriber/discover"

// The wire that only the agent's own user can reach is a Unix socket.
const (
	LocalScheme   = discover.LocalScheme
	localThing    = "socket"
	LocalFraming  = "length"
	localExample  = "unix:/run/user/1000/aaep/planner.sock"
	foreignScheme = "pipe:"
)
