package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// unseenFaults were planted against a MUST each, before the judge was looked at. The suite took
// most of these readers for good ones. LVL-042.
var unseenFaults = []fault{
	{title: "keeps an error to itself that has the words of another", caught: []string{"errors-each-told"},
		conn: mutateWith(func() *messageMutator {
			told := map[any]bool{}
			return &messageMutator{in: editEach(editOnly("session.errored", func(o object) object {
				words := o["summary_normal"]
				if told[words] {
					return nil
				}
				told[words] = true
				return o
			}))}
		})},
	{title: "knows again what is not critical alone", caught: []string{"no-doubles"},
		conn: func(c transports.Conn, h hook) transports.Conn {
			seen := map[any]bool{}
			return &messageMutator{Conn: c, in: editEach(func(o object) object {
				id := o["event_id"]
				if seen[id] && o["urgency"] == "critical" {
					h.Tell(encodeObject(object{"event_id": id, "text": o["summary_normal"], "kind": "critical news"}))
				}
				seen[id] = true
				return o
			})}
		}},
	{title: "asks for other words and says the old ones", shows: aaep.VerbosityNormal, caught: []string{"new-terms-heard"}},
	{title: "drops an end that is no boundary", caught: []string{"fragments-held"},
		conn: dropReceived(func(o object) bool { return o["coalesce_hint"] == "none" && o["complete"] == true })},
	{title: "forgets what it holds at an empty end", caught: []string{"fragments-held"},
		conn: mutateWith(func() *messageMutator {
			held := map[any]object{}
			return &messageMutator{in: editEach(editOnly("output.streaming", func(o object) object {
				id := o["output_id"]
				first := held[id]
				switch delete(held, id); {
				case o["coalesce_hint"] == "none" && o["complete"] == false:
					held[id] = o
					return nil
				case first != nil && o["chunk"] == "":
					return nil
				case first != nil:
					o["chunk"], o["position"] = fmt.Sprint(first["chunk"], o["chunk"]), first["position"]
				}
				return o
			}))}
		})},
	{title: "does not tell what may be chosen", caught: []string{"choices-told"}, says: func(ev *aaep.Event, text string) string {
		if p, ok := ev.Payload.(*aaep.AwaitingClarification); ok {
			return p.Question
		}
		return text
	}},
	{title: "lets a question wait for its turn", caught: []string{"question-at-once", "critical-under-load"}, conn: mutateWith(func() *messageMutator {
		tools := 0
		return &messageMutator{in: editEach(func(o object) object {
			switch shortName(o) {
			case "tool.invoked":
				tools++
			case "awaiting.confirmation":
				if tools > 5 {
					time.Sleep(20 * time.Second)
				}
			}
			return o
		})}
	})},
	{title: "keeps forty letters of a token", caught: []string{"odd-question", "token-echoed", "answers-the-one", "replies-anew", "answers-after-change", "bare-question"},
		conn: editSent(editOnly("confirmation.reply", func(o object) object {
			token, _ := o["reply_token"].(string)
			return cloneWith(o, object{"reply_token": token[:min(len(token), 40)]})
		}))},
	{title: "takes 255 letters of an answer", caught: []string{"answers-sent"}, conn: editResponse(func(v any) any {
		if text, ok := v.(string); ok {
			return strings.ToValidUTF8(text[:min(len(text), 255)], "")
		}
		return v
	})},
	{title: "answers with half the digits", caught: []string{"answers-sent"}, conn: editResponse(func(v any) any {
		if f, ok := v.(float64); ok {
			return float64(float32(f))
		}
		return v
	})},
	{title: "takes the first kind of answer", caught: []string{"answers-sent"},
		conn: editReceived(editOnly("awaiting.clarification", func(o object) object {
			if kinds, ok := o["accepted_response_kinds"].([]any); ok {
				o["accepted_response_kinds"] = kinds[:1]
			}
			return o
		}))},
	{title: "asks on behalf of who failed", caught: []string{"gone-when-cancelled"}, conn: keepQuestionsAtEnd("session.errored")},
	{title: "asks on behalf of who is done", caught: []string{"gone-when-cancelled"}, conn: keepQuestionsAtEnd("session.completed")},
	{title: "knows one state that follows an answer", caught: []string{"gone-when-settled"},
		conn: editReceived(func(o object) object {
			if o["from_state"] == "awaiting_input" && o["to_state"] != "thinking" {
				o["from_state"] = "thinking"
			}
			return o
		})},
	{title: "sends the default when the time is over", caught: []string{"never-by-itself"}, conn: mutateWith(func() *messageMutator {
		id := any(nil)
		var m *messageMutator
		m = &messageMutator{in: editEach(func(o object) object {
			if shortName(o) == "subscription.accepted" {
				id = o["subscription_id"]
			}
			if n, ok := o["timeout_seconds"].(float64); ok && n < 10 && o["default_decision"] != nil {
				reply := object{"type": "confirmation.reply", "reply_token": o["reply_token"], "decision": o["default_decision"],
					"subscription_id": id, "timestamp": aaep.FormatTimestamp(time.Now())}
				time.AfterFunc(time.Duration(n)*time.Second, func() { _ = m.Conn.Send(context.Background(), encodeObject(reply)) })
			}
			return o
		})}
		return m
	})},
	{title: "says no to what is open when it goes", caught: []string{"never-by-itself"}, whole: true,
		conn: mutateWith(func() *messageMutator {
			var token any
			return &messageMutator{in: editEach(func(o object) object {
				if shortName(o) == "awaiting.confirmation" {
					token = o["reply_token"]
				}
				return o
			}), out: func(o object) []object {
				if shortName(o) == "confirmation.reply" {
					token = nil
				}
				if shortName(o) == "subscription.close" && token != nil {
					return []object{{"type": "confirmation.reply", "reply_token": token, "decision": "reject",
						"subscription_id": o["subscription_id"], "timestamp": aaep.FormatTimestamp(time.Now())}, o}
				}
				return []object{o}
			}}
		})},
	{title: "answers no more when it has renegotiated", caught: []string{"answers-after-change"}, conn: mutateWith(func() *messageMutator {
		changed := false
		return &messageMutator{out: editEach(func(o object) object {
			changed = changed || shortName(o) == "subscription.renegotiate"
			if changed && strings.HasSuffix(shortName(o), ".reply") {
				return nil
			}
			return o
		})}
	})},
	{title: "wants all the levels that it named", caught: []string{"lives-with-less"}, conn: mutateWith(func() *messageMutator {
		return &messageMutator{bye: func(msg []byte) error {
			if bytes.Contains(msg, []byte("subscription.accepted")) && !bytes.Contains(msg, []byte(`"supported_conformance_levels":[1,2,3]`)) {
				return errors.New("this is a lower level than was asked for")
			}
			return nil
		}}
	})},
	{title: "takes no signature for a good one", caught: []string{"demands-proof"}, conn: mutateWith(func() *messageMutator {
		demand := func(o object) object {
			if caps, ok := o["capabilities"].(object); ok && shortName(o) == "subscription.request" {
				return cloneWith(o, object{"capabilities": cloneWith(caps, object{"accept_signed_manifests_only": true})})
			}
			return o
		}
		return &messageMutator{out: editEach(demand), in: editEach(func(o object) object {
			if caps, ok := o["honored_capabilities"].(object); ok {
				return cloneWith(o, object{"honored_capabilities": cloneWith(caps, object{"accept_signed_manifests_only": nil})})
			}
			return o
		}), bye: func(msg []byte) error {
			if bytes.Contains(msg, []byte(`"signed_manifest"`)) {
				return errors.New("the signature is forged")
			}
			return nil
		}}
	})},
	{title: "is too tired for questions", caught: []string{"critical-under-load"},
		conn: dropCounted(func(n int, o object) bool { return n > 100 && shortName(o) == "awaiting.confirmation" })},
	{title: "knows three urgencies", caught: []string{"unknown-urgency"}, conn: dropReceived(func(o object) bool {
		urgency := o["urgency"]
		return urgency != nil && urgency != "background" && urgency != "normal" && urgency != "critical"
	})},
	{title: "knows three risks", caught: []string{"unknown-risk"}, conn: dropReceived(func(o object) bool {
		return o["risk_level"] != nil && !slices.Contains([]any{"low", "medium", "high"}, o["risk_level"])
	})},
	{title: "knows five boundaries", caught: []string{"unknown-boundary"}, conn: dropReceived(func(o object) bool {
		return o["coalesce_hint"] != nil && !slices.Contains([]any{"none", "word", "sentence", "paragraph", "completion"}, o["coalesce_hint"])
	})},
	{title: "takes any context for that of the protocol", caught: []string{"context-checked"},
		conn: editReceived(func(o object) object {
			if o["@context"] == "https://schema.example/v1" {
				o["@context"] = aaep.CoreContext
			}
			return o
		})},
	{title: "takes a number for a session", caught: []string{"session-checked"}, conn: editReceived(func(o object) object {
		if n, ok := o["session_id"].(float64); ok {
			o["session_id"] = fmt.Sprint("sess_", n)
		}
		return o
	})},
	{title: "needs no zone", caught: []string{"time-checked"}, conn: editReceived(func(o object) object {
		if stamp, _ := o["timestamp"].(string); len(stamp) == len("2006-01-02T15:04:05") {
			o["timestamp"] = stamp + "Z"
		}
		return o
	})},
	{title: "needs no producer", caught: []string{"envelope-checked"}, conn: editReceived(func(o object) object {
		if o["event_id"] != nil && o["producer"] == nil {
			o["producer"] = object{"agent_id": "some-agent"}
		}
		return o
	})},
	{title: "takes a name for a producer", caught: []string{"envelope-checked"}, conn: editReceived(func(o object) object {
		if name, ok := o["producer"].(string); ok {
			o["producer"] = object{"agent_id": name}
		}
		return o
	})},
	{title: "reads a comma too many", caught: []string{"json-strict"}, conn: readLeniently(",}", "}")},
	{title: "reads comments", caught: []string{"json-strict"}, conn: readLeniently("/* a comment */", "")},
	{title: "reads the first of two objects", caught: []string{"json-strict"}, conn: readLeniently("} {}", "}")},
	{title: "knows types by their short names", caught: []string{"spelled-out"},
		conn: dropReceived(func(o object) bool { return strings.HasPrefix(fmt.Sprint(o["type"]), "https://aaep-protocol.org/") })},
	{title: "says of each yes that something was changed", caught: []string{"decision-kept"},
		conn: editSent(editOnly("confirmation.reply", setMembers(object{"modified_action": object{}})))},
	{title: "takes leave under the name of the first link", caught: []string{"leave-valid"}, whole: true,
		runs: underFirstName("subscription.close")},
	{title: "renegotiates under the name of the first link", caught: []string{"renegotiation-valid"},
		runs: underFirstName("subscription.renegotiate")},
	{title: "renegotiates once", caught: []string{"changes-terms"}, conn: mutateWith(func() *messageMutator {
		n := 0
		return &messageMutator{out: editEach(editOnly("subscription.renegotiate", func(o object) object {
			if n++; n > 1 {
				return nil
			}
			return o
		}))}
	})},
	{title: "comes back with the words that it began with", caught: []string{"changes-terms"},
		runs: readerOfConns(func() func(int) *messageMutator {
			var first any
			return func(link int) *messageMutator {
				return &messageMutator{out: editEach(editOnly("subscription.request", func(o object) object {
					c, _ := o["capabilities"].(object)
					if link == 0 {
						first = c["preferred_verbosity"]
					}
					return cloneWith(o, object{"capabilities": cloneWith(c, object{"preferred_verbosity": first})})
				}))}
			}
		})},
	{title: "loses a session with the first gap", caught: []string{"gaps-passed"}, conn: mutateWith(func() *messageMutator {
		last := map[any]float64{}
		return &messageMutator{in: editEach(func(o object) object {
			if n, ok := o["sequence_number"].(float64); ok {
				if before, known := last[o["session_id"]]; known && n > before+2 {
					return nil
				}
				last[o["session_id"]] = n
			}
			return o
		})}
	})},
	{title: "knows sessions from their first number on", caught: []string{"gaps-passed"}, conn: mutateWith(func() *messageMutator {
		known := map[any]bool{}
		return &messageMutator{in: editEach(func(o object) object {
			n, numbered := o["sequence_number"].(float64)
			if known[o["session_id"]] = known[o["session_id"]] || numbered && n == 0; numbered && !known[o["session_id"]] {
				return nil
			}
			return o
		})}
	})},
	{title: "wants no extension in an error", caught: []string{"odd-error"},
		conn: dropReceived(func(o object) bool { return shortName(o) == "session.errored" && o["extensions"] != nil })},
	{title: "wants no extension in a question", caught: []string{"odd-question"},
		conn: dropReceived(func(o object) bool { return shortName(o) == "awaiting.confirmation" && o["extensions"] != nil })},
	{title: "takes questions in one language", caught: []string{"odd-question"},
		conn: dropReceived(func(o object) bool { return shortName(o) == "awaiting.confirmation" && languageOf(o) != "en-US" })},
	{title: "waits an hour for an answer", caught: []string{"odd-question"}, conn: dropReceived(func(o object) bool {
		n, _ := o["timeout_seconds"].(float64)
		return n > 3600
	})},
	{title: "has no room for what would come of it", caught: []string{"odd-question"}, says: saysConsequence(func(words string) string {
		return words[:min(len(words), 200)]
	})},
	{title: "says the first line of what would come of it", caught: []string{"odd-question"}, says: saysConsequence(func(words string) string {
		first, _, _ := strings.Cut(words, "\n")
		return first
	})},
	{title: "takes what stands in brackets for markup", caught: []string{"odd-question"}, says: func(ev *aaep.Event, text string) string {
		before, rest, found := strings.Cut(text, "<")
		_, after, closed := strings.Cut(rest, ">")
		if _, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok && found && closed {
			return before + after
		}
		return text
	}},
	{title: "has keys for nine choices", caught: []string{"answers-sent", "choices-told"}, conn: dropReceived(func(o object) bool {
		choices, _ := o["choices"].([]any)
		return len(choices) > 9
	})},
	{title: "takes a choice for its number", caught: []string{"answers-sent"}, conn: editResponse(func(v any) any {
		if v == "2" {
			return 2
		}
		return v
	})},
	{title: "has no words where there are none of its verbosity", caught: []string{"normal-instead"},
		conn: dropReceived(func(o object) bool {
			return o["verbosity"] == "terse" && o["summary_terse"] == nil && o["summary_normal"] != nil
		})},
	{title: "needs a risk", caught: []string{"bare-question"},
		conn: dropReceived(func(o object) bool { return shortName(o) == "awaiting.confirmation" && o["risk_level"] == nil })},
	{title: "needs a kind of answer", caught: []string{"answers-sent"}, conn: dropReceived(func(o object) bool {
		return shortName(o) == "awaiting.clarification" && o["accepted_response_kinds"] == nil
	})},
	{title: "knows stamps in Z alone", caught: []string{"odd-question", "other-stamp"}, conn: dropReceived(func(o object) bool {
		stamp, _ := o["timestamp"].(string)
		return strings.Contains(stamp, "+")
	})},
	{title: "has room for forty letters of a session", caught: []string{"long-session"},
		conn: dropReceived(func(o object) bool { return len(fmt.Sprint(o["session_id"])) > 40 })},
	{title: "asks for the changed terms with the right to reply taken back", caught: []string{"says-it-replies"},
		whole: true,
		conn: editSent(editOnly("subscription.renegotiate", func(o object) object {
			caps, _ := o["capabilities"].(object)
			return cloneWith(o, object{"capabilities": cloneWith(caps, object{"supports_confirmation_reply": false})})
		}))},
}

// saysConsequence says a confirmation with other words for its consequence.
func saysConsequence(words func(string) string) func(*aaep.Event, string) string {
	return func(ev *aaep.Event, text string) string {
		if p, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
			return fmt.Sprintf("%s? %s. The risk is %s.", p.Action, words(p.Consequence), p.RiskLevel)
		}
		return text
	}
}

// keepQuestionsAtEnd drops the end of sessions that have asked, where it is of a type.
func keepQuestionsAtEnd(typ string) func(transports.Conn, hook) transports.Conn {
	return mutateWith(func() *messageMutator {
		asked := map[any]bool{}
		return &messageMutator{in: editEach(func(o object) object {
			open := strings.HasPrefix(shortName(o), "awaiting.") || asked[o["session_id"]] && o["from_state"] != "awaiting_input"
			if asked[o["session_id"]] = open; open && shortName(o) == typ {
				return nil
			}
			return o
		})}
	})
}

// readLeniently reads bytes that are no JSON as if others stood there.
func readLeniently(wrong, right string) func(transports.Conn, hook) transports.Conn {
	return mutateWith(func() *messageMutator {
		return &messageMutator{raw: func(msg []byte) []byte {
			return bytes.ReplaceAll(msg, []byte(wrong), []byte(right))
		}}
	})
}
