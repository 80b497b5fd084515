// Package serve puts a producer on the usual transports: Server-Sent Events under /aaep/v1 and
// WebSocket at /aaep/v1/ws, with the manifest at /.well-known/aaep-manifest.json and the keys it is
// signed with at /.well-known/aaep-keys.json, the JSON Schemas of what is sent at
// /aaep/v1/schemas/, and /healthz and /readyz for those who watch over it.
//
// The zero Server serves this machine. Others are served with TLS and an authenticator, and not
// otherwise (§8.2.7, §8.2.8).
//
// Addresses, TLS and the listeners are in serve.go, the paths besides the transports' in routes.go,
// and several agents at one address in several.go.
//
// # Several users
//
// Who listens to a producer.Producer hears all of it, and is asked its questions. A service with
// several users makes one for each when they log in, and leads each request to that of its user:
//
//	known, err := auth.Tokens(tokens) // or who is logged in, by a cookie
//	front := serve.Server{Authenticate: known}
//	agents[user], err = front.Handler(p) // p is the user's own; Shutdown it when they leave
//
//	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
//		user, _ := known(r)
//		if agent := agents[user]; agent != nil { // under a lock; agents[""] lets no one in
//			agent.ServeHTTP(w, r)
//			return
//		}
//		http.Error(w, "You have no agent here yet.", http.StatusServiceUnavailable)
//	})
//
// The file users_example_test.go of this package has the whole of it. All of them may have one
// audit.File as their producer.Config.Audit, which tells them apart by their agent ids, and each
// needs a producer.Config.Log of its own.
package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// Server says who is served, and how. It must not be changed once it serves. One Server may serve
// many producers.
type Server struct {
	// TLS encrypts; package transports/auth makes one of files. TLS 1.2 is the least that is
	// spoken.
	TLS *tls.Config
	// Authenticate names who sent a request; package transports/auth has the usual ways. An error
	// that is aaep.AuthorizationDenied, or an *aaep.Rejection with aaep.TransportUnavailable, is
	// told as such, every other as authentication_required; its text stays here. It is called from
	// many goroutines at once. If nil, no credentials are asked for, and only loopback is served.
	// It is asked again while a client is connected, and ends that as package transports/auth says.
	Authenticate func(*http.Request) (principal string, err error)
	// Hosts are the names under which the listener may be addressed, "name" or "name:port". If
	// empty, those in the certificate of TLS, also in one that takes its place, and on loopback
	// localhost, 127.0.0.1 and [::1].
	Hosts []string
	// Origins are the web pages of other origins that may connect, such as
	// "https://reader.example".
	Origins []string
	// TrustedProxies are the addresses of proxies in front of this server. Of who comes through
	// them the address is what they say, in X-Forwarded-For or Forwarded; it is in the log, and in
	// the RemoteAddr of what Authenticate is asked. A client with one of these addresses can claim
	// any other. If empty, a proxy counts as the client.
	TrustedProxies []netip.Prefix
	// Page is what people see who open the agent's address in a browser, such as web.Handler() of
	// subscriber/web. It is at PagePath, where / leads. Nil is no page.
	Page http.Handler
	// RootLayout also serves clients that know no handshake, at /events and /messages, with these
	// terms for everyone; on loopback only, whatever else is served. Nil serves none. See
	// sse.RootServer.
	RootLayout *aaep.Capabilities
	// Refused is called with why a request was refused that the producer never saw; see
	// sse.ServerOptions.
	Refused func(reason string)
	// Logger receives diagnostics, never message contents. If nil, they are discarded.
	Logger *slog.Logger
}

// PagePath is where Server.Page is.
const PagePath = "/aaep/web/"

// ListenAndServe serves p at a TCP address of this machine such as "127.0.0.1:8080", as Serve of
// the zero Server does. An error is logged with slog too: "go serve.ListenAndServe" loses it, and
// an agent that cannot be followed waits for ever.
func ListenAndServe(ctx context.Context, addr string, p *producer.Producer) error {
	return logFailure(ctx, addr, new(Server).ListenAndServe(ctx, addr, p))
}

// Serve serves p on a loopback listener, as Serve of the zero Server does. An error is logged as
// that of ListenAndServe.
func Serve(ctx context.Context, ln net.Listener, p *producer.Producer) error {
	addr := ""
	if ln != nil { // else Serve says so: the error of net.Listen was not looked at
		addr = ln.Addr().String()
	}
	return logFailure(ctx, addr, new(Server).Serve(ctx, ln, p))
}

// logFailure logs an error of ListenAndServe and Serve that was not caused by the end of ctx, and
// returns it.
func logFailure(ctx context.Context, addr string, err error) error {
	if err != nil && ctx.Err() == nil {
		slog.Error("serve: the agent cannot be followed", "address", addr, "error", err)
	}
	return err
}

// ListenAndServe listens at a TCP address and serves p there as Serve does, until p is shut down,
// which the end of ctx begins. The error is that of listening or of Serve.
func (s *Server) ListenAndServe(ctx context.Context, addr string, p *producer.Producer) error {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return s.Serve(ctx, ln, p)
}

// Serve serves p on a TCP listener until p has been shut down. The end of ctx shuts p down, as
// Producer.Shutdown without a limit does, so that every subscriber learns of Ctrl-C; a caller that
// waits less long calls Shutdown too. Serve closes ln. The error is nil after p was shut down, and
// ctx's after that was done. A listener that other machines can reach is refused without TLS and
// Authenticate.
func (s *Server) Serve(ctx context.Context, ln net.Listener, p *producer.Producer) error {
	return s.serveAgents(ctx, ln, []*producer.Producer{p},
		func(ctx context.Context, hosts []string, running *sync.WaitGroup) (http.Handler, error) {
			return s.mountAgent(ctx, p, hosts, "", running)
		})
}

// serveAgents serves the agents on ln until all of them have been shut down, which the end of ctx
// begins. mount makes their handler from the names that the listener goes by; the goroutines that
// it starts end with its context and are counted in the WaitGroup. It is the body of Serve and
// ServeAll.
func (s *Server) serveAgents(ctx context.Context, ln net.Listener, agents []*producer.Producer,
	mount func(context.Context, []string, *sync.WaitGroup) (http.Handler, error)) error {
	if ln == nil {
		return errors.New("serve: there is no listener; net.Listen makes one")
	}
	defer ln.Close()
	loopback, err := s.checkAddress(ln.Addr())
	if err != nil {
		return err
	}
	conf, err := s.tlsConfig()
	if err != nil {
		return err
	}
	hosts, err := s.hostNames(conf, loopback)
	if err != nil {
		return err
	}
	if s.Authenticate == nil {
		s.logTo().Info("serve: nobody is asked for credentials; every user and program of this machine can listen "+
			"and answer", "address", ln.Addr().String())
	}

	// Accepting goes on while the agents shut down, so it does not end with ctx.
	accepting, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	handler, err := mount(accepting, hosts, &running)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		for _, p := range agents {
			go p.Shutdown(accepting)
		}
	})()
	if err := serveUntilDone(s.newHTTPServer(handler, conf), ln, agents); err != nil {
		return err
	}
	return ctx.Err()
}

// serveUntilDone has srv serve on ln, with TLS where it has a configuration, until all agents have
// been shut down, and closes it. The error is that of srv, which ended before. It returns when the
// goroutine that accepts has ended.
func serveUntilDone(srv *http.Server, ln net.Listener, agents []*producer.Producer) error {
	// The http.Server does not know the connections that a handler has taken from it, so closing it
	// leaves those open: they end with this context.
	hijacked, endHijacked := context.WithCancel(context.Background())
	srv.BaseContext = func(net.Listener) context.Context { return httpguard.AllowHijack(hijacked) }
	ended := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() {
		if srv.TLSConfig != nil {
			ended <- srv.ServeTLS(ln, "", "")
		} else {
			ended <- srv.Serve(ln)
		}
	})
	defer serving.Wait()
	defer srv.Close()
	defer endHijacked()
	for _, p := range agents {
		select {
		case err := <-ended:
			return err
		case <-p.Done():
		}
	}
	// The last messages are out; the connections have a moment to end by themselves.
	ending, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	srv.Shutdown(ending)
	return nil
}

// newHTTPServer returns the server of handler, with bounds on what a client may take of it. conf is
// its TLS, or nil.
func (s *Server) newHTTPServer(handler http.Handler, conf *tls.Config) *http.Server {
	srv := &http.Server{Handler: httpguard.TrustProxies(s.TrustedProxies, httpguard.WithDeadlines(handler)), TLSConfig: conf,
		ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(httpguard.LimitLog(s.logTo()).Handler(), slog.LevelInfo)}
	httpguard.BoundIdle(srv)
	if len(s.Hosts) == 0 && conf != nil {
		// A new certificate may have other names than the one that hostNames read. The names of the
		// one that a connection began with are looked up once for it, if at all.
		srv.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
			return httpguard.WithHosts(ctx, sync.OnceValue(func() []string { return certificateNames(conf) }))
		}
	}
	return srv
}

// Handler serves p within a server of the application's own, until p has been shut down: at the
// root of a host, or, behind http.StripPrefix, below a path. Below "/agent" it is followed at
// https://host/agent/aaep/v1, and everything that it serves is below that path too; its manifest
// names the one under which it was asked first. The application's server needs a ReadHeaderTimeout.
// TLS is then that server's, and Hosts must be given unless it serves loopback only. The error says
// what of s cannot be.
func (s *Server) Handler(p *producer.Producer) (http.Handler, error) {
	h, err := s.mountAgent(context.Background(), p, slices.Clone(s.Hosts), "", new(sync.WaitGroup))
	if err != nil {
		return nil, err
	}
	h = httpguard.TrustProxies(s.TrustedProxies, httpguard.WithDeadlines(h))
	var first sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/") { // what http.StripPrefix("/agent/", …) leaves would be redirected
			rooted := *r.URL
			rooted.Path, rooted.RawPath = "/"+rooted.Path, ""
			r = r.WithContext(r.Context())
			r.URL = &rooted
		}
		first.Do(func() {
			if path := httpguard.MountPath(r); path != "" {
				addEndpoints(p, path+sse.DefaultPrefix)
			}
		})
		h.ServeHTTP(w, r)
	}), nil
}

// addEndpoints adds to the manifest of p that Server-Sent Events are at path, and WebSocket is at
// "/ws" below it.
func addEndpoints(p *producer.Producer, path string) {
	p.AddEndpoint(manifest.SSE, manifest.Endpoint{Address: path})
	p.AddEndpoint(manifest.WebSocket, manifest.Endpoint{Address: path + "/ws"})
}

// logTo returns the Logger, or one that discards.
func (s *Server) logTo() *slog.Logger { return shield.Logger(s.Logger) }

// mountAgent returns the handler of p, under the names hosts, and starts a goroutine for each
// transport that serves p until ctx is done or p has been shut down. They are counted in running.
// path is the one under which p is one of several agents, or "". The error says what of s cannot
// be.
func (s *Server) mountAgent(ctx context.Context, p *producer.Producer, hosts []string, path string,
	running *sync.WaitGroup) (http.Handler, error) {
	if err := (httpguard.Rules{Hosts: s.Hosts, Origins: s.Origins}).Validate(); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if err := httpguard.ValidateProxies(s.TrustedProxies); err != nil {
		return nil, fmt.Errorf("serve: Server.TrustedProxies: %w", err)
	}
	if p.MaxSubscriptions() == 0 {
		return nil, errors.New("serve: this Producer is nil, or was not made by producer.New")
	}
	var root *sse.RootServer
	if s.RootLayout != nil {
		if i := slices.IndexFunc(s.Hosts, func(name string) bool { return !httpguard.LoopbackHost(name) }); i >= 0 {
			return nil, fmt.Errorf("serve: Server.RootLayout asks nobody who they are, and behind the proxy for %q "+
				"everybody would seem to be on this machine; leave one of the two out", s.Hosts[i])
		}
		var err error
		if root, err = sse.NewRootServer(sse.RootOptions{Capabilities: *s.RootLayout, Origins: s.Origins,
			Logger: s.Logger}); err != nil {
			return nil, err
		}
		running.Go(func() { p.Serve(ctx, root) })
	}
	// The transports let in more than p accepts: p refuses the rest with a message that says why.
	maxLinks := max(1024, 2*p.MaxSubscriptions())
	prefix := cmp.Or(path, sse.DefaultPrefix)
	events := sse.NewServer(sse.ServerOptions{Refused: s.Refused, Prefix: prefix, Authenticate: s.Authenticate,
		Hosts: hosts, Origins: s.Origins, Logger: s.Logger, MaxSubscriptions: maxLinks})
	sockets := websocket.NewServer(websocket.ServerOptions{Refused: s.Refused, Authenticate: s.Authenticate,
		Hosts: hosts, Origins: s.Origins, Logger: s.Logger, MaxConnections: maxLinks})
	addEndpoints(p, prefix)
	running.Go(func() { p.Serve(ctx, events) })
	running.Go(func() { p.Serve(ctx, sockets) })
	return s.newMux(p, hosts, path, events, prefix+"/ws", sockets, root), nil
}

// checkAddress reports whether the listener's address is loopback. One that other machines can
// reach is an error without both TLS and Authenticate (INV-47, D-71), and so is one that is not of
// TCP.
func (s *Server) checkAddress(addr net.Addr) (loopback bool, err error) {
	a, ok := addr.(*net.TCPAddr)
	switch {
	case ok && a.IP.IsLoopback():
		return true, nil
	case !ok:
		return false, fmt.Errorf("serve: %v is not a TCP address", addr)
	case s.TLS == nil || s.Authenticate == nil:
		return false, fmt.Errorf("serve: %v is not a loopback address: other machines can reach it, so set "+
			"Server.TLS and Server.Authenticate", addr)
	}
	return false, nil
}

// tlsConfig returns a copy of TLS that speaks TLS 1.2 at least, or nil where TLS is nil.
func (s *Server) tlsConfig() (*tls.Config, error) {
	if s.TLS == nil {
		return nil, nil
	}
	conf := s.TLS.Clone()
	if conf.MinVersion != 0 && conf.MinVersion < tls.VersionTLS12 {
		return nil, errors.New("serve: Server.TLS allows versions below TLS 1.2; leave MinVersion out, or raise it")
	}
	conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12)
	return conf, nil
}

// hostNames returns the names by which this listener may be addressed; without Hosts they are those
// of loopback and of the certificate.
func (s *Server) hostNames(conf *tls.Config, loopback bool) ([]string, error) {
	if len(s.Hosts) > 0 {
		return slices.Clone(s.Hosts), nil
	}
	var names []string
	if loopback {
		names = []string{"localhost", "127.0.0.1", "[::1]"}
	}
	if conf != nil {
		names = append(names, certificateNames(conf)...)
	}
	if len(names) == 0 {
		return nil, errors.New("serve: set Server.Hosts to the names under which this listener is reached; the " +
			"certificate does not say them")
	}
	return names, nil
}

// certificateNames returns the names and addresses in the certificate that conf serves now to a
// client that names no host, as a request's Host has them. A wildcard is no name.
func certificateNames(conf *tls.Config) (names []string) {
	var cert *tls.Certificate
	noClient, _ := net.Pipe() // GetCertificate may look at the client's address
	hello := &tls.ClientHelloInfo{Conn: noClient}
	if conf.GetConfigForClient != nil {
		if current, _ := conf.GetConfigForClient(hello); current != nil {
			conf = current
		}
	}
	if conf.GetCertificate != nil {
		cert, _ = conf.GetCertificate(hello)
	}
	if cert == nil && len(conf.Certificates) > 0 {
		cert = &conf.Certificates[0]
	}
	if cert == nil {
		return nil
	}
	leaf := cert.Leaf
	if leaf == nil {
		return nil
	}
	names = slices.DeleteFunc(slices.Clone(leaf.DNSNames),
		func(name string) bool { return strings.HasPrefix(name, "*.") })
	for _, ip := range leaf.IPAddresses {
		if ip.To4() == nil {
			names = append(names, "["+ip.String()+"]")
		} else {
			names = append(names, ip.String())
		}
	}
	return names
}
