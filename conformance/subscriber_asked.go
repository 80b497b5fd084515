package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance/check"
	"github.com/aaep-go/aaep/internal/spoken"
)

const (
	theAction      = "Pay 40 crowns for the berth"
	theWholeAction = theAction + " at the north end of the long pier, where the ship lies for three nights and takes on water, and 12 crowns to the pilot who brings her in and out"
	theConsequence = "The money cannot be called back"
	theQuestion    = "Which berth shall it be"
)

// clockSlack is how far a stamp may be from the moment it tells of.
const clockSlack = 2 * time.Second

// mayAsk reports whether the target has said that it can reply. A good producer asks nobody else (§5.3.1.4).
func (c *call) mayAsk(what string) bool { return c.terms["supports_"+what+"_reply"] == true }

// ask asks for a decision, and waits until all of the question was presented.
func (c *call) ask(label, session string, seconds int, risk, action string) (q object, presented bool) {
	q = c.question(label, session, seconds, risk, action)
	if !c.mayAsk("confirmation") {
		return q, false
	}
	return q, c.sc.presented(c.emit(q), action, theConsequence)
}

// question is an event that asks for a decision.
func (c *call) question(label, session string, seconds int, risk, action string) object {
	irreversible := risk == "high"
	return c.event(label, session, confirm, theAction, object{"action": action, "consequence": theConsequence,
		"reply_token": "rpl_" + "0O1lI" + random() + "Zz", "timeout_seconds": seconds, "default_decision": "reject", "risk_level": risk, "irreversible": irreversible,
		"reversibility": map[bool]string{true: "irreversible", false: "reversible"}[irreversible]})
}

// clarification asks for an answer of a kind.
func (c *call) clarification(label, session, kind string, more object) (q object, presented bool) {
	q = c.event(label, session, clarify, theQuestion, with(object{"question": theQuestion, "reply_token": "rpl_" + random(), "timeout_seconds": 60,
		"accepted_response_kinds": []string{kind}}, more))
	if !c.mayAsk("clarification") {
		return q, false
	}
	return q, c.sc.presented(c.emit(q), theQuestion)
}

// decide lets the user answer a question, and again as long as they may not have heard all of it: a target tells when it begins to
// say something, and need not take an answer before its user can have heard what it is to.
func (c *call) decide(q object, act object) bool {
	text := ""
	for _, m := range c.sc.tape.now().told(q["event_id"].(string)) {
		text += m.str("text") + " "
	}
	for heard := time.Now().Add(spoken.Time(text, slowPace)); ; {
		c.sc.do(act)
		if c.answered(q) {
			return true
		}
		if !time.Now().Before(heard) || c.sc.gone.Load() || c.left() {
			return false
		}
	}
}

// slowPace is how many words a minute a patient listener hears.
const slowPace = 100

// answered waits for the reply to a question.
func (c *call) answered(q object) bool {
	return c.sc.wait(c.sc.patience, func(r *Recording) bool { return len(r.repliesTo(q["reply_token"])) > 0 })
}

// settled tells that a question was answered, and what came of it.
func (c *call) settled(label, session string) {
	c.emit(c.event(label, session, state, "Going on", object{"to_state": "thinking"}))
}

// questioned are the answers that a user gives to clarifications.
var questioned = []struct {
	label, kind string
	answer      any
	more        object
}{
	{"askyes", "yes_no", true, nil},
	{"askno", "yes_no", false, nil},
	{"asknumber", "numeric", 7.0, nil},
	{"asknought", "numeric", 0.0, nil},
	{"askchoice", "multiple_choice", "east", object{"choices": []object{{"value": "west", "label": "The west pier"}, {"value": "East", "label": "The far pier"},
		{"value": "east", "label": "The east pier"}}}},
	{"asktext", "freetext", "Ẹ káàárọ̀, the \"old\" pier", nil},
}

// tellAnswers asks everything that can be asked, and the user answers.
func tellAnswers(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	s, other := sessionID(), sessionID()
	c.emit(c.event("askstart", s, started, "A ship wants a berth", nil))
	c.emit(c.event("askother", other, started, "Another one waits", nil))
	for _, step := range []struct{ label, session, risk, decision string }{{"highrisk", s, "high", "accept"}, {"lowrisk", other, "low", "reject"}} {
		if q, ok := c.ask(step.label, step.session, 60, step.risk, theWholeAction); ok || sc.shown(q) {
			if step.session == s { // what another session does settles nothing, and a person thinks before they decide
				c.inState(other, "thinking")
				sc.pause(clockSlack + quiet)
			}
			act := object{"event_id": q["event_id"], "decision": step.decision}
			if c.decide(q, act) {
				sc.do(act) // a finger that trembles
				sc.pause(quiet)
			}
			c.settled(step.label+"over", step.session)
		}
	}
	for _, k := range questioned {
		if q, ok := c.clarification(k.label, s, k.kind, k.more); ok || sc.shown(q) {
			c.decide(q, object{"event_id": q["event_id"], "response": k.answer})
			c.settled("settled"+k.label, s)
		}
	}
	sc.presented(c.emit(c.event("askend", s, completed, "The ship is in", nil)))
}

// shown reports whether anything of an event was presented.
func (sc *scene) shown(e object) bool {
	id, _ := e["event_id"].(string)
	return sc.hook.text(id) != ""
}

// The two questions that are open at once.
const (
	firstAction  = "Open the lock of the west harbour"
	secondAction = "Close the bridge over the canal"
)

// askTwo has two questions open at once, in two sessions. The user accepts the first, and then rejects the second.
func askTwo(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	a, b := sessionID(), sessionID()
	c.emit(c.event("twoa", a, started, "A ship waits at the lock", nil))
	c.emit(c.event("twob", b, started, "A cart waits at the bridge", nil))
	first, shown := c.ask("first", a, 60, "high", firstAction)
	if !shown && !sc.shown(first) {
		return
	}
	second := c.question("second", b, 60, "high", secondAction)
	c.emit(second)
	sc.pause(2 * quiet) // a target may put one question after the other
	c.decide(first, object{"event_id": first["event_id"], "decision": "accept"})
	c.settled("firstover", a)
	id, _ := second["event_id"].(string)
	if sc.presented(id, secondAction) {
		c.decide(second, object{"event_id": id, "decision": "reject"})
		c.settled("secondover", b)
	}
	sc.presented(c.emit(c.event("twoend", sessionID(), started, "The tide turns", nil)))
}

// judgeTwoOpen sees that each answer of the user's is to the question that they answered.
func judgeTwoOpen(r *Recording, q, act message, replies []message) Finding {
	other, ok := r.sentAs("second")
	if !ok {
		return unseen("the second question was not sent")
	}
	later, pressed := r.pressed(other)
	for _, m := range r.repliesTo(other.m["reply_token"]) {
		if !pressed || m.n < later.n {
			return fail("the user answered one of two open questions, and the reply was to the other", q.Entry, other.Entry, act.Entry, m.Entry)
		}
	}
	switch {
	case len(replies) == 0:
		return fail("of two open questions the user answered the first, and no reply to it was sent", q.Entry, other.Entry, act.Entry)
	case replies[0].str("decision") != "accept":
		return fail("of two open questions the user accepted the first, and "+quoted(replies[0].str("decision"))+" was sent", q.Entry, act.Entry, replies[0].Entry)
	case !pressed:
		return fail("of two open questions the second was not presented, neither beside the first nor after it", q.Entry, other.Entry)
	}
	got := r.repliesTo(other.m["reply_token"])
	switch {
	case len(got) == 0:
		return fail("when the first of two questions was settled, the second could not be answered any more", other.Entry, later.Entry)
	case got[0].str("decision") != "reject":
		return fail("of two open questions the user rejected the second, and "+quoted(got[0].str("decision"))+" was sent", other.Entry, later.Entry, got[0].Entry)
	}
	return pass("each of two questions got the user's answer to it", act.Entry, replies[0].Entry, later.Entry, got[0].Entry)
}

// leaveAlone asks, and nobody answers until it is too late.
func leaveAlone(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	s := sessionID()
	c.emit(c.event("alone", s, started, "A ship wants a berth", nil))
	q, ok := c.ask("unattended", s, 1, "high", theAction)
	if !ok && !sc.shown(q) {
		return
	}
	sc.pause(time.Second + clockSlack) // and no word that the time is over
	sc.late(c, q, "accept")
}

// late lets the user answer what is no longer open.
func (sc *scene) late(c *call, q object, decision string) {
	sc.do(object{"event_id": q["event_id"], "decision": decision})
	sc.presented(c.emit(c.event("late", sessionID(), started, "Another ship", nil)))
	sc.pause(2 * quiet)
}

// withdraw asks, and takes the questions back.
func withdraw(how func(c *call, session string) object) func(*scene) {
	return func(sc *scene) {
		c := sc.begin()
		if c == nil {
			return
		}
		s := sessionID()
		c.emit(c.event("withdrawn", s, started, "A ship wants a berth", nil))
		q, ok := c.ask("withdrawable", s, 60, "high", theAction)
		if !ok && !sc.shown(q) {
			return
		}
		c.emit(how(c, s))
		sc.presented(c.emit(c.event("withdrew", sessionID(), started, "The ship is gone", nil)))
		sc.late(c, q, "accept")
	}
}

func cancelSession(c *call, s string) object {
	return c.event("takenback", s, cancelled, "The ship turned round", object{"cancelled_by": "user", "cancellation_reason": "user_request"})
}

func answerElsewhere(c *call, s string) object {
	return c.event("takenback", s, state, "Somebody else has answered", object{"to_state": "thinking"})
}

// repliesTo are the replies with a token, on any call.
func (r *Recording) repliesTo(token any) (list []message) {
	for _, m := range r.replies() {
		if m.m["reply_token"] == token {
			list = append(list, m)
		}
	}
	return list
}

func (r *Recording) replies() (list []message) {
	for l := range r.links() {
		list = append(list, of(r.all(l, false), "confirmation.reply", "clarification.reply")...)
	}
	return list
}

// pressed is when the user answered a question.
func (r *Recording) pressed(q message) (message, bool) {
	for _, m := range r.all(hookLink, true) {
		if m.str("event_id") == q.str("event_id") {
			return m, true
		}
	}
	return message{}, false
}

// answer judges what came of the user's answer to the question with a label.
func answer(label string, judge func(r *Recording, q, act message, replies []message) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		q, f := r.put(label)
		if q.m == nil {
			if c := r.all(0, false); len(c) > 0 && c[0].obj("capabilities")["supports_confirmation_reply"] != true && r.silent() == "" {
				return Finding{Verdict: Inconclusive, Seen: "the target does not say that it can reply, so it was not asked", Evidence: []Entry{c[0].Entry}}
			}
			return f
		}
		act, ok := r.pressed(q)
		if !ok {
			return Finding{Verdict: Inconclusive, Seen: "the question was not presented", Evidence: []Entry{q.Entry}}
		}
		return judge(r, q, act, r.repliesTo(q.m["reply_token"]))
	}
}

// eachReply judges all replies of a play; the first that is wrong decides.
func eachReply(wrong func(r *Recording, m message) string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		all := r.replies()
		for _, m := range all {
			if w := wrong(r, m); w != "" {
				return fail(w, m.Entry)
			}
		}
		return replied(len(all), "replies were right")
	}
}

// replied is a pass, if anything was replied at all.
func replied(n int, what string) Finding {
	if n == 0 {
		return unseen("no reply came")
	}
	return pass(fmt.Sprintf("%d %s", n, what))
}

// question is what a reply is to, by its token.
func (r *Recording) question(reply message) (message, bool) {
	for _, q := range of(r.all(reply.Link, true), confirm, clarify) {
		if q.n < reply.n && q.str("reply_token") != "" && q.m["reply_token"] == reply.m["reply_token"] {
			return q, true
		}
	}
	return message{}, false
}

// noReply judges that the user's answer came too late to be sent.
func noReply(why string) func(r *Recording, q, act message, replies []message) Finding {
	return func(r *Recording, q, act message, replies []message) Finding {
		for _, m := range replies {
			if m.n > act.n {
				return fail("an answer was sent "+why, q.Entry, act.Entry, m.Entry)
			}
		}
		return pass("no answer was sent "+why, q.Entry, act.Entry)
	}
}

var asked = []string{"answers"}

// askedCases judge how questions are presented and answered.
var askedCases = []Case{
	{Name: "says-it-replies", Requirements: []string{"HS-022"}, Level: 2, Strength: Must, plays: asked,
		Rule: "a subscriber of Level 2 declares supports_confirmation_reply", Judge: func(r *Recording) Finding {
			all := of(r.all(0, false), "subscription.request")
			switch _, substituted := r.noted(0, noteSubstitute); {
			case substituted:
				return skipped("without a handshake it declares nothing")
			case len(all) == 0:
				return unseen("no subscription.request came")
			}
			if all[0].obj("capabilities")["supports_confirmation_reply"] != true {
				return fail("supports_confirmation_reply is not true", all[0].Entry)
			}
			return pass("supports_confirmation_reply is true", all[0].Entry)
		}},
	{Name: "prompt-whole", Requirements: []string{"EVT-078", "SEC-002"}, Level: 2, Strength: Must, plays: asked,
		Rule: "a confirmation is presented with its action and its consequence, unchanged", Judge: presents("highrisk", theWholeAction, theConsequence)},
	{Name: "risk-shown", Requirements: []string{"LVL-025"}, Level: 2, Strength: Must, plays: asked,
		Rule: "a confirmation of high risk stands out from one of low risk", Judge: differ("questions of high and of low risk are presented alike", "highrisk", "lowrisk")},
	{Name: "decision-sent", Requirements: []string{"LVL-023"}, Level: 2, Strength: Must, plays: asked,
		Rule: "when the user has decided, a reply is sent", Judge: answer("highrisk", func(r *Recording, q, act message, replies []message) Finding {
			sent := slices.DeleteFunc(of(r.replies(), "confirmation.reply"), func(m message) bool { // a token that no question has is judged by itself
				to, known := r.question(m)
				return known && to.n != q.n
			})
			if len(sent) == 0 {
				return fail("the user accepted, and no reply was sent", q.Entry, act.Entry)
			}
			return pass("the user decided, and a reply came", act.Entry, sent[0].Entry)
		})},
	{Name: "decision-kept", Requirements: []string{"CONF-013", "LVL-023"}, Level: 2, Strength: Must, plays: asked,
		Rule: "the decision is what the user decided", Judge: func(r *Recording) Finding {
			n := 0
			for _, m := range of(r.replies(), "confirmation.reply") {
				if q, ok := r.question(m); ok {
					if act, ok := r.pressed(q); ok {
						if n++; m.str("decision") != act.str("decision") {
							return fail("the user decided "+quoted(act.str("decision"))+", and "+quoted(m.str("decision"))+" was sent", act.Entry, m.Entry)
						}
					}
				}
			}
			return replied(n, "decisions were sent as they were made")
		}},
	{Name: "reply-once", Requirements: []string{"LVL-023", "CONF-010"}, Level: 2, Strength: Must, plays: asked,
		Rule: "a question is replied to once, however often the user presses", Judge: eachReply(func(r *Recording, m message) string {
			if n := len(r.repliesTo(m.m["reply_token"])); n > 1 {
				return fmt.Sprintf("a question was replied to %d times", n)
			}
			return ""
		})},
	{Name: "token-echoed", Requirements: []string{"LVL-024", "EVT-077", "CONF-010", "TERM-017"}, Level: 2, Strength: Must, plays: asked,
		Rule: "a reply carries the token of a question, byte for byte", Judge: eachReply(func(r *Recording, m message) string {
			if _, ok := r.question(m); !ok {
				return "a reply carries the token " + quoted(m.str("reply_token")) + ", which no question had"
			}
			return ""
		})},
	{Name: "reply-valid", Requirements: []string{"CONF-012", "CONF-017", "CONF-040"}, Level: 2, Strength: Must, plays: asked,
		Rule: "a reply has the members it must have, and no others", Judge: eachReply(func(r *Recording, m message) string {
			if _, substituted := r.noted(m.Link, noteSubstitute); substituted && m.m["subscription_id"] == nil { // there is none to name
				m.Data = encoded(with(m.m, object{"subscription_id": "sub_implicit"}))
			}
			return invalid(m, "/decision", "/reply_token", "/response")
		})},
	{Name: "reply-subscription", Requirements: []string{"CONF-014"}, Level: 2, Strength: Must, plays: asked,
		Rule: "a reply names the subscription that it comes from", Judge: eachReply(func(r *Recording, m message) string {
			if _, substituted := r.noted(m.Link, noteSubstitute); substituted {
				return "" // there is none to name
			}
			for _, a := range of(r.all(m.Link, true), "subscription.accepted") {
				if a.str("subscription_id") == m.str("subscription_id") {
					return ""
				}
			}
			return "a reply names the subscription " + quoted(m.str("subscription_id"))
		})},
	{Name: "reply-stamp", Requirements: []string{"CONF-015"}, Level: 2, Strength: Must, plays: asked,
		Rule: "the timestamp of a reply is when the user decided", Judge: func(r *Recording) Finding {
			n := 0
			for _, m := range r.replies() {
				q, asks := r.question(m)
				act, done := r.pressed(q)
				at, ok := aaep.ParseTimestamp(m.str("timestamp"))
				if !asks || !done || !ok {
					continue
				}
				if n++; at.Before(act.At.Add(-clockSlack)) || at.After(m.At.Add(clockSlack)) {
					return fail(fmt.Sprintf("the stamp is %v from the user's decision", at.Sub(act.At).Round(time.Second)), act.Entry, m.Entry)
				}
			}
			return replied(n, "replies are stamped with the moment of the decision")
		}},
	{Name: "answers-sent", Requirements: []string{"LVL-026", "CONF-041", "CONF-042"}, Level: 2, Strength: Must, plays: asked,
		Rule: "each kind of clarification can be answered, and the answer is sent as it was given", Judge: func(r *Recording) Finding {
			for _, k := range questioned {
				f := answer(k.label, func(r *Recording, q, act message, replies []message) Finding {
					switch {
					case len(replies) == 0:
						return fail("the user answered a question of the kind "+k.kind+", and no reply was sent", q.Entry, act.Entry)
					case replies[0].m["response"] != k.answer:
						return fail(fmt.Sprintf("the user answered %v to a question of the kind %s, and %v was sent", k.answer, k.kind, replies[0].m["response"]), q.Entry, act.Entry, replies[0].Entry)
					}
					return pass("each kind of question was answered")
				})(r)
				if f.Verdict != Pass {
					return f
				}
			}
			return pass("each kind of question was answered as the user did")
		}},
	{Name: "answers-the-one", Requirements: []string{"LVL-023", "LVL-024", "CONF-010"}, Level: 2, Strength: Must, plays: []string{"two-open"},
		Rule: "of two questions that are open at once, each is answered with what the user answered to it", Judge: answer("first", judgeTwoOpen)},
	{Name: "never-by-itself", Requirements: []string{"EVT-079", "LVL-023", "SEC-002"}, Level: 2, Strength: Must, plays: []string{"unattended"},
		Rule: "no reply is sent that the user did not give", Judge: answer("unattended", func(r *Recording, q, act message, replies []message) Finding {
			for _, m := range r.replies() {
				if m.n < act.n {
					return fail("a reply was sent though the user had not decided", q.Entry, m.Entry)
				}
			}
			return pass("nothing was sent before the user decided", q.Entry, act.Entry)
		})},
	{Name: "expires", Requirements: []string{"CONF-039"}, Level: 2, Strength: Must, plays: []string{"unattended"},
		Rule: "a question can no longer be answered when its timeout_seconds are over, though nobody says so", Judge: answer("unattended", noReply("after the time was over"))},
	{Name: "gone-when-cancelled", Requirements: []string{"LVL-028", "CONF-053"}, Level: 2, Strength: Must, plays: []string{"cancelled"},
		Rule: "a question can no longer be answered when its session was cancelled", Judge: answer("withdrawable", noReply("after the session was cancelled"))},
	{Name: "gone-when-settled", Requirements: []string{"LVL-028"}, Level: 2, Strength: Must, plays: []string{"settled"},
		Rule: "a question can no longer be answered when the agent has gone on", Judge: answer("withdrawable", noReply("after the agent had gone on"))},
}

// invalid says what is wrong with a message, but for members that other cases judge, or "".
func invalid(m message, but ...string) string {
	c := check.Checker{SchemaOnly: true}
	for _, f := range c.Message(1, m.Data) {
		if !f.Note && !slices.Contains(but, f.Pointer) {
			return fmt.Sprintf("%s: %s %s", m.typ(), f.Pointer, f.Problem)
		}
	}
	return ""
}
