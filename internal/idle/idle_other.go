//go:build !linux

package idle

import "net"

// New returns nil: this system is not asked.
func New(net.Conn, func()) *Wait { return nil }

// Begin is not called here.
func (w *Wait) Begin() bool { return false }

// Stop is not called here.
func (w *Wait) Stop() bool { return false }
