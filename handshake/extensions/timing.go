package extensions

import "github.com/aaep-go/aaep/handshake"

// TimingVocabulary names the extension for those who need longer to answer (WCAG 2.2.1).
var TimingVocabulary = vocabulary("timing")

// Timing stretches the time there is to answer a question. A question that several may answer is open as long
// as the slowest of them needs, and never longer than a day.
type Timing struct {
	// TimeoutMultiplier is from 1 to 10.
	TimeoutMultiplier float64 `json:"timeout_multiplier"`
}

func timing() handshake.Extension {
	return extension(TimingVocabulary, func(t Timing) handshake.Effect {
		return handshake.Effect{TimeoutMultiplier: t.TimeoutMultiplier}
	})
}
