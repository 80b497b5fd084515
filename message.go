package aaep

import (
	"encoding/json"
	"time"
)

// Message is anything that travels between a producer and a subscriber: an *Event or one of the
// handshake and reply messages of chapters 5 and 6.
type Message interface {
	// MessageType returns the value of the message's "type" member.
	MessageType() string
}

// SubscriptionRequest opens a subscription (§5.2).
type SubscriptionRequest struct {
	AAEPVersion string `json:"aaep_version"`
	// SubscriberID stays the same over restarts of the subscriber.
	SubscriberID          string                     `json:"subscriber_id"`
	SubscriberName        string                     `json:"subscriber_name,omitzero"`
	SubscriberVersion     string                     `json:"subscriber_version,omitzero"`
	SubscriberManifestURI string                     `json:"subscriber_manifest_uri,omitzero"`
	CorrelationID         string                     `json:"correlation_id,omitzero"`
	Capabilities          Capabilities               `json:"capabilities"`
	Extensions            map[string]json.RawMessage `json:"extensions,omitzero"`
}

// SubscriptionAccepted answers a request or a renegotiation with the terms that bind from now on
// (§5.4).
type SubscriptionAccepted struct {
	SubscriptionID      string       `json:"subscription_id"`
	AAEPVersion         string       `json:"aaep_version"`
	Producer            Agent        `json:"producer"`
	HonoredCapabilities Capabilities `json:"honored_capabilities"`
	ManifestURI         string       `json:"manifest_uri,omitzero"`
	SignedManifest      string       `json:"signed_manifest,omitzero"`
	NegotiationNotes    string       `json:"negotiation_notes,omitzero"`
}

// SubscriptionRejected refuses a request, or ends a subscription whose renegotiation failed (§5.5).
type SubscriptionRejected struct {
	ReasonCode             ReasonCode `json:"reason_code"`
	ReasonMessage          string     `json:"reason_message"`
	RetryAfterSeconds      *int64     `json:"retry_after_seconds,omitzero"`
	AlternativeManifestURI string     `json:"alternative_manifest_uri,omitzero"`
}

// SubscriptionRenegotiate asks for new terms; what it leaves out stays as it is (§5.7).
type SubscriptionRenegotiate struct {
	// SubscriptionID is what the producer chose, unchanged.
	SubscriptionID string       `json:"subscription_id"`
	Capabilities   Capabilities `json:"capabilities"`
}

// SubscriptionClose ends a subscription; either side may send it (§5.8).
type SubscriptionClose struct {
	SubscriptionID string     `json:"subscription_id"`
	ReasonCode     ReasonCode `json:"reason_code,omitzero"`
	ReasonMessage  string     `json:"reason_message,omitzero"`
}

// ConfirmationReply is a user's answer to an AwaitingConfirmation (§6.3).
type ConfirmationReply struct {
	ReplyToken     ReplyToken `json:"reply_token"`
	Decision       Decision   `json:"decision"`
	SubscriptionID string     `json:"subscription_id"`
	// Timestamp is when the user decided.
	Timestamp         time.Time `json:"timestamp"`
	DecidedBy         string    `json:"decided_by,omitzero"`
	DecisionRationale string    `json:"decision_rationale,omitzero"`
	// ModifiedAction is an object with a changed action. A producer that does not support changes
	// takes the reply as a rejection (§6.3.2).
	ModifiedAction json.RawMessage `json:"modified_action,omitzero"`
	CorrelationID  string          `json:"correlation_id,omitzero"`
}

// ClarificationReply is a user's answer to an AwaitingClarification (§6.5).
type ClarificationReply struct {
	ReplyToken ReplyToken `json:"reply_token"`
	// Response is a string, a bool or a float64, after the kind of question.
	Response       any       `json:"response"`
	SubscriptionID string    `json:"subscription_id"`
	Timestamp      time.Time `json:"timestamp"`
	DecidedBy      string    `json:"decided_by,omitzero"`
	Confidence     *float64  `json:"confidence,omitzero"`
	CorrelationID  string    `json:"correlation_id,omitzero"`
}

const (
	typeRequest            = "subscription.request"
	typeAccepted           = "subscription.accepted"
	typeRejected           = "subscription.rejected"
	typeRenegotiate        = "subscription.renegotiate"
	typeClose              = "subscription.close"
	typeConfirmationReply  = "confirmation.reply"
	typeClarificationReply = "clarification.reply"
)

// MessageType returns the event's type.
func (e *Event) MessageType() string { return string(e.Type()) }

func (*SubscriptionRequest) MessageType() string     { return typeRequest }
func (*SubscriptionAccepted) MessageType() string    { return typeAccepted }
func (*SubscriptionRejected) MessageType() string    { return typeRejected }
func (*SubscriptionRenegotiate) MessageType() string { return typeRenegotiate }
func (*SubscriptionClose) MessageType() string       { return typeClose }
func (*ConfirmationReply) MessageType() string       { return typeConfirmationReply }
func (*ClarificationReply) MessageType() string      { return typeClarificationReply }
