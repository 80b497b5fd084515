package extensions

import (
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// TimingVocabulary names the extension for those who need longer to answer (WCAG 2.2.1).
var TimingVocabulary = newVocabulary("timing")

// Timing stretches the time there is to answer a question. A question that several may answer when
// it is put is open as long as the slowest of them needs, and never longer than a day. A subscriber
// that comes later has what is left of that.
type Timing struct {
	// TimeoutMultiplier is from 1 to 10; zero is 1.
	TimeoutMultiplier float64 `json:"timeout_multiplier,omitzero"`
	// MinSeconds is the least time there is, from 1 to 86400; NoLimit is as long as a question may
	// be open, a day.
	MinSeconds int64 `json:"min_seconds,omitzero"`
	NoLimit    bool  `json:"no_limit,omitzero"`
	// MoreTimeFor, in a renegotiation, is the token of a question that is open: there is as much
	// time again to answer it, up to ten times and a day in all. The answer repeats it where that
	// was given.
	MoreTimeFor aaep.ReplyToken `json:"more_time_for,omitzero"`
}

// newTiming returns the extension for more time to answer. All of what was asked is honored but
// MoreTimeFor, which concerns one question and stands only in an answer that granted it.
func newTiming() handshake.Extension {
	return newExtension(TimingVocabulary, func(t Timing) handshake.Effect {
		lasting := t
		lasting.MoreTimeFor = ""
		e := handshake.Effect{TimeoutMultiplier: t.TimeoutMultiplier, Honored: marshalOwn(lasting),
			MinTimeout: time.Duration(t.MinSeconds) * time.Second}
		if t.NoLimit {
			e.MinTimeout = 24 * time.Hour
		}
		if t.MoreTimeFor != "" {
			e.MoreTime, e.Granted = t.MoreTimeFor, marshalOwn(t)
		}
		return e
	})
}
