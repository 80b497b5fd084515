package cli

import "github.com/aaep-go/aaep/subscriber/discover"

// The wire that only the agent's own user can reach is a named pipe here.
const (
	localScheme   = discover.LocalScheme
	localThing    = "pipe"
	localFraming  = "message" // one write is one
	localExample  = `pipe:\\.\pipe\aaep\planner`
	foreignScheme = "unix:"
)

// hasTerminal reports whether there is a terminal that this program ends with, which nothing here
// tells.
func hasTerminal() bool { return true }
