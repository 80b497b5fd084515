package conformance

import (
	"fmt"
)

// flowCases judge what is presented of many events, of some twice, and of some in the wrong order.
var flowCases = []Case{
	{Name: "error-unannounced", Requirements: []string{"HS-063"}, Level: 3, Strength: Must, plays: []string{"blue"},
		Rule: "an error is presented though nothing was known of its session", Judge: presents("outofblue", theError)},
	{Name: "no-doubles", Requirements: []string{"LVL-037", "TR-010"}, Level: 3, Strength: Must, plays: []string{"twice", "cut"},
		Rule: "an event that comes twice is presented once", Judge: judgeDoubles},
	{Name: "order-checked", Requirements: []string{"LVL-037", "TR-008", "ENV-043"}, Level: 3, Strength: Must, plays: []string{"twice"},
		Rule: "events whose sequence_number runs backwards are put in order, or that is logged", Judge: judgeOrder},
	{Name: "burst-kept", Requirements: []string{"HS-068", "TERM-010"}, Level: 3, Strength: Must, plays: []string{"burst"},
		Rule: "as many events at once as were asked for are presented, in their order", Judge: judgeBurst},
	{Name: "critical-under-load", Requirements: []string{"LVL-040", "HS-070"}, Level: 3, Strength: Must, plays: []string{"burst"},
		Rule: "a critical event is presented though many others came before it", Judge: presents("burstend", theError)},
}

// outOfBlue begins with an error.
func outOfBlue(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	c.emit(c.event("outofblue", sessionID(), errored, theError, object{"error_category": "permanent", "error_code": "CRANE_STOPPED", "recoverable": false}))
	sc.presented(c.emit(c.event("atlast", sessionID(), started, "At last", nil)))
}

// tellTwice sends an event again, and two in the wrong order.
func tellTwice(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	s := sessionID()
	c.emit(c.event("zero", s, started, "The first of them", object{"sequence_number": 0}))
	double := c.event("double", s, invoked, "Twice the same", with(toolCall(), object{"sequence_number": 1}))
	c.emit(double)
	c.emit(double)
	c.emit(c.event("three", s, invoked, "The one that came too soon", with(toolCall(), object{"sequence_number": 3})))
	c.emit(c.event("two", s, invoked, "The one that came too late", with(toolCall(), object{"sequence_number": 2})))
	sc.presented(c.emit(c.event("four", sessionID(), started, "And nothing more", nil)))
}

func judgeDoubles(r *Recording) Finding {
	return heard("double", func(r *Recording, m message, text string) Finding {
		n := 0
		for l := range r.links() {
			for _, e := range r.all(l, true) {
				if e.str("event_id") == m.str("event_id") {
					n++
				}
			}
		}
		if n < 2 {
			return unseen("the target was gone before the event came again")
		}
		all := r.told(m.str("event_id"))
		for i, t := range all { // in other words around it, or in the same
			for _, was := range all[:i] {
				if says(t.str("text"), was.str("text")) {
					return fail("an event that came twice was presented twice", was.Entry, t.Entry)
				}
			}
		}
		if text == "" {
			return unseen("the event was not presented at all")
		}
		return pass("the event came twice and was presented once", lines(r, m)...)
	})(r)
}

func judgeOrder(r *Recording) Finding {
	late, f := r.put("two")
	if late.m == nil {
		return f
	}
	soon, _ := r.sentAs("three")
	a, b := r.told(late.str("event_id")), r.told(soon.str("event_id"))
	switch {
	case len(b) == 0:
		return unseen("the events were not presented")
	case len(a) > 0 && a[0].n < b[0].n:
		return pass("the events were put in order", a[0].Entry, b[0].Entry)
	}
	for _, m := range r.all(hookLink, false) {
		if id := m.str("event_id"); m.str("log") != "" && m.n > soon.n && (id == "" || id == late.str("event_id") || id == soon.str("event_id")) {
			return pass("the wrong order was logged", late.Entry, m.Entry)
		}
	}
	return fail("sequence_number 2 came after 3, and that was neither put right nor logged", soon.Entry, late.Entry)
}

// maxBurst is how many events a target must be able to take at once that names no rate.
const maxBurst = 200

// burst sends at once all that the target may be sent in a second, and then an error.
func burst(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	n := maxBurst
	if rate, ok := c.terms["max_events_per_second"].(float64); ok {
		n = min(n, int(rate))
	}
	s, other := sessionID(), sessionID()
	c.emit(c.event("burststart", s, started, "The tide comes in", nil))
	c.emit(c.event("burstother", other, started, "The crane works", nil))
	last := ""
	for i := range n {
		last = c.emit(c.event(fmt.Sprintf("burst%d", i), s, invoked, fmt.Sprintf("Wave %d", i), toolCall()))
	}
	id := c.emit(c.event("burstend", other, errored, theError, object{"error_category": "permanent", "error_code": "CRANE_STOPPED", "recoverable": false}))
	if sc.presented(id, theError) && last != "" {
		sc.presented(last)
	}
}

func judgeBurst(r *Recording) Finding {
	at, n := -1, 0
	for _, m := range r.all(0, true) {
		if m.typ() != invoked {
			continue
		}
		got := r.told(m.str("event_id"))
		if _, f := r.put("burst0"); f.Verdict != "" {
			return f
		}
		switch {
		case len(got) == 0:
			return fail(fmt.Sprintf("of events that came at once, number %d was not presented", n+1), m.Entry)
		case got[0].n < at:
			return fail("events that came at once were presented in another order", m.Entry, got[0].Entry)
		}
		at = got[0].n
		n++
	}
	if why := r.silent(); why != "" {
		return unseen(why)
	}
	return some(n, "events that came at once were presented in their order")
}
