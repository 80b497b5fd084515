package shaper

import (
	"slices"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// chooseLanguage gives ev the language, of those it is written in, that serves the subscriber best
// (§11.1.3). It returns the index of that language, 0 for the event's own. An event in none of the
// subscriber's languages is sent as it is.
func (s *Shaper) chooseLanguage(ev *aaep.Event) int {
	if len(ev.Translations) == 0 {
		return 0
	}
	if !s.language.coversLanguagesOf(ev) { // most events come in the same languages
		s.language = languageChoice{tags: []string{ev.Language()}}
		for _, t := range ev.Translations {
			s.language.tags = append(s.language.tags, t.Language())
		}
		s.language.best = negotiation.ChooseLanguage(s.terms.Languages, ev)
	}
	if best := s.language.best; best > 0 {
		*ev = *ev.In(ev.Translations[best-1])
	}
	ev.Translations = nil
	return s.language.best
}

// A languageChoice remembers which of several languages is the best for the subscriber.
type languageChoice struct {
	tags []string // the languages chosen from, the event's own first
	best int      // index into tags
}

// coversLanguagesOf reports whether the choice was made among the languages that ev has, so that
// chooseLanguage can use it again.
func (c *languageChoice) coversLanguagesOf(ev *aaep.Event) bool {
	if len(c.tags) != len(ev.Translations)+1 || c.tags[0] != ev.Language() {
		return false
	}
	for i, t := range ev.Translations {
		if c.tags[i+1] != t.Language() {
			return false
		}
	}
	return true
}

// tailorText leaves in ev, the caller's copy, only the normal summary and that of the verbosity
// that was agreed (§5.3.1.2), and gives it the data of the subscriber's extensions. Under a low
// cognitive load normal becomes terse where ev has a terse summary. buildOut calls it.
func (s *Shaper) tailorText(ev *aaep.Event) {
	ev.Verbosity = s.terms.Verbosity
	if s.terms.CognitiveLoad == aaep.LoadLow && ev.Verbosity == aaep.VerbosityNormal && ev.Summary.Terse != "" {
		ev.Verbosity = aaep.VerbosityTerse
	}
	if ev.Verbosity != aaep.VerbosityTerse {
		ev.Summary.Terse = ""
	}
	if ev.Verbosity != aaep.VerbosityDetailed {
		ev.Summary.Detailed = ""
	}
	s.terms.Extend(ev)
}

// isWanted reports whether the terms let the event through: critical events always, but questions
// only if the subscriber may answer them; others by the filters, the cognitive load and the
// extensions.
func (s *Shaper) isWanted(ev *aaep.Event) bool {
	t := &s.terms
	switch ev.Type() {
	case aaep.TypeAwaitingConfirmation: // only for subscribers that can answer (§5.3.1.4)
		return t.ConfirmationReply
	case aaep.TypeAwaitingClarification:
		return t.ClarificationReply
	}
	if ev.Critical() { // whatever the filters say (§5.5.4)
		return true
	}
	if t.CognitiveLoad == aaep.LoadLow && !isForLowLoad(ev) {
		return false
	}
	return t.Filters.Match(ev.Type()) && t.Keeps(ev)
}

// isForLowLoad reports whether an event is sent under a low cognitive load: progress is not, and
// neither is a change between two states that are not notable (D-53).
func isForLowLoad(ev *aaep.Event) bool {
	switch p := ev.Payload.(type) {
	case *aaep.ProgressUpdated:
		return false
	case *aaep.StateChanged:
		return isNotable(p.FromState) || isNotable(p.ToState)
	}
	return true
}

// isNotable reports whether entering or leaving the state is sent under a low cognitive load.
func isNotable(s aaep.State) bool {
	switch s {
	case aaep.StateThinking, aaep.StateCallingTool, aaep.StateWritingOutput, aaep.StateAwaitingInput:
		return true
	}
	return false
}

// coarsestListed returns the coarsest boundary that the subscriber listed and the text reached, or
// BoundaryNone (D-28). Words of a sentence that is no longer waited for are labelled word, listed
// or not, unless the subscriber listed none: text at none must not be spoken (EVT-061).
func coarsestListed(listed []aaep.Boundary, reached aaep.Boundary) aaep.Boundary {
	best := aaep.BoundaryNone
	for _, b := range listed {
		if b.Rank() <= reached.Rank() && b.Rank() > best.Rank() {
			best = b
		}
	}
	if best == aaep.BoundaryNone && reached == aaep.BoundaryWord && !slices.Contains(listed, aaep.BoundaryNone) {
		return aaep.BoundaryWord
	}
	return best
}

// boundaryFor returns where to cut text: at the finest boundary listed, one coarser for a slow
// voice, the coarsest for a person who asked for few events, the sentence where none is listed
// (D-28, D-53). BoundaryNone means that text is neither cut nor held.
func boundaryFor(t negotiation.Terms) aaep.Boundary {
	sorted := slices.SortedFunc(slices.Values(t.Boundaries), func(a, b aaep.Boundary) int {
		return a.Rank() - b.Rank()
	})
	sorted = slices.Compact(sorted)
	switch {
	case len(sorted) == 0:
		return aaep.BoundarySentence
	case t.CognitiveLoad == aaep.LoadLow:
		return sorted[len(sorted)-1]
	case t.PaceWPM > 0 && t.PaceWPM < slowPace && len(sorted) > 1:
		return sorted[1]
	}
	return sorted[0]
}

// slowPace is the speech rate, in words per minute, below which a subscriber gets longer pieces
// (D-53).
const slowPace = 120

// endsQuestion reports whether a change of state tells how a question ended. It never waits for the
// rate and is never merged: a person must hear that what they were asked about was not done, also
// where the agent ends right after it (§4.5.3, §6.1).
func endsQuestion(ev *aaep.Event) bool {
	p, ok := ev.Payload.(*aaep.StateChanged)
	return ok && p.FromState == aaep.StateAwaitingInput
}
