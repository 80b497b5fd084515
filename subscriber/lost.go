package subscriber

import (
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/phrase"
)

// reportLost puts an event of aaep.TypeLost into the stream of events. It says that events of the
// producer may be missing where it stands or, with isQuestion, that a question cannot be read. It
// waits while too many events wait, as handleEvent does. That the subscription has ended is no
// error here, for its reader learns it anyway.
func (s *Subscription) reportLost(isQuestion bool) {
	id, members := phrase.MayBeLost, json.RawMessage(nil)
	if isQuestion {
		id, members = phrase.AsksUnreadable, json.RawMessage(`{"unreadable_question":true}`)
	}
	s.mu.Lock()
	language, producer := phrase.Best(s.wanted.Languages), s.accepted.Producer
	s.mu.Unlock()
	text, _ := phrase.In(language, id, "")
	ev := &aaep.Event{AAEPVersion: aaep.Version, EventID: "evt_" + rand.Text(), Timestamp: time.Now(),
		Producer: producer, Verbosity: aaep.VerbosityNormal, Urgency: aaep.UrgencyNormal, Summary: aaep.Say(text),
		LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: language},
		Payload:           &aaep.ExtensionPayload{Type: aaep.TypeLost}, Unknown: members}
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
