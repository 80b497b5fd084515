package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// wireCases judge what the target says of itself, and how it lives with terms.
var wireCases = []Case{
	{Name: "request-first", Requirements: []string{"HS-001", "WS-005", "WS-007"}, Level: 3, Strength: Must, plays: []string{"less", "cut"},
		Rule: "the first message on a link is subscription.request, also when the target comes back", judge: func(r *Recording) finding {
			if _, missed := r.noted(0, noteNoDial); missed {
				return unseen("the target did not connect")
			}
			for l := range r.links() {
				all := r.all(l, false)
				if len(all) > 0 && all[0].typ() != "subscription.request" {
					return fail("the first message was "+quoted(all[0].typ()), all[0].Entry)
				}
				if _, began := r.noted(l, noteLeft); len(all) == 0 && !began && l == 0 {
					return fail(fmt.Sprintf("no subscription.request came within %v", r.limit))
				}
			}
			return some(len(of(r.all(0, false), "subscription.request")), "links began with subscription.request")
		}},
	{Name: "request-valid", Requirements: []string{"HS-004", "HS-005", "HS-007", "HS-010", "HS-011", "HS-012", "HS-015", "HS-017", "HS-019", "HS-023", "HS-025", "HS-030", "HS-032", "HS-035", "HS-037", "HS-039", "HS-041"},
		Level: 3, Strength: Must, plays: []string{"less", "cut"},
		Rule: "the request is valid under its schema", judge: eachOf("subscription.request", func(m message) string { return invalid(m) })},
	{Name: "one-name", Requirements: []string{"HS-006"}, Level: 3, Strength: Must, plays: []string{"cut", "less"},
		Rule: "subscriber_id is the same whenever the target comes", judge: func(r *Recording) finding {
			n := 0
			names := map[string]bool{}
			for name := range r.old {
				names[name] = true
			}
			for l := range r.links() {
				for _, m := range of(r.all(l, false), "subscription.request") {
					if n++; len(names) > 0 && !names[m.str("subscriber_id")] {
						return fail("the target came as "+quoted(m.str("subscriber_id"))+", and under another name before", m.Entry)
					}
					names[m.str("subscriber_id")] = true
				}
			}
			if n+len(r.old) < 2 {
				return unseen("the target came only once")
			}
			return pass("the target always came under one name")
		}},
	{Name: "lives-with-less", Requirements: []string{"LVL-035", "HS-054"}, Level: 3, Strength: Must, plays: []string{"less"},
		Rule: "a subscriber that is granted less than it asked for goes on", judge: notLeft("", presentsAny("granted", "grantedtoo"))},
	{Name: "changes-terms", Requirements: []string{"LVL-036"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "when the user wants another verbosity, other terms are asked for", judge: renegotiating(func(r *Recording, act, m message) finding {
			if m.m == nil {
				return fail("the user chose another verbosity, and no subscription.renegotiate came", act.Entry)
			}
			if got := m.obj("capabilities")["preferred_verbosity"]; got != act.m["verbosity"] {
				return fail(fmt.Sprintf("the user chose %v, and %v was asked for", act.m["verbosity"], got), act.Entry, m.Entry)
			}
			return pass("the verbosity that the user chose was asked for", act.Entry, m.Entry)
		})},
	{Name: "renegotiation-valid", Requirements: []string{"HS-074"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "subscription.renegotiate is valid and names the subscription", judge: renegotiating(func(r *Recording, act, m message) finding {
			a := of(r.all(m.Link, true), "subscription.accepted")
			switch {
			case m.m == nil:
				return unseen("no subscription.renegotiate came")
			case len(a) == 0 || a[0].str("subscription_id") != m.str("subscription_id"):
				return fail("it names the subscription "+quoted(m.str("subscription_id")), m.Entry)
			case invalid(m) != "":
				return fail(invalid(m), m.Entry)
			}
			return pass("it was valid", m.Entry)
		})},
	{Name: "old-terms-heard", Requirements: []string{"HS-077"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "events under the old terms that are still on their way are presented", judge: presentsAny("oldterms", "oldtermstoo")},
	{Name: "new-terms-heard", Requirements: []string{"HS-077", "LVL-036"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "the subscription goes on under the new terms", judge: presentsAny("newterms", "newtermstoo")},
	{Name: "asks-for-less", Requirements: []string{"EXT-007"}, Level: 3, Strength: Must, plays: []string{"refused"},
		Rule: "a request that was refused as capabilities_incompatible is not repeated as it was", judge: judgeRefused},
	{Name: "error-unannounced", Requirements: []string{"HS-063"}, Level: 3, Strength: Must, plays: []string{"blue"},
		Rule: "an error is presented though nothing was known of its session", judge: presents("outofblue", theError)},
	{Name: "no-doubles", Requirements: []string{"LVL-037", "TR-010"}, Level: 3, Strength: Must, plays: []string{"twice", "cut"},
		Rule: "an event that comes twice is presented once", judge: judgeDoubles},
	{Name: "order-checked", Requirements: []string{"LVL-037", "TR-008", "ENV-043"}, Level: 3, Strength: Must, plays: []string{"twice"},
		Rule: "events whose sequence_number runs backwards are put in order, or that is logged", judge: judgeOrder},
	{Name: "burst-kept", Requirements: []string{"HS-068", "TERM-010"}, Level: 3, Strength: Must, plays: []string{"burst"},
		Rule: "as many events at once as were asked for are presented, in their order", judge: judgeBurst},
	{Name: "critical-under-load", Requirements: []string{"LVL-040", "HS-070"}, Level: 3, Strength: Must, plays: []string{"burst"},
		Rule: "a critical event is presented though many others came before it", judge: presents("burstend", theError)},
	{Name: "takes-leave", Requirements: []string{"LVL-038", "HS-079"}, Level: 3, Strength: Must, plays: []string{"quit"},
		Rule: "when the user ends it, the target sends subscription.close before it goes", judge: quitting(func(r *Recording, m message) finding {
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
		Rule: "subscription.close has type, subscription_id, reason_code and reason_message", judge: quitting(func(r *Recording, m message) finding {
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
		Rule: "who demands a signed manifest leaves a producer that shows a forged one, or none", judge: judgeForged},
}

// eachOf judges all messages of a type that came.
func eachOf(typ string, wrong func(message) string) func(*Recording) finding {
	return func(r *Recording) finding {
		n := 0
		for l := range r.links() {
			for _, m := range of(r.all(l, false), typ) {
				if w := wrong(m); w != "" {
					return fail(w, m.Entry)
				}
				n++
			}
		}
		return some(n, typ+" messages were right")
	}
}

// grantLess agrees to less than was asked for.
func grantLess(sc *scene) {
	c := sc.next(arrival)
	if c == nil {
		return
	}
	less := object{"max_events_per_second": 2, "supported_extensions": nil, "supports_confirmation_reply": false, "supports_clarification_reply": false,
		"coalesce_boundaries": nil, "pace_wpm": nil}
	asked := c.request.obj("capabilities")
	if rate, ok := asked["max_events_per_second"].(float64); ok && rate < 2 {
		less["max_events_per_second"] = rate
	}
	for name, v := range asked { // extensions
		if _, ok := v.(object); ok && name != "event_filters" {
			less[name] = nil
		}
	}
	c.accepted(less)
	s := sessionID()
	c.emit(c.event("granted", s, started, "Less than you wanted", nil))
	sc.presented(c.emit(c.event("grantedtoo", s, completed, "It was enough", nil)))
}

// renegotiate lets the user choose another verbosity.
func renegotiate(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	s, other := sessionID(), sessionID()
	c.emit(c.event("other", other, started, "Some words", nil))
	sc.presented(c.emit(c.event("verbose", s, started, "Many words", nil)))
	chosen := "terse"
	if c.verbosity() == chosen {
		chosen = "detailed"
	}
	sc.do(object{"verbosity": chosen})
	_, came := c.receive(sc.patience, 1, "subscription.renegotiate")
	c.emit(c.event("oldterms", s, invoked, "Still in many words", toolCall()))
	sc.presented(c.emit(c.event("oldtermstoo", sessionID(), started, "Many more words", nil)))
	if came {
		c.accepted(nil)
	}
	c.emit(c.event("newterms", s, invoked, "In other words", toolCall()))
	sc.presented(c.emit(c.event("newtermstoo", other, completed, "Fewer words", nil)))
}

func renegotiating(judge func(r *Recording, act, m message) finding) func(*Recording) finding {
	return func(r *Recording) finding {
		if why := r.silent(); why != "" {
			return unseen(why)
		}
		acts := r.all(hookLink, true)
		if len(acts) == 0 {
			return unseen("the target was gone before the user chose")
		}
		var m message
		if all := of(r.all(0, false), "subscription.renegotiate"); len(all) > 0 {
			m = all[0]
		}
		return judge(r, acts[0], m)
	}
}

// refuse refuses the first request, and takes the second.
func refuse(sc *scene) {
	c := sc.next(arrival)
	if c == nil {
		return
	}
	c.rejected("capabilities_incompatible", nil)
	if len(extensionsOf(c.request)) == 0 {
		return
	}
	if again := sc.next(sc.patience); again != nil {
		again.accepted(nil)
		sc.presented(again.emit(again.event("taken", sessionID(), started, "Welcome all the same", nil)))
	}
}

// extensionsOf are those that a request names.
func extensionsOf(request message) (list []string) {
	caps := request.obj("capabilities")
	list = texts(caps["supported_extensions"])
	for name, v := range caps {
		if _, ok := v.(object); ok && name != "event_filters" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func judgeRefused(r *Recording) finding {
	first := of(r.all(0, false), "subscription.request")
	if len(first) == 0 {
		return unseen("no subscription.request came")
	}
	if len(extensionsOf(first[0])) == 0 {
		return finding{Skipped, "the target asks for no extensions, so nothing can conflict", nil}
	}
	for l := 1; l < r.links(); l++ {
		for _, m := range of(r.all(l, false), "subscription.request") {
			if slices.Equal(extensionsOf(m), extensionsOf(first[0])) {
				return fail("the request that was refused came again with the same extensions", first[0].Entry, m.Entry)
			}
			return pass("the target asked again for less", first[0].Entry, m.Entry)
		}
	}
	return fail(fmt.Sprintf("the target did not ask again within %v", r.limit), first[0].Entry)
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

func judgeDoubles(r *Recording) finding {
	return heard("double", func(r *Recording, m message, text string) finding {
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
		seen := map[string]message{}
		for _, t := range r.told(m.str("event_id")) {
			if was, ok := seen[t.str("text")]; ok {
				return fail("an event that came twice was presented twice", was.Entry, t.Entry)
			}
			seen[t.str("text")] = t
		}
		if text == "" {
			return unseen("the event was not presented at all")
		}
		return pass("the event came twice and was presented once", lines(r, m)...)
	})(r)
}

func judgeOrder(r *Recording) finding {
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

func judgeBurst(r *Recording) finding {
	at, n := -1, 0
	for _, m := range r.all(0, true) {
		if m.typ() != invoked {
			continue
		}
		got := r.told(m.str("event_id"))
		if _, f := r.put("burst0"); f.verdict != "" {
			return f
		}
		switch {
		case len(got) == 0:
			return fail(fmt.Sprintf("of events that came at once, the %s one was not presented", ordinal(n+1)), m.Entry)
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

func ordinal(n int) string { return fmt.Sprintf("%dth", n) }

// quit lets the user end the target.
func quit(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	sc.presented(c.emit(c.event("farewell", sessionID(), started, "This will not take long", nil)))
	sc.do(object{"quit": true})                             // userQuits
	sc.tape.wait(sc.ctx, leaving, func(r *Recording) bool { // its last words may come after its end
		_, left := r.noted(0, noteLeft)
		return left || len(of(r.all(0, false), "subscription.close")) > 0
	})
}

func quitting(judge func(r *Recording, m message) finding) func(*Recording) finding {
	return func(r *Recording) finding {
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
	c := sc.next(arrival)
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

func judgeForged(r *Recording) finding {
	all := of(r.all(0, false), "subscription.request")
	switch {
	case len(all) == 0:
		return unseen("no subscription.request came")
	case all[0].obj("capabilities")["accept_signed_manifests_only"] != true:
		return finding{Skipped, "the target does not demand a signed manifest", nil}
	}
	if left, ok := r.noted(0, noteLeft); ok {
		return pass("it left", left)
	}
	if bye := of(r.all(0, false), "subscription.close"); len(bye) > 0 {
		return pass("it left", bye[0].Entry)
	}
	return fail("the target demands a signed manifest and stayed with a producer whose signature is forged", all[0].Entry)
}

// linkCases judge what the target does when the link breaks. It need not come back; how it does is judged.
var linkCases = []Case{
	{Name: "survives-cut", Requirements: []string{"HS-080"}, Level: 3, Strength: Must, plays: []string{"cut"},
		Rule: "a link that breaks without a word does no harm: the target goes on, or ends in an orderly way", judge: func(r *Recording) finding {
			cut, ok := r.noted(0, noteCut)
			switch {
			case !ok:
				return unseen("the link was not broken")
			case r.back() == nil:
				for _, e := range r.Entries[slices.IndexFunc(r.Entries, func(e Entry) bool { return e.Note == noteCut }):] {
					if strings.HasPrefix(e.Note, noteGone) && e.Note != noteGone+"it said nothing" {
						return fail("the target ended in disorder when the link broke", cut, e)
					}
				}
				return finding{Skipped, "the target did not come back, and need not", nil}
			}
			return presentsAny("aftercut", "aftercuttoo")(r)
		}},
	{Name: "goes-on", Requirements: []string{"SSE-012"}, Level: 3, Strength: Should, plays: []string{"cut"},
		Rule: "a stream that is opened again names the last event that came", judge: func(r *Recording) finding {
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
	{Name: "stream-headers", Requirements: []string{"SSE-015"}, Level: 3, Strength: Must, plays: []string{"less", "cut"},
		Rule: "a stream is asked for with Accept: text/event-stream and Cache-Control: no-cache", judge: func(r *Recording) finding {
			var opened *Entry
			for i, e := range r.Entries {
				switch {
				case strings.HasPrefix(e.Note, noteWrong):
					return fail(strings.TrimPrefix(e.Note, noteWrong), e)
				case strings.HasPrefix(e.Note, noteStream):
					opened = &r.Entries[i]
				}
			}
			if opened == nil {
				return finding{Skipped, "there was no stream: this is another transport", nil}
			}
			return pass("the stream was asked for as it should be", *opened)
		}},
	{Name: "comes-back-calmly", Requirements: []string{"GRPC-005"}, Level: 3, Strength: Should, plays: []string{"calm"},
		Rule: "who is cut again and again does not come back without a pause", judge: func(r *Recording) finding {
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
	again.send(encoded(double), double["event_id"].(string))
	again.states = c.states
	again.emit(again.event("aftercut", s, invoked, "Measuring the water", toolCall()))
	sc.presented(again.emit(again.event("aftercuttoo", other, completed, "The tide goes out", nil)))
}

// cutLimit is how long a target may take to come back.
const cutLimit = 8 * time.Second

// after waits until the target is back after a cut: on the same call with another stream, or on a new one.
func (c *call) after() *call {
	limit := cutLimit
	select {
	case conn := <-c.sc.arrivals:
		again := c.sc.take(conn)
		again.accepted(nil)
		return again
	case c.stream = <-c.streams:
		return c
	case <-time.After(limit):
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
