package subscriber

import (
	"slices"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// chooseTranslation changes an event that has translations to the one in the language that serves
// the user best (§11.5.1): a producer that knows no handshake sends all, for it does not know whom
// it speaks to. An event without translations, and a user without languages, change nothing. It
// takes s.mu.
func (s *Subscription) chooseTranslation(ev *aaep.Event) {
	s.mu.Lock()
	wanted := s.wanted.Languages
	s.mu.Unlock()
	if len(ev.Translations) == 0 || len(wanted) == 0 {
		return
	}
	if ev.LocalizationHints != nil {
		wanted = slices.Concat(wanted, ev.LocalizationHints.FallbackChain)
	}
	if i := negotiation.ChooseLanguage(wanted, ev); i > 0 {
		t := ev.Translations[i-1]
		t.LocalizationHints.TextDirection = negotiation.Direction(t.Language(), t.Summary.At(aaep.VerbosityNormal))
		*ev = *ev.In(t)
	}
}
