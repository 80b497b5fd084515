package schemas_test

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
)

var (
	hex  = strings.Repeat("0123456789abcdef", 2)
	when = time.Date(2026, 7, 1, 9, 30, 0, 0, time.UTC)
)

func pointerTo[T any](v T) *T { return &v }

// minimalMessages returns every event and message with its required members alone.
func minimalMessages() []aaep.Message {
	return append(asMessages(
		&aaep.SessionStarted{},
		&aaep.SessionCompleted{},
		&aaep.SessionErrored{ErrorCategory: aaep.ErrorUnknown},
		&aaep.SessionCancelled{CancelledBy: aaep.CancelledByUser},
		&aaep.StateChanged{FromState: aaep.StateIdle, ToState: aaep.StateThinking},
		&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: pointerTo(0.0)}},
		&aaep.ToolInvoked{Tool: "t"},
		&aaep.ToolCompleted{Tool: "t", Status: aaep.ToolSuccess},
		&aaep.OutputStreaming{Complete: true},
		&aaep.AwaitingConfirmation{Action: "a", Consequence: "c", ReplyToken: "rpl_1", TimeoutSeconds: 1,
			DefaultDecision: aaep.Accept},
		&aaep.AwaitingClarification{Question: "q", ReplyToken: "rpl_1", TimeoutSeconds: 1},
		&aaep.HandoffRequested{Reason: "r", TargetKind: aaep.TargetHuman},
	),
		&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "s"},
		&aaep.SubscriptionAccepted{SubscriptionID: "sub_1", AAEPVersion: aaep.Version,
			Producer: aaep.Agent{AgentID: "a"}},
		&aaep.SubscriptionRejected{ReasonCode: aaep.RateLimit, ReasonMessage: "m"},
		&aaep.SubscriptionRenegotiate{SubscriptionID: "sub_1"},
		&aaep.SubscriptionClose{SubscriptionID: "sub_1", ReasonCode: aaep.SubscriberShutdown, ReasonMessage: "m"},
		&aaep.ConfirmationReply{ReplyToken: "rpl_1", Decision: aaep.Reject, SubscriptionID: "sub_implicit",
			Timestamp: when},
		&aaep.ClarificationReply{ReplyToken: "rpl_1", Response: false, SubscriptionID: "sub_implicit", Timestamp: when},
	)
}

func asMessages(payloads ...aaep.Payload) []aaep.Message {
	var all []aaep.Message
	for _, p := range payloads {
		e := &aaep.Event{
			EventID: "evt_1", SessionID: "sess_1", Timestamp: when, Producer: aaep.Agent{AgentID: "a"}, Payload: p,
		}
		if p.EventType().Critical() {
			e.Urgency = aaep.UrgencyCritical
		}
		if p.EventType() != aaep.TypeOutputStreaming {
			e.Summary = aaep.Say("s")
		}
		all = append(all, e)
	}
	return all
}

// maximalMessages returns every event and message with all its members.
func maximalMessages() []aaep.Message {
	all := asMessages(
		&aaep.SessionStarted{
			ExpectedDurationMS: pointerTo(int64(0)), RequestedBy: "user", RequestText: "Pay the bill.",
			ToolsAvailable: []string{"find_bill", "pay_bill"},
		},
		&aaep.SessionCompleted{
			DurationMS: pointerTo(int64(86400000)), ToolInvocationsCount: pointerTo(int64(2)),
			OutputSummary: "Paid.", ResultURI: "https://example.org/r?x=1#y",
		},
		&aaep.SessionErrored{
			ErrorCategory: aaep.ErrorTransient, ErrorCode: "UPSTREAM_TIMEOUT", ErrorURI: "urn:example:e",
			Recoverable: pointerTo(true), RemediationHint: "Try again.",
		},
		&aaep.SessionCancelled{
			CancelledBy: aaep.CancelledBySystem, CancellationReason: "user_request", PartialResult: "Found the bill.",
		},
		&aaep.StateChanged{FromState: aaep.StateThinking, ToState: "reading_documents",
			ExpectedDurationMS: pointerTo(int64(1))},
		&aaep.ProgressUpdated{
			Progress: aaep.Progress{Percent: pointerTo(50.5), Step: 2, TotalSteps: 4, Description: "Reading."},
			ETAMS:    pointerTo(int64(900)),
		},
		&aaep.ToolInvoked{
			Tool: "pay_bill", ToolCallID: "call_" + hex, Description: "Pays.", ArgsSummary: "12 euros",
			ExpectedDurationMS: pointerTo(int64(10)), RiskLevel: aaep.RiskHigh, Irreversible: pointerTo(true),
		},
		&aaep.ToolCompleted{
			Tool: "pay_bill", ToolCallID: "call_" + hex, Status: aaep.ToolError, DurationMS: pointerTo(int64(10)),
			ErrorMessage: "Refused.",
		},
		&aaep.OutputStreaming{
			Chunk: "Done.\n", Position: 12, Complete: true, CoalesceHint: aaep.BoundarySentence, OutputID: "out_" + hex,
			ContentType: "text/markdown", Language: "en-US",
		},
		&aaep.AwaitingConfirmation{
			Action: "Pay 12 euros.", Consequence: "The money is gone.", ReplyToken: aaep.ReplyToken("rpl_" + hex),
			TimeoutSeconds: 86400, DefaultDecision: aaep.Reject, RiskLevel: aaep.RiskHigh,
			Irreversible:  pointerTo(true),
			Reversibility: aaep.Irreversible, AllowedReplies: []aaep.Decision{aaep.Accept, aaep.Reject},
			ExtraContext: json.RawMessage(`{"tool":"pay_bill","tool_call_id":"call_1"}`),
		},
		&aaep.AwaitingClarification{
			Question: "Which bill?", ReplyToken: aaep.ReplyToken("rpl_" + hex), TimeoutSeconds: 60,
			AcceptedResponseKinds: []aaep.ResponseKind{
				aaep.ResponseMultipleChoice, aaep.ResponseFreetext, aaep.ResponseYesNo, aaep.ResponseNumeric,
			},
			Choices: []aaep.Choice{{Value: "1", Label: "Water"}, {Value: "2", Label: "Power"}},
			Context: "There are two.", DefaultResponse: "1",
		},
		&aaep.HandoffRequested{
			Reason: "A person must sign.", TargetKind: aaep.TargetEscalationQueue, TargetURI: "mailto:help@example.org",
			PackagedContext: json.RawMessage(`{"bill":1}`), UrgencyForHandoff: aaep.RiskMedium,
		},
	)
	for _, m := range all {
		e := m.(*aaep.Event)
		e.Context = []string{aaep.CoreContext, "https://example.org/medai/v1"}
		e.AAEPVersion = aaep.Version
		e.EventID, e.SessionID = "evt_"+hex, "sess_"+hex
		e.SequenceNumber = pointerTo(int64(0))
		e.Timestamp = when.Add(14 * time.Microsecond)
		e.Producer = testProducer()
		e.Verbosity = aaep.VerbosityNormal
		if e.Urgency == "" {
			e.Urgency = aaep.UrgencyBackground
		}
		e.LocalizationHints = &aaep.LocalizationHints{
			PrimaryLanguage: "en-US", TextDirection: aaep.DirectionLTR, AvailableLanguages: []string{"en-US", "yo"},
			FallbackChain: []string{"en"}, Script: "Latn", Calendar: "gregory",
		}
		e.CorrelationID = "trace 1"
		e.Extensions = map[string]json.RawMessage{"medai": json.RawMessage(`{"ward":7}`)}
		if e.Type() != aaep.TypeOutputStreaming {
			e.Summary = aaep.Text{Terse: "Short.", Normal: "Normal: 🏴\U000e0067\U000e0062\U000e007f café.",
				Detailed: "At length."}
			e.Unknown = json.RawMessage(`{"summary_normal_yo_ng":"Ó ti parí."}`)
		}
	}
	capabilities := aaep.Capabilities{
		MaxEventsPerSecond: 100000, PreferredVerbosity: aaep.VerbosityTerse, Languages: []string{"en-US", "yo"},
		SupportsConfirmationReply: pointerTo(true), SupportsClarificationReply: pointerTo(false),
		CoalesceBoundaries: []aaep.Boundary{
			aaep.BoundaryNone, aaep.BoundaryWord, aaep.BoundarySentence, aaep.BoundaryParagraph,
			aaep.BoundaryCompletion,
		},
		EventFilters: &aaep.EventFilters{Include: []string{"aaep:agent.*", "medai:*"},
			Exclude: []string{"aaep:agent.progress.updated"}},
		SupportedConformanceLevels: []int64{1, 2, 3}, SupportedExtensions: []string{"https://example.org/medai/v1"},
		CognitiveLoad: aaep.LoadLow, PaceWPM: 50, AcceptSignedManifestsOnly: pointerTo(false),
		Extensions: map[string]json.RawMessage{"medai": json.RawMessage(`{"alerts":true}`)},
	}
	return append(all,
		&aaep.SubscriptionRequest{
			AAEPVersion: aaep.Version, SubscriberID: "reader", SubscriberName: "Reader", SubscriberVersion: "2",
			SubscriberManifestURI: "https://example.org/m", CorrelationID: "c", Capabilities: capabilities,
			Extensions: map[string]json.RawMessage{"medai": json.RawMessage(`{}`)},
		},
		&aaep.SubscriptionAccepted{
			SubscriptionID: "sub_" + hex, AAEPVersion: aaep.Version, Producer: testProducer(),
			HonoredCapabilities: capabilities,
			ManifestURI:         "https://example.org/m", SignedManifest: "eyJ9.e30.c2ln",
			NegotiationNotes: "As asked.",
		},
		&aaep.SubscriptionRejected{
			ReasonCode: aaep.CapabilitiesIncompatible, ReasonMessage: "No common language.",
			RetryAfterSeconds:      pointerTo(int64(86400)),
			AlternativeManifestURI: "https://example.org/m",
		},
		&aaep.SubscriptionRenegotiate{SubscriptionID: "sub_" + hex, Capabilities: capabilities},
		&aaep.SubscriptionClose{SubscriptionID: "sub_" + hex, ReasonCode: aaep.SlowSubscriber,
			ReasonMessage: "Too slow."},
		&aaep.ConfirmationReply{
			ReplyToken: aaep.ReplyToken("rpl_" + hex), Decision: aaep.Accept, SubscriptionID: "sub_" + hex,
			Timestamp: when,
			DecidedBy: "Ada", DecisionRationale: "It is due.", ModifiedAction: json.RawMessage(`{"amount":10}`),
			CorrelationID: "c",
		},
		&aaep.ClarificationReply{
			ReplyToken: aaep.ReplyToken("rpl_" + hex), Response: "1", SubscriptionID: "sub_" + hex, Timestamp: when,
			DecidedBy: "Ada", Confidence: pointerTo(0.5), CorrelationID: "c",
		},
	)
}

func testProducer() aaep.Agent {
	return aaep.Agent{
		AgentID: "org.example.bills", AgentVersion: "1.2.0", AgentName: "Bills", Model: "m-1",
		ManifestURI: "https://example.org/m",
	}
}
