package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/words"
)

// effective is what holds after an answer: a term that a producer leaves out is as it was asked for (D-45), an
// extension that it leaves out is not served.
func effective(asked, honored aaep.Capabilities) aaep.Capabilities {
	c := asked.With(honored)
	c.Extensions = honored.Extensions
	return c
}

// inWords says terms to a person, a phrase for each. Only what about holds is said.
func inWords(c, about aaep.Capabilities) []string {
	var list []string
	say := func(is bool, phrase string) {
		if is && phrase != "" {
			list = append(list, phrase)
		}
	}
	say(about.MaxEventsPerSecond != 0, rateInWords(c.MaxEventsPerSecond))
	say(about.Languages != nil, languagesInWords(c.Languages))
	say(about.PreferredVerbosity != "", verbosityInWords(c.PreferredVerbosity))
	say(about.CoalesceBoundaries != nil || about.CognitiveLoad != "", boundaryInWords(c))
	say(about.CognitiveLoad != "", loadInWords(c.CognitiveLoad))
	if about.PaceWPM != 0 && c.PaceWPM != 0 {
		say(true, "a pace of "+words.Count(c.PaceWPM, "word")+" a minute")
	}
	if f := c.EventFilters; about.EventFilters != nil && f != nil {
		say(!slices.Contains(f.Include, "aaep:agent.*") && f.Include != nil, "only what is critical and "+andList(f.Include))
		say(len(f.Exclude) > 0, "without "+andList(f.Exclude))
	}
	for _, prefix := range slices.Sorted(maps.Keys(about.Extensions)) {
		say(c.Extensions[prefix] != nil, extensionInWords(prefix, c.Extensions[prefix]))
	}
	if about.SupportsConfirmationReply != nil {
		say(isTrue(c.SupportsConfirmationReply), "questions to decide")
		say(!isTrue(c.SupportsConfirmationReply), "no questions")
	}
	return list
}

// everyTerm is about all that can be said of terms.
func everyTerm(c aaep.Capabilities) aaep.Capabilities {
	return aaep.Capabilities{MaxEventsPerSecond: 1, Languages: []string{}, PreferredVerbosity: aaep.VerbosityNormal,
		CoalesceBoundaries: []aaep.Boundary{}, CognitiveLoad: aaep.LoadMedium, PaceWPM: 1, EventFilters: &aaep.EventFilters{},
		Extensions: c.Extensions, SupportsConfirmationReply: new(true)}
}

func rateInWords(n int64) string {
	if n == 0 {
		return "every event as it comes"
	}
	return "at most " + words.Count(n, "event") + " a second"
}

func languagesInWords(tags []string) string {
	if len(tags) == 0 {
		return "in the agent's own language"
	}
	return "in the language " + strings.Join(tags, ", or else ")
}

func verbosityInWords(v aaep.Verbosity) string {
	switch v {
	case aaep.VerbosityTerse:
		return "in few words"
	case aaep.VerbosityDetailed:
		return "in many words"
	}
	return "in a normal number of words"
}

// boundaryInWords says where answers are cut: as finely as was asked for, and for a low load as coarsely (D-53).
func boundaryInWords(c aaep.Capabilities) string {
	words := []struct {
		is     aaep.Boundary
		phrase string
	}{
		{aaep.BoundaryNone, "answers as they are written"}, {aaep.BoundaryWord, "answers word by word"},
		{aaep.BoundarySentence, "answers sentence by sentence"}, {aaep.BoundaryParagraph, "answers paragraph by paragraph"},
		{aaep.BoundaryCompletion, "answers when they are whole"},
	}
	if c.CognitiveLoad == aaep.LoadLow {
		slices.Reverse(words)
	}
	for _, w := range words {
		if slices.Contains(c.CoalesceBoundaries, w.is) {
			return w.phrase
		}
	}
	return ""
}

func loadInWords(l aaep.CognitiveLoad) string {
	switch l {
	case aaep.LoadLow:
		return "only the main steps"
	case aaep.LoadHigh:
		return "every small step"
	}
	return "the usual steps"
}

// extensionInWords says what a capability object means; "" is nothing a person would notice.
func extensionInWords(prefix string, capability json.RawMessage) string {
	switch prefix {
	case extensions.BrailleVocabulary.Prefix:
		if d := read[extensions.Braille](capability); d.Cells > 0 {
			return "text cut to " + words.Count(d.Cells*max(d.Rows, 1), "cell")
		}
	case extensions.TimingVocabulary.Prefix:
		if t := read[extensions.Timing](capability); t.TimeoutMultiplier > 0 {
			return strconv.FormatFloat(t.TimeoutMultiplier, 'f', -1, 64) + " times the time to answer"
		}
	case extensions.HapticVocabulary.Prefix:
		if h := read[extensions.Haptic](capability); len(h.PatternsSupported) > 0 {
			return "the patterns " + andList(h.PatternsSupported)
		}
	case extensions.DeliveryVocabulary.Prefix:
		if read[extensions.Delivery](capability).Presence == extensions.PresenceTyping {
			return "quiet, except for what cannot wait"
		}
	default:
		return "the extension " + prefix
	}
	return ""
}

// read reads what a peer wrote about an extension, as far as it can be read.
func read[T any](data json.RawMessage) (v T) {
	_ = json.Unmarshal(data, &v)
	return v
}

// notGranted says what of the request does not hold. Where the agent has explained itself, in a note, its words stand for
// everything but what it does not know, and who is asked where it has a word about that.
func notGranted(asked, got aaep.Capabilities, note string) []string {
	var short aaep.Capabilities
	if note == "" {
		if n := got.MaxEventsPerSecond; n > 0 && (asked.MaxEventsPerSecond == 0 || n < asked.MaxEventsPerSecond) {
			short.MaxEventsPerSecond = 1
		}
		if asked.PreferredVerbosity != got.PreferredVerbosity && asked.PreferredVerbosity != "" {
			short.PreferredVerbosity = asked.PreferredVerbosity
		}
		if asked.CoalesceBoundaries != nil && boundaryInWords(asked) != boundaryInWords(got) {
			short.CoalesceBoundaries = asked.CoalesceBoundaries
		}
		if asked.CognitiveLoad != got.CognitiveLoad && asked.CognitiveLoad != "" {
			short.CognitiveLoad = asked.CognitiveLoad
		}
	}
	if isTrue(asked.SupportsConfirmationReply) && !isTrue(got.SupportsConfirmationReply) && !strings.Contains(note, "question") {
		short.SupportsConfirmationReply = new(true)
	}
	for prefix, capability := range asked.Extensions {
		if got.Extensions[prefix] == nil {
			if short.Extensions == nil {
				short.Extensions = map[string]json.RawMessage{}
			}
			short.Extensions[prefix] = capability
		}
	}
	list := inWords(asked, short)
	if len(got.Languages) > 0 { // with none at all the agent has explained itself
		for _, tag := range asked.Languages {
			if !slices.ContainsFunc(got.Languages, func(has string) bool { return strings.EqualFold(has, tag) || within(tag, has) }) {
				list = append(list, "the language "+tag)
			}
		}
	}
	return list
}

// within reports whether a tag is a wider one and further subtags, as en-US is within en.
func within(tag, wider string) bool {
	return len(tag) > len(wider) && tag[len(wider)] == '-' && strings.EqualFold(tag[:len(wider)], wider)
}

func andList(words []string) string {
	switch last := len(words) - 1; last {
	case -1:
		return "nothing else"
	case 0:
		return words[0]
	case 1:
		return words[0] + " and " + words[1]
	default:
		return strings.Join(words[:last], ", ") + ", and " + words[last]
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

// felt is the pattern that comes with an event for a haptic device, in brackets, or "". That the agent waits comes
// without one where the device is not asked itself; its first says so.
func felt(ev *aaep.Event, device aaep.Capabilities) string {
	data, has := ev.Extensions[extensions.HapticVocabulary.Prefix]
	pattern := read[extensions.HapticData](data).Pattern
	if p, ok := ev.Payload.(*aaep.StateChanged); ok && !has && p.ToState == aaep.StateAwaitingInput {
		if own := read[extensions.Haptic](device.Extensions[extensions.HapticVocabulary.Prefix]).PatternsSupported; len(own) > 0 {
			pattern = own[0]
		}
	}
	if pattern = words.OneLine(pattern); pattern == "" {
		return ""
	}
	return "[" + pattern + "]"
}
