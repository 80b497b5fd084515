// Package ipc carries AAEP over Unix domain sockets (appendix B.4) and, on Windows, named pipes
// (B.3): the natural wire between an agent and assistive technology on one machine. Only the user
// who owns the producer can connect, and the operating system says who that is; a dialer makes sure
// that the producer is that user too. The connection's end is the subscription's end.
//
// On a socket a length of 4 bytes goes before each message; a peer that sends one line for each is
// answered in lines.
//
// On a pipe one write is one message, with nothing around it, as B.3.4 has it. A peer whose first
// write begins with a length, or ends with the only line end in it, is answered like one on a
// socket, still in one write for each message. Such a first write holds at most one message's worth
// of bytes. At a pipe of bytes, which this package reaches but does not make, it uses lengths. A
// message without bytes ends a pipe, since package winio says so; no message of AAEP is one.
//
// All users of a Windows machine share the names of pipes. Where another user has the name of an
// agent's pipe, Listen returns an error, and nothing is sent to that user; choose another name.
//
// On systems with neither, all return errors.ErrUnsupported.
//
// Listening and dialing are in ipc_unix.go and ipc_windows.go, the paths of sockets in
// path_unix.go, how messages are told apart in frames.go and, for pipes, pipe_windows.go. Who a
// peer is comes from the files peer_*.go on Unix and from user_windows.go, which also says who may
// open a pipe.
package ipc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// fileName returns a file name for an agent's id, which may be any string: what is not a letter,
// digit, dot, underscore or hyphen is percent-encoded, as is a dot in front. A name longer than
// maxLength bytes is cut, and ends in a hash of the id (D-69).
func fileName(agentID string, maxLength int) string {
	var b strings.Builder
	for i := range len(agentID) {
		c := agentID[i]
		if c == '.' && i > 0 || c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' ||
			'A' <= c && c <= 'Z' {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	name := b.String()
	if name == "" {
		name = "%"
	}
	if len(name) <= maxLength {
		return name
	}
	sum := sha256.Sum256([]byte(agentID))
	hash := "-" + hex.EncodeToString(sum[:8])
	return name[:max(maxLength-len(hash), 0)] + hash
}
