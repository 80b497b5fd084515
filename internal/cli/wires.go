package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// dialer reaches the agent at an address that address has checked.
func dialer(at string) transports.Dialer {
	switch {
	case strings.HasPrefix(at, localScheme):
		return ipc.Dialer{Path: strings.TrimPrefix(at, localScheme)}
	case strings.HasPrefix(at, "ws"):
		return websocket.Dialer{URL: at}
	}
	return sse.Dialer{URL: at}
}

// isLocal reports whether an address is one that only the agent's own user can reach, on this system or another.
func isLocal(at string) bool {
	return strings.HasPrefix(at, localScheme) || strings.HasPrefix(at, foreignScheme)
}

// localPath completes "unix:" or "pipe:" and a name, or a path, to a path.
func localPath(at string) (string, error) {
	name, ok := strings.CutPrefix(at, localScheme)
	switch {
	case !ok:
		return "", fmt.Errorf("%q is for other systems.\nHere an agent is at a %s, such as %splanner", at, localThing, localScheme)
	case name == "":
		return "", fmt.Errorf("%q names no %s.\nGive a name or a path, such as %splanner or %s", at, localThing, localScheme, localExample)
	case strings.ContainsRune(name, filepath.Separator):
		return name, nil
	}
	return ipc.Path(name)
}

// serveAt serves p where the user said until p is shut down, and returns how to reach it there.
func serveAt(ctx context.Context, addr string, p *producer.Producer) (at string, served <-chan error, err error) {
	done := make(chan error, 1)
	if !isLocal(addr) {
		ln, err := listen(ctx, addr)
		if err != nil {
			return "", nil, err
		}
		go func() { done <- serve.Serve(context.WithoutCancel(ctx), ln, p) }()
		return "http://" + ln.Addr().String(), done, nil
	}
	path, err := localPath(addr)
	if err != nil {
		return "", nil, usage("--listen %s", err)
	}
	l, err := ipc.Listen(path, nil)
	if err != nil {
		return "", nil, &exitError{exitFailed, fmt.Errorf("cannot serve on %s: %s", path, plain(err))}
	}
	go func() { done <- p.Serve(context.WithoutCancel(ctx), l) }()
	return localScheme + path, done, nil
}
