package aaep

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/aaep-go/aaep/internal/nesting"
)

// checkReceived holds what a message must satisfy to be acted on, whoever sent it.
func checkReceived(c *checker, m Message) {
	switch m := m.(type) {
	case *SubscriptionRequest:
		c.length("HS-005", "/aaep_version", m.AAEPVersion, 1, 64)
		c.length("HS-006", "/subscriber_id", m.SubscriberID, 1, 256)
		c.length("HS-009", "/subscriber_name", m.SubscriberName, 0, 256)
		c.length("HS-009", "/subscriber_version", m.SubscriberVersion, 0, 64)
		c.optionalURI("HS-009", "/subscriber_manifest_uri", m.SubscriberManifestURI)
		c.within("/capabilities", func() { checkCapabilities(c, &m.Capabilities) })
		eachObject(m.Extensions, func(prefix string, v json.RawMessage) {
			c.object("HS-011", pointer("/extensions", prefix), v, 2, nesting.Most)
		})
	case *SubscriptionAccepted:
		c.length("HS-045", "/subscription_id", m.SubscriptionID, 1, 256)
		c.length("HS-044", "/aaep_version", m.AAEPVersion, 1, 64)
		c.length("HS-044", "/producer/agent_id", m.Producer.AgentID, 1, maxText)
		c.within("/honored_capabilities", func() { checkCapabilities(c, &m.HonoredCapabilities) })
	case *SubscriptionRejected:
		c.length("HS-057", "/reason_code", string(m.ReasonCode), 1, 256)
	case *SubscriptionRenegotiate: // the id may be another's, see D-44
		c.length("HS-074", "/subscription_id", m.SubscriptionID, 1, 256)
		c.within("/capabilities", func() { checkCapabilities(c, &m.Capabilities) })
	case *SubscriptionClose:
		c.length("HS-081", "/subscription_id", m.SubscriptionID, 1, 256)
	case *ConfirmationReply:
		c.id("CONF-007", "/reply_token", string(m.ReplyToken), "rpl_")
		c.required("CONF-013", "/decision", string(m.Decision), "accept", "reject")
		c.length("CONF-014", "/subscription_id", m.SubscriptionID, 1, 256)
		c.length("CONF-016", "/decided_by", m.DecidedBy, 0, 256)
		c.length("CONF-016", "/decision_rationale", m.DecisionRationale, 0, maxShort)
		c.optionalObject("CONF-016", "/modified_action", m.ModifiedAction, nesting.Most)
	case *ClarificationReply:
		c.id("CONF-007", "/reply_token", string(m.ReplyToken), "rpl_")
		c.length("CONF-014", "/subscription_id", m.SubscriptionID, 1, 256)
		switch r := m.Response.(type) {
		case string:
			c.length("CONF-041", "/response", r, 1, maxText)
		case bool:
		case float64:
			if !finite(r) {
				c.fail("CONF-041", "/response", "must be a number that JSON can write")
			}
		default:
			c.fail("CONF-041", "/response", "must be a non-empty string, a boolean or a number")
		}
		c.length("CONF-043", "/decided_by", m.DecidedBy, 0, 256)
		c.fraction("CONF-043", "/confidence", m.Confidence, 1)
	default:
		c.fail("ENV-009", "/type", "is not a message of AAEP")
	}
}

// checkSent holds what we ask of our own messages beyond what we ask of others'. A subscription's id is
// checked where it is minted; everywhere else it is an echo, and the other side may have chosen another
// form (D-44).
func checkSent(c *checker, m Message) {
	switch m := m.(type) {
	case *SubscriptionRequest:
		c.version("HS-005", m.AAEPVersion)
		c.text("HS-009", "/correlation_id", m.CorrelationID, 0, maxText)
		c.within("/capabilities", func() { checkKnownTerms(c, &m.Capabilities) })
		eachObject(m.Extensions, func(prefix string, _ json.RawMessage) {
			c.within(pointer("/extensions", prefix), func() { c.prefix(prefix) })
		})
	case *SubscriptionAccepted:
		c.id("HS-045", "/subscription_id", m.SubscriptionID, "sub_")
		c.version("HS-044", m.AAEPVersion)
		checkProducer(c, &m.Producer)
		c.within("/honored_capabilities", func() { checkKnownTerms(c, &m.HonoredCapabilities) })
		c.optionalURI("HS-048", "/manifest_uri", m.ManifestURI)
		if m.SignedManifest != "" && !validJWS(m.SignedManifest) {
			c.fail("HS-048", "/signed_manifest", "must be three base64url parts joined by dots")
		}
		c.length("HS-048", "/negotiation_notes", m.NegotiationNotes, 0, maxShort)
	case *SubscriptionRejected:
		c.required("HS-057", "/reason_code", string(m.ReasonCode), "version_unsupported", "manifest_signature_required",
			"capabilities_incompatible", "rate_limit", "authentication_required", "authorization_denied",
			"transport_unavailable", "unknown")
		c.length("HS-056", "/reason_message", m.ReasonMessage, 1, maxShort)
		if s := m.RetryAfterSeconds; s != nil && (*s < 0 || *s > 86400) {
			c.fail("HS-059", "/retry_after_seconds", "must be from 0 to 86400")
		}
		c.optionalURI("HS-059", "/alternative_manifest_uri", m.AlternativeManifestURI)
	case *SubscriptionRenegotiate:
		c.within("/capabilities", func() { checkKnownTerms(c, &m.Capabilities) })
	case *SubscriptionClose:
		c.length("HS-081", "/reason_code", string(m.ReasonCode), 1, 256)
		c.length("HS-081", "/reason_message", m.ReasonMessage, 1, maxShort)
	case *ConfirmationReply:
		c.timestamp("CONF-015", m.Timestamp)
		c.text("CONF-016", "/correlation_id", m.CorrelationID, 0, maxText)
	case *ClarificationReply:
		c.timestamp("CONF-015", m.Timestamp)
		c.text("CONF-043", "/correlation_id", m.CorrelationID, 0, maxText)
	}
}

func checkCapabilities(c *checker, p *Capabilities) {
	if n := p.MaxEventsPerSecond; n < 0 || n > MaxRate {
		c.fail("HS-012", "/max_events_per_second", "must be from 1 to %d", MaxRate)
	}
	if p.Languages != nil && (len(p.Languages) == 0 || len(p.Languages) > 32 || repeats(p.Languages)) {
		c.fail("HS-017", "/languages", "must be 1 to 32 different language tags")
	}
	c.each("/languages", len(p.Languages), func(i int) { c.tag("HS-017", "", p.Languages[i]) })
	if b := p.CoalesceBoundaries; b != nil && (len(b) == 0 || repeats(b)) {
		c.fail("HS-023", "/coalesce_boundaries", "must be at least one boundary, and none twice")
	}
	if f := p.EventFilters; f != nil {
		checkPatterns(c, "/event_filters/include", f.Include)
		checkPatterns(c, "/event_filters/exclude", f.Exclude)
	}
	if l := p.SupportedConformanceLevels; l != nil && (len(l) == 0 || repeats(l) || slices.Min(l) < 1 || slices.Max(l) > 3) {
		c.fail("HS-030", "/supported_conformance_levels", "must be different numbers from 1 to 3")
	}
	if len(p.SupportedExtensions) > 64 || repeats(p.SupportedExtensions) {
		c.fail("HS-032", "/supported_extensions", "must be at most 64 different URIs")
	}
	if n := p.PaceWPM; n != 0 && (n < 50 || n > 1000) {
		c.fail("HS-037", "/pace_wpm", "must be from 50 to 1000")
	}
}

func checkPatterns(c *checker, at string, patterns []string) {
	if repeats(patterns) {
		c.fail("HS-025", at, "must not name a pattern twice")
	}
	c.each(at, len(patterns), func(i int) { c.length("HS-025", "", patterns[i], 1, 256) })
}

// checkKnownTerms refuses the enum values and shapes that we tolerate in others' capabilities.
func checkKnownTerms(c *checker, p *Capabilities) {
	c.oneOf("HS-015", "/preferred_verbosity", string(p.PreferredVerbosity), "terse", "normal", "detailed")
	c.each("/coalesce_boundaries", len(p.CoalesceBoundaries), func(i int) {
		c.required("HS-023", "", string(p.CoalesceBoundaries[i]), "none", "word", "sentence", "paragraph", "completion")
	})
	c.oneOf("HS-035", "/cognitive_load", string(p.CognitiveLoad), "low", "medium", "high")
	c.each("/supported_extensions", len(p.SupportedExtensions), func(i int) { c.uri("HS-032", "", p.SupportedExtensions[i]) })
	eachObject(p.Extensions, func(prefix string, v json.RawMessage) {
		c.within(pointer("", prefix), func() {
			if slices.Contains(knownMembers["capabilities"], prefix) {
				c.fail("HS-041", "", "is a capability of AAEP itself; set its field")
				return
			}
			c.prefix(prefix)
			c.object("HS-041", "", v, 2, nesting.Most)
		})
	})
}

// eachObject calls f for every extension, in order of prefix.
func eachObject(extensions map[string]json.RawMessage, f func(prefix string, v json.RawMessage)) {
	if len(extensions) == 0 {
		return
	}
	for _, prefix := range slices.Sorted(maps.Keys(extensions)) {
		f(prefix, extensions[prefix])
	}
}
