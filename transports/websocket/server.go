package websocket

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

// ServerOptions are the settings of a Server. The zero ServerOptions serve this machine only.
type ServerOptions struct {
	// Authenticate names the peer of a request with a non-empty name. An error that is
	// aaep.AuthorizationDenied is answered with close code 4003, an *aaep.Rejection with
	// aaep.TransportUnavailable with 4001 and its RetryAfter, every other with 4002; its text stays
	// here. It is called from many goroutines at once. If nil, no credentials are asked for, and
	// only connections to a loopback address are served. It is asked again while a connection is
	// open, and ends it as package transports/auth says.
	Authenticate func(*http.Request) (principal string, err error)
	// Hosts are the names under which this listener may be addressed, "name" or "name:port". If
	// empty, localhost, 127.0.0.1 and [::1].
	Hosts []string
	// Origins are the web pages of other origins that may connect, such as
	// "https://reader.example". If empty, only pages from this listener itself.
	Origins []string
	// MaxConnections bounds the connections alive at once. If zero, 1024.
	MaxConnections int
	// Refused is called with "forbidden" when a request was refused for its Host or its Origin,
	// from many goroutines at once; it must not wait. It may be nil.
	Refused func(reason string)
	// Logger receives diagnostics, never message contents. If nil, they are discarded.
	Logger *slog.Logger
}

// Server is the producer's side: an http.Handler that upgrades requests, and the
// transports.Listener that hands out the connections. Its Conns implement transports.Identified.
type Server struct {
	o             ServerOptions
	guard         httpguard.Rules
	authenticator credentials.Authenticator
	queue         *duplex.Queue
	slots         chan struct{} // holds one value for each connection alive
	// refusals holds one value for each refused peer that is told why over a connection of its own,
	// until that is closed. Such a connection takes no place in slots.
	refusals      chan struct{}
	largeMessages httpguard.LargeMessages
}

// maxRefusals is how many peers are told why they are refused at once. The others get a status,
// which a browser does not show its page.
const maxRefusals = 32

var (
	_ http.Handler        = (*Server)(nil)
	_ transports.Listener = (*Server)(nil)
)

// NewServer makes a Server. Mount it at DefaultPath on an http.Server with a ReadHeaderTimeout, and
// call Accept.
func NewServer(o ServerOptions) *Server {
	o.Hosts, o.Origins = slices.Clone(o.Hosts), slices.Clone(o.Origins)
	if o.MaxConnections <= 0 {
		o.MaxConnections = 1024
	}
	o.Logger = httpguard.LimitLog(o.Logger)
	return &Server{o: o, guard: httpguard.Rules{Hosts: o.Hosts, Origins: o.Origins},
		authenticator: credentials.Authenticator{Authenticate: o.Authenticate, Transport: "websocket", Log: o.Logger},
		queue:         duplex.NewQueue(), slots: make(chan struct{}, o.MaxConnections),
		refusals: make(chan struct{}, maxRefusals)}
}

// Accept returns the Conn of the next peer.
func (s *Server) Accept(ctx context.Context) (transports.Conn, error) { return s.queue.Accept(ctx) }

// Close refuses new connections. Accepted Conns live on. A second Close does nothing.
func (s *Server) Close() error {
	s.queue.Close()
	return nil
}

// ServeHTTP upgrades a request to a link, which it hands to Accept, or refuses it. It returns when
// the link is closed or the request's context ends; at once where the http.Server's owner allows
// hijacking. A peer whose credentials are refused is upgraded, told why, and closed. Every check
// that needs no state comes first.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if status, cause := s.checkRequest(r); status != 0 {
		s.refuseRequest(w, r, status, cause)
		return
	}
	principal, refused := s.authenticator.Identify(r)
	slots := s.slots
	if refused != nil {
		slots = s.refusals
	}
	select {
	case slots <- struct{}{}:
	default:
		s.refuseFull(w, r, refused)
		return
	}
	upgrader := gorilla.Upgrader{HandshakeTimeout: writeTimeout, Subprotocols: []string{Subprotocol},
		WriteBufferPool: &writeBuffers,                            // gorilla writes control frames only
		CheckOrigin:     func(*http.Request) bool { return true }} // guard has checked it
	conn := &upgradeResponse{ResponseWriter: w, in: bufio.NewReaderSize(nil, 512)} // peers send little
	ws, err := upgrader.Upgrade(conn, r, nil)
	if err != nil {
		<-slots
		s.o.Logger.Info("websocket: not upgraded", "cause", err)
		return
	}
	c, f := s.newConn(r, ws, conn, principal, refused == nil, func() { <-slots })
	if refused != nil {
		s.sendRefusal(r.Context(), c, refused)
		return
	}
	if s.queue.Offer(r.Context(), c, f.peerGone) {
		// Whatever accepted the link closes it, or the end of the request or the server does.
		if httpguard.HijackUntil(r.Context()) != nil {
			return
		}
		<-c.Closed()
	}
	c.Close()
}

// checkRequest makes the checks that need no state and no credentials: the addresses, the Host, the
// Origin and the subprotocol. It returns the status that the request is refused with, and why; 0 if
// it is not.
func (s *Server) checkRequest(r *http.Request) (status int, cause string) {
	if s.o.Authenticate == nil && !httpguard.Loopback(r) {
		return http.StatusForbidden, "this listener has no authentication and serves loopback connections only"
	}
	if err := s.guard.Check(r); err != nil {
		return http.StatusForbidden, err.Error()
	}
	if !gorilla.IsWebSocketUpgrade(r) {
		return http.StatusUpgradeRequired, "this endpoint is a WebSocket; connect with the subprotocol " + Subprotocol
	}
	if !slices.Contains(gorilla.Subprotocols(r), Subprotocol) {
		return http.StatusBadRequest, "offer the subprotocol " + Subprotocol
	}
	return 0, ""
}

// refuseRequest answers a request that checkRequest refuses, with that status and cause, and logs
// it; one for its Host or its Origin is counted too.
func (s *Server) refuseRequest(w http.ResponseWriter, r *http.Request, status int, cause string) {
	if status == http.StatusUpgradeRequired {
		w.Header().Set("Upgrade", "websocket")
	}
	if status == http.StatusForbidden {
		refusals := httpguard.Refusals{Transport: "websocket", Log: s.o.Logger, Count: s.o.Refused}
		refusals.Report(r, "", httpguard.Forbidden, cause)
	} else {
		s.o.Logger.Info("websocket: request refused", "peer", r.RemoteAddr, "status", status, "cause", cause)
	}
	http.Error(w, cause, status)
}

// refuseFull refuses, with a status, a request for which there is no slot. refused is why the peer
// would have been refused in any case; nil if only for want of a slot.
func (s *Server) refuseFull(w http.ResponseWriter, r *http.Request, refused *aaep.Rejection) {
	if refused == nil {
		refused = &aaep.Rejection{Code: aaep.TransportUnavailable,
			Message:    "there are as many connections as can be served; try again later",
			RetryAfter: 30 * time.Second}
	}
	if m := credentials.RejectionMessage(refused); m.RetryAfterSeconds != nil {
		w.Header().Set("Retry-After", strconv.FormatInt(*m.RetryAfterSeconds, 10))
	}
	if refused.Code == aaep.AuthenticationRequired {
		w.Header().Set("WWW-Authenticate", `Bearer realm="aaep"`)
	}
	status := credentials.Status(refused.Code)
	s.o.Logger.Info("websocket: request refused", "peer", r.RemoteAddr, "status", status, "cause", refused.Message)
	http.Error(w, refused.Message, status)
}

// newConn returns the link of a request that was upgraded to ws over conn, and its frames. The link
// ends with the request's context or, if the server's owner allows hijacking, with the server's;
// and, if watched, when the peer's credentials are withdrawn. release is called when it is closed.
func (s *Server) newConn(r *http.Request, ws *gorilla.Conn, conn *upgradeResponse, principal string,
	watched bool, release func()) (*duplex.Conn, *frames) {
	f := newFrames(ws, true, func(r io.Reader) ([]byte, error) {
		msg, releaseRoom, err := s.largeMessages.Read(r, principal, readTimeout)
		releaseRoom()
		return msg, err
	})
	f.violations = violation.ReporterOf(r.Context())
	ctx := httpguard.HijackUntil(r.Context())
	if ctx == nil {
		ctx = r.Context()
	}
	var c *duplex.Conn
	ready := make(chan struct{}) // closed when c is set
	unbind := context.AfterFunc(ctx, func() { <-ready; c.Close() })
	unwatch := func() {}
	if watched {
		unwatch = s.authenticator.Watch(ctx, r, principal, func(withdrawal *aaep.Rejection) {
			<-ready
			f.closeCode.Store(closeNotAuthenticated)
			c.CloseFor(withdrawal)
		})
	}
	c = duplex.New(&servedFrames{frames: f, out: conn.out, in: conn.in,
		onClosed: func() { unbind(); unwatch(); release() }}, principal)
	c.SetPeer(r.RemoteAddr)
	close(ready)
	return c, f
}

// sendRefusal sends a peer the subscription.rejected that says why it is refused, over its new
// link, and closes the link.
func (s *Server) sendRefusal(ctx context.Context, c *duplex.Conn, refused *aaep.Rejection) {
	defer c.Close()
	if msg, err := aaep.Encode(credentials.RejectionMessage(refused)); err == nil {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		c.Send(ctx, msg)
	}
}

// writeBuffers are the buffers that gorilla writes its control frames from.
var writeBuffers sync.Pool
