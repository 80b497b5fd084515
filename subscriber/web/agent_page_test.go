package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber/web"
)

// An agentPage is an agent with the page beside it.
type agentPage struct {
	*producer.Producer
	*httptest.Server
	page  string
	agent atomic.Pointer[http.Handler]
}

// newAgent makes an agent and puts it in the place of the one before.
func (s *agentPage) newAgent(t *testing.T, cfg producer.Config) {
	t.Helper()
	if cfg.Agent.AgentID == "" {
		cfg.Agent = aaep.Agent{AgentID: "tester", AgentName: "Tester"}
	}
	p, err := producer.New(cfg)
	check(t, err)
	agent, err := new(serve.Server).Handler(p)
	check(t, err)
	s.Producer = p
	s.agent.Store(&agent)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p.Shutdown(ctx)
	})
}

func start(t *testing.T, cfg producer.Config) *agentPage {
	t.Helper()
	s := new(agentPage)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { (*s.agent.Load()).ServeHTTP(w, r) })
	mux.Handle("GET "+web.Path, http.StripPrefix(web.Path, web.Handler()))
	s.Server = httptest.NewServer(mux)
	s.page = s.URL + web.Path
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	s.newAgent(t, cfg)
	return s
}

func (s *agentPage) session(t *testing.T, about string) *producer.Session {
	t.Helper()
	session, err := s.StartSession(t.Context(), aaep.Say(about))
	check(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

// asks asks for consent in its own time, and reports what came of it.
func asks(t *testing.T, s *producer.Session, action, consequence string, timeout time.Duration) <-chan error {
	outcome := make(chan error, 1)
	go func() {
		_, err := s.Tool(t.Context(), producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Action: aaep.Say(action), Consequence: aaep.Say(consequence), Timeout: timeout},
			func(context.Context) (string, error) { return "done", nil })
		outcome <- err
	}()
	return outcome
}

func pay(t *testing.T, s *producer.Session, amount string) <-chan error {
	return asks(t, s, "Pay "+amount+" to the water company.", "The money leaves your account today.", 2*time.Minute)
}

func result(t *testing.T, outcome <-chan error) error {
	t.Helper()
	select {
	case err := <-outcome:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the question has no outcome")
		return nil
	}
}

func undecided(t *testing.T, outcome <-chan error) {
	t.Helper()
	select {
	case err := <-outcome:
		t.Fatalf("the question was settled: %v", err)
	default:
	}
}
