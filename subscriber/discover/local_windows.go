package discover

import "github.com/aaep-go/aaep/manifest"

// LocalScheme begins the address of an agent that only its own user can reach, and LocalTransport
// is how a manifest calls what is there: a named pipe here, a Unix socket elsewhere.
const (
	LocalScheme    = "pipe:"
	LocalTransport = manifest.Pipe
)
