package subscriber

import (
	"strings"

	"github.com/aaep-go/aaep"
)

// noteWithin sets Within of a confirmation, the call it is part of, where the agent does not say so
// but announced it right before, as published ones do (D-22, D-31). Otherwise the question would be
// taken for settled as soon as another call of the session changes its state, and the user could no
// longer answer it. Only the reading goroutine calls it, with every event.
func (s *Subscription) noteWithin(ev *aaep.Event) {
	call := s.announced[ev.SessionID]
	delete(s.announced, ev.SessionID)
	switch p := ev.Payload.(type) {
	case *aaep.ToolInvoked:
		if s.announced == nil || len(s.announced) >= openQuestions {
			s.announced = map[string]*aaep.ToolInvoked{}
		}
		if p.ToolCallID != "" && p.Tool != "" {
			s.announced[ev.SessionID] = p
		}
	case *aaep.AwaitingConfirmation:
		if call != nil && len(p.ExtraContext) == 0 && strings.Contains(p.Action, call.Tool) {
			ev.Within = call.ToolCallID
		}
	}
}
