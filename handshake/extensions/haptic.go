package extensions

import (
	"encoding/json"
	"slices"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// HapticVocabulary names the extension for what is felt.
var HapticVocabulary = newVocabulary("haptic")

// Haptic is what a device can make felt, and where.
type Haptic struct {
	// PatternsSupported are the device's own names, at least one. The first is felt with every
	// critical event for which the agent chose none that the device has.
	PatternsSupported []string `json:"patterns_supported"`
	BodyLocations     []string `json:"body_locations,omitzero"`
}

// HapticData is what stands under the prefix on an event. An agent chooses it with
// Text.With; a listener gets it only where its device has the pattern.
type HapticData struct {
	Pattern  string `json:"pattern"`
	Location string `json:"location,omitzero"`
}

// newHaptic returns the extension for what is felt. Its effect is the data of each event: the
// pattern that the agent chose if the device has it, else the device's first one if the event is
// critical, else none. A place that the device does not have is left out.
func newHaptic() handshake.Extension {
	ext := newExtension(HapticVocabulary, func(device Haptic) handshake.Effect {
		return handshake.Effect{Data: func(ev *aaep.Event, data json.RawMessage) json.RawMessage {
			var felt HapticData
			if data != nil && HapticVocabulary.Read(data, &felt) != nil {
				felt = HapticData{}
			}
			if !slices.Contains(device.PatternsSupported, felt.Pattern) {
				if !ev.Critical() {
					return nil
				}
				felt = HapticData{Pattern: device.PatternsSupported[0], Location: felt.Location}
			}
			if !slices.Contains(device.BodyLocations, felt.Location) {
				felt.Location = ""
			}
			return marshalOwn(felt)
		}}
	})
	ext.Event = makeSchemaCheck(HapticVocabulary, "event")
	return ext
}
