//go:build !unix

package writer

// Tries reports whether Try can do anything for a Conn.
func Tries(Conn) bool { return false }

func tryWrite(Conn, []byte) int { return 0 }
