// Package freeport finds TCP ports for programs that are started in tests. It is for tests; nothing
// that users compile imports it.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Addr returns an address of the loopback network on which no program listens. It is below the
// ports that systems give away, so that a server can go and come back. It is not found by listening
// there: a program that another test starts at that moment has the listener for as long as its
// start takes, and a peer that dials then reaches that.
func Addr() string {
	for {
		addr := fmt.Sprint("127.0.0.1:", 20000+rand.IntN(10000))
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return addr
		}
		conn.Close()
	}
}
