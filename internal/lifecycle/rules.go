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

// A finding collects the rules one event breaks. What it says never holds a reply token.
type finding []aaep.Violation

func (f *finding) fail(req, pointer, format string, args ...any) {
	*f = append(*f, aaep.Violation{Requirement: req, Pointer: pointer, Problem: fmt.Sprintf(format, args...)})
}

func invalid(ev *aaep.Event, found finding) error {
	e := &aaep.InvalidError{Violations: found}
	if hasPayload(ev) {
		e.Message = string(ev.Type())
	}
	return e
}

// check lists the rules ev would break as the session's next event. It changes nothing.
func (s *Session) check(ev *aaep.Event) (f finding) {
	if !hasPayload(ev) {
		f.fail("ENV-011", "/type", "has no payload, and so no type")
		return f
	}
	if s.checkBrackets(&f, ev); len(f) > 0 {
		return f // there is no session for ev to be a part of
	}
	if t := wall(ev); s.begun && t.Before(s.last) {
		f.fail("ENV-023", "/timestamp", "is %v before that of the event before it; it must not go backwards",
			s.last.Sub(t))
	}
	switch p := ev.Payload.(type) {
	case *aaep.SessionCompleted, *aaep.SessionErrored, *aaep.SessionCancelled:
		s.checkEnd(&f)
	case *aaep.StateChanged:
		s.checkState(&f, p)
	case *aaep.ToolInvoked:
		s.checkInvoked(&f, p)
	case *aaep.ToolCompleted:
		s.checkCompleted(&f, p)
	case *aaep.OutputStreaming:
		s.checkOutput(&f, p)
	case *aaep.AwaitingConfirmation:
		s.checkConfirmation(&f, p, s.toldAgain(ev) >= 0)
	case *aaep.AwaitingClarification:
		s.checkQuestion(&f, p.ReplyToken, s.toldAgain(ev) >= 0)
	}
	return f
}

// checkBrackets: one start, one end, everything else in between (§4.5.1).
func (s *Session) checkBrackets(f *finding, ev *aaep.Event) {
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

// checkEnd: nothing is left open behind a terminal event (D-30).
func (s *Session) checkEnd(f *finding) {
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
		f.fail("EVT-058", "/type", "the output %q is open; a chunk with complete=true at position %d comes before the session ends", o.OutputID, o.Position)
	}
}

func (s *Session) checkState(f *finding, p *aaep.StateChanged) {
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
		f.fail("EVT-051", "/to_state", "leaves %s while the call %q of tool %q is open; its tool.completed comes first", now, t.ToolCallID, t.Tool)
	}
	if now == aaep.StateAwaitingInput && len(s.questions) > 0 && s.untold == 0 {
		f.fail("SM-008", "/to_state", "leaves %s while a question is open and none was settled; a reply, a timeout or a cancellation comes first", now)
	}
}

func (s *Session) checkInvoked(f *finding, p *aaep.ToolInvoked) {
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

// checkConsent: ask first, act only on accept, once. A call that was asked about waits for the
// answer whatever its risk.
func checkConsent(f *finding, p *aaep.ToolInvoked, c call) {
	req, kind := "", ""
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
		f.fail(req, "/tool_call_id", "is missing; this call is %s, and a confirmation whose extra_context holds its tool_call_id must be accepted first", kind)
	case c.consent == consentNone && req != "":
		f.fail(req, "/tool_call_id", "the call %q is %s; a confirmation whose extra_context holds this tool_call_id must be accepted first", p.ToolCallID, kind)
	}
}

func (s *Session) checkCompleted(f *finding, p *aaep.ToolCompleted) {
	i := s.closes(p)
	switch {
	case i >= 0 && s.tools[i].Tool != p.Tool:
		f.fail("EVT-050", "/tool", "is %q; the call %q invoked %q", p.Tool, p.ToolCallID, s.tools[i].Tool)
	case i >= 0:
	case p.ToolCallID == "":
		f.fail("EVT-091", "/tool_call_id", "is missing, and no call of tool %q without an id is open; a call that has an id is completed by that id", p.Tool)
	case s.calls[p.ToolCallID].stage == stageDone:
		f.fail("SM-003", "/tool_call_id", "the call %q was completed before; a call is completed exactly once",
			p.ToolCallID)
	default:
		f.fail("EVT-091", "/tool_call_id", "no call %q is open; tool.invoked comes first", p.ToolCallID)
	}
}

// closes returns the index of the open call p completes, or -1: the one with p's id or, where ids
// are not used, the oldest one of p's tool (§4.5.2).
func (s *Session) closes(p *aaep.ToolCompleted) int {
	return slices.IndexFunc(s.tools, func(t ToolCall) bool {
		return t.ToolCallID == p.ToolCallID && (p.ToolCallID != "" || t.Tool == p.Tool)
	})
}

// checkOutput: chunks of one output follow one another without gap or overlap, in code points (D-27).
func (s *Session) checkOutput(f *finding, p *aaep.OutputStreaming) {
	if s.complete[p.OutputID] {
		f.fail("EVT-058", "/output_id", "the output %q is complete; no chunk may follow", p.OutputID)
		return
	}
	if p.Chunk == "" && !p.Complete {
		f.fail("EVT-055", "/chunk", "may be empty only on the closing chunk")
	}
	next, i := int64(0), s.output(p.OutputID)
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

// output returns the index of the open output with that id, or -1.
func (s *Session) output(id string) int {
	return slices.IndexFunc(s.outputs, func(o Output) bool { return o.OutputID == id })
}

func (s *Session) checkConfirmation(f *finding, p *aaep.AwaitingConfirmation, toldAgain bool) {
	s.checkQuestion(f, p.ReplyToken, toldAgain)
	_, id, err := closes.Subject(p)
	if err != nil {
		f.fail("EVT-075", "/extra_context", "must be an object whose tool and tool_call_id are strings, each given once")
		return
	}
	c, at := s.calls[id], "/extra_context/tool_call_id"
	switch {
	case toldAgain:
	case c.stage != stageAhead:
		f.fail("EVT-067", at, "the call %q was invoked before; its confirmation comes first", id)
	case c.consent == consentAsked:
		f.fail("CONF-005", at, "a confirmation of call %q is open; it must be settled before another is asked", id)
	case c.consent == consentRejected:
		f.fail("SM-009", at, "the call %q was rejected for good; asking again needs a new tool_call_id", id)
	}
}

// checkQuestion holds for confirmations and clarifications alike (CONF-006).
func (s *Session) checkQuestion(f *finding, token aaep.ReplyToken, toldAgain bool) {
	if now := s.State(); now != aaep.StateAwaitingInput {
		f.fail("SM-007", "/type", "the state is %q; a state.changed to %q comes first", now, aaep.StateAwaitingInput)
	}
	if s.tokens[token] && !toldAgain {
		f.fail("CONF-009", "/reply_token", "was used before; every question needs a token of its own")
	}
}

// toldAgain returns the index of the open question that ev tells once more, in another language
// than last, for a listener that changed its own meanwhile; or -1.
func (s *Session) toldAgain(ev *aaep.Event) int {
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

// notOpen says why the question with that token cannot be settled.
func (s *Session) notOpen(token aaep.ReplyToken) error {
	var f finding
	if s.tokens[token] {
		f.fail("CONF-021", "/reply_token", "the question was settled before; only the first settlement counts")
	} else {
		f.fail("CONF-020", "/reply_token", "no question of this session was asked with this token")
	}
	return &aaep.InvalidError{Message: "settlement", Violations: f}
}

// wall is ev's time without the monotonic reading, which time.Time.Before would compare instead and
// which goes on while the wall clock is set back. Peers see the wall clock alone.
func wall(ev *aaep.Event) time.Time { return ev.Timestamp.Round(0) }

func codePoints(chunk string) int64 { return int64(utf8.RuneCountInString(chunk)) }

// hasPayload reports whether ev can be looked at: an event may hold a nil pointer as its payload.
func hasPayload(ev *aaep.Event) bool {
	if ev == nil || ev.Payload == nil {
		return false
	}
	v := reflect.ValueOf(ev.Payload)
	return v.Kind() != reflect.Pointer || !v.IsNil()
}
