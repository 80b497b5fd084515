package subscriber

import (
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/phrase"
)

// The presets below are what a device and its user can follow when nothing more is known. What the
// user chose goes on top, with Capabilities.With. Languages are tags, best first; without any,
// AAEP's own default holds, which is en-US. They leave out pace_wpm, which is for the user's own
// voice to say.

// ScreenReader is for a person who listens. A spoken sentence takes from one to two seconds, a
// short notice half of one, so more than two events a second would only pile up in front of the
// voice. Answers come as sentences, which are never read from their beginning again, and every
// question can be answered.
//
// A question takes half a minute to be heard and twenty seconds to be answered, so it stays open
// for a minute at the least.
func ScreenReader(languages ...string) aaep.Capabilities {
	c := withReplies(languages, aaep.Capabilities{
		MaxEventsPerSecond: 2,
		PreferredVerbosity: aaep.VerbosityNormal,
		CoalesceBoundaries: []aaep.Boundary{aaep.BoundarySentence, aaep.BoundaryCompletion},
	})
	addOwnExtension(&c, extensions.TimingVocabulary, extensions.Timing{MinSeconds: 60})
	return c
}

// VoiceControl is for a person who sees the screen and speaks to it because hands do not do.
// Reading keeps up with three events a second; whole sentences keep the screen still enough to name
// what is on it. An answer that was not recognized is spoken again, so there is twice the time for
// it.
func VoiceControl(languages ...string) aaep.Capabilities {
	c := withReplies(languages, aaep.Capabilities{
		MaxEventsPerSecond: 3,
		PreferredVerbosity: aaep.VerbosityNormal,
		CoalesceBoundaries: []aaep.Boundary{aaep.BoundarySentence, aaep.BoundaryCompletion},
	})
	addOwnExtension(&c, extensions.TimingVocabulary, extensions.Timing{TimeoutMultiplier: 2})
	return c
}

// Braille is for a person who reads by touch alone, on a display of so many cells. A hand needs
// about five seconds for forty cells, so few words come, at most once a second, and an answer only
// when it is whole or fills the display: it does not grow under the finger. It is cut to the
// display, between words.
//
// A deaf-blind person has no other way to be asked than this one, so questions come, with three
// times the time: a question that is heard in ten seconds fills a small display ten times; two
// minutes are the least. Where the display only goes along with a voice that asks already, set both
// replies to false.
//
// Cells is what the display reports, from 1 to 1000. With any other number Dial returns an error
// that says so: no producer could cut to it.
func Braille(cells int, languages ...string) aaep.Capabilities {
	c := withReplies(languages, aaep.Capabilities{
		MaxEventsPerSecond: 1,
		PreferredVerbosity: aaep.VerbosityTerse,
		CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryCompletion},
	})
	addOwnExtension(&c, extensions.BrailleVocabulary, extensions.Braille{Cells: cells})
	addOwnExtension(&c, extensions.TimingVocabulary, extensions.Timing{TimeoutMultiplier: 3, MinSeconds: 120})
	return c
}

// Captions is for a person who does not hear and reads. Lines that stay on the screen can be read
// at three events a second, and looked at again; whole sentences, because a line that changes while
// it is read is read twice.
func Captions(languages ...string) aaep.Capabilities {
	return withReplies(languages, aaep.Capabilities{
		MaxEventsPerSecond: 3,
		PreferredVerbosity: aaep.VerbosityNormal,
		CoalesceBoundaries: []aaep.Boundary{aaep.BoundarySentence, aaep.BoundaryCompletion},
	})
}

// Switch is for a person who works the screen with one or two switches, and reads it as fast as
// others: it is the answer that takes long, for every letter waits for its turn. So there is ten
// times the time for it, which is what WCAG 2.2.1 asks for and the most there is. Two events a
// second, in sentences, keep the screen still while something on it is being chosen.
//
// It does not ask for a low cognitive load. Moving slowly is no reason to be told less; who wants
// less as well says so with Capabilities.With.
func Switch(languages ...string) aaep.Capabilities {
	c := withReplies(languages, aaep.Capabilities{
		MaxEventsPerSecond: 2,
		PreferredVerbosity: aaep.VerbosityNormal,
		CoalesceBoundaries: []aaep.Boundary{aaep.BoundarySentence, aaep.BoundaryCompletion},
	})
	addOwnExtension(&c, extensions.TimingVocabulary, extensions.Timing{TimeoutMultiplier: 10})
	return c
}

// Haptic is for a device that is felt and has no words, such as a band on the wrist: what is
// critical, the beginning and the end of a session, and what the agent turns to, at most once a
// second and nothing of what it says. Patterns are the device's own names, from 1 to 64 and none
// twice; the first is felt with every critical event. With others Dial returns an error.
//
// No one can decide about what they cannot read, so it is not asked anything. That the agent waits
// for an answer is felt all the same: the state changes to awaiting_input.
func Haptic(patterns ...string) aaep.Capabilities {
	c := aaep.Capabilities{
		MaxEventsPerSecond:         1,
		PreferredVerbosity:         aaep.VerbosityTerse,
		SupportsConfirmationReply:  new(false),
		SupportsClarificationReply: new(false),
		CoalesceBoundaries:         []aaep.Boundary{aaep.BoundaryCompletion},
		EventFilters: &aaep.EventFilters{Include: []string{"aaep:agent.session.*",
			string(aaep.TypeStateChanged)}},
		SupportedConformanceLevels: []int64{1},
		SupportedExtensions:        []string{extensions.DeliveryVocabulary.URI},
		CognitiveLoad:              aaep.LoadLow,
	}
	addOwnExtension(&c, extensions.HapticVocabulary, extensions.Haptic{PatternsSupported: patterns})
	return c
}

// Logger is for a program that keeps everything and has no user: every event of every vocabulary,
// as it was made, at any rate, in the most words, with the data of this SDK's extensions. It is
// asked nothing, for a question must not wait for a person who is not there. For an agent without
// English set Languages too.
func Logger() aaep.Capabilities {
	return aaep.Capabilities{
		PreferredVerbosity:         aaep.VerbosityDetailed,
		SupportsConfirmationReply:  new(false),
		SupportsClarificationReply: new(false),
		CoalesceBoundaries:         []aaep.Boundary{aaep.BoundaryNone},
		EventFilters:               &aaep.EventFilters{Include: []string{"aaep:agent.*", "*"}},
		SupportedConformanceLevels: []int64{1},
		SupportedExtensions:        []string{extensions.DeliveryVocabulary.URI, extensions.HapticVocabulary.URI},
		CognitiveLoad:              aaep.LoadHigh,
	}
}

// withReplies returns c with what the presets of all users have in common who can be asked.
func withReplies(languages []string, c aaep.Capabilities) aaep.Capabilities {
	c.Languages = append([]string(nil), languages...)
	c.SupportsConfirmationReply, c.SupportsClarificationReply = new(true), new(true)
	c.SupportedConformanceLevels = []int64{1, 2}
	c.SupportedExtensions = []string{extensions.DeliveryVocabulary.URI, extensions.TimingVocabulary.URI}
	return c
}

// addOwnExtension adds the capability object of one of this project's own extensions. A preset
// returns no error: for a capability that cannot be encoded, as one of NaN, it adds an empty
// object, which Dial refuses.
func addOwnExtension(c *aaep.Capabilities, v aaep.Vocabulary, capability any) {
	if c.AddExtension(v, capability) != nil {
		_ = c.AddExtension(v, struct{}{})
	}
}

// checkCapabilities returns what is wrong with capabilities though they can be written as a
// message: a word such as "english" in the place of a language's tag, or an extension's object.
func checkCapabilities(c aaep.Capabilities) error {
	for i, tag := range c.Languages {
		if !phrase.IsLanguageTag(tag) {
			return &aaep.InvalidError{Message: "capabilities", Violations: []aaep.Violation{{
				Pointer: fmt.Sprintf("/capabilities/languages/%d", i),
				Problem: fmt.Sprintf("must be the tag of a language, such as en-US, and is %q", tag)}}}
		}
	}
	return extensions.Check(c)
}
