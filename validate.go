package aaep

import "reflect"

// Validate reports everything that keeps m from being valid under the prose and the published
// schemas, as an *InvalidError, or nil. It asks a little more than they do: text that a person will
// get must not deceive (SafeText would leave it as it is), an irreversible action defaults to
// reject, and the limits AAEP recommends are limits (§3.7). It judges one message; the order of
// messages is the affair of the session's two ends.
func Validate(m Message) error {
	var c checker
	if isNil(m) {
		c.addViolation("ENV-068", "", "is nil")
		return c.asError("")
	}
	if e, ok := m.(*Event); ok {
		checkEvent(&c, e)
	} else {
		checkReceived(&c, m)
		checkSent(&c, m)
	}
	return c.asError(m.MessageType())
}

// isNil reports whether v, a message or a payload, is nil or a nil pointer.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

// checkEvent checks an event of our own: envelope, payload, extensions and size. What is wrong goes
// into c; without a payload nothing else is checked. Validate calls it.
func checkEvent(c *checker, e *Event) {
	if isNil(e.Payload) {
		c.addViolation("ENV-011", "/type", "has no payload, and so no type")
		return
	}
	typ := e.Type()
	checkContext(c, e.Context)
	if e.AAEPVersion != "" {
		c.checkVersion("ENV-051", e.AAEPVersion)
	}
	c.checkID("ENV-012", "/event_id", e.EventID, "evt_")
	c.checkID("ENV-017", "/session_id", e.SessionID, "sess_")
	c.checkTimestamp("ENV-020", e.Timestamp)
	if e.SequenceNumber != nil {
		c.checkCount("ENV-040", "/sequence_number", *e.SequenceNumber)
	}
	checkProducer(c, &e.Producer)
	c.checkOptionalOneOf("ENV-031", "/verbosity", string(e.Verbosity), "terse", "normal", "detailed")
	c.checkOptionalOneOf("ENV-033", "/urgency", string(e.Urgency), "background", "normal", "critical")
	if typ.Critical() && e.Urgency != UrgencyCritical {
		c.addViolation(urgencyRule(typ), "/urgency", "must be %q on %s", UrgencyCritical, typ)
	}
	if e.LocalizationHints != nil {
		c.checkWithin("/localization_hints", func() { checkHints(c, e.LocalizationHints) })
	}
	c.checkOwnText("ENV-045", "/correlation_id", e.CorrelationID, 0)

	c.language = e.Language()
	c.checkText("EVT-007", "/summary_terse", e.Summary.Terse, 0, maxShort)
	c.checkText("EVT-007", "/summary_detailed", e.Summary.Detailed, 0, maxText)
	if typ != TypeOutputStreaming {
		c.checkText("LVL-010", "/summary_normal", e.Summary.Normal, 1, maxText)
	} else if !e.Summary.IsZero() {
		c.addViolation("EVT-054", "/summary_normal", "an output event has no summary; its chunk is what is heard")
	}
	if _, ok := e.Payload.(*ExtensionPayload); ok {
		checkExtensionType(c, e, typ)
	} else {
		checkPayload(c, e.Payload)
	}
	c.language = ""

	extra := checkExtensions(c, e.Extensions)
	if len(e.Extensions) > 0 && !namesVocabulary(e.Context) {
		c.addViolation("ENV-047", "/@context", "must name the vocabulary of every extension prefix")
	}
	extra += checkUnknown(c, e)
	checkSize(c, e, extra)
}

// checkContext checks that a context is the core context, then URIs (§3.2.1). A new event may leave
// it out.
func checkContext(c *checker, context []string) {
	if len(context) == 0 {
		return
	}
	if context[0] != CoreContext {
		c.addViolation("ENV-002", "/@context", "must start with %q", CoreContext)
	}
	c.checkEach("/@context", len(context), func(i int) { c.checkURI("ENV-003", "", context[i]) })
}

// checkProducer checks the "producer" member of our own events and answers: what an agent says of
// itself.
func checkProducer(c *checker, p *Agent) {
	c.checkOwnText("ENV-024", "/producer/agent_id", p.AgentID, 1)
	c.checkOwnText("ENV-029", "/producer/agent_version", p.AgentVersion, 0)
	c.checkOwnText("ENV-029", "/producer/agent_name", p.AgentName, 0)
	c.checkOwnText("ENV-029", "/producer/model", p.Model, 0)
	c.checkOptionalURI("ENV-030", "/producer/manifest_uri", p.ManifestURI)
}

// checkHints checks localization hints.
func checkHints(c *checker, h *LocalizationHints) {
	if h.PrimaryLanguage != "" {
		c.checkTag("ENV-036", "/primary_language", h.PrimaryLanguage)
	}
	c.checkOptionalOneOf("ENV-037", "/text_direction", string(h.TextDirection), "ltr", "rtl", "auto")
	if len(h.AvailableLanguages) > 32 || hasRepeats(h.AvailableLanguages) {
		c.addViolation("ENV-038", "/available_languages", "must be at most 32 different tags")
	}
	if len(h.FallbackChain) > 16 {
		c.addViolation("ENV-038", "/fallback_chain", "must be at most 16 tags")
	}
	c.checkEach("/available_languages", len(h.AvailableLanguages),
		func(i int) { c.checkTag("ENV-036", "", h.AvailableLanguages[i]) })
	c.checkEach("/fallback_chain", len(h.FallbackChain), func(i int) { c.checkTag("ENV-036", "", h.FallbackChain[i]) })
	if h.Script != "" && !validScript(h.Script) {
		c.addViolation("ENV-039", "/script", "must be a script code such as Latn")
	}
	c.checkOwnText("ENV-035", "/calendar", h.Calendar, 0)
}

// freeMembers is how many extension prefixes and unknown members an event may have without a count:
// no core event has more than 26 members of its own, and 32 are allowed.
const freeMembers = 6

// checkSize checks the limits on a whole event (§3.7); extra is how many extension prefixes and
// unknown members it has. Most events are so small that nothing is counted.
func checkSize(c *checker, e *Event, extra int) {
	// JSON escapes at most double what the other checks let through, and 4096 is more than the
	// names of the members and what they hold apart from text.
	if extra <= freeMembers && 2*c.size+4096 <= maxEvent || len(c.found) > 0 {
		return
	}
	data, err := writeEvent(e)
	if err != nil {
		c.found = append(c.found, err.(*InvalidError).Violations...)
		return
	}
	if len(data) > maxEvent {
		c.addViolation("ENV-058", "", "is %d bytes long; at most %d are allowed", len(data), maxEvent)
	}
	n := len(e.Extensions)
	eachMember(data, func(string, []byte) { n++ })
	if n > 32 {
		c.addViolation("ENV-059", "", "has %d members and extension prefixes; at most 32 are allowed", n)
	}
}
