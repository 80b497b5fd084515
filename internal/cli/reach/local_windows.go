package reach

import "github.com/aaep-go/aaep/subscriber/discover"

// The wire that only the agent's own user can reach is a named pipe here.
const (
	LocalScheme   = discover.LocalScheme
	localThing    = "pipe"
	LocalFraming  = "message" // one write is one
	localExample  = `pipe:\\.\pipe\aaep\planner`
	foreignScheme = "unix:"
)
