package producer

import (
	"sync"
	"time"

	"github.com/aaep-go/aaep"
)

// Invoked tells that a tool runs which is not run through the session, and waits for nobody: it is for those who see
// the agent from outside, such as package producer/llm. Call done with what came of it. A tool that must ask is refused with an
// *aaep.InvalidError (§6.1): Tool and Confirm ask. What was only seen is not on the audit trail.
func (s *Session) Invoked(t Tool) (done func(error), err error) {
	if t.mustAsk() {
		return nil, &aaep.InvalidError{Message: string(aaep.TypeToolInvoked), Violations: []aaep.Violation{{
			Requirement: "EVT-042", Pointer: "/tool", Problem: "must ask before it runs; use Session.Tool or Session.Confirm"}}}
	}
	if t.Risk == "" {
		t.Risk = aaep.RiskLow
	}
	call := t.call()
	if err := s.checkTool(t, call); err != nil {
		return nil, err
	}
	if _, err := s.announce(s.ctx, t, call); err != nil {
		return nil, err
	}
	began, once := time.Now(), sync.Once{}
	return func(err error) { once.Do(func() { s.toolDone(call, began, err, false) }) }, nil
}
