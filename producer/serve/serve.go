// Package serve puts a producer on the usual transports: Server-Sent Events under /aaep/v1 and WebSocket at
// /aaep/v1/ws, on loopback. The JSON Schemas of what it sends are at /aaep/v1/schemas/.
package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/schemas"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// ListenAndServe is Listen and Serve.
func ListenAndServe(ctx context.Context, addr string, p *producer.Producer) error {
	ln, err := Listen(ctx, addr)
	if err != nil {
		return err
	}
	return Serve(ctx, ln, p)
}

// Listen listens on a TCP address such as "127.0.0.1:8080". Other machines are not served: that needs
// TLS and credentials (§8.2.7, §8.2.8), so an address that is not loopback is an error.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if err := checkLoopback(ln); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

func checkLoopback(ln net.Listener) error {
	if a, ok := ln.Addr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		return nil
	}
	return fmt.Errorf("serve: %v is not a loopback address; to serve other machines, mount an sse.Server with Authenticate behind TLS", ln.Addr())
}

// Serve serves p on a loopback listener until ctx is done or p has been shut down. It closes ln. The error is
// nil after p was shut down, and ctx's after that was done.
func Serve(ctx context.Context, ln net.Listener, p *producer.Producer) error {
	defer ln.Close()
	if err := checkLoopback(ln); err != nil {
		return err
	}
	events, sockets := sse.NewServer(sse.ServerOptions{}), websocket.NewServer(websocket.ServerOptions{})
	srv := &http.Server{Handler: routes(events, sockets), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	var running sync.WaitGroup
	defer running.Wait()
	defer srv.Close()
	accepting, stop := context.WithCancel(ctx)
	defer stop()
	upgraded, hangUp := context.WithCancel(context.Background()) // of which the http.Server knows no more
	defer hangUp()
	srv.BaseContext = func(net.Listener) context.Context { return upgraded }
	failed := make(chan error, 1)
	running.Go(func() { failed <- srv.Serve(ln) })
	running.Go(func() { p.Serve(accepting, events) })
	running.Go(func() { p.Serve(accepting, sockets) })
	select {
	case err := <-failed:
		return err
	case <-p.Done():
		// The last words are out; give the connections a moment to end by themselves.
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		srv.Shutdown(ending)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const schemasPath = "/aaep/v1/schemas/"

// routes puts the schemas beside the bindings, with the same checks of who asks.
func routes(events, sockets http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", events)
	mux.Handle(websocket.DefaultPath, sockets)
	files := http.StripPrefix(schemasPath, http.FileServerFS(schemas.FS()))
	mux.HandleFunc("GET "+schemasPath, func(w http.ResponseWriter, r *http.Request) {
		if err := (httpguard.Rules{}).Check(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	})
	return mux
}
