package a2a

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/bridge/ownagent"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// ServerConfig says how an agent is shown to clients that speak A2A.
type ServerConfig struct {
	// URL is where clients reach the Server, such as https://agent.example/a2a. Its card is at
	// /.well-known/agent-card.json of that host. Requests for another host are refused.
	URL string
	// Name and Description are those of the card.
	Name, Description string
	// Authenticate names who sent a request, as producer/serve has it; who is refused gets 401.
	// Nil asks for no credentials, and only clients of this machine are served.
	Authenticate func(*http.Request) (principal string, err error)
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

// A Turn is one message of a client, and the session in which the agent answers it.
type Turn struct {
	Session *producer.Session
	// Text is the message. It comes from another program, and is untrusted.
	Text string
	// Conversation is the same for all messages of one conversation of one client.
	Conversation string
}

const (
	maxServed  = 256      // tasks that run at once
	maxOfOne   = 64       // of them, of one principal
	mostEnded  = 1024     // tasks that are kept after their end
	mostKept   = 64 << 20 // bytes of those
	mostOfTask = 8 << 20
	maxRequest = 1 << 20
)

// A Server shows an agent to clients that speak A2A, 1.0 and 0.3 at one address. A message of a
// client begins a turn, whose session is the task: its id, its progress, its outputs as artifacts,
// and its end. All its methods may be called at once.
//
// A client never answers what the agent asks: that is put to the people who follow the agent by
// AAEP. The client sees a task that works, and that its user is waited for. A task is shown to the
// principal who began it alone.
type Server struct {
	p    *producer.Producer
	turn func(context.Context, Turn) error
	cfg  ServerConfig
	at   *url.URL
	sub  *subscriber.Subscription

	mu    sync.Mutex
	tasks map[string]*servedTask
	ended []string       // the ids of those that are over, the oldest first
	kept  int            // bytes of those
	open  map[string]int // how many are not, by the principal
	over  bool           // the agent is not followed any more
}

// NewServer makes a Server for the agent of p. It calls turn for each message, on a goroutine of
// its own, with the session's context, which ends when the client cancels the task. The session is
// completed when turn returns nil, and fails with its error, unless it is over by then.
func NewServer(p *producer.Producer, turn func(context.Context, Turn) error, cfg ServerConfig) (*Server, error) {
	endpoint, isWeb := httpguard.WebAddress(cfg.URL)
	if !isWeb {
		return nil, fmt.Errorf("a2a: ServerConfig.URL must be an address such as https://agent.example/a2a; it is %q",
			cfg.URL)
	}
	cfg.Logger = shield.Logger(cfg.Logger)
	sub, err := ownagent.Follow(p, "a2a", aaep.MaxRate, cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("a2a: the agent cannot be followed: %w", err)
	}
	s := &Server{p: p, turn: turn, cfg: cfg, at: endpoint, sub: sub, tasks: map[string]*servedTask{},
		open: map[string]int{}}
	go s.followAgent()
	return s, nil
}

// Close cancels the sessions of all tasks, whose streams then end, and stops following the agent.
func (s *Server) Close() error {
	s.mu.Lock()
	tasks := slices.Collect(maps.Values(s.tasks))
	s.mu.Unlock()
	for _, t := range tasks {
		t.session.Cancel(aaep.CancelledBySystem, bridge.Ours("The agent is no longer offered to other agents."))
	}
	return s.sub.Close()
}

// followAgent hands each event of the agent to the task whose session it is of, until the agent is
// not followed any more; then all tasks end as failed. It is a goroutine of its own.
func (s *Server) followAgent() {
	for ev, err := range s.sub.Events(context.Background()) {
		if err != nil {
			s.cfg.Logger.Info("a2a: the agent is no longer followed", "error", err)
			break
		}
		s.mu.Lock()
		t := s.tasks[ev.SessionID]
		s.mu.Unlock()
		if t != nil && t.applyEvent(ev) {
			s.retireTask(t)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, t := range s.tasks {
		t.showEnd(failed, "The agent is shut down.")
	}
}

// retireTask counts a task of its principal as over, and forgets the oldest that are over beyond
// mostEnded tasks or mostKept bytes, but for the newest one. Each task calls it once. It takes
// s.mu.
func (s *Server) retireTask(t *servedTask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[t.principal]--; s.open[t.principal] == 0 {
		delete(s.open, t.principal)
	}
	s.ended = append(s.ended, t.id)
	s.kept += t.keptBytes()
	for len(s.ended) > mostEnded || s.kept > mostKept && len(s.ended) > 1 {
		s.kept -= s.tasks[s.ended[0]].keptBytes()
		delete(s.tasks, s.ended[0])
		s.ended = s.ended[1:]
	}
}

// Why no task begins, in words for a client.
var (
	errBusy  = fmt.Errorf("%d tasks run already; send it again when one has ended", maxServed)
	errShare = fmt.Errorf("%d of your tasks run already; send it again when one has ended", maxOfOne)
	errOver  = errors.New("the agent is shut down")
)

// startTask starts a session of the agent for a message of a principal, and a goroutine that runs
// the turn. errBusy and errShare say that too many tasks run, in all or for this principal; errOver
// says that the server is closed.
func (s *Server) startTask(principal string, m message) (*servedTask, error) {
	text := strings.TrimSpace(textOf(m.Parts))
	s.mu.Lock()
	defer s.mu.Unlock() // so that no event of the session comes before its task is known
	all := 0
	for _, n := range s.open {
		all += n
	}
	switch {
	case s.over: // no end of a task would be seen
		return nil, errOver
	case all >= maxServed:
		return nil, errBusy
	case principal != "" && s.open[principal] >= maxOfOne:
		return nil, errShare
	}
	session, err := s.p.StartSession(context.Background(), bridge.Ours("Another agent asks: "+toolwords.Label(text)))
	if err != nil {
		return nil, err
	}
	conversation := m.ContextID
	if conversation == "" {
		conversation = rand.Text()
	}
	t := newServedTask(session, principal, conversation, m)
	s.tasks[t.id] = t
	s.open[principal]++
	go func() {
		defer session.Close()
		err := s.turn(session.Context(), Turn{session, text, fmt.Sprintf("%q %s", principal, conversation)})
		if err != nil { // the session may be over, and then neither is told
			session.Fail(err, aaep.Text{})
		} else {
			session.Complete(aaep.Text{})
		}
	}()
	return t, nil
}

// findTask returns a task by its id if it belongs to the principal; nil otherwise.
func (s *Server) findTask(principal, id string) *servedTask {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tasks[id]; t != nil && t.principal == principal {
		return t
	}
	return nil
}

// ServeHTTP serves the agent card and the methods of A2A, in JSON-RPC, to other agents. Without
// Config.Authenticate only this machine is served; a token that is not known gets 401.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rules := httpguard.Rules{}
	if !httpguard.LoopbackName(s.at.Hostname()) {
		rules.Hosts = []string{s.at.Host}
	}
	if err := rules.Check(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if r.Method == http.MethodGet {
		if !strings.HasSuffix(r.URL.Path, "/.well-known/agent-card.json") {
			http.Error(w, "the agent's card is at /.well-known/agent-card.json", http.StatusNotFound)
			return
		}
		writeJSON(w, s.buildCard())
		return
	}
	principal, err := "", error(nil)
	switch {
	case s.cfg.Authenticate != nil:
		principal, err = s.cfg.Authenticate(r)
	case !httpguard.Loopback(r):
		err = errors.New("only this machine is served")
	}
	if err != nil {
		s.cfg.Logger.Warn("a2a: a client was refused", "peer", r.RemoteAddr, "error", err)
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the agent needs a token that it knows", http.StatusUnauthorized)
		return
	}
	s.serveCall(w, r, principal)
}

// buildCard returns the agent's card, which clients of both versions can read.
func (s *Server) buildCard() map[string]any {
	text := []string{"text/plain"}
	name := s.cfg.Name
	card := map[string]any{
		"name": name, "description": s.cfg.Description, "version": "1.0.0",
		"supportedInterfaces": []any{
			map[string]any{"url": s.cfg.URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
			map[string]any{"url": s.cfg.URL, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
		},
		"capabilities":      map[string]any{"streaming": true, "pushNotifications": false},
		"defaultInputModes": text, "defaultOutputModes": text,
		"skills": []any{map[string]any{"id": "ask", "name": name, "description": s.cfg.Description,
			"tags": []string{}}},
		// These are of 0.3.
		"protocolVersion": "0.3.0", "url": s.cfg.URL, "preferredTransport": "JSONRPC",
	}
	if s.cfg.Authenticate != nil {
		card["securitySchemes"] = map[string]any{"bearer": map[string]any{
			"httpAuthSecurityScheme": map[string]any{"scheme": "Bearer"}, "type": "http", "scheme": "bearer"}}
		card["security"] = []any{map[string]any{"bearer": []string{}}}
		bearer := map[string]any{"bearer": map[string]any{"list": []string{}}}
		card["securityRequirements"] = []any{map[string]any{"schemes": bearer}}
	}
	return card
}
