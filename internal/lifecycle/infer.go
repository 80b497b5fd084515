package lifecycle

import (
	"slices"

	"github.com/aaep-go/aaep"
)

// Infer settles the open questions that ev shows to be settled. It is for a caller that sees the
// events of a session and not the replies, and calls it with each event before Next or Judge. A
// change out of awaiting_input shows that one question is settled, and a change to calling_tool
// that the answer was yes. Where several are open it is not known which one was settled (D-40):
// a tool.invoked names the accepted one, and once all that are left must be rejections they are
// settled together.
func (s *Session) Infer(ev *aaep.Event) {
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		if p.FromState != aaep.StateAwaitingInput { // it says nothing of questions
			return
		}
		s.inferFromState(p)
	case *aaep.ToolInvoked:
		s.inferFromInvocation(p)
	}
	s.inferRejections()
}

// inferFromState settles the one open question for p, which leaves awaiting_input. Where several
// are open it counts the settlement as one whose question is not known.
func (s *Session) inferFromState(p *aaep.StateChanged) {
	open, accepted := len(s.questions), p.ToState == aaep.StateCallingTool
	switch {
	case open == 0:
		return
	case open == 1:
		decision := aaep.Reject
		if accepted {
			decision = aaep.Accept
		}
		_ = s.Settled(s.questions[0].token, decision) // it is open, so there is no error
		return
	case accepted:
		s.unnamedAccepts++
	default:
		s.unnamedRejects++
	}
	s.unannounced++
}

// inferFromInvocation settles the question about the call that p invokes as accepted, if a change
// of state before it showed that some question was.
func (s *Session) inferFromInvocation(p *aaep.ToolInvoked) {
	asked := slices.IndexFunc(s.questions, func(q question) bool { return q.callID != "" && q.callID == p.ToolCallID })
	if asked < 0 || s.unnamedAccepts == 0 {
		return
	}
	s.unnamedAccepts--
	_ = s.Settled(s.questions[asked].token, aaep.Accept)
	s.unannounced-- // inferFromState has counted this settlement
}

// inferRejections settles all open questions as rejected, if as many were rejected as are open and
// no acceptance is left that could be about one of them.
func (s *Session) inferRejections() {
	if s.unnamedRejects == 0 || s.unnamedAccepts > 0 || s.unnamedRejects != len(s.questions) {
		return
	}
	unannounced := s.unannounced // inferFromState has counted these settlements
	for len(s.questions) > 0 {
		_ = s.Settled(s.questions[0].token, aaep.Reject)
	}
	s.unnamedRejects, s.unannounced = 0, unannounced
}
