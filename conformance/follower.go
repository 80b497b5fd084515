package conformance

import (
	"fmt"
	"slices"
)

// A follower is one of the runner's subscribers as it followed one session: what the session owed
// it by its terms, and what came.
type follower struct {
	r     *Recording
	link  int
	list  []message // of the session, in the order in which they came
	whole bool      // it was there from the beginning, and did not leave
}

// followers returns all subscribers to which something of a session came, session by session. A
// follower is one link and one session; its field whole is set where the link was there from the
// session's beginning to its end.
func (r *Recording) followers() (list []follower) {
	begins := r.sessionBegins()
	for link := range r.linkCount() {
		joined, accepted := r.joinedAt(link)
		stayed := (accepted || link == 0) && !r.wentAway(link)
		for _, s := range r.sessionsOn(link) {
			cameFirst := link == 0 || joined < begins[s[0].stringMember("session_id")]
			list = append(list, follower{r, link, s, stayed && cameFirst})
		}
	}
	return list
}

// sessionBegins returns, by the ids of the sessions, the index in the recording of the first event
// that came of each, on whichever link.
func (r *Recording) sessionBegins() map[string]int {
	begins := map[string]int{}
	for link := range r.linkCount() {
		for _, s := range r.sessionsOn(link) {
			id := s[0].stringMember("session_id")
			if at, ok := begins[id]; !ok || s[0].index < at {
				begins[id] = s[0].index
			}
		}
	}
	return begins
}

// wentAway reports whether the runner left with a link, or broke its stream or its line, or, of
// another link than the first, whether the target ended it.
func (r *Recording) wentAway(link int) bool {
	return slices.ContainsFunc(r.Entries, func(e Entry) bool {
		return e.Link == link && (e.Note == noteLost || e.Note == noteCut || e.Note == noteClosed && link > 0)
	}) || len(ofTypes(r.messagesOn(link, true), "subscription.close")) > 0
}

// passesTerms reports whether the terms of a link let a type of event through: those that were
// asked for and those that were honored, and, where they changed, before and after. What is
// critical passes any terms.
func (r *Recording) passesTerms(link int, typ string) bool {
	if slices.Contains([]string{errored, confirm, clarify, handoff}, typ) {
		return true
	}
	asked, _ := requestedCapabilities(r, link)["event_filters"].(object)
	honored, _ := honoredTerms(r, link)["event_filters"].(object)
	pass := passesFilters(asked, typ) && passesFilters(termsOf(asked, honored), typ)
	for _, m := range ofTypes(r.messagesOn(link, true), "subscription.renegotiate") {
		if f, ok := m.objectMember("capabilities")["event_filters"].(object); ok {
			pass = pass && passesFilters(f, typ)
		}
	}
	return pass
}

// owes reports whether every event of some types had to come to the subscriber.
func (f follower) owes(types ...string) bool {
	return f.whole && !slices.ContainsFunc(types, func(typ string) bool { return !f.r.passesTerms(f.link, typ) })
}

// owesEnd reports whether the end of the session had to come, whichever it was, before the run was
// over. What a rate holds up is waited for on the first link alone.
func (f follower) owesEnd() bool {
	if !f.owes(completed, cancelled, errored) {
		return false
	}
	_, limited := f.r.agreedRate(f.link)
	return f.link == 0 || !limited && f.r.endedElsewhere(f)
}

// endedElsewhere reports whether the end of the session came to another subscriber.
func (r *Recording) endedElsewhere(f follower) bool {
	return slices.ContainsFunc(r.messagesIn(f.list[0].stringMember("session_id")), message.isTerminal)
}

// messagesIn returns the events of a session on all links.
func (r *Recording) messagesIn(session string) (list []message) {
	for link := range r.linkCount() {
		for _, m := range r.eventsOn(link) {
			if m.stringMember("session_id") == session {
				list = append(list, m)
			}
		}
	}
	return list
}

// eachSession makes a judge of a recording of a judge of one session at one subscriber. It fails
// with the first of them that fails; else the finding is that of the last session of the first
// subscriber, or inconclusive where no session began.
func eachSession(judge func(f follower) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		last := inconclusiveFinding("no session began")
		for _, f := range r.followers() {
			switch found := judge(f); {
			case found.Verdict == Fail:
				return found
			case f.link == 0:
				last = found
			}
		}
		return last
	}
}

// judgeSameEvents judges that what came of a session to one subscriber came to each other one whose
// terms let it through. Text, progress and states may be merged; the text itself, the last state
// and that a question is over may not differ. Without two subscribers of one session there is
// nothing to judge.
func judgeSameEvents(r *Recording) Finding {
	followers, compared := r.followers(), 0
	for _, f := range followers {
		for _, other := range followers {
			if !f.whole || other.link == f.link || !other.isIn(f.session()) {
				continue
			}
			compared++
			if found := f.compareWith(other); found.Verdict == Fail {
				return found
			}
		}
		if found := r.findUntoldLink(f); found.Verdict == Fail {
			return found
		}
	}
	if compared == 0 {
		return nothingToJudge("no session came to two subscribers")
	}
	return passFinding("what came to one came to the other", followers[0].list[0].Entry)
}

// session is the id of the session that is followed.
func (f follower) session() string { return f.list[0].stringMember("session_id") }

// isIn reports whether the follower follows a session.
func (f follower) isIn(session string) bool { return f.session() == session }

// compareWith fails where something that came to another follower of the session did not come to
// this one, or came otherwise. A subscriber whose rate is limited may lack some; the last state and
// the text are compared where both sessions ended calmly. The zero Finding is no failure.
func (f follower) compareWith(other follower) Finding {
	lacks := func(what string, e Entry) Finding {
		return failFinding(fmt.Sprintf("%s came to subscriber %d, and not to subscriber %d, whose terms let it through",
			what, other.link+1, f.link+1), e, f.list[len(f.list)-1].Entry)
	}
	if _, limited := f.r.agreedRate(f.link); !limited || f.link == 0 {
		has := f.countUnmerged()
		for typ, n := range other.countUnmerged() {
			if has[typ] < n && f.r.passesTerms(f.link, typ) && f.r.mayBeAsked(f.link, typ) {
				return lacks(shortName(ofTypes(other.list, typ)[0]), ofTypes(other.list, typ)[0].Entry)
			}
		}
	}
	calmEnd := func(m message) bool { return m.isTerminal() && !m.isCritical() } // which overtakes nothing
	if !other.whole || !slices.ContainsFunc(f.list, calmEnd) || !slices.ContainsFunc(other.list, calmEnd) {
		return Finding{}
	}
	if theirs := ofTypes(other.list, state); f.owes(state) && len(theirs) > 0 {
		mine, last := ofTypes(f.list, state), theirs[len(theirs)-1]
		if len(mine) == 0 || mine[len(mine)-1].stringMember("to_state") != last.stringMember("to_state") {
			return lacks("the last state, "+quoteText(last.stringMember("to_state"))+",", last.Entry)
		}
	}
	if f.owes(output) && other.owes(output) {
		mine, theirs := f.outputTexts(), other.outputTexts()
		for id, text := range theirs {
			if mine[id] != text {
				return failFinding(fmt.Sprintf("the text of one output is not the same to subscriber %d and to subscriber %d", other.link+1,
					f.link+1), ofTypes(other.list, output)[0].Entry, f.list[len(f.list)-1].Entry)
			}
		}
	}
	return Finding{}
}

// countUnmerged counts the events that may not be merged, by type. Of states those count that say
// that a question is over.
func (f follower) countUnmerged() map[string]int {
	n := map[string]int{}
	for _, m := range f.list {
		switch typ := m.compactType(); {
		case typ == state && m.stringMember("from_state") == "awaiting_input",
			typ != state && typ != output && typ != progress:
			n[typ]++
		}
	}
	return n
}

// outputTexts returns the texts of the session's outputs up to now, whole, by their ids.
func (f follower) outputTexts() map[string]string {
	texts := map[string]string{}
	for _, m := range ofTypes(f.list, output) {
		texts[m.stringMember("output_id")] += m.stringMember("chunk")
	}
	return texts
}

// findUntoldLink fails where a subscriber that was there before a session, and has terms that let
// it through, got nothing of what another follower, f, got from its beginning. The zero Finding is
// no failure.
func (r *Recording) findUntoldLink(f follower) Finding {
	begin := f.list[0]
	if begin.compactType() != started || !f.whole {
		return Finding{}
	}
	for link := range r.linkCount() {
		joined, accepted := r.joinedAt(link)
		told := slices.ContainsFunc(r.eventsOn(link),
			func(m message) bool { return f.isIn(m.stringMember("session_id")) })
		if told || !accepted || joined > begin.index || r.wentAway(link) || !r.passesTerms(link, started) {
			continue
		}
		return failFinding(fmt.Sprintf("nothing of a session came to subscriber %d, and all of it to subscriber %d",
			link+1,
			f.link+1), r.Entries[joined], begin.Entry)
	}
	return Finding{}
}

// rightsToReply are the capabilities by which a subscriber may be asked.
var rightsToReply = map[string]string{confirm: "supports_confirmation_reply", clarify: "supports_clarification_reply"}

// mayBeAsked reports whether the terms of a link let it have a question of a type, at all times.
// Events of other types are no questions.
func (r *Recording) mayBeAsked(link int, typ string) bool {
	right, question := rightsToReply[typ]
	if !question {
		return true
	}
	honored, isStated := honoredTerms(r, link)[right]
	isRefused := isStated && honored != true
	if isRefused || requestedCapabilities(r, link)[right] != true {
		return false
	}
	return !slices.ContainsFunc(ofTypes(r.messagesOn(link, true), "subscription.renegotiate"), func(m message) bool {
		return m.objectMember("capabilities")[right] == false
	})
}

// askedUnentitled returns a finding for the first question, of a type, that came to a subscriber
// whose terms did not let it reply; false where there is none.
func askedUnentitled(r *Recording, question string) (Finding, bool) {
	right := rightsToReply[question]
	for link := range r.linkCount() {
		if a, ok := r.firstAnswer(link); !ok || a.compactType() != "subscription.accepted" {
			continue
		}
		q := ofTypes(r.eventsOn(link), question)
		if len(q) == 0 || r.gainedRight(link, right) {
			continue
		}
		hadRight := requestedCapabilities(r, link)[right] == true && r.termsAt(link, q[len(q)-1].index)[right] == true
		if !hadRight {
			return failFinding(shortName(q[0])+" came to a subscriber that had said it cannot answer", q[0].Entry), true
		}
	}
	return Finding{}, false
}

// gainedRight reports whether a link asked for a right in a renegotiation.
func (r *Recording) gainedRight(link int, right string) bool {
	return slices.ContainsFunc(ofTypes(r.messagesOn(link, true), "subscription.renegotiate"), func(m message) bool {
		return m.objectMember("capabilities")[right] == true
	})
}
