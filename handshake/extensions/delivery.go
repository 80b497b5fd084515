package extensions

import (
	"encoding/json"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// DeliveryVocabulary names the extension for when events are sent, and for how long.
var DeliveryVocabulary = newVocabulary("delivery")

// Delivery is what a subscriber may ask for. Zero values ask for nothing.
type Delivery struct {
	// MinRelevance, from 0 to 1, holds back what is less relevant; events that do not say are 0.5,
	// and critical ones are never held back.
	MinRelevance float64 `json:"min_relevance,omitzero"`
	// IdleTimeoutSeconds ends the subscription when nothing was sent for so long;
	// MaxDurationSeconds when it is so old.
	IdleTimeoutSeconds int64 `json:"idle_timeout_seconds,omitzero"`
	MaxDurationSeconds int64 `json:"max_duration_seconds,omitzero"`
	// Presence is what the user does. While it is PresenceTyping, only what is critical is sent,
	// and what is about to be done that cannot be undone or is of high risk; the rest follows when
	// a renegotiation says otherwise, or after PresenceExpiresIn seconds, which is 30 where it is
	// left out and at most 300.
	Presence          string `json:"presence,omitzero"`
	PresenceExpiresIn int64  `json:"presence_expires_in,omitzero"`

	// ResumeAfter is the id of the last event that was had on an earlier subscription, in a
	// request: the stream goes on right after it. It is honored where the log still holds that, and
	// left out, with a note, where it does not. Do not name an event that DeliveryData calls not
	// resumable, nor, over Server-Sent Events, one without an id field.
	ResumeAfter string `json:"resume_after,omitzero"`
}

// PresenceTyping is the presence of a person who must not be talked to.
const PresenceTyping = "user_typing"

// DeliveryData is what stands under the prefix on an event.
type DeliveryData struct {
	// Relevance is from 0 to 1.
	Relevance float64 `json:"relevance"`
	// Resumable is false on an event that overtook others: who goes on after it would miss those.
	// The producer says so to those who named the extension, over links that have no other place
	// for it.
	Resumable *bool `json:"resumable,omitzero"`
	// Lost is true on the first event after a cut over which this subscriber lost others, for they
	// are no longer kept. The producer says so to those who named the extension.
	Lost bool `json:"lost,omitzero"`
}

// newDelivery returns the delivery extension: idle timeout, longest duration, quiet while the user
// types, and the least relevance of events. It honors all that a subscriber requests but
// ResumeAfter, which stands only in an answer that resumes.
func newDelivery() handshake.Extension {
	ext := newExtension(DeliveryVocabulary, func(asked Delivery) handshake.Effect {
		var e handshake.Effect
		honored := asked
		e.ResumeAfter, e.Resumed = asked.ResumeAfter, marshalOwn(honored)
		honored.ResumeAfter = ""
		e.Honored = marshalOwn(honored)
		e.IdleTimeout = time.Duration(asked.IdleTimeoutSeconds) * time.Second
		e.MaxDuration = time.Duration(asked.MaxDurationSeconds) * time.Second
		if asked.Presence == PresenceTyping {
			e.Quiet = 30 * time.Second
			if n := asked.PresenceExpiresIn; n > 0 {
				e.Quiet = time.Duration(n) * time.Second
			}
		}
		if asked.MinRelevance > 0 {
			e.Keep = func(_ *aaep.Event, data json.RawMessage) bool {
				relevance := DeliveryData{Relevance: 0.5}
				if data != nil && DeliveryVocabulary.Read(data, &relevance) != nil {
					return true // it is not ours
				}
				return relevance.Relevance >= asked.MinRelevance
			}
		}
		return e
	})
	ext.Event = makeSchemaCheck(DeliveryVocabulary, "event")
	return ext
}
