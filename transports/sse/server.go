package sse

import (
	"context"
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
	o     ServerOptions
	guard httpguard.Rules
	door  credentials.Door
	queue chan *link
	done  chan struct{}

	bodyTime, heartbeat time.Duration // others in tests
	large               httpguard.Large

	mu     sync.Mutex // never held while waiting or while a link's mu is asked for
	closed bool
	live   map[*link]struct{}
	ids    map[string]*link
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
		o:     o,
		guard: httpguard.Rules{Hosts: o.Hosts, Origins: o.Origins},
		door:  credentials.Door{Authenticate: o.Authenticate, Transport: "sse", Log: o.Logger},
		queue: make(chan *link, o.MaxWaiting),
		done:  make(chan struct{}),
		live:  map[*link]struct{}{},
		ids:   map[string]*link{},

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
			if l.alive() {
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
	var waiting []*link
	if !s.closed {
		s.closed = true
		close(s.done)
		for len(s.queue) > 0 {
			select {
			case l := <-s.queue:
				waiting = append(waiting, l)
			default:
			}
		}
	}
	s.mu.Unlock()
	for _, l := range waiting {
		l.end(transports.ErrClosed)
	}
	return nil
}

// admit lets a new link wait for Accept, or says why not.
func (s *Server) admit(l *link) (refusal aaep.ReasonCode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return aaep.TransportUnavailable
	}
	if len(s.live) >= s.o.MaxSubscriptions {
		return aaep.RateLimit
	}
	select {
	case s.queue <- l:
		s.live[l] = struct{}{}
		return ""
	default:
		return aaep.TransportUnavailable
	}
}

// enter makes a link reachable under the id its producer chose.
func (s *Server) enter(id string, l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids[id] != nil {
		return false
	}
	s.ids[id] = l
	return true
}

// unlist makes a link unreachable: later requests for id find nothing.
func (s *Server) unlist(id string, l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids[id] == l {
		delete(s.ids, id)
	}
}

func (s *Server) remove(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, l)
}

// lookup finds the link with this id if it belongs to principal; the id alone opens nothing
// (INV-43).
func (s *Server) lookup(id, principal string) *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.ids[id]; l != nil && l.principal == principal {
		return l
	}
	return nil
}

// ServeHTTP serves the three endpoints. Every check that needs no state comes first.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cors, ok := s.letIn(w, r)
	if !ok {
		return
	}
	var methods []string
	var serve func(http.ResponseWriter, *http.Request, string)
	name, ok := strings.CutPrefix(r.URL.Path, s.o.Prefix)
	switch {
	case ok && name == "/subscriptions":
		methods, serve = []string{http.MethodPost}, s.subscribe
	case ok && name == "/events" && s.o.Authenticate != nil:
		methods, serve = []string{http.MethodGet, http.MethodPost}, s.stream
	case ok && name == "/events":
		methods, serve = []string{http.MethodGet}, s.stream
	case ok && name == "/replies":
		methods, serve = []string{http.MethodPost}, s.reply
	default:
		s.fail(w, http.StatusNotFound, "no such endpoint; there are "+httpguard.Under(r)+s.o.Prefix+
			"/subscriptions, /events and /replies")
		return
	}
	if !s.takes(w, r, cors, methods...) {
		return
	}
	if name == "/events" && !s.unambiguous(w, r) {
		return
	}
	if name == "/events" && r.Method == http.MethodGet {
		if principal, buyer := s.redeem(r); buyer != nil {
			s.events(w, r, principal, buyer)
			return
		}
	}
	principal, refused := s.door.Enter(r)
	switch {
	case refused == nil:
	case name == "/subscriptions":
		s.reject(w, credentials.Status(refused.Code), credentials.Rejected(refused))
		return
	default:
		if m := credentials.Rejected(refused); m.RetryAfterSeconds != nil {
			w.Header().Set("Retry-After", strconv.FormatInt(*m.RetryAfterSeconds, 10))
		}
		s.challenge(w, refused.Code)
		s.fail(w, credentials.Status(refused.Code), refused.Message)
		return
	}
	serve(w, r, principal)
}

// letIn makes the checks that come first, of who asks and from where. It has answered where it
// reports !ok; cors says that a page of an allowed foreign origin asks.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request) (cors, ok bool) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.ContentLength != 0 {
		// Stays in force until the body is read whole (INV-54).
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.bodyTime))
	}
	if s.o.Authenticate == nil && !httpguard.Loopback(r) {
		s.fail(w, http.StatusForbidden, "this listener has no authentication and serves loopback connections only")
		return false, false
	}
	if err := s.guard.Check(r); err != nil {
		s.o.Logger.Info("sse: request refused", "cause", err.Error())
		s.fail(w, http.StatusForbidden, err.Error())
		return false, false
	}
	return s.guard.Share(w, r), true
}

// takes reports whether an endpoint of these methods goes on with the request; otherwise it has
// answered.
func (s *Server) takes(w http.ResponseWriter, r *http.Request, cors bool, methods ...string) bool {
	list := strings.Join(methods, ", ")
	switch {
	case slices.Contains(methods, r.Method):
		return true
	case cors && httpguard.Preflight(w, r, list, "Authorization, Cache-Control, Content-Type, "+lastEventID):
	default:
		w.Header().Set("Allow", list)
		s.fail(w, http.StatusMethodNotAllowed, "this endpoint takes "+list+" only")
	}
	return false
}
