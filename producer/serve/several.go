package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/producer"
)

// pathName matches the names of agents that are a path as they are, without escapes.
var pathName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// Path returns where ServeAll serves an agent of that name: "/planner" for "planner". A name
// consists of letters, digits, ".", "_" and "-"; others are an error.
func Path(name string) (string, error) {
	if !pathName.MatchString(name) || "/"+name == healthPath || "/"+name == readyPath {
		return "", fmt.Errorf("serve: %q cannot be a path: a name consists of letters, digits, \".\", \"_\" and \"-\"",
			name)
	}
	return "/" + name, nil
}

// ServeAll is as Serve for several producers by their names: Server-Sent Events are at the Path of
// the name, WebSocket is at "/ws" below it, and what tells of the agent is below it too. Without
// Authenticate, "/" lists the paths, one in a line. It serves until all have been shut down, as the
// end of ctx does. Page and RootLayout are for one agent: with them it is an error.
func (s *Server) ServeAll(ctx context.Context, ln net.Listener, agents map[string]*producer.Producer) error {
	return s.serveAgents(ctx, ln, slices.Collect(maps.Values(agents)),
		func(ctx context.Context, hosts []string, running *sync.WaitGroup) (http.Handler, error) {
			if s.Page != nil || s.RootLayout != nil {
				return nil, errors.New("serve: Server.Page and Server.RootLayout are for one agent")
			}
			handlers := map[string]http.Handler{}
			for name, p := range agents {
				path, err := Path(name)
				if err != nil {
					return nil, err
				}
				h, err := s.mountAgent(ctx, p, hosts, path, running)
				if err != nil {
					return nil, err
				}
				handlers[name] = h
			}
			return s.routeAgents(agents, handlers, hosts), nil
		})
}

// routeAgents returns the handler that passes a request to the handler of the agent that the path
// begins with, and answers for all of them at "/" and in the health checks. The names of the agents
// are told only where no credentials are asked for: otherwise it is not known who may learn them.
func (s *Server) routeAgents(agents map[string]*producer.Producer, handlers map[string]http.Handler,
	hosts []string) http.Handler {
	names := slices.Sorted(maps.Keys(handlers))
	rules := httpguard.Rules{Hosts: hosts, Origins: s.Origins}
	list := guardReadOnly(rules, s.refusals(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range names {
			fmt.Fprintf(w, "/%s\n", name)
		}
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch h := handlers[name]; {
		case h != nil:
			h.ServeHTTP(w, r)
		case r.URL.Path == healthPath: // an agent that has ended has a health of its own, below its path
			writeStatus(w, "ok")
		case r.URL.Path == readyPath: // likewise an agent that is out of reach
			health := "away"
			for _, p := range agents {
				if p.Ready() {
					health = "ok"
				}
			}
			writeStatus(w, health)
		case r.URL.Path == "/" && s.Authenticate == nil:
			list.ServeHTTP(w, r)
		default:
			text := "no agent is here; each is below its own name, where a request for a subscription goes to " +
				"/NAME/subscriptions"
			if s.Authenticate == nil && rules.Check(r) == nil {
				text += "; there are /" + strings.Join(names, ", /")
			}
			http.Error(w, text, http.StatusNotFound)
		}
	})
}
