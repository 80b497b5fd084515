package grpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
	aaepv1 "github.com/aaep-go/aaep/transports/grpc/aaep/v1"
)

// Dialer reaches a producer. It asks no proxy, follows no service configuration, and looks names up
// as package net does.
type Dialer struct {
	// Target is the producer's address: "agent.example:443", "127.0.0.1:50051" or "unix:" and the
	// path of a socket.
	Target string
	// TLS is what is spoken, at least version 1.2, with Certificates that say who we are.
	// &tls.Config{} trusts the system's roots. It may be nil, which is no TLS, for loopback and
	// Unix sockets only (B.5.3).
	TLS *tls.Config
	// Credentials are asked for at each Dial and go with the stream, as metadata: auth.BearerFile
	// makes one, for example. They go by TLS, or on this machine. An error ends Dial. Credentials
	// is called by as many goroutines at once as Dial is.
	Credentials func(context.Context) (http.Header, error)
}

// Dial opens a connection and a stream of its own. ctx bounds the opening alone. A producer that
// refuses the credentials at once makes the error an *aaep.Rejection; otherwise that comes with the
// first Receive.
func (d Dialer) Dial(ctx context.Context) (transports.Conn, error) {
	network, addr, authority, err := d.parseTarget()
	if err != nil {
		return nil, err
	}
	credentialsMD := metadata.MD{}
	if d.Credentials != nil {
		header, err := d.Credentials(ctx)
		if err != nil {
			return nil, fmt.Errorf("grpc: no credentials: %w", err)
		}
		for name, values := range header {
			credentialsMD.Append(name, values...)
		}
	}
	conn, err := d.newClient(network, addr, authority)
	if err != nil {
		return nil, fmt.Errorf("grpc: %w", err)
	}
	// The stream outlives ctx, so it has a context of its own, which ctx ends only while it opens.
	streamCtx, cancel := context.WithCancel(metadata.NewOutgoingContext(context.Background(), credentialsMD))
	stop := context.AfterFunc(ctx, cancel)
	stream, err := aaepv1.NewAaepServiceClient(conn).Subscribe(streamCtx)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		conn.Close()
		return nil, fmt.Errorf("grpc: %w", refusalError(err))
	}
	return duplex.New(&dialedStream{stream: stream, conn: conn, cancel: cancel, violations: violation.ReporterOf(ctx),
		ended: make(chan struct{})}, ""), nil
}

// parseTarget returns what package net dials for Target, and the authority that the requests name.
// Without TLS, an address of another machine is an error.
func (d Dialer) parseTarget() (network, addr, authority string, err error) {
	addr, isSocket := strings.CutPrefix(d.Target, "unix:")
	if isSocket {
		return "unix", addr, "localhost", nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" || port == "" {
		return "", "", "", fmt.Errorf("grpc: %q is not an address such as agent.example:443 or unix:/path", d.Target)
	}
	if d.TLS == nil && !httpguard.LoopbackName(host) {
		return "", "", "", fmt.Errorf("grpc: %s is another machine, to which nothing is sent in clear: set TLS; "+
			"&tls.Config{} trusts the system's roots", host)
	}
	return "tcp", addr, addr, nil
}

// newClient returns the gRPC client of one connection, which it does not open yet. What it dials is
// addr alone: no proxy, no service configuration and no second attempt.
func (d Dialer) newClient(network, addr, authority string) (*rpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if d.TLS != nil {
		conf := d.TLS.Clone()
		conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12)
		creds = credentials.NewTLS(conf)
	}
	// A machine that is gone is noticed within 45 seconds by the system. The pings of gRPC, which
	// also notice a process that hangs, are as rare as every server allows.
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second,
		Interval: 10 * time.Second, Count: 3}}
	return rpc.NewClient("passthrough:///"+authority, rpc.WithTransportCredentials(creds),
		rpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, addr)
		}),
		rpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 6 * time.Minute, Timeout: 30 * time.Second}),
		rpc.WithNoProxy(), rpc.WithDisableServiceConfig(), rpc.WithDisableRetry(),
		rpc.WithDefaultCallOptions(rpc.MaxCallRecvMsgSize(maxFrame), rpc.MaxCallSendMsgSize(maxFrame)))
}
