package conformance

import (
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
)

// The scenario runs that need ProducerRun.Unauthenticated, OtherPrincipal, and StolenStream.
const (
	unauthenticatedPlay = "stranger"
	otherPrincipalPlay  = "other-name"
	stolenStreamPlay    = "other-stream"
)

// accessCases judge who is served, and who is heard.
var accessCases = []Case{
	{Name: "strangers-refused", Requirements: []string{"SEC-001", "CONF-023", "SEC-013"}, Level: 3, Strength: Must,
		plays: []string{unauthenticatedPlay},
		Rule: "who shows no credentials, or some that were never given out, gets no subscription and no event, " +
			"and if there is an answer it says that credentials are missing",
		Judge: func(r *Recording) (f Finding) {
			for link := range max(r.linkCount(), 1) {
				if f = judgeUnauthenticated(r, link); f.Verdict != Pass {
					break
				}
			}
			return f
		}},
	{Name: "own-stream-only", Requirements: []string{"SEC-013", "SEC-014"}, Level: 3, Strength: Must,
		plays: []string{stolenStreamPlay},
		Rule:  "no event comes to who opens another's event stream with credentials of their own",
		Judge: func(r *Recording) Finding {
			a, ok := r.firstAnswer(0)
			switch stolen, own := r.eventsOn(0), r.eventsOn(1); {
			case len(stolen) > 0:
				return failFinding(shortName(stolen[0])+" came on a stream that was opened with another's credentials",
					a.Entry, stolen[0].Entry)
			case !ok || a.compactType() != "subscription.accepted":
				return inconclusiveFinding("the request was not accepted")
			case len(own) == 0:
				return inconclusiveFinding("no event came to anybody")
			default:
				return passFinding("what came to another subscriber did not come on that stream", a.Entry, own[0].Entry)
			}
		}},
	{Name: "own-name-only", Requirements: []string{"SEC-014", "SEC-013"}, Level: 3, Strength: Must,
		plays: []string{otherPrincipalPlay},
		Rule:  "who names another's subscription in a reply, a renegotiation or a close is not heard, whatever they know", Judge: func(r *Recording) Finding {
			if a, ok := r.firstAnswer(1); !ok || a.compactType() != "subscription.accepted" {
				return inconclusiveFinding("the other credentials were not accepted")
			}
			f := judgeNeverRun("the accept was sent by another than the subscription that it named")(r)
			if f.Verdict != Pass {
				return f
			}
			said := ofTypes(r.messagesOn(1, true), "subscription.renegotiate", "subscription.close")
			for link := range 2 {
				for _, m := range ofTypes(r.messagesOn(link, false), "subscription.accepted") {
					if len(said) > 0 && m.index > said[0].index {
						return failFinding("another's renegotiation was accepted", said[0].Entry, m.Entry)
					}
				}
			}
			own := ofTypes(r.messagesOn(0, true), "confirmation.reply")
			for _, m := range r.eventsOn(0) {
				if len(own) > 0 && m.isTerminal() && m.index > own[0].index {
					return f
				}
			}
			return failFinding("the subscription heard no more after another had closed it, or its own answer no longer counted", said[len(said)-1].Entry)
		}},
	{Name: "not-entitled", Requirements: []string{"SEC-003", "CONF-011", "TERM-017"}, Level: 2, Strength: Must,
		plays: []string{"not-entitled"},
		Rule:  "an accept of a subscription that may not reply has no effect, whatever token it knows",
		Judge: judgeNeverRun("the accept came from a subscription that was not asked")},
	{Name: "refusals-mute", Requirements: []string{"CONF-026"}, Level: 2, Strength: Must,
		plays: []string{"foreign-token", "foreign-subscription", "late-stamp", "broken-reply", "twice", "changed-mind",
			"old-token"},
		Rule: "nobody is told what is wrong with a reply: the answer to it, such as the status, is that to a good one",
		Judge: func(r *Recording) Finding {
			replies := ofTypes(r.messagesOn(0, true), "confirmation.reply")
			if len(replies) == 0 {
				return inconclusiveFinding(neverAsked)
			}
			var taken, other message
			for _, m := range replies {
				if _, refused := notTaken(r, m); invalidReason(m) != "" {
					continue
				} else if refused {
					other = m
				} else {
					taken = m
				}
			}
			if e, refused := notTaken(r, other); other.members != nil && taken.members != nil && refused {
				return failFinding("a reply was answered otherwise than another one: "+string(e.Data), other.Entry, e,
					taken.Entry)
			}
			for _, m := range r.messagesOn(0, false) {
				if m.index > replies[0].index && m.stringMember("session_id") == "" &&
					m.compactType() != "subscription.close" {
					return failFinding("a message came that is no event, after a reply that does not count",
						replies[0].Entry, m.Entry)
				}
			}
			return passFinding("nothing but events came after a reply that does not count", replies[0].Entry)
		}},
	{Name: "lost-line", Requirements: []string{"HS-080", "TR-013", "TR-012"}, Level: 2, Strength: Must,
		plays: []string{"lost"},
		Rule:  "when the line of the only one who was asked breaks, the default applies, in time, and the session goes on", Judge: judgeDeparted("whose line broke")},
}

// judgeUnauthenticated judges what came on a link to one who has no credentials, or made them up.
// It passes where no link came to be, or the request was refused or rejected for want of
// credentials or rights; any event, an acceptance, another reason, and no answer at all fail.
func judgeUnauthenticated(r *Recording, link int) Finding {
	if list := r.eventsOn(link); len(list) > 0 {
		return failFinding(shortName(list[0])+" came to a subscriber without good credentials", list[0].Entry)
	}
	wanted := []string{string(aaep.AuthenticationRequired), string(aaep.AuthorizationDenied)}
	for _, e := range r.Entries {
		if e.Link != link {
			continue
		}
		if code, ok := strings.CutPrefix(e.Note, noteRefused); ok {
			if !slices.Contains(wanted, code) {
				return failFinding("a subscriber without good credentials was refused with "+quoteText(code), e)
			}
			return passFinding("it was refused with "+code, e)
		}
	}
	a, ok := r.firstAnswer(link)
	switch {
	case ok && a.compactType() == "subscription.accepted":
		return failFinding("a subscriber without good credentials was accepted", a.Entry)
	case ok && !slices.Contains(wanted, a.stringMember("reason_code")):
		return failFinding("a subscriber without good credentials was rejected with "+
			quoteText(a.stringMember("reason_code")), a.Entry)
	case ok:
		return passFinding("it was rejected with "+a.stringMember("reason_code"), a.Entry)
	}
	for _, note := range []string{noteNoDial, noteNoSend, noteClosed} {
		if e, ok := r.noteOn(link, note); ok {
			return passFinding("without good credentials no link came to be", e)
		}
	}
	return failFinding("no answer came to a subscriber without good credentials", sentOn(r, link)...)
}

// sentOn returns the first message that the runner sent on a link, as evidence; nil where it sent
// none.
func sentOn(r *Recording, link int) []Entry {
	if all := r.messagesOn(link, true); len(all) > 0 {
		return []Entry{all[0].Entry}
	}
	return nil
}

// notTaken returns the entry behind m that shows that the target did not take that message on its
// link. It returns false where the next thing on that link is a message that was sent, and where
// there is none.
func notTaken(r *Recording, m message) (Entry, bool) {
	for _, e := range r.Entries[m.index+1:] {
		if e.Link == m.Link && (e.Sent || e.Note == noteNoSend) {
			return e, !e.Sent
		}
	}
	return Entry{}, false
}

// judgeDeparted returns a judge that watches with the second subscriber what becomes of a question
// after the first has gone, in the way that how says: the tool must not run, and the session must
// go on. Without a question it is inconclusive.
func judgeDeparted(how string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		q := confirmationsOn(r, 0)
		if len(q) == 0 {
			return inconclusiveFinding(neverAsked)
		}
		if f, found := findRunAnyway(r, 1, q[0], "after the only one who was asked, "+how+", had gone"); found {
			return f
		}
		for _, m := range r.eventsOn(1) {
			if m.index > q[0].index && settlesQuestion(m) {
				return passFinding("the session went on without the tool", m.Entry)
			}
		}
		return failFinding("the session still waits for the only one who was asked, "+how, q[0].Entry)
	}
}
