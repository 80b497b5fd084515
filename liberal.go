package aaep

import (
	"cmp"
	"slices"
	"strings"
)

// What published peers really send is read as what they meant, with one diagnostic for each
// departure, and never refused (§12.2.1). An event that departs in nothing costs nothing here.

// readLiberally changes an event that was just decoded from what a peer wrote to what the protocol
// defines, and adds a diagnostic to c for each departure; written is how the peer wrote the
// timestamp. Members that a peer writes in the place of others are among the unknown ones, so those
// are read before the payload that they fill.
func readLiberally(c *checker, e *Event, written stamp) {
	typ := e.Type()
	readStamp(c, written)
	readUrgency(c, e, typ)
	if e.Verbosity != "" {
		readListed(c, "ENV-031", "/verbosity", &e.Verbosity, VerbosityNormal, VerbosityTerse, VerbosityNormal,
			VerbosityDetailed)
	}
	if h := e.LocalizationHints; h != nil && h.TextDirection != "" {
		readListed(c, "ENV-037", "/localization_hints/text_direction", &h.TextDirection, DirectionAuto, DirectionLTR,
			DirectionRTL, DirectionAuto)
	}
	_, extension := e.Payload.(*ExtensionPayload)
	switch {
	case extension:
		if strings.HasPrefix(string(CompactType(string(typ))), "aaep:") {
			c.addViolation("ENV-008", "/type", "is not defined by AAEP; read as an event of an unknown type")
		}
	case typ != TypeOutputStreaming && e.Summary.Normal == "":
		c.addViolation("LVL-010", "/summary_normal", "is missing or empty; other words stand in for it")
	}
	if len(e.Extensions) > 0 && !namesVocabulary(e.Context) {
		c.addViolation("ENV-047", "/@context", "does not name the vocabulary of any extension prefix")
	}
	var u unknowns
	if len(e.Unknown) > 0 {
		u = readUnknowns(c, e)
	}
	if !extension || !e.Summary.IsZero() || u.language != "" {
		readHints(c, e, u.language)
	}
	readPayload(c, e.Payload, &u)
}

// readStamp adds a violation for a timestamp that is readable but not written as AAEP writes it.
func readStamp(c *checker, written stamp) {
	switch {
	case written.digits != 0 && written.digits != 3 && written.digits != 6:
		c.addViolation("ENV-021", "/timestamp", "has %d digits of fraction; 3 or 6 are right", written.digits)
	case written.lower:
		c.addViolation("ENV-020", "/timestamp", "has t or z in lower case")
	}
}

// urgencyRule returns the id of the requirement that makes the events of a critical type critical;
// for a type that is not critical, it is that of confirmations.
func urgencyRule(t Type) string {
	switch t {
	case TypeSessionErrored:
		return "EVT-019"
	case TypeAwaitingClarification:
		return "EVT-081"
	case TypeHandoffRequested:
		return "EVT-088"
	}
	return "EVT-068"
}

// readUrgency fills in the urgency and reads an unknown one as normal or, on a critical type, as
// critical. It also notes, in one diagnostic, which of the envelope's recommended members are
// missing (D-03).
func readUrgency(c *checker, e *Event, typ Type) {
	fallback := UrgencyNormal
	if typ.Critical() {
		fallback = UrgencyCritical
	}
	missing := ""
	switch {
	case e.Urgency == "" && typ.Critical():
		c.addViolation(urgencyRule(typ), "/urgency", "is missing; read as %q", UrgencyCritical)
		e.Urgency = UrgencyCritical
	case e.Urgency == "":
		missing = "urgency"
	case !readListed(c, "ENV-033", "/urgency", &e.Urgency, fallback, UrgencyBackground, UrgencyNormal, UrgencyCritical):
	case typ.Critical() && e.Urgency != UrgencyCritical:
		c.addViolation(urgencyRule(typ), "/urgency", "%q is read as %q, which all events of this type are", e.Urgency,
			UrgencyCritical)
		e.Urgency = UrgencyCritical
	}
	switch {
	case e.Verbosity == "" && missing != "":
		c.addViolation("D-03", "", "verbosity and urgency are missing; both count as normal")
	case e.Verbosity == "" || missing != "":
		c.addViolation("D-03", "", "%s is missing; it counts as normal", cmp.Or(missing, "verbosity"))
	}
}

// readHints sets the primary language of the event's hints, where they have none, to language: the
// "language" member of published clients, or "" (D-72, D-73). What is missing gets a diagnostic.
func readHints(c *checker, e *Event, language string) {
	if e.LocalizationHints != nil && e.LocalizationHints.PrimaryLanguage != "" {
		return
	}
	if language == "" {
		c.addViolation("I18N-001", "/localization_hints/primary_language",
			"is missing; the language of the text is not known")
		return
	}
	c.addViolation("I18N-001", "/language", "stands in for the missing /localization_hints/primary_language")
	if e.LocalizationHints == nil {
		e.LocalizationHints = new(LocalizationHints)
	}
	e.LocalizationHints.PrimaryLanguage = language
}

// readPayload replaces the values of a payload that the protocol does not know by safe ones, and
// fills the payload from u, the members that published peers write instead (D-13 to D-25, D-85).
// Each change is a diagnostic in c. An extension's payload stays as it is.
func readPayload(c *checker, payload Payload, u *unknowns) {
	switch p := payload.(type) {
	case *SessionErrored:
		fallback := ErrorUnknown
		if known, ok := publishedCategories[p.ErrorCategory]; ok {
			fallback = known
		}
		readListed(c, "EVT-018", "/error_category", &p.ErrorCategory, fallback, ErrorTransient, ErrorPermanent,
			ErrorRequiresUser, ErrorUnknown)
	case *SessionCancelled:
		readListed(c, "EVT-024", "/cancelled_by", &p.CancelledBy, CancelledBySystem, CancelledByUser,
			CancelledByProducer, CancelledByTimeout, CancelledBySystem)
	case *StateChanged:
		readState(c, "/from_state", &p.FromState)
		readState(c, "/to_state", &p.ToState)
	case *ProgressUpdated:
		readProgress(c, p, u)
	case *ToolInvoked:
		if p.RiskLevel != "" {
			readListed(c, "EVT-046", "/risk_level", &p.RiskLevel, RiskHigh, RiskLow, RiskMedium, RiskHigh)
		}
	case *ToolCompleted:
		readListed(c, "EVT-049", "/status", &p.Status, ToolError, ToolSuccess, ToolError, ToolTimeout)
	case *OutputStreaming:
		if p.CoalesceHint != "" {
			readListed(c, "EVT-062", "/coalesce_hint", &p.CoalesceHint, "", BoundaryNone, BoundaryWord,
				BoundarySentence, BoundaryParagraph, BoundaryCompletion)
		}
	case *AwaitingConfirmation:
		readConfirmation(c, p)
	case *AwaitingClarification:
		readKinds(c, p, u)
	case *HandoffRequested:
		readHandoff(c, p, u)
	}
}

// publishedCategories maps the error categories of published producers to AAEP's own (D-15).
var publishedCategories = map[ErrorCategory]ErrorCategory{
	"timeout": ErrorTransient, "network": ErrorTransient, "rate_limit": ErrorTransient,
	"authentication": ErrorRequiresUser, "authorization": ErrorRequiresUser,
	"invalid_input": ErrorPermanent, "policy": ErrorPermanent, "internal": ErrorPermanent,
}

// readState replaces awaiting_user by awaiting_input, and notes completed: two states that the
// published types have and the protocol has not (D-16). The set of states is open, so all others
// stay as they are.
func readState(c *checker, pointer string, s *State) {
	switch *s {
	case "awaiting_user":
		c.addViolation("D-16", pointer, "%q is read as %q", *s, StateAwaitingInput)
		*s = StateAwaitingInput
	case "completed":
		c.addViolation("D-16", pointer, "%q is not a state of AAEP; a session says so with an event", *s)
	}
}

// readProgress fills in a percentage and a time that are written in the published form, and drops
// what is out of range. Each of these is a diagnostic in c. A percentage that is there in the
// protocol's own form counts before the published one.
func readProgress(c *checker, p *ProgressUpdated, u *unknowns) {
	g := &p.Progress
	if u.percent != nil && g.Percent == nil {
		g.Percent = u.percent
	}
	if u.remaining != nil && p.ETAMS == nil {
		p.ETAMS = u.remaining
	}
	g.Description = cmp.Or(g.Description, u.message)
	u.noteForm(c, "EVT-034", "progress and eta_ms")
	if g.Percent != nil && !(*g.Percent >= 0 && *g.Percent <= 100) {
		c.addViolation("EVT-035", "/progress/percent", "%v is not from 0 to 100; it is ignored", *g.Percent)
		g.Percent = nil
	}
	if g.Step < 0 || g.TotalSteps < 0 {
		c.addViolation("EVT-035", "/progress", "has a step of 0 or less; steps count from 1, so it is read as absent")
		g.Step, g.TotalSteps = max(g.Step, 0), max(g.TotalSteps, 0)
	}
}

// readConfirmation reads unknown values on the safe side: a risk as high, a reversibility as
// irreversible, and a default decision as none.
func readConfirmation(c *checker, p *AwaitingConfirmation) {
	if p.RiskLevel != "" {
		readListed(c, "EVT-073", "/risk_level", &p.RiskLevel, RiskHigh, RiskLow, RiskMedium, RiskHigh)
	}
	if p.Reversibility != "" {
		fallback := Irreversible
		if p.Reversibility == "reversible_easy" {
			fallback = Reversible
		}
		readListed(c, "EVT-073", "/reversibility", &p.Reversibility, fallback, Reversible, ReversibleWithEffort,
			Irreversible)
	}
	readListed(c, "EVT-071", "/default_decision", &p.DefaultDecision, "", Accept, Reject)
	if p.DefaultDecision == Accept && p.RiskLevel != RiskLow && p.IsIrreversible() { // D-85
		c.addViolation("EVT-072", "/default_decision",
			"is %q for an irreversible action that is not of low risk; offer %q first", Accept, Reject)
	}
}

// readKinds fills in choices from the published options, and the kinds of answers where none is
// given: a choice where there are some, and free text (D-24). Choices beyond maxOptions, and kinds
// that are not known, are dropped. Each of these is a diagnostic in c.
func readKinds(c *checker, p *AwaitingClarification, u *unknowns) {
	if len(p.Choices) == 0 && len(u.choices) > 0 {
		p.Choices = u.choices
	}
	if len(p.Choices) > maxOptions { // a person does not hear so many to their end, and an answer is still possible
		c.addViolation("EVT-083", "/choices", "is %d choices; the first %d are read", len(p.Choices), maxOptions)
		p.Choices = slices.Clip(p.Choices[:maxOptions])
	}
	kinds := p.AcceptedResponseKinds // as they were sent
	unlisted := func(k ResponseKind) bool {
		return k != ResponseFreetext && k != ResponseYesNo && k != ResponseMultipleChoice && k != ResponseNumeric
	}
	if slices.ContainsFunc(p.AcceptedResponseKinds, unlisted) {
		var names []string
		for _, k := range p.AcceptedResponseKinds {
			if unlisted(k) && len(names) < maxDiagnostics {
				names = append(names, string(k))
			}
		}
		c.addViolation("EVT-082", "/accepted_response_kinds", "%q is not one of the listed values; it is ignored",
			shortenName(strings.Join(names, ", ")))
		p.AcceptedResponseKinds = slices.DeleteFunc(p.AcceptedResponseKinds, unlisted)
	}
	u.noteForm(c, "EVT-082", "choices and accepted_response_kinds")
	if len(p.AcceptedResponseKinds) > 0 {
		return
	}
	switch {
	case len(kinds) > 0 || u.names != nil: // noted already
	case kinds != nil:
		c.addViolation("EVT-082", "/accepted_response_kinds", "is empty; any text is taken for an answer")
	case len(p.Choices) > 0:
		c.addViolation("EVT-084", "/accepted_response_kinds",
			"is missing although there are choices; a choice or any text is taken for an answer")
	default:
		c.addViolation("D-24", "/accepted_response_kinds", "is missing; any text is taken for an answer")
	}
	p.AcceptedResponseKinds = nil
	if len(p.Choices) > 0 {
		p.AcceptedResponseKinds = append(p.AcceptedResponseKinds, ResponseMultipleChoice)
	}
	if u.freeForm || len(u.choices) == 0 {
		p.AcceptedResponseKinds = append(p.AcceptedResponseKinds, ResponseFreetext)
	}
}

// readHandoff reads who takes over, which is a name in the published types where the protocol has a
// kind (D-25). A target kind that is unknown, or missing, is read as empty. Each of these is a
// diagnostic in c.
func readHandoff(c *checker, p *HandoffRequested, u *unknowns) {
	switch {
	case p.TargetKind != "":
		readListed(c, "EVT-087", "/target_kind", &p.TargetKind, "", TargetHuman, TargetSpecialistAgent,
			TargetEscalationQueue)
	case u.target == string(TargetHuman):
		p.TargetKind = TargetHuman
	case u.target == "":
		c.addViolation("EVT-087", "/target_kind", "is missing; who takes over is not said")
	}
	if u.target != string(TargetHuman) {
		p.Target = u.target
	}
	p.ContextSummary = u.summary
	u.noteForm(c, "EVT-087", "the target and the context of the handoff")
	if p.UrgencyForHandoff != "" {
		readListed(c, "EVT-089", "/urgency_for_handoff", &p.UrgencyForHandoff, "", RiskLow, RiskMedium, RiskHigh)
	}
}

// readListed reports whether *v is one of the values. If not, it becomes the fallback, and its
// spelling stays readable in the diagnostic (D-13).
func readListed[S ~string](c *checker, requirement, pointer string, v *S, fallback S, values ...S) bool {
	if slices.Contains(values, *v) {
		return true
	}
	if fallback == "" {
		c.addViolation(requirement, pointer, "%q is not one of the listed values; it is ignored", shortenName(string(*v)))
	} else {
		c.addViolation(requirement, pointer, "%q is not one of the listed values; it is read as %q",
			shortenName(string(*v)), string(fallback))
	}
	*v = fallback
	return false
}

// namesVocabulary reports whether a context names a vocabulary beside AAEP's own (§3.4.3). Which
// prefixes that defines is in a document that is never fetched (D-06).
func namesVocabulary(context []string) bool {
	return slices.ContainsFunc(context, func(uri string) bool { return uri != CoreContext })
}
