package grpc

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	rpccreds "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
	aaepv1 "github.com/aaep-go/aaep/transports/grpc/aaep/v1"
)

// ServerOptions are the settings of a Server. The zero ServerOptions serve this machine only.
type ServerOptions struct {
	// Authenticate names the peer of a subscription with a non-empty name. It is the one of the
	// other network transports: the request has the stream's metadata as its Header, the method as
	// its URL's path, Host, RemoteAddr and, with the client's certificates, TLS; it has no body. An
	// error that is aaep.AuthorizationDenied is answered with PERMISSION_DENIED, every other with
	// UNAUTHENTICATED; its text stays here. It is called from many goroutines at once. If nil, no
	// credentials are asked for, and only connections to a loopback address or a Unix socket are
	// served. It is asked again while a subscription is open, and ends it as package
	// transports/auth says.
	Authenticate func(*http.Request) (principal string, err error)
	// Manifest is the producer's manifest, JSON. It is given to all who may connect, with or
	// without credentials: it says which ones are wanted. If empty, GetManifest is answered with
	// UNAVAILABLE.
	Manifest []byte
	// MaxConnections bounds the subscriptions alive at once. If zero, 1024.
	MaxConnections int
	// Logger receives diagnostics, never message contents. If nil, they are discarded.
	Logger *slog.Logger
}

// Server is the producer's side: the service aaep.v1.AaepService, and the transports.Listener that
// hands out its streams. Its Conns implement transports.Identified.
type Server struct {
	o             ServerOptions
	authenticator credentials.Authenticator
	queue         *duplex.Queue
	slots         chan struct{} // holds one value for each stream alive
	// watching is the Reporter of the newest Accept; nil: it had none.
	watching atomic.Pointer[violation.Reporter]
}

var _ transports.Listener = (*Server)(nil)

// NewServer makes a Server. Register it on a grpc.Server made with Options, and call Accept.
func NewServer(o ServerOptions) *Server {
	if o.MaxConnections <= 0 {
		o.MaxConnections = 1024
	}
	o.Logger = httpguard.LimitLog(o.Logger)
	return &Server{o: o, authenticator: credentials.Authenticator{Authenticate: o.Authenticate, Transport: "grpc",
		Log: o.Logger},
		queue: duplex.NewQueue(), slots: make(chan struct{}, o.MaxConnections)}
}

// Register puts the service on a grpc.Server, before that serves. No page of a browser can reach it
// there, under whatever name: browsers speak HTTP/2 over TLS only, and the certificate holds the
// names.
func (s *Server) Register(server rpc.ServiceRegistrar) {
	aaepv1.RegisterAaepServiceServer(server, service{s: s})
}

// Options returns what a grpc.Server for AAEP is to be made with. Without them, gRPC takes any
// number of streams on a connection, 16 MiB of metadata and 4 MiB of message, buffers up to 16 MiB
// for each stream, and finds out after two hours that a peer is gone. With them: 100 streams, 64
// KiB, 1 MiB, 64 KiB and the message that is read, 45 seconds; a connection is up within ten
// seconds and closed after two minutes without a stream. Pings may come every ten seconds.
func Options() []rpc.ServerOption {
	return []rpc.ServerOption{
		rpc.MaxConcurrentStreams(100), rpc.MaxHeaderListSize(64 << 10), rpc.MaxRecvMsgSize(maxFrame),
		rpc.MaxSendMsgSize(maxFrame),
		rpc.StaticStreamWindowSize(64 << 10), rpc.StaticConnWindowSize(1 << 20),
		rpc.ConnectionTimeout(10 * time.Second),
		rpc.KeepaliveParams(keepalive.ServerParameters{Time: 15 * time.Second, Timeout: 30 * time.Second,
			MaxConnectionIdle: 2 * time.Minute}),
		rpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second}),
	}
}

// Accept returns the Conn of the next subscriber.
func (s *Server) Accept(ctx context.Context) (transports.Conn, error) {
	w := violation.ReporterOf(ctx)
	s.watching.Store(&w)
	return s.queue.Accept(ctx)
}

// currentReporter returns the Reporter of the newest Accept: a stream may begin before it is
// accepted.
func (s *Server) currentReporter() violation.Reporter {
	if w := s.watching.Load(); w != nil {
		return *w
	}
	return nil
}

// Close refuses new subscriptions. Accepted Conns live on. A second Close does nothing.
func (s *Server) Close() error {
	s.queue.Close()
	return nil
}

// service keeps the methods of gRPC apart from those of a Listener.
type service struct {
	aaepv1.UnimplementedAaepServiceServer
	s *Server
}

var errNotLocal = status.Error(codes.Unauthenticated,
	"this listener has no authentication and serves loopback connections only")

// Subscribe serves one stream: gRPC calls it in a goroutine of its own, and the stream lasts until
// it returns, with the status that the peer gets. A peer that is refused, or finds as many streams
// as can be served, takes no slot. It lasts until the Conn is closed, the peer has gone, or the
// credentials are withdrawn.
func (v service) Subscribe(stream rpc.BidiStreamingServer[aaepv1.AaepMessage, aaepv1.AaepMessage]) error {
	s, r := v.s, httpRequest(stream.Context(), aaepv1.AaepService_Subscribe_FullMethodName)
	principal, err := s.authenticatePeer(r) // first, since a refused peer takes no slot
	if err != nil {
		return err
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		s.o.Logger.Info("grpc: refused: as many subscriptions as can be served")
		return status.Error(codes.Unavailable, "there are as many subscriptions as can be served; try again later")
	}
	f := &servedStream{stream: stream, violations: s.currentReporter, ended: make(chan struct{})}
	c := duplex.New(f, principal)
	defer s.authenticator.Watch(stream.Context(), r, principal, func(withdrawal *aaep.Rejection) {
		f.withdrawn.Store(withdrawal)
		f.endStream(status.Error(codes.Unavailable, "These credentials were withdrawn. Connect again with others."))
	})()
	if s.queue.Offer(stream.Context(), c, f.ended) {
		select {
		case <-f.ended:
			return f.status
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
	f.endStream(status.Error(codes.Unavailable, "nobody is there to serve this; try again later"))
	go c.Close() // which waits for this function to return
	return f.status
}

// authenticatePeer returns the peer's principal, or the gRPC status that refuses the peer:
// PermissionDenied, Unavailable where the authenticator cannot tell, else Unauthenticated. Without
// an authenticator the principal is "", and peers that are not on this machine are refused.
func (s *Server) authenticatePeer(r *http.Request) (principal string, refused error) {
	if s.o.Authenticate == nil {
		if !httpguard.Loopback(r) {
			s.o.Logger.Info("grpc: refused: not from this machine, and there is no authentication", "peer",
				r.RemoteAddr)
			return "", errNotLocal
		}
		return "", nil
	}
	principal, denied := s.authenticator.Identify(r)
	switch {
	case denied == nil:
		return principal, nil
	case denied.Code == aaep.AuthorizationDenied:
		return "", status.Error(codes.PermissionDenied, denied.Message)
	case denied.Code == aaep.TransportUnavailable:
		return "", status.Error(codes.Unavailable, denied.Message)
	}
	return "", status.Error(codes.Unauthenticated, denied.Message)
}

// GetManifest returns the manifest of ServerOptions, for any peer that may connect without
// credentials on this machine, or anyone where there is an authenticator. Without a manifest the
// status is Unavailable.
func (v service) GetManifest(ctx context.Context, _ *aaepv1.GetManifestRequest) (*aaepv1.Manifest, error) {
	o := v.s.o
	switch {
	case o.Authenticate == nil && !httpguard.Loopback(httpRequest(ctx, aaepv1.AaepService_GetManifest_FullMethodName)):
		return nil, errNotLocal
	case len(o.Manifest) == 0:
		return nil, status.Error(codes.Unavailable, "this producer has no manifest")
	}
	return &aaepv1.Manifest{Json: o.Manifest}, nil
}

// httpRequest returns a call of gRPC as the HTTP request that it is, without its body, for the
// checks and the Authenticator that the other network transports use. ctx is the call's.
func httpRequest(ctx context.Context, method string) *http.Request {
	r := &http.Request{Method: http.MethodPost, URL: &url.URL{Path: method}, RequestURI: method, Proto: "HTTP/2.0",
		ProtoMajor: 2,
		Header:     http.Header{}, Body: http.NoBody}
	md, _ := metadata.FromIncomingContext(ctx)
	for name, values := range md {
		switch {
		case name == ":authority":
			r.Host = values[0]
		case !strings.HasPrefix(name, ":") && !strings.HasSuffix(name, "-bin"):
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if p, ok := peer.FromContext(ctx); ok {
		r.RemoteAddr = p.Addr.String()
		if info, ok := p.AuthInfo.(rpccreds.TLSInfo); ok {
			r.TLS = &info.State
		}
		ctx = context.WithValue(ctx, http.LocalAddrContextKey, p.LocalAddr)
	}
	return r.WithContext(ctx)
}
