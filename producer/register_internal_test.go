package producer

import (
	"context"
	"testing"

	"github.com/aaep-go/aaep"
)

// INV-22, INV-29: a subscription that is registered at the last try begins before a session that
// has begun meanwhile, and so hears how that starts; at any other try it waits for that session.
func TestSessionThatBeginsWhileOneRegisters(t *testing.T) {
	p, err := New(Config{Agent: aaep.Agent{AgentID: "planner"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	start := func() *Session {
		s, err := p.StartSession(t.Context(), aaep.Say("Working."))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	old, began := start(), start()
	p.log.Flush()
	p.mu.Lock()
	defer p.mu.Unlock()
	held := []*Session{old}
	if _, awaited := p.chooseBeginning(held, "", false); awaited == 0 {
		t.Error("it does not wait for the session that has begun")
	}
	b, awaited := p.chooseBeginning(held, "", true)
	if awaited > 0 || b.Cursor != began.start-1 || len(b.States) != 1 {
		t.Errorf("the last try waits for %d, begins after %d and has %d states; want 0, %d and 1",
			awaited, b.Cursor, len(b.States), began.start-1)
	}
	if b, awaited = p.chooseBeginning(p.sessions, "", false); awaited > 0 || b.Cursor != p.log.End() || len(b.States) != 2 {
		t.Errorf("with all sessions held it waits for %d, begins after %d and has %d states", awaited, b.Cursor, len(b.States))
	}
}
