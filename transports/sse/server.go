package sse

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/transports"
)

// Server is the producer's side: an http.Handler for the three endpoints and the
// transports.Listener that hands out what came in. Its Conns implement transports.Resumable and
// transports.Identified.
type Server struct {
	o             ServerOptions
	guard         httpguard.Rules
	authenticator credentials.Authenticator
	refusals      httpguard.Refusals
	queue         chan *link // links that wait for Accept
	done          chan struct{}

	bodyTime, heartbeat time.Duration // other durations in tests
	largeBodies         httpguard.LargeMessages

	mu     sync.Mutex // never held while waiting or while a link's mu is asked for
	closed bool
	links  map[*link]struct{} // all that have not ended
	byID   map[string]*link   // those that the producer accepted, by subscription_id
}

var (
	_ http.Handler          = (*Server)(nil)
	_ transports.Listener   = (*Server)(nil)
	_ transports.Resumable  = (*link)(nil)
	_ transports.Identified = (*link)(nil)
)

// NewServer makes a Server. It starts nothing: mount it on an http.Server under o.Prefix, also
// behind http.StripPrefix, which takes away what is before o.Prefix, and call Accept. Give the
// http.Server a ReadHeaderTimeout, 5 seconds for example; the Server sets the other deadlines
// itself: 10 seconds for a request body, and for each write on a stream, which is lost then. A
// stream that is silent for 15 seconds is sent a comment.
func NewServer(o ServerOptions) *Server {
	o.Hosts, o.Origins = slices.Clone(o.Hosts), slices.Clone(o.Origins)
	o.setDefaults()
	o.Prefix = "/" + strings.Trim(o.Prefix, "/")
	if o.Prefix == "/" {
		o.Prefix = ""
	}
	return &Server{
		o:             o,
		guard:         httpguard.Rules{Hosts: o.Hosts, Origins: o.Origins},
		authenticator: credentials.Authenticator{Authenticate: o.Authenticate, Transport: "sse", Log: o.Logger},
		refusals:      httpguard.Refusals{Transport: "sse", Log: o.Logger, Count: o.Refused},
		queue:         make(chan *link, o.MaxWaiting),
		done:          make(chan struct{}),
		links:         map[*link]struct{}{},
		byID:          map[string]*link{},

		bodyTime: bodyTime, heartbeat: heartbeat,
	}
}

// Accept returns the Conn of the next subscription.request. The Conn's first Send must be the
// answer. After AnswerTimeout without one, the peer has been told 503 and the Conn has ended.
func (s *Server) Accept(ctx context.Context) (transports.Conn, error) {
	for {
		select {
		case <-s.done:
			return nil, transports.ErrClosed
		default:
		}
		select {
		case l := <-s.queue:
			if l.isAlive() {
				return l, nil
			}
		case <-s.done:
			return nil, transports.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close refuses new subscriptions, also those still waiting for Accept. Accepted Conns go on, as
// long as the Server stays mounted. A second Close does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	s.mu.Unlock()
	for { // nothing is queued any more
		select {
		case l := <-s.queue:
			l.endLink(transports.ErrClosed)
		default:
			return nil
		}
	}
}

// isClosed reports whether Close was called. It takes s.mu.
func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// admitLink queues a new link for Accept and returns "". Otherwise it returns why it did not: the
// Server is closed or its queue is full, or there are as many links as MaxSubscriptions allows.
// openLink calls it. It takes s.mu.
func (s *Server) admitLink(l *link) (refusal aaep.ReasonCode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return aaep.TransportUnavailable
	}
	if len(s.links) >= s.o.MaxSubscriptions {
		return aaep.RateLimit
	}
	select {
	case s.queue <- l:
		s.links[l] = struct{}{}
		return ""
	default:
		return aaep.TransportUnavailable
	}
}

// registerID makes a link reachable under the id that its producer chose. It returns false, and
// changes nothing, if the id is in use. It takes s.mu.
func (s *Server) registerID(id string, l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id] != nil {
		return false
	}
	s.byID[id] = l
	return true
}

// unregisterID makes the link l unreachable: later requests for id find nothing. It does nothing if
// another link has the id by now.
func (s *Server) unregisterID(id string, l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id] == l {
		delete(s.byID, id)
	}
}

// removeLink removes a link that has ended from those that MaxSubscriptions bounds.
func (s *Server) removeLink(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, l)
}

// lookupLink returns the link with this id if it belongs to principal, or nil; the id alone opens
// nothing (INV-43).
func (s *Server) lookupLink(id, principal string) *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.byID[id]; l != nil && l.principal == principal {
		return l
	}
	return nil
}

// The endpoints, below the prefix.
const (
	subscriptionsPath = "/subscriptions"
	eventsPath        = "/events"
	repliesPath       = "/replies"
)

// ServeHTTP serves the three endpoints of appendix B.1, or refuses the request: 404 for another
// path, 405 for another method, and the authenticator's refusal. Every check that needs no state
// comes first. On a GET of events a ticket stands for credentials.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cors, ok := s.checkAccess(w, r)
	if !ok {
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, s.o.Prefix)
	methods, serve := s.findEndpoint(name)
	if !ok || serve == nil {
		s.writeError(w, http.StatusNotFound, "no such endpoint; there are "+httpguard.MountPath(r)+s.o.Prefix+
			"/subscriptions, /events and /replies")
		return
	}
	if !s.allowsMethod(w, r, cors, methods...) {
		return
	}
	if name == eventsPath && !s.isUnambiguous(w, r) {
		return
	}
	if name == eventsPath && r.Method == http.MethodGet {
		if principal, holder := s.redeemTicket(r); holder != nil {
			s.serveEvents(w, r, principal, holder)
			return
		}
	}
	principal, refused := s.authenticator.Identify(r)
	if refused != nil {
		s.refuseCredentials(w, name, refused)
		return
	}
	serve(w, r, principal)
}

// findEndpoint returns the methods of the endpoint with this name, which is its path below the
// prefix, and what serves it to a principal; nil for a name that no endpoint has.
func (s *Server) findEndpoint(name string) (methods []string, serve func(http.ResponseWriter, *http.Request, string)) {
	switch name {
	case subscriptionsPath:
		return []string{http.MethodPost}, s.serveSubscribe
	case eventsPath:
		if s.o.Authenticate != nil { // a POST asks for a ticket
			return []string{http.MethodGet, http.MethodPost}, s.serveStream
		}
		return []string{http.MethodGet}, s.serveStream
	case repliesPath:
		return []string{http.MethodPost}, s.serveReply
	}
	return nil, nil
}

// refuseCredentials answers a request to the endpoint with this name whose credentials were
// refused: a subscription.request with a message of AAEP, any other with a bare error.
func (s *Server) refuseCredentials(w http.ResponseWriter, name string, refused *aaep.Rejection) {
	m, status := credentials.RejectionMessage(refused), credentials.Status(refused.Code)
	if name == subscriptionsPath {
		s.rejectRequest(w, status, m)
		return
	}
	if m.RetryAfterSeconds != nil {
		w.Header().Set("Retry-After", strconv.FormatInt(*m.RetryAfterSeconds, 10))
	}
	s.setChallenge(w, refused.Code)
	s.writeError(w, status, refused.Message)
}

// checkAccess makes the checks that need no state: the address that the request comes from, its
// Host, and the Origin of the page that sent it. If ok is false, it has written the response. cors
// says that a page of another, allowed origin asks. It also bounds the time for the body.
func (s *Server) checkAccess(w http.ResponseWriter, r *http.Request) (cors, ok bool) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.ContentLength != 0 {
		// Stays in force until the body is read whole (INV-54).
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.bodyTime))
	}
	err := s.guard.Check(r)
	if s.o.Authenticate == nil && !httpguard.Loopback(r) {
		err = errors.New("this listener has no authentication and serves loopback connections only")
	}
	if err != nil {
		s.refusals.Report(r, "", httpguard.Forbidden, err.Error())
		if r.Method == http.MethodPost && r.URL.Path == s.o.Prefix+subscriptionsPath {
			s.rejectRequest(w, http.StatusForbidden,
				&aaep.SubscriptionRejected{ReasonCode: aaep.AuthorizationDenied, ReasonMessage: err.Error()})
		} else {
			s.writeError(w, http.StatusForbidden, err.Error())
		}
		return false, false
	}
	return s.guard.SetCORS(w, r), true
}

// allowsMethod reports whether the request has one of the endpoint's methods; otherwise it has
// answered, with 405, or with the permission that a browser asks for before a request from another
// origin.
func (s *Server) allowsMethod(w http.ResponseWriter, r *http.Request, cors bool, methods ...string) bool {
	list := strings.Join(methods, ", ")
	switch {
	case slices.Contains(methods, r.Method):
		return true
	case cors && httpguard.Preflight(w, r, list, "Authorization, Cache-Control, Content-Type, "+lastEventID):
	default:
		w.Header().Set("Allow", list)
		s.writeError(w, http.StatusMethodNotAllowed, "this endpoint takes "+list+" only")
	}
	return false
}
