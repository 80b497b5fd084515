package negotiation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/phrase"
)

// Offer is what a producer can serve.
type Offer struct {
	// Languages are the tags the producer has text in, its own first. Empty is en-US.
	Languages []string
	// AnyLanguage serves the producer's own language to a new subscription that asked for none of
	// Languages, instead of refusing it. A renegotiation is never refused for its languages.
	AnyLanguage bool
	// MaxEventsPerSecond caps every subscription; zero is no cap.
	MaxEventsPerSecond int64
	// Levels are the conformance levels the producer implements.
	Levels []int64
	// Extensions are those the producer serves.
	Extensions []handshake.Extension
	// ReadOnly honors no replies: this subscriber may listen, but is not asked anything.
	ReadOnly bool
	// Withhold are patterns of event types that this subscriber is not sent, whatever it asks
	// for.
	Withhold []string
	// SignedManifest says that the producer can prove its identity.
	SignedManifest bool
	// Report is told of the mistakes that the authors of Extensions have made: at a negotiation,
	// and wherever the Terms that come of it are used. It must not wait. Nil drops them.
	Report func(*Fault)
}

// The defaults of absent capabilities (§5.3.1).
var (
	defaultLanguages  = []string{"en-US"}
	defaultBoundaries = []aaep.Boundary{aaep.BoundarySentence, aaep.BoundaryCompletion}
	defaultInclude    = []string{"aaep:agent.*"}
	defaultLevels     = []int64{1}
)

// Negotiate answers a request with the terms that bind from now on, as far as offer allows what is
// asked for. A refusal is an *aaep.Rejection that says why (§5.5.3) and what would be right.
// Package producer calls it for each new subscription.
func Negotiate(req *aaep.SubscriptionRequest, offer Offer) (Terms, error) {
	if !isOurMajor(req.AAEPVersion) {
		return Terms{}, refuseVersion(req.AAEPVersion)
	}
	return decideTerms(req.Capabilities, offer, nil)
}

// sayIn returns one of the SDK's sentences in a language.
func sayIn(language string, id phrase.ID, arg string) string {
	text, _ := phrase.In(language, id, arg)
	return text
}

// Renegotiate changes the terms of a running subscription: what change leaves out stays as it was
// negotiated (§5.7.1). After a refusal the subscription is over, and with it the questions it was
// asked. So a language that the producer lacks is none: the subscriber already gets the producer's
// own (D-46).
func Renegotiate(now Terms, change aaep.Capabilities, offer Offer) (Terms, error) {
	offer.AnyLanguage = true
	ask := now.Capabilities()
	// What was honored as none is left out of the answer; it must not become the default here.
	ask.Languages, ask.SupportedConformanceLevels, ask.CoalesceBoundaries = now.Languages, now.Levels, now.Boundaries
	return decideTerms(ask.With(change), offer, now.Filters.Exclude)
}

// decideTerms decides each term of a subscription: what was asked for, as far as the offer has it.
// Where it gives something else, it adds a note. The error is an *aaep.Rejection. offer is what the
// producer offers, and excluded what the subscription excludes already, which gets no second note.
func decideTerms(ask aaep.Capabilities, offer Offer, excluded []string) (t Terms, err error) {
	// Notes for the person are in their own language. What their program got wrong is for its
	// author, in English.
	language := phrase.Best(ask.Languages)
	room := maxNote // characters left for notes
	note := func(format string, args ...any) {
		if room > 0 { // more would not travel, and a request may be long
			s := clipNote(fmt.Sprintf(format, args...))
			t.Notes, room = append(t.Notes, s), room-len(s)
		}
	}
	if t.SignedOnly = isTrue(ask.AcceptSignedManifestsOnly); t.SignedOnly && !offer.SignedManifest {
		return Terms{}, refuseUnsigned()
	}
	t.MaxEventsPerSecond = ask.MaxEventsPerSecond
	if top := min(offer.MaxEventsPerSecond, aaep.MaxRate); top > 0 &&
		(t.MaxEventsPerSecond == 0 || t.MaxEventsPerSecond > top) {
		t.MaxEventsPerSecond = top
		note("%s", sayIn(language, phrase.RateCapped, strconv.FormatInt(top, 10)))
	}
	t.Verbosity = chooseVerbosity(ask.PreferredVerbosity, note)
	if t.Languages, err = chooseLanguages(ask.Languages, offer, note); err != nil {
		return Terms{}, err
	}
	t.ConfirmationReply = isTrue(ask.SupportsConfirmationReply) && !offer.ReadOnly
	t.ClarificationReply = isTrue(ask.SupportsClarificationReply) && !offer.ReadOnly
	if offer.ReadOnly && (isTrue(ask.SupportsConfirmationReply) || isTrue(ask.SupportsClarificationReply)) {
		note("%s", sayIn(language, phrase.OnlyListen, ""))
	}
	t.Boundaries = chooseBoundaries(ask.CoalesceBoundaries, note)
	t.Filters = chooseFilters(ask.EventFilters, offer, excluded, note)
	if len(offer.Withhold) > 0 {
		note("%s", sayIn(language, phrase.NotToldOf, strings.Join(offer.Withhold, ", ")))
	}
	levels := ask.SupportedConformanceLevels
	if levels == nil {
		levels = defaultLevels
	}
	t.Levels = intersect(levels, offer.Levels)
	if err := t.negotiateExtensions(ask, offer, note); err != nil {
		return Terms{}, err
	}
	t.CognitiveLoad = chooseCognitiveLoad(ask.CognitiveLoad, note)
	t.PaceWPM = ask.PaceWPM
	return t, nil
}

// chooseVerbosity returns the verbosity that was asked for, or normal where that is empty or
// unknown; the latter gets a note.
func chooseVerbosity(asked aaep.Verbosity, note func(string, ...any)) aaep.Verbosity {
	switch asked {
	case aaep.VerbosityTerse, aaep.VerbosityNormal, aaep.VerbosityDetailed:
		return asked
	}
	if asked != "" {
		note("Verbosity %q is unknown; normal is used.", asked)
	}
	return aaep.VerbosityNormal
}

// chooseCognitiveLoad returns the load that was asked for, or medium where that is empty or
// unknown; the latter gets a note.
func chooseCognitiveLoad(asked aaep.CognitiveLoad, note func(string, ...any)) aaep.CognitiveLoad {
	switch asked {
	case aaep.LoadLow, aaep.LoadMedium, aaep.LoadHigh:
		return asked
	}
	if asked != "" {
		note("Cognitive load %q is unknown; medium is used.", asked)
	}
	return aaep.LoadMedium
}

// chooseBoundaries returns the boundaries that were asked for and are known, and the default ones
// where none were. It never returns nil: that would mean the default at the next renegotiation.
func chooseBoundaries(asked []aaep.Boundary, note func(string, ...any)) []aaep.Boundary {
	if asked == nil {
		return slices.Clone(defaultBoundaries)
	}
	known := []aaep.Boundary{}
	for _, b := range asked {
		if !slices.Contains(knownBoundaries, b) {
			note("Boundary %q is unknown and was ignored.", b)
			continue
		}
		known = append(known, b)
	}
	if len(known) == 0 {
		note("None of the coalesce_boundaries is known; text comes sentence by sentence. " +
			"There are none, word, sentence, paragraph and completion.")
	}
	return known
}

// chooseFilters returns the filters that were asked for, with the defaults in place of what was
// left out. They exclude what is withheld. Each pattern that matches no event of this agent gets a
// note, unless it is one of excluded. Such a pattern of Include is left out. The default never
// takes its place, and such a pattern of Exclude stays: either would let through more than was
// asked for, and a subscriber that compares leaves.
func chooseFilters(asked *aaep.EventFilters, offer Offer, excluded []string, note func(string, ...any)) Filters {
	const right = "Write a type such as aaep:agent.tool.invoked, the beginning of some with a * behind it, or *."
	chosen := Filters{Include: slices.Clone(defaultInclude), Exclude: []string{}}
	if asked != nil {
		if asked.Include != nil {
			chosen.Include = slices.DeleteFunc(slices.Clone(asked.Include), func(pattern string) bool {
				if matchesAny(pattern, offer.Extensions) {
					return false
				}
				note("The filter %q matches no event and was ignored. "+right, pattern)
				return true
			})
			if len(chosen.Include) == 0 && len(asked.Include) > 0 {
				note("No filter of include is left, so only what is critical is sent. Leave include out to be sent everything.")
			}
		}
		for _, pattern := range asked.Exclude {
			if !matchesAny(pattern, offer.Extensions) && !slices.Contains(excluded, pattern) {
				note("The filter %q matches no event and leaves out nothing. "+right, pattern)
			}
		}
		chosen.Exclude = append(chosen.Exclude, asked.Exclude...)
	}
	for _, pattern := range offer.Withhold {
		if !slices.Contains(chosen.Exclude, pattern) { // a renegotiation begins with what was honored
			chosen.Exclude = append(chosen.Exclude, pattern)
		}
	}
	return chosen
}

// matchesAny reports whether a pattern can match a type of event: one of AAEP's own, or one with
// the prefix of an extension that is offered.
func matchesAny(pattern string, offered []handshake.Extension) bool {
	literal, open := strings.CutSuffix(pattern, "*")
	return MatchesCore(pattern) || slices.ContainsFunc(offered, func(ext handshake.Extension) bool {
		own := ext.Prefix + ":"
		return !strings.Contains(literal, "*") && len(pattern) > len(own) && strings.HasPrefix(pattern, own) ||
			open && strings.HasPrefix(own, literal)
	})
}

// isOurMajor reports whether a version that a peer names is a release, three numbers, whose MAJOR
// is that of this package, 1 (§12.5).
func isOurMajor(version string) bool {
	parts := strings.Split(version, ".")
	if len(parts) != 3 || parts[0] != "1" {
		return false
	}
	for _, p := range parts {
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return true
}

// knownBoundaries are those that text can be cut at.
var knownBoundaries = []aaep.Boundary{
	aaep.BoundaryNone, aaep.BoundaryWord, aaep.BoundarySentence, aaep.BoundaryParagraph, aaep.BoundaryCompletion}

// isTrue reports whether an optional capability is there and true.
func isTrue(b *bool) bool { return b != nil && *b }

// intersect returns the members of a that b has too, in a's order. It never returns nil.
func intersect[T comparable](a, b []T) []T {
	out := []T{}
	for _, v := range a {
		if slices.Contains(b, v) {
			out = append(out, v)
		}
	}
	return out
}
