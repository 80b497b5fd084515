package conformance

import "slices"

// Agent is the runner's agent in the Play of a case for subscribers. It is used by one goroutine at
// a time.
type Agent struct {
	call    *targetConn
	session string
}

// Tell sends an event of the agent's session, as a good producer does: in the state that it belongs
// to, unless it is filtered out, and no faster than was agreed. A type may be one of an extension.
// Its summaries are made of say; more are its own members, and those of the envelope that differ.
// It waits until the event was presented, or the target has had its time for that, and returns the
// event's id; "" if it was not sent.
func (a *Agent) Tell(typ, say string, more map[string]any) (eventID string) {
	eventID = a.call.emitEvent(a.call.newEvent("", a.session, typ, say, more))
	a.call.harness.awaitPresented(eventID)
	return eventID
}

// User has the target's user do act through the hook, such as {"event_id": id, "decision":
// "accept"}, and waits until the target has sent something, or its time for that is over.
func (a *Agent) User(act map[string]any) {
	heard := func(r *Recording) int { return len(r.messagesOn(a.call.index, false)) }
	before := heard(a.call.harness.recorder.snapshot())
	a.call.harness.sendUserAct(act)
	a.call.harness.awaitCondition(a.call.harness.patience, func(r *Recording) bool { return heard(r) > before })
}

// allCases returns the suite's cases and scenario runs, and those from outside. The scenario run of
// a case from outside has its name. The error is for a case from outside that is not whole.
func (run SubscriberRun) allCases() ([]Case, []subscriberScenario, error) {
	cases, list := SubscriberCases(), slices.Clone(subscriberScenarios)
	var names []string
	for _, p := range list {
		names = append(names, p.name)
	}
	if err := checkExtraCases(run.Extra, cases, names, func(p *Play) bool { return p.Agent != nil }); err != nil {
		return nil, nil, err
	}
	for _, c := range run.Extra {
		c.plays, c.Scenario = []string{c.Name}, c.Name
		cases = append(cases, c)
		list = append(list, subscriberScenario{name: c.Name, does: c.Play.Does,
			perform: func(h *subscriberHarness) { performExtra(h, c.Play) }})
	}
	return cases, list, nil
}

// performExtra runs the scenario of a case from outside: a session around what its Agent does, on
// terms of its Capabilities that the target asked for. A target that does not come is only
// recorded.
func performExtra(h *subscriberHarness, p *Play) {
	c := h.nextConn(arrival)
	if c == nil {
		return
	}
	c.sendAccepted(grantedTerms(c.request.objectMember("capabilities"), p.Capabilities))
	s := sessionID()
	c.emitEvent(c.newEvent("", s, started, "It begins", nil))
	p.Agent(&Agent{c, s})
	h.awaitPresented(c.emitEvent(c.newEvent("", s, completed, "It is over", nil)))
}

// grantedTerms returns the members of terms that were asked for; of the extensions, those that
// were. A member of terms that is nil is removed from what is honored.
func grantedTerms(asked, terms object) object {
	granted := object{}
	for name, v := range terms {
		if _, ok := asked[name]; ok || v == nil {
			granted[name] = v
		}
	}
	wanted, _ := asked["supported_extensions"].([]any)
	offered, _ := terms["supported_extensions"].([]string)
	granted["supported_extensions"] = nil
	for _, uri := range offered {
		if slices.Contains(wanted, any(uri)) {
			both, _ := granted["supported_extensions"].([]string)
			granted["supported_extensions"] = append(both, uri)
		}
	}
	return granted
}
