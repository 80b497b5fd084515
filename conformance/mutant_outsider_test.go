package conformance_test

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
)

// outsiderMutants were planted before anything was known of which case would catch them: programs
// of authors who thought of one session, one subscriber and one question, or who meant no good.
// LVL-042, LVL-043.
var outsiderMutants = []mutant{
	// Two of everything: subscribers.
	{name: "asks who cannot reply because another can", caught: []string{"not-asked-if-mute", "leaving-is-no-consent"},
		in: func(p *proxy, o object) []object {
			switch {
			case shortName(o) == "subscription.request" && p.caps["supports_confirmation_reply"] == true:
				p.shared.Store("able", true)
			case shortName(o) == "subscription.request" && p.isLive("able") && p.caps["supports_confirmation_reply"] == false:
				p.flag = true
				return []object{cloneWith(o, object{"capabilities": cloneWith(p.caps, object{"supports_confirmation_reply": true})})}
			case p.flag && shortName(o) == "confirmation.reply":
				return nil
			}
			return []object{o}
		}, out: func(p *proxy, o object) []object {
			if h, ok := o["honored_capabilities"].(object); ok && p.flag {
				h["supports_confirmation_reply"] = false
			}
			return []object{o}
		}},
	{name: "asks for decisions whoever can answer questions", caught: []string{"not-asked-if-mute",
		"leaving-is-no-consent", "invalid-refused"}, in: func(p *proxy, o object) []object {
		if shortName(o) == "subscription.request" && p.caps["supports_clarification_reply"] == true &&
			p.caps["supports_confirmation_reply"] != true {
			p.flag = true
			return []object{cloneWith(o, object{"capabilities": cloneWith(p.caps, object{"supports_confirmation_reply": true})})}
		}
		if p.flag && shortName(o) == "confirmation.reply" {
			return nil
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if h, ok := o["honored_capabilities"].(object); ok && p.flag {
			h["supports_confirmation_reply"] = false
		}
		return []object{o}
	}},
	{name: "questions whoever can decide", caught: []string{"not-questioned-if-mute", "wrong-answer-waits"},
		in: func(p *proxy, o object) []object {
			if shortName(o) == "subscription.request" && p.caps["supports_confirmation_reply"] == true &&
				p.caps["supports_clarification_reply"] != true {
				p.flag = true
				return []object{cloneWith(o, object{"capabilities": cloneWith(p.caps,
					object{"supports_clarification_reply": true})})}
			}
			return []object{o}
		}, out: func(p *proxy, o object) []object {
			if h, ok := o["honored_capabilities"].(object); ok && p.flag {
				h["supports_clarification_reply"] = false
			}
			return []object{o}
		}},
	{name: "applies the filters of one to all", caught: []string{"included-come"}, in: func(p *proxy, o object) []object {
		if f, ok := p.caps["event_filters"].(object); ok && f["exclude"] != nil {
			p.shared.Store("excluding", p)
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if by, ok := p.shared.Load("excluding"); ok && by != p && !by.(*proxy).bye && !p.isCalm(o) {
			return nil
		}
		return []object{o}
	}},
	{name: "runs the tool for each yes", caught: []string{"one-decision"}, delay: holdSessionEnd,
		in: editReplies(func(p *proxy, o object) object {
			if o["decision"] == "accept" && o["reply_token"] == p.token && o["modified_action"] == nil &&
				o["subscription_id"] == p.id && p.hasRequested("supports_confirmation_reply", true) && len(o) == 5 {
				if first, there := p.shared.LoadOrStore("yes "+p.token, p.link); there && first != p.link {
					p.shared.Store("both "+p.token, true)
				}
			}
			if o["decision"] == "reject" {
				p.shared.LoadOrStore("yes "+p.token, p.link)
			}
			return o
		}), out: func(p *proxy, o object) []object {
			if _, both := p.shared.Load("both " + p.token); both && shortName(o) == "session.completed" {
				if by, _ := p.shared.Load("yes " + p.token); by == p.link {
					return []object{p.newToolCall(o), o}
				}
			}
			return []object{o}
		}},
	{name: "tells the end of a handoff to one", caught: []string{"all-get-all"},
		out: onlyFirstOfTwo("handoff.requested")},
	{name: "tells a cancellation to one", caught: []string{"ends-once", "all-get-all"},
		out: onlyFirstOfTwo("session.cancelled")},
	{name: "questions only one", caught: []string{"all-get-all"}, in: func(p *proxy, o object) []object {
		if shortName(o) == "subscription.request" && p.caps["supports_clarification_reply"] == true {
			p.shared.Store("newest", p.link)
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if newest, _ := p.shared.Load("newest"); newest != p.link && shortName(o) == "awaiting.clarification" {
			return nil
		}
		return []object{o}
	}},
	{name: "tells only who answered a question that it is settled", caught: []string{"all-get-all"}, in: func(p *proxy,
		o object) []object {
		if shortName(o) == "clarification.reply" {
			p.shared.Store("answered "+p.token, p.link)
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if by, ok := p.shared.Load("answered " + p.token); ok && by != p.link && o["from_state"] == "awaiting_input" {
			return nil
		}
		return []object{o}
	}},
	{name: "tells one alone that nobody answered", caught: []string{"all-get-all"}, out: func(p *proxy,
		o object) []object {
		if o["from_state"] == "awaiting_input" && p.asking && !p.replied && p.isSecond() {
			return nil
		}
		return []object{o}
	}, in: editReplies(func(p *proxy, o object) object { p.replied = true; return o })},
	{name: "asks everybody again when somebody comes", caught: []string{"tokens-fresh", "asks-once"}, in: func(p *proxy,
		o object) []object {
		if shortName(o) == "subscription.request" {
			p.shared.Range(func(k, v any) bool {
				if other, ok := v.(*proxy); ok && other != p && other.held != nil && !other.bye {
					other.injectMessage(other.cloneWithNewID(other.held, nil))
				}
				return true
			})
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		switch {
		case shortName(o) == "awaiting.confirmation":
			p.held = o
			p.shared.Store(fmt.Sprint("asked ", p.link), p)
		case o["from_state"] == "awaiting_input" || strings.HasPrefix(shortName(o), "session."):
			p.held = nil
		}
		return []object{o}
	}},
	{name: "sends what goes on before it has accepted", caught: []string{"untranslated-sent"}, out: func(p *proxy,
		o object) []object {
		switch {
		case shortName(o) == "subscription.accepted" && p.isLive("session"):
			return []object{p.newEvent(p.sharedEvent("session"), "progress.updated",
				object{"progress": object{"percent": 5}}), o}
		case shortName(o) == "session.started":
			p.shared.Store("session", o)
		case strings.HasPrefix(shortName(o), "session."):
			p.shared.Delete("session")
		}
		return []object{o}
	}},

	// Order and ends under terms.
	{name: "sends what it held after the end", caught: []string{"ids-once", "text-whole-slow", "nothing-after-end"}, out: func(p *proxy,
		o object) []object {
		switch {
		case p.caps["max_events_per_second"] == nil:
		case o["complete"] == true && p.held == nil:
			p.held = o
			return nil
		case shortName(o) == "session.completed" && p.held != nil:
			return []object{o, cloneWith(p.held, object{"timestamp": o["timestamp"]})}
		}
		return []object{o}
	}},
	{name: "forgets the end where there is a rate", caught: []string{"ends-once"}, out: dropWhere(func(p *proxy,
		o object) bool {
		return p.hasRequested("max_events_per_second", 2.0) && shortName(o) == "session.completed"
	})},
	{name: "forgets the beginning where there is a rate", whole: true, caught: []string{"begins-once"}, out: dropWhere(func(p *proxy,
		o object) bool {
		return p.caps["max_events_per_second"] != nil && shortName(o) == "session.started"
	})},
	// The second end is one event more, and may be one too many in what the rate allows just then.
	{name: "ends twice where there is a rate", caught: []string{"ends-once"}, maybe: []string{"rate-kept", "new-rate-kept"},
		out: func(p *proxy, o object) []object {
			if p.hasRequested("max_events_per_second", 2.0) && shortName(o) == "session.completed" {
				return []object{o, p.cloneWithNewID(o, nil)}
			}
			return []object{o}
		}},
	{name: "breaks the chain of states where it folds them", caught: []string{"states-chained"}, out: func(p *proxy,
		o object) []object {
		if p.caps["max_events_per_second"] != nil && shortName(o) == "state.changed" && o["from_state"] != "idle" {
			o["from_state"] = "deciding"
		}
		return []object{o}
	}},
	{name: "stamps what it merged with its first part", caught: []string{"time-forward"}, out: func(p *proxy,
		o object) []object {
		if at, ok := aaep.ParseTimestamp(fmt.Sprint(o["timestamp"])); ok && p.caps["max_events_per_second"] != nil &&
			o["chunk"] != nil {
			o["timestamp"] = aaep.FormatTimestamp(at.Add(-time.Second))
		}
		return []object{o}
	}},
	{name: "has one id for all that it merges", caught: []string{"ids-once"}, out: func(p *proxy, o object) []object {
		if p.caps["max_events_per_second"] != nil && o["chunk"] != nil {
			if p.held == nil {
				p.held = o
			}
			o["event_id"] = p.held["event_id"]
		}
		return []object{o}
	}},
	{name: "moves on before the result where there is a rate", caught: []string{"tools-not-merged"}, out: func(p *proxy,
		o object) []object {
		switch {
		case p.caps["max_events_per_second"] == nil:
		case shortName(o) == "tool.completed":
			p.held = o
			return nil
		case p.held != nil && o["from_state"] == "calling_tool":
			late := cloneWith(p.held, object{"timestamp": o["timestamp"]})
			p.held = nil
			return []object{o, late}
		}
		return []object{o}
	}},
	{name: "completes its output late where outputs come whole", caught: []string{"output-complete"}, out: func(p *proxy,
		o object) []object {
		if b, _ := p.caps["coalesce_boundaries"].([]any); len(b) == 1 && o["complete"] == true {
			return []object{o, p.cloneWithNewID(o, object{"chunk": "", "position": o["position"].(float64) +
				float64(len([]rune(fmt.Sprint(o["chunk"]))))})}
		}
		return []object{o}
	}},

	// The next session on the same subscription.
	{name: "counts positions on in the next session", caught: []string{"positions"}, out: func(p *proxy,
		o object) []object {
		if at, ok := o["position"].(float64); ok {
			if p.held != nil && p.held["session_id"] != o["session_id"] {
				o["position"] = at + 10
			} else {
				p.held = o
			}
		}
		return []object{o}
	}},
	{name: "goes on from the last state of the session before", caught: []string{"states-chained"}, out: func(p *proxy,
		o object) []object {
		if shortName(o) == "state.changed" {
			if o["from_state"] == "idle" && p.held != nil && p.held["session_id"] != o["session_id"] {
				o["from_state"] = p.held["to_state"]
			}
			p.held = o
		}
		return []object{o}
	}},
	{name: "numbers on in the next session", caught: []string{"numbered-right"}, out: func(p *proxy, o object) []object {
		if o["session_id"] != nil {
			o["sequence_number"] = p.n
			p.n++
		}
		return []object{o}
	}},
	{name: "keeps a rate for one session", caught: []string{"rate-kept"}, in: func(p *proxy, o object) []object {
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if p.caps["max_events_per_second"] != nil && p.flag && shortName(o) == "session.started" {
			list := []object{o}
			for i := range 15 {
				list = append(list, p.newEvent(o, "progress.updated", object{"progress": object{"percent": i}}))
			}
			return list
		}
		p.flag = p.flag || shortName(o) == "session.completed" || shortName(o) == "session.cancelled"
		return []object{o}
	}},

	// Terms that change in the middle.
	{name: "applies new filters from the next session on", caught: []string{"renegotiation-governs"}, in: func(p *proxy,
		o object) []object {
		if c, ok := o["capabilities"].(object); ok && shortName(o) == "subscription.renegotiate" && p.flag &&
			c["event_filters"] != nil {
			p.held = object{"filters": c["event_filters"]}
			return []object{cloneWith(o, object{"capabilities": cloneWith(c, object{"event_filters": nil})})}
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if h, ok := o["honored_capabilities"].(object); ok && p.held != nil {
			h["event_filters"] = p.held["filters"]
		}
		p.flag = p.flag || shortName(o) == "session.started"
		return []object{o}
	}},
	{name: "applies a new rate from the next session on", caught: []string{"new-rate-kept"}, in: func(p *proxy,
		o object) []object {
		if c, ok := o["capabilities"].(object); ok && shortName(o) == "subscription.renegotiate" && p.flag &&
			c["max_events_per_second"] != nil {
			p.held = object{"rate": c["max_events_per_second"]}
			return []object{cloneWith(o, object{"capabilities": cloneWith(c, object{"max_events_per_second": nil})})}
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if h, ok := o["honored_capabilities"].(object); ok && p.held != nil {
			h["max_events_per_second"] = p.held["rate"]
		}
		p.flag = p.flag || shortName(o) == "session.started"
		return []object{o}
	}},
	{name: "forgets its rate with new filters", caught: []string{"new-rate-kept"}, in: func(p *proxy, o object) []object {
		if c, ok := o["capabilities"].(object); ok && shortName(o) == "subscription.renegotiate" &&
			c["event_filters"] != nil && c["max_events_per_second"] == nil && p.caps["max_events_per_second"] != nil {
			p.flag = true
			return []object{cloneWith(o, object{"capabilities": cloneWith(c, object{"max_events_per_second": 10000})})}
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if h, ok := o["honored_capabilities"].(object); ok && p.flag {
			h["max_events_per_second"] = p.caps["max_events_per_second"]
		}
		return []object{o}
	}},
	{name: "says of a renegotiation more than was asked", caught: []string{"renegotiation-keeps"}, out: func(p *proxy,
		o object) []object {
		if h, ok := o["honored_capabilities"].(object); ok {
			if p.n++; p.n > 1 && h["event_filters"] != nil {
				h["event_filters"] = object{"include": []string{"aaep:*"}, "exclude": []string{"aaep:none"}}
			}
		}
		return []object{o}
	}},
	{name: "asks no more who has renegotiated", caught: []string{"renegotiated-replies"}, in: noteRenegotiation,
		out: dropWhere(func(p *proxy, o object) bool {
			return p.flag && shortName(o) == "awaiting.confirmation"
		})},
	{name: "counts no reply of who has renegotiated", caught: []string{"renegotiated-replies"}, in: func(p *proxy,
		o object) []object {
		p.flag = p.flag || shortName(o) == "subscription.renegotiate"
		if p.flag && shortName(o) == "confirmation.reply" {
			return nil
		}
		return []object{o}
	}},
	{name: "never asks who gained the right to reply", caught: []string{"renegotiated-replies"}, in: func(p *proxy,
		o object) []object {
		c, _ := o["capabilities"].(object)
		p.flag = p.flag || shortName(o) == "subscription.renegotiate" && c["supports_confirmation_reply"] == true
		return []object{o}
	}, out: dropWhere(func(p *proxy, o object) bool { return p.flag && shortName(o) == "awaiting.confirmation" })},
	{name: "goes on after it rejected a renegotiation", caught: []string{"bad-terms-refused"}, in: func(p *proxy,
		o object) []object {
		if shortName(o) == "subscription.renegotiate" && isWrongRenegotiation(o) {
			p.injectMessage(object{"type": "subscription.rejected", "reason_code": "capabilities_incompatible",
				"reason_message": "This cannot be."})
			return nil
		}
		return []object{o}
	}},
	{name: "takes nought for no rate in a renegotiation", caught: []string{"bad-terms-refused"}, in: func(p *proxy,
		o object) []object {
		if c, ok := o["capabilities"].(object); ok && shortName(o) == "subscription.renegotiate" &&
			c["max_events_per_second"] == 0.0 {
			return []object{cloneWith(o, object{"capabilities": object{}})}
		}
		return []object{o}
	}},
	{name: "renegotiates whatever subscription is named", caught: []string{"own-name-only"}, in: func(p *proxy,
		o object) []object {
		if shortName(o) == "subscription.renegotiate" {
			return []object{cloneWith(o, object{"subscription_id": p.id})}
		}
		return []object{o}
	}},
	{name: "reads the names of a renegotiation in any case", caught: []string{"bad-terms-refused"}, in: func(p *proxy,
		o object) []object {
		if shortName(o) == "subscription.renegotiate" && o["Capabilities"] != nil {
			return []object{cloneWith(o, object{"Capabilities": nil, "capabilities": o["Capabilities"]})}
		}
		return []object{o}
	}},
	{name: "closes when the session is over", caught: []string{"close-silences"}, in: func(p *proxy, o object) []object {
		if shortName(o) == "subscription.close" && p.flag && p.held == nil && o["reason_message"] == "Leaving." {
			p.held = o
			return nil
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		switch {
		case shortName(o) == "session.started":
			p.flag = true
		case shortName(o) == "awaiting.confirmation": // then leaving is heard
			p.flag = false
		case strings.HasPrefix(shortName(o), "session."):
			p.flag = false
		}
		return []object{o}
	}},

	// Answers to questions of the other kind.
	{name: "believes any token of an answer", caught: []string{"wrong-answer-waits"}, in: editAnswers(func(p *proxy,
		o object) object {
		o["reply_token"] = p.token
		return o
	})},
	{name: "believes any subscription of an answer", caught: []string{"wrong-answer-waits"},
		in: editAnswers(func(p *proxy, o object) object {
			o["subscription_id"] = p.id
			return o
		})},
	{name: "believes any stamp of an answer", caught: []string{"wrong-answer-waits"}, in: editAnswers(func(p *proxy,
		o object) object {
		if s, _ := o["timestamp"].(string); s > "2000-01-02" {
			o["timestamp"] = "2000-01-01T00:00:00.000Z"
		}
		return o
	})},
	{name: "reads the names of an answer in any case", caught: []string{"wrong-answer-waits"},
		in: editAnswers(func(p *proxy, o object) object {
			for name, v := range o {
				if lower := strings.ToLower(name); lower != name {
					delete(o, name)
					o[lower] = v
				}
			}
			return o
		})},
	{name: "passes over what is too much in an answer", caught: []string{"wrong-answer-waits"},
		in: editAnswers(func(p *proxy, o object) object {
			for name := range o {
				if !slices.Contains([]string{"type", "reply_token", "response", "subscription_id", "timestamp"}, name) {
					delete(o, name)
				}
			}
			return o
		})},
	{name: "hears the answer of whoever knows the token", caught: []string{"wrong-answer-waits"}, in: func(p *proxy,
		o object) []object {
		if shortName(o) == "clarification.reply" && p.caps["supports_clarification_reply"] != true {
			p.shared.Range(func(_, v any) bool {
				if other, ok := v.(*proxy); ok && other.held != nil && other.held["reply_token"] == o["reply_token"] {
					gone := other.newEvent(other.held, "state.changed", object{"from_state": "awaiting_input",
						"to_state": "thinking", "urgency": "background"})
					other.injectMessage(gone)
				}
				return true
			})
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if shortName(o) == "awaiting.clarification" {
			p.held = o
			p.shared.Store(fmt.Sprint("questioned ", p.link), p)
		}
		return []object{o}
	}},
	{name: "hears an answer when the session is over", caught: []string{"nothing-after-end", "states-chained",
		"all-get-all"}, in: editAnswers(func(p *proxy, o object) object {
		if p.held != nil {
			p.injectMessage(p.newEvent(p.held, "state.changed", object{"from_state": "awaiting_input", "to_state": "thinking"}))
		}
		return o
	}), out: func(p *proxy, o object) []object {
		p.flag = p.flag || shortName(o) == "awaiting.clarification"
		if p.flag && strings.HasPrefix(shortName(o), "session.") {
			p.held = o
		}
		return []object{o}
	}},
	{name: "takes the second of two answers", caught: []string{"wrong-answer-waits"}, delay: holdSessionEndOfQuestion,
		in: editAnswers(func(p *proxy, o object) object {
			if p.rejected && p.held != nil && o["reply_token"] == p.token {
				p.injectMessage(p.newEvent(p.held, "state.changed", object{"from_state": "awaiting_input", "to_state": "thinking"}))
			}
			_, right := o["response"].(bool)
			p.rejected = p.rejected || right && o["reply_token"] == p.token
			return o
		}), out: func(p *proxy, o object) []object {
			if shortName(o) == "awaiting.clarification" {
				p.held = o
			}
			return []object{o}
		}},
	{name: "takes a wrong answer for the default", caught: []string{"wrong-answer-waits"}, in: func(p *proxy,
		o object) []object {
		if o["response"] == "maybe" {
			o["response"] = false
		}
		return []object{o}
	}},

	// Words.
	{name: "writes text for a page", caught: []string{"text-whole", "text-whole-slow"},
		out: editChunks(html.EscapeString)},
	{name: "takes runs of white space together", caught: []string{"text-whole", "text-whole-slow"},
		out: editChunks(func(s string) string {
			return regexp.MustCompile(` {2,}`).ReplaceAllString(s, " ")
		})},
	{name: "makes quotation marks pretty", caught: []string{"text-whole", "text-whole-slow"},
		out: editChunks(func(s string) string { return strings.ReplaceAll(s, `"`, "”") })},
	{name: "takes line ends for spaces", caught: []string{"text-whole", "text-whole-slow"},
		out: editChunks(func(s string) string { return strings.ReplaceAll(s, "\n", " ") })},
	{name: "knows the characters of one plane", caught: []string{"text-whole", "text-whole-slow"},
		out: editChunks(func(s string) string {
			return strings.Map(func(r rune) rune {
				if r > 0xFFFF {
					return '\uFFFD'
				}
				return r
			}, s)
		})},
	{name: "counts what JavaScript counts", caught: []string{"positions"}, out: func(p *proxy, o object) []object {
		if c, ok := o["chunk"].(string); ok {
			o["position"] = o["position"].(float64) + float64(p.n)
			for _, r := range c {
				if r > 0xFFFF {
					p.n++
				}
			}
		}
		return []object{o}
	}},
	{name: "leaves long text whole", caught: []string{"events-valid"}, out: func(p *proxy, o object) []object {
		c, ok := o["chunk"].(string)
		if !ok || p.caps["coalesce_boundaries"] == nil {
			return []object{o}
		}
		if b, _ := p.caps["coalesce_boundaries"].([]any); len(b) != 1 {
			return []object{o}
		}
		if p.held == nil {
			p.held = cloneWith(o, nil)
		} else {
			p.held["chunk"] = fmt.Sprint(p.held["chunk"], c)
		}
		if o["complete"] == true {
			whole := cloneWith(o, object{"chunk": p.held["chunk"], "position": p.held["position"]})
			p.held = nil
			return []object{whole}
		}
		return nil
	}},
	{name: "translates the summary alone", caught: []string{"language-true"}, out: func(p *proxy, o object) []object {
		if languageOf(o) == "es" {
			if words, ok := p.shared.Load(o["event_id"]); ok {
				o["summary_terse"] = words
			}
			return []object{o}
		}
		p.shared.Store(o["event_id"], o["summary_normal"])
		return []object{o}
	}},

	// Numbers and names at their edges.
	{name: "compares types in any case", caught: []string{"filters-kept", "included-come"},
		in: editPatterns(strings.ToLower)},
	{name: "takes excluded patterns for beginnings", caught: []string{"included-come"},
		in: editExcluded(func(s string) string { return strings.TrimSuffix(s, "*") + "*" })},
	{name: "finds a star anywhere in a pattern", caught: []string{"filters-kept"}, in: editPatterns(func(s string) string {
		if i := strings.Index(s, "*"); i >= 0 && i < len(s)-1 {
			return s[:i] + "*"
		}
		return s
	})},
	{name: "lets what is included win", caught: []string{"filters-kept"}, in: editExcludedIfIncluded},
	{name: "takes no included type for all", caught: []string{"filters-kept"}, in: func(p *proxy, o object) []object {
		f, _ := p.caps["event_filters"].(object)
		if list, ok := f["include"].([]any); ok && len(list) == 0 && shortName(o) == "subscription.request" {
			return []object{cloneWith(o, object{"capabilities": cloneWith(p.caps, object{"event_filters": cloneWith(f,
				object{"include": []string{"aaep:agent.*"}})})})}
		}
		return []object{o}
	}},
	{name: "knows languages in their usual spelling only", caught: []string{"edges-accepted"}, in: func(p *proxy,
		o object) []object {
		if list, ok := p.caps["languages"].([]any); ok && shortName(o) == "subscription.request" &&
			slices.ContainsFunc(list, func(v any) bool { s, _ := v.(string); return strings.HasPrefix(s, "EN") }) {
			return []object{cloneWith(o, object{"capabilities": cloneWith(p.caps, object{"languages": []string{"tlh"}})})}
		}
		return []object{o}
	}},
	{name: "makes a rate of one two", caught: []string{"rate-kept"}, in: func(p *proxy, o object) []object {
		if p.hasRequested("max_events_per_second", 1.0) && shortName(o) == "subscription.request" {
			p.flag = true
			return []object{cloneWith(o, object{"capabilities": cloneWith(p.caps, object{"max_events_per_second": 3})})}
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if h, ok := o["honored_capabilities"].(object); ok && p.flag {
			h["max_events_per_second"] = 1
		}
		return []object{o}
	}},
	{name: "has no high rates", caught: []string{"edges-accepted"}, in: func(p *proxy, o object) []object {
		if r, ok := p.caps["max_events_per_second"].(float64); ok && r > 1000 && r <= 100000 &&
			shortName(o) == "subscription.request" {
			return []object{cloneWith(o, object{"capabilities": cloneWith(p.caps, object{"max_events_per_second": -1})})}
		}
		return []object{o}
	}},
	{name: "honors filters that let more through", caught: []string{"honors-no-more"}, out: func(p *proxy,
		o object) []object {
		if h, ok := o["honored_capabilities"].(object); ok && h["event_filters"] != nil &&
			p.hasRequested("max_events_per_second", 3.0) {
			h["event_filters"] = object{"include": []string{"aaep:agent.*"}}
		}
		return []object{o}
	}},
	{name: "honors boundaries that were not asked for", caught: []string{"honors-no-more"}, out: func(p *proxy,
		o object) []object {
		if h, ok := o["honored_capabilities"].(object); ok && p.caps["pace_wpm"] != nil {
			h["coalesce_boundaries"] = []string{"word", "completion"}
		}
		return []object{o}
	}},
	{name: "answers as another than it speaks", caught: []string{"manifest-signed", "manifest-true"}, out: func(p *proxy,
		o object) []object {
		if shortName(o) == "subscription.accepted" {
			o["producer"] = cloneWith(o["producer"].(object), object{"agent_id": "front-desk"})
		}
		return []object{o}
	}, run: editManifest(object{"agent_id": "front-desk"})},

	// Time.
	{name: "hears a yes a moment too late", caught: []string{"accept-is-single", "late-arrival", "right-given-up"},
		in: editReplies(func(p *proxy, o object) object {
			if p.held != nil && o["decision"] == "accept" && o["reply_token"] == p.token {
				p.injectMessage(p.newToolCall(p.held))
			}
			return o
		}), out: keepsOver(func(p *proxy) bool { return p.replied })},
	{name: "gives a question more time with each wrong reply", caught: []string{"answers-apart", "bad-reply-leaves-open"},
		in: editReplies(func(p *proxy, o object) object {
			p.flag = p.flag || o["reply_token"] != p.token
			return o
		}), delay: func(p *proxy, o object) time.Duration {
			if p.flag && !p.replied && o["from_state"] == "awaiting_input" {
				p.replied = true
				return 10 * time.Second
			}
			return 0
		}},
	{name: "stamps questions with the time that they are over", caught: []string{"stamps-real"}, out: func(_ *proxy,
		o object) []object {
		if at, ok := aaep.ParseTimestamp(fmt.Sprint(o["timestamp"])); ok && o["reply_token"] != nil {
			o["timestamp"] = aaep.FormatTimestamp(at.Add(time.Duration(o["timeout_seconds"].(float64)) * time.Second))
		}
		return []object{o}
	}},
	{name: "asks and writes on", caught: []string{"answers-apart", "asks-first", "reject-means-no", "silence-means-no",
		"first-reply-wins", "foreign-token", "foreign-subscription", "late-stamp", "broken-reply", "old-token",
		"modified-action", "cancelled-is-no", "one-decision", "not-entitled", "own-name-only", "filters-kept"},
		out: insertAfter("awaiting.confirmation", func(p *proxy, o object) object {
			return p.newEvent(o, "tool.completed", object{"tool": "pay", "status": "success"})
		})},
	{name: "says that it was done before it was asked", caught: []string{"answers-apart", "asks-first", "filters-kept"},
		out: insertBefore("awaiting.confirmation", func(p *proxy, o object) object {
			return p.newEvent(o, "tool.completed", object{"tool": "pay", "status": "success"})
		})},
}

// isLive reports whether a key is shared.
func (p *proxy) isLive(key any) bool { _, ok := p.shared.Load(key); return ok }

func (p *proxy) sharedEvent(key any) object { v, _ := p.shared.Load(key); o, _ := v.(object); return o }

// isCalm reports whether a message is more than background noise.
func (p *proxy) isCalm(o object) bool {
	return o["session_id"] == nil || o["urgency"] == "critical"
}

// isSecond reports whether an earlier link of this scenario run is asked the same.
func (p *proxy) isSecond() bool {
	by, _ := p.shared.LoadOrStore("first of "+p.token, p.link)
	return by != p.link
}

// onlyFirstOfTwo sends a type of event to one of two links.
func onlyFirstOfTwo(typ string) func(*proxy, object) []object {
	return dropWhere(func(p *proxy, o object) bool { return shortName(o) == typ && p.isLaterIn(o) })
}

// dropWhere keeps back what a link must not get.
func dropWhere(is func(*proxy, object) bool) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		if is(p, o) {
			return nil
		}
		return []object{o}
	}
}

// noteRenegotiation flags a link that has renegotiated.
func noteRenegotiation(p *proxy, o object) []object {
	p.flag = p.flag || shortName(o) == "subscription.renegotiate"
	return []object{o}
}

// isWrongRenegotiation reports whether a renegotiation cannot be agreed to.
func isWrongRenegotiation(o object) bool {
	c, ok := o["capabilities"].(object)
	rate, limited := c["max_events_per_second"].(float64)
	languages, _ := c["languages"].([]any)
	return !ok || limited && rate < 1 || len(languages) == 1 && languages[0] == "tlh"
}

// editAnswers edits the clarifications that go to the producer.
func editAnswers(change func(p *proxy, o object) object) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		if shortName(o) == "clarification.reply" {
			o = change(p, o)
		}
		return []object{o}
	}
}

// editChunks edits the text of outputs, with its positions.
func editChunks(change func(string) string) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		if c, ok := o["chunk"].(string); ok {
			if o["position"] == 0.0 {
				p.n = 0
			}
			edited := change(c)
			o["chunk"], o["position"] = edited, o["position"].(float64)+float64(p.n)
			p.n += len([]rune(edited)) - len([]rune(c))
		}
		return []object{o}
	}
}

// editPatterns edits each pattern of a subscription's filters.
func editPatterns(change func(string) string) func(*proxy, object) []object {
	return editFilters(func(f object) object {
		edited := object{}
		for name, v := range f {
			var list []string
			for _, pattern := range v.([]any) {
				text := fmt.Sprint(pattern)
				if text != "" {
					text = change(text)
				}
				list = append(list, text)
			}
			edited[name] = list
		}
		return edited
	})
}

// editExcluded edits each pattern that is excluded.
func editExcluded(change func(string) string) func(*proxy, object) []object {
	return editFilters(func(f object) object {
		list, ok := f["exclude"].([]any)
		if !ok {
			return f
		}
		var edited []string
		for _, pattern := range list {
			edited = append(edited, change(fmt.Sprint(pattern)))
		}
		return cloneWith(f, object{"exclude": edited})
	})
}

// editExcludedIfIncluded excludes nothing that is included.
var editExcludedIfIncluded = editFilters(func(f object) object {
	include, _ := f["include"].([]any)
	exclude, _ := f["exclude"].([]any)
	if len(include) == 0 || len(exclude) == 0 {
		return f
	}
	return cloneWith(f, object{"exclude": slices.DeleteFunc(slices.Clone(exclude), func(e any) bool {
		return slices.Contains(include, e)
	})})
})

// editFilters edits the filters of a request.
func editFilters(change func(object) object) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		filters, ok := p.caps["event_filters"].(object)
		if shortName(o) != "subscription.request" || !ok {
			return []object{o}
		}
		return []object{cloneWith(o, object{"capabilities": cloneWith(p.caps, object{"event_filters": change(filters)})})}
	}
}

// holdSessionEndOfQuestion holds the end of a session up in which a question was put.
func holdSessionEndOfQuestion(p *proxy, o object) time.Duration {
	if shortName(o) == "session.completed" && p.held != nil {
		return time.Second
	}
	return 0
}
