//go:build unix

package natstest

import "syscall"

// Pause stops a server without ending it, as a partition does to those who talk with it; it still
// believes what it did.
func (s *Server) Pause() { s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (s *Server) Resume() { s.cmd.Process.Signal(syscall.SIGCONT) }
