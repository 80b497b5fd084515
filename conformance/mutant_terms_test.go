package conformance_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
)

// termsMutants are producers that keep some terms, or some of their duties to some of those who
// follow them. LVL-042, LVL-043.
var termsMutants = []mutant{
	{name: "plays down what it does against a no", caught: []string{"reject-means-no"},
		in: editReplies(func(p *proxy, o object) object {
			p.rejected = p.rejected || o["decision"] == "reject"
			return o
		}), out: func(p *proxy, o object) []object {
			if o["from_state"] == "awaiting_input" && p.rejected && !p.shareTwice("once") {
				return []object{cloneWith(p.newToolCall(o), object{"risk_level": "low", "irreversible": false}), o}
			}
			return []object{o}
		}},
	{name: "calls the irreversible harmless", caught: []string{"does-what-was-accepted"},
		out: func(_ *proxy, o object) []object {
			if shortName(o) == "tool.invoked" && o["tool"] == "pay" {
				o = cloneWith(o, object{"risk_level": "low", "irreversible": nil})
			}
			return []object{o}
		}},
	{name: "takes a missing flag for a yes", caught: []string{"not-asked-if-mute"},
		in: func(p *proxy, o object) []object {
			if shortName(o) == "subscription.request" && p.caps != nil && len(p.caps) == 0 {
				p.flag = true
				o = cloneWith(o, object{"capabilities": object{"supports_confirmation_reply": true}})
			}
			return []object{o}
		}, out: func(p *proxy, o object) []object {
			if h, ok := o["honored_capabilities"].(object); ok && p.flag {
				h["supports_confirmation_reply"] = false
			}
			return []object{o}
		}},
	{name: "gives a question up when anybody leaves", caught: []string{"others-may-answer"},
		in: func(p *proxy, o object) []object {
			if o["reason_message"] == "Leaving." && p.token != "" {
				p.shared.Store("given up "+p.token, true)
			}
			if _, given := p.shared.Load("given up " + p.token); given && shortName(o) == "confirmation.reply" &&
				p.token != "" {
				o = cloneWith(o, object{"decision": "reject"})
			}
			return []object{o}
		}},
	{name: "takes every pattern for the beginning of a type", caught: []string{"filters-kept"},
		in: editIncluded(func(pattern string) string {
			return strings.TrimSuffix(pattern, "*") + "*"
		})},
	{name: "knows no pattern without a star", caught: []string{"included-come"},
		in: editIncluded(func(pattern string) string {
			if !strings.HasSuffix(pattern, "*") {
				return "aaep:none." + strings.TrimPrefix(pattern, "aaep:")
			}
			return pattern
		})},
	{name: "filters handoffs", caught: []string{"critical-through-filters"}, out: func(p *proxy, o object) []object {
		if p.caps["event_filters"] != nil && shortName(o) == "handoff.requested" {
			return nil
		}
		return []object{o}
	}},
	{name: "forgets its filters with a new rate", caught: []string{"filters-kept", "renegotiation-keeps"},
		in: func(p *proxy, o object) []object {
			if c, ok := o["capabilities"].(object); ok && shortName(o) == "subscription.renegotiate" &&
				c["max_events_per_second"] == 20.0 {
				o = cloneWith(o, object{"capabilities": cloneWith(c,
					object{"event_filters": object{"include": []string{"aaep:agent.*"}, "exclude": []string{}}})})
			}
			return []object{o}
		}},
	{name: "is careless where it merges", caught: []string{"events-valid"}, out: func(p *proxy, o object) []object {
		if o["chunk"] != nil && p.caps["max_events_per_second"] != nil {
			o["merged"] = true
		}
		return []object{o}
	}},
	{name: "gives events their numbers for each subscriber", caught: []string{"ids-same-for-all"},
		out: func(p *proxy, o object) []object {
			if id, ok := o["session_id"].(string); ok {
				p.n++
				o["event_id"] = fmt.Sprintf("evt_%s%d", strings.TrimPrefix(id, "sess_"), p.n)
			}
			return []object{o}
		}},
	{name: "tells each subscriber another action", caught: []string{"ids-same-for-all", "all-are-asked"},
		out: func(p *proxy, o object) []object {
			if shortName(o) == "awaiting.confirmation" && p.link%2 == 0 {
				o["action"] = "Pay 1 dollar."
			}
			return []object{o}
		}},
	{name: "calls everything critical where there is a rate", whole: true, caught: []string{"urgency-honest"},
		out: func(p *proxy, o object) []object {
			if o["urgency"] != nil && p.hasRequested("max_events_per_second", 2.0) && shortName(o) == "output.streaming" {
				o["urgency"] = "critical"
			}
			return []object{o}
		}},
	{name: "keeps tools back where there is a rate", caught: []string{"tools-not-merged"},
		out: func(p *proxy, o object) []object {
			if p.hasRequested("max_events_per_second", 2.0) && strings.HasPrefix(shortName(o), "tool.") {
				return nil
			}
			return []object{o}
		}},
	{name: "keeps the end of a tool back where there is a rate", caught: []string{"tools-not-merged"},
		out: func(p *proxy, o object) []object {
			if p.hasRequested("max_events_per_second", 2.0) && shortName(o) == "tool.completed" {
				return nil
			}
			return []object{o}
		}},
	{name: "hears no more after a bad reply", caught: []string{"bad-reply-leaves-open"},
		in: func(p *proxy, o object) []object {
			if shortName(o) == "confirmation.reply" {
				if p.flag = p.flag || o["reply_token"] == "rpl_"+strings.Repeat("0", 32); p.flag {
					return nil
				}
			}
			return []object{o}
		}},
	{name: "has one name for all subscriptions", caught: []string{"subscriptions-apart"},
		in: func(p *proxy, o object) []object {
			if o["subscription_id"] == "sub_one" {
				o["subscription_id"] = p.id
			}
			return []object{o}
		}, out: func(_ *proxy, o object) []object {
			if o["subscription_id"] != nil {
				o["subscription_id"] = "sub_one"
			}
			return []object{o}
		}},
	{name: "refuses a token that was used", caught: []string{"refusals-mute", "bad-reply-leaves-open"},
		refuses: func() func(object) bool {
			var used sync.Map
			return func(o object) bool {
				if o["type"] != "confirmation.reply" {
					return false
				}
				_, before := used.LoadOrStore(fmt.Sprint(o["reply_token"]), true)
				return before && o["reply_token"] != "rpl_"+strings.Repeat("0", 32) &&
					len(fmt.Sprint(o["reply_token"])) == 36 && len(o) == 5
			}
		}()},
	{name: "counts a stamp of the deadline", caught: []string{"late-stamp"},
		in: editReplies(func(p *proxy, o object) object {
			if at, ok := aaep.ParseTimestamp(fmt.Sprint(o["timestamp"])); ok && at.After(time.Now()) &&
				time.Until(at) < time.Hour {
				o["timestamp"] = aaep.FormatTimestamp(time.Now())
			}
			return o
		})},
}

// editIncluded edits each pattern that a subscription includes.
func editIncluded(change func(string) string) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		filters, _ := p.caps["event_filters"].(object)
		include, ok := filters["include"].([]any)
		if shortName(o) != "subscription.request" || !ok {
			return []object{o}
		}
		var list []string
		for _, pattern := range include {
			text := fmt.Sprint(pattern)
			if text != "" { // which is for the case of requests that are not valid
				text = change(text)
			}
			list = append(list, text)
		}
		return []object{cloneWith(o, object{"capabilities": cloneWith(p.caps,
			object{"event_filters": cloneWith(filters, object{"include": list})})})}
	}
}

// Each hostile message that has an effect is caught: a producer that makes a good one of it fails.
// CONF-019, CONF-045, HS-007, HS-012
func TestHostileMessages(t *testing.T) {
	asJSON := func(v any) (same any) {
		if err := jsonv2.Unmarshal(encodeObject(object{"v": v}), &same); err != nil {
			t.Fatal(err)
		}
		return same.(object)["v"]
	}
	differs := func(o, more object) bool { // in just these members
		for name, v := range more {
			if got, there := o[name]; v == nil && there || v != nil && !reflect.DeepEqual(got, asJSON(v)) {
				return false
			}
		}
		return true
	}
	try := func(t *testing.T, name, id string, m mutant) {
		t.Run(name+" "+id, func(t *testing.T) {
			t.Parallel()
			report := inBubble(t, func(g *target) conformance.ProducerRun {
				run := checkExtraCases(g, mutantTarget{g, &m, new(sync.Map), new(int)})
				run.Only = []string{name}
				return run
			})
			if i := slices.IndexFunc(report.Results,
				func(r conformance.Result) bool { return r.Case.Name == name }); report.Results[i].Verdict != conformance.Fail {
				t.Errorf("%s, %s", report.Results[i].Verdict, report.Results[i].Seen)
			}
		})
	}
	for _, h := range conformance.HostileReplies {
		try(t, "broken-reply", h.What, mutant{in: func(p *proxy, o object) []object {
			if strings.HasSuffix(shortName(o), ".reply") && differs(o, h.Reply(p.token)) {
				o = object{"type": "confirmation.reply", "reply_token": p.token, "decision": "accept",
					"subscription_id": p.id, "timestamp": aaep.FormatTimestamp(time.Now())}
			}
			return []object{o}
		}})
	}
	for _, h := range conformance.HostileRequests {
		try(t, "invalid-refused", h.What, mutant{in: func(p *proxy, o object) []object {
			if shortName(o) == "subscription.request" && differs(o, h.Members) &&
				(h.Capabilities == nil || p.caps != nil && differs(p.caps, h.Capabilities)) {
				o = object{"type": "subscription.request", "aaep_version": "1.0.0", "subscriber_id": "mended",
					"capabilities": object{}}
			}
			return []object{o}
		}})
	}
	for _, h := range conformance.HostileResponses {
		try(t, "wrong-answer-waits", h.What, mutant{in: func(p *proxy, o object) []object {
			if shortName(o) == "clarification.reply" && (h.Response != nil && reflect.DeepEqual(o["response"],
				asJSON(h.Response)) ||
				h.Members != nil && differs(o, h.Reply(p.token))) {
				o = object{"type": "clarification.reply", "reply_token": p.token, "response": true,
					"subscription_id": p.id, "timestamp": aaep.FormatTimestamp(time.Now())}
			}
			return []object{o}
		}})
	}
}
