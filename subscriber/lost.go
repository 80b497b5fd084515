package subscriber

import (
	"crypto/rand"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/phrase"
)

// reportLost puts an event of this package's own into the stream of events, which says a phrase:
// that events of the producer may be missing where it stands, or that a question cannot be read. It
// waits while too many events wait, as handleEvent
// does. Its only error is that the subscription has ended, which its reader learns anyway.
func (s *Subscription) reportLost(id phrase.ID) {
	s.mu.Lock()
	language, producer := phrase.Best(s.wanted.Languages), s.accepted.Producer
	s.mu.Unlock()
	text, _ := phrase.In(language, id, "")
	ev := &aaep.Event{AAEPVersion: aaep.Version, EventID: "evt_" + rand.Text(), Timestamp: time.Now(),
		Producer: producer, Verbosity: aaep.VerbosityNormal, Urgency: aaep.UrgencyNormal, Summary: aaep.Say(text),
		LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: language},
		Payload:           &aaep.ExtensionPayload{Type: aaep.TypeLost}}
	s.cfg.Logger.Warn("events may be lost", "event_id", ev.EventID)
	_ = s.queueEvent(arrival{event: ev, own: true})
}

// saysLost reports whether a producer says on an event that what came before it is lost to this
// subscription.
func saysLost(ev *aaep.Event) bool {
	var d extensions.DeliveryData
	data := ev.Extensions[extensions.DeliveryVocabulary.Prefix]
	return data != nil && extensions.DeliveryVocabulary.Read(data, &d) == nil && d.Lost
}
