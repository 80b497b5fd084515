package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// quitTarget is the scenario in which the user ends the target while a question is open.
func quitTarget(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	s := sessionID()
	h.awaitPresented(c.emitEvent(c.newEvent("farewell", s, started, "This will not take long", nil)))
	c.askDecision("openatquit", s, 60, "high", theAction)
	c.letUserQuit()
}

// letUserQuit lets the user end the target, and waits until it has left this connection.
func (c *targetConn) letUserQuit() {
	c.harness.sendUserAct(quitAct)
	c.harness.recorder.awaitCondition(c.harness.ctx, leaving, func(r *Recording) bool { // its last words may come after its end
		_, left := r.noteOn(c.index, noteLeft)
		return left || len(ofTypes(r.messagesOn(c.index, false), "subscription.close")) > 0
	})
	c.harness.recorder.awaitCondition(c.harness.ctx, 2*quiet, func(r *Recording) bool { // how it closes the link is judged too
		_, left := r.noteOn(c.index, noteLeft)
		return left
	})
}

// judgeQuit judges the subscription.close of a target that its user ended, on its last connection;
// the message is empty where none came.
func judgeQuit(judge func(r *Recording, m message) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		if _, missed := r.noteOn(0, noteNoDial); missed {
			return inconclusiveFinding("the target did not connect")
		}
		quits := func(m message) bool { return m.members["quit"] == true }
		if len(ofTypes(r.messagesOn(0, true), started)) == 0 ||
			!slices.ContainsFunc(r.messagesOn(hookLink, true), quits) {
			return inconclusiveFinding("the target was gone before the user ended it")
		}
		var m message
		if all := ofTypes(r.messagesOn(r.linkCount()-1, false), "subscription.close"); len(all) > 0 {
			m = all[0]
		}
		return judge(r, m)
	}
}

// forgedManifest has a signature that no key has made.
var forgedManifest = "eyJhbGciOiJFUzI1NiJ9.eyJhZ2VudF9pZCI6ImFhZXAtY29uZm9ybWFuY2UifQ." + strings.Repeat("A", 86)

// sendUnprovedManifest returns the scenario run that shows a manifest that is not rightly signed,
// or none where signed is "", to a target that demands a signed one, and waits for it to leave. A
// target that does not demand one is sent nothing.
func sendUnprovedManifest(signed string) func(*subscriberHarness) {
	return func(h *subscriberHarness) {
		c := h.nextConn(h.arrival)
		if c == nil || c.request.objectMember("capabilities")["accept_signed_manifests_only"] != true {
			return
		}
		c.terms = c.request.objectMember("capabilities")
		accepted := object{"type": "subscription.accepted", "subscription_id": c.id, "aaep_version": "1.0.0",
			"honored_capabilities": c.terms,
			"producer":             object{"agent_id": "aaep-conformance", "agent_name": "Conformance"}}
		if signed != "" {
			accepted["signed_manifest"] = signed
		}
		c.sendObject(accepted)
		if !h.awaitCondition(h.patience, func(r *Recording) bool {
			_, left := r.noteOn(0, noteLeft)
			return left || len(ofTypes(r.messagesOn(0, false), "subscription.close")) > 0
		}) {
			h.awaitPresented(c.emitEvent(c.newEvent("forged", sessionID(), started, "Trust me", nil)))
		}
	}
}

// judgeForged judges that a target which demands a signed manifest has left, by a close or without
// a word. One that does not demand it has nothing to leave for.
func judgeForged(r *Recording) Finding {
	all := ofTypes(r.messagesOn(0, false), "subscription.request")
	switch {
	case len(all) == 0:
		return inconclusiveFinding("no subscription.request came")
	case all[0].objectMember("capabilities")["accept_signed_manifests_only"] != true:
		return Finding{Verdict: Skipped, Seen: "the target does not demand a signed manifest"}
	}
	if left, ok := r.noteOn(0, noteLeft); ok {
		return passFinding("it left", left)
	}
	if bye := ofTypes(r.messagesOn(0, false), "subscription.close"); len(bye) > 0 {
		return passFinding("it left", bye[0].Entry)
	}
	return failFinding("the target demands a signed manifest and stayed with a producer that showed none, or a forged one",
		all[0].Entry)
}

// linkCases judge how the target leaves, and what it does when the link breaks. It need not come
// back; how it does is judged.
var linkCases = []Case{
	{Name: "takes-leave", Requirements: []string{"LVL-038", "HS-079"}, Level: 3, Strength: Must,
		plays: []string{"quit"}, beside: []string{"cut"},
		Rule: "when the user ends it, the target sends subscription.close before it goes",
		Judge: judgeQuit(func(r *Recording, m message) Finding {
			if m.members == nil {
				entries := []Entry{}
				if e, ok := r.noteOn(0, noteLeft); ok {
					entries = append(entries, e)
				}
				return failFinding("no subscription.close came", entries...)
			}
			return passFinding("it took leave", m.Entry)
		})},
	{Name: "leave-valid", Requirements: []string{"HS-081"}, Level: 3, Strength: Must, plays: []string{"quit"},
		beside: []string{"cut"},
		Rule:   "subscription.close has type, subscription_id, reason_code and reason_message",
		Judge: judgeQuit(func(r *Recording, m message) Finding {
			a := ofTypes(r.messagesOn(m.Link, true), "subscription.accepted")
			switch {
			case m.members == nil:
				return inconclusiveFinding("no subscription.close came")
			case len(a) == 0 || a[0].stringMember("subscription_id") != m.stringMember("subscription_id"):
				return failFinding("it names the subscription "+quoteText(m.stringMember("subscription_id")), m.Entry)
			case invalidReason(m) != "" || m.stringMember("reason_code") == "" ||
				m.stringMember("reason_message") == "":
				return failFinding(strings.TrimSpace("it is not whole. "+invalidReason(m)), m.Entry)
			}
			return passFinding("it was whole", m.Entry)
		})},
	{Name: "demands-proof", Requirements: []string{"LVL-039", "SEC-020"}, Level: 3, Strength: Must,
		plays: []string{"forged", "unsigned"},
		Rule:  "who demands a signed manifest leaves a producer that shows none, or a forged one", Judge: judgeForged},
	{Name: "survives-cut", Requirements: []string{"HS-080"}, Level: 3, Strength: Must, plays: []string{"cut"},
		Rule: "a link that breaks without a word does no harm: the target goes on, or ends in an orderly way",
		Judge: func(r *Recording) Finding {
			cut, ok := r.noteOn(0, noteCut)
			switch {
			case !ok:
				return inconclusiveFinding("the link was not broken")
			case r.reconnection() == nil:
				for _, e := range r.Entries[slices.IndexFunc(r.Entries,
					func(e Entry) bool { return e.Note == noteCut }):] {
					if strings.HasPrefix(e.Note, noteGone) && e.Note != noteGone+noError {
						return failFinding("the target ended in disorder when the link broke", cut, e)
					}
				}
				return Finding{Verdict: Skipped, Seen: "the target did not come back, and need not"}
			}
			return judgePresentsAny("aftercut", "aftercuttoo")(r)
		}},
	{Name: "nothing-lost", Requirements: []string{"HS-080", "LVL-012"}, Level: 3, Strength: Must,
		plays: []string{"cut"},
		Rule:  "what comes after a link that broke is presented, from the first event on",
		Judge: judgeAfterReconnection(judgePresentsAll("aftercut", "aftercuttoo"))},
	{Name: "replies-anew", Requirements: []string{"CONF-014", "WS-007"}, Level: 3, Strength: Must,
		plays: []string{"cut"},
		Rule:  "after a link that broke, a reply names the subscription that holds then",
		Judge: judgeAfterReconnection(func(r *Recording) Finding {
			q, ok := r.eventLabelled("aftercutask")
			if !ok {
				return skippedFinding("the target was not asked after it had come back")
			}
			act, ok := r.userAnswer(q)
			replies := r.repliesTo(q.members["reply_token"])
			switch {
			case !ok:
				return failFinding("a question that came after a link that broke was not presented", q.Entry)
			case len(replies) == 0:
				return failFinding("the user answered a question that came after a link that broke, and no reply was sent", q.Entry, act.Entry)
			}
			for _, a := range ofTypes(r.messagesOn(replies[0].Link, true), "subscription.accepted") {
				if a.stringMember("subscription_id") != replies[0].stringMember("subscription_id") {
					return failFinding("the reply names the subscription "+
						quoteText(replies[0].stringMember("subscription_id"))+", which is not the one of this link",
						a.Entry, replies[0].Entry)
				}
			}
			return passFinding("the reply names the subscription of its link", q.Entry, replies[0].Entry)
		})},
	{Name: "goes-on", Requirements: []string{"SSE-012"}, Level: 3, Strength: Should, plays: []string{"cut"},
		Rule: "a stream that is opened again names the last event that came", Judge: func(r *Recording) Finding {
			b := r.reconnection()
			if b == nil || b.Note == "" {
				return inconclusiveFinding("no stream was opened again")
			}
			last, _ := r.eventLabelled("double")
			if b.Note != noteStream+last.stringMember("event_id") {
				return failFinding("the stream was opened again from another place", last.Entry, *b)
			}
			return passFinding("the stream was opened again where it had broken", *b)
		}},
	{Name: "comes-back-calmly", Requirements: []string{"GRPC-005"}, Level: 3, Strength: Should, plays: []string{"calm"},
		Rule: "who is cut again and again does not come back without a pause", Judge: func(r *Recording) Finding {
			var backs []Entry
			for _, e := range r.Entries {
				if e.Note == noteCut {
					backs = append(backs, e)
				}
			}
			if len(backs) < 2 {
				return inconclusiveFinding("the target did not come back")
			}
			if n := len(backs); n >= maxReturns {
				return failFinding(fmt.Sprintf("the target came back %d times within %v", n,
					backs[n-1].At.Sub(backs[0].At).Round(time.Millisecond)), backs[0], backs[n-1])
			}
			return passFinding("the target paused before it came back", backs...)
		}},
}

// judgeAfterReconnection makes a judge of a recording for a target that came back after a cut. One
// that did not come back is skipped, for it need not; without a cut it is inconclusive.
func judgeAfterReconnection(judge func(*Recording) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		cut, broken := r.noteOn(0, noteCut)
		switch {
		case !broken:
			return inconclusiveFinding("the link was not broken")
		case r.reconnection() == nil:
			return skippedFinding("the target did not come back, and need not", cut)
		}
		return judge(r)
	}
}

// reconnection returns how the target came back after its connection was first broken: a stream
// that it opened, or a first message. It is nil if it did not.
func (r *Recording) reconnection() *Entry {
	cut := false
	for i := range r.Entries {
		e := &r.Entries[i]
		opensStream := strings.HasPrefix(e.Note, noteStream)
		comesAnew := e.Data != nil && !e.Sent && e.Link > 0
		switch {
		case e.Note == noteCut:
			cut = true
		case cut && (opensStream || comesAnew):
			return e
		}
	}
	return nil
}

// breakAndResume is the scenario run that breaks the connection, sends the last event again when
// the target is back, and then goes on, with a question.
func breakAndResume(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	s, other := sessionID(), sessionID()
	c.emitEvent(c.newEvent("other", other, started, "The moon comes up", nil))
	c.emitEvent(c.newEvent("beforecut", s, started, "The tide comes in", nil))
	double := c.newEvent("double", s, invoked, "A wave that comes twice", toolCall())
	h.awaitPresented(c.emitEvent(double))
	c.breakConnection()
	again := c.awaitReconnection()
	if again == nil {
		return
	}
	again.states = c.states
	again.emitEvent(again.newEvent("aftercut", s, invoked, "Measuring the water",
		toolCall())) // in the state that it is in, so that this is the first
	again.sendBytes(encodeObject(double), double["event_id"].(string))
	h.awaitPresented(again.emitEvent(again.newEvent("aftercuttoo", other, completed, "The tide goes out", nil)))
	if q, ok := again.askDecision("aftercutask", s, 60, "low", theAction); ok || h.isPresented(q) {
		again.letUserDecide(q, object{"event_id": q["event_id"], "decision": "reject"})
		again.emitSettled("aftercutover", s)
	}
	again.letUserQuit()
}

// cutLimit is how long a target may take to come back.
const cutLimit = 8 * time.Second

// awaitReconnection waits until the target is back after its connection was broken, and returns the
// connection that holds then: the same with another stream, or a new one. It returns nil if the
// target does not come back.
func (c *targetConn) awaitReconnection() *targetConn {
	select {
	case conn := <-c.harness.arrivals:
		again := c.harness.beginConn(conn)
		again.sendAccepted(nil)
		return again
	case c.open = <-c.streams:
		return c
	case <-time.After(cutLimit):
	case <-c.harness.over:
	case <-c.harness.ctx.Done():
	}
	return nil
}

const (
	maxReturns = 10
	inThisTime = time.Second
)

// breakLinkRepeatedly breaks the connection each time the target is back, up to maxReturns times
// within a second.
func breakLinkRepeatedly(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	h.awaitPresented(c.emitEvent(c.newEvent("uncut", sessionID(), started, "The sea is rough", nil)))
	for began, n := time.Now(), 1; ; n++ {
		c.breakConnection()
		if n == maxReturns || time.Since(began) >= inThisTime {
			return
		}
		if c = c.awaitReconnection(); c == nil {
			return
		}
	}
}
