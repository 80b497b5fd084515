package lifecycle

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
)

// findings are the rules that one event breaks. Their texts never hold a reply token.
type findings []aaep.Violation

// fail adds a violation of the requirement with this id. pointer is the JSON pointer of the member
// of the event that is wrong, which the text says.
func (f *findings) fail(req, pointer, format string, args ...any) {
	*f = append(*f, aaep.Violation{Requirement: req, Pointer: pointer, Problem: fmt.Sprintf(format, args...)})
}

// newInvalidError returns the *aaep.InvalidError that names every rule ev breaks, and the type of
// ev if it has one.
func newInvalidError(ev *aaep.Event, found findings) error {
	e := &aaep.InvalidError{Violations: found}
	if hasPayload(ev) {
		e.Message = string(ev.Type())
	}
	return e
}

// check returns the rules that ev would break as the session's next event. It changes nothing. Next
// and Judge call it before they apply the event.
func (s *Session) check(ev *aaep.Event) (f findings) {
	if !hasPayload(ev) {
		f.fail("ENV-011", "/type", "has no payload, and so no type")
		return f
	}
	if s.checkBrackets(&f, ev); len(f) > 0 {
		return f // there is no session for ev to be a part of
	}
	if t := wallTime(ev); s.begun && t.Before(s.last) {
		f.fail("ENV-023", "/timestamp", "is %v before that of the event before it; it must not go backwards",
			s.last.Sub(t))
	}
	switch p := ev.Payload.(type) {
	case *aaep.SessionCompleted, *aaep.SessionErrored, *aaep.SessionCancelled:
		s.checkEnd(&f)
	case *aaep.StateChanged:
		s.checkState(&f, p)
	case *aaep.ToolInvoked:
		s.checkInvocation(&f, p)
	case *aaep.ToolCompleted:
		s.checkCompletion(&f, p)
	case *aaep.OutputStreaming:
		s.checkOutput(&f, p)
	case *aaep.AwaitingConfirmation:
		s.checkConfirmation(&f, p, s.indexOfRepeated(ev) >= 0)
	case *aaep.AwaitingClarification:
		s.checkQuestion(&f, p.ReplyToken, s.indexOfRepeated(ev) >= 0)
	}
	return f
}

// checkBrackets checks that the session has one start and one end, everything else in between, and
// one session_id (§4.5.1). A violation goes into f.
func (s *Session) checkBrackets(f *findings, ev *aaep.Event) {
	_, start := ev.Payload.(*aaep.SessionStarted)
	switch {
	case !s.begun && !start:
		f.fail("EVT-003", "/type", "comes before session.started, which must be the session's first event")
	case !s.begun:
	case ev.SessionID != s.id:
		f.fail("ENV-018", "/session_id", "is %q; every event of this session carries %q", ev.SessionID, s.id)
	case start:
		f.fail("EVT-002", "/type", "the session has started before; a session has exactly one session.started")
	case s.end == "":
	case ev.Type() == aaep.TypeSessionCompleted && s.end != aaep.TypeSessionCompleted:
		f.fail("EVT-014", "/type", "the session has ended with %s; session.completed must not follow", s.end)
	case ev.Type().Terminal():
		f.fail("EVT-004", "/type", "the session has ended with %s; a session has exactly one terminal event", s.end)
	default:
		f.fail("EVT-005", "/type", "the session has ended with %s; nothing may follow", s.end)
	}
}

// checkEnd checks that no question, tool call or output is open at a terminal event (D-30). Each
// that is goes into f.
func (s *Session) checkEnd(f *findings) {
	for _, q := range s.questions {
		req := "SM-014"
		if q.typ == aaep.TypeAwaitingClarification {
			req = "SM-010"
		}
		f.fail(req, "/type", "an %s is open; it must be settled before the session ends", q.typ)
	}
	for _, t := range s.tools {
		f.fail("SM-003", "/type", "the call %q of tool %q is open; its tool.completed comes before the session ends",
			t.ToolCallID, t.Tool)
	}
	for _, o := range s.outputs {
		f.fail("EVT-058", "/type",
			"the output %q is open; a chunk with complete=true at position %d comes before the session ends",
			o.OutputID, o.Position)
	}
}

// checkState checks that a state.changed leaves the state that the session is in for another one,
// and that nothing is open which keeps it there: in calling_tool a tool call that is not completed,
// in awaiting_input a question, unless another one was settled and not announced yet (D-40).
func (s *Session) checkState(f *findings, p *aaep.StateChanged) {
	now := s.State()
	switch {
	case p.FromState == now:
	case s.state == "":
		f.fail("EVT-029", "/from_state", "is %q; the first state.changed of a session leaves %q", p.FromState, now)
	default:
		f.fail("EVT-030", "/from_state", "is %q; the state is %q", p.FromState, now)
	}
	switch {
	case p.ToState == "":
		f.fail("EVT-028", "/to_state", "is empty; it must name a state")
	case p.FromState == p.ToState:
		f.fail("EVT-030", "/to_state", "is %q, as is from_state; a change must lead to another state", p.ToState)
	}
	if p.ToState == now {
		return
	}
	// A question may be asked while a tool runs: that is not the tool's result.
	if now == aaep.StateCallingTool && len(s.tools) > 0 && p.ToState != aaep.StateAwaitingInput {
		t := s.tools[0]
		f.fail("EVT-051", "/to_state",
			"leaves %s while the call %q of tool %q is open; its tool.completed comes first", now, t.ToolCallID, t.Tool)
	}
	if now == aaep.StateAwaitingInput && len(s.questions) > 0 && s.unannounced == 0 {
		f.fail("SM-008", "/to_state",
			"leaves %s while a question is open and none was settled; a reply, a timeout or a cancellation comes first",
			now)
	}
}

// checkInvocation checks that a tool.invoked has an id of its own, the user's consent where that is
// needed, and comes in the state calling_tool, or in awaiting_input while a question is open.
func (s *Session) checkInvocation(f *findings, p *aaep.ToolInvoked) {
	if c := s.calls[p.ToolCallID]; c.stage != stageAhead {
		f.fail("EVT-043", "/tool_call_id", "%q was used before in this session; every call needs an id of its own",
			p.ToolCallID)
	} else {
		checkConsent(f, p, c)
	}
	// Other work goes on while a question is open (§6.1); the state is then that of the question.
	if now := s.State(); now != aaep.StateCallingTool && !(now == aaep.StateAwaitingInput && len(s.questions) > 0) {
		f.fail("SM-005", "/type", "the state is %q; a state.changed to %q comes first", now, aaep.StateCallingTool)
	}
}

// checkConsent checks that the user has accepted the call that p invokes, and the tool that it was
// asked about. It is needed for an irreversible or high-risk call, and for each call that was asked
// about, whatever its risk. c is what is known of the call so far.
func checkConsent(f *findings, p *aaep.ToolInvoked, c call) {
	req, kind := "", "" // the requirement that demands consent and why; "": none does
	switch {
	case p.Irreversible != nil && *p.Irreversible:
		req, kind = "EVT-042", "irreversible"
	case p.RiskLevel != "" && p.RiskLevel != aaep.RiskLow && p.RiskLevel != aaep.RiskMedium:
		req, kind = "TERM-016", "high-risk" // a risk we do not know counts as high (D-13)
	}
	switch {
	case c.consent == consentRejected:
		f.fail("SM-009", "/tool_call_id", "the call %q was rejected; it must never be invoked", p.ToolCallID)
	case c.consent == consentAsked:
		f.fail("CONF-001", "/tool_call_id", "the confirmation of call %q is open; the call waits for accept",
			p.ToolCallID)
	case c.consent == consentAccepted && c.asked != "" && c.asked != p.Tool:
		f.fail(cmp.Or(req, "CONF-001"), "/tool", "is %q; what was accepted for call %q is %q", p.Tool, p.ToolCallID,
			c.asked)
	case c.consent == consentNone && req != "" && p.ToolCallID == "":
		f.fail(req, "/tool_call_id",
			"is missing; this call is %s, and a confirmation whose extra_context holds its tool_call_id "+
				"must be accepted first", kind)
	case c.consent == consentNone && req != "":
		f.fail(req, "/tool_call_id",
			"the call %q is %s; a confirmation whose extra_context holds this tool_call_id must be accepted first",
			p.ToolCallID, kind)
	}
}

// checkCompletion checks that a tool.completed names an open call, and the tool that this invoked.
// A violation goes into f.
func (s *Session) checkCompletion(f *findings, p *aaep.ToolCompleted) {
	i := s.indexOfTool(p)
	switch {
	case i >= 0 && s.tools[i].Tool != p.Tool:
		f.fail("EVT-050", "/tool", "is %q; the call %q invoked %q", p.Tool, p.ToolCallID, s.tools[i].Tool)
	case i >= 0:
	case p.ToolCallID == "":
		f.fail("EVT-091", "/tool_call_id",
			"is missing, and no call of tool %q without an id is open; a call that has an id is completed by that id",
			p.Tool)
	case s.calls[p.ToolCallID].stage == stageDone:
		f.fail("SM-003", "/tool_call_id", "the call %q was completed before; a call is completed exactly once",
			p.ToolCallID)
	default:
		f.fail("EVT-091", "/tool_call_id", "no call %q is open; tool.invoked comes first", p.ToolCallID)
	}
}

// indexOfTool returns the index of the open call that p completes, or -1: the one with p's id or,
// where p has none, the oldest one of p's tool without an id (§4.5.2).
func (s *Session) indexOfTool(p *aaep.ToolCompleted) int {
	return slices.IndexFunc(s.tools, func(t ToolCall) bool {
		return t.ToolCallID == p.ToolCallID && (p.ToolCallID != "" || t.Tool == p.Tool)
	})
}

// checkOutput checks that a chunk begins where the one before it in the same output ended, counted
// in code points (D-27), that it is not empty unless it closes the output, and that the output was
// not closed before.
func (s *Session) checkOutput(f *findings, p *aaep.OutputStreaming) {
	if s.complete[p.OutputID] {
		f.fail("EVT-058", "/output_id", "the output %q is complete; no chunk may follow", p.OutputID)
		return
	}
	if p.Chunk == "" && !p.Complete {
		f.fail("EVT-055", "/chunk", "may be empty only on the closing chunk")
	}
	next, i := int64(0), s.indexOfOutput(p.OutputID)
	if i >= 0 {
		next = s.outputs[i].Position
	}
	switch {
	case p.Position == next:
	case i >= 0 && p.Position < next:
		f.fail("EVT-059", "/position", "is %d and goes back; the next chunk of output %q starts at %d", p.Position,
			p.OutputID, next)
	default:
		f.fail("EVT-056", "/position", "is %d; the next chunk of output %q starts at %d, counted in code points",
			p.Position, p.OutputID, next)
	}
}

// indexOfOutput returns the index of the open output with that id, or -1.
func (s *Session) indexOfOutput(id string) int {
	return slices.IndexFunc(s.outputs, func(o Output) bool { return o.OutputID == id })
}

// checkConfirmation checks that a confirmation may be asked about its call: the call was not
// invoked or rejected, and no other confirmation of it is open. repeated says that the event asks
// an open question once more; see indexOfRepeated.
func (s *Session) checkConfirmation(f *findings, p *aaep.AwaitingConfirmation, repeated bool) {
	s.checkQuestion(f, p.ReplyToken, repeated)
	_, id, err := closes.Subject(p)
	if err != nil {
		f.fail("EVT-075", "/extra_context",
			"must be an object whose tool and tool_call_id are strings, each given once")
		return
	}
	const pointer = "/extra_context/tool_call_id"
	switch c := s.calls[id]; {
	case repeated:
	case c.stage != stageAhead:
		f.fail("EVT-067", pointer, "the call %q was invoked before; its confirmation comes first", id)
	case c.consent == consentAsked:
		f.fail("CONF-005", pointer, "a confirmation of call %q is open; it must be settled before another is asked", id)
	case c.consent == consentRejected:
		f.fail("SM-009", pointer, "the call %q was rejected for good; asking again needs a new tool_call_id", id)
	}
}

// checkQuestion checks what holds for confirmations and clarifications alike (CONF-006): the state
// is awaiting_input, and the token is new, unless the event asks an open question once more.
func (s *Session) checkQuestion(f *findings, token aaep.ReplyToken, repeated bool) {
	if now := s.State(); now != aaep.StateAwaitingInput {
		f.fail("SM-007", "/type", "the state is %q; a state.changed to %q comes first", now, aaep.StateAwaitingInput)
	}
	if s.tokens[token] && !repeated {
		f.fail("CONF-009", "/reply_token", "was used before; every question needs a token of its own")
	}
}

// indexOfRepeated returns the index of the open question that ev asks once more, or -1. It does so
// in another language than the event before: the subscriber has changed its language meanwhile.
func (s *Session) indexOfRepeated(ev *aaep.Event) int {
	token, asks := closes.Token(ev)
	if !asks {
		return -1
	}
	id := ""
	if p, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
		_, id, _ = closes.Subject(p)
	}
	return slices.IndexFunc(s.questions, func(q question) bool {
		return q.token == token && q.typ == ev.Type() && q.callID == id && q.lang != ev.Language()
	})
}

// notOpenError returns the *aaep.InvalidError that says why the question with that token cannot be
// settled: it was settled before, or never asked.
func (s *Session) notOpenError(token aaep.ReplyToken) error {
	var f findings
	if s.tokens[token] {
		f.fail("CONF-021", "/reply_token", "the question was settled before; only the first settlement counts")
	} else {
		f.fail("CONF-020", "/reply_token", "no question of this session was asked with this token")
	}
	return &aaep.InvalidError{Message: "settlement", Violations: f}
}

// wallTime returns ev's timestamp without the monotonic reading, which time.Time.Before would
// compare instead and which goes on while the wall clock is set back. Peers see the wall clock
// alone.
func wallTime(ev *aaep.Event) time.Time { return ev.Timestamp.Round(0) }

// codePoints returns how many code points a chunk has, by which positions in an output are counted.
func codePoints(chunk string) int64 { return int64(utf8.RuneCountInString(chunk)) }

// hasPayload reports whether ev has a payload that can be read. A payload may be a nil pointer, of
// which only reflection tells.
func hasPayload(ev *aaep.Event) bool {
	if ev == nil || ev.Payload == nil {
		return false
	}
	v := reflect.ValueOf(ev.Payload)
	return v.Kind() != reflect.Pointer || !v.IsNil()
}
