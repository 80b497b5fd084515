package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/stdio"
)

// Child is an endpoint for subscribers that start the agent themselves, and speak with it over its
// standard input and output. URL is what they start: relay, with one more argument that is passed
// to Relay. Relay is a command line, whose words a space separates.
func Child(relay string) (*Endpoint, error) {
	dir, err := os.MkdirTemp("", "aaep") // 0700, and short enough for a socket
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	path := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Endpoint{url: relay + " " + path, arrivals: make(chan transports.Conn), stop: stop,
		links: map[net.Conn]bool{}}
	ctx, _ = violation.WithReporter(ctx, s.reportViolation)
	s.close = func() error { return errors.Join(ln.Close(), os.RemoveAll(dir)) }
	s.running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			c, err := stdio.NewListener(conn, conn, nil).Accept(ctx)
			if err != nil {
				conn.Close()
				return
			}
			select {
			case s.arrivals <- child{c, conn}:
			case <-ctx.Done():
				c.Close()
				return
			}
		}
	})
	return s, nil
}

// child is a Conn that can be cut: the program that the subscriber started then ends.
type child struct {
	transports.Conn
	line net.Conn
}

func (c child) Cut() { c.line.Close() }

// Relay is the program that a subscriber starts: it carries what comes on in to the Child at path,
// and what that says to out, until either ends.
func Relay(path string, in io.Reader, out io.Writer) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	defer conn.Close()
	go func() {
		io.Copy(conn, in) // what comes late is not missed
		conn.(*net.UnixConn).CloseWrite()
	}()
	_, err = io.Copy(out, conn)
	return err
}
