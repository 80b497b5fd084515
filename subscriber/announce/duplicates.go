package announce

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/phrase"
)

// moment is how long a state has to last to be told: longer than the time between two events for
// who asked for one a second.
const moment = 1500 * time.Millisecond

// A duplicateFilter leaves out what the news next to it tells as well: a state that lasts less than
// a moment, or that is what a tool, an answer, a question or, of a state without words of its own,
// the progress of the same session says itself; that a tool is used which the session's beginning
// has named; and that it ended well, in the SDK's own words, within one. What came of a question is
// always told, and so is everything that is critical, was asked for in detail, carries data of an
// extension, or is of an action that cannot be taken back. It is a pure machine as Announcer is,
// and not safe for concurrent use. The zero filter is ready.
type duplicateFilter struct {
	sessions map[string]*sessionFilter // as sessionOf has them
	came     int                       // how many states were held so far
}

// sessionFilter is what a duplicateFilter knows of one session.
type sessionFilter struct {
	// held is one state that has not lasted yet, or none. It is told at due; bare says that it has
	// no words of the agent's own, and came numbers the states that are held.
	pending []*item
	bare    bool
	due     time.Time
	came    int

	about    string                 // the words that the session began with
	began    time.Time              // when it did
	calls    map[string]*aaep.Event // the tools that run, by the id of the call
	outputs  map[string]bool        // the answers that go on, by their id
	question *aaep.Event            // that is open, or nil
}

// filterEvent takes the announcement of an event, nil where it has none, and returns which
// announcements are to be queued now, in order, and which are duplicates and are dropped. A change
// of state is held back, by up to moment, until takeDue returns it or another event makes it
// needless, unless it is told whole or tells an outcome. It records too what is open, so that a
// state that a call, an output or a question implies is dropped. Beyond maxAgents sessions it
// forgets one.
func (g *duplicateFilter) filterEvent(now time.Time, source string, ev *aaep.Event, it *item) (tell, dropped []*item) {
	s, dropped := g.openSession(sessionOf(source, ev))
	isWhole := isToldWhole(ev)
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		dropped = append(dropped, s.takeHeld()...)
		if s.question != nil && closes.Question(s.question, ev) { // else it was overtaken by that
			s.question = nil
		}
		switch {
		case isWhole || tellsOutcome(ev, p):
			return []*item{it}, dropped
		case s.tellsState(p.ToState):
			return nil, append(dropped, it)
		}
		g.holdState(now, s, ev, it)
		return nil, dropped
	case *aaep.SessionStarted:
		s.about, s.began = ev.Text(aaep.VerbosityNormal), now
	case *aaep.ProgressUpdated:
		if s.bare {
			dropped = s.takeHeld()
		}
	case *aaep.ToolInvoked:
		dropped = append(dropped, s.takeHeld()...)
		if s.beginCall(now, ev, p) && !isWhole && canAge(ev) {
			return nil, append(dropped, it)
		}
	case *aaep.ToolCompleted:
		if s.endCall(ev, p) && !isWhole {
			return nil, append(dropped, it)
		}
	case *aaep.OutputStreaming:
		dropped = append(dropped, s.takeHeld()...)
		if s.outputs[p.OutputID] = !p.Complete; p.Complete || len(s.outputs) > manyOpen {
			delete(s.outputs, p.OutputID)
		}
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		dropped, s.question = append(dropped, s.takeHeld()...), ev
	case *aaep.HandoffRequested:
		dropped = append(dropped, s.takeHeld()...)
	default:
		if ev.Type().Terminal() {
			dropped = append(dropped, s.takeHeld()...)
			delete(g.sessions, sessionOf(source, ev))
		}
	}
	return []*item{it}, dropped
}

// takeHeld takes out the change of state that is held back, if there is one.
func (s *sessionFilter) takeHeld() (held []*item) {
	held, s.pending = s.pending, nil
	return held
}

// holdState holds back the announcement of the change of state ev in the session s for moment.
func (g *duplicateFilter) holdState(now time.Time, s *sessionFilter, ev *aaep.Event, it *item) {
	g.came++
	s.pending, s.bare, s.due, s.came = []*item{it}, isBare(ev), now.Add(moment), g.came
}

// beginCall records a tool call as running, and reports whether the beginning of the session, a
// moment ago, used the same words.
func (s *sessionFilter) beginCall(now time.Time, ev *aaep.Event, p *aaep.ToolInvoked) (namedByStart bool) {
	if len(s.calls) < manyOpen {
		s.calls[cmp.Or(p.ToolCallID, p.Tool)] = ev
	}
	namedByStart = s.about == ev.Text(aaep.VerbosityNormal) && now.Sub(s.began) < moment
	s.about = ""
	return namedByStart
}

// endCall records a tool call as ended, and reports whether the announcement of its beginning says
// as much as this end would: it ended within a moment and without words of its own.
func (s *sessionFilter) endCall(ev *aaep.Event, p *aaep.ToolCompleted) (toldByCall bool) {
	id := cmp.Or(p.ToolCallID, p.Tool)
	call := s.calls[id]
	delete(s.calls, id)
	return call != nil && canAge(call) && canAge(ev) && ev.Timestamp.Sub(call.Timestamp) < moment &&
		(isBare(ev) || repeatsCallName(ev, call))
}

// takeDue takes out the changes of state that were held back for moment and still stand, in the
// order in which they came, and returns when the next one is due; zero if none is held. handleTime
// calls it.
func (g *duplicateFilter) takeDue(now time.Time) (tell []*item, wake time.Time) {
	var due []*sessionFilter
	for _, s := range g.sessions {
		switch {
		case s.pending == nil:
		case !now.Before(s.due):
			due = append(due, s)
		case wake.IsZero() || s.due.Before(wake):
			wake = s.due
		}
	}
	slices.SortFunc(due, func(x, y *sessionFilter) int { return x.came - y.came })
	for _, s := range due {
		tell = append(tell, s.pending...)
		s.pending = nil
	}
	return tell, wake
}

// manyOpen is more tools or answers than one session has open.
const manyOpen = 64

// openSession returns the filter of a session, which it makes if there is none. Where there are
// maxAgents already, others are forgotten, and dropped is the states that they held back.
func (g *duplicateFilter) openSession(id string) (s *sessionFilter, dropped []*item) {
	if s := g.sessions[id]; s != nil {
		return s, nil
	}
	if g.sessions == nil {
		g.sessions = map[string]*sessionFilter{}
	}
	for oldID, s := range g.sessions {
		if len(g.sessions) < maxAgents {
			break
		}
		dropped = append(dropped, s.pending...)
		delete(g.sessions, oldID)
	}
	s = &sessionFilter{calls: map[string]*aaep.Event{}, outputs: map[string]bool{}}
	g.sessions[id] = s
	return s, dropped
}

// tellsState reports whether a tool call, an output or a question that is open already implies a
// state, so that the state need not be announced. filterEvent and isOvertaken ask it.
func (s *sessionFilter) tellsState(state aaep.State) bool {
	switch state {
	case aaep.StateCallingTool:
		return len(s.calls) > 0
	case aaep.StateWritingOutput:
		return len(s.outputs) > 0
	case aaep.StateAwaitingInput:
		return s.question != nil
	}
	return false
}

// cannotWait reports whether an event is critical for the person. A state is only for its place:
// before the question that it makes way for.
func cannotWait(ev *aaep.Event) bool {
	return ev.Critical() && ev.Type() != aaep.TypeStateChanged
}

// isToldWhole reports whether all of an event is told: it matters, the person asked for it, or it
// is more than words.
func isToldWhole(ev *aaep.Event) bool {
	return cannotWait(ev) || ev.Verbosity == aaep.VerbosityDetailed || len(ev.Extensions) > 0
}

// tellsOutcome reports whether a state tells what came of a question.
func tellsOutcome(ev *aaep.Event, p *aaep.StateChanged) bool {
	return p.FromState == aaep.StateAwaitingInput && p.ToState != aaep.StateAwaitingInput && !isBare(ev)
}

// isBare reports whether an event says no more than its type does: it has no words, or those the
// SDK has for all of its kind.
func isBare(ev *aaep.Event) bool {
	if ev.Summary.IsZero() {
		return true
	}
	ids, arg := []phrase.ID{phrase.Thinking, phrase.UsingATool, phrase.Answering, phrase.WaitingForAnswer,
		phrase.Idle, phrase.Deciding, phrase.HandingOff}, ""
	switch p := ev.Payload.(type) {
	case *aaep.ToolCompleted:
		ids, arg = []phrase.ID{phrase.ToolFinished}, p.Tool
	case *aaep.SessionStarted:
		ids = []phrase.ID{phrase.Request}
	}
	return slices.ContainsFunc(ids, func(id phrase.ID) bool {
		text, _ := phrase.In(ev.Language(), id, arg)
		return ev.Summary.Normal == text && ev.Summary.Detailed == ""
	})
}

// repeatsCallName reports whether an event says no more than that a tool is over, under a name that
// the words of its call, call, contain in whatever case.
func repeatsCallName(ev, call *aaep.Event) bool {
	sentence, _ := phrase.In(ev.Language(), phrase.ToolFinished, "\x00")
	before, after, _ := strings.Cut(sentence, "\x00")
	name, begins := strings.CutPrefix(ev.Summary.Normal, before)
	name, ends := strings.CutSuffix(name, after)
	called := strings.ToLower(call.Text(aaep.VerbosityNormal))
	return begins && ends && ev.Summary.Detailed == "" && strings.Contains(called, strings.ToLower(name))
}
