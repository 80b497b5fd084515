package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

const unixScheme = "unix:"

// dialer reaches the agent at an address that address has checked.
func dialer(at string) transports.Dialer {
	switch {
	case strings.HasPrefix(at, unixScheme):
		return ipc.Dialer{Path: strings.TrimPrefix(at, unixScheme)}
	case strings.HasPrefix(at, "ws"):
		return websocket.Dialer{URL: at}
	}
	return sse.Dialer{URL: at}
}

// socketPath completes "unix:" and a name, or a path, to a path.
func socketPath(at string) (string, error) {
	name := strings.TrimPrefix(at, unixScheme)
	if strings.Contains(name, "/") {
		return name, nil
	}
	if name == "" {
		return "", fmt.Errorf("%q names no socket.\nGive a name or a path, such as unix:planner or unix:/run/user/1000/aaep/planner.sock", at)
	}
	return ipc.Path(name)
}

// serveAt serves p where the user said until p is shut down, and returns how to reach it there.
func serveAt(ctx context.Context, addr string, p *producer.Producer) (at string, served <-chan error, err error) {
	done := make(chan error, 1)
	if !strings.HasPrefix(addr, unixScheme) {
		ln, err := listen(ctx, addr)
		if err != nil {
			return "", nil, err
		}
		go func() { done <- serve.Serve(context.WithoutCancel(ctx), ln, p) }()
		return "http://" + ln.Addr().String(), done, nil
	}
	path, err := socketPath(addr)
	if err != nil {
		return "", nil, usage("--listen %s", err)
	}
	l, err := ipc.Listen(path, nil)
	if err != nil {
		return "", nil, &exitError{exitFailed, fmt.Errorf("cannot serve on %s: %s", path, plain(err))}
	}
	go func() { done <- p.Serve(context.WithoutCancel(ctx), l) }()
	return unixScheme + path, done, nil
}
