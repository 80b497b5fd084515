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

// followers are all subscribers to which something of a session came, session by session.
func (r *Recording) followers() (list []follower) {
	begins := map[string]int{}
	for link := range r.linkCount() {
		for _, s := range r.sessionsOn(link) {
			id := s[0].stringMember("session_id")
			if at, ok := begins[id]; !ok || s[0].index < at {
				begins[id] = s[0].index
			}
		}
	}
	for link := range r.linkCount() {
		joined, accepted := r.joinedAt(link)
		stays := (accepted || link == 0) && !r.wentAway(link)
		for _, s := range r.sessionsOn(link) {
			list = append(list, follower{r, link, s, stays && (link == 0 || joined < begins[s[0].stringMember("session_id")])})
		}
	}
	return list
}

// wentAway reports whether the runner left with a link, or broke its stream or its line, or, of
// another link than the first, whether the target ended it.
func (r *Recording) wentAway(link int) bool {
	return slices.ContainsFunc(r.Entries, func(e Entry) bool {
		return e.Link == link && (e.Note == noteLost || e.Note == noteCut || e.Note == noteClosed && link > 0)
	}) || len(ofTypes(r.messagesOn(link, true), "subscription.close")) > 0
}

// passesTerms reports whether the terms of a link let a type of event through. Where they changed,
// it must have passed before and after.
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

// messagesIn are the events of a session on all links.
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

// eachSession fails with the first session, to any subscriber, that something is wrong with. What
// came to the first subscriber decides whether there was anything to judge.
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

// judgeSameEvents sees that what came of a session to one subscriber came to each other one whose
// terms let it through. Text, progress and states may be merged; that a question is over may not.
func judgeSameEvents(r *Recording) Finding {
	followers, compared := r.followers(), 0
	counted := func(f follower) map[string]int {
		n := map[string]int{}
		for _, m := range f.list {
			switch typ := m.compactType(); {
			case typ == state && m.stringMember("from_state") == "awaiting_input":
				n[typ]++
			case typ != state && typ != output && typ != progress:
				n[typ]++
			}
		}
		return n
	}
	for _, f := range followers {
		_, limited := r.agreedRate(f.link)
		if !f.whole || limited && f.link > 0 {
			continue
		}
		has := counted(f)
		for _, other := range followers {
			if other.link == f.link || other.list[0].stringMember("session_id") != f.list[0].stringMember("session_id") {
				continue
			}
			compared++
			for typ, n := range counted(other) {
				if has[typ] < n && r.passesTerms(f.link, typ) && r.mayBeAsked(f.link, typ) {
					return failFinding(fmt.Sprintf("%s came to subscriber %d, and not to subscriber %d, whose terms let it through",
						shortName(ofTypes(other.list, typ)[0]), other.link+1, f.link+1), ofTypes(other.list, typ)[0].Entry,
						f.list[len(f.list)-1].Entry)
				}
			}
		}
	}
	if compared == 0 {
		return nothingToJudge("no session came to two subscribers")
	}
	return passFinding("what came to one came to the other", followers[0].list[0].Entry)
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
	if honored, said := honoredTerms(r, link)[right]; said && honored != true || requestedCapabilities(r,
		link)[right] != true {
		return false
	}
	return !slices.ContainsFunc(ofTypes(r.messagesOn(link, true), "subscription.renegotiate"), func(m message) bool {
		return m.objectMember("capabilities")[right] == false
	})
}

// askedUnentitled finds a question that came to a subscriber whose terms never let it reply.
func askedUnentitled(r *Recording, question string) (Finding, bool) {
	right := rightsToReply[question]
	for link := range r.linkCount() {
		if a, ok := r.firstAnswer(link); !ok || a.compactType() != "subscription.accepted" {
			continue
		}
		honored, said := honoredTerms(r, link)[right]
		if q := ofTypes(r.eventsOn(link), question); len(q) > 0 && !r.gainedRight(link, right) &&
			(requestedCapabilities(r, link)[right] != true || said && honored != true) {
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
