package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// quit lets the user end the target.
func quit(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	sc.presented(c.emit(c.event("farewell", sessionID(), started, "This will not take long", nil)))
	sc.do(quits)
	sc.tape.wait(sc.ctx, leaving, func(r *Recording) bool { // its last words may come after its end
		_, left := r.noted(0, noteLeft)
		return left || len(of(r.all(0, false), "subscription.close")) > 0
	})
	sc.tape.wait(sc.ctx, 2*quiet, func(r *Recording) bool { // how it closes the link is judged too
		_, left := r.noted(0, noteLeft)
		return left
	})
}

func quitting(judge func(r *Recording, m message) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		if _, missed := r.noted(0, noteNoDial); missed {
			return unseen("the target did not connect")
		}
		if len(of(r.all(0, true), started)) == 0 || len(r.all(hookLink, true)) == 0 {
			return unseen("the target was gone before the user ended it")
		}
		var m message
		if all := of(r.all(0, false), "subscription.close"); len(all) > 0 {
			m = all[0]
		}
		return judge(r, m)
	}
}

// forge shows a manifest whose signature is none to who demands one.
func forge(sc *scene) {
	c := sc.next(sc.arrival)
	if c == nil || c.request.obj("capabilities")["accept_signed_manifests_only"] != true {
		return
	}
	c.terms = c.request.obj("capabilities")
	c.sendObject(object{"type": "subscription.accepted", "subscription_id": c.id, "aaep_version": "1.0.0", "honored_capabilities": c.terms,
		"producer":        object{"agent_id": "aaep-conformance", "agent_name": "Conformance"},
		"signed_manifest": "eyJhbGciOiJFUzI1NiJ9.eyJhZ2VudF9pZCI6ImFhZXAtY29uZm9ybWFuY2UifQ." + strings.Repeat("A", 86)})
	if !sc.wait(sc.patience, func(r *Recording) bool {
		_, left := r.noted(0, noteLeft)
		return left || len(of(r.all(0, false), "subscription.close")) > 0
	}) {
		sc.presented(c.emit(c.event("forged", sessionID(), started, "Trust me", nil)))
	}
}

func judgeForged(r *Recording) Finding {
	all := of(r.all(0, false), "subscription.request")
	switch {
	case len(all) == 0:
		return unseen("no subscription.request came")
	case all[0].obj("capabilities")["accept_signed_manifests_only"] != true:
		return Finding{Verdict: Skipped, Seen: "the target does not demand a signed manifest"}
	}
	if left, ok := r.noted(0, noteLeft); ok {
		return pass("it left", left)
	}
	if bye := of(r.all(0, false), "subscription.close"); len(bye) > 0 {
		return pass("it left", bye[0].Entry)
	}
	return fail("the target demands a signed manifest and stayed with a producer whose signature is forged", all[0].Entry)
}

// linkCases judge how the target leaves, and what it does when the link breaks. It need not come back; how it does is judged.
var linkCases = []Case{
	{Name: "takes-leave", Requirements: []string{"LVL-038", "HS-079"}, Level: 3, Strength: Must, plays: []string{"quit"},
		Rule: "when the user ends it, the target sends subscription.close before it goes", Judge: quitting(func(r *Recording, m message) Finding {
			if m.m == nil {
				entries := []Entry{}
				if e, ok := r.noted(0, noteLeft); ok {
					entries = append(entries, e)
				}
				return fail("no subscription.close came", entries...)
			}
			return pass("it took leave", m.Entry)
		})},
	{Name: "leave-valid", Requirements: []string{"HS-081"}, Level: 3, Strength: Must, plays: []string{"quit"},
		Rule: "subscription.close has type, subscription_id, reason_code and reason_message", Judge: quitting(func(r *Recording, m message) Finding {
			a := of(r.all(m.Link, true), "subscription.accepted")
			switch {
			case m.m == nil:
				return unseen("no subscription.close came")
			case len(a) == 0 || a[0].str("subscription_id") != m.str("subscription_id"):
				return fail("it names the subscription "+quoted(m.str("subscription_id")), m.Entry)
			case invalid(m) != "" || m.str("reason_code") == "" || m.str("reason_message") == "":
				return fail(strings.TrimSpace("it is not whole. "+invalid(m)), m.Entry)
			}
			return pass("it was whole", m.Entry)
		})},
	{Name: "demands-proof", Requirements: []string{"LVL-039", "SEC-020"}, Level: 3, Strength: Must, plays: []string{"forged"},
		Rule: "who demands a signed manifest leaves a producer that shows a forged one", Judge: judgeForged},
	{Name: "survives-cut", Requirements: []string{"HS-080"}, Level: 3, Strength: Must, plays: []string{"cut"},
		Rule: "a link that breaks without a word does no harm: the target goes on, or ends in an orderly way", Judge: func(r *Recording) Finding {
			cut, ok := r.noted(0, noteCut)
			switch {
			case !ok:
				return unseen("the link was not broken")
			case r.back() == nil:
				for _, e := range r.Entries[slices.IndexFunc(r.Entries, func(e Entry) bool { return e.Note == noteCut }):] {
					if strings.HasPrefix(e.Note, noteGone) && e.Note != noteGone+noError {
						return fail("the target ended in disorder when the link broke", cut, e)
					}
				}
				return Finding{Verdict: Skipped, Seen: "the target did not come back, and need not"}
			}
			return presentsAny("aftercut", "aftercuttoo")(r)
		}},
	{Name: "nothing-lost", Requirements: []string{"HS-080", "LVL-012"}, Level: 3, Strength: Must, plays: []string{"cut"},
		Rule: "what comes after a link that broke is presented, from the first event on", Judge: cameBack(presentsAll("aftercut", "aftercuttoo"))},
	{Name: "replies-anew", Requirements: []string{"CONF-014", "WS-007"}, Level: 3, Strength: Must, plays: []string{"cut"},
		Rule: "after a link that broke, a reply names the subscription that holds then", Judge: cameBack(func(r *Recording) Finding {
			q, ok := r.sentAs("aftercutask")
			if !ok {
				return skipped("the target was not asked after it had come back")
			}
			act, ok := r.pressed(q)
			replies := r.repliesTo(q.m["reply_token"])
			switch {
			case !ok:
				return fail("a question that came after a link that broke was not presented", q.Entry)
			case len(replies) == 0:
				return fail("the user answered a question that came after a link that broke, and no reply was sent", q.Entry, act.Entry)
			}
			for _, a := range of(r.all(replies[0].Link, true), "subscription.accepted") {
				if a.str("subscription_id") != replies[0].str("subscription_id") {
					return fail("the reply names the subscription "+quoted(replies[0].str("subscription_id"))+", which is not the one of this link", a.Entry, replies[0].Entry)
				}
			}
			return pass("the reply names the subscription of its link", q.Entry, replies[0].Entry)
		})},
	{Name: "goes-on", Requirements: []string{"SSE-012"}, Level: 3, Strength: Should, plays: []string{"cut"},
		Rule: "a stream that is opened again names the last event that came", Judge: func(r *Recording) Finding {
			b := r.back()
			if b == nil || b.Note == "" {
				return unseen("no stream was opened again")
			}
			last, _ := r.sentAs("double")
			if b.Note != noteStream+last.str("event_id") {
				return fail("the stream was opened again from another place", last.Entry, *b)
			}
			return pass("the stream was opened again where it had broken", *b)
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
				return unseen("the target did not come back")
			}
			if n := len(backs); n >= maxReturns {
				return fail(fmt.Sprintf("the target came back %d times within %v", n, backs[n-1].At.Sub(backs[0].At).Round(time.Millisecond)), backs[0], backs[n-1])
			}
			return pass("the target paused before it came back", backs...)
		}},
}

// cameBack judges a target that came back after a cut, which none has to.
func cameBack(judge func(*Recording) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		cut, broken := r.noted(0, noteCut)
		switch {
		case !broken:
			return unseen("the link was not broken")
		case r.back() == nil:
			return skipped("the target did not come back, and need not", cut)
		}
		return judge(r)
	}
}

// back is how the target came back after the first cut: a stream that it opened, or a first message; nil if it did not.
func (r *Recording) back() *Entry {
	cut := false
	for i := range r.Entries {
		e := &r.Entries[i]
		switch {
		case e.Note == noteCut:
			cut = true
		case cut && (strings.HasPrefix(e.Note, noteStream) || e.Data != nil && !e.Sent && e.Link > 0):
			return e
		}
	}
	return nil
}

// breakLink cuts, and sends again what was sent last.
func breakLink(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	s, other := sessionID(), sessionID()
	c.emit(c.event("other", other, started, "The moon comes up", nil))
	c.emit(c.event("beforecut", s, started, "The tide comes in", nil))
	double := c.event("double", s, invoked, "A wave that comes twice", toolCall())
	sc.presented(c.emit(double))
	c.cut()
	again := c.after()
	if again == nil {
		return
	}
	again.states = c.states
	again.emit(again.event("aftercut", s, invoked, "Measuring the water", toolCall())) // in the state that it is in, so that this is the first
	again.send(encoded(double), double["event_id"].(string))
	sc.presented(again.emit(again.event("aftercuttoo", other, completed, "The tide goes out", nil)))
	if q, ok := again.ask("aftercutask", s, 60, "low", theAction); ok || sc.shown(q) {
		again.decide(q, object{"event_id": q["event_id"], "decision": "reject"})
		again.settled("aftercutover", s)
	}
}

// cutLimit is how long a target may take to come back.
const cutLimit = 8 * time.Second

// after waits until the target is back after a cut: on the same call with another stream, or on a new one.
func (c *call) after() *call {
	select {
	case conn := <-c.sc.arrivals:
		again := c.sc.take(conn)
		again.accepted(nil)
		return again
	case c.open = <-c.streams:
		return c
	case <-time.After(cutLimit):
	case <-c.sc.over:
	case <-c.sc.ctx.Done():
	}
	return nil
}

const (
	maxReturns = 10
	inThisTime = time.Second
)

// cutAgain cuts whenever the target is back.
func cutAgain(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	sc.presented(c.emit(c.event("uncut", sessionID(), started, "The sea is rough", nil)))
	for began, n := time.Now(), 1; ; n++ {
		c.cut()
		if n == maxReturns || time.Since(began) >= inThisTime {
			return
		}
		if c = c.after(); c == nil {
			return
		}
	}
}
