package conformance

import (
	"fmt"
	"slices"
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
	"Is \"1 < 2 && 3 > 2\" right?  Yes,  it is.\n",
	"The sign says שלום עולם, which is a greeting. ",
	"Did all of it arrive? Yes.",
}

// manySentences returns n sentences, each different.
func manySentences(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("This is sentence number %d of many. ", i+1))
	}
	return list
}

// longSentences returns n sentences of about a thousand characters.
func longSentences(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("Sentence number %d goes %son. ", i+1, strings.Repeat("on and ", 140)))
	}
	return list
}

// maxQuestion is the longest that a question is waited for.
const maxQuestion = 10 * time.Minute

// Seconds that questions should be open for: those that are answered, and those that stay
// unanswered.
const openFor, shortly = 20, 2

// askScenario is the scenario Ask with a timeout long enough for an answer.
func askScenario() Scenario { return Scenario{Name: Ask, TimeoutSeconds: openFor} }

// clarifyScenario is the scenario Clarify with a timeout long enough for an answer.
func clarifyScenario() Scenario { return Scenario{Name: Clarify, TimeoutSeconds: openFor} }

// wholeRuns are those in which a link sees whole sessions as they are.
var wholeRuns = []string{"stream", "tools", "accept", "reject", "silence", "fail", "handoff", "clarify", "idle"}

// runsBeside are those in which messages come under other terms, or to several, or after something
// unusual.
var runsBeside = []string{"late-arrival", "old-token", "latecomer", "one-leaves", "twice", "modified", "cannot-reply",
	"bare-ask", "withdrawn", "relayed", "two",
	"unanswered", "verbosity", "filtered-fail", "filtered-handoff", "slow-fail", "rate", "again", "completion",
	"filtered", "included", "literal", "slower", "renegotiate", "midway", "gained", "long", "slow-tools", "still-filtered",
	"beside-slow", "silenced", "two-open", "second-thoughts", "other-spelling", "changed-text", "languages", "recut"}

// askingRuns are those in which the first subscriber is asked for a confirmation.
var askingRuns = []string{"accept", "reject", "silence", "old-token", "latecomer", "twice", "changed-mind",
	"foreign-token", "foreign-subscription", "late-stamp", "second-thoughts",
	"broken-reply", "modified", "relayed", "two", "not-entitled"}

var scenarioRuns = []scenarioRun{
	{"stream", "subscribers follow an output of several sentences",
		Scenario{Name: Stream, Sentences: sentences}, 1, watchTogether},
	{"tools", "subscribers follow a tool of low risk",
		Scenario{Name: Tools}, 1, watchTogether},
	{"fail", "subscribers follow a session that reports progress in a rush, and fails",
		Scenario{Name: Errored}, 1, watchTogether},
	{"idle", "subscribers follow a session that thinks and is cancelled",
		Scenario{Name: Idle}, 1, watchTogether},
	{"hang", "a subscriber follows a tool that never returns; another one leaves meanwhile",
		Scenario{Name: Hang, TimeoutSeconds: shortly}, 1, func(h *producerHarness) {
			l, other := h.subscribeLink(usualCapabilities()), h.subscribeAnother(nil)
			h.startScenario()
			if other != nil {
				if _, ok := h.awaitEvent(other, slow, invoked, completed, errored, cancelled); ok {
					other.takeLeave()
				}
			}
			h.awaitSessionEnd(l, slow)
		}},
	{"handoff", "subscribers follow a session that is handed over",
		Scenario{Name: Handoff}, 2, watchTogether},
	{"accept", "a subscriber is asked, waits a moment, and accepts",
		askScenario(), 2, answerQuestion(func(l *link, q message) {
			l.harness.pauseFor(settle) // time for a producer that does not wait
			l.replyTo(q, "accept", nil)
		})},
	{"reject", "a subscriber is asked, and rejects",
		askScenario(), 2, answerQuestion(func(l *link, q message) { l.replyTo(q, "reject", nil) })},
	{"silence", "subscribers are asked, and say nothing",
		Scenario{Name: Ask, TimeoutSeconds: shortly}, 2, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			h.subscribeAnother(nil)
			h.startScenario()
			q, ok := h.awaitEvent(l, slow, confirm, completed, errored, cancelled)
			limit := slow
			if ok && q.compactType() == confirm {
				limit = min(max(time.Duration(q.numberMember("timeout_seconds"))*time.Second, 0), maxQuestion) + slow
			}
			h.awaitSessionEnd(l, limit)
		}},
	{"twice", "a subscriber is asked, and sends the same accept three times",
		askScenario(), 2, answerQuestion(func(l *link, q message) {
			l.replyTo(q, "accept", nil)
			l.replyTo(q, "accept", nil)
			l.harness.awaitEvent(l, patience, completed, errored, cancelled)
			l.replyTo(q, "accept", nil)
		})},
	{"changed-mind", "a subscriber is asked, rejects, and accepts right after",
		askScenario(), 2, answerQuestion(func(l *link, q message) {
			l.replyTo(q, "reject", nil)
			l.replyTo(q, "accept", nil)
		})},
	{"second-thoughts", "a subscriber is asked, accepts, and rejects right after",
		askScenario(), 2, answerQuestion(func(l *link, q message) {
			l.replyTo(q, "accept", nil)
			l.replyTo(q, "reject", nil)
		})},
	{"other-spelling", "a subscriber is asked in several sessions, and accepts each time, in JSON that is right and that few write so",
		askScenario(), 2, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			for n := range otherSpellings {
				h.driveScenario(h.scenarioRun.scenario)
				q, ok := h.awaitQuestion(l, n+1)
				if !ok {
					return
				}
				l.sendRaw(otherSpellings[n].reply(l, q))
				h.awaitEnds(l, n+1)
			}
		}},
	{"two-open", "a subscriber is asked in two sessions at once, accepts in the second, and rejects in the first",
		askScenario(), 2, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			h.startScenario()
			first, ok := h.awaitEvent(l, slow, confirm, completed, errored, cancelled)
			if !ok || first.compactType() != confirm {
				return
			}
			n := 1
			if h.driveWithin(h.scenarioRun.scenario, time.Second) {
				n = 2
				if second, ok := h.awaitQuestion(l, 2); ok {
					l.replyTo(second, "accept", nil)
					h.awaitEnds(l, 1)
					h.pauseFor(settle / 2)
				}
			}
			l.replyTo(first, "reject", nil)
			h.awaitEnds(l, n)
		}},
	{"foreign-token", "a subscriber is asked, accepts with a token that was never given out, and rejects a moment later",
		askScenario(), 2, sendInvalidReplies(func(l *link, q message) {
			l.replyTo(q, "accept", object{"reply_token": "rpl_" + strings.Repeat("0", 32)})
		})},
	{"foreign-subscription", "a subscriber is asked, accepts in the name of a subscription that does not exist and of one that is over, and rejects a moment later",
		askScenario(), 2, sendInvalidReplies(func(l *link, q message) {
			l.replyTo(q, "accept", object{"subscription_id": "sub_" + strings.Repeat("0", 32)})
			if gone := l.harness.subscribeAnother(nil); gone != nil && gone.id != implicitID && gone.id != l.id {
				gone.takeLeave()
				l.harness.awaitSettled(gone)
				l.replyTo(q, "accept", object{"subscription_id": gone.id})
			}
		})},
	{"mute-later", "a subscriber gives up its right to answer questions by a renegotiation, and the agent has one",
		clarifyScenario(), 3, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			if l.renegotiate(object{"supports_clarification_reply": false}); l.awaitAnswer() {
				h.startScenario()
				h.awaitSessionEnd(l, slow)
			}
		}},
	{"late-stamp", "a subscriber is asked, accepts with a stamp of the end of the question and one of tomorrow, and rejects a moment later",
		askScenario(), 2, sendInvalidReplies(func(l *link, q message) {
			if at, ok := aaep.ParseTimestamp(q.stringMember("timestamp")); ok { // a reply is stamped before its end, not at it
				end := at.Add(time.Duration(q.numberMember("timeout_seconds")) * time.Second)
				l.replyTo(q, "accept", object{"timestamp": aaep.FormatTimestamp(end)})
				west := time.FixedZone("", -12*60*60) // where clocks show less, though it is no earlier
				l.replyTo(q, "accept", object{"timestamp": end.In(west).Format("2006-01-02T15:04:05.000-07:00")})
			}
			l.replyTo(q, "accept", object{"timestamp": aaep.FormatTimestamp(time.Now().Add(25 * time.Hour))})
		})},
	{"broken-reply", "a subscriber is asked, sends many replies that are not valid, and rejects a moment later",
		askScenario(), 2, sendInvalidReplies(func(l *link, q message) {
			_, agreed := l.harness.recorder.snapshot().firstAnswer(l.index)
			for _, h := range invalidReplies {
				if h.Handshake && !agreed {
					continue
				}
				if more := h.replyMembers(q.stringMember("reply_token")); more["reply_token"] != q.members["reply_token"] { // which may have no letters
					l.replyTo(q, "accept", more)
				}
			}
			l.sendRaw(fmt.Appendf(nil, `{"type":"confirmation.reply","reply_token":%q,"decision":"reject","decision":"accept","subscription_id":%q,"timestamp":%q}`,
				q.stringMember("reply_token"), l.id, aaep.FormatTimestamp(time.Now())))
		})},
	{"late-arrival", "a subscriber is asked, says nothing until the question is over, and then accepts, with a stamp from before its end",
		Scenario{Name: Ask, TimeoutSeconds: shortly}, 2, answerQuestion(func(l *link, q message) {
			due := q.At.Add(time.Duration(q.numberMember("timeout_seconds")) * time.Second)
			l.harness.awaitEvent(l, min(max(time.Until(due), 0), maxQuestion)+slow, completed, errored, cancelled)
			l.harness.pauseFor(min(time.Until(due), slow)) // the question may have been late in coming
			l.replyTo(q, "accept", object{"timestamp": aaep.FormatTimestamp(q.At)})
		})},
	{"old-token", "a subscriber is asked, and rejects; in the next session it is asked again, accepts with the token of the first question, and rejects a moment later",
		askScenario(), 2, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			h.driveScenario(askScenario())
			first, ok := h.awaitEvent(l, slow, confirm, completed, errored, cancelled)
			if !ok || first.compactType() != confirm {
				return
			}
			l.replyTo(first, "reject", nil)
			if _, over := h.awaitEvent(l, slow, completed, errored, cancelled); !over {
				return
			}
			h.startScenario()
			if again, ok := h.awaitQuestion(l, 2); ok {
				l.replyTo(again, "accept", object{"reply_token": first.stringMember("reply_token")})
				h.pauseFor(settle)
				l.replyTo(again, "reject", nil)
			}
			h.awaitEnds(l, 2)
		}},
	{"silenced", "a subscriber is asked, gives up its right to reply by a renegotiation, and accepts after that",
		Scenario{Name: Ask, TimeoutSeconds: shortly}, 3, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			h.startScenario()
			limit := slow
			if q, ok := h.awaitEvent(l, slow, confirm, completed, errored, cancelled); ok &&
				q.compactType() == confirm {
				limit += min(max(time.Duration(q.numberMember("timeout_seconds"))*time.Second, 0), maxQuestion)
				l.renegotiate(object{"supports_confirmation_reply": false})
				if l.awaitAnswer() {
					h.pauseFor(settle / 2) // in which a target may settle the question at once
					l.replyTo(q, "accept", nil)
				}
			}
			h.awaitSessionEnd(l, limit)
		}},
	{"latecomer", "a subscriber is asked; another one subscribes meanwhile, and the first rejects",
		askScenario(), 2, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			h.startScenario()
			if q, ok := h.awaitEvent(l, slow, confirm, completed, errored, cancelled); ok &&
				q.compactType() == confirm {
				h.subscribeLink(withMembers(usualCapabilities(), object{"supports_confirmation_reply": false}))
				l.replyTo(q, "reject", nil)
			}
			h.awaitSessionEnd(l, slow)
		}},
	{"modified", "a subscriber is asked, and accepts with changes; a while later, or if it is asked again, it rejects",
		askScenario(), 2, answerQuestion(func(l *link, q message) {
			l.replyTo(q, "accept", object{"modified_action": object{"amount": "changed"}})
			if again, ok := l.awaitSecondQuestion(); ok {
				q = again
			}
			l.replyTo(q, "reject", nil) // or the question stays open
		})},
	{"cannot-reply", "a subscriber says that it cannot answer confirmations, but questions, and the agent wants one",
		askScenario(), 2, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(), object{"supports_confirmation_reply": false}))
			h.startScenario()
			h.awaitSessionEnd(l, slow)
		}},
	{"cannot-answer", "a subscriber says that it cannot answer questions, but confirmations, and the agent has one",
		clarifyScenario(), 2, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(), object{"supports_clarification_reply": nil}))
			h.startScenario()
			h.awaitSessionEnd(l, slow)
		}},
	{"bare-ask", "a subscriber asks with empty capabilities, and the agent wants a confirmation",
		askScenario(), 2, func(h *producerHarness) {
			l := h.subscribeLink(object{})
			h.startScenario()
			h.awaitSessionEnd(l, slow)
		}},
	{"one-leaves", "two subscribers are asked; one leaves, and the other accepts",
		askScenario(), 2, func(h *producerHarness) {
			l, other := h.subscribeLink(usualCapabilities()), h.subscribeLink(usualCapabilities())
			h.startScenario()
			if q, ok := h.awaitEvent(other, slow, confirm, completed, errored, cancelled); ok &&
				q.compactType() == confirm {
				h.awaitEvent(l, patience, confirm) // one who was not asked yet leaves nothing open
				l.takeLeave()
				h.awaitSettled(l)
				other.replyTo(q, "accept", nil)
			}
			h.awaitSessionEnd(other, slow)
		}},
	{"withdrawn", "subscribers are asked, the session is cancelled meanwhile, and one accepts after that",
		Scenario{Name: Withdraw, TimeoutSeconds: openFor}, 2, answerTogether(func(l *link, q message) {
			if _, ok := l.harness.awaitEvent(l, slow, completed, errored, cancelled); ok {
				l.replyTo(q, "accept", nil)
			}
		})},
	{"relayed", "two subscribers are asked; the second accepts, and then the first",
		askScenario(), 2, func(h *producerHarness) {
			l, other := h.subscribeLink(usualCapabilities()), h.subscribeLink(usualCapabilities())
			h.startScenario()
			if q, ok := h.awaitEvent(other, slow, confirm, completed, errored, cancelled); ok &&
				q.compactType() == confirm {
				h.awaitEvent(l, patience, confirm)
				other.replyTo(q, "accept", nil)
				h.pauseFor(settle / 2) // on two links there is no order but time
				l.replyTo(q, "accept", nil)
			}
			h.awaitSessionEnd(l, slow)
		}},
	{resumePlay, "of two subscribers the stream of one breaks, and is opened again while the other is asked, who rejects then",
		askScenario(), 2, breakStreamAndResume},
	{resumedTextPlay, "the stream of a subscriber breaks within a long output, and is opened again",
		Scenario{Name: Stream, Sentences: manySentences(12)}, 2, resumedText},
	{"left", "of two subscribers one can answer, is asked, leaves, and accepts after that; the other watches",
		askScenario(), 3, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			observer := h.subscribeLink(withMembers(usualCapabilities(), object{"supports_confirmation_reply": false}))
			h.startScenario()
			if q, ok := h.awaitEvent(l, slow, confirm); ok {
				l.takeLeave()
				l.replyTo(q, "accept", nil) // a subscriber that has left says nothing more that counts
			}
			h.awaitSessionEnd(observer, slow/2)
		}},
	{"two", "two subscribers are asked; one rejects, and then the other accepts",
		askScenario(), 2, func(h *producerHarness) {
			l, other := h.subscribeLink(usualCapabilities()), h.subscribeLink(usualCapabilities())
			h.startScenario()
			if q, ok := h.awaitEvent(l, slow, confirm); ok {
				h.awaitEvent(other, patience, confirm)
				l.replyTo(q, "reject", nil)
				h.pauseFor(settle / 2) // on two links there is no order but time
				other.replyTo(q, "accept", nil)
			}
			h.awaitSessionEnd(l, slow)
		}},
	{"clarify", "subscribers are questioned; one answers in several ways that must not count, and so does one that cannot answer; a moment later it answers as was asked for, and once more otherwise",
		clarifyScenario(), 2, func(h *producerHarness) {
			l, other := h.subscribeLink(usualCapabilities()), h.subscribeAnother(object{"supports_clarification_reply": false})
			h.subscribeAnother(nil)
			h.startScenario()
			if q, ok := h.awaitEvent(l, slow, clarify); ok {
				right := properAnswer(q)
				for _, invalid := range invalidResponses { // none of them is an answer to a yes-or-no question
					if invalid.Response != nil {
						l.answerClarification(q, invalid.Response, nil)
					} else if more := invalid.replyMembers(q.stringMember("reply_token")); (!invalid.Handshake ||
						l.id != implicitID) &&
						more["reply_token"] != q.members["reply_token"] { // which may have no letters
						l.answerClarification(q, right, more)
					}
				}
				if at, ok := aaep.ParseTimestamp(q.stringMember("timestamp")); ok {
					end := at.Add(time.Duration(q.numberMember("timeout_seconds")) * time.Second)
					l.answerClarification(q, right, object{"timestamp": aaep.FormatTimestamp(end)})
				}
				l.replyTo(q, "accept", nil)
				if other != nil {
					other.answerClarification(q, right, nil)
				}
				h.pauseFor(settle)
				l.answerClarification(q, right, nil)
				l.answerClarification(q, anotherAnswer(q), nil)
			}
			h.awaitSessionEnd(l, slow)
		}},
	{"not-entitled", "of two subscribers one is asked; the other, which cannot answer, accepts with that token; a moment later the first rejects",
		askScenario(), 2, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			other := h.subscribeLink(withMembers(usualCapabilities(), object{"supports_confirmation_reply": false}))
			h.startScenario()
			if q, ok := h.awaitEvent(l, slow, confirm, completed, errored, cancelled); ok &&
				q.compactType() == confirm {
				other.replyTo(q, "accept", nil)
				h.pauseFor(settle)
				l.replyTo(q, "reject", nil)
			}
			h.awaitSessionEnd(l, slow)
		}},
	{"unanswered", "subscribers are questioned, and say nothing; one answers when the session is over",
		Scenario{Name: Clarify, TimeoutSeconds: shortly}, 2, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			h.subscribeAnother(nil)
			h.startScenario()
			q, ok := h.awaitEvent(l, slow, clarify, completed, errored, cancelled)
			asked, limit := ok && q.compactType() == clarify, slow
			if asked {
				limit = min(max(time.Duration(q.numberMember("timeout_seconds"))*time.Second, 0), maxQuestion) + slow
			}
			if h.awaitSessionEnd(l, limit); asked {
				l.answerClarification(q, properAnswer(q), object{"timestamp": aaep.FormatTimestamp(q.At)})
			}
		}},
	{"verbosity", "two subscribers, one that wants few words and one that wants many, follow a tool",
		Scenario{Name: Tools}, 3, func(h *producerHarness) {
			l, other := h.subscribeLink(withMembers(usualCapabilities(), object{"preferred_verbosity": "terse"})),
				h.subscribeLink(withMembers(usualCapabilities(), object{"preferred_verbosity": "detailed"}))
			h.startScenario()
			h.awaitEvent(other, slow, completed, errored, cancelled)
			h.awaitSessionEnd(l, patience)
		}},
	{"filtered-fail", "a subscriber that excludes every event, at one a second, has a session fail",
		Scenario{Name: Errored}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(),
				object{"max_events_per_second": 1, "event_filters": object{"exclude": []string{"aaep:*"}}}))
			h.startScenario()
			h.awaitSessionEnd(l, slow)
		}},
	{"slow-fail", "two subscribers, one with one event a second, have a session fail",
		Scenario{Name: Errored}, 3, func(h *producerHarness) {
			whole, l := h.subscribeLink(usualCapabilities()),
				h.subscribeLink(withMembers(usualCapabilities(), object{"max_events_per_second": 1}))
			h.startScenario()
			h.awaitEvent(whole, slow, errored)
			h.awaitSessionEnd(l, slow)
		}},
	{"filtered-ask", "a subscriber that includes no event, at one a second, is asked and rejects; another one watches",
		askScenario(), 3, askThroughFilters},
	{"filtered-question", "a subscriber that includes no event, at one a second, is questioned and answers; another one watches",
		clarifyScenario(), 3, askThroughFilters},
	{"rate", "a subscriber with two events a second follows a long output",
		Scenario{Name: Stream, Sentences: manySentences(40)}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(), object{"max_events_per_second": 2}))
			h.pauseUntilLateInWindow()
			h.startScenario()
			h.awaitSessionEnd(l, 2*slow)
		}},
	{"slow-tools", "a subscriber with two events a second asks for other filters, and follows a tool",
		Scenario{Name: Tools}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(), object{"max_events_per_second": 2}))
			l.renegotiate(object{"event_filters": object{"exclude": []string{progress}}})
			l.awaitAnswer()
			h.startScenario()
			h.awaitSessionEnd(l, slow)
		}},
	{"midway", "a subscriber is asked; it asks for one event a second and no states while the question is open, and accepts",
		askScenario(), 3, answerQuestion(func(l *link, q message) {
			l.renegotiate(object{"max_events_per_second": 1, "event_filters": object{"exclude": []string{state}}})
			if l.awaitAnswer() {
				l.replyTo(q, "accept", nil)
			} else {
				l.replyTo(q, "reject", nil)
			}
		})},
	{"gained", "a subscriber that could not answer asks for the right to reply; it is asked, and accepts",
		askScenario(), 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(), object{"supports_confirmation_reply": false}))
			l.renegotiate(object{"supports_confirmation_reply": true})
			if l.answers = l.awaitAnswer(); l.answers {
				h.startScenario()
				if q, ok := h.awaitEvent(l, slow, confirm, completed, errored, cancelled); ok &&
					q.compactType() == confirm {
					l.replyTo(q, "accept", nil)
				}
				h.awaitSessionEnd(l, slow)
			}
		}},
	{"bad-terms", "subscribers renegotiate in ways that are not valid, and an agent thinks",
		Scenario{Name: Idle}, 3, func(h *producerHarness) {
			for _, wrong := range []object{{"capabilities": object{"max_events_per_second": 0}},
				{"Capabilities": object{"max_events_per_second": 1}}} {
				l := h.subscribeLink(usualCapabilities())
				l.sendObject(withMembers(object{"type": "subscription.renegotiate", "subscription_id": l.id}, wrong))
				if h.run.OneLink {
					break
				}
			}
			h.awaitSettled(h.links[0])
			if !h.run.OneLink {
				l := h.subscribeLink(usualCapabilities())
				h.startScenario()
				h.awaitSessionEnd(l, slow)
			}
		}},
	{"again", "a subscriber with ten events a second follows a short session, and most of a second later a long output",
		Scenario{Name: Stream, Sentences: manySentences(24)}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(), object{"max_events_per_second": 10}))
			h.runShortSession(l)
			h.runNextSession(l)
		}},
	{"changed-text", "a subscriber with two events a second follows a long output, and asks for more of them in the middle",
		Scenario{Name: Stream, Sentences: manySentences(24)}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(), object{"max_events_per_second": 2}))
			h.startScenario()
			if _, ok := h.awaitEvent(l, slow, state, output, completed, errored, cancelled); ok { // the text is still held up
				l.renegotiate(object{"max_events_per_second": 50, "coalesce_boundaries": []string{"sentence"}})
			}
			h.awaitSessionEnd(l, slow)
		}},
	{"completion", "a subscriber that wants outputs whole follows one of several sentences",
		Scenario{Name: Stream, Sentences: sentences}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(),
				object{"coalesce_boundaries": []string{"completion"}}))
			h.startScenario()
			h.awaitSessionEnd(l, slow)
		}},
	{"long", "a subscriber that wants outputs whole follows one, and in the next session one that is longer than an event may hold",
		Scenario{Name: Stream, Sentences: longSentences(20)}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(),
				object{"coalesce_boundaries": []string{"completion"}}))
			h.driveScenario(Scenario{Name: Stream, Sentences: sentences})
			if _, ok := h.awaitEvent(l, slow, completed, errored, cancelled); ok {
				h.runNextSession(l)
			}
		}},
	{"recut", "of two subscribers one asks for outputs whole, after it asked for sentences, and both follow one of several sentences",
		Scenario{Name: Stream, Sentences: sentences}, 3, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			h.subscribeAnother(nil)
			if l.renegotiate(object{"coalesce_boundaries": []string{"completion"}}); l.awaitAnswer() {
				h.startScenario()
				h.awaitSessionEnd(l, slow)
			}
		}},
	{"filtered", "a subscriber that excludes states and tools follows a tool",
		Scenario{Name: Tools}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(),
				object{"event_filters": object{"include": []string{"aaep:agent.*", state},
					"exclude": []string{state, "aaep:agent.tool.*"}}}))
			h.startScenario()
			h.awaitSessionEnd(l, slow)
		}},
	{"literal", "a subscriber that includes types without their ends, and one whole, follows a tool",
		Scenario{Name: Tools}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(),
				object{"event_filters": object{"include": []string{"aaep:agent.session", "aaep:agent.tool",
					"AAEP:Agent.*", "aaep:*.changed", completed}}}))
			h.startScenario()
			h.awaitSessionEnd(l, slow)
		}},
	{"filtered-handoff", "a subscriber that excludes every event has a session handed over; another one watches",
		Scenario{Name: Handoff}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(),
				object{"max_events_per_second": 1, "event_filters": object{"exclude": []string{"aaep:*"}}}))
			watcher := l
			if !h.run.OneLink {
				watcher = h.subscribeLink(usualCapabilities())
			}
			h.startScenario()
			h.awaitSessionEnd(watcher, patience)
		}},
	{"included", "a subscriber that includes sessions, and one type beside, and excludes types without their ends, follows a tool",
		Scenario{Name: Tools}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(),
				object{"event_filters": object{"include": []string{"aaep:agent.session.*", invoked},
					"exclude": []string{"aaep:agent.session", "aaep:agent.tool", "AAEP:agent.*"}}}))
			h.startScenario()
			h.awaitSessionEnd(l, slow)
		}},
	{"renegotiate", "a subscriber asks for a lower rate and no output, and follows an output",
		Scenario{Name: Stream, Sentences: manySentences(12)}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(), object{"max_events_per_second": 5}))
			l.renegotiate(object{"max_events_per_second": 3,
				"event_filters": object{"exclude": []string{output}}})
			if l.awaitAnswer() {
				h.startScenario()
				h.awaitSessionEnd(l, slow)
			}
		}},
	{"still-filtered", "a subscriber that excludes states asks for another rate, then for fewer words, and follows a tool",
		Scenario{Name: Tools}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(),
				object{"max_events_per_second": 50,
					"event_filters": object{"include": []string{"aaep:agent.*"}, "exclude": []string{state}}}))
			l.renegotiate(object{"max_events_per_second": 20})
			if l.awaitAnswer() {
				l.renegotiate(object{"preferred_verbosity": "terse"})
				l.awaitAnswer()
				h.startScenario()
				h.awaitSessionEnd(l, slow)
			}
		}},
	{"slower", "a subscriber without a rate asks for two events a second, and follows a long output",
		Scenario{Name: Stream, Sentences: manySentences(24)}, 3, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			l.renegotiate(object{"max_events_per_second": 2})
			if l.awaitAnswer() {
				h.startScenario()
				h.awaitSessionEnd(l, 2*slow)
			}
		}},
	{"turned-away", "of two subscribers one asks in version 99.0.0; the other follows an output",
		Scenario{Name: Stream, Sentences: sentences}, 3, func(h *producerHarness) {
			h.sendRequest(withMembers(requestMessage(usualCapabilities()), object{"aaep_version": "99.0.0"}))
			other := h.subscribeLink(usualCapabilities())
			h.startScenario()
			h.awaitSessionEnd(other, slow)
		}},
	{"closed", "of two subscribers one closes its subscription before the session begins; the other follows it",
		Scenario{Name: Stream, Sentences: manySentences(12)}, 3, func(h *producerHarness) {
			l, other := h.subscribeLink(usualCapabilities()), h.subscribeLink(usualCapabilities())
			l.takeLeave()
			h.awaitSettled(l)
			h.startScenario()
			h.awaitSessionEnd(other, slow)
		}},
	{"beside-slow", "two subscribers, one with one event a second and one without a rate, follow a long output",
		Scenario{Name: Stream, Sentences: manySentences(12)}, 3, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			h.subscribeLink(withMembers(usualCapabilities(), object{"max_events_per_second": 1}))
			h.startScenario()
			h.awaitSessionEnd(l, slow)
		}},
	// A target that waits a while for a subscriber whose line broke is slower from here on.
	{"lost", "of two subscribers one can answer, is asked, and its line breaks; the other watches",
		Scenario{Name: Ask, TimeoutSeconds: shortly}, 2, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			observer := h.subscribeLink(withMembers(usualCapabilities(), object{"supports_confirmation_reply": false}))
			h.startScenario()
			limit := slow
			if q, ok := h.awaitEvent(l, slow, confirm); ok {
				limit = min(max(time.Duration(q.numberMember("timeout_seconds"))*time.Second, 0), maxQuestion) + slack
				l.breakConnection()
			}
			h.awaitSessionEnd(observer, limit)
		}},
	{"bad-requests", "subscribers ask, one after another, with requests that are not valid",
		Scenario{}, 3, func(h *producerHarness) {
			for _, invalid := range invalidRequests {
				h.sendRequest(invalid.requestMessage())
			}
		}},
	requestOnly("restricted", "a subscriber asks for little of everything",
		requestMessage(object{"max_events_per_second": 3, "preferred_verbosity": "terse",
			"languages":           []string{"en-US"},
			"coalesce_boundaries": []string{"completion"}, "supported_conformance_levels": []int{1, 2},
			"cognitive_load": "low", "pace_wpm": 150,
			"event_filters": object{"include": []string{"aaep:agent.session.*", "aaep:agent.awaiting.*"},
				"exclude": []string{started}}})),
	requestOnly("edges", "a subscriber asks with values at the edges of what may be",
		withMembers(requestMessage(withMembers(usualCapabilities(),
			object{"max_events_per_second": 100000, "pace_wpm": 1000,
				"languages": []string{"EN-us", "en"}, "coalesce_boundaries": []string{"none", "word", "sentence",
					"paragraph",
					"completion"}})),
			object{"subscriber_id": strings.Repeat("ẹ", 256)})),
	requestOnly("bare", "a subscriber asks with empty capabilities",
		requestMessage(object{})),
	requestOnly("future-version", "a subscriber asks in version 99.0.0",
		withMembers(requestMessage(usualCapabilities()), object{"aaep_version": "99.0.0"})),
	requestOnly("later-version", "a subscriber asks in version 1.9.0",
		withMembers(requestMessage(usualCapabilities()), object{"aaep_version": laterVersion})),
	requestOnly("signed-only", "a subscriber accepts signed manifests only",
		requestMessage(withMembers(usualCapabilities(), object{"accept_signed_manifests_only": true}))),
	requestOnly("unknown-extension", "a subscriber asks for an extension that nobody knows",
		requestMessage(withMembers(usualCapabilities(),
			object{"zzz": object{"anything": 1}, "supported_extensions": []string{unknownURI}}))),
	requestOnly("no-language", "a subscriber understands Klingon only",
		requestMessage(withMembers(usualCapabilities(), object{"languages": []string{"tlh"}}))),
	requestOnly("bad-rate", "a subscriber asks for 0 events a second",
		requestMessage(withMembers(usualCapabilities(), object{"max_events_per_second": 0}))),
	{unauthenticatedPlay, "subscribers ask without credentials, and with some that were made up",
		Scenario{}, 3, func(h *producerHarness) {
			for _, dialer := range h.run.Unauthenticated {
				h.sendRequestBy(dialer, requestMessage(usualCapabilities()))
			}
		}},
	{stolenStreamPlay, "a subscriber's event stream is opened with another's credentials; one with its own watches a tool",
		Scenario{Name: Tools}, 3, func(h *producerHarness) {
			h.sendRequestBy(h.run.StolenStream, requestMessage(withMembers(usualCapabilities(),
				object{"supports_confirmation_reply": false, "supports_clarification_reply": false})))
			own := h.subscribeLink(usualCapabilities())
			h.startScenario()
			h.awaitSessionEnd(own, slow)
		}},
	{otherPrincipalPlay, "a subscriber is asked; another one, with other credentials, accepts, renegotiates and closes in its name; a moment later the first rejects",
		askScenario(), 3, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			other := h.sendRequestBy(h.run.OtherPrincipal,
				requestMessage(withMembers(usualCapabilities(),
					object{"supports_confirmation_reply": false, "supports_clarification_reply": false})))
			h.startScenario()
			if q, ok := h.awaitEvent(l, slow, confirm, completed, errored, cancelled); ok &&
				q.compactType() == confirm {
				other.replyTo(q, "accept", object{"subscription_id": l.id})
				other.sendObject(object{"type": "subscription.renegotiate", "subscription_id": l.id,
					"capabilities": object{"supports_confirmation_reply": false}})
				other.sendObject(object{"type": "subscription.close", "subscription_id": l.id,
					"reason_code": "subscriber_shutdown", "reason_message": "Leaving."})
				h.pauseFor(settle)
				l.replyTo(q, "reject", nil)
			}
			h.awaitSessionEnd(l, slow)
		}},
	requestOnly("no-capabilities", "a subscriber asks without capabilities",
		withMembers(requestMessage(nil), object{"capabilities": nil})),
	languageRuns[0], languageRuns[1],
	requestOnly("large-request", "a subscriber asks for an extension that nobody knows, with a request of 60 KiB",
		requestMessage(withMembers(usualCapabilities(),
			object{"zzz": object{"anything": strings.Repeat("0123456789", 6<<10)}}))),
	// After all others, for it is compared with all that was met.
	{"manifest", "a subscriber asks, and gets the manifest of the agent that answers",
		Scenario{}, 3, runManifest},
	// The last, for the target may end.
	{"shutdown", "subscribers listen, and the agent shuts down",
		Scenario{Name: Shutdown}, 3, func(h *producerHarness) {
			l := h.subscribeLink(usualCapabilities())
			h.subscribeAnother(nil)
			h.awaitSettled(l) // a stream may be asked for only now
			h.startScenario()
			h.recorder.awaitCondition(h.ctx, slow, func(r *Recording) bool {
				return r.DriverErr != nil || !slices.ContainsFunc(h.links, func(l *link) bool {
					_, over := r.noteOn(l.index, noteClosed)
					return !over && !l.dead && len(ofTypes(r.messagesOn(l.index, false), "subscription.close")) == 0
				})
			})
		}},
}

// askThroughFilters is the scenario run in which a subscriber is asked whose terms let no event
// through, and another one, unless the target has one link, watches that cannot answer.
func askThroughFilters(h *producerHarness) {
	l := h.subscribeLink(withMembers(usualCapabilities(),
		object{"max_events_per_second": 1, "event_filters": object{"include": []string{}}}))
	watcher := l // has the end filtered out
	if !h.run.OneLink {
		watcher = h.subscribeLink(withMembers(usualCapabilities(),
			object{"supports_confirmation_reply": nil, "supports_clarification_reply": nil}))
	}
	h.startScenario()
	if q, ok := h.awaitEvent(l, slow, confirm, clarify); ok && q.compactType() == confirm {
		l.replyTo(q, "reject", nil)
	} else if ok {
		l.answerClarification(q, properAnswer(q), nil)
	}
	h.awaitSessionEnd(watcher, patience)
}

// otherSpellings are replies that are right, and that few write so. They take one line.
var otherSpellings = []struct {
	what  string
	reply func(l *link, q message) []byte
}{
	{"a timestamp of another time zone", func(l *link, q message) []byte {
		return l.spelledReply(q, time.Now().In(time.FixedZone("",
			5*60*60+30*60)).Format("2006-01-02T15:04:05.000-07:00"))
	}},
	{"a timestamp of microseconds", func(l *link, q message) []byte {
		return l.spelledReply(q, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"))
	}},
	{"a timestamp of a clock that is ahead", func(l *link, q message) []byte {
		asked, _ := aaep.ParseTimestamp(q.stringMember("timestamp"))
		end := asked.Add(time.Duration(q.numberMember("timeout_seconds")) * time.Second)
		return l.spelledReply(q, aaep.FormatTimestamp(time.Now().Add(min(time.Until(end)/2, 3*time.Second))))
	}},
	{"members in another order, spaces and escapes", func(l *link, q message) []byte {
		return fmt.Appendf(nil, ` { "timestamp" : %q , "subscription_id":%q,"decision":"\u0061ccep\u0074",  "reply_token":%q,"type":"confirmation\u002ereply" } `,
			aaep.FormatTimestamp(time.Now()), l.id, q.stringMember("reply_token"))
	}},
}

// spelledReply is an accept with a timestamp as it is given.
func (l *link) spelledReply(q message, timestamp string) []byte {
	return fmt.Appendf(nil, `{"type":"confirmation.reply","reply_token":%q,"decision":"accept","subscription_id":%q,"timestamp":%q}`,
		q.stringMember("reply_token"), l.id, timestamp)
}

// laterVersion is a version 1 that this suite does not know.
const laterVersion = "1.9.0"

// unknownURI names an extension that no target has.
const unknownURI = "https://example.invalid/zzz/v1"

// twoSubscriberRuns are the scenario runs with two subscribers.
var twoSubscriberRuns = []string{resumePlay, "languages", "ways", "two", "not-entitled", "left", "lost", "slow-fail",
	"closed",
	"verbosity", "relayed", "turned-away", "beside-slow", otherPrincipalPlay, stolenStreamPlay, "latecomer", "one-leaves", "bad-requests"}

// soloRuns are the scenario runs in which no other subscriber that could answer may be connected.
var soloRuns = []string{"cannot-reply", "cannot-answer", "left", "two", "filtered-ask", "filtered-question", "lost", "silenced",
	"late-arrival", "latecomer", "bare-ask", "one-leaves", "mute-later"}
