// Package idle waits until there is something to read from a connection, without a goroutine for
// each: thousands of listeners say nothing for hours.
//
// Waiting with one goroutine for all is in idle_linux.go; idle_other.go says that this system has
// no such means.
package idle

import "syscall"

// A Wait is for one connection. It may be used from any goroutine.
type Wait struct {
	conn syscall.RawConn
	f    func()
	id   uint64 // while it waits; 0 otherwise
}

// CallNow has f called now, if the Wait waits.
func (w *Wait) CallNow() {
	if w.Stop() {
		go w.f()
	}
}
