//go:build !unix

package natstest

// Pause ends a server: there is nothing gentler here.
func (s *Server) Pause() { s.Kill() }

// Resume starts it again.
func (s *Server) Resume() { s.Start() }
