package conformance_test

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// The mutants, in the order of the cases they are for. LVL-041, LVL-042, LVL-043.
var mutants = []mutant{
	{name: "writes an unknown urgency", out: editType("state.changed", object{"urgency": "loud"}),
		caught: []string{"events-valid"}},
	{name: "invents a member", out: editType("session.started", object{"custom_field": 1}),
		caught: []string{"events-valid"}},
	{name: "invents a type", out: insertAfter("session.started", func(p *proxy, o object) object {
		return p.newEvent(o, "purple.flamingo", object{"urgency": "critical"})
	}), caught: []string{"events-valid"}},
	{name: "says nothing of a result", out: editType("tool.completed", object{"summary_normal": nil}),
		caught: []string{"summaries"}},
	{name: "names no version", out: editType("progress.updated", object{"aaep_version": nil}),
		caught: []string{"version-named"}},
	{name: "stamps tenths of a second", caught: []string{"stamp-digits"}, out: func(_ *proxy, o object) []object {
		if stamp, ok := o["timestamp"].(string); ok && shortName(o) == "session.started" {
			o["timestamp"] = stamp[:strings.Index(stamp, ".")+2] + "Z"
		}
		return []object{o}
	}},
	{name: "stamps by no known clock", caught: []string{"events-valid"}, out: func(_ *proxy, o object) []object {
		if stamp, ok := o["timestamp"].(string); ok && shortName(o) == "session.started" {
			o["timestamp"] = strings.TrimSuffix(stamp, "Z")
		}
		return []object{o}
	}},
	{name: "sends giants", caught: []string{"size"}, raw: func(b []byte) []byte {
		if bytes.Contains(b, []byte("session.cancelled")) {
			return append([]byte("{"+strings.Repeat(" ", 70000)), b[1:]...)
		}
		return b
	}},
	{name: "uses an id again", out: editType("state.changed", object{"event_id": "evt_1"}), caught: []string{"ids-same-for-all", "ids-once"}},
	{name: "never begins", out: dropMessages(isType("session.started")), caught: []string{"included-come"}},
	{name: "begins twice", out: func(p *proxy, o object) []object {
		if shortName(o) == "session.started" && p.caps["max_events_per_second"] == nil {
			return []object{o, p.cloneWithNewID(o, nil)}
		}
		return []object{o}
	}, caught: []string{"new-rate-kept"}},
	{name: "never ends", out: dropMessages(func(o object) bool {
		return shortName(o) == "session.cancelled" &&
			o["cancelled_by"] == "system"
	}), caught: []string{"ends-once"}},
	{name: "ends twice", whole: true, out: insertAfter("session.completed", func(p *proxy, o object) object {
		return p.newEvent(o, "session.cancelled", object{"cancelled_by": "system"})
	}), caught: []string{"all-hear-the-end", "filters-kept", "new-rate-kept"}},
	{name: "talks after the end", out: insertAfter("session.cancelled", func(p *proxy, o object) object {
		return p.newEvent(o, "progress.updated", object{"progress": object{"percent": 5}})
	}), caught: []string{"nothing-after-end"}},
	{name: "turns the clock back", out: editType("handoff.requested", object{"timestamp": "1999-12-31T23:00:00.000Z"}),
		caught: []string{"time-forward"}},
	{name: "jumps between states", caught: []string{"states-chained"}, out: func(_ *proxy, o object) []object {
		if o["to_state"] == "writing_output" {
			o["from_state"] = "juggling"
		}
		return []object{o}
	}},
	{name: "keeps to itself that it writes", caught: []string{"states-told"}, out: func(_ *proxy, o object) []object {
		for _, k := range []string{"from_state", "to_state"} {
			if o[k] == "writing_output" {
				o[k] = "busy"
			}
		}
		return []object{o}
	}},
	{name: "never completes a tool", out: dropMessages(func(o object) bool {
		return shortName(o) == "tool.completed" &&
			o["status"] == "success"
	}), caught: []string{"tools-not-merged"}},
	{name: "fails quietly", out: editType("session.errored", object{"urgency": "normal"}),
		caught: []string{"error-critical", "events-valid"}},

	{name: "changes a number in the text", caught: []string{"text-whole", "text-whole-slow"},
		out: func(_ *proxy, o object) []object {
			if c, ok := o["chunk"].(string); ok {
				o["chunk"] = strings.ReplaceAll(c, "3.50", "3.51")
			}
			return []object{o}
		}},
	{name: "counts bytes", caught: []string{"positions"}, out: func(p *proxy, o object) []object {
		if n, ok := o["position"].(float64); ok && n > 0 {
			o["position"] = n + 1
		}
		return []object{o}
	}},
	{name: "never completes its output", out: editType("output.streaming", object{"complete": false}),
		caught: []string{"output-complete"}},
	{name: "drops text when it is slow", caught: []string{"text-whole-slow"}, out: func(p *proxy, o object) []object {
		if c, ok := o["chunk"].(string); ok && p.hasRequested("max_events_per_second", 2.0) && len(c) > 5 {
			o["chunk"] = c[5:]
		}
		return []object{o}
	}},
	{name: "cuts at words", caught: []string{"boundaries"}, out: func(p *proxy, o object) []object {
		b, _ := p.caps["coalesce_boundaries"].([]any)
		c, ok := o["chunk"].(string)
		if !ok || len(b) != 1 || len(c) < 10 {
			return []object{o}
		}
		at := strings.Index(c, " ") + 1
		return []object{p.cloneWithNewID(o, object{"chunk": c[:at], "complete": false, "coalesce_hint": "word"}),
			cloneWith(o, object{"chunk": c[at:], "position": o["position"].(float64) + float64(at)})}
	}},

	{name: "acts before it asks", whole: true, out: insertBefore("awaiting.confirmation",
		func(p *proxy, o object) object { return p.newToolCall(o) }),
		caught: []string{"answers-apart", "asks-first", "filters-kept"}},
	{name: "does not say what it does", caught: []string{"accept-stands", "spelling-free", "answers-apart", "does-what-was-accepted", "others-may-answer",
		"renegotiated-replies"},
		out: dropMessages(func(o object) bool {
			return o["tool"] == "pay" && (shortName(o) == "tool.invoked" || shortName(o) == "tool.completed")
		})},
	{name: "takes a no for a yes", caught: []string{"reject-means-no", "first-reply-wins", "one-decision",
		"not-entitled", "own-name-only", "rejection-told"}, in: editReplies(func(p *proxy, o object) object {
		if o["decision"] == "reject" && !p.flag {
			o["decision"] = "accept"
		}
		p.flag = true
		return o
	})},
	{name: "takes silence for a yes", caught: []string{"silence-means-no", "accept-is-single", "cancelled-is-no"},
		in: editReplies(func(p *proxy, o object) object { p.flag = true; return o }),
		out: func(p *proxy, o object) []object {
			if o["from_state"] == "awaiting_input" && !p.flag && p.asking {
				return []object{p.newToolCall(o), o}
			}
			return []object{o}
		}},
	{name: "lies about the time to answer", out: editType("awaiting.confirmation", object{"timeout_seconds": 60}),
		caught: []string{"deadline"}},
	{name: "means yes by default", out: editType("awaiting.confirmation", object{"default_decision": "accept"}),
		caught: []string{"default-reject"}},
	{name: "asks out of nowhere", out: dropMessages(func(o object) bool { return o["to_state"] == "awaiting_input" }),
		caught: []string{"waiting-told"}},
	{name: "keeps the outcome to itself", out: dropMessages(func(o object) bool { return o["from_state"] == "awaiting_input" }), caught: []string{"outcome-told", "others-told"}},
	{name: "asks who cannot reply", caught: []string{"not-asked-if-mute", "not-entitled", "leaving-is-no-consent"},
		in: func(p *proxy, o object) []object {
			if p.hasRequested("supports_confirmation_reply", false) {
				p.caps["supports_confirmation_reply"] = true
			}
			return []object{o}
		}},
	{name: "questions who cannot answer", caught: []string{"not-questioned-if-mute"},
		in: func(p *proxy, o object) []object {
			if p.caps["coalesce_boundaries"] != nil && p.caps["pace_wpm"] == nil &&
				p.caps["supports_clarification_reply"] == nil {
				p.caps["supports_clarification_reply"] = true
			}
			return []object{o}
		}},

	{name: "acts twice on two replies", caught: []string{"accept-is-single"}, delay: holdSessionEnd,
		in: editReplies(func(p *proxy, o object) object {
			if o["decision"] == "accept" {
				p.flag = p.replied
				p.replied = true
			}
			if o["decision"] == "reject" {
				p.flag, p.replied = false, false
			}
			return o
		}), out: func(p *proxy, o object) []object {
			if shortName(o) == "session.completed" && p.flag {
				return []object{p.newToolCall(o), o}
			}
			return []object{o}
		}},
	{name: "can be talked round", caught: []string{"first-reply-wins", "broken-reply", "old-token"}, delay: holdSessionEnd,
		in: editReplies(func(p *proxy, o object) object {
			if o["decision"] == "reject" {
				p.rejected = true
			}
			p.flag = p.flag || p.rejected && o["decision"] == "accept"
			return o
		}), out: func(p *proxy, o object) []object {
			if shortName(o) == "session.completed" && p.flag {
				return []object{p.newToolCall(o), o}
			}
			return []object{o}
		}},
	{name: "believes any token", caught: []string{"answers-apart", "foreign-token", "broken-reply", "old-token"},
		in: editReplies(func(p *proxy, o object) object {
			o["reply_token"] = p.token
			return o
		})},
	{name: "believes any subscription", caught: []string{"foreign-subscription", "broken-reply"},
		in: editReplies(func(p *proxy, o object) object {
			o["subscription_id"] = p.id
			return o
		})},
	{name: "believes any stamp", caught: []string{"late-stamp", "broken-reply"},
		in: editReplies(func(p *proxy, o object) object {
			if s, _ := o["timestamp"].(string); s > "2000-01-02" {
				o["timestamp"] = "2000-01-01T00:00:00.000Z"
			}
			return o
		})},
	{name: "takes yes for accept", caught: []string{"broken-reply"}, in: editReplies(func(p *proxy, o object) object {
		if o["decision"] == "yes" {
			o["decision"] = "accept"
		}
		return o
	})},
	{name: "takes a wrong token for a no", caught: []string{"answers-apart", "bad-reply-leaves-open"},
		in: editReplies(func(p *proxy, o object) object {
			if o["reply_token"] != p.token {
				o["reply_token"], o["decision"] = p.token, "reject"
			}
			return o
		})},
	{name: "passes over changes", caught: []string{"modified-action"},
		in: editReplies(func(p *proxy, o object) object { return cloneWith(o, object{"modified_action": nil}) })},
	// The one may be a subscriber of the scenario run before, which still listens.
	{name: "asks only one", caught: []string{"all-are-asked"}, maybe: []string{"renegotiated-replies", "asks-first"},
		out: func(p *proxy, o object) []object {
			if shortName(o) == "awaiting.confirmation" && p.shareTwice(fmt.Sprint(o["reply_token"])) {
				return nil
			}
			return []object{o}
		}},
	{name: "lets both decide", caught: []string{"accept-is-single", "one-decision"}, delay: holdSessionEnd,
		in: editReplies(func(p *proxy, o object) object {
			if first, other := p.shared.LoadOrStore(fmt.Sprint(o["reply_token"]), p.link); other && first != p.link &&
				o["decision"] == "accept" {
				p.shared.Store("both "+p.token, true)
			}
			return o
		}), out: func(p *proxy, o object) []object {
			if _, both := p.shared.Load("both " + p.token); both && shortName(o) == "session.completed" {
				return []object{p.newToolCall(o), o}
			}
			return []object{o}
		}},
	{name: "forgets the others", caught: []string{"others-told"}, in: editReplies(func(p *proxy, o object) object {
		p.shared.LoadOrStore(p.token, p.link)
		return o
	}), out: func(p *proxy, o object) []object {
		if first, ok := p.shared.Load(p.token); ok && first != p.link && o["from_state"] == "awaiting_input" {
			return nil
		}
		return []object{o}
	}},
	{name: "acts when nobody is left", caught: []string{"leaving-is-no-consent"}, out: actsAfter("left"),
		in: func(p *proxy, o object) []object {
			if o["reason_message"] == "Leaving." && p.token != "" {
				p.shared.Store("left", true)
			}
			return []object{o}
		}},
	{name: "hands over silently", out: dropMessages(isType("handoff.requested")),
		caught: []string{"hands-over", "critical-through-filters"}},
	{name: "takes anything for an answer", caught: []string{"wrong-answer-waits"},
		in: func(p *proxy, o object) []object {
			if _, odd := o["response"].(object); odd {
				o["response"] = true
			}
			return []object{o}
		}},
	{name: "asks and goes on", caught: []string{"question-waits"}, out: func(p *proxy, o object) []object {
		if shortName(o) != "awaiting.clarification" {
			return []object{o}
		}
		if first, _ := p.shared.LoadOrStore("asked", o["session_id"]); first == o["session_id"] {
			return []object{o, p.newEvent(o, "tool.invoked", object{"tool": "paint", "tool_call_id": "call_1"})}
		}
		return []object{o}
	}},

	{name: "leaves a request unanswered", caught: []string{"request-answered"},
		in: dropMessages(func(o object) bool { return o["aaep_version"] == "99.0.0" })},
	{name: "adds to a rejection", out: editType("subscription.rejected", object{"trace": "main.go:7"}),
		caught: []string{"answer-valid"}},
	{name: "names subscriptions badly", whole: true, caught: []string{"answer-valid", "subscription-id", "events-valid"},
		out: func(p *proxy, o object) []object {
			if shortName(o) == "subscription.accepted" && p.caps != nil && len(p.caps) == 0 {
				o["subscription_id"] = "sub_quick-start"
			}
			return []object{o}
		}},
	{name: "gives more than was asked", caught: []string{"honors-no-more"}, out: func(p *proxy, o object) []object {
		if h, ok := o["honored_capabilities"].(object); ok && p.hasRequested("max_events_per_second", 3.0) {
			h["max_events_per_second"] = 5
		}
		return []object{o}
	}},
	{name: "honors replies that nobody offered", caught: []string{"honors-no-more"},
		out: func(p *proxy, o object) []object {
			if h, ok := o["honored_capabilities"].(object); ok && p.caps != nil && len(p.caps) == 0 {
				h["supports_confirmation_reply"] = true
			}
			return []object{o}
		}},
	{name: "speaks every version", caught: []string{"manifest-true", "version-refused"}, in: func(p *proxy, o object) []object {
		if o["aaep_version"] == "99.0.0" {
			p.flag = true
			o["aaep_version"] = "1.0.0"
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if p.flag && shortName(o) == "subscription.accepted" {
			o["aaep_version"] = "99.0.0"
		}
		return []object{o}
	}},
	{name: "needs no signature", caught: []string{"signature-demanded"},
		out: editType("subscription.accepted", object{"signed_manifest": nil})},
	{name: "refuses what it does not know", caught: []string{"unknown-extension", "large-answered"},
		in: func(p *proxy, o object) []object {
			if p.caps["zzz"] != nil {
				o["aaep_version"] = "99.0.0"
			}
			return []object{o}
		}},
	{name: "gives odd reasons", caught: []string{"language-unknown"}, out: func(_ *proxy, o object) []object {
		if o["reason_code"] == "capabilities_incompatible" {
			o["reason_code"] = "rate_limit"
		}
		return []object{o}
	}},
	{name: "mends a request", caught: []string{"invalid-refused"}, in: func(p *proxy, o object) []object {
		if p.hasRequested("max_events_per_second", 0.0) {
			delete(p.caps, "max_events_per_second")
		}
		return []object{o}
	}},
	{name: "invents a reason", caught: []string{"answer-valid", "reason-codes", "version-refused"},
		out: func(_ *proxy, o object) []object {
			if o["reason_code"] == "version_unsupported" {
				o["reason_code"] = "teapot"
			}
			return []object{o}
		}},

	{name: "hurries", whole: true, caught: []string{"rate-kept", "new-rate-kept"}, in: func(p *proxy, o object) []object {
		if p.hasRequested("max_events_per_second", 2.0) {
			delete(p.caps, "max_events_per_second")
		}
		return []object{o}
	}},
	inWindows("counts by the seconds of the clock", func() time.Time { return time.Now().Truncate(time.Second) }),
	inWindows("counts in windows from the subscription on", time.Now),
	fromTheFirst("counts in windows from the first event on"),
	{name: "filters nothing", caught: []string{"filters-kept", "invalid-refused"},
		in: func(p *proxy, o object) []object {
			if f, ok := p.caps["event_filters"].(object); ok && f["include"] != nil &&
				p.caps["max_events_per_second"] == nil {
				p.caps = cloneWith(p.caps, object{"event_filters": object{"include": []string{"aaep:*"}}})
				return []object{cloneWith(o, object{"capabilities": p.caps})}
			}
			return []object{o}
		}},
	{name: "filters errors", caught: []string{"critical-through-filters"}, out: func(p *proxy, o object) []object {
		if p.caps["event_filters"] != nil && (shortName(o) == "session.errored") {
			return nil
		}
		return []object{o}
	}},
	{name: "lets errors queue", caught: []string{"critical-at-once"}, delay: func(p *proxy, o object) time.Duration {
		if shortName(o) == "session.errored" && p.hasRequested("max_events_per_second", 1.0) {
			return 2 * time.Second
		}
		return 0
	}},
	{name: "does not answer a renegotiation", caught: []string{"renegotiation-answered"},
		in: dropMessages(isType("subscription.renegotiate"))},
	{name: "renegotiates what nobody named", caught: []string{"renegotiation-keeps"},
		out: func(p *proxy, o object) []object {
			if h, ok := o["honored_capabilities"].(object); ok {
				if p.flag {
					h["supports_confirmation_reply"] = false
				}
				p.flag = true
			}
			return []object{o}
		}},
	{name: "forgets new filters", caught: []string{"renegotiation-keeps", "renegotiation-governs"}, in: func(p *proxy,
		o object) []object {
		if c, ok := o["capabilities"].(object); ok && shortName(o) == "subscription.renegotiate" {
			delete(c, "event_filters")
		}
		return []object{o}
	}},
	{name: "goes on after the close", whole: true, caught: []string{"close-silences"}, in: func(p *proxy, o object) []object {
		if o["reason_message"] == "Leaving." && p.token == "" {
			return nil
		}
		return []object{o}
	}},
	{name: "leaves with the first", whole: true, caught: []string{"answers-apart", "not-asked-if-mute", "not-questioned-if-mute", "text-whole-slow",
		"own-name-only", "included-come", "others-go-on", "slow-costs-nobody"},
		in: func(p *proxy, o object) []object {
			if o["reason_message"] == "Leaving." && p.token == "" {
				p.shared.Store("gone", true)
			}
			return []object{o}
		}, out: func(p *proxy, o object) []object {
			if _, gone := p.shared.Load("gone"); gone && shortName(o) == "session.completed" {
				return nil
			}
			return []object{o}
		}},
}
