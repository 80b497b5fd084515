package conformance

import (
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// A reason that no version has yet, as a 1.x may have, and what is said with it.
const (
	oddReason  = "quota_exceeded"
	oddMessage = "The share of today is used up."
)

// reasonCases judge what becomes of a target whose agent leaves it, or will not have it, for a
// reason that it cannot know.
var reasonCases = []Case{
	{Name: "reason-unknown", Requirements: []string{"VER-004"}, Level: 3, Strength: Must,
		plays: []string{"refused-oddly", "closed-oddly"},
		Rule:  "a refusal, or a close, for a reason that 1.0 does not know does no harm: the target goes on or comes back, ends in an orderly way, or says what happened, in a log line or with the agent's words as its last on standard error",
		Judge: func(r *Recording) Finding {
			said := ofTypes(r.messagesOn(0, true), "subscription.rejected", "subscription.close")
			if len(said) == 0 {
				return inconclusiveFinding("the target was gone before that")
			}
			why := said[0].Entry
			for _, m := range r.logEntries() {
				if m.index > said[0].index {
					return passFinding("it told what happened", why, m.Entry)
				}
			}
			for _, e := range r.Entries[said[0].index+1:] {
				switch {
				case e.Link > 0:
					return passFinding("it came back", why, e)
				case e.Note == noteGone+noError, strings.HasPrefix(e.Note, noteGone) &&
					containsWords(e.Note, oddMessage):
					return passFinding("it ended in an orderly way", why, e)
				case strings.HasPrefix(e.Note, noteGone):
					return failFinding("the target ended, and did not say why", why, e)
				}
			}
			return passFinding("it went on", why)
		}},
}

// refuseUnknownReason refuses the target with a reason code that no version has.
func refuseUnknownReason(h *subscriberHarness) {
	if c := h.nextConn(h.arrival); c != nil {
		c.sendObject(object{"type": "subscription.rejected", "reason_code": oddReason, "reason_message": oddMessage})
		c.endAndObserve()
	}
}

// closeUnknownReason is the scenario run that accepts the target, and closes with a reason code
// that no version of AAEP has.
func closeUnknownReason(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	h.awaitPresented(c.emitEvent(c.newEvent("beforeclose", sessionID(), started, "This is all for today", nil)))
	c.sendObject(object{"type": "subscription.close", "subscription_id": c.id, "reason_code": oddReason,
		"reason_message": oddMessage})
	c.endAndObserve()
}

// endAndObserve ends a connection, and waits until the target connects again, which is accepted, or
// logs something, or until presentTime is over.
func (c *targetConn) endAndObserve() {
	c.conn.Close()
	over, before := make(chan struct{}), len(c.harness.recorder.snapshot().Entries)
	c.harness.running.Go(func() { // beside the scenario, which alone may read messages
		c.harness.awaitCondition(presentTime, func(r *Recording) bool {
			return slices.ContainsFunc(r.Entries[before:],
				isLogEntry)
		})
		close(over)
	})
	select {
	case conn := <-c.harness.arrivals:
		c.harness.beginConn(conn).sendAccepted(nil)
	case <-over:
	}
}

// isLogEntry reports whether the target reported something for an operator.
func isLogEntry(e Entry) bool {
	var line struct {
		Log string `json:"log"`
	}
	return e.Link == hookLink && !e.Sent && e.Note == "" && jsonv2.Unmarshal(e.Data, &line) == nil && line.Log != ""
}

// logEntries returns the lines that the target reported for an operator, in order.
func (r *Recording) logEntries() (list []message) {
	for _, m := range r.messagesOn(hookLink, false) {
		if m.stringMember("log") != "" {
			list = append(list, m)
		}
	}
	return list
}
