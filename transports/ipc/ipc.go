// Package ipc carries AAEP over Unix domain sockets (appendix B.4): the natural wire between an agent and assistive
// technology on one machine. Only the user who owns the producer can connect, and the operating system says who that is.
//
// Messages are framed by a 4-byte length; a peer that sends one line for each message is answered in lines. The
// connection's end is the subscription's end. Windows has no Unix sockets here: Listen and Dial return
// errors.ErrUnsupported there.
package ipc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxPath is the longest path of a socket on every system, in bytes.
const maxPath = 103

// fileName makes a file's name of an agent's id, which may be any string: what is not a letter, digit, dot, underscore or
// hyphen is percent-encoded, and what is too long ends in a hash (D-69).
func fileName(agentID string, most int) string {
	var b strings.Builder
	for i := range len(agentID) {
		c := agentID[i]
		if c == '.' && i > 0 || c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	name := b.String()
	if name == "" {
		name = "%"
	}
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(agentID))
	hash := "-" + hex.EncodeToString(sum[:8])
	return name[:max(most-len(hash), 0)] + hash
}
