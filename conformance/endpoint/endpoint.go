// Package endpoint listens for the subscribers that a conformance run proves: over Server-Sent
// Events, with and without a handshake, WebSocket, a local socket, or standard input and output.
//
//	s, err := endpoint.Listen("http://127.0.0.1:0", nil)
//	run := conformance.SubscriberRun{Listener: s, Subscriber: conformance.CommandSubscriber{Command: reader, URL: s.URL()}, Level: 1}
//
// Listening and cutting links are in endpoint.go, a subscriber on standard input and output in
// child.go, and what in its HTTP requests is against the binding in violations.go.
package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// HookPath is where the hook is, if Listen was given one.
const HookPath = "/conformance/"

// Endpoint is a transports.Listener. Its Conns can be cut.
type Endpoint struct {
	url      string
	arrivals chan transports.Conn
	stop     context.CancelFunc
	running  sync.WaitGroup
	close    func() error

	scheme string
	bare   bool // the layout without a handshake

	mu         sync.Mutex
	links      map[net.Conn]bool  // that carry events
	reporter   violation.Reporter // of the newest Accept; nil: there is none
	unreported []deviation        // what came while there was no Reporter
	given      map[string]bool    // subscriptions
	replies    [][]byte           // that were posted without a handshake and not received yet, as they were on the wire
}

// Listen listens at "http://HOST:PORT", which serves Server-Sent Events and WebSocket, at
// "ws://HOST:PORT", which is the same and makes URL one of WebSocket, at "http://HOST:PORT/events",
// which serves the layout without a handshake alone, or at the path of a local socket. HOST is this
// machine; port 0 is any. A hook is served at HookPath over HTTP; nil is none.
func Listen(address string, hook http.Handler) (*Endpoint, error) {
	return listenWith(address, hook, net.Listen)
}

// listenWith does the work of Listen, with open for the call that opens the TCP listener, which
// tests in virtual time replace.
func listenWith(address string, hook http.Handler, open func(network, address string) (net.Listener, error)) (*Endpoint,
	error) {
	ctx, stop := context.WithCancel(context.Background())
	s := &Endpoint{arrivals: make(chan transports.Conn), stop: stop, links: map[net.Conn]bool{},
		given: map[string]bool{}}
	ctx, _ = violation.WithReporter(ctx, s.reportViolation)
	scheme, _, isURL := strings.Cut(address, "://")
	err := error(nil)
	if isURL {
		err = s.overHTTP(ctx, scheme, address, hook, open)
	} else {
		err = s.overSocket(ctx, address, hook)
	}
	if err != nil {
		stop()
		return nil, err
	}
	return s, nil
}

// overSocket serves an IPC socket at path. A hook is an error, since it needs an address of HTTP.
func (s *Endpoint) overSocket(ctx context.Context, path string, hook http.Handler) error {
	if hook != nil {
		return errors.New("endpoint: a hook over HTTP needs an address of HTTP")
	}
	l, err := ipc.Listen(path, nil)
	if err != nil {
		return err
	}
	s.url, s.close = path, l.Close
	s.running.Go(func() { s.acceptFrom(ctx, l, func(c transports.Conn) transports.Conn { return c }) })
	return nil
}

// overHTTP serves Server-Sent Events and WebSocket at an address of this machine, or, at
// http://…/events, events without a handshake, and the hook at HookPath if it is not nil. The error
// says what an address looks like. It starts the goroutines that accept.
func (s *Endpoint) overHTTP(ctx context.Context, scheme, address string, hook http.Handler,
	open func(network, address string) (net.Listener, error)) error {
	host, isBare, err := parseHTTPAddress(scheme, address)
	if err != nil {
		return err
	}
	s.bare = isBare
	mux := http.NewServeMux()
	listeners, err := s.addTransports(mux)
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	ln, err := open("tcp", host)
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	if hook != nil {
		mux.Handle(HookPath, hook)
	}
	srv := &http.Server{Handler: s.reportRequests(mux, isBare), ReadHeaderTimeout: 5 * time.Second,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)} // it is reported
	s.scheme = scheme
	s.url = scheme + "://" + ln.Addr().String()
	if scheme == "ws" {
		s.url += websocket.DefaultPath
	}
	s.close = srv.Close
	s.running.Go(func() { srv.Serve(knocking{ln, s}) }) // until Close
	for _, l := range listeners {
		s.running.Go(func() { s.acceptFrom(ctx, l, s.breakableConn) })
	}
	return nil
}

// parseHTTPAddress returns the host and port of an address to serve at, which must be of this
// machine, and whether its path is the one for clients that know no handshake.
func parseHTTPAddress(scheme, address string) (host string, isBare bool, err error) {
	u, err := url.Parse(address)
	valid := err == nil && (scheme == "http" || scheme == "ws") && u.Port() != ""
	if valid {
		isBare = scheme == "http" && u.Path == "/events"
		valid = isBare || strings.Trim(u.Path, "/") == ""
	}
	if !valid {
		return "", false, fmt.Errorf(
			"endpoint: %q is no address such as http://127.0.0.1:0, ws://127.0.0.1:0 or http://127.0.0.1:0/events", address)
	}
	if !httpguard.LoopbackName(u.Hostname()) {
		return "", false, fmt.Errorf("endpoint: %s is not this machine, and nobody is asked who they are here; use 127.0.0.1",
			u.Hostname())
	}
	return u.Host, isBare, nil
}

// addTransports adds the handlers of the transports to mux, and returns their listeners.
func (s *Endpoint) addTransports(mux *http.ServeMux) ([]transports.Listener, error) {
	if s.bare {
		root, err := sse.NewRootServer(sse.RootOptions{Capabilities: aaep.Capabilities{
			SupportsConfirmationReply: new(true), SupportsClarificationReply: new(true)}})
		if err != nil {
			return nil, err
		}
		mux.Handle("/", root)
		mux.Handle("/events", s.trackConnection(root))
		return []transports.Listener{root}, nil
	}
	events, sockets := sse.NewServer(sse.ServerOptions{}), websocket.NewServer(websocket.ServerOptions{})
	mux.Handle(sse.DefaultPrefix+"/", events)
	mux.Handle(sse.DefaultPrefix+"/events", s.trackConnection(events))
	mux.Handle(websocket.DefaultPath, s.trackConnection(sockets))
	return []transports.Listener{events, sockets}, nil
}

type connKey struct{}

// trackConnection returns next as a handler that remembers the connection that events go over, so
// that it can be cut, and reports a stream that was asked for without the headers it needs.
func (s *Endpoint) trackConnection(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connKey{}).(net.Conn)
		s.mu.Lock()
		s.links[c] = true
		s.mu.Unlock()
		if r.URL.Path != websocket.DefaultPath && r.Method == http.MethodGet {
			for name, want := range map[string]string{"Accept": "text/event-stream", "Cache-Control": "no-cache"} {
				if !strings.Contains(r.Header.Get(name), want) {
					s.reportViolation("SSE-015", fmt.Sprintf("the stream was asked for without %s: %s", name, want))
				}
			}
		}
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.links, c)
		}()
		next.ServeHTTP(w, r)
	})
}

// breakLinks closes the TCP connections that carry events, without a word, as a failing network
// does.
func (s *Endpoint) breakLinks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.links {
		c.Close()
	}
}

// link is a Conn that can be cut, and stream one with event streams.
type link struct {
	transports.Conn
	s *Endpoint
}

// breakableConn wraps an accepted Conn so that the runner can break it off with Cut, as a network
// failure would; the event streams of a Conn stay available.
func (s *Endpoint) breakableConn(c transports.Conn) transports.Conn {
	if r, ok := c.(transports.Resumable); ok {
		return stream{r, s}
	}
	return link{c, s}
}

func (l link) Cut() { l.s.breakLinks() }

type stream struct {
	transports.Resumable
	s *Endpoint
}

func (l stream) Cut() { l.s.breakLinks() }

// Substituted reports whether a message was written by the endpoint: without a handshake, each
// request.
func (l stream) Substituted(msg []byte) bool {
	return l.s.bare && typeOf(msg).Type == "subscription.request"
}

// Receive returns a reply without a handshake as it was posted, and not as the RootServer writes it
// anew for a producer.
func (l stream) Receive(ctx context.Context) ([]byte, error) {
	msg, err := l.Resumable.Receive(ctx)
	if err != nil || !l.s.bare {
		return msg, err
	}
	return l.s.asPosted(msg), nil
}

// acceptFrom hands the connections of a listener to Accept, each as with returns it, until ctx ends
// or the listener is closed. It is a goroutine of its own.
func (s *Endpoint) acceptFrom(ctx context.Context, l transports.Listener, with func(transports.Conn) transports.Conn) {
	for {
		c, err := l.Accept(ctx)
		if err != nil {
			return
		}
		select {
		case s.arrivals <- with(c):
		case <-ctx.Done():
			c.Close()
			return
		}
	}
}

// URL is what to give to the target.
func (s *Endpoint) URL() string { return s.url }

// Accept returns the Conn of the next subscriber. Until it is called again, the Reporter of ctx
// gets all that comes and is refused, and first what was refused while there was no Reporter.
func (s *Endpoint) Accept(ctx context.Context) (transports.Conn, error) {
	s.setReporter(violation.ReporterOf(ctx))
	select {
	case c := <-s.arrivals:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close closes the listeners and all links, and waits for the goroutines.
func (s *Endpoint) Close() error {
	s.stop()
	err := s.close()
	s.running.Wait()
	return err
}
