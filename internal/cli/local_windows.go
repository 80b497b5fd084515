package cli

// The wire that only the agent's own user can reach is a named pipe here.
const (
	localScheme   = "pipe:"
	localThing    = "pipe"
	localExample  = `pipe:\\.\pipe\aaep\planner`
	foreignScheme = "unix:"
)
