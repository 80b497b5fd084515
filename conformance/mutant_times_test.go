package conformance_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
)

// lateMutants are producers whose author did not think of what comes late, twice, from elsewhere or
// under other terms. LVL-042, LVL-043.
var lateMutants = []mutant{
	{name: "runs the tool on an accept that arrives late", caught: []string{"accept-is-single", "late-arrival",
		"right-given-up"},
		in: editReplies(func(p *proxy, o object) object {
			if p.held != nil && o["decision"] == "accept" && o["reply_token"] == p.token {
				p.injectMessage(p.newToolCall(p.held))
			}
			p.replied = true
			return o
		}), out: keepsOver(func(p *proxy) bool { return p.replied })},
	{name: "goes by the stamp of a late accept", caught: []string{"late-arrival"},
		in: editReplies(func(p *proxy, o object) object {
			at, _ := aaep.ParseTimestamp(fmt.Sprint(o["timestamp"]))
			if p.held != nil && !p.rejected && o["decision"] == "accept" && time.Since(at) < time.Minute &&
				time.Until(at) < 0 {
				p.injectMessage(p.newEvent(p.held, "tool.completed", object{"tool": "pay", "status": "success"}))
			}
			p.rejected = p.rejected || o["decision"] == "reject"
			return o
		}), out: keepsOver(func(p *proxy) bool { return p.rejected })},
	{name: "takes the token of any of its questions", caught: []string{"answers-apart", "old-token"},
		in: editReplies(func(p *proxy, o object) object {
			if known, _ := p.shared.Load(fmt.Sprint(o["reply_token"])); known == true {
				o["reply_token"] = p.token
			}
			return o
		}), out: func(p *proxy, o object) []object {
			if o["reply_token"] != nil {
				p.shared.Store(fmt.Sprint(o["reply_token"]), true)
			}
			return []object{o}
		}},
	{name: "forgets who may reply no more", caught: []string{"right-given-up", "renegotiation-keeps"}, in: func(p *proxy,
		o object) []object {
		if c, ok := o["capabilities"].(object); ok && shortName(o) == "subscription.renegotiate" &&
			c["supports_confirmation_reply"] == false {
			return []object{cloneWith(o, object{"capabilities": object{}})}
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if h, ok := o["honored_capabilities"].(object); ok && p.asking {
			h["supports_confirmation_reply"] = false
		}
		return []object{o}
	}},
	{name: "tells the end only to who was there at the beginning", caught: []string{"all-hear-the-end"},
		out: func(p *proxy, o object) []object {
			p.flag = p.flag || shortName(o) == "session.started"
			if !p.flag && strings.HasPrefix(shortName(o), "session.") && p.hasRequested("supports_confirmation_reply", false) {
				return nil
			}
			return []object{o}
		}},
	{name: "tells the end only to who decided", caught: []string{"all-hear-the-end"},
		in: editReplies(func(p *proxy, o object) object {
			p.shared.LoadOrStore("by "+p.token, p.link)
			return o
		}), out: func(p *proxy, o object) []object {
			if by, ok := p.shared.Load("by " + p.token); ok && p.token != "" && by != p.link &&
				shortName(o) == "session.completed" && p.hasRequested("supports_confirmation_reply", true) {
				return nil
			}
			return []object{o}
		}},
	{name: "agrees to a rate and does not keep it", caught: []string{"new-rate-kept"},
		in: func(p *proxy, o object) []object {
			if c, ok := o["capabilities"].(object); ok && shortName(o) == "subscription.renegotiate" && len(c) == 1 &&
				c["max_events_per_second"] == 2.0 {
				p.flag = true
				return []object{cloneWith(o, object{"capabilities": object{}})}
			}
			return []object{o}
		}, out: func(p *proxy, o object) []object {
			if h, ok := o["honored_capabilities"].(object); ok && p.flag {
				h["max_events_per_second"] = 2
			}
			return []object{o}
		}},
	{name: "labels English as Spanish", caught: []string{"language-true"}, out: func(p *proxy, o object) []object {
		if languageOf(o) == "es" {
			if words, ok := p.shared.Load(o["event_id"]); ok {
				o["summary_normal"] = words
			}
			return []object{o}
		}
		p.shared.Store(o["event_id"], o["summary_normal"])
		return []object{o}
	}},
	{name: "counts its tokens", caught: []string{"tokens-random"}, in: func(p *proxy, o object) []object {
		if own, ok := p.shared.Load(fmt.Sprint(o["reply_token"])); ok {
			o["reply_token"] = own
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if own, ok := o["reply_token"].(string); ok {
			// Two links may meet a token at once: it has one name, and a number is left out.
			n, _ := p.shared.LoadOrStore("tokens", new(atomic.Int64))
			named, _ := p.shared.LoadOrStore("name of "+own, fmt.Sprintf("rpl_%032d", n.(*atomic.Int64).Add(1)))
			p.shared.Store(named, own)
			o["reply_token"] = named
		}
		return []object{o}
	}},
	{name: "makes short tokens", caught: []string{"tokens-random"}, in: func(p *proxy, o object) []object {
		if own, ok := p.shared.Load(fmt.Sprint(o["reply_token"])); ok {
			o["reply_token"] = own
		}
		return []object{o}
	}, out: func(p *proxy, o object) []object {
		if own, ok := o["reply_token"].(string); ok {
			o["reply_token"] = own[:12]
			p.shared.Store(own[:12], own)
		}
		return []object{o}
	}},
	{name: "counts the yes of who has left", caught: []string{"leaving-is-no-consent"},
		in: func(p *proxy, o object) []object {
			if o["reason_message"] == "Leaving." && p.token != "" {
				p.flag = true
			}
			if p.flag && shortName(o) == "confirmation.reply" {
				p.shared.Store("left", true)
			}
			if p.flag && o["reason_message"] == "Leaving." {
				return nil
			}
			if p.flag && shortName(o) == "confirmation.reply" {
				return []object{cloneWith(o, object{"decision": "reject"})}
			}
			return []object{o}
		}, out: actsAfter("left")},
}

// keepsOver keeps the newest end of a session that was asked in and of which skip is not true.
func keepsOver(skip func(*proxy) bool) func(*proxy, object) []object {
	return func(p *proxy, o object) []object {
		if strings.HasPrefix(shortName(o), "session.") && shortName(o) != "session.started" && p.asking && !skip(p) &&
			o["cancelled_by"] == nil {
			p.held = o
		}
		return []object{o}
	}
}
