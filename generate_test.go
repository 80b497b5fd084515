package aaep_test

import (
	"encoding/json"
	"time"

	"github.com/aaep-go/aaep"
	"pgregory.net/rapid"
)

var when = time.Date(2026, 7, 1, 9, 30, 0, 120_000_000, time.UTC)

// pointerTo returns a pointer to v.
func pointerTo[T any](v T) *T { return &v }

// newEvent returns a valid event that carries p and little else.
func newEvent(p aaep.Payload) *aaep.Event {
	e := &aaep.Event{
		Context: []string{aaep.CoreContext}, AAEPVersion: aaep.Version, EventID: "evt_1", SessionID: "sess_1",
		Timestamp: when, Producer: aaep.Agent{AgentID: "bills"}, Verbosity: aaep.VerbosityNormal,
		Urgency:           aaep.UrgencyNormal,
		LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en", TextDirection: aaep.DirectionLTR}, Payload: p,
	}
	if e.Type().Critical() {
		e.Urgency = aaep.UrgencyCritical
	}
	if e.Type() != aaep.TypeOutputStreaming {
		e.Summary = aaep.Say("Something happened.")
	}
	return e
}

// allPayloads has a valid payload of every core type with all its members.
func allPayloads() []aaep.Payload {
	return []aaep.Payload{
		&aaep.SessionStarted{ExpectedDurationMS: pointerTo(int64(0)), RequestedBy: "Ada", RequestText: "Pay.",
			ToolsAvailable: []string{"pay"}},
		&aaep.SessionCompleted{DurationMS: pointerTo(int64(1)), ToolInvocationsCount: pointerTo(int64(0)),
			OutputSummary: "Paid.", ResultURI: "urn:a:b"},
		&aaep.SessionErrored{ErrorCategory: aaep.ErrorTransient, ErrorCode: "TIME_OUT",
			ErrorURI: "https://a.example/e?x=1#y", Recoverable: pointerTo(false), RemediationHint: "Retry."},
		&aaep.SessionCancelled{CancelledBy: aaep.CancelledByUser, CancellationReason: "user_request",
			PartialResult: "Half."},
		&aaep.StateChanged{FromState: aaep.StateIdle, ToState: "reading_mail", ExpectedDurationMS: pointerTo(int64(5))},
		&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: pointerTo(12.5), Step: 1, TotalSteps: 2,
			Description: "Reading."}, ETAMS: pointerTo(int64(9))},
		&aaep.ToolInvoked{Tool: "pay", ToolCallID: "call_1", Description: "Pays.", ArgsSummary: "12",
			ExpectedDurationMS: pointerTo(int64(1)), RiskLevel: aaep.RiskHigh, Irreversible: pointerTo(true)},
		&aaep.ToolCompleted{Tool: "pay", ToolCallID: "call_1", Status: aaep.ToolError, DurationMS: pointerTo(int64(1)),
			ErrorMessage: "No."},
		&aaep.OutputStreaming{Chunk: "Done.", Position: 7, Complete: true, CoalesceHint: aaep.BoundaryCompletion,
			OutputID: "out_1", ContentType: "text/plain", Language: "en"},
		&aaep.AwaitingConfirmation{
			Action: "Pay 12 euros.", Consequence: "The money is gone.", ReplyToken: "rpl_SECRET1", TimeoutSeconds: 60,
			DefaultDecision: aaep.Reject, RiskLevel: aaep.RiskHigh, Irreversible: pointerTo(true),
			Reversibility:  aaep.Irreversible,
			AllowedReplies: []aaep.Decision{aaep.Accept, aaep.Reject},
			ExtraContext:   json.RawMessage(`{"tool":"pay","n":[1,2.50,null]}`),
		},
		&aaep.AwaitingClarification{
			Question: "Which?", ReplyToken: "rpl_SECRET2", TimeoutSeconds: 1, Context: "Two.", DefaultResponse: "1",
			AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice},
			Choices:               []aaep.Choice{{Value: "1", Label: "One"}, {Value: "2", Label: "Two"}},
		},
		&aaep.HandoffRequested{Reason: "Sign.", TargetKind: aaep.TargetHuman, TargetURI: "mailto:a@b.example",
			PackagedContext: json.RawMessage(`{}`), UrgencyForHandoff: aaep.RiskLow},
	}
}

// controlMessages has a valid message of each of the seven kinds.
func controlMessages() []aaep.Message {
	caps := aaep.Capabilities{
		MaxEventsPerSecond: 3, PreferredVerbosity: aaep.VerbosityTerse, Languages: []string{"yo-NG", "en"},
		SupportsConfirmationReply: pointerTo(true), SupportsClarificationReply: pointerTo(false),
		CoalesceBoundaries:         []aaep.Boundary{aaep.BoundarySentence},
		EventFilters:               &aaep.EventFilters{Include: []string{"aaep:agent.*"}, Exclude: []string{}},
		SupportedConformanceLevels: []int64{1, 2},
		SupportedExtensions:        []string{"https://a.example/v1"}, CognitiveLoad: aaep.LoadLow, PaceWPM: 200,
		AcceptSignedManifestsOnly: pointerTo(false),
		Extensions:                map[string]json.RawMessage{"haptic": json.RawMessage(`{"wrist":true}`)},
	}
	return []aaep.Message{
		&aaep.SubscriptionRequest{
			AAEPVersion: aaep.Version, SubscriberID: "reader", SubscriberName: "Reader", SubscriberVersion: "2",
			SubscriberManifestURI: "https://a.example/m", CorrelationID: "c", Capabilities: caps,
			Extensions: map[string]json.RawMessage{"haptic": json.RawMessage(`{}`)},
		},
		&aaep.SubscriptionAccepted{
			SubscriptionID: "sub_1", AAEPVersion: aaep.Version,
			Producer:            aaep.Agent{AgentID: "bills", ManifestURI: "https://a.example/m"},
			HonoredCapabilities: caps, ManifestURI: "https://a.example/m", SignedManifest: "e30.e30.c2ln",
			NegotiationNotes: "As asked.",
		},
		&aaep.SubscriptionRejected{ReasonCode: aaep.RateLimit, ReasonMessage: "Full.",
			RetryAfterSeconds: pointerTo(int64(0)), AlternativeManifestURI: "urn:x:y"},
		&aaep.SubscriptionRenegotiate{SubscriptionID: "sub_1", Capabilities: caps},
		&aaep.SubscriptionClose{SubscriptionID: "sub_1", ReasonCode: aaep.ProducerShutdown, ReasonMessage: "Bye."},
		&aaep.ConfirmationReply{
			ReplyToken: "rpl_SECRET3", Decision: aaep.Accept, SubscriptionID: "sub_1", Timestamp: when,
			DecidedBy:         "Ada",
			DecisionRationale: "Due.", ModifiedAction: json.RawMessage(`{"amount":10}`), CorrelationID: "c",
		},
		&aaep.ClarificationReply{ReplyToken: "rpl_SECRET4", Response: "1", SubscriptionID: "sub_1", Timestamp: when,
			DecidedBy: "Ada", Confidence: pointerTo(0.5), CorrelationID: "c"},
	}
}

// everyMessage returns a message of every type, with all its members.
func everyMessage() []aaep.Message {
	all := controlMessages()
	for _, p := range allPayloads() {
		all = append(all, newEvent(p))
	}
	return all
}

// What people write: quotes and markup that JSON may escape, several scripts, joiners, emoji. They
// have no digits and no marks of direction: beside right-to-left letters those are refused where
// they change what is seen (INV-57).
var words = rapid.StringOfN(rapid.SampledFrom([]rune("aZ .,\"\\/<>&'\n\tßéñẹ\u0301ش\u200cهא你क\u094d\u200dष👍🏽\u00a0\ufeff\ufffd")), 1, 24, -1)

var alnum = rapid.StringMatching(`[A-Za-z0-9]{1,64}`)

var objects = rapid.SampledFrom([]json.RawMessage{
	json.RawMessage(`{}`), json.RawMessage(`{"a":1.50,"b":[null,true,"\u0041\/<é"]}`),
	json.RawMessage(`{"deep":{"er":{"est":9007199254740992}}}`),
	json.RawMessage(`{"":-0,"n":1E+2}`),
})

// drawMaybe draws from g, or returns zero, half of the time each.
func drawMaybe[T any](t *rapid.T, g *rapid.Generator[T], name string) (v T) {
	if rapid.Bool().Draw(t, name+"?") {
		v = g.Draw(t, name)
	}
	return v
}

// drawMaybePointer draws a pointer to a value of g, or nil.
func drawMaybePointer[T any](t *rapid.T, g *rapid.Generator[T], name string) *T {
	return drawMaybe(t, rapid.Map(g, func(v T) *T { return &v }), name)
}

// oneOf returns a generator of one of the values.
func oneOf[T any](v ...T) *rapid.Generator[T] { return rapid.SampledFrom(v) }

var (
	millis = rapid.Int64Range(0, 86_400_000)
	uris   = oneOf("https://example.org/a?b=c#d", "urn:example:1", "mailto:a@b.example", "http://[::1]:8080/",
		"https://u@h:1/%20")
	tags       = oneOf("en", "en-US", "zh-Hant-TW", "yo-NG", "sr-Latn")
	risks      = oneOf(aaep.RiskLow, aaep.RiskMedium, aaep.RiskHigh)
	boundaries = oneOf(aaep.BoundaryNone, aaep.BoundaryWord, aaep.BoundarySentence, aaep.BoundaryParagraph,
		aaep.BoundaryCompletion)
	moments = rapid.Map(rapid.Int64Range(0, 253_402_300_799_999_999),
		func(us int64) time.Time { return time.UnixMicro(us).UTC() })
	prefixes = rapid.MapOfN(rapid.StringMatching(`[a-z]{4,9}`), objects, 1, 3)
)

// drawPayload draws a valid payload of any type.
func drawPayload(t *rapid.T) aaep.Payload {
	switch p := rapid.SampledFrom(append(allPayloads(), &aaep.ExtensionPayload{Type: "medai:vitals"})).Draw(t,
		"payload").(type) {
	case *aaep.SessionStarted:
		p.ExpectedDurationMS = drawMaybePointer(t, millis, "expected")
		p.RequestText = drawMaybe(t, words, "request")
		p.ToolsAvailable = drawMaybe(t, rapid.SliceOfNDistinct(words, 1, 40, rapid.ID), "tools")
		return p
	case *aaep.SessionCompleted:
		p.OutputSummary, p.ResultURI = drawMaybe(t, words, "output"), drawMaybe(t, uris, "uri")
		p.ToolInvocationsCount = drawMaybePointer(t, rapid.Int64Range(0, 1<<53-1), "count")
		return p
	case *aaep.StateChanged:
		p.FromState, p.ToState = aaep.State(rapid.StringMatching(`[a-z_]{1,64}`).Draw(t, "from")),
			aaep.State(words.Filter(isShort).Draw(t, "to"))
		return p
	case *aaep.ProgressUpdated:
		p.Progress = aaep.Progress{Percent: pointerTo(rapid.Float64Range(0, 100).Draw(t, "percent")),
			Step: drawMaybe(t, rapid.Int64Range(1, 9), "step"), TotalSteps: 9}
		return p
	case *aaep.OutputStreaming:
		p.Chunk = words.Draw(t, "chunk")
		p.Position = rapid.Int64Range(0, 1<<53-1).Draw(t, "position")
		p.Complete = rapid.Bool().Draw(t, "complete")
		p.CoalesceHint = drawMaybe(t, boundaries, "hint")
		return p
	case *aaep.AwaitingConfirmation:
		p.Action, p.Consequence = words.Draw(t, "action"), words.Draw(t, "consequence")
		p.ReplyToken = aaep.ReplyToken("rpl_" + alnum.Draw(t, "token"))
		p.TimeoutSeconds = rapid.Int64Range(1, 86400).Draw(t, "timeout")
		p.RiskLevel = drawMaybe(t, risks, "risk")
		p.ExtraContext = drawMaybe(t, objects, "context")
		return p
	default:
		return p
	}
}

// isShort reports whether s has at most 64 bytes.
func isShort(s string) bool { return len(s) <= 64 }

// genEvent draws a valid event as Decode would return it.
func genEvent(t *rapid.T) *aaep.Event {
	e := newEvent(drawPayload(t))
	e.EventID, e.SessionID = "evt_"+alnum.Draw(t, "event"), "sess_"+alnum.Draw(t, "session")
	e.Timestamp = moments.Draw(t, "timestamp")
	e.SequenceNumber = drawMaybePointer(t, rapid.Int64Range(0, 1<<53-1), "sequence")
	e.Producer = aaep.Agent{AgentID: words.Draw(t, "agent"), AgentName: drawMaybe(t, words, "name"),
		ManifestURI: drawMaybe(t, uris, "manifest")}
	e.Verbosity = oneOf(aaep.VerbosityTerse, aaep.VerbosityNormal).Draw(t, "verbosity")
	e.CorrelationID = drawMaybe(t, words, "correlation")
	e.LocalizationHints = pointerTo(rapid.Custom(func(t *rapid.T) aaep.LocalizationHints {
		return aaep.LocalizationHints{
			PrimaryLanguage:    tags.Draw(t, "language"),
			TextDirection:      drawMaybe(t, oneOf(aaep.DirectionRTL), "direction"),
			Script:             drawMaybe(t, oneOf("Latn"), "script"),
			AvailableLanguages: drawMaybe(t, rapid.SliceOfNDistinct(tags, 1, 5, rapid.ID), "available"),
			Calendar:           drawMaybe(t, words, "calendar"),
		}
	}).Draw(t, "hints"))
	e.Extensions = drawMaybe(t, prefixes, "extensions")
	_, extension := e.Payload.(*aaep.ExtensionPayload)
	if extension || e.Extensions != nil {
		e.Context = append(e.Context, "https://example.org/medai/v1")
	}
	if e.Type() != aaep.TypeOutputStreaming {
		e.Summary = aaep.Text{Terse: drawMaybe(t, words, "terse"), Normal: words.Draw(t, "normal"),
			Detailed: drawMaybe(t, words, "detailed")}
		if e.Unknown = drawMaybe(t, oneOf(json.RawMessage(`{"summary_normal_yo_ng":"\u00d3 ti pari"}`)),
			"unknown"); e.Unknown != nil && !extension && toldBySummaryAlone(e.Payload) {
			e.Translations = []aaep.Translation{{LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "yo-ng"},
				Summary: aaep.Say("Ó ti pari")}}
		}
	}
	if extension {
		e.Unknown = drawMaybe(t, oneOf(json.RawMessage(`{"pulse":60,"lead":{"II":[0.10]}}`)), "own")
	}
	return e
}

// toldBySummaryAlone reports whether the summary is the only text for people in a payload's event.
// Other text is in the event's own language, and one label cannot be right for both.
func toldBySummaryAlone(payload aaep.Payload) bool {
	switch p := payload.(type) {
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		return false
	case *aaep.SessionErrored:
		return p.RemediationHint == ""
	}
	return true
}

// genMessage draws a valid handshake or reply message as Decode would return it.
func genMessage(t *rapid.T) aaep.Message {
	caps := aaep.Capabilities{
		MaxEventsPerSecond:        drawMaybe(t, rapid.Int64Range(1, 100000), "rate"),
		Languages:                 drawMaybe(t, rapid.SliceOfNDistinct(tags, 1, 5, rapid.ID), "languages"),
		SupportsConfirmationReply: drawMaybePointer(t, rapid.Bool(), "reply"),
		CoalesceBoundaries:        drawMaybe(t, rapid.SliceOfNDistinct(boundaries, 1, 5, rapid.ID), "boundaries"),
		PaceWPM:                   drawMaybe(t, rapid.Int64Range(50, 1000), "pace"),
		Extensions:                drawMaybe(t, prefixes, "extensions"),
		SupportedExtensions:       drawMaybe(t, rapid.SliceOfNDistinct(uris, 1, 5, rapid.ID), "uris"),
		EventFilters:              drawMaybePointer(t, rapid.Just(aaep.EventFilters{Include: []string{"aaep:*"}}), "filters"),
	}
	switch m := rapid.SampledFrom(controlMessages()).Draw(t, "message").(type) {
	case *aaep.SubscriptionRequest:
		m.Capabilities, m.SubscriberName, m.Extensions = caps, drawMaybe(t, words, "name"),
			drawMaybe(t, prefixes, "own")
		return m
	case *aaep.SubscriptionAccepted:
		m.HonoredCapabilities, m.NegotiationNotes, m.SignedManifest = caps, drawMaybe(t, words, "notes"),
			drawMaybe(t, rapid.StringMatching(`[A-Za-z0-9_-]{1,9}(\.[A-Za-z0-9_-]{1,9}){2}`), "jws")
		return m
	case *aaep.SubscriptionRejected:
		m.ReasonMessage, m.RetryAfterSeconds = words.Draw(t, "reason"), drawMaybePointer(t, rapid.Int64Range(0, 86400), "retry")
		return m
	case *aaep.SubscriptionRenegotiate: // the id may be anything the producer chose (D-44)
		m.Capabilities, m.SubscriptionID = caps, words.Draw(t, "id")
		return m
	case *aaep.SubscriptionClose:
		m.ReasonCode, m.ReasonMessage, m.SubscriptionID = aaep.ReasonCode(words.Draw(t, "code")),
			words.Draw(t, "reason"), words.Draw(t, "id")
		return m
	case *aaep.ConfirmationReply:
		m.ReplyToken, m.Timestamp = aaep.ReplyToken("rpl_"+alnum.Draw(t, "token")), moments.Draw(t, "timestamp")
		m.Decision, m.DecisionRationale = oneOf(aaep.Accept, aaep.Reject).Draw(t, "decision"),
			drawMaybe(t, words, "rationale")
		m.ModifiedAction = drawMaybe(t, objects, "action")
		return m
	case *aaep.ClarificationReply:
		m.Response = rapid.OneOf(rapid.Map(words, asAny[string]), rapid.Map(rapid.Bool(), asAny[bool]),
			rapid.Map(rapid.Float64Range(-1e300, 1e300), asAny[float64])).Draw(t, "response")
		m.Confidence = drawMaybePointer(t, rapid.Float64Range(0, 1), "confidence")
		return m
	default:
		panic("a message without generator")
	}
}

// asAny returns v as an any, for a generator of them.
func asAny[T any](v T) any { return v }
