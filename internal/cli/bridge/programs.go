package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/httpguard"
)

// listenForPrograms opens the address addr, which the flag called flag names, for programs of this
// machine. Any other address is a usage error: what such programs send may hold keys, and would go
// over a network in the clear.
func listenForPrograms(ctx context.Context, flag, addr string) (net.Listener, error) {
	example := "Use one such as 127.0.0.1:8081, or 127.0.0.1:0 for any free port."
	if flag == "--hook" {
		example = "Use one such as 127.0.0.1:9090, and a proxy with a certificate before it for other machines."
	}
	address, err := net.ResolveTCPAddr("tcp", addr)
	switch {
	case err != nil:
		return nil, exits.UsageError("%s %q is not an address of this machine.\n"+example, flag, addr)
	case !address.IP.IsLoopback():
		return nil, exits.UsageError("%s %q could be reached from other machines, and what comes would be in the clear.\n"+example,
			flag, addr)
	}
	return serving.ListenTCP(ctx, addr, "End it, or take any free port: "+flag+" 127.0.0.1:0")
}

// programHosts are the names by which programs of this machine reach it. No page can have the two
// that containers use: "internal" is no domain of the Internet.
var programHosts = []string{"127.0.0.1", "localhost", "[::1]", "host.docker.internal", "host.containers.internal"}

// servePrograms serves a proxy to programs of this machine, over HTTP/1.1 and HTTP/2, until ctx is
// done, which is no error. Web pages are refused, but for those of origins; nil lets none in,
// whatever the user has allowed elsewhere.
func servePrograms(ctx context.Context, ln net.Listener, proxy http.Handler, origins []string) error {
	rules := httpguard.Rules{Hosts: programHosts, Origins: origins, FixedHosts: true, FixedOrigins: origins == nil}
	server := &http.Server{
		Handler: httpguard.WithDeadlines(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := rules.Check(r); err != nil {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{
					"type":    "permission_error",
					"message": "only programs of this machine are served: " + exits.PlainError(err)}})
				return
			}
			control := http.NewResponseController(w) // what a program sends, and gets, may take its time
			control.SetReadDeadline(time.Time{})
			control.SetWriteDeadline(time.Time{})
			proxy.ServeHTTP(w, r)
		})),
		ReadHeaderTimeout: 10 * time.Second,
		Protocols:         new(http.Protocols),
		ErrorLog:          log.New(io.Discard, "", 0), // requests hold keys
	}
	httpguard.BoundIdle(server)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return exits.With(exits.Failed, fmt.Errorf("programs are not served any more: %s", exits.InnermostError(err)))
	}
	return nil
}
