//go:build !windows

package discover

import "github.com/aaep-go/aaep/manifest"

// LocalScheme begins the address of an agent that only its own user can reach, and LocalTransport
// is how a manifest calls what is there: a Unix socket here, a named pipe on Windows.
const (
	LocalScheme    = "unix:"
	LocalTransport = manifest.Unix
)
