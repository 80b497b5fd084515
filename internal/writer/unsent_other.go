//go:build !linux

package writer

// limitUnsent has the system buffer no more than maxUnsent bytes of a TCP connection.
func limitUnsent(Conn) {}
