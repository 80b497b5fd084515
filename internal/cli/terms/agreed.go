package terms

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/cli/uilang"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// InForce returns what holds after an answer: a term that a producer leaves out is as it was
// asked for (D-45), an extension that it leaves out is not served.
func InForce(asked, honored aaep.Capabilities) aaep.Capabilities {
	c := asked.With(honored)
	c.Extensions = honored.Extensions
	return c
}

// InWords returns the terms c as phrases for a person, but only those terms that are set in
// selected, to any value. A term that a person would not notice has none.
func InWords(t uilang.Language, c, selected aaep.Capabilities) []string {
	var list []string
	say := func(is bool, text string) {
		if is && text != "" {
			list = append(list, words.OneLine(text))
		}
	}
	say(selected.MaxEventsPerSecond != 0, rateInWords(t, c.MaxEventsPerSecond))
	say(selected.Languages != nil, languagesInWords(t, c.Languages))
	say(selected.PreferredVerbosity != "", verbosityInWords(t, c.PreferredVerbosity))
	say(selected.CoalesceBoundaries != nil || selected.CognitiveLoad != "", boundaryInWords(t, c))
	say(selected.CognitiveLoad != "", loadInWords(t, c.CognitiveLoad))
	if selected.PaceWPM != 0 && c.PaceWPM != 0 {
		say(true, phrase.Counted(string(t), phrase.AtPace, c.PaceWPM, "word"))
	}
	if f := c.EventFilters; selected.EventFilters != nil && f != nil {
		say(!slices.Contains(f.Include, "aaep:agent.*") && f.Include != nil,
			t.PhraseText(phrase.OnlyCriticalAnd, t.JoinList(f.Include)))
		say(len(f.Exclude) > 0, t.PhraseText(phrase.WithoutTypes, t.JoinList(f.Exclude)))
	}
	for _, prefix := range slices.Sorted(maps.Keys(selected.Extensions)) {
		say(c.Extensions[prefix] != nil, extensionInWords(t, prefix, c.Extensions[prefix]))
	}
	if selected.SupportsConfirmationReply != nil {
		say(IsTrue(c.SupportsConfirmationReply), t.PhraseText(phrase.QuestionsToDecide, ""))
		say(!IsTrue(c.SupportsConfirmationReply), t.PhraseText(phrase.NoQuestions, ""))
	}
	return list
}

// EveryTerm returns a change that names nearly every term of c, so that each of them is put in
// words.
func EveryTerm(c aaep.Capabilities) aaep.Capabilities {
	return aaep.Capabilities{MaxEventsPerSecond: 1, Languages: []string{}, PreferredVerbosity: aaep.VerbosityNormal,
		CoalesceBoundaries: []aaep.Boundary{}, CognitiveLoad: aaep.LoadMedium, PaceWPM: 1,
		EventFilters: &aaep.EventFilters{},
		Extensions:   c.Extensions, SupportsConfirmationReply: new(true)}
}

// rateInWords says at most how many events a second are told; 0 is no limit.
func rateInWords(t uilang.Language, n int64) string {
	if n == 0 {
		return t.PhraseText(phrase.EveryEvent, "")
	}
	return phrase.Counted(string(t), phrase.AtMost, n, "event")
}

// languagesInWords returns the phrase for languages, the best first; for none, the one for the
// agent's own language.
func languagesInWords(t uilang.Language, tags []string) string {
	if len(tags) == 0 {
		return t.PhraseText(phrase.InOwnLanguage, "")
	}
	return t.PhraseText(phrase.InLanguage, strings.Join(tags, t.PhraseText(phrase.OrElse, "")+" "))
}

// verbosityInWords returns the phrase for how many words are said; normal for an unknown verbosity.
func verbosityInWords(t uilang.Language, v aaep.Verbosity) string {
	switch v {
	case aaep.VerbosityTerse:
		return t.PhraseText(phrase.FewWords, "")
	case aaep.VerbosityDetailed:
		return t.PhraseText(phrase.ManyWords, "")
	}
	return t.PhraseText(phrase.NormalWords, "")
}

// boundaryInWords returns the phrase for where answers are cut: of the boundaries agreed on, the
// finest, or for a low load the coarsest (D-53); "" where none is agreed on.
func boundaryInWords(t uilang.Language, c aaep.Capabilities) string {
	words := []struct {
		is aaep.Boundary
		id phrase.ID
	}{
		{aaep.BoundaryNone, phrase.AsWritten}, {aaep.BoundaryWord, phrase.WordByWord},
		{aaep.BoundarySentence, phrase.SentenceBySentence},
		{aaep.BoundaryParagraph, phrase.ParagraphByParagraph}, {aaep.BoundaryCompletion, phrase.WhenWhole},
	}
	if c.CognitiveLoad == aaep.LoadLow {
		slices.Reverse(words)
	}
	for _, w := range words {
		if slices.Contains(c.CoalesceBoundaries, w.is) {
			return t.PhraseText(w.id, "")
		}
	}
	return ""
}

// loadInWords returns the phrase for how much of what happens is told; the usual for an unknown
// load.
func loadInWords(t uilang.Language, l aaep.CognitiveLoad) string {
	switch l {
	case aaep.LoadLow:
		return t.PhraseText(phrase.MainSteps, "")
	case aaep.LoadHigh:
		return t.PhraseText(phrase.EveryStep, "")
	}
	return t.PhraseText(phrase.UsualSteps, "")
}

// extensionInWords returns the phrase for what the capability object of an extension means, or ""
// for nothing a person would notice. An extension that is not known here is named.
func extensionInWords(t uilang.Language, prefix string, capability json.RawMessage) string {
	switch prefix {
	case extensions.BrailleVocabulary.Prefix:
		if d := ReadExtension[extensions.Braille](capability); d.Cells > 0 {
			return phrase.Counted(string(t), phrase.CutToCells, d.Cells*max(d.Rows, 1), "cell")
		}
	case extensions.TimingVocabulary.Prefix:
		if m := ReadExtension[extensions.Timing](capability).TimeoutMultiplier; m > 0 {
			return t.PhraseText(phrase.TimesTheTime, strconv.FormatFloat(m, 'f', -1, 64))
		}
	case extensions.HapticVocabulary.Prefix:
		if h := ReadExtension[extensions.Haptic](capability); len(h.PatternsSupported) > 0 {
			return t.PhraseText(phrase.ThePatterns, t.JoinList(h.PatternsSupported))
		}
	case extensions.DeliveryVocabulary.Prefix:
		if ReadExtension[extensions.Delivery](capability).Presence == extensions.PresenceTyping {
			return t.PhraseText(phrase.QuietExcept, "")
		}
	default:
		return t.PhraseText(phrase.TheExtension, prefix)
	}
	return ""
}

// ReadExtension reads what a peer wrote about an extension, as far as it can be read.
func ReadExtension[T any](data json.RawMessage) (v T) {
	_ = json.Unmarshal(data, &v)
	return v
}

// NotGranted returns phrases for the requested terms that do not hold. Where the agent has sent a
// note, that explains the rate, the words, the boundaries and the load, and these are left out; so
// are the languages where none is honored. That the person is asked nothing is always said.
func NotGranted(t uilang.Language, requested, honored aaep.Capabilities, note string) []string {
	var missing aaep.Capabilities
	if note == "" {
		missing = notHonored(t, requested, honored)
	}
	if IsTrue(requested.SupportsConfirmationReply) && !IsTrue(honored.SupportsConfirmationReply) {
		missing.SupportsConfirmationReply = new(true)
	}
	for prefix, capability := range requested.Extensions {
		if honored.Extensions[prefix] == nil {
			if missing.Extensions == nil {
				missing.Extensions = map[string]json.RawMessage{}
			}
			missing.Extensions[prefix] = capability
		}
	}
	list := InWords(t, requested, missing)
	if len(honored.Languages) == 0 { // the agent has explained itself
		return list
	}
	for _, tag := range requested.Languages {
		isHonored := slices.ContainsFunc(honored.Languages, func(honoredTag string) bool {
			return strings.EqualFold(honoredTag, tag) || isWithinTag(tag, honoredTag)
		})
		if !isHonored {
			list = append(list, t.PhraseText(phrase.TheLanguage, tag))
		}
	}
	return list
}

// notHonored returns those of the requested rate, words, boundaries and load that do not hold; of a
// rate, that it was lowered is all that its value says.
func notHonored(t uilang.Language, requested, honored aaep.Capabilities) (missing aaep.Capabilities) {
	if n := honored.MaxEventsPerSecond; n > 0 && (requested.MaxEventsPerSecond == 0 || n < requested.MaxEventsPerSecond) {
		missing.MaxEventsPerSecond = 1
	}
	if requested.PreferredVerbosity != honored.PreferredVerbosity {
		missing.PreferredVerbosity = requested.PreferredVerbosity
	}
	if boundaryInWords(t, requested) != boundaryInWords(t, honored) {
		missing.CoalesceBoundaries = requested.CoalesceBoundaries
	}
	if requested.CognitiveLoad != honored.CognitiveLoad {
		missing.CognitiveLoad = requested.CognitiveLoad
	}
	return missing
}

// isWithinTag reports whether a tag is a wider one and further subtags, as en-US is within en.
func isWithinTag(tag, wider string) bool {
	return len(tag) > len(wider) && tag[len(wider)] == '-' && strings.EqualFold(tag[:len(wider)], wider)
}

// IsTrue reports whether b is set, to true.
func IsTrue(b *bool) bool { return b != nil && *b }

// HapticPattern returns, in brackets, the pattern that an agent sends with an event for a haptic
// device, or "" for none. An event that says that the agent waits for an answer may have none,
// where the device cannot answer; for that it is the first pattern that the device asked for.
func HapticPattern(ev *aaep.Event, device aaep.Capabilities) string {
	data, hasPattern := ev.Extensions[extensions.HapticVocabulary.Prefix]
	pattern := ReadExtension[extensions.HapticData](data).Pattern
	if p, ok := ev.Payload.(*aaep.StateChanged); ok && !hasPattern && p.ToState == aaep.StateAwaitingInput {
		capability := ReadExtension[extensions.Haptic](device.Extensions[extensions.HapticVocabulary.Prefix])
		if len(capability.PatternsSupported) > 0 {
			pattern = capability.PatternsSupported[0]
		}
	}
	if pattern = words.OneLine(pattern); pattern == "" {
		return ""
	}
	return "[" + pattern + "]"
}
