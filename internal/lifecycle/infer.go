package lifecycle

import (
	"slices"

	"github.com/aaep-go/aaep"
)

// Infer settles what an event that is about to be taken tells of open questions, for those who see
// the events and not the replies. A change out of awaiting_input says that one question is settled,
// and a change to calling_tool that the answer was yes. Where several are open it is not known
// which (D-40) until the tool is invoked.
func (s *Session) Infer(ev *aaep.Event) {
	open := len(s.questions)
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		yes := p.ToState == aaep.StateCallingTool
		switch {
		case p.FromState != aaep.StateAwaitingInput || open == 0:
			return
		case open == 1:
			d := aaep.Reject
			if yes {
				d = aaep.Accept
			}
			_ = s.Settled(s.questions[0].token, d) // it is open
			return
		case yes:
			s.yes++
		default:
			s.no++
		}
		s.untold++
	case *aaep.ToolInvoked:
		i := slices.IndexFunc(s.questions, func(q question) bool { return q.callID != "" && q.callID == p.ToolCallID })
		if i >= 0 && s.yes > 0 {
			s.yes--
			_ = s.Settled(s.questions[i].token, aaep.Accept)
			s.untold-- // the change before it told
			open--
		}
	}
	if s.no > 0 && s.yes == 0 && s.no == open { // all that are left
		told := s.untold
		for len(s.questions) > 0 {
			_ = s.Settled(s.questions[0].token, aaep.Reject)
		}
		s.no, s.untold = 0, told
	}
}
