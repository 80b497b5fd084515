package conformance

import (
	"fmt"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
)

// sentences are what is streamed: short and long, with what cutting gets wrong.
var sentences = []string{
	"The first sentence is short. ",
	"Dr. Adé paid $3.50 at 9.30 a.m. for 2 coffees – and left. ",
	"Ẹ káàárọ̀, ó dára! ",
	"Family 👨‍👩‍👧‍👦 emoji stay whole. ",
	"Did all of it arrive? Yes.",
}

func many(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("This is sentence number %d of many. ", i+1))
	}
	return list
}

// maxQuestion is the longest that a question is waited for.
const maxQuestion = 10 * time.Minute

// Seconds that questions should be open for: those that are answered, and those that nobody answers.
const openFor, shortly = 20, 2

func asking() Scenario { return Scenario{Name: Ask, TimeoutSeconds: openFor} }

func clarifying() Scenario { return Scenario{Name: Clarify, TimeoutSeconds: openFor} }

// wholePlays are those in which a link sees whole sessions as they are.
var wholePlays = []string{"stream", "tools", "accept", "reject", "silence", "fail", "handoff", "clarify", "idle"}

// playsBeside are those in which messages come under other terms, or to several, or after something unusual.
var playsBeside = []string{"late-arrival", "old-token", "latecomer", "one-leaves", "twice", "modified", "cannot-reply", "bare-ask", "withdrawn", "relayed", "two",
	"unanswered", "verbosity", "filtered-fail", "filtered-handoff", "slow-fail", "rate", "again", "completion", "filtered", "included", "literal", "slower", "renegotiate",
	"beside-slow", "silenced"}

// askingPlays are those in which the first subscriber is asked for a confirmation.
var askingPlays = []string{"accept", "reject", "silence", "old-token", "latecomer", "twice", "changed-mind", "foreign-token", "foreign-subscription", "late-stamp",
	"broken-reply", "modified", "relayed", "two", "not-entitled"}

var plays = []play{
	{"stream", "a subscriber follows an output of several sentences",
		Scenario{Name: Stream, Sentences: sentences}, 1, watch},
	{"tools", "a subscriber follows a tool of low risk",
		Scenario{Name: Tools}, 1, watch},
	{"fail", "a subscriber follows a session that reports progress in a rush, and fails",
		Scenario{Name: Errored}, 1, watch},
	{"idle", "a subscriber follows a session that thinks and is cancelled",
		Scenario{Name: Idle}, 1, watch},
	{"hang", "a subscriber follows a tool that never returns",
		Scenario{Name: Hang, TimeoutSeconds: shortly}, 1, watch},
	{"handoff", "a subscriber follows a session that is handed over",
		Scenario{Name: Handoff}, 2, watch},
	{"accept", "a subscriber is asked, waits a moment, and accepts",
		asking(), 2, answers(func(l *link, q message) {
			l.st.pause(settle) // time for a producer that does not wait
			l.reply(q, "accept", nil)
		})},
	{"reject", "a subscriber is asked, and rejects",
		asking(), 2, answers(func(l *link, q message) { l.reply(q, "reject", nil) })},
	{"silence", "a subscriber is asked, and says nothing",
		Scenario{Name: Ask, TimeoutSeconds: shortly}, 2, func(st *stage) {
			l := st.subscribe(usual())
			st.start()
			q, ok := st.await(l, slow, confirm, completed, errored, cancelled)
			limit := slow
			if ok && q.typ() == confirm {
				limit = min(max(time.Duration(q.num("timeout_seconds"))*time.Second, 0), maxQuestion) + slow
			}
			st.end(l, limit)
		}},
	{"twice", "a subscriber is asked, and sends the same accept three times",
		asking(), 2, answers(func(l *link, q message) {
			l.reply(q, "accept", nil)
			l.reply(q, "accept", nil)
			l.st.await(l, patience, completed, errored, cancelled)
			l.reply(q, "accept", nil)
		})},
	{"changed-mind", "a subscriber is asked, rejects, and accepts right after",
		asking(), 2, answers(func(l *link, q message) {
			l.reply(q, "reject", nil)
			l.reply(q, "accept", nil)
		})},
	{"foreign-token", "a subscriber is asked, accepts with a token that was never given out, and rejects a moment later",
		asking(), 2, doubtful(func(l *link, q message) {
			l.reply(q, "accept", object{"reply_token": "rpl_" + strings.Repeat("0", 32)})
		})},
	{"foreign-subscription", "a subscriber is asked, accepts in the name of a subscription that does not exist, and rejects a moment later",
		asking(), 2, doubtful(func(l *link, q message) {
			l.reply(q, "accept", object{"subscription_id": "sub_" + strings.Repeat("0", 32)})
		})},
	{"late-stamp", "a subscriber is asked, accepts with a stamp of the end of the question and one of tomorrow, and rejects a moment later",
		asking(), 2, doubtful(func(l *link, q message) {
			if at, ok := aaep.ParseTimestamp(q.str("timestamp")); ok { // a reply is stamped before its end, not at it
				end := at.Add(time.Duration(q.num("timeout_seconds")) * time.Second)
				l.reply(q, "accept", object{"timestamp": aaep.FormatTimestamp(end)})
			}
			l.reply(q, "accept", object{"timestamp": aaep.FormatTimestamp(time.Now().Add(25 * time.Hour))})
		})},
	{"broken-reply", "a subscriber is asked, sends many replies that are not valid, and rejects a moment later",
		asking(), 2, doubtful(func(l *link, q message) {
			_, agreed := l.st.tape.now().answer(l.n)
			for _, h := range hostileReplies {
				if h.Handshake && !agreed {
					continue
				}
				if more := h.reply(q.str("reply_token")); more["reply_token"] != q.m["reply_token"] { // which may have no letters
					l.reply(q, "accept", more)
				}
			}
			l.sendRaw(fmt.Appendf(nil, `{"type":"confirmation.reply","reply_token":%q,"decision":"reject","decision":"accept","subscription_id":%q,"timestamp":%q}`,
				q.str("reply_token"), l.id, aaep.FormatTimestamp(time.Now())))
		})},
	{"late-arrival", "a subscriber is asked, says nothing until the question is over, and then accepts, with a stamp from before its end",
		Scenario{Name: Ask, TimeoutSeconds: shortly}, 2, answers(func(l *link, q message) {
			due := q.At.Add(time.Duration(q.num("timeout_seconds")) * time.Second)
			l.st.await(l, min(max(time.Until(due), 0), maxQuestion)+slow, completed, errored, cancelled)
			l.reply(q, "accept", object{"timestamp": aaep.FormatTimestamp(q.At)})
		})},
	{"old-token", "a subscriber is asked, and rejects; in the next session it is asked again, accepts with the token of the first question, and rejects a moment later",
		asking(), 2, func(st *stage) {
			l := st.subscribe(usual())
			st.drive(asking())
			first, ok := st.await(l, slow, confirm, completed, errored, cancelled)
			if !ok || first.typ() != confirm {
				return
			}
			l.reply(first, "reject", nil)
			if _, over := st.await(l, slow, completed, errored, cancelled); !over {
				return
			}
			st.start()
			var asked []message
			st.tape.wait(st.ctx, slow, func(r *Recording) bool {
				asked = of(r.events(l.n), confirm)
				return len(asked) > 1 || len(of(r.events(l.n), completed, errored, cancelled)) > 1 || st.silenced(r, l)
			})
			if len(asked) > 1 {
				again := asked[1]
				l.reply(again, "accept", object{"reply_token": first.str("reply_token")})
				st.pause(settle)
				l.reply(again, "reject", nil)
			}
			st.tape.wait(st.ctx, slow, func(r *Recording) bool {
				return len(of(r.events(l.n), completed, errored, cancelled)) > 1 || st.silenced(r, l)
			})
		}},
	{"silenced", "a subscriber is asked, gives up its right to reply by a renegotiation, and accepts after that",
		Scenario{Name: Ask, TimeoutSeconds: shortly}, 3, func(st *stage) {
			l := st.subscribe(usual())
			st.start()
			limit := slow
			if q, ok := st.await(l, slow, confirm, completed, errored, cancelled); ok && q.typ() == confirm {
				limit += min(max(time.Duration(q.num("timeout_seconds"))*time.Second, 0), maxQuestion)
				l.send(object{"type": "subscription.renegotiate", "subscription_id": l.id, "capabilities": object{"supports_confirmation_reply": false}})
				if l.answered(2) {
					st.pause(settle / 2) // in which a target may settle the question at once
					l.reply(q, "accept", nil)
				}
			}
			st.end(l, limit)
		}},
	{"latecomer", "a subscriber is asked; another one subscribes meanwhile, and the first rejects",
		asking(), 2, func(st *stage) {
			l := st.subscribe(usual())
			st.start()
			if q, ok := st.await(l, slow, confirm, completed, errored, cancelled); ok && q.typ() == confirm {
				st.subscribe(with(usual(), object{"supports_confirmation_reply": false}))
				l.reply(q, "reject", nil)
			}
			st.end(l, slow)
		}},
	{"modified", "a subscriber is asked, and accepts with changes; a while later, or if it is asked again, it rejects",
		asking(), 2, answers(func(l *link, q message) {
			l.reply(q, "accept", object{"modified_action": object{"amount": "changed"}})
			if again, ok := l.second(q); ok {
				q = again
			}
			l.reply(q, "reject", nil) // or the question stays open
		})},
	{"cannot-reply", "a subscriber says that it cannot answer confirmations, and the agent wants one",
		asking(), 2, func(st *stage) {
			l := st.subscribe(with(usual(), object{"supports_confirmation_reply": false, "supports_clarification_reply": nil}))
			st.start()
			st.end(l, slow)
		}},
	{"cannot-answer", "a subscriber says that it cannot answer questions, and the agent has one",
		clarifying(), 2, func(st *stage) {
			l := st.subscribe(with(usual(), object{"supports_confirmation_reply": nil, "supports_clarification_reply": nil}))
			st.start()
			st.end(l, slow)
		}},
	{"bare-ask", "a subscriber asks with empty capabilities, and the agent wants a confirmation",
		asking(), 2, func(st *stage) {
			l := st.subscribe(object{})
			st.start()
			st.end(l, slow)
		}},
	{"one-leaves", "two subscribers are asked; one leaves, and the other accepts",
		asking(), 2, func(st *stage) {
			l, other := st.subscribe(usual()), st.subscribe(usual())
			st.start()
			if q, ok := st.await(other, slow, confirm, completed, errored, cancelled); ok && q.typ() == confirm {
				l.send(object{"type": "subscription.close", "subscription_id": l.id, "reason_code": "subscriber_shutdown", "reason_message": "Leaving."})
				st.hears(l)
				other.reply(q, "accept", nil)
			}
			st.end(other, slow)
		}},
	{"withdrawn", "a subscriber is asked, the session is cancelled meanwhile, and it accepts after that",
		Scenario{Name: Withdraw, TimeoutSeconds: openFor}, 2, answers(func(l *link, q message) {
			if _, ok := l.st.await(l, slow, completed, errored, cancelled); ok {
				l.reply(q, "accept", nil)
			}
		})},
	{"relayed", "two subscribers are asked, and the second accepts",
		asking(), 2, func(st *stage) {
			l, other := st.subscribe(usual()), st.subscribe(usual())
			st.start()
			if q, ok := st.await(other, slow, confirm, completed, errored, cancelled); ok && q.typ() == confirm {
				other.reply(q, "accept", nil)
			}
			st.end(l, slow)
		}},
	{resumePlay, "of two subscribers the stream of one breaks, and is opened again while the other is asked, who rejects then",
		asking(), 2, resumed},
	{resumedTextPlay, "the stream of a subscriber breaks within a long output, and is opened again",
		Scenario{Name: Stream, Sentences: many(12)}, 2, resumedText},
	{"left", "of two subscribers one can answer, is asked, leaves, and accepts after that; the other watches",
		asking(), 3, func(st *stage) {
			l := st.subscribe(usual())
			observer := st.subscribe(with(usual(), object{"supports_confirmation_reply": false}))
			st.start()
			if q, ok := st.await(l, slow, confirm); ok {
				l.send(object{"type": "subscription.close", "subscription_id": l.id, "reason_code": "subscriber_shutdown", "reason_message": "Leaving."})
				l.reply(q, "accept", nil) // whoever has left says nothing more that counts
			}
			st.end(observer, slow/2)
		}},
	{"two", "two subscribers are asked; one rejects, and then the other accepts",
		asking(), 2, func(st *stage) {
			l, other := st.subscribe(usual()), st.subscribe(usual())
			st.start()
			if q, ok := st.await(l, slow, confirm); ok {
				st.await(other, patience, confirm)
				l.reply(q, "reject", nil)
				st.pause(settle / 2) // on two links there is no order but time
				other.reply(q, "accept", nil)
			}
			st.end(l, slow)
		}},
	{"clarify", "a subscriber is questioned, answers in several ways that were not asked for, and a moment later as was asked for",
		clarifying(), 2, func(st *stage) {
			l := st.subscribe(usual())
			st.start()
			if q, ok := st.await(l, slow, clarify); ok {
				for _, h := range hostileResponses { // none of them is an answer to a yes-or-no question
					l.respond(q, h.Response)
				}
				l.reply(q, "accept", nil)
				st.pause(settle)
				l.respond(q, properAnswer(q))
			}
			st.end(l, slow)
		}},
	{"not-entitled", "of two subscribers one is asked; the other, which cannot answer, accepts with that token; a moment later the first rejects",
		asking(), 2, func(st *stage) {
			l := st.subscribe(usual())
			other := st.subscribe(with(usual(), object{"supports_confirmation_reply": false}))
			st.start()
			if q, ok := st.await(l, slow, confirm, completed, errored, cancelled); ok && q.typ() == confirm {
				other.reply(q, "accept", nil)
				st.pause(settle)
				l.reply(q, "reject", nil)
			}
			st.end(l, slow)
		}},
	{"unanswered", "a subscriber is questioned, and says nothing",
		Scenario{Name: Clarify, TimeoutSeconds: shortly}, 2, func(st *stage) {
			l := st.subscribe(usual())
			st.start()
			limit := slow
			if q, ok := st.await(l, slow, clarify, completed, errored, cancelled); ok && q.typ() == clarify {
				limit = min(max(time.Duration(q.num("timeout_seconds"))*time.Second, 0), maxQuestion) + slow
			}
			st.end(l, limit)
		}},
	{"verbosity", "two subscribers, one that wants few words and one that wants many, follow a tool",
		Scenario{Name: Tools}, 3, func(st *stage) {
			l, other := st.subscribe(with(usual(), object{"preferred_verbosity": "terse"})), st.subscribe(with(usual(), object{"preferred_verbosity": "detailed"}))
			st.start()
			st.await(other, slow, completed, errored, cancelled)
			st.end(l, patience)
		}},
	{"filtered-fail", "a subscriber that excludes every event, at one a second, has a session fail",
		Scenario{Name: Errored}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"max_events_per_second": 1, "event_filters": object{"exclude": []string{"aaep:*"}}}))
			st.start()
			st.end(l, slow)
		}},
	{"slow-fail", "two subscribers, one with one event a second, have a session fail",
		Scenario{Name: Errored}, 3, func(st *stage) {
			whole, l := st.subscribe(usual()), st.subscribe(with(usual(), object{"max_events_per_second": 1}))
			st.start()
			st.await(whole, slow, errored)
			st.end(l, slow)
		}},
	{"filtered-ask", "a subscriber that excludes every event, at one a second, is asked and rejects; another one watches",
		asking(), 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"max_events_per_second": 1, "event_filters": object{"exclude": []string{"aaep:*"}}}))
			watcher := l // has the end filtered out
			if !st.run.OneLink {
				watcher = st.subscribe(with(usual(), object{"supports_confirmation_reply": nil, "supports_clarification_reply": nil}))
			}
			st.start()
			if q, ok := st.await(l, slow, confirm); ok {
				l.reply(q, "reject", nil)
			}
			st.end(watcher, patience)
		}},
	{"rate", "a subscriber with two events a second follows a long output",
		Scenario{Name: Stream, Sentences: many(40)}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"max_events_per_second": 2}))
			st.lateInWindows()
			st.start()
			st.end(l, 2*slow)
		}},
	{"slow-tools", "a subscriber with two events a second follows a tool",
		Scenario{Name: Tools}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"max_events_per_second": 2}))
			st.start()
			st.end(l, slow)
		}},
	{"again", "a subscriber with ten events a second follows a short session, and most of a second later a long output",
		Scenario{Name: Stream, Sentences: many(24)}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"max_events_per_second": 10}))
			st.nearlyASecondAgo(l)
			st.start()
			st.tape.wait(st.ctx, slow, func(r *Recording) bool {
				return len(of(r.events(l.n), completed, errored, cancelled)) > 1 || st.silenced(r, l)
			})
		}},
	{"completion", "a subscriber that wants outputs whole follows one of several sentences",
		Scenario{Name: Stream, Sentences: sentences}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"coalesce_boundaries": []string{"completion"}}))
			st.start()
			st.end(l, slow)
		}},
	{"filtered", "a subscriber that excludes states and tools follows a tool",
		Scenario{Name: Tools}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"event_filters": object{"include": []string{"aaep:agent.*"}, "exclude": []string{state, "aaep:agent.tool.*"}}}))
			st.start()
			st.end(l, slow)
		}},
	{"literal", "a subscriber that includes types without their ends, and one whole, follows a tool",
		Scenario{Name: Tools}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"event_filters": object{"include": []string{"aaep:agent.session", "aaep:agent.tool", completed}}}))
			st.start()
			st.end(l, slow)
		}},
	{"filtered-handoff", "a subscriber that excludes every event has a session handed over; another one watches",
		Scenario{Name: Handoff}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"max_events_per_second": 1, "event_filters": object{"exclude": []string{"aaep:*"}}}))
			watcher := l
			if !st.run.OneLink {
				watcher = st.subscribe(usual())
			}
			st.start()
			st.end(watcher, patience)
		}},
	{"included", "a subscriber that includes sessions, and one type beside, follows a tool",
		Scenario{Name: Tools}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"event_filters": object{"include": []string{"aaep:agent.session.*", invoked}}}))
			st.start()
			st.end(l, slow)
		}},
	{"renegotiate", "a subscriber asks for a lower rate and no output, and follows an output",
		Scenario{Name: Stream, Sentences: many(12)}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"max_events_per_second": 5}))
			l.send(object{"type": "subscription.renegotiate", "subscription_id": l.id,
				"capabilities": object{"max_events_per_second": 3, "event_filters": object{"exclude": []string{output}}}})
			if l.answered(2) {
				st.start()
				st.end(l, slow)
			}
		}},
	{"still-filtered", "a subscriber that excludes states asks for another rate, and follows a tool",
		Scenario{Name: Tools}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"max_events_per_second": 50, "event_filters": object{"include": []string{"aaep:agent.*"}, "exclude": []string{state}}}))
			l.send(object{"type": "subscription.renegotiate", "subscription_id": l.id, "capabilities": object{"max_events_per_second": 20}})
			if l.answered(2) {
				st.start()
				st.end(l, slow)
			}
		}},
	{"slower", "a subscriber without a rate asks for two events a second, and follows a long output",
		Scenario{Name: Stream, Sentences: many(24)}, 3, func(st *stage) {
			l := st.subscribe(usual())
			l.send(object{"type": "subscription.renegotiate", "subscription_id": l.id, "capabilities": object{"max_events_per_second": 2}})
			if l.answered(2) {
				st.start()
				st.end(l, 2*slow)
			}
		}},
	{"turned-away", "of two subscribers one asks in version 99.0.0; the other follows an output",
		Scenario{Name: Stream, Sentences: sentences}, 3, func(st *stage) {
			st.ask(with(request(usual()), object{"aaep_version": "99.0.0"}))
			other := st.subscribe(usual())
			st.start()
			st.end(other, slow)
		}},
	{"closed", "of two subscribers one closes its subscription before the session begins; the other follows it",
		Scenario{Name: Stream, Sentences: many(12)}, 3, func(st *stage) {
			l, other := st.subscribe(usual()), st.subscribe(usual())
			l.send(object{"type": "subscription.close", "subscription_id": l.id, "reason_code": "subscriber_shutdown", "reason_message": "Leaving."})
			st.hears(l)
			st.start()
			st.end(other, slow)
		}},
	{"beside-slow", "two subscribers, one with one event a second and one without a rate, follow a long output",
		Scenario{Name: Stream, Sentences: many(12)}, 3, func(st *stage) {
			l := st.subscribe(usual())
			st.subscribe(with(usual(), object{"max_events_per_second": 1}))
			st.start()
			st.end(l, slow)
		}},
	// A target that waits a while for a subscriber whose line broke is slower from here on.
	{"lost", "of two subscribers one can answer, is asked, and its line breaks; the other watches",
		Scenario{Name: Ask, TimeoutSeconds: shortly}, 2, func(st *stage) {
			l := st.subscribe(usual())
			observer := st.subscribe(with(usual(), object{"supports_confirmation_reply": false}))
			st.start()
			limit := slow
			if q, ok := st.await(l, slow, confirm); ok {
				limit = min(max(time.Duration(q.num("timeout_seconds"))*time.Second, 0), maxQuestion) + slack
				l.cut()
			}
			st.end(observer, limit)
		}},
	{"bad-requests", "subscribers ask, one after another, with requests that are not valid",
		Scenario{}, 3, func(st *stage) {
			for _, h := range hostileRequests {
				st.ask(h.request())
			}
		}},
	greeting("restricted", "a subscriber asks for little of everything",
		request(object{"max_events_per_second": 3, "preferred_verbosity": "terse", "languages": []string{"en-US"},
			"coalesce_boundaries": []string{"completion"}, "supported_conformance_levels": []int{1, 2}, "cognitive_load": "low", "pace_wpm": 150,
			"event_filters": object{"include": []string{"aaep:agent.session.*", "aaep:agent.awaiting.*"}, "exclude": []string{started}}})),
	greeting("bare", "a subscriber asks with empty capabilities",
		request(object{})),
	greeting("future-version", "a subscriber asks in version 99.0.0",
		with(request(usual()), object{"aaep_version": "99.0.0"})),
	greeting("signed-only", "a subscriber accepts signed manifests only",
		request(with(usual(), object{"accept_signed_manifests_only": true}))),
	greeting("unknown-extension", "a subscriber asks for an extension that nobody knows",
		request(with(usual(), object{"zzz": object{"anything": 1}, "supported_extensions": []string{unknownURI}}))),
	greeting("no-language", "a subscriber understands Klingon only",
		request(with(usual(), object{"languages": []string{"tlh"}}))),
	greeting("bad-rate", "a subscriber asks for 0 events a second",
		request(with(usual(), object{"max_events_per_second": 0}))),
	{strangerPlay, "a subscriber without credentials asks",
		Scenario{}, 3, func(st *stage) { st.askBy(st.run.Stranger, request(usual())) }},
	{neighbourPlay, "a subscriber is asked; another one, with other credentials, accepts, renegotiates and closes in its name; a moment later the first rejects",
		asking(), 3, func(st *stage) {
			l := st.subscribe(usual())
			other := st.askBy(st.run.Neighbour, request(with(usual(), object{"supports_confirmation_reply": false, "supports_clarification_reply": false})))
			st.start()
			if q, ok := st.await(l, slow, confirm, completed, errored, cancelled); ok && q.typ() == confirm {
				other.reply(q, "accept", object{"subscription_id": l.id})
				other.send(object{"type": "subscription.renegotiate", "subscription_id": l.id, "capabilities": object{"supports_confirmation_reply": false}})
				other.send(object{"type": "subscription.close", "subscription_id": l.id, "reason_code": "subscriber_shutdown", "reason_message": "Leaving."})
				st.pause(settle)
				l.reply(q, "reject", nil)
			}
			st.end(l, slow)
		}},
	greeting("no-capabilities", "a subscriber asks without capabilities",
		with(request(nil), object{"capabilities": nil})),
	languagePlays[0], languagePlays[1],
	// After all others, for it is compared with all that was met.
	{"manifest", "a subscriber asks, and gets the manifest of the agent that answers",
		Scenario{}, 3, fetchManifest},
	// The last, for the target may end.
	{"shutdown", "a subscriber listens, and the agent shuts down",
		Scenario{Name: Shutdown}, 3, func(st *stage) {
			l := st.subscribe(usual())
			st.hears(l) // a stream may be asked for only now
			st.start()
			st.tape.wait(st.ctx, slow, func(r *Recording) bool {
				_, over := r.noted(l.n, noteClosed)
				return over || l.dead || r.DriverErr != nil || len(of(r.all(l.n, false), "subscription.close")) > 0
			})
		}},
}

// unknownURI names an extension that nobody has.
const unknownURI = "https://example.invalid/zzz/v1"

// withTwo are the plays with two subscribers.
var withTwo = []string{resumePlay, "languages", "ways", "two", "not-entitled", "left", "lost", "slow-fail", "closed", "verbosity", "relayed", "turned-away", "beside-slow", neighbourPlay, "latecomer", "one-leaves", "bad-requests"}

// alone are the plays in which nobody else may be there who could answer.
var alone = []string{"cannot-reply", "cannot-answer", "left", "two", "filtered-ask", "lost", "silenced", "late-arrival", "latecomer", "bare-ask", "one-leaves"}
