//go:build !windows

package cli

import "github.com/aaep-go/aaep/subscriber/discover"

// The wire that only the agent's own user can reach is a Unix socket.
const (
	localScheme   = discover.LocalScheme
	localThing    = "socket"
	localFraming  = "length"
	localExample  = "unix:/run/user/1000/aaep/planner.sock"
	foreignScheme = "pipe:"
)
