// Package check judges messages that were recorded: one by one, and in their order where they
// are the events of a session. It reads a stream of any length in constant memory.
package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/lifecycle"
	"github.com/aaep-go/aaep/schemas"
)

// Finding is one thing that is wrong with a message, or worth knowing.
type Finding struct {
	Line      int    // where the message begins, from 1
	Type      string // of the message, if it could be read
	SessionID string
	aaep.Violation
	// Note says that the message is understood all the same: it is only unusual.
	Note bool
}

// A Checker judges messages in the order in which they were sent. The zero Checker is ready. It is
// not safe for concurrent use.
type Checker struct {
	// SchemaOnly asks the schemas alone: nothing about order, and nothing a schema cannot say.
	SchemaOnly bool

	Messages, Events int
	sessions         map[string]*session
	over             recent // sessions that ended, to know what comes too late
}

const (
	maxEnded = 10000  // ended sessions that are remembered
	maxOpen  = 10000  // sessions that may be under way
	maxIDs   = 100000 // event ids of one session that are remembered

	maxProducers = 64 // producers of one session
)

// recent remembers the newest strings it was given.
type recent struct {
	seen  map[string]bool
	order []string // oldest first
}

// addBounded remembers a string, and forgets the oldest when there are more than most. One that is
// remembered already keeps its place.
func (r *recent) addBounded(s string, most int) {
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	if r.seen[s] {
		return
	}
	r.seen[s] = true
	if r.order = append(r.order, s); len(r.order) > most {
		delete(r.seen, r.order[0])
		r.order = r.order[1:]
	}
}

type session struct {
	line    int                           // of its first event
	partial bool                          // its beginning is not here
	parts   map[string]*lifecycle.Session // by agent_id: each producer has its own states, tools and outputs (A.9)
	ids     recent
}

// Message judges the next message of a stream, which begins at a line, by its schema, the rules of
// package aaep and, unless SchemaOnly is set, its order among the events of its session. It returns
// a finding for each thing that is wrong, with notes among them.
func (c *Checker) Message(line int, data []byte) []Finding {
	c.Messages++
	if c.SchemaOnly {
		return markAllowed(nil, findingsOf(line, "", "", schemas.Validate(data)))
	}
	m, err := aaep.Decode(data)
	if err != nil {
		var invalid *aaep.InvalidError
		if errors.As(err, &invalid) && invalid.Message == manifest {
			return findingsOf(line, manifest, "", schemas.Validate(data))
		}
		found := findingsOf(line, "", "", err)
		if invalid != nil && invalid.Message != "" { // reading ends where it cannot go on; what is wrong besides the schemas say
			found = mergeFindings(found, findingsOf(line, invalid.Message, "", schemas.Validate(data)))
		}
		return found
	}
	ev, ok := m.(*aaep.Event)
	if !ok {
		c.applyReply(m)
		if found := findingsOf(line, m.MessageType(), "", schemas.Validate(data)); found != nil {
			return markAllowed(nil, found)
		}
		return markAllowed(nil, mergeFindings(findingsOf(line, m.MessageType(), "", aaep.Validate(m)),
			findingsOf(line, m.MessageType(), "", checkCapabilities(m))))
	}
	c.Events++
	found := findingsOf(line, string(ev.Type()), ev.SessionID, aaep.Validate(m))
	// The schemas see what was written, and not only what was read.
	found = mergeFindings(found, findingsOf(line, string(ev.Type()), ev.SessionID, schemas.Validate(data)))
	found = mergeFindings(found, findingsOf(line, string(ev.Type()), ev.SessionID,
		checkExtensions("event", "/extensions/", ev.Context, ev.Extensions)))
	for _, v := range ev.Diagnostics {
		found = mergeFindings(found, []Finding{{Line: line, Type: string(ev.Type()), SessionID: ev.SessionID,
			Violation: v}})
	}
	return append(markAllowed(ev, found), c.checkOrder(line, ev)...)
}

// checkCapabilities returns what is wrong with the objects of extensions that a subscriber
// declares, in a request or a renegotiation, as checkExtensions does; nil for any other message.
func checkCapabilities(m aaep.Message) error {
	var c aaep.Capabilities
	switch m := m.(type) {
	case *aaep.SubscriptionRequest:
		c = m.Capabilities
	case *aaep.SubscriptionRenegotiate:
		c = m.Capabilities
	}
	return checkExtensions("capability", "/capabilities/", c.SupportedExtensions, c.Extensions)
}

// checkExtensions returns what is wrong with objects of extensions, by their prefixes, as one
// *aaep.InvalidError, or nil. Only those are looked at whose URI is among uris, and that this SDK
// has a schema of part of. at is the JSON pointer to objects.
func checkExtensions(part, at string, uris []string, objects map[string]json.RawMessage) error {
	all := &aaep.InvalidError{}
	for _, prefix := range slices.Sorted(maps.Keys(objects)) {
		var invalid *aaep.InvalidError
		if !slices.Contains(uris, "https://github.com/aaep-go/aaep/extensions/"+prefix+"/v1") ||
			!errors.As(schemas.ValidateExtension(prefix, part, objects[prefix]), &invalid) {
			continue
		}
		for _, v := range invalid.Violations {
			all.Violations = append(all.Violations,
				aaep.Violation{Requirement: "ENV-069", Pointer: at + prefix + v.Pointer, Problem: v.Problem})
		}
	}
	if all.Violations == nil {
		return nil
	}
	return all
}

const manifest = "aaep:producer.manifest" // a document with a type of its own, and no event

// mergeFindings adds to found those of more that say something new; see isSame. Where more says
// that a member is missing that was found to be empty, the finding says that in its place.
func mergeFindings(found, more []Finding) []Finding {
	for _, f := range more {
		at := slices.IndexFunc(found, func(g Finding) bool {
			i := strings.LastIndexByte(g.Pointer, '/')
			return i >= 0 && g.Pointer[:i] == f.Pointer &&
				f.Problem == fmt.Sprintf("member %q is missing", g.Pointer[i+1:])
		})
		if at >= 0 {
			found[at].Problem = "is missing"
			continue
		}
		if !slices.ContainsFunc(found, f.isSame) {
			found = append(found, f)
		}
	}
	return found
}

// isSame reports whether another finding is at the same place; for one of the whole message,
// whether it is of the same requirement, or in words that begin with its own.
func (f Finding) isSame(other Finding) bool {
	if other.Pointer != f.Pointer {
		return false
	}
	return f.Pointer != "" || other.Requirement == f.Requirement || strings.HasPrefix(other.Problem, f.Problem)
}

// markAllowed marks what is allowed of what was found; ev is nil for any other message.
func markAllowed(ev *aaep.Event, found []Finding) []Finding {
	for i := range found {
		found[i].Note = isAllowed(ev, found[i].Violation)
	}
	return found
}

// isAllowed reports whether what was found is within the prose and the published schemas: a
// decision of this project, a soft limit (§3.7), a member that only the prose demands, text that
// could deceive, or the one default that is only discouraged (§6.4.1). This SDK sends none of it.
func isAllowed(ev *aaep.Event, v aaep.Violation) bool {
	switch {
	case slices.Contains([]string{"ENV-058", "ENV-059", "ENV-060"}, v.Requirement):
		return true
	case strings.HasPrefix(v.Requirement, "D-"), strings.HasPrefix(v.Requirement, "INV-"), v.Requirement == "I18N-001":
		return true
	case v.Requirement == "CONF-031" && ev != nil:
		p, ok := ev.Payload.(*aaep.AwaitingConfirmation)
		return ok && p.RiskLevel == aaep.RiskLow
	}
	return false
}

// checkOrder judges where an event stands among the others of its session, by the order that its
// own producer keeps. A session that does not begin in the stream, and any beyond maxOpen sessions
// or maxProducers of one, is only noted.
func (c *Checker) checkOrder(line int, ev *aaep.Event) []Finding {
	if c.over.seen[ev.SessionID] {
		return findingsOf(line, string(ev.Type()), ev.SessionID, &aaep.InvalidError{Violations: []aaep.Violation{{
			Requirement: "EVT-005", Problem: "comes after the end of its session; nothing may"}}})
	}
	s := c.sessions[ev.SessionID]
	if s == nil {
		if len(c.sessions) >= maxOpen {
			return []Finding{noteOf(line, ev, "", "too many sessions are under way; the order of this one is not judged")}
		}
		if c.sessions == nil {
			c.sessions = map[string]*session{}
		}
		s = &session{line: line, partial: ev.Type() != aaep.TypeSessionStarted, parts: map[string]*lifecycle.Session{}}
		c.sessions[ev.SessionID] = s
		if s.partial {
			return []Finding{noteOf(line, ev, "EVT-003",
				"its session does not begin here; the order of the session is not judged")}
		}
	}
	if s.partial {
		return nil
	}
	var found []Finding
	if s.ids.seen[ev.EventID] {
		found = findingsOf(line, string(ev.Type()), ev.SessionID, &aaep.InvalidError{Violations: []aaep.Violation{{
			Requirement: "ENV-013", Pointer: "/event_id",
			Problem: "was used before; every event has an id of its own"}}})
	}
	s.ids.addBounded(ev.EventID, maxIDs)
	mine := s.producerSession(ev)
	if mine == nil {
		return append(found,
			noteOf(line, ev, "", "the session has too many producers; the order of this one's events is not judged"))
	}
	mine.Infer(ev) // replies are seldom written down
	found = append(found, findingsOf(line, string(ev.Type()), ev.SessionID, mine.Judge(ev))...)
	if ev.Type().Terminal() {
		for _, other := range s.parts {
			if other != mine { // what it left open is open for good
				found = mergeFindings(found, findingsOf(line, string(ev.Type()), ev.SessionID, other.Judge(ev)))
			}
		}
		c.endSession(ev.SessionID)
	}
	return found
}

// noteOf returns a note on an event, which is no violation; requirement may be "".
func noteOf(line int, ev *aaep.Event, requirement, problem string) Finding {
	return Finding{Line: line, Type: string(ev.Type()), SessionID: ev.SessionID, Note: true,
		Violation: aaep.Violation{Requirement: requirement, Problem: problem}}
}

// producerSession returns the machine of the event's producer in a session, which it makes if there
// is none; nil where there are maxProducers already. A second producer joins the session.
func (s *session) producerSession(ev *aaep.Event) *lifecycle.Session {
	agent := ev.Producer.AgentID
	if s.parts[agent] == nil {
		if len(s.parts) >= maxProducers {
			return nil
		}
		m := new(lifecycle.Session)
		if len(s.parts) > 0 {
			m.Join(ev.SessionID)
		}
		s.parts[agent] = m
	}
	return s.parts[agent]
}

// endSession forgets what is known of a session, except that it ended.
func (c *Checker) endSession(id string) {
	delete(c.sessions, id)
	c.over.addBounded(id, maxEnded)
}

// applyReply passes a recorded reply to the session whose open question it answers, so that what
// follows is judged as after that answer. Other messages, and a reply to no open question, change
// nothing. One that modifies the action counts as a rejection.
func (c *Checker) applyReply(m aaep.Message) {
	var token aaep.ReplyToken
	var decision aaep.Decision
	switch r := m.(type) {
	case *aaep.ConfirmationReply:
		token, decision = r.ReplyToken, r.Decision
		if r.ModifiedAction != nil {
			decision = aaep.Reject
		}
	case *aaep.ClarificationReply:
		token = r.ReplyToken
	default:
		return
	}
	for _, s := range c.sessions {
		for _, m := range s.parts {
			if slices.Contains(m.OpenQuestions(), token) {
				_ = m.Settled(token, decision) // it is open
				return
			}
		}
	}
}

// End returns a finding for each session that has not ended. It is called after the last message.
func (c *Checker) End() []Finding {
	var found []Finding
	for _, id := range slices.SortedFunc(maps.Keys(c.sessions),
		func(a, b string) int { return c.sessions[a].line - c.sessions[b].line }) {
		if c.sessions[id].partial {
			continue
		}
		found = append(found, Finding{Line: c.sessions[id].line, SessionID: id, Note: true, Violation: aaep.Violation{
			Requirement: "EVT-004", Problem: fmt.Sprintf("session %s has no end here", aaep.SafeText(id))}})
	}
	return found
}

// findingsOf returns the findings of an error of the parser or the validator: one for each
// violation. A nil error has none. An empty typ is replaced by that of the error.
func findingsOf(line int, typ, session string, err error) []Finding {
	if err == nil {
		return nil
	}
	var invalid *aaep.InvalidError
	if !errors.As(err, &invalid) {
		return []Finding{{Line: line, Type: typ, SessionID: session, Violation: aaep.Violation{Problem: err.Error()}}}
	}
	if typ == "" {
		typ = invalid.Message
	}
	found := make([]Finding, len(invalid.Violations))
	for i, v := range invalid.Violations {
		found[i] = Finding{Line: line, Type: typ, SessionID: session, Violation: v}
	}
	return found
}
