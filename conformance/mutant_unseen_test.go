package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/transports"
)

// unseenMutants are producers that the suite once took for good ones.
var unseenMutants = []mutant{
	{name: "changes the text for all but one", caught: []string{"all-get-all"}, out: editLater("output.streaming", func(_ *proxy, o object) {
		o["chunk"] = strings.Replace(fmt.Sprint(o["chunk"]), "2 coffees", "3 coffees", 1)
	})},
	{name: "has a name of the session for each subscriber", caught: []string{"ids-same-for-all", "all-hear-the-end", "all-get-all"}, out: func(p *proxy, o object) []object {
		if o["session_id"] != nil && p.isLaterIn(o) {
			o["session_id"] = fmt.Sprint(o["session_id"], "x")
		}
		return []object{o}
	}},
	{name: "asks all but one something else", caught: []string{"ids-same-for-all"}, out: editLater("awaiting.clarification", func(_ *proxy, o object) { o["question"] = "Shall it be red?" })},
	{name: "tells all but one another outcome", caught: []string{"ids-same-for-all"}, out: editLater("tool.completed", func(_ *proxy, o object) { o["status"] = "error" })},
	{name: "gives all but one more time", caught: []string{"ids-same-for-all"}, out: editLater("awaiting.clarification", func(_ *proxy, o object) { o["timeout_seconds"] = 600 })},
	{name: "drops states where there is a rate", caught: []string{"held-not-starved"}, out: dropWhere(func(p *proxy, o object) bool {
		return p.caps["max_events_per_second"] != nil && shortName(o) == "state.changed"
	})},
	{name: "accepts a version above the one asked for", caught: []string{"version-agreed", "manifest-true"}, out: func(p *proxy, o object) []object {
		if shortName(o) == "subscription.accepted" {
			o["aaep_version"] = "1.9.0"
		}
		return []object{o}
	}},
	{name: "names a version in its events that was not agreed", caught: []string{"version-known"}, out: func(p *proxy, o object) []object {
		if o["event_id"] != nil {
			o["aaep_version"] = "1.9.0"
		}
		return []object{o}
	}},
	{name: "keeps to itself that it thinks", caught: []string{"states-told"}, out: dropWhere(func(p *proxy, o object) bool {
		return o["to_state"] == "thinking" && o["from_state"] == "idle"
	})},
	{name: "goes on with a session that is over", caught: []string{"nothing-after-end"}, in: func(p *proxy, o object) []object {
		p.flag = p.flag || shortName(o) == "subscription.renegotiate"
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		over := p.held
		if strings.HasPrefix(shortName(o), "session.") && shortName(o) != "session.started" && p.isUnrestricted() && !p.flag {
			p.held = o
		}
		if shortName(o) == "session.started" && over != nil && !p.flag {
			return []object{o, p.newEvent(cloneWith(over, object{"timestamp": o["timestamp"]}), "progress.updated", object{"progress": object{"percent": 5}})}
		}
		return []object{o}
	}},
	{name: "has no words for who wants few", caught: []string{"summaries"}, out: func(p *proxy, o object) []object {
		if p.hasRequested("preferred_verbosity", "terse") && o["summary_normal"] != nil && o["chunk"] == nil {
			o["summary_terse"] = "Said."
			delete(o, "summary_normal")
		}
		return []object{o}
	}},
	{name: "names no language to all but one", caught: []string{"direction-said", "language-declared"}, out: func(p *proxy, o object) []object {
		if o["session_id"] != nil && p.isLaterIn(o) {
			delete(o, "localization_hints")
		}
		return []object{o}
	}},
	{name: "tells a key within a member", caught: []string{"no-secrets"}, out: editType("progress.updated", object{"progress": object{"percent": 5, "description": "With sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ"}})},
	{name: "waits ten seconds for who cannot answer", caught: []string{"not-asked-if-mute"}, delay: func(p *proxy, o object) time.Duration {
		if shortName(o) == "session.completed" && p.hasRequested("supports_confirmation_reply", false) && p.hasRequested("supports_clarification_reply", true) {
			return 10 * time.Second
		}
		return 0
	}},
	{name: "lets questions queue where there is a rate", caught: []string{"critical-at-once"}, delay: func(p *proxy, o object) time.Duration {
		if shortName(o) == "awaiting.confirmation" && p.hasRequested("max_events_per_second", 1.0) {
			return 3 * time.Second
		}
		return 0
	}},
	{name: "lets handoffs queue where there is a rate", caught: []string{"critical-at-once"}, delay: func(p *proxy, o object) time.Duration {
		if shortName(o) == "handoff.requested" && p.hasRequested("max_events_per_second", 1.0) {
			return 3 * time.Second
		}
		return 0
	}},
	{name: "answers a renegotiation twice", caught: []string{"renegotiation-answered"}, out: func(p *proxy, o object) []object {
		if shortName(o) == "subscription.accepted" {
			if p.n++; p.n > 1 {
				return []object{o, cloneWith(o, nil)}
			}
		}
		return []object{o}
	}},
	{name: "answers a request twice", caught: []string{"request-answered", "renegotiation-answered"}, out: func(p *proxy, o object) []object {
		if shortName(o) == "subscription.accepted" || shortName(o) == "subscription.rejected" {
			return []object{o, cloneWith(o, nil)}
		}
		return []object{o}
	}},
	{name: "takes leave of one alone", caught: []string{"close-announced"}, out: onlyFirstOf("subscription.close", "bye")},
	{name: "lets a reject undo an accept", caught: []string{"accept-stands"}, in: editReplies(func(p *proxy, o object) object {
		if o["decision"] == "accept" && len(o) == 5 && o["reply_token"] == p.token && o["subscription_id"] == p.id && !p.flag {
			p.flag = true
			p.held = o
			time.AfterFunc(50*time.Millisecond, func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				if p.held != nil {
					_ = p.Conn.Send(context.Background(), encodeObject(p.held))
					p.held = nil
				}
			})
			return nil
		}
		p.held = nil
		return o
	})},
	{name: "calls old words by the new language", caught: []string{"language-true"}, in: func(p *proxy, o object) []object {
		c, _ := o["capabilities"].(object)
		p.flag = p.flag || shortName(o) == "subscription.renegotiate" && c["languages"] != nil
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if words := fmt.Sprint(shortName(o), o["to_state"], o["status"]); languageOf(o) != "es" {
			p.shared.Store(words, o["summary_normal"])
		} else if english, ok := p.shared.Load(words); ok && p.flag {
			o["summary_normal"] = english
		}
		return []object{o}
	}},
	{name: "knows stamps in Z only", caught: []string{"spelling-free"}, in: editReplies(func(p *proxy, o object) object {
		if s, _ := o["timestamp"].(string); !strings.HasSuffix(s, "Z") {
			return nil
		}
		return o
	})},
	{name: "compares stamps as text", caught: []string{"late-stamp"}, in: editReplies(func(p *proxy, o object) object {
		if s, _ := o["timestamp"].(string); len(s) > 20 && !strings.HasSuffix(s, "Z") && s < aaep.FormatTimestamp(time.Now().Add(time.Minute)) {
			o["timestamp"] = aaep.FormatTimestamp(time.Now())
		}
		return o
	})},
	{name: "knows stamps with milliseconds only", caught: []string{"spelling-free"}, in: editReplies(func(p *proxy, o object) object {
		if s, _ := o["timestamp"].(string); strings.HasSuffix(s, "Z") && len(s) != len("2006-01-02T15:04:05.000Z") {
			return nil
		}
		return o
	})},
	{name: "counts a name in bytes", caught: []string{"edges-accepted"}, in: func(p *proxy, o object) []object {
		if id, _ := o["subscriber_id"].(string); len(id) > 256 {
			o["subscriber_id"] = ""
		}
		return []object{o}
	}},
	{name: "forgets one renegotiation with the next", caught: []string{"filters-kept", "renegotiation-keeps"}, in: func(p *proxy, o object) []object {
		if c, ok := o["capabilities"].(object); ok && shortName(o) == "subscription.renegotiate" {
			if p.n++; p.n > 1 {
				return []object{cloneWith(o, object{"capabilities": cloneWith(object{"event_filters": object{"include": []string{"aaep:agent.*"}},
					"max_events_per_second": 1000}, c)})}
			}
		}
		return []object{o}
	}},
	{name: "loses what it holds when terms change", caught: []string{"text-whole-slow"}, in: func(p *proxy, o object) []object {
		p.flag = p.flag || shortName(o) == "subscription.renegotiate" && p.caps["max_events_per_second"] == 2.0
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if c, _ := o["chunk"].(string); p.flag && len(c) > 9 {
			p.flag = false
			o["chunk"] = c[5:]
		}
		return []object{o}
	}},
	{name: "says that it speaks whatever is asked for", caught: []string{"manifest-true"}, in: func(p *proxy, o object) []object {
		if v, _ := o["aaep_version"].(string); strings.HasPrefix(v, "1.") {
			p.flag = v != "1.0.0"
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if p.flag && shortName(o) == "subscription.accepted" {
			o["aaep_version"] = "1.9.0"
		}
		return []object{o}
	}},
	{name: "answers the oldest of its questions", caught: []string{"answers-apart"}, in: editReplies(func(p *proxy, o object) object {
		if p.held != nil && p.held["second"] == o["reply_token"] {
			o["reply_token"] = p.held["first"]
		}
		return o
	}), out: func(p *proxy, o object) []object {
		switch {
		case p.held == nil && shortName(o) == "awaiting.confirmation":
			p.held = object{"first": o["reply_token"], "of": o["session_id"]}
		case shortName(o) == "awaiting.confirmation":
			p.held["second"] = o["reply_token"]
		case p.held != nil && p.held["of"] == o["session_id"] && strings.HasPrefix(shortName(o), "session."):
			p.held = nil
		}
		return []object{o}
	}},
	{name: "takes back all its questions when a session ends", caught: []string{"answers-apart"}, in: editReplies(func(p *proxy, o object) object {
		if p.flag {
			return nil
		}
		return o
	}), out: func(p *proxy, o object) []object {
		if p.held = cloneWith(p.held, nil); shortName(o) == "awaiting.confirmation" {
			p.held[fmt.Sprint(o["session_id"])] = true
		}
		if strings.HasPrefix(shortName(o), "session.") && shortName(o) != "session.started" {
			delete(p.held, fmt.Sprint(o["session_id"]))
			p.flag = len(p.held) > 0
		}
		return []object{o}
	}},
	{name: "has one state for all its sessions", caught: []string{"states-chained"}, out: func(p *proxy, o object) []object {
		if shortName(o) == "state.changed" && p.held != nil {
			o["from_state"] = p.held["to_state"]
		}
		switch {
		case shortName(o) == "state.changed":
			p.held = o
		case strings.HasPrefix(shortName(o), "session.") && shortName(o) != "session.started":
			p.held = nil
		}
		return []object{o}
	}},
	{name: "keeps to the boundaries that were agreed first", caught: []string{"boundaries"},
		in: keepOutOfTerms("coalesce_boundaries"), out: answerAsAsked("coalesce_boundaries")},
	{name: "keeps to the verbosity that was agreed first", whole: true, caught: []string{"verbosity-labelled"},
		in: keepOutOfTerms("preferred_verbosity"), out: func(p *proxy, o object) []object {
			if o["summary_normal"] != nil && languageOf(o) != "es" {
				o["summary_terse"], o["summary_detailed"] = "In short.", "All that there is to be said."
				delete(o, "verbosity")
				if v := p.caps["preferred_verbosity"]; v != nil {
					o["verbosity"] = v
				}
			}
			return answerAsAsked("preferred_verbosity")(p, o)
		}},
	{name: "questions who has given up the right to answer", caught: []string{"not-questioned-if-mute"},
		in: keepOutOfTerms("supports_clarification_reply"), out: answerAsAsked("supports_clarification_reply")},
	{name: "hears the name of a subscription that is over", caught: []string{"foreign-subscription"}, in: func(p *proxy, o object) []object {
		id := fmt.Sprint("over ", o["subscription_id"])
		if shortName(o) == "subscription.close" {
			p.shared.Store(id, true)
		}
		if p.isLive(id) && shortName(o) == "confirmation.reply" && p.hasRequested("supports_clarification_reply", true) && !p.bye {
			o["subscription_id"] = p.id
		}
		return []object{o}
	}},
	{name: "takes a yes in words", caught: []string{"wrong-answer-waits"}, in: func(_ *proxy, o object) []object {
		if o["response"] == "yes" {
			o["response"] = true
		}
		return []object{o}
	}},
	{name: "takes nothing for a no", caught: []string{"wrong-answer-waits"}, in: func(_ *proxy, o object) []object {
		if o["response"] == "" {
			o["response"] = false
		}
		return []object{o}
	}},
	{name: "says nothing in signs that are not seen", caught: []string{"summaries"},
		out: editType("tool.completed", object{"summary_normal": " \u200b "})},
	{name: "asks the user under a token of an earlier session", caught: []string{"tokens-fresh"}, out: func(p *proxy, o object) []object {
		if shortName(o) == "awaiting.clarification" {
			if first, _ := p.shared.LoadOrStore("first token", o["reply_token"]); first != o["reply_token"] {
				p.held = object{"own": o["reply_token"], "shown": first}
				o["reply_token"] = first
			}
		}
		return []object{o}
	}, in: func(p *proxy, o object) []object {
		if p.held != nil && o["reply_token"] == p.held["shown"] {
			o["reply_token"] = p.held["own"]
		}
		return []object{o}
	}},
	{name: "tells another error where there is a rate", caught: []string{"ids-same-for-all"}, out: func(p *proxy, o object) []object {
		if shortName(o) == "session.errored" && p.caps["max_events_per_second"] != nil {
			o["error_code"] = "ANOTHER"
		}
		return []object{o}
	}},
	{name: "dates back what it translates", caught: []string{"stamps-real", "time-forward"}, out: func(_ *proxy, o object) []object {
		if at, ok := aaep.ParseTimestamp(fmt.Sprint(o["timestamp"])); ok && languageOf(o) == "es" {
			o["timestamp"] = aaep.FormatTimestamp(at.Add(-time.Minute))
		}
		return []object{o}
	}},
	{name: "writes all from the left", caught: []string{"direction-said"}, out: func(_ *proxy, o object) []object {
		if hints, ok := o["localization_hints"].(object); ok {
			hints["text_direction"] = "ltr"
		}
		return []object{o}
	}},
	{name: "numbers what it translates", caught: []string{"numbered-right"}, out: func(_ *proxy, o object) []object {
		if o["session_id"] != nil && languageOf(o) == "es" {
			o["sequence_number"] = 7
		}
		return []object{o}
	}},
	{name: "lets questions to the user queue where there is a rate", caught: []string{"critical-at-once"}, delay: func(p *proxy, o object) time.Duration {
		if shortName(o) == "awaiting.clarification" && p.hasRequested("max_events_per_second", 1.0) {
			return 3 * time.Second
		}
		return 0
	}},
}

// keepOutOfTerms keeps a capability out of renegotiations, and what was asked for.
func keepOutOfTerms(name string) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		if c, _ := o["capabilities"].(object); shortName(o) == "subscription.renegotiate" && c[name] != nil {
			p.held = object{"asked": c[name]}
			return []object{cloneWith(o, object{"capabilities": cloneWith(c, object{name: nil})})}
		}
		return []object{o}
	}
}

// answerAsAsked answers as if what keepOutOfTerms kept out were honored.
func answerAsAsked(name string) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		if honored, ok := o["honored_capabilities"].(object); ok && p.held != nil {
			honored[name] = p.held["asked"]
		}
		return []object{o}
	}
}

// unprovenMutants are producers that believe what is shown to them, or answer some and not others.
var unprovenMutants = []mutant{
	{name: "takes any token for a good one", caught: []string{"strangers-refused"}, run: func(run *conformance.ProducerRun) {
		run.Unauthenticated = []transports.Dialer{refusing, run.Dialer}
	}},
	{name: "streams to whoever knows the address", caught: []string{"own-stream-only"},
		run: func(run *conformance.ProducerRun) { run.StolenStream = run.Dialer }},
	{name: "answers the first request that is not valid", caught: []string{"request-answered"}, in: func(p *proxy, o object) []object {
		caps, _ := o["capabilities"].(object)
		_, err := aaep.Decode(encodeObject(o))
		alone := o["capabilities"] == nil || caps["max_events_per_second"] == 0.0 // which is asked in a play of its own
		if shortName(o) == "subscription.request" && err != nil && !alone && p.shareTwice("invalid") {
			return nil
		}
		return []object{o}
	}},
	{name: "is silent to a long request", caught: []string{"request-answered"}, in: func(_ *proxy, o object) []object {
		if shortName(o) == "subscription.request" && len(encodeObject(o)) > 32<<10 {
			return nil
		}
		return []object{o}
	}},
	{name: "rejects a long request", caught: []string{"large-answered"}, in: func(p *proxy, o object) []object {
		if shortName(o) == "subscription.request" && len(encodeObject(o)) > 32<<10 {
			p.injectMessage(object{"type": "subscription.rejected", "reason_code": "rate_limit", "reason_message": "It is too long."})
			return nil
		}
		return []object{o}
	}},
	{name: "hears no clock that is ahead", caught: []string{"spelling-free"}, in: editReplies(func(p *proxy, o object) object {
		stamp, _ := o["timestamp"].(string)
		if at, ok := aaep.ParseTimestamp(stamp); ok && at.After(time.Now().Add(time.Second)) {
			return nil
		}
		return o
	})},
	{name: "gives less time than it says", caught: []string{"deadline", "question-times-out"}, out: func(_ *proxy, o object) []object {
		if n, ok := o["timeout_seconds"].(float64); ok && n < 10 {
			o["timeout_seconds"] = 3 * n
		}
		return []object{o}
	}},
	{name: "has yes for the default of what cannot be undone", caught: []string{"default-reject"},
		out: editType("awaiting.confirmation", object{"default_decision": "accept"})},
	{name: "renames a subscription with its terms", caught: []string{"renegotiation-answered"}, out: func(p *proxy, o object) []object {
		if shortName(o) == "subscription.accepted" {
			if p.n++; p.n > 1 {
				o["subscription_id"] = fmt.Sprint(o["subscription_id"], "x")
			}
		}
		return []object{o}
	}},
	{name: "says of all events that they are terse", caught: []string{"verbosity-labelled"}, out: func(_ *proxy, o object) []object {
		if o["event_id"] != nil {
			o["verbosity"] = "terse"
		}
		return []object{o}
	}},
	{name: "speaks after its close", caught: []string{"close-silences"}, out: func(p *proxy, o object) []object {
		if o["event_id"] != nil {
			p.shared.Store("newest", o)
		}
		if newest := p.sharedEvent("newest"); shortName(o) == "subscription.close" && newest != nil {
			return []object{o, p.newEvent(newest, "progress.updated", object{"progress": object{"percent": 5}})}
		}
		return []object{o}
	}},
	{name: "closes twice", caught: []string{"close-silences"}, out: func(_ *proxy, o object) []object {
		if shortName(o) == "subscription.close" {
			return []object{o, o}
		}
		return []object{o}
	}},
	{name: "promises a lower rate than it keeps", caught: []string{"rate-kept"}, out: func(_ *proxy, o object) []object {
		caps, _ := o["honored_capabilities"].(object)
		if rate, ok := caps["max_events_per_second"].(float64); ok && rate == 10 {
			caps["max_events_per_second"] = 2
		}
		return []object{o}
	}},
	{name: "publishes another manifest than it signs", caught: []string{"manifest-true"},
		run: editManifest(object{"agent_name": "A better one"})},
}

// isLaterIn reports whether the link is every other one, and so one of two in a scenario run.
func (p *proxy) isLaterIn(object) bool { return p.link%2 == 0 }

// isUnrestricted reports whether the link asked for no rate, filter or verbosity, so that an event
// more breaks none of them.
func (p *proxy) isUnrestricted() bool {
	return p.caps["max_events_per_second"] == nil && p.caps["event_filters"] == nil && p.caps["preferred_verbosity"] == nil
}

// editLater edits the events of a type for one of two links.
func editLater(typ string, change func(*proxy, object)) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		if o["session_id"] != nil && p.isLaterIn(o) && shortName(o) == typ {
			change(p, o)
		}
		return []object{o}
	}
}

// onlyFirstOf drops messages of a type but on the first link that has one.
func onlyFirstOf(typ, key string) func(*proxy, object) []object {
	return dropWhere(func(p *proxy, o object) bool {
		if shortName(o) != typ {
			return false
		}
		by, _ := p.shared.LoadOrStore(key, p.link)
		return by != p.link
	})
}
