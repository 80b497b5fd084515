package aaep

import (
	"fmt"
	"slices"
)

// checkReceived holds what a message must satisfy to be acted on, whoever sent it.
func checkReceived(c *checker, m Message) {
	switch m := m.(type) {
	case *SubscriptionRequest:
		c.length("HS-005", "/aaep_version", m.AAEPVersion, 1, 64)
		c.length("HS-006", "/subscriber_id", m.SubscriberID, 1, 256)
		c.length("HS-009", "/subscriber_name", m.SubscriberName, 0, 256)
		c.length("HS-009", "/subscriber_version", m.SubscriberVersion, 0, 64)
		c.uri("HS-009", "/subscriber_manifest_uri", m.SubscriberManifestURI)
		checkCapabilities(c, &m.Capabilities, "/capabilities")
		for prefix, v := range m.Extensions {
			c.object("HS-011", "/extensions/"+prefix, v)
		}
	case *SubscriptionAccepted:
		if m.SubscriptionID == "" {
			c.fail("HS-045", "/subscription_id", "must be a non-empty string")
		}
		c.length("HS-044", "/producer/agent_id", m.Producer.AgentID, 1, maxText)
		checkCapabilities(c, &m.HonoredCapabilities, "/honored_capabilities")
	case *SubscriptionRejected:
		c.length("HS-057", "/reason_code", string(m.ReasonCode), 1, 256)
	case *SubscriptionRenegotiate:
		c.id("HS-074", "/subscription_id", m.SubscriptionID, "sub_")
		checkCapabilities(c, &m.Capabilities, "/capabilities")
	case *SubscriptionClose:
		c.length("HS-081", "/subscription_id", m.SubscriptionID, 1, 256)
	case *ConfirmationReply:
		c.id("CONF-007", "/reply_token", string(m.ReplyToken), "rpl_")
		c.required("CONF-013", "/decision", string(m.Decision), "accept", "reject")
		c.id("CONF-014", "/subscription_id", m.SubscriptionID, "sub_")
		c.length("CONF-016", "/decided_by", m.DecidedBy, 0, 256)
		c.length("CONF-016", "/decision_rationale", m.DecisionRationale, 0, maxShort)
		c.object("CONF-016", "/modified_action", m.ModifiedAction)
	case *ClarificationReply:
		c.id("CONF-007", "/reply_token", string(m.ReplyToken), "rpl_")
		c.id("CONF-014", "/subscription_id", m.SubscriptionID, "sub_")
		switch r := m.Response.(type) {
		case string:
			c.length("CONF-041", "/response", r, 1, maxText)
		case bool, float64:
		default:
			c.fail("CONF-041", "/response", "must be a non-empty string, a boolean or a number")
		}
		c.length("CONF-043", "/decided_by", m.DecidedBy, 0, 256)
		if m.Confidence != nil && !(*m.Confidence >= 0 && *m.Confidence <= 1) {
			c.fail("CONF-043", "/confidence", "must be from 0 to 1")
		}
	}
}

// checkSent holds what we ask of our own messages beyond what we ask of others'.
func checkSent(c *checker, m Message) {
	switch m := m.(type) {
	case *SubscriptionRequest:
		if !validVersion(m.AAEPVersion) {
			c.fail("HS-005", "/aaep_version", "must be three numbers such as 1.0.0")
		}
		checkKnownTerms(c, &m.Capabilities, "/capabilities")
	case *SubscriptionAccepted:
		c.id("HS-045", "/subscription_id", m.SubscriptionID, "sub_")
		if !validVersion(m.AAEPVersion) {
			c.fail("HS-044", "/aaep_version", "must be three numbers such as 1.0.0")
		}
		checkProducer(c, &m.Producer)
		checkKnownTerms(c, &m.HonoredCapabilities, "/honored_capabilities")
		c.uri("HS-048", "/manifest_uri", m.ManifestURI)
		c.length("HS-048", "/negotiation_notes", m.NegotiationNotes, 0, maxShort)
	case *SubscriptionRejected:
		c.required("HS-057", "/reason_code", string(m.ReasonCode), "version_unsupported", "manifest_signature_required",
			"capabilities_incompatible", "rate_limit", "authentication_required", "authorization_denied",
			"transport_unavailable", "unknown")
		c.length("HS-056", "/reason_message", m.ReasonMessage, 1, maxShort)
		if s := m.RetryAfterSeconds; s != nil && (*s < 0 || *s > 86400) {
			c.fail("HS-059", "/retry_after_seconds", "must be from 0 to 86400")
		}
		c.uri("HS-059", "/alternative_manifest_uri", m.AlternativeManifestURI)
	case *SubscriptionRenegotiate:
		checkKnownTerms(c, &m.Capabilities, "/capabilities")
	case *SubscriptionClose:
		c.length("HS-081", "/reason_code", string(m.ReasonCode), 1, 256)
		c.length("HS-081", "/reason_message", m.ReasonMessage, 1, maxShort)
	case *ConfirmationReply:
		if m.Timestamp.IsZero() {
			c.fail("CONF-015", "/timestamp", "must be when the user decided")
		}
	case *ClarificationReply:
		if m.Timestamp.IsZero() {
			c.fail("CONF-015", "/timestamp", "must be when the user decided")
		}
	}
}

func checkCapabilities(c *checker, p *Capabilities, at string) {
	if n := p.MaxEventsPerSecond; n < 0 || n > maxRate {
		c.fail("HS-012", at+"/max_events_per_second", "must be from 1 to %d", maxRate)
	}
	if p.Languages != nil && (len(p.Languages) == 0 || len(p.Languages) > 32 || repeats(p.Languages)) {
		c.fail("HS-017", at+"/languages", "must be 1 to 32 different language tags")
	}
	for i, t := range p.Languages {
		c.tag("HS-017", fmt.Sprintf("%s/languages/%d", at, i), t)
	}
	if b := p.CoalesceBoundaries; b != nil && (len(b) == 0 || repeats(b)) {
		c.fail("HS-023", at+"/coalesce_boundaries", "must be at least one boundary, and none twice")
	}
	if f := p.EventFilters; f != nil {
		for i, list := range [][]string{f.Include, f.Exclude} {
			name := at + "/event_filters/" + []string{"include", "exclude"}[i]
			if repeats(list) {
				c.fail("HS-025", name, "must not name a pattern twice")
			}
			for _, pattern := range list {
				c.length("HS-025", name, pattern, 1, 256)
			}
		}
	}
	if l := p.SupportedConformanceLevels; l != nil && (len(l) == 0 || repeats(l) || slices.Min(l) < 1 || slices.Max(l) > 3) {
		c.fail("HS-030", at+"/supported_conformance_levels", "must be different numbers from 1 to 3")
	}
	if len(p.SupportedExtensions) > 64 || repeats(p.SupportedExtensions) {
		c.fail("HS-032", at+"/supported_extensions", "must be at most 64 different URIs")
	}
	if n := p.PaceWPM; n != 0 && (n < 50 || n > 1000) {
		c.fail("HS-037", at+"/pace_wpm", "must be from 50 to 1000")
	}
}

// checkKnownTerms refuses the enum values and shapes that we tolerate in others' capabilities.
func checkKnownTerms(c *checker, p *Capabilities, at string) {
	c.oneOf("HS-015", at+"/preferred_verbosity", string(p.PreferredVerbosity), "terse", "normal", "detailed")
	for _, b := range p.CoalesceBoundaries {
		c.required("HS-023", at+"/coalesce_boundaries", string(b), "none", "word", "sentence", "paragraph", "completion")
	}
	c.oneOf("HS-035", at+"/cognitive_load", string(p.CognitiveLoad), "low", "medium", "high")
	for _, u := range p.SupportedExtensions {
		c.uri("HS-032", at+"/supported_extensions", u)
	}
	for prefix, v := range p.Extensions {
		if !isObject(v) {
			c.fail("HS-041", at+"/"+prefix, "an extension capability must be an object")
		}
	}
}
