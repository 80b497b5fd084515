package aaep

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/aaep-go/aaep/internal/nesting"
)

// checkReceived checks what a message must satisfy to be acted on, also one that a peer sent. What
// is wrong goes into c. readMessage calls it for what was received, Validate for our own.
func checkReceived(c *checker, m Message) {
	switch m := m.(type) {
	case *SubscriptionRequest:
		c.checkLength("HS-005", "/aaep_version", m.AAEPVersion, 1, 64)
		c.checkLength("HS-006", "/subscriber_id", m.SubscriberID, 1, 256)
		c.checkLength("HS-009", "/subscriber_name", m.SubscriberName, 0, 256)
		c.checkLength("HS-009", "/subscriber_version", m.SubscriberVersion, 0, 64)
		c.checkOptionalURI("HS-009", "/subscriber_manifest_uri", m.SubscriberManifestURI)
		c.checkWithin("/capabilities", func() { checkCapabilities(c, &m.Capabilities) })
		eachObject(m.Extensions, func(prefix string, v json.RawMessage) {
			c.checkObject("HS-011", appendPointer("/extensions", prefix), v, 2, nesting.Most)
		})
	case *SubscriptionAccepted:
		c.checkLength("HS-045", "/subscription_id", m.SubscriptionID, 1, 256)
		c.checkLength("HS-044", "/aaep_version", m.AAEPVersion, 1, 64)
		c.checkLength("HS-044", "/producer/agent_id", m.Producer.AgentID, 1, maxText)
		c.checkWithin("/honored_capabilities", func() { checkCapabilities(c, &m.HonoredCapabilities) })
	case *SubscriptionRejected:
		c.checkLength("HS-057", "/reason_code", string(m.ReasonCode), 1, 256)
	case *SubscriptionRenegotiate: // the id may be another's, see D-44
		c.checkLength("HS-074", "/subscription_id", m.SubscriptionID, 1, 256)
		c.checkWithin("/capabilities", func() { checkCapabilities(c, &m.Capabilities) })
	case *SubscriptionClose:
		c.checkLength("HS-081", "/subscription_id", m.SubscriptionID, 1, 256)
	case *ConfirmationReply:
		c.checkID("CONF-007", "/reply_token", string(m.ReplyToken), "rpl_")
		c.checkOneOf("CONF-013", "/decision", string(m.Decision), "accept", "reject")
		c.checkLength("CONF-014", "/subscription_id", m.SubscriptionID, 1, 256)
		c.checkLength("CONF-016", "/decided_by", m.DecidedBy, 0, 256)
		c.checkLength("CONF-016", "/decision_rationale", m.DecisionRationale, 0, maxShort)
		c.checkOptionalObject("CONF-016", "/modified_action", m.ModifiedAction, nesting.Most)
	case *ClarificationReply:
		c.checkID("CONF-007", "/reply_token", string(m.ReplyToken), "rpl_")
		c.checkLength("CONF-014", "/subscription_id", m.SubscriptionID, 1, 256)
		switch r := m.Response.(type) {
		case string:
			c.checkLength("CONF-041", "/response", r, 1, maxText)
		case bool:
		case float64:
			if !isFinite(r) {
				c.addViolation("CONF-041", "/response", "must be a number that JSON can write")
			}
		default:
			c.addViolation("CONF-041", "/response", "must be a non-empty string, a boolean or a number")
		}
		c.checkLength("CONF-043", "/decided_by", m.DecidedBy, 0, 256)
		c.checkFraction("CONF-043", "/confidence", m.Confidence, 1)
	default:
		c.addViolation("ENV-009", "/type", "is not a message of AAEP")
	}
}

// checkSent checks what we ask of our own messages beyond what we ask of others'. A subscription's
// id is checked where it is made; everywhere else it is an echo, and the other side may have chosen
// another form (D-44). What is wrong goes into c.
func checkSent(c *checker, m Message) {
	switch m := m.(type) {
	case *SubscriptionRequest:
		c.checkVersion("HS-005", m.AAEPVersion)
		c.checkText("HS-009", "/correlation_id", m.CorrelationID, 0, maxText)
		c.checkWithin("/capabilities", func() { checkKnownTerms(c, &m.Capabilities) })
		eachObject(m.Extensions, func(prefix string, _ json.RawMessage) {
			c.checkWithin(appendPointer("/extensions", prefix), func() { c.checkPrefix(prefix) })
		})
	case *SubscriptionAccepted:
		c.checkID("HS-045", "/subscription_id", m.SubscriptionID, "sub_")
		c.checkVersion("HS-044", m.AAEPVersion)
		checkProducer(c, &m.Producer)
		c.checkWithin("/honored_capabilities", func() { checkKnownTerms(c, &m.HonoredCapabilities) })
		c.checkOptionalURI("HS-048", "/manifest_uri", m.ManifestURI)
		if m.SignedManifest != "" && !validJWS(m.SignedManifest) {
			c.addViolation("HS-048", "/signed_manifest", "must be three base64url parts joined by dots")
		}
		c.checkLength("HS-048", "/negotiation_notes", m.NegotiationNotes, 0, maxShort)
	case *SubscriptionRejected:
		c.checkOneOf("HS-057", "/reason_code", string(m.ReasonCode), "version_unsupported",
			"manifest_signature_required",
			"capabilities_incompatible", "rate_limit", "authentication_required", "authorization_denied",
			"transport_unavailable", "unknown")
		c.checkLength("HS-056", "/reason_message", m.ReasonMessage, 1, maxShort)
		if s := m.RetryAfterSeconds; s != nil && (*s < 0 || *s > 86400) {
			c.addViolation("HS-059", "/retry_after_seconds", "must be from 0 to 86400")
		}
		c.checkOptionalURI("HS-059", "/alternative_manifest_uri", m.AlternativeManifestURI)
	case *SubscriptionRenegotiate:
		c.checkWithin("/capabilities", func() { checkKnownTerms(c, &m.Capabilities) })
	case *SubscriptionClose:
		c.checkLength("HS-081", "/reason_code", string(m.ReasonCode), 1, 256)
		c.checkLength("HS-081", "/reason_message", m.ReasonMessage, 1, maxShort)
	case *ConfirmationReply:
		c.checkTimestamp("CONF-015", m.Timestamp)
		c.checkText("CONF-016", "/correlation_id", m.CorrelationID, 0, maxText)
	case *ClarificationReply:
		c.checkTimestamp("CONF-015", m.Timestamp)
		c.checkText("CONF-043", "/correlation_id", m.CorrelationID, 0, maxText)
	}
}

// checkCapabilities checks what capabilities must satisfy to be acted on, whichever side sent them.
// What is wrong goes into c. Zero or nil is what was left out, and passes.
func checkCapabilities(c *checker, p *Capabilities) {
	if n := p.MaxEventsPerSecond; n < 0 || n > MaxRate {
		c.addViolation("HS-012", "/max_events_per_second", "must be from 1 to %d", MaxRate)
	}
	if p.Languages != nil && (len(p.Languages) == 0 || len(p.Languages) > 32 || hasRepeats(p.Languages)) {
		c.addViolation("HS-017", "/languages", "must be 1 to 32 different language tags")
	}
	c.checkEach("/languages", len(p.Languages), func(i int) { c.checkTag("HS-017", "", p.Languages[i]) })
	if b := p.CoalesceBoundaries; b != nil && (len(b) == 0 || hasRepeats(b)) {
		c.addViolation("HS-023", "/coalesce_boundaries", "must be at least one boundary, and none twice")
	}
	if f := p.EventFilters; f != nil {
		checkPatterns(c, "/event_filters/include", f.Include)
		checkPatterns(c, "/event_filters/exclude", f.Exclude)
	}
	if l := p.SupportedConformanceLevels; l != nil &&
		(len(l) == 0 || hasRepeats(l) || slices.Min(l) < 1 || slices.Max(l) > 3) {
		c.addViolation("HS-030", "/supported_conformance_levels", "must be different numbers from 1 to 3")
	}
	if len(p.SupportedExtensions) > 64 || hasRepeats(p.SupportedExtensions) {
		c.addViolation("HS-032", "/supported_extensions", "must be at most 64 different URIs")
	}
	if n := p.PaceWPM; n != 0 && (n < 50 || n > 1000) {
		c.addViolation("HS-037", "/pace_wpm", "must be from 50 to 1000")
	}
}

// checkPatterns checks the patterns of an event filter.
func checkPatterns(c *checker, pointer string, patterns []string) {
	if hasRepeats(patterns) {
		c.addViolation("HS-025", pointer, "must not name a pattern twice")
	}
	c.checkEach(pointer, len(patterns), func(i int) { c.checkLength("HS-025", "", patterns[i], 1, 256) })
}

// checkKnownTerms refuses, in capabilities of our own, the enum values and shapes that we tolerate
// in others': unknown verbosities, boundaries and loads, extensions that are no URI, and a prefix
// that is the name of a capability. checkSent calls it.
func checkKnownTerms(c *checker, p *Capabilities) {
	c.checkOptionalOneOf("HS-015", "/preferred_verbosity", string(p.PreferredVerbosity), "terse", "normal", "detailed")
	c.checkEach("/coalesce_boundaries", len(p.CoalesceBoundaries), func(i int) {
		c.checkOneOf("HS-023", "", string(p.CoalesceBoundaries[i]), "none", "word", "sentence", "paragraph",
			"completion")
	})
	c.checkOptionalOneOf("HS-035", "/cognitive_load", string(p.CognitiveLoad), "low", "medium", "high")
	c.checkEach("/supported_extensions", len(p.SupportedExtensions),
		func(i int) { c.checkURI("HS-032", "", p.SupportedExtensions[i]) })
	eachObject(p.Extensions, func(prefix string, v json.RawMessage) {
		c.checkWithin(appendPointer("", prefix), func() {
			if slices.Contains(knownMembers["capabilities"], prefix) {
				c.addViolation("HS-041", "", "is a capability of AAEP itself; set its field")
				return
			}
			c.checkPrefix(prefix)
			c.checkObject("HS-041", "", v, 2, nesting.Most)
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
