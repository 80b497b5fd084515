package producer

import (
	"context"
	"testing"

	"github.com/aaep-go/aaep"
)

// A session whose second event cannot be emitted does not begin.
func TestStartFails(t *testing.T) {
	p, err := New(Config{Agent: aaep.Agent{AgentID: "planner"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	p.offer.Languages = []string{"en", "es-"} // in which the package has words, and which is no tag
	begin := p.log.End()
	if s, err := p.StartSession(t.Context(), aaep.Say("Working.")); err == nil {
		t.Fatalf("the session %s has begun", s.ID())
	}
	if n := len(p.sessions); n > 0 {
		t.Errorf("%d sessions are open", n)
	}
	p.log.Flush()
	if end := p.log.End(); end != begin {
		t.Errorf("the log goes from %d to %d", begin, end)
	}
	p.offer.Languages = []string{"en"}
	if _, err := p.StartSession(t.Context(), aaep.Say("Working.")); err != nil {
		t.Error(err)
	}
}
