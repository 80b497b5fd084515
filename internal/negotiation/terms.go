// Package negotiation decides what a subscription gets: a pure function of what the subscriber
// asked and what the producer offers (chapter 5). It opens nothing, waits for nothing and knows no
// clock.
//
// Negotiate and Renegotiate never honor more than was asked, field by field. The Terms they return
// have every default filled in and bind every event of the subscription.
//
// What is granted is decided in negotiate.go, languages in language.go, and extensions and their
// limits in extension.go; what is wrong with one is reported to package producer, which logs it by
// package shield. What is refused is in refusal.go, and which way a text runs in direction.go.
package negotiation

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
)

// Terms are the negotiated terms of one subscription, every default filled in. They are a value:
// nothing changes them after negotiation.
type Terms struct {
	// MaxEventsPerSecond is the rate of events that are not critical; zero is no limit.
	MaxEventsPerSecond int64
	Verbosity          aaep.Verbosity
	// Languages are the requested tags this producer can serve, best first. It is empty only for a
	// subscriber that asked for none of them, and was accepted by Offer.AnyLanguage or
	// renegotiated.
	Languages []string
	// ConfirmationReply and ClarificationReply say whether the subscriber may be asked.
	ConfirmationReply  bool
	ClarificationReply bool
	Boundaries         []aaep.Boundary
	Filters            Filters
	Levels             []int64
	// Extensions are the URIs of the extensions both sides know.
	Extensions []string
	// The following come from the extensions, and are zero without them; see handshake.Effect.
	MaxChunk                        int // of text in one event, in code points
	TimeoutMultiplier               float64
	MinTimeout                      time.Duration
	MoreTime                        aaep.ReplyToken // asked for in this negotiation, not in those before
	ResumeAfter                     string          // likewise; an event id
	Quiet, IdleTimeout, MaxDuration time.Duration

	CognitiveLoad aaep.CognitiveLoad
	// PaceWPM is how fast the subscriber speaks, in words per minute; zero is unknown.
	PaceWPM    int64
	SignedOnly bool
	// Notes say in words where the terms differ from the request.
	Notes []string

	honored map[string]json.RawMessage // capability objects by prefix
	agreed  []agreedExtension          // those that add data to events or hold events back
	profile string                     // see Profile
	quiet   []string                   // the prefixes of the objects that hold back
	granted answerGrants               // for Granted
	resumed answerGrants               // for Resumed
}

// MayReply reports whether the subscriber may answer a confirmation, or else a clarification.
func (t *Terms) MayReply(isConfirmation bool) bool {
	if isConfirmation {
		return t.ConfirmationReply
	}
	return t.ClarificationReply
}

// Capabilities writes every effective term out, for subscription.accepted (§5.4). Left out are only
// an unlimited rate, a pace that was not asked for, and an empty list of languages, boundaries or
// levels.
func (t Terms) Capabilities() aaep.Capabilities {
	honored := aaep.Capabilities{
		MaxEventsPerSecond:         t.MaxEventsPerSecond,
		PreferredVerbosity:         t.Verbosity,
		Languages:                  t.Languages,
		SupportsConfirmationReply:  &t.ConfirmationReply,
		SupportsClarificationReply: &t.ClarificationReply,
		CoalesceBoundaries:         t.Boundaries,
		EventFilters:               &aaep.EventFilters{Include: t.Filters.Include, Exclude: t.Filters.Exclude},
		SupportedConformanceLevels: t.Levels,
		SupportedExtensions:        t.Extensions,
		CognitiveLoad:              t.CognitiveLoad,
		PaceWPM:                    t.PaceWPM,
		AcceptSignedManifestsOnly:  &t.SignedOnly,
		Extensions:                 maps.Clone(t.honored),
	}
	if len(t.Languages) == 0 {
		honored.Languages = nil
	}
	if len(t.Boundaries) == 0 {
		honored.CoalesceBoundaries = nil
	}
	if len(t.Levels) == 0 {
		honored.SupportedConformanceLevels = nil
	}
	return honored
}

// Note joins Notes, for subscription.accepted; it is at most 4096 characters.
func (t Terms) Note() string { return clipNote(strings.Join(t.Notes, " ")) }

// maxNote is how many characters a note or a reason may have.
const maxNote = 4096

// clipNote returns a note of at most maxNote characters; a longer one ends in "…".
func clipNote(s string) string {
	if r := []rune(s); len(r) > maxNote {
		return string(r[:maxNote-1]) + "…"
	}
	return s
}

// Filters choose event types (§5.3.1.7). An event passes if some Include pattern matches its type
// and no Exclude pattern does. A pattern is a literal type, or a prefix and a final *.
type Filters struct{ Include, Exclude []string }

// Match reports whether the filters let type t pass. Critical events pass whatever Match says; that
// is the caller's to see to.
func (f Filters) Match(t aaep.Type) bool {
	return len(f.Include) > 0 && (&aaep.EventFilters{Include: f.Include, Exclude: f.Exclude}).Match(t)
}

// CoreTypes are all types of AAEP's own (chapter 4), in its order. They are not changed.
var CoreTypes = []aaep.Type{aaep.TypeSessionStarted, aaep.TypeSessionCompleted, aaep.TypeSessionErrored,
	aaep.TypeSessionCancelled, aaep.TypeStateChanged, aaep.TypeProgressUpdated, aaep.TypeToolInvoked,
	aaep.TypeToolCompleted, aaep.TypeOutputStreaming, aaep.TypeAwaitingConfirmation,
	aaep.TypeAwaitingClarification, aaep.TypeHandoffRequested}

// MatchesCore reports whether a pattern of filters matches at least one of CoreTypes.
func MatchesCore(pattern string) bool {
	return slices.ContainsFunc(CoreTypes, Filters{Include: []string{pattern}}.Match)
}
