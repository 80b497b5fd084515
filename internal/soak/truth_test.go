package soak_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/producer/log"
)

// What every listener must have been told follows from what the log holds and from what it asked
// for. This is said here once more, in the simplest words there are, and shares nothing with the
// code that it judges but the forms of messages.

// A truth is all that a log holds.
type truth struct {
	*eventlog.Log
	events  []*aaep.Event // in the order of the log: the first has position 1
	outputs map[string]*output
	begins  map[string]int  // where the first event of a session is
	errored map[string]bool // sessions that ended with an error
}

// An output is a whole text.
type output struct {
	text     []rune
	entries  []entry
	complete bool
}

// An entry is what one event of the log adds to an output.
type entry struct{ event, from, to int }

// number is where an event is that is no text, in whichever form it is told.
func (tr *truth) number(id string) (i int, known bool) {
	at, _, ok := tr.Locate(id)
	if !ok || at.Pos == 0 || at.Offset > 0 || at.Pos > uint64(len(tr.events)) {
		return -1, false
	}
	return int(at.Pos) - 1, true
}

func truthOf(kept log.Store) (*truth, error) {
	l, err := eventlog.Open(readOnly{kept}, 1, "")
	if err != nil {
		return nil, err
	}
	tr := &truth{Log: l, outputs: map[string]*output{}, begins: map[string]int{}, errored: map[string]bool{}}
	for l.End() > uint64(len(tr.events)) {
		events, _, err := l.Read(uint64(len(tr.events)), 256)
		if err != nil {
			return nil, err
		}
		tr.events = append(tr.events, events...)
	}
	for i, ev := range tr.events {
		if _, any := tr.begins[ev.SessionID]; !any {
			tr.begins[ev.SessionID] = i
		}
		switch p := ev.Payload.(type) {
		case *aaep.SessionErrored:
			tr.errored[ev.SessionID] = true
		case *aaep.OutputStreaming:
			out := tr.outputs[p.OutputID]
			if out == nil {
				out = &output{}
				tr.outputs[p.OutputID] = out
			}
			if int(p.Position) != len(out.text) || out.complete {
				return nil, fmt.Errorf("the log itself has %s at %d after %d", p.OutputID, p.Position, len(out.text))
			}
			from := len(out.text)
			out.text = append(out.text, []rune(p.Chunk)...)
			out.entries = append(out.entries, entry{i, from, len(out.text)})
			out.complete = p.Complete
		}
	}
	return tr, nil
}

// readOnly lets a log look at a store.
type readOnly struct{ log.Store }

func (readOnly) Append([][]byte) error { return nil }
func (readOnly) SetMeta([]byte) error  { return nil }

// wants reports whether a subscription of these terms is told of an event.
func wants(c aaep.Capabilities, ev *aaep.Event) bool {
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		return *c.SupportsConfirmationReply
	case *aaep.AwaitingClarification:
		return *c.SupportsClarificationReply
	case *aaep.ProgressUpdated:
		if c.CognitiveLoad == aaep.LoadLow {
			return false
		}
	case *aaep.StateChanged:
		worth := []aaep.State{aaep.StateThinking, aaep.StateCallingTool, aaep.StateWritingOutput,
			aaep.StateAwaitingInput}
		if c.CognitiveLoad == aaep.LoadLow && !slices.Contains(worth, p.FromState) &&
			!slices.Contains(worth, p.ToState) {
			return false
		}
	}
	if ev.Critical() || c.EventFilters == nil {
		return true
	}
	return !slices.ContainsFunc(c.EventFilters.Exclude, func(pattern string) bool {
		prefix, isPrefix := strings.CutSuffix(pattern, "*")
		return pattern == string(ev.Type()) || isPrefix && strings.HasPrefix(string(ev.Type()), prefix)
	})
}

// told is an event of the log in the words for these terms.
func told(c aaep.Capabilities, ev aaep.Event) *aaep.Event {
	languages := c.Languages
	if languages == nil {
		languages = []string{"en-US"}
	}
	for _, tag := range languages {
		for _, t := range ev.Translations {
			if t.Language() == tag {
				ev = *ev.In(t)
			}
		}
	}
	ev.Translations = nil
	ev.Verbosity = aaep.VerbosityNormal
	if c.PreferredVerbosity != "" {
		ev.Verbosity = c.PreferredVerbosity
	}
	if c.CognitiveLoad == aaep.LoadLow && ev.Summary.Terse != "" {
		ev.Verbosity = aaep.VerbosityTerse
	}
	if ev.Verbosity != aaep.VerbosityTerse {
		ev.Summary.Terse = ""
	}
	if ev.Verbosity != aaep.VerbosityDetailed {
		ev.Summary.Detailed = ""
	}
	return &ev
}
