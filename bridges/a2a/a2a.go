// Package a2a connects agents that speak the Agent2Agent protocol (A2A) to AAEP: 1.0 over JSON-RPC
// or HTTP+JSON, and 0.3 over JSON-RPC. Each task of such an agent is a session of a
// producer.Producer, which any assistive technology can follow and answer:
//
//	agent, err := a2a.Dial(ctx, "https://agent.example", a2a.Config{})
//	p, err := producer.New(producer.Config{
//		Agent: aaep.Agent{AgentID: "agent", AgentName: agent.Name()}, Languages: []string{"en"}})
//	task, err := agent.Send(ctx, p, "Find the newest report.")
//	err = task.Wait()
//
// The sentences of the bridge itself are in English, whatever the agent speaks; Languages has the
// manifest say so.
//
// Where the agent asks for input, or for its user to sign in, the user is asked, and the task goes
// on with the answer. Silence sends nothing. All text of the agent is untrusted: it is told as the
// agent's, with what could deceive made visible.
//
// A stream that is cut is taken up again, and what was missed is told once. Push notifications only
// say that there is news: what is told always comes from the agent itself, so a forged or repeated
// one has no effect. With Config.Seen an Agent of a later run takes the tasks up (Resume).
//
// The package never follows a card or a redirect to another host than it was given, and it sends
// its credentials nowhere else.
//
// A Server is the other direction: it offers an agent to clients that speak A2A.
//
// One goroutine owns each task. Begin reading at Task.followTask, at task_announcer.go for what a
// person hears, and at Server.startTask for the other direction.
//
// Requests to the agent are in call.go, in the two bindings of binding.go, and the objects of A2A
// in wire.go; push.go takes push notifications, and memory.go keeps what a later run takes up. What
// an agent records beside its tasks is followed and approved in engram.go. For the other direction,
// server.go has the Server, with how many tasks run and how many are kept after their end,
// served_call.go the calls, and served_task.go a task in the form its client reads.
package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/internal/toolwords"
)

// Config says how to be the client of an agent. Its zero value is ready.
type Config struct {
	// Endpoint is where the agent takes requests. Empty is what its card says, which must be of the
	// host that the card came from.
	Endpoint string
	// Token is sent as a bearer token, to the host of the address and to that of Endpoint alone.
	// Empty is none.
	Token string
	// AnswerTime is how long a question of the agent is open. Zero is five minutes.
	AnswerTime time.Duration
	// PushURL is where the agent reaches this Agent's ServeHTTP for push notifications. Empty is
	// none.
	PushURL string
	// Seen is a file that remembers which tasks are followed and what of them was told, so that
	// Resume can take them up after the program has ended or was killed. Empty is none.
	Seen string
	// Logger receives what of the agent's messages cannot be read. Nil discards it.
	Logger *slog.Logger
}

const (
	helloTimeout = 30 * time.Second // for the agent's card
	callTimeout  = 30 * time.Second // for the answer to a request that begins no stream
	maxCard      = 256 << 10
	maxAnswer    = 16 << 20
)

// An Agent is one that speaks A2A. What is sent to it belongs to one conversation. All its methods
// may be called at once.
type Agent struct {
	cfg      Config
	http     *http.Client
	endpoint string
	legacy   atomic.Bool // it speaks 0.3
	overREST bool        // it takes the requests of 1.0 by HTTP+JSON alone
	streams  atomic.Bool // it answers with streams, as far as its card says and it did not refuse
	card     agentCard
	memory   *memory

	mu      sync.Mutex
	context string                      // the id that the agent gave this conversation
	pushes  map[[sha256.Size]byte]*Task // by the hash of their token
	tasks   int                         // that are followed
}

// Dial reads the card of the agent at an address: that of the card itself, or of the host that has
// it at its well-known place.
func Dial(ctx context.Context, address string, cfg Config) (*Agent, error) {
	return dialOver(ctx, address, cfg, http.DefaultTransport.(*http.Transport).Clone())
}

// dialOver does the work of Dial; transport is the network, which tests replace, or nil for the
// real one.
func dialOver(ctx context.Context, address string, cfg Config, transport http.RoundTripper) (*Agent, error) {
	endpoint, isWeb := httpguard.WebAddress(address)
	if !isWeb {
		return nil, fmt.Errorf("a2a: %q is not the address of an agent, such as https://agent.example", address)
	}
	cfg.AnswerTime = cmp.Or(cfg.AnswerTime, 5*time.Minute)
	cfg.Logger = shield.Logger(cfg.Logger)
	a := &Agent{cfg: cfg, pushes: map[[sha256.Size]byte]*Task{}}
	a.http = bridge.NewClient(transport, "agent")
	if endpoint.Path == "" || strings.HasSuffix(endpoint.Path, "/") {
		endpoint = endpoint.JoinPath(".well-known", "agent-card.json")
	}
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	body, err := a.fetchCard(ctx, endpoint.String())
	if err == nil && bridge.Decode(body, &a.card) != nil {
		err = errors.New("what it has there cannot be read as a card")
	}
	if err != nil {
		return nil, fmt.Errorf("a2a: the agent's card at %s cannot be had: %w", endpoint.Redacted(),
			bridge.WithoutAddress(err))
	}
	a.streams.Store(a.card.Capabilities.Streaming)
	if err := a.chooseInterface(endpoint); err != nil {
		return nil, err
	}
	if a.memory, err = openMemory(cfg.Seen, a.endpoint); err != nil {
		return nil, fmt.Errorf("a2a: what was told cannot be remembered in %s: %w", cfg.Seen, err)
	}
	return a, nil
}

// fetchCard gets the agent card at a URL, of at most maxCard bytes. Any status but 200 is an error.
func (a *Agent) fetchCard(ctx context.Context, cardURL string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cardURL, nil)
	if err != nil {
		return nil, err
	}
	a.addToken(req)
	answer, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", answer.Status)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxCard+1))
	if len(body) > maxCard {
		return nil, fmt.Errorf("it has more than %d KiB", maxCard>>10)
	}
	return body, err
}

// addToken adds the token to a request, which goes to the agent's own host.
func (a *Agent) addToken(r *http.Request) {
	if a.cfg.Token != "" {
		r.Header.Set("Authorization", "Bearer "+a.cfg.Token)
	}
}

// chooseInterface takes the first interface of the card that is known here: of JSON-RPC, which has
// the methods of extensions too, or else of HTTP+JSON. Config.Endpoint wins over its address. An
// address on another host than the card's is an error, for the token would be sent there.
func (a *Agent) chooseInterface(card *url.URL) error {
	var others []string
	for _, i := range a.card.listInterfaces() {
		legacy := strings.HasPrefix(i.Version, "0.3") || i.Version == ""
		newer := strings.HasPrefix(i.Version, "1.")
		isWanted := a.endpoint == "" || a.overREST // none was found, or one that JSON-RPC goes before
		switch {
		case i.Binding == "JSONRPC" && (legacy || newer) && isWanted:
			a.endpoint, a.overREST = i.URL, false
			a.legacy.Store(legacy)
		case i.Binding == "HTTP+JSON" && newer && a.endpoint == "":
			a.endpoint, a.overREST = i.URL, true
		default:
			others = append(others, strings.TrimSpace(toolwords.Label(i.Binding+" "+i.Version)))
		}
	}
	if a.endpoint == "" {
		return fmt.Errorf("a2a: the agent offers only %s; JSONRPC 1.0 or 0.3, or HTTP+JSON 1.0 is needed",
			cmp.Or(strings.Join(others, ", "), "nothing"))
	}
	if a.cfg.Endpoint != "" {
		a.endpoint = a.cfg.Endpoint
		return nil
	}
	endpoint, err := url.Parse(a.endpoint)
	if err != nil || !sameHost(endpoint, card) {
		return fmt.Errorf("a2a: the agent's card, which came from %s, names the address %s of another host; give it "+
			"as the endpoint if it is right",
			card.Host, toolwords.Label(a.endpoint))
	}
	return nil
}

// sameHost reports whether two addresses are of one server, by scheme, host and port. All names of
// this machine are one.
func sameHost(a, b *url.URL) bool {
	name := func(u *url.URL) string {
		switch host := strings.ToLower(u.Hostname()); host {
		case "localhost", "127.0.0.1", "::1":
			return "localhost"
		default:
			return host
		}
	}
	port := func(u *url.URL) string {
		return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return a.Scheme == b.Scheme && name(a) == name(b) && port(a) == port(b)
}

// Name is what the agent calls itself, in one line that is safe to show, or "".
func (a *Agent) Name() string { return toolwords.Label(a.card.Name) }

// Version returns the version of the protocol that is spoken with the agent: "1.0" or "0.3".
func (a *Agent) Version() string {
	if a.legacy.Load() {
		return "0.3"
	}
	return "1.0"
}

// spokenName is how a sentence names the agent.
func (a *Agent) spokenName() string { return cmp.Or(a.Name(), "The agent") }
