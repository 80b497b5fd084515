package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

// askedLink is in a mutant's shared map for each question that a link was asked. Links have numbers
// in the order in which they were opened.
type askedLink struct {
	token any // the question's reply token
	link  int
}

// moreMutants are those of identity, time, access and the manifest. ENV-019, ENV-022, ENV-041,
// ENV-042, ENV-050, I18N-001, SEC-010, EVT-050, EVT-051, CONF-005, CONF-009, CONF-026, CONF-052,
// SEC-003, SM-010, HS-080, TR-013, EVT-060, HS-066, EXT-015, VER-009, HS-026, TERM-007, LVL-032,
// HS-090, HS-091, SEC-018, SEC-001, EVT-052, CONF-051, CONF-048, TERM-015, HS-079, HS-081.
var moreMutants = []mutant{
	{name: "lets its stream be cached", caught: []string{"binding"}, run: func(run *conformance.ProducerRun) {
		dial := run.Dialer
		run.Dialer = dialer(func(ctx context.Context) (transports.Conn, error) {
			violation.ReporterOf(ctx).Report("SSE-016", "a stream may be cached")
			return dial.Dial(ctx)
		})
	}},
	{name: "sends binary frames", caught: []string{"binding-advice"}, run: func(run *conformance.ProducerRun) {
		dial := run.Dialer
		run.Dialer = dialer(func(ctx context.Context) (transports.Conn, error) {
			violation.ReporterOf(ctx).Report("WS-004", "a message is a binary frame")
			return dial.Dial(ctx)
		})
	}},
	{name: "loses its place in what it merges", caught: []string{"positions"}, out: func(p *proxy, o object) []object {
		if at, ok := o["position"].(float64); ok && p.caps["max_events_per_second"] != nil {
			o["position"] = at + 1
		}
		return []object{o}
	}},
	{name: "speaks all its languages to whoever asks for one", caught: []string{"honors-no-more"},
		out: func(p *proxy, o object) []object {
			if terms, ok := o["honored_capabilities"].(object); ok && p.caps["pace_wpm"] != nil {
				terms["languages"] = []string{"en-US", "en"}
			}
			return []object{o}
		}},
	{name: "speaks a version that is to come", caught: []string{"version-known"},
		out: editType("session.started", object{"aaep_version": "7.0.0"})},
	{name: "stamps all with the beginning", caught: []string{"stamps-real", "wrong-answer-waits"}, out: func(p *proxy,
		o object) []object {
		if id, ok := o["session_id"].(string); ok && !p.asking { // the stamp of a question is what replies go by
			o["timestamp"], _ = p.shared.LoadOrStore(id, o["timestamp"])
		}
		return []object{o}
	}},
	{name: "lives in another year", caught: []string{"stamps-real", "late-stamp", "wrong-answer-waits"},
		out: func(p *proxy, o object) []object {
			if stamp, ok := o["timestamp"].(string); ok {
				o["timestamp"] = "1999" + stamp[4:]
			}
			return []object{o}
		}},
	{name: "numbers only the first", caught: []string{"numbered-right"},
		out: editType("session.started", object{"sequence_number": 0})},
	{name: "numbers from one", caught: []string{"numbered-right"}, out: func(p *proxy, o object) []object {
		if o["session_id"] != nil {
			p.n++
			o["sequence_number"] = p.n
		}
		return []object{o}
	}},
	{name: "loses a number", caught: []string{"numbered-right"}, out: func(p *proxy, o object) []object {
		if o["session_id"] != nil {
			if shortName(o) == "tool.invoked" {
				p.n++
			}
			o["sequence_number"] = p.n
			p.n++
		}
		return []object{o}
	}},
	{name: "declares no language", caught: []string{"language-declared"},
		out: editType("state.changed", object{"localization_hints": nil})},
	{name: "tells a key", caught: []string{"no-secrets"},
		out: editType("tool.invoked", object{"args_summary": "with the key AKIAIOSFODNN7REALKEY"})},
	{name: "uses a session's id again", caught: []string{"session-ids-once"}, out: func(p *proxy, o object) []object {
		if shortName(o) == "session.started" {
			if first, there := p.shared.LoadOrStore("first", o["session_id"]); there && first != o["session_id"] && !p.shareTwice("second") {
				p.shared.Store(o["session_id"], first)
			}
		}
		if other, ok := p.shared.Load(o["session_id"]); ok {
			o["session_id"] = other
		}
		return []object{o}
	}},
	{name: "uses the id of an earlier event", caught: []string{"ids-once"}, out: func(p *proxy, o object) []object {
		if shortName(o) == "session.started" && p.caps["event_filters"] == nil &&
			p.caps["max_events_per_second"] == nil {
			o["event_id"], _ = p.shared.LoadOrStore("id", o["event_id"])
		}
		return []object{o}
	}},
	{name: "names another tool when it is over", caught: []string{"call-named"},
		out: editType("tool.completed", object{"tool": "other"})},
	{name: "moves on before the result", caught: []string{"result-before-state", "tools-not-merged"},
		out: func(p *proxy, o object) []object {
			switch {
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

	{name: "celebrates a rejection", caught: []string{"ids-same-for-all", "rejection-told"}, in: editReplies(func(p *proxy, o object) object {
		p.rejected = p.rejected || o["decision"] == "reject"
		return o
	}), out: func(p *proxy, o object) []object {
		for _, k := range []string{"from_state", "to_state"} {
			if p.rejected && o[k] == "thinking" {
				o[k] = "celebrating"
			}
		}
		return []object{o}
	}},
	{name: "asks twice at once", caught: []string{"asks-once", "spelling-free"},
		out: insertAfter("awaiting.confirmation", func(p *proxy, o object) object {
			return p.cloneWithNewID(o, object{"reply_token": strings.Replace(o["session_id"].(string), "sess_", "rpl_", 1)})
		})},
	{name: "has one token for all", caught: []string{"answers-apart", "tokens-fresh", "old-token", "tokens-random"},
		out: func(p *proxy, o object) []object {
			if o["reply_token"] != nil {
				o["reply_token"] = "rpl_same"
			}
			return []object{o}
		}, in: func(p *proxy, o object) []object {
			if o["reply_token"] == "rpl_same" {
				o["reply_token"] = p.token
			}
			return []object{o}
		}},
	{name: "serves all at the pace of the slowest", caught: []string{"slow-costs-nobody"},
		in: func(p *proxy, o object) []object {
			if p.hasRequested("max_events_per_second", 1.0) {
				p.shared.Store("slow", o["type"] == "subscription.request")
			}
			return []object{o}
		}, delay: func(p *proxy, o object) time.Duration {
			if there, _ := p.shared.Load("slow"); there == true && p.caps["max_events_per_second"] == nil &&
				o["output_id"] != nil {
				return time.Second
			}
			return 0
		}},
	{name: "hears a reply in another's name", caught: []string{"own-name-only"},
		in: inAnothersName("confirmation.reply"), out: noteSubscriptionLink},
	{name: "renegotiates in another's name", caught: []string{"own-name-only"},
		in: inAnothersName("subscription.renegotiate"), out: noteSubscriptionLink},
	{name: "closes in another's name", caught: []string{"own-name-only"}, in: inAnothersName("subscription.close"),
		out: noteSubscriptionLink},
	{name: "hears whoever knows the token", caught: []string{"not-entitled", "own-name-only"},
		in: editReplies(func(p *proxy, o object) object {
			if p.hasRequested("supports_confirmation_reply", false) && !p.replied {
				p.shared.Store(fmt.Sprint("stolen ", o["reply_token"]), true)
			}
			return o
		}), out: func(p *proxy, o object) []object {
			p.replied = p.replied || p.asking // it may answer by now
			if _, stolen := p.shared.Load("stolen " + p.token); stolen && o["from_state"] == "awaiting_input" && p.asking {
				return []object{p.newToolCall(o), o}
			}
			return []object{o}
		}},
	{name: "explains what was wrong", caught: []string{"refusals-mute", "events-valid"},
		in: editReplies(func(p *proxy, o object) object {
			p.flag = p.flag || o["reply_token"] != p.token
			return o
		}), out: func(p *proxy, o object) []object {
			if p.flag {
				p.flag = false
				return []object{{"type": "reply.refused", "reason": "unknown token"}, o}
			}
			return []object{o}
		}},
	{name: "waits for ever for an answer", caught: []string{"question-times-out"},
		in: func(p *proxy, o object) []object {
			p.replied = p.replied || shortName(o) == "clarification.reply"
			return []object{o}
		}, out: func(p *proxy, o object) []object {
			if p.flag && !p.replied {
				return nil
			}
			p.flag = p.flag || shortName(o) == "awaiting.clarification"
			return []object{o}
		}},
	{name: "acts when a line breaks", caught: []string{"lost-line"}, out: actsAfter("lost")},

	{name: "cuts without a word", caught: []string{"cuts-labelled"}, out: func(p *proxy, o object) []object {
		b, _ := p.caps["coalesce_boundaries"].([]any)
		c, ok := o["chunk"].(string)
		if !ok || len(b) != 1 || len(c) < 10 {
			return []object{o}
		}
		return []object{cloneWith(p.cloneWithNewID(o, object{"chunk": c[:5], "complete": false}), object{"coalesce_hint": nil}),
			cloneWith(o, object{"chunk": c[5:], "position": o["position"].(float64) + 5})}
	}},
	{name: "starves whoever is slow", caught: []string{"held-not-starved"},
		delay: func(p *proxy, o object) time.Duration {
			if p.flag = p.flag || shortName(o) == "output.streaming"; p.flag && p.hasRequested("max_events_per_second", 2.0) {
				return 6 * time.Second
			}
			return 0
		}},
	{name: "honors what it does not know", caught: []string{"unknown-not-honored"},
		out: func(p *proxy, o object) []object {
			if h, ok := o["honored_capabilities"].(object); ok && p.caps["zzz"] != nil {
				h["zzz"] = p.caps["zzz"]
			}
			return []object{o}
		}},
	{name: "accepts in a version of its own", caught: []string{"manifest-true", "version-agreed"},
		out: func(p *proxy, o object) []object {
			if shortName(o) == "subscription.accepted" && len(p.caps) == 0 {
				o["aaep_version"] = "2.0.0"
			}
			return []object{o}
		}},
	{name: "sends what nobody asked for", caught: []string{"default-filter", "new-rate-kept", "manifest-true"},
		run: editManifest(object{"event_types_emitted": []string{"aaep:agent.*", "medai:*"}}),
		out: func(p *proxy, o object) []object {
			if shortName(o) == "session.started" && p.caps["event_filters"] == nil &&
				p.caps["max_events_per_second"] == nil {
				dose := p.newEvent(o, "", object{"type": "medai:dose.given",
					"@context": []string{o["@context"].(string), "https://example.org/medai/v1"}})
				return []object{o, dose}
			}
			return []object{o}
		}},
	{name: "has fewer events for few words", caught: []string{"verbosity-words-only"},
		out: func(p *proxy, o object) []object {
			if p.hasRequested("preferred_verbosity", "terse") && shortName(o) == "state.changed" {
				return nil
			}
			return []object{o}
		}},

	{name: "publishes no manifest", caught: []string{"manifest-published"}, run: func(run *conformance.ProducerRun) {
		run.Manifest = func(context.Context) ([]byte, error) { return nil, errors.New("404 Not Found") }
	}},
	{name: "publishes half a manifest", caught: []string{"manifest-valid", "manifest-true"},
		run: editManifest(object{"default_verbosity": nil})},
	{name: "publishes nothing but the address of one", caught: []string{"manifest-valid"},
		run: func(run *conformance.ProducerRun) {
			run.Manifest = func(context.Context) ([]byte, error) { return nil, nil }
		}},
	{name: "publishes another's manifest", caught: []string{"manifest-true"},
		run: editManifest(object{"agent_id": "somebody"})},
	{name: "claims fewer types than it sends", caught: []string{"manifest-true"},
		run: editManifest(object{"event_types_emitted": []string{"aaep:agent.session.*"}})},
	{name: "claims other languages than it speaks", caught: []string{"manifest-true"},
		run: editManifest(object{"languages_supported": []string{"tlh"}})},
	{name: "has a forged signature", caught: []string{"manifest-signed"},
		run: func(run *conformance.ProducerRun) { run.Keys = otherKeys }},
	{name: "lets strangers in", caught: []string{"strangers-refused"},
		run: func(run *conformance.ProducerRun) { run.Unauthenticated = []transports.Dialer{run.Dialer} }},
	{name: "sends strangers away for another reason", caught: []string{"strangers-refused"},
		run: func(run *conformance.ProducerRun) {
			run.Unauthenticated = []transports.Dialer{dialer(func(context.Context) (transports.Conn, error) {
				return nil, &aaep.Rejection{Code: aaep.RateLimit}
			})}
		}},
	{name: "leaves strangers waiting", caught: []string{"strangers-refused"}, run: func(run *conformance.ProducerRun) {
		run.Unauthenticated = []transports.Dialer{connectPipe(func(c transports.Conn) {
			c.Receive(context.Background())
			c.Receive(context.Background())
		})}
	}},

	{name: "refuses a token that it does not know", caught: []string{"refusals-mute"}, refuses: func(o object) bool {
		return o["type"] == "confirmation.reply" && o["reply_token"] == "rpl_"+strings.Repeat("0", 32)
	}},
	{name: "waits for ever for a tool", caught: []string{"hanging-tool"},
		out: dropMessages(func(o object) bool { return shortName(o) == "tool.completed" && o["status"] == "timeout" })},
	{name: "calls a tool that hangs a success", caught: []string{"hanging-tool"},
		out: func(_ *proxy, o object) []object {
			if o["status"] == "timeout" {
				o["status"] = "success"
			}
			return []object{o}
		}},
	{name: "acts on a yes after the end", caught: []string{"cancelled-is-no"},
		in: editReplies(func(p *proxy, o object) object {
			if p.held != nil && o["decision"] == "accept" { // whose answer comes when the tool call does
				return object{"type": "subscription.renegotiate", "subscription_id": p.id, "capabilities": object{}}
			}
			return o
		}), out: func(p *proxy, o object) []object {
			switch {
			case shortName(o) == "session.cancelled" && p.asking:
				p.held = o
			case shortName(o) == "subscription.accepted" && p.held != nil:
				return []object{p.newToolCall(p.held)}
			}
			return []object{o}
		}},
	{name: "goes on although it was cancelled", caught: []string{"cancelled-is-no"},
		out: func(p *proxy, o object) []object {
			if shortName(o) == "session.cancelled" && p.asking {
				return []object{p.newEvent(o, "session.completed", nil)}
			}
			return []object{o}
		}},
	{name: "hears only the first who was asked", caught: []string{"whoever-answers", "others-may-answer"},
		maybe: []string{"does-what-was-accepted", "accept-stands", "spelling-free", "answers-apart",
			"renegotiated-replies"},
		in: func(p *proxy, o object) []object {
			others := false
			p.shared.Range(func(key, _ any) bool {
				first, ok := key.(askedLink)
				others = others || ok && first.token == o["reply_token"] && first.link < p.link
				return true
			})
			if others && o["decision"] == "accept" {
				return nil
			}
			return []object{o}
		}, out: func(p *proxy, o object) []object {
			if shortName(o) == "awaiting.confirmation" && p.hasRequested("supports_confirmation_reply", true) {
				p.shared.Store(askedLink{o["reply_token"], p.link}, true)
			}
			return []object{o}
		}},
	{name: "serves whom it rejected", caught: []string{"no-terms-no-events"}, in: func(p *proxy, o object) []object {
		p.flag = p.flag || o["aaep_version"] == "99.0.0"
		if p.flag {
			o["aaep_version"] = "1.0.0"
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if p.flag && shortName(o) == "subscription.accepted" {
			return []object{{"type": "subscription.rejected", "reason_code": "version_unsupported",
				"reason_message": "No."}}
		}
		return []object{o}
	}},
	{name: "leaves without a word", caught: []string{"close-announced"}, out: dropMessages(isType("subscription.close"))},
	{name: "leaves without a reason", caught: []string{"close-whole"},
		out: editType("subscription.close", object{"reason_message": nil})},
	{name: "includes what was not included", caught: []string{"filters-kept"}, in: func(p *proxy, o object) []object {
		f, _ := p.caps["event_filters"].(object)
		if list, _ := f["include"].([]any); len(list) == 2 && list[1] == "aaep:agent.tool.invoked" {
			p.caps = cloneWith(p.caps, object{"event_filters": object{"include": []string{"aaep:agent.*"}}})
			return []object{cloneWith(o, object{"capabilities": p.caps})}
		}
		return []object{o}
	}},
	{name: "renames what is renegotiated", caught: []string{"renegotiation-answered"},
		out: func(p *proxy, o object) []object {
			if o["type"] == "subscription.accepted" {
				if p.n++; p.n > 1 {
					o["subscription_id"] = "sub_renamed"
				}
			}
			return []object{o}
		}},
	{name: "calls half a sentence one", caught: []string{"boundaries"}, out: func(p *proxy, o object) []object {
		text, _ := o["chunk"].(string)
		if o["position"] != 0.0 || o["coalesce_hint"] != "sentence" || o["complete"] == true || len(text) < 20 ||
			p.caps["max_events_per_second"] != nil {
			return []object{o}
		}
		id, _ := o["event_id"].(string)
		return []object{cloneWith(o, object{"chunk": text[:9], "event_id": id + "0"}),
			cloneWith(o, object{"chunk": text[9:], "position": 9})}
	}},
	{name: "closes another's subscription", caught: []string{"close-whole"},
		out: editType("subscription.close", object{"subscription_id": "sub_1"})},
}

// noteSubscriptionLink keeps which link a subscription has.
func noteSubscriptionLink(p *proxy, o object) []object {
	if o["type"] == "subscription.accepted" {
		p.shared.Store(o["subscription_id"], p)
	}
	return []object{o}
}

// inAnothersName passes a type of message on to the subscription that it names, whatever principal
// sent it.
func inAnothersName(typ string) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		named, _ := p.shared.Load(o["subscription_id"])
		if other, is := named.(*proxy); is && other != p && o["type"] == typ {
			_ = other.Conn.Send(context.Background(), encodeObject(o))
			return nil
		}
		return []object{o}
	}
}
