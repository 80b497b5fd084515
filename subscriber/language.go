package subscriber

import (
	"slices"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// translate puts an event in the language that serves the user best, where a producer sends its summary in several (§11.5.1): one
// that knows no handshake does not know whom it speaks to. What is said in other members than the summary is in the event's own
// language alone, and one label cannot be right for both, so such an event stays as it is.
func (s *Subscription) translate(ev *aaep.Event) {
	s.mu.Lock()
	wanted := s.wanted.Languages
	s.mu.Unlock()
	if len(ev.Translations) == 0 || len(wanted) == 0 {
		return
	}
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		return
	case *aaep.SessionErrored:
		if p.RemediationHint != "" {
			return
		}
	}
	if ev.LocalizationHints != nil {
		wanted = slices.Concat(wanted, ev.LocalizationHints.FallbackChain)
	}
	if i := handshake.ChooseLanguage(wanted, ev); i > 0 {
		t := ev.Translations[i-1]
		t.LocalizationHints.TextDirection = handshake.Direction(t.Language(), t.Summary.At(aaep.VerbosityNormal))
		ev.In(t)
	}
}
