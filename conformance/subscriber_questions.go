package conformance

import (
	"fmt"
	"slices"
	"strings"
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

// What is unusual and right in a question: signs that mean something elsewhere, several lines, and
// much to say.
var (
	anOddAction      = "Run rm -r boats/* && echo \"<all 12 of them>\" > log.txt"
	anOddConsequence = "The boats are gone.\nSo is what lies in them: " + func() (list string) {
		for i := range 4 {
			list += fmt.Sprintf("the nets and the ropes of boat %d, the sails and the oars,\n", i+1)
		}
		return list
	}() + "and the log of the last journey"
)

// anOddEnvelope is of an envelope what is right, and unlike that of other events.
var anOddEnvelope = object{"aaep_version": "1.4.0", "@context": []string{aaep.CoreContext, someContext},
	"extensions": object{"medai": object{"dose": 3}}, "localization_hints": object{"primary_language": "fr-FR"}}

// clockSlack is how far a stamp may be from the moment it tells of.
const clockSlack = 2 * time.Second

// canReply reports whether the target has said that it can reply. A good producer asks no other
// subscriber (§5.3.1.4).
func (c *targetConn) canReply(what string) bool { return c.terms["supports_"+what+"_reply"] == true }

// askDecision sends a question for a decision with so many seconds, and reports whether all of it
// was presented. It sends none to a target that cannot reply.
func (c *targetConn) askDecision(label, session string, seconds int, risk, action string) (q object, presented bool) {
	q = c.questionEvent(label, session, seconds, risk, action)
	if !c.canReply("confirmation") {
		return q, false
	}
	return q, c.harness.awaitPresented(c.emitEvent(q), action, theConsequence)
}

// questionEvent returns an event of a session that asks for a decision within so many seconds. One
// of high risk is irreversible. label is the name by which the judge finds the event.
func (c *targetConn) questionEvent(label, session string, seconds int, risk, action string) object {
	irreversible := risk == "high"
	return c.newEvent(label, session, confirm, theAction, object{"action": action, "consequence": theConsequence,
		"reply_token": "rpl_" + "0O1lI" + randomID() + randomID() + "Zz0O1lI", "timeout_seconds": seconds, "default_decision": "reject",
		"risk_level": risk, "irreversible": irreversible,
		"reversibility": map[bool]string{true: "irreversible", false: "reversible"}[irreversible]})
}

// askClarification sends a question that accepts one kind of answer, and reports whether all of it
// was presented. It sends none to a target that cannot reply.
func (c *targetConn) askClarification(label, session, kind string, more object) (q object, presented bool) {
	q = c.newEvent(label, session, clarify, theQuestion,
		withMembers(object{"question": theQuestion, "reply_token": "rpl_" + randomID(), "timeout_seconds": 60,
			"accepted_response_kinds": []string{kind}}, more))
	if !c.canReply("clarification") {
		return q, false
	}
	return q, c.harness.awaitPresented(c.emitEvent(q), append(choiceLabels(q), theQuestion)...)
}

// choiceLabels returns the words of what a question lets its user choose from.
func choiceLabels(q object) (labels []string) {
	choices, _ := q["choices"].([]object)
	for _, choice := range choices {
		labels = append(labels, choice["label"].(string))
	}
	return labels
}

// letUserDecide has the user answer a question, and reports whether a reply came. It repeats the
// act as long as a voice may still be saying the question: a target reports the beginning of what
// it says, and need not take an answer before the end. While the target goes on to tell of the
// question, the user is still at it, such as one who spells with switches, and it is waited for
// until the time of the question is over.
func (c *targetConn) letUserDecide(q object, act object) bool {
	id := q["event_id"].(string)
	text := c.harness.hook.presentedText(id)
	seconds, _ := q["timeout_seconds"].(int)
	begun := time.Now()
	for heard := begun.Add(spoken.Time(text, slowPace)); ; {
		told := c.harness.hook.presentedText(id)
		c.harness.sendUserAct(act)
		if c.awaitReply(q) {
			return true
		}
		goesOn := c.harness.hook.presentedText(id) != told && time.Since(begun) < time.Duration(seconds)*time.Second
		if !time.Now().Before(heard) && !goesOn || c.harness.gone.Load() || c.hasLeft() {
			return false
		}
	}
}

// slowPace is how many words a minute a patient listener hears.
const slowPace = 100

// awaitReply waits for the reply to the question q for as long as the run has patience, and reports
// whether it came.
func (c *targetConn) awaitReply(q object) bool {
	return c.harness.awaitCondition(c.harness.patience,
		func(r *Recording) bool { return len(r.repliesTo(q["reply_token"])) > 0 })
}

// emitSettled emits that a question was answered, and what came of it.
func (c *targetConn) emitSettled(label, session string) {
	c.emitEvent(c.newEvent(label, session, state, "Going on", object{"to_state": "thinking"}))
}

// thePiers are choices of which two values differ in case alone.
var thePiers = []object{{"value": "west", "label": "The west pier"}, {"value": "East", "label": "The far pier"},
	{"value": "east", "label": "The east pier"}}

// theMoorings are more choices than there are keys of digits.
var theMoorings = func() (list []object) {
	for i := range 12 {
		list = append(list, object{"value": fmt.Sprint(i + 1), "label": fmt.Sprintf("Mooring %d of the quay", i+1)})
	}
	return list
}()

// questionKinds are the answers that a user gives to clarifications.
var questionKinds = []struct {
	label, kind string
	answer      any
	more        object
}{
	{"askyes", "yes_no", true, nil},
	{"askno", "yes_no", false, nil},
	{"asknumber", "numeric", -16777217.25, nil},
	{"asknought", "numeric", 0.0, nil},
	{"askchoice", "multiple_choice", "east", object{"choices": thePiers}},
	{"askmany", "multiple_choice", "2", object{"choices": theMoorings}},
	{"asktext", "freetext", "Ẹ káàárọ̀, the \"old\" pier <2 & 3>" + strings.Repeat(", and on along the quay", 20),
		object{"timeout_seconds": 600}}, // with switches it takes minutes
	{"askfreely", "freetext", "Any berth", object{"accepted_response_kinds": nil}},
	{"asktwokinds", "yes_no", true, object{"accepted_response_kinds": []string{"freetext", "yes_no"}}},
}

// askEveryKind is the scenario run in which every kind of question is asked, and the user answers
// each that is presented. A target that cannot reply gets no confirmations.
func askEveryKind(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	s, other := sessionID(), sessionID()
	c.emitEvent(c.newEvent("askstart", s, started, "A ship wants a berth", nil))
	c.emitEvent(c.newEvent("askother", other, started, "Another one waits", nil))
	for _, step := range []struct{ label, session, risk, decision string }{{"highrisk", s, "high", "accept"},
		{"lowrisk", other, "low", "reject"}, {"again", s, "high", "reject"}} {
		if q, ok := c.askDecision(step.label, step.session, 60, step.risk, theWholeAction); ok || h.isPresented(q) {
			if step.label == "highrisk" { // what another session does settles nothing, and a person thinks before they decide
				c.enterState(other, "thinking")
				h.pauseFor(clockSlack + quiet)
			}
			act := object{"event_id": q["event_id"], "decision": step.decision}
			if c.letUserDecide(q, act) {
				h.sendUserAct(act) // a finger that trembles
				h.pauseFor(quiet)
			}
			c.emitSettled(step.label+"over", step.session)
		}
	}
	if c.canReply("confirmation") {
		h.awaitPresented(c.emitEvent(c.questionEvent("oddrisk", s, 60, "extreme", theWholeAction)), theWholeAction, theConsequence)
		c.emitSettled("oddriskover", s)
		bare := withMembers(c.questionEvent("bareask", s, 60, "low", theAction),
			object{"risk_level": nil, "irreversible": nil, "reversibility": nil})
		if h.awaitPresented(c.emitEvent(bare), theAction, theConsequence) {
			c.letUserDecide(bare, object{"event_id": bare["event_id"], "decision": "reject"})
		}
		c.emitSettled("bareaskover", s)
		odd := withMembers(c.questionEvent("oddask", s, 86400, "high", anOddAction), withMembers(anOddEnvelope,
			object{"consequence": anOddConsequence, "timestamp": otherStamp(),
				"allowed_replies": []string{"accept", "reject"}, "extra_context": object{"boats": 12}}))
		if h.awaitPresented(c.emitEvent(odd), anOddAction, anOddConsequence) {
			c.letUserDecide(odd, object{"event_id": odd["event_id"], "decision": "reject"})
		}
		c.emitSettled("oddaskover", s)
	}
	for _, k := range questionKinds {
		if q, ok := c.askClarification(k.label, s, k.kind, k.more); ok || h.isPresented(q) {
			c.letUserDecide(q, object{"event_id": q["event_id"], "response": k.answer})
			c.emitSettled("settled"+k.label, s)
		}
	}
	h.awaitPresented(c.emitEvent(c.newEvent("askend", s, completed, "The ship is in", nil)))
}

// isPresented reports whether anything of an event was presented.
func (h *subscriberHarness) isPresented(e object) bool {
	id, _ := e["event_id"].(string)
	return h.hook.presentedText(id) != ""
}

// The two questions that are open at once.
const (
	firstAction  = "Open the lock of the west harbour"
	secondAction = "Close the bridge over the canal"
)

// askTwoQuestions has two questions open at once, in two sessions. The user accepts the first, and
// then rejects the second.
func askTwoQuestions(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	a, b := sessionID(), sessionID()
	c.emitEvent(c.newEvent("twoa", a, started, "A ship waits at the lock", nil))
	c.emitEvent(c.newEvent("twob", b, started, "A cart waits at the bridge", nil))
	first, shown := c.askDecision("first", a, 60, "high", firstAction)
	if !shown && !h.isPresented(first) {
		return
	}
	second := c.questionEvent("second", b, 60, "high", secondAction)
	c.emitEvent(second)
	h.pauseFor(2 * quiet) // a target may put one question after the other
	c.letUserDecide(first, object{"event_id": first["event_id"], "decision": "accept"})
	c.emitSettled("firstover", a)
	c.emitEvent(c.newEvent("firstend", a, completed, "The lock is open", nil)) // which ends no other question
	id, _ := second["event_id"].(string)
	if h.awaitPresented(id, secondAction) {
		c.letUserDecide(second, object{"event_id": id, "decision": "reject"})
		c.emitSettled("secondover", b)
	}
	h.awaitPresented(c.emitEvent(c.newEvent("twoend", sessionID(), started, "The tide turns", nil)))
}

// judgeTwoOpen judges that each answer of the user's went to the question that they answered: q is
// the first, act the user's answer to it, and replies what the target sent for it; the second is
// found by its label.
func judgeTwoOpen(r *Recording, q, act message, replies []message) Finding {
	other, ok := r.eventLabelled("second")
	if !ok {
		return inconclusiveFinding("the second question was not sent")
	}
	later, pressed := r.userAnswer(other)
	for _, m := range r.repliesTo(other.members["reply_token"]) {
		if !pressed || m.index < later.index {
			return failFinding("the user answered one of two open questions, and the reply was to the other", q.Entry,
				other.Entry, act.Entry, m.Entry)
		}
	}
	switch {
	case len(replies) == 0:
		return failFinding("of two open questions the user answered the first, and no reply to it was sent", q.Entry,
			other.Entry, act.Entry)
	case replies[0].stringMember("decision") != "accept":
		return failFinding("of two open questions the user accepted the first, and "+
			quoteText(replies[0].stringMember("decision"))+" was sent", q.Entry, act.Entry, replies[0].Entry)
	case !pressed:
		return failFinding("of two open questions the second was not presented, neither beside the first nor after it",
			q.Entry, other.Entry)
	}
	got := r.repliesTo(other.members["reply_token"])
	switch {
	case len(got) == 0:
		return failFinding("when the first of two questions was settled, the second could not be answered any more",
			other.Entry, later.Entry)
	case got[0].stringMember("decision") != "reject":
		return failFinding("of two open questions the user rejected the second, and "+
			quoteText(got[0].stringMember("decision"))+" was sent", other.Entry, later.Entry, got[0].Entry)
	}
	return passFinding("each of two questions got the user's answer to it", act.Entry, replies[0].Entry, later.Entry,
		got[0].Entry)
}

// leaveUnanswered is the scenario run that asks two questions, and has the user answer each only
// when its time is over.
func leaveUnanswered(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	s := sessionID()
	c.emitEvent(c.newEvent("alone", s, started, "A ship wants a berth", nil))
	q, ok := c.askDecision("unattended", s, 1, "high", theAction)
	if !ok && !h.isPresented(q) {
		return
	}
	h.pauseFor(time.Second + clockSlack) // and no word that the time is over
	h.answerLate(c, q, "decision", "accept")
	other := sessionID()
	c.emitEvent(c.newEvent("alonetoo", other, started, "Another ship wants a berth", nil))
	if q, ok := c.askClarification("unansweredtoo", other, "yes_no", object{"timeout_seconds": 1,
		"default_response": "no"}); ok ||
		h.isPresented(q) {
		h.pauseFor(time.Second + clockSlack)
		h.answerLate(c, q, "response", true)
	}
}

// answerLate lets the user answer what is no longer open.
func (h *subscriberHarness) answerLate(c *targetConn, q object, member string, answer any) {
	h.sendUserAct(object{"event_id": q["event_id"], member: answer})
	h.awaitPresented(c.emitEvent(c.newEvent("late", sessionID(), started, "Another ship", nil)))
	h.pauseFor(2 * quiet)
}

// withdrawQuestions returns the scenario run that asks, takes the question back and has the user
// answer it all the same, in each of the ways. A question that is not presented is passed over.
func withdrawQuestions(ways []withdrawal) func(*subscriberHarness) {
	return func(h *subscriberHarness) {
		c := h.beginSubscription()
		if c == nil {
			return
		}
		for _, w := range ways {
			s := sessionID()
			c.emitEvent(c.newEvent("withdrawn", s, started, "A ship wants a berth", nil))
			ask, member, answer := func() (object, bool) { return c.askDecision(w.label, s, 60, "high", theAction) },
				"decision", any("accept")
			if w.answered {
				ask = func() (object, bool) { return c.askClarification(w.label, s, "yes_no", nil) }
				member, answer = "response", true
			}
			q, ok := ask()
			if !ok && !h.isPresented(q) {
				continue
			}
			c.emitEvent(c.newEvent("takenback", s, w.typ, w.say, w.more))
			h.awaitPresented(c.emitEvent(c.newEvent("withdrew", sessionID(), started, "The ship is gone", nil)))
			h.answerLate(c, q, member, answer)
		}
	}
}

// A withdrawal is an event that takes an open question away, in a session of its own.
type withdrawal struct {
	label    string // of the question
	answered bool   // whether the question is answered with text, a number or yes, and no decision
	typ      string
	say      string
	more     object
}

var endedSessions = []withdrawal{
	{"withdrawable", false, cancelled, "The ship turned round",
		object{"cancelled_by": "user", "cancellation_reason": "user_request"}},
	{"withdrawabletoo", true, cancelled, "The ship turned round",
		object{"cancelled_by": "user", "cancellation_reason": "user_request"}},
	{"withdrawablefailed", false, errored, "The ship has sunk",
		object{"error_category": "permanent", "error_code": "SHIP_SUNK", "recoverable": false}},
	{"withdrawabledone", true, completed, "The ship lies elsewhere", nil},
}

var settledElsewhere = []withdrawal{
	{"withdrawable", false, state, "Somebody else has answered", object{"to_state": "thinking"}},
	{"withdrawabletoo", true, state, "Somebody else has answered", object{"to_state": "writing_output"}},
	{"withdrawablecalled", false, state, "Somebody else has answered", object{"to_state": "calling_tool"}},
}

// repliesTo returns the replies with a token that the target sent, on any of its connections.
func (r *Recording) repliesTo(token any) (list []message) {
	for _, m := range r.repliesReceived() {
		if m.members["reply_token"] == token {
			list = append(list, m)
		}
	}
	return list
}

// repliesReceived returns the replies of the target on all links, of both kinds.
func (r *Recording) repliesReceived() (list []message) {
	for l := range r.linkCount() {
		list = append(list, ofTypes(r.messagesOn(l, false), "confirmation.reply", "clarification.reply")...)
	}
	return list
}

// userAnswer returns the act by which the user answered a question, or false if they did not.
func (r *Recording) userAnswer(q message) (message, bool) {
	for _, m := range r.messagesOn(hookLink, true) {
		if m.stringMember("event_id") == q.stringMember("event_id") {
			return m, true
		}
	}
	return message{}, false
}

// latestDecision returns the latest time that the stamp of a reply to the question q may say: that
// of the user's last act before it, and clockSlack more; or answerPause after all of the question
// can have been heard, if that is later, for a target need not take an answer before.
func (r *Recording) latestDecision(q, reply message) (latest time.Time) {
	id := q.stringMember("event_id")
	for _, act := range r.messagesOn(hookLink, true) {
		if act.stringMember("event_id") == id && act.index < reply.index {
			latest = act.At.Add(clockSlack)
		}
	}
	for _, told := range r.presentedLines(id) {
		heard := told.At.Add(spoken.Time(told.stringMember("text"), fastPace))
		if taken := heard.Add(answerPause); told.index < reply.index && taken.After(latest) {
			latest = taken
		}
	}
	return latest
}

const (
	// fastPace is how many words a minute the fastest voice says that docs/conformance.md allows.
	fastPace = 1400
	// answerPause is how long after the last words a target may wait before it takes an answer. The
	// page asks for a second; the rest is for a busy machine.
	answerPause = 1500 * time.Millisecond
)

// judgeAnswer makes a judge of a recording of a judge of what came of the user's answer act to the
// question q with a label: replies are what the target sent for it. Without the question, or an
// answer of the user's, it is inconclusive.
func judgeAnswer(label string, judge func(r *Recording, q, act message,
	replies []message) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		q, f := r.eventToJudge(label)
		if q.members == nil {
			if c := r.messagesOn(0, false); len(c) > 0 &&
				c[0].objectMember("capabilities")["supports_confirmation_reply"] != true && r.whyUnobservable() == "" {
				return Finding{Verdict: Inconclusive,
					Seen:     "the target does not say that it can reply, so it was not asked",
					Evidence: []Entry{c[0].Entry}}
			}
			return f
		}
		act, ok := r.userAnswer(q)
		if !ok {
			return Finding{Verdict: Inconclusive, Seen: "the question was not presented", Evidence: []Entry{q.Entry}}
		}
		return judge(r, q, act, r.repliesTo(q.members["reply_token"]))
	}
}

// judgeReplied judges that a reply came when the user had answered the question with a label.
func judgeReplied(label string) func(*Recording) Finding {
	return judgeAnswer(label, func(r *Recording, q, act message, replies []message) Finding {
		if len(replies) == 0 {
			return failFinding("the user decided, and no reply was sent", q.Entry, act.Entry)
		}
		return passFinding("the user decided, and a reply came", q.Entry, act.Entry, replies[0].Entry)
	})
}

// judgeAnswers is judgeAnswer for a first question, and for others where the target was asked them.
func judgeAnswers(judge func(r *Recording, q, act message, replies []message) Finding, label string,
	others ...string) func(*Recording) Finding {
	var also []func(*Recording) Finding
	for _, other := range others {
		also = append(also, judgeAnswer(other, judge))
	}
	return judgeWith(judgeAnswer(label, judge), also...)
}

// eachReply makes a judge of a recording of wrong, which returns what is wrong with one reply, or
// "". The first reply that is wrong fails.
func eachReply(wrong func(r *Recording, m message) string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		all := r.repliesReceived()
		for _, m := range all {
			if w := wrong(r, m); w != "" {
				return failFinding(w, m.Entry)
			}
		}
		return passIfReplied(len(all), "replies were right")
	}
}

// passIfReplied returns a pass, if anything was replied at all.
func passIfReplied(n int, what string) Finding {
	if n == 0 {
		return inconclusiveFinding("no reply came")
	}
	return passFinding(fmt.Sprintf("%d %s", n, what))
}

// questionOf returns the question before a reply, on its link, that has the reply's token, or
// false.
func (r *Recording) questionOf(reply message) (message, bool) {
	for _, q := range ofTypes(r.messagesOn(reply.Link, true), confirm, clarify) {
		if q.index < reply.index && q.stringMember("reply_token") != "" &&
			q.members["reply_token"] == reply.members["reply_token"] {
			return q, true
		}
	}
	return message{}, false
}

// judgeNoReply returns a judge of an answer of the user's that must not be sent, for the reason in
// why: a reply after the user's act fails.
func judgeNoReply(why string) func(r *Recording, q, act message, replies []message) Finding {
	return func(r *Recording, q, act message, replies []message) Finding {
		for _, m := range replies {
			if m.index > act.index {
				return failFinding("an answer was sent "+why, q.Entry, act.Entry, m.Entry)
			}
		}
		return passFinding("no answer was sent "+why, q.Entry, act.Entry)
	}
}

var questionRuns = []string{"answers"}

// questionedCases judge how questions are presented and answered.
var questionedCases = []Case{
	{Name: "says-it-replies", Requirements: []string{"HS-022"}, Level: 2, Strength: Must, plays: questionRuns,
		beside: []string{"renegotiate"},
		Rule:   "a subscriber of Level 2 declares supports_confirmation_reply, and does not take that back by itself",
		Judge: func(r *Recording) Finding {
			all := ofTypes(r.messagesOn(0, false), "subscription.request")
			switch _, substituted := r.noteOn(0, noteSubstitute); {
			case substituted:
				return skippedFinding("without a handshake it declares nothing")
			case len(all) == 0:
				return inconclusiveFinding("no subscription.request came")
			}
			if all[0].objectMember("capabilities")["supports_confirmation_reply"] != true {
				return failFinding("supports_confirmation_reply is not true", all[0].Entry)
			}
			for _, m := range ofTypes(r.messagesOn(0, false), "subscription.renegotiate") {
				if m.objectMember("capabilities")["supports_confirmation_reply"] == false {
					return failFinding("supports_confirmation_reply was taken back when the user chose another verbosity",
						m.Entry)
				}
			}
			return passFinding("supports_confirmation_reply is true", all[0].Entry)
		}},
	{Name: "prompt-whole", Requirements: []string{"EVT-078", "SEC-002"}, Level: 2, Strength: Must, plays: questionRuns,
		Rule: "a confirmation is presented with its action and its consequence, unchanged",
		Judge: judgeInTurn(judgePresents("highrisk", theWholeAction, theConsequence),
			judgePresents("lowrisk", theWholeAction, theConsequence))},
	{Name: "risk-shown", Requirements: []string{"LVL-025"}, Level: 2, Strength: Must, plays: questionRuns,
		Rule:  "a confirmation of high risk stands out from one of low risk",
		Judge: judgeDistinct("questions of high and of low risk are presented alike", "highrisk", "lowrisk")},
	{Name: "decision-sent", Requirements: []string{"LVL-023"}, Level: 2, Strength: Must, plays: questionRuns,
		Rule: "when the user has decided, a reply is sent",
		Judge: judgeAnswer("highrisk", func(r *Recording, q, act message, replies []message) Finding {
			sent := slices.DeleteFunc(ofTypes(r.repliesReceived(), "confirmation.reply"),
				func(m message) bool { // a token that no question has is judged by itself
					to, known := r.questionOf(m)
					return known && to.index != q.index
				})
			if len(sent) == 0 {
				return failFinding("the user accepted, and no reply was sent", q.Entry, act.Entry)
			}
			return passFinding("the user decided, and a reply came", act.Entry, sent[0].Entry)
		})},
	{Name: "decision-kept", Requirements: []string{"CONF-013", "LVL-023"}, Level: 2, Strength: Must,
		plays: questionRuns,
		Rule:  "the decision is what the user decided", Judge: func(r *Recording) Finding {
			n := 0
			for _, m := range ofTypes(r.repliesReceived(), "confirmation.reply") {
				if q, ok := r.questionOf(m); ok {
					if act, ok := r.userAnswer(q); ok {
						n++
						switch {
						case m.stringMember("decision") != act.stringMember("decision"):
							return failFinding("the user decided "+quoteText(act.stringMember("decision"))+", and "+
								quoteText(m.stringMember("decision"))+" was sent", act.Entry, m.Entry)
						case m.members["modified_action"] != nil:
							return failFinding("the user changed nothing of the action, and a modified_action was sent",
								act.Entry, m.Entry)
						}
					}
				}
			}
			return passIfReplied(n, "decisions were sent as they were made")
		}},
	{Name: "reply-once", Requirements: []string{"LVL-023", "CONF-010"}, Level: 2, Strength: Must, plays: questionRuns,
		Rule: "a question is replied to once, however often the user presses",
		Judge: eachReply(func(r *Recording, m message) string {
			if n := len(r.repliesTo(m.members["reply_token"])); n > 1 {
				return fmt.Sprintf("a question was replied to %d times", n)
			}
			return ""
		})},
	{Name: "token-echoed", Requirements: []string{"LVL-024", "EVT-077", "CONF-010", "TERM-017"}, Level: 2,
		Strength: Must, plays: questionRuns,
		Rule: "a reply carries the token of a question, byte for byte",
		Judge: eachReply(func(r *Recording, m message) string {
			if _, ok := r.questionOf(m); !ok {
				return "a reply carries the token " + quoteText(m.stringMember("reply_token")) +
					", which no question had"
			}
			return ""
		})},
	{Name: "reply-valid", Requirements: []string{"CONF-012", "CONF-017", "CONF-040"}, Level: 2, Strength: Must,
		plays: questionRuns,
		Rule:  "a reply has the members it must have, and no others",
		Judge: eachReply(func(r *Recording, m message) string {
			if _, substituted := r.noteOn(m.Link, noteSubstitute); substituted &&
				m.members["subscription_id"] == nil { // there is none to name
				m.Data = encodeObject(withMembers(m.members, object{"subscription_id": "sub_implicit"}))
			}
			return invalidReason(m, "/decision", "/reply_token", "/response")
		})},
	{Name: "reply-subscription", Requirements: []string{"CONF-014"}, Level: 2, Strength: Must, plays: questionRuns,
		Rule: "a reply names the subscription that it comes from",
		Judge: eachReply(func(r *Recording, m message) string {
			if _, substituted := r.noteOn(m.Link, noteSubstitute); substituted {
				return "" // there is none to name
			}
			for _, a := range ofTypes(r.messagesOn(m.Link, true), "subscription.accepted") {
				if a.stringMember("subscription_id") == m.stringMember("subscription_id") {
					return ""
				}
			}
			return "a reply names the subscription " + quoteText(m.stringMember("subscription_id"))
		})},
	{Name: "reply-stamp", Requirements: []string{"CONF-015"}, Level: 2, Strength: Must, plays: questionRuns,
		Rule: "the timestamp of a reply is when the user decided", Judge: func(r *Recording) Finding {
			n := 0
			for _, m := range r.repliesReceived() {
				q, asks := r.questionOf(m)
				act, done := r.userAnswer(q)
				at, ok := aaep.ParseTimestamp(m.stringMember("timestamp"))
				if !asks || !done || !ok {
					continue
				}
				if n++; at.Before(act.At.Add(-clockSlack)) || at.After(r.latestDecision(q, m)) {
					return failFinding(fmt.Sprintf("the stamp is %v from the user's decision",
						at.Sub(act.At).Round(time.Second)), act.Entry, m.Entry)
				}
			}
			return passIfReplied(n, "replies are stamped with the moment of the decision")
		}},
	{Name: "answers-sent", Requirements: []string{"LVL-026", "CONF-041", "CONF-042"}, Level: 2, Strength: Must,
		plays: questionRuns,
		Rule:  "each kind of clarification can be answered, and the answer is sent as it was given",
		Judge: func(r *Recording) Finding {
			for _, k := range questionKinds {
				if f := judgePresents(k.label)(r); f.Verdict == Fail {
					return f
				}
				f := judgeAnswer(k.label, func(r *Recording, q, act message, replies []message) Finding {
					switch {
					case len(replies) == 0:
						return failFinding("the user answered a question of the kind "+k.kind+
							", and no reply was sent", q.Entry, act.Entry)
					case replies[0].members["response"] != k.answer:
						return failFinding(fmt.Sprintf("the user answered %v to a question of the kind %s, and %v was sent", k.answer, k.kind, replies[0].members["response"]), q.Entry, act.Entry, replies[0].Entry)
					}
					return passFinding("each kind of question was answered")
				})(r)
				if f.Verdict != Pass {
					return f
				}
			}
			return passFinding("each kind of question was answered as the user did")
		}},
	{Name: "choices-told", Requirements: []string{"LVL-026", "EVT-078"}, Level: 2, Strength: Must, plays: questionRuns,
		Rule: "a clarification is presented with its question and the label of each of its choices",
		Judge: judgeInTurn(judgePresents("askchoice", append(choiceLabels(object{"choices": thePiers}), theQuestion)...),
			judgePresents("askmany", append(choiceLabels(object{"choices": theMoorings}), theQuestion)...))},
	{Name: "unknown-risk", Requirements: []string{"VER-003", "SEC-002"}, Level: 2, Strength: Must, plays: questionRuns,
		Rule:  "a confirmation whose risk_level 1.0 does not know is presented like others",
		Judge: judgePresents("oddrisk", theWholeAction, theConsequence)},
	{Name: "bare-question", Requirements: []string{"ENV-044", "LVL-023"}, Level: 2, Strength: Must, plays: questionRuns,
		Rule:  "a confirmation without any optional member is presented, and can be answered",
		Judge: judgeInTurn(judgePresents("bareask", theAction), judgeReplied("bareask"))},
	{Name: "odd-question", Requirements: []string{"SEC-002", "ENV-048", "VER-011", "I18N-005"}, Level: 2, Strength: Must,
		plays: questionRuns,
		Rule:  "a confirmation that is unusual and right is presented whole, and can be answered: one of a later version, in another language, with extensions, signs, several lines, much to say, and a day to answer",
		Judge: judgeInTurn(judgePresents("oddask", anOddAction, anOddConsequence), judgeReplied("oddask"))},
	{Name: "answers-the-one", Requirements: []string{"LVL-023", "LVL-024", "CONF-010"}, Level: 2, Strength: Must,
		plays: []string{"two-open"},
		Rule:  "of two questions that are open at once, each is answered with what the user answered to it",
		Judge: judgeAnswer("first", judgeTwoOpen)},
	{Name: "never-by-itself", Requirements: []string{"EVT-079", "LVL-023", "SEC-002"}, Level: 2, Strength: Must,
		plays:  []string{"unattended"},
		Rule:   "no reply is sent that the user did not give",
		beside: []string{"quit"}, Judge: judgeUserDecidedFirst},
	{Name: "expires", Requirements: []string{"CONF-039"}, Level: 2, Strength: Must, plays: []string{"unattended"},
		Rule:  "a question can no longer be answered when its timeout_seconds are over, though nobody says so",
		Judge: judgeAnswers(judgeNoReply("after the time was over"), "unattended", "unansweredtoo")},
	{Name: "gone-when-cancelled", Requirements: []string{"LVL-028", "CONF-053"}, Level: 2, Strength: Must,
		plays: []string{"cancelled"},
		Rule:  "a question can no longer be answered when its session was cancelled, or ended otherwise",
		Judge: judgeAnswers(judgeNoReply("after the session had ended"), "withdrawable", "withdrawabletoo",
			"withdrawablefailed", "withdrawabledone")},
	{Name: "gone-when-settled", Requirements: []string{"LVL-028"}, Level: 2, Strength: Must, plays: []string{"settled"},
		Rule: "a question can no longer be answered when the agent has gone on",
		Judge: judgeAnswers(judgeNoReply("after the agent had gone on"), "withdrawable", "withdrawabletoo",
			"withdrawablecalled")},
}

// judgeUserDecidedFirst fails a target that replies to a question before its user has decided: to
// the questions that the scenario run "unattended" leaves alone until their time is over, or to the
// one that is open in "quit" when the user ends the target.
func judgeUserDecidedFirst(r *Recording) Finding {
	if q, ok := r.eventLabelled("openatquit"); ok {
		if all := r.repliesTo(q.members["reply_token"]); len(all) > 0 {
			return failFinding("a reply was sent though the user had ended the program and not decided", q.Entry,
				all[0].Entry)
		}
	}
	// act is the message in which the user decides, and the questions are those labelled below.
	return judgeAnswers(func(r *Recording, q, act message, _ []message) Finding {
		for _, m := range r.repliesReceived() {
			if to, known := r.questionOf(m); m.index < act.index && (!known || to.index == q.index) {
				return failFinding("a reply was sent though the user had not decided", q.Entry, m.Entry)
			}
		}
		return passFinding("nothing was sent before the user decided", q.Entry, act.Entry)
	}, "unattended", "unansweredtoo")(r)
}

// invalidReason returns the first thing that is wrong with a message by the schemas, or "". Members
// at the pointers in but are left to other cases.
func invalidReason(m message, but ...string) string {
	c := check.Checker{SchemaOnly: true}
	for _, f := range c.Message(1, m.Data) {
		if !f.Note && !slices.Contains(but, f.Pointer) {
			return fmt.Sprintf("%s: %s %s", m.compactType(), f.Pointer, f.Problem)
		}
	}
	return ""
}
