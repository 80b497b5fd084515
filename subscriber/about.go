package subscriber

import (
	"encoding/json"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
)

// addAbout notes with a confirmation which call it is for, where the agent does not say so but announced it right before, as
// published ones do (D-22, D-31). Otherwise the question would be taken for settled as soon as another call of the session
// changes its state, and the user could no longer answer it. Only the reading goroutine calls it, with every event.
func (s *Subscription) addAbout(ev *aaep.Event) {
	before := s.announced[ev.SessionID]
	delete(s.announced, ev.SessionID)
	switch p := ev.Payload.(type) {
	case *aaep.ToolInvoked:
		if s.announced == nil || len(s.announced) >= openQuestions {
			s.announced = map[string]closes.About{}
		}
		if p.ToolCallID != "" && p.Tool != "" {
			s.announced[ev.SessionID] = closes.About{Tool: p.Tool, Call: p.ToolCallID, Announced: true}
		}
	case *aaep.AwaitingConfirmation:
		if before.Announced && len(p.ExtraContext) == 0 && strings.Contains(p.Action, before.Tool) {
			p.ExtraContext, _ = json.Marshal(before)
		}
	}
}
