// Package lifecycle knows the order of events within one session: what may come next, and what is
// still open (§4.5, appendix A). A Session is a plain value; it has no clock and does no I/O.
//
// What is not allowed is in rules.go, what a Session keeps of its events in session.go, and what
// the events alone show of how questions ended in infer.go.
package lifecycle

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
)

// A Session checks that the events of one session come in an order the protocol allows. It judges
// order alone; aaep.Validate judges each event. The zero Session is ready. It is not safe for
// concurrent use and must not be copied after its first event.
//
// It is strict: every transition is explicit (D-29), calls, questions and outputs are closed before
// the session ends (D-30), and a confirmation is for one tool call, named by its id (D-22).
type Session struct {
	id    string
	begun bool
	end   aaep.Type  // the type of the terminal event, or ""
	last  time.Time  // the stamp of the last event, wall clock only
	state aaep.State // what the last state.changed led to; "" before the first, see State

	calls   map[string]call // by tool_call_id, since the call was first asked about or invoked
	tools   []ToolCall      // open, in order of invocation
	invoked int             // how many tool.invoked the session had

	outputs  []Output        // open, in order of their first chunks
	complete map[string]bool // by output_id

	questions   []question               // open, in order of asking
	tokens      map[aaep.ReplyToken]bool // of every question there was, settled ones included
	unannounced int                      // settlements that no change out of awaiting_input has announced yet (D-40)

	// unnamedAccepts and unnamedRejects count settlements that Infer has seen without learning
	// which question was settled.
	unnamedAccepts, unnamedRejects int
}

// A ToolCall is a tool call that was invoked and is not completed. ToolCallID may be empty.
type ToolCall struct{ ToolCallID, Tool string }

// An Output is an output that was begun and is not complete. Position is where its next chunk
// starts, in code points. OutputID is empty for the output of the session as a whole.
type Output struct {
	OutputID string
	Position int64
}

// A question is a confirmation or clarification that is open.
type question struct {
	token  aaep.ReplyToken
	callID string    // of the call a confirmation guards; "" for others
	typ    aaep.Type // of the event that asked it
	lang   string    // the language of the last event that asked it
}

// A call is what is known of one tool_call_id.
type call struct {
	stage   stage
	consent consent
	asked   string // the tool its confirmation named, or ""
}

// A stage is how far one tool call has come.
type stage int

const (
	stageAhead stage = iota // not invoked so far
	stageOpen               // invoked and not completed
	stageDone               // completed
)

// A consent is the user's answer to the question about one tool call.
type consent int

const (
	consentNone     consent = iota // no question was asked
	consentAsked                   // the question is open
	consentAccepted                // the call may be invoked
	consentRejected                // for good (SM-009)
)

// Next applies ev as the session's next event and returns nil, or returns an *aaep.InvalidError
// with every rule ev breaks and leaves the Session unchanged.
func (s *Session) Next(ev *aaep.Event) error {
	if found := s.check(ev); len(found) > 0 {
		return newInvalidError(ev, found)
	}
	s.applyEvent(ev)
	return nil
}

// Judge is Next for a session of a peer. It applies an event that breaks a rule too, for the peer
// has sent it, and those after it are judged with that in mind.
func (s *Session) Judge(ev *aaep.Event) error {
	found := s.check(ev)
	s.applyEvent(ev)
	if len(found) > 0 {
		return newInvalidError(ev, found)
	}
	return nil
}

// Settled records the outcome of the question that was asked with token: a reply, a timeout or a
// cancellation, whichever came first. Of a confirmation, Accept allows the call it guards to be
// invoked, once (EVT-042); every other decision, the zero one too, forbids it for good (SM-009). Of
// a clarification the decision means nothing. Like Next, it returns an *aaep.InvalidError and
// changes nothing if no question with that token is open.
func (s *Session) Settled(token aaep.ReplyToken, d aaep.Decision) error {
	i := slices.IndexFunc(s.questions, func(q question) bool { return q.token == token })
	if i < 0 {
		return s.notOpenError(token)
	}
	if id := s.questions[i].callID; id != "" {
		c := s.calls[id]
		if d != aaep.Accept {
			c.consent = consentRejected
		} else if c.consent != consentRejected {
			c.consent = consentAccepted
		}
		s.calls[id] = c
	}
	s.questions = slices.Delete(s.questions, i, i+1)
	s.unannounced++
	return nil
}

// State returns what the agent does now: idle until the first state.changed.
func (s *Session) State() aaep.State {
	if s.state == "" {
		return aaep.StateIdle
	}
	return s.state
}

// Over reports whether the session had its terminal event.
func (s *Session) Over() bool { return s.end != "" }

// OpenTools returns the calls that wait for their tool.completed, in order of invocation. The slice
// is the caller's, as are those of OpenOutputs and OpenQuestions.
func (s *Session) OpenTools() []ToolCall { return slices.Clone(s.tools) }

// OpenOutputs returns the outputs that wait for their closing chunk, in order of their first
// chunks.
func (s *Session) OpenOutputs() []Output { return slices.Clone(s.outputs) }

// OpenQuestions returns the tokens of the questions that wait for Settled, in order of asking.
func (s *Session) OpenQuestions() []aaep.ReplyToken {
	var tokens []aaep.ReplyToken
	for _, q := range s.questions {
		tokens = append(tokens, q.token)
	}
	return tokens
}

// Join makes a zero Session the part that one more producer has in a session that another began
// (appendix A.9): its states, tools, outputs and questions are its own, the beginning and the end
// are shared. The session's end is taken by the part of every producer.
func (s *Session) Join(sessionID string) { s.begun, s.id = true, sessionID }

// ToolInvocations returns how many tool.invoked events the session had.
func (s *Session) ToolInvocations() int { return s.invoked }

// applyEvent moves the session past ev. It judges nothing, and nothing in an event can make it
// panic: Judge calls it also with events in which check has found violations.
func (s *Session) applyEvent(ev *aaep.Event) {
	if !s.begun {
		s.begun, s.id = true, ev.SessionID
	}
	s.last = wallTime(ev)
	if i := s.indexOfRepeated(ev); i >= 0 {
		s.questions[i].lang = ev.Language()
		return
	}
	switch p := ev.Payload.(type) {
	case *aaep.SessionCompleted, *aaep.SessionErrored, *aaep.SessionCancelled:
		s.end = ev.Type()
	case *aaep.StateChanged:
		s.applyState(p.ToState)
	case *aaep.ToolInvoked:
		s.invoked++
		s.tools = append(s.tools, ToolCall{p.ToolCallID, p.Tool})
		s.setStage(p.ToolCallID, stageOpen)
	case *aaep.ToolCompleted:
		if i := s.indexOfTool(p); i >= 0 {
			s.tools = slices.Delete(s.tools, i, i+1)
			s.setStage(p.ToolCallID, stageDone)
		}
	case *aaep.OutputStreaming:
		s.applyOutput(p)
	case *aaep.AwaitingConfirmation:
		tool, id, _ := closes.Subject(p)
		if id != "" {
			c := s.calls[id]
			if c.consent != consentRejected {
				c.consent, c.asked = consentAsked, tool
			}
			s.setCall(id, c)
		}
		s.addQuestion(question{p.ReplyToken, id, ev.Type(), ev.Language()})
	case *aaep.AwaitingClarification:
		s.addQuestion(question{token: p.ReplyToken, typ: ev.Type(), lang: ev.Language()})
	}
}

// applyState moves the session to the state that a state.changed leads to. A change out of
// awaiting_input announces one settlement; see Session.unannounced.
func (s *Session) applyState(to aaep.State) {
	switch {
	case s.State() == aaep.StateAwaitingInput:
		s.unannounced = max(0, s.unannounced-1)
	case to == aaep.StateAwaitingInput && len(s.questions) == 0:
		// A settlement that was never announced must not allow the session to leave the question
		// that is asked next while that is open; see checkState.
		s.unannounced = 0
	}
	s.state = to
}

// applyOutput moves an output past one chunk, whose position it takes as it is. The first chunk
// opens the output, and a complete one closes it for good.
func (s *Session) applyOutput(p *aaep.OutputStreaming) {
	i := s.indexOfOutput(p.OutputID)
	switch {
	case p.Complete:
		if i >= 0 {
			s.outputs = slices.Delete(s.outputs, i, i+1)
		}
		if s.complete == nil {
			s.complete = make(map[string]bool)
		}
		s.complete[p.OutputID] = true
	case i >= 0:
		s.outputs[i].Position = p.Position + codePoints(p.Chunk)
	default:
		s.outputs = append(s.outputs, Output{p.OutputID, p.Position + codePoints(p.Chunk)})
	}
}

// addQuestion opens a question, and remembers its token for the rest of the session.
func (s *Session) addQuestion(q question) {
	s.questions = append(s.questions, q)
	if s.tokens == nil {
		s.tokens = make(map[aaep.ReplyToken]bool)
	}
	s.tokens[q.token] = true
}

// setStage notes how far the call with this tool_call_id has come. Calls without an id have no
// stage.
func (s *Session) setStage(id string, to stage) {
	if id != "" {
		c := s.calls[id]
		c.stage = to
		s.setCall(id, c)
	}
}

// setCall replaces what is known of the call with this tool_call_id, and makes the map for the
// first.
func (s *Session) setCall(id string, c call) {
	if s.calls == nil {
		s.calls = make(map[string]call)
	}
	s.calls[id] = c
}
