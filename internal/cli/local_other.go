//go:build !windows

package cli

// The wire that only the agent's own user can reach is a Unix socket.
const (
	localScheme   = "unix:"
	localThing    = "socket"
	localExample  = "unix:/run/user/1000/aaep/planner.sock"
	foreignScheme = "pipe:"
)
