package conformance

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
)

var greetings = []string{"restricted", "bare", "future-version", "signed-only", "unknown-extension", "no-language", "bad-rate", "no-capabilities"}

var reasonCodes = []string{"version_unsupported", "manifest_signature_required", "capabilities_incompatible", "rate_limit",
	"authentication_required", "authorization_denied", "transport_unavailable", "unknown"} // §5.5.3

var subscriptionID = regexp.MustCompile(`\Asub_[A-Za-z0-9]{1,64}\z`)

// handshakeCases judge answers to requests.
var handshakeCases = []Case{
	{Name: "request-answered", Requirements: []string{"HS-043", "LVL-029"}, Level: 3, Strength: Must, plays: greetings,
		Rule: "every request is answered with accepted or rejected", Judge: func(r *Recording) Finding {
			if a, ok := r.answer(0); ok {
				return pass("the answer was "+a.typ(), a.Entry)
			}
			for _, note := range []string{noteNoDial, noteNoSend} {
				if e, ok := r.noted(0, note); ok {
					return Finding{Verdict: Inconclusive, Seen: note, Evidence: []Entry{e}}
				}
			}
			return fail(fmt.Sprintf("no answer came within %v", patience), sent(r)...)
		}},
	{Name: "answer-valid", Requirements: []string{"HS-044", "HS-056", "HS-047"}, Level: 3, Strength: Must, plays: greetings,
		Rule: "the answer to a request is valid under its schema", Judge: judgeValid, Also: answerRows},
	{Name: "subscription-id", Requirements: []string{"HS-045"}, Level: 3, Strength: Must, plays: []string{"restricted", "bare"},
		Rule: "subscription_id is sub_ and 1 to 64 letters or digits", Judge: accepted(func(_ *Recording, a message) Finding {
			if id := a.str("subscription_id"); !subscriptionID.MatchString(id) {
				return fail("the subscription_id is "+quoted(id), a.Entry)
			}
			return pass("the subscription_id is well formed", a.Entry)
		})},
	{Name: "honors-no-more", Requirements: []string{"HS-053", "HS-049", "HS-050", "HS-051", "HS-052"}, Level: 3, Strength: Must, plays: []string{"restricted", "bare"},
		Rule: "no honored capability gives more than was asked, defaults included", Judge: accepted(judgeSubset)},
	{Name: "version-refused", Requirements: []string{"HS-058"}, Level: 3, Strength: Must, plays: []string{"future-version"},
		Rule: "a version that nobody speaks is rejected with version_unsupported", Judge: rejectedWith("version_unsupported")},
	{Name: "signature-demanded", Requirements: []string{"HS-040"}, Level: 3, Strength: Must, plays: []string{"signed-only"},
		Rule: "who demands a signed manifest gets it in signed_manifest of the acceptance, or is rejected with manifest_signature_required", Judge: func(r *Recording) Finding {
			a, ok := r.answer(0)
			if ok && a.typ() == "subscription.accepted" {
				if parts := strings.Split(a.str("signed_manifest"), "."); len(parts) != 3 || slices.Contains(parts, "") {
					return fail("a subscriber that demands a signed manifest was accepted, and signed_manifest is no compact JWS or not there", a.Entry)
				}
				return pass("a signed manifest came; its signature was not verified here", a.Entry)
			}
			return rejectedWith("manifest_signature_required")(r)
		}},
	{Name: "unknown-extension", Requirements: []string{"HS-042"}, Level: 3, Strength: Must, plays: []string{"unknown-extension"},
		Rule: "an unknown extension capability is no reason to reject", Judge: func(r *Recording) Finding {
			a, ok := r.answer(0)
			switch {
			case !ok:
				return unseen("no answer came")
			case a.typ() != "subscription.accepted":
				return fail("a request with an unknown extension was rejected with "+quoted(a.str("reason_code")), a.Entry)
			}
			return pass("the request was accepted", a.Entry)
		}},
	{Name: "unknown-not-honored", Requirements: []string{"EXT-015"}, Level: 3, Strength: Must, plays: []string{"unknown-extension"},
		Rule: "an extension that nobody knows is not honored", Judge: accepted(func(r *Recording, a message) Finding {
			if _, there := honored(r, 0)["zzz"]; there || slices.Contains(honoredList(r, 0, "supported_extensions"), unknownURI) {
				return fail("an extension that nobody knows is honored", append(sent(r), a.Entry)...)
			}
			return pass("it is not honored", a.Entry)
		})},
	{Name: "version-agreed", Requirements: []string{"VER-009", "HS-092"}, Level: 3, Strength: Must, plays: []string{"restricted", "bare"},
		Rule: "an accepted request names a version that both speak", Judge: accepted(func(_ *Recording, a message) Finding {
			if major, _, _ := strings.Cut(a.str("aaep_version"), "."); major != "1" {
				return fail("version "+aaep.Version+" was asked for, and "+quoted(a.str("aaep_version"))+" accepted", a.Entry)
			}
			return pass("the version is "+aaep.SafeText(a.str("aaep_version")), a.Entry)
		})},
	{Name: "language-unknown", Requirements: []string{"HS-050", "I18N-006"}, Level: 3, Strength: Must, plays: []string{"no-language"},
		Rule: "no language is honored that was not asked for", Judge: func(r *Recording) Finding {
			a, ok := r.answer(0)
			switch {
			case !ok:
				return unseen("no answer came")
			case a.typ() == "subscription.rejected" && a.str("reason_code") != "capabilities_incompatible":
				return fail("a language that cannot be served was rejected with "+quoted(a.str("reason_code")), a.Entry)
			}
			for _, tag := range honoredList(r, 0, "languages") {
				if !strings.HasPrefix(tag, "tlh") {
					return fail("the language "+quoted(tag)+" is honored where only tlh was asked for", a.Entry)
				}
			}
			return pass("no other language was made a term", a.Entry)
		}},
	{Name: "invalid-refused", Requirements: []string{"HS-012", "HS-007"}, Level: 3, Strength: Must, plays: []string{"bad-rate", "no-capabilities", "bad-requests"},
		Rule: "a request that is not valid is rejected", Judge: func(r *Recording) Finding {
			for link := 1; link < r.links(); link++ {
				if a, ok := r.answer(link); ok && a.typ() != "subscription.rejected" {
					asked := r.all(link, true)[0]
					return fail("a request "+hostileRequests[link].What+" was accepted", asked.Entry, a.Entry)
				}
			}
			a, ok := r.answer(0)
			switch {
			case !ok:
				return unseen("no answer came")
			case a.typ() != "subscription.rejected":
				return fail("a request that is not valid was accepted", append(sent(r), a.Entry)...)
			}
			return pass("it was rejected with "+quoted(a.str("reason_code")), a.Entry)
		}},
	{Name: "reason-codes", Requirements: []string{"HS-057"}, Level: 3, Strength: Must, plays: greetings,
		Rule: "reason_code is one of the eight listed codes", Judge: func(r *Recording) Finding {
			a, ok := r.answer(0)
			switch {
			case !ok || a.typ() != "subscription.rejected":
				return none("nothing was rejected")
			case !slices.Contains(reasonCodes, a.str("reason_code")):
				return fail("the reason_code is "+quoted(a.str("reason_code")), a.Entry)
			}
			return pass("the reason_code is "+a.str("reason_code"), a.Entry)
		}},
}

// extensionsHonored is the case of a target that is said to support extensions.
func extensionsHonored(uris []string) Case {
	return Case{Name: "extensions-honored", Requirements: []string{"EXT-015", "EXT-002"}, Level: 3, Strength: Must,
		Rule: "a supported extension that is asked for is honored, and events with its data are valid",
		Play: &Play{Does: "a subscriber asks for the extensions that the target is said to support", Scenario: Scenario{Name: Tools},
			Capabilities: object{"supported_extensions": uris}},
		Judge: accepted(func(r *Recording, a message) Finding {
			for _, uri := range uris {
				if !slices.Contains(honoredList(r, 0, "supported_extensions"), uri) {
					return fail("the extension "+quoted(uri)+" was asked for and is not honored", append(sent(r), a.Entry)...)
				}
			}
			if f := judgeValid(r); f.Verdict == Fail {
				return f
			}
			return pass("all that was asked for is honored", a.Entry)
		})}
}

// termsCases judge whether what was agreed is kept.
var termsCases = []Case{
	{Name: "rate-kept", Requirements: []string{"HS-013", "HS-064", "EVT-037", "LVL-030", "LVL-034"}, Level: 3, Strength: Must, plays: []string{"rate", "again", "beside-slow", "slow-fail"},
		Rule: "in no span of t seconds come more than rate times t, and rate, events that are not critical", Judge: judgeRate},
	{Name: "tools-not-merged", Requirements: []string{"LVL-007", "LVL-034"}, Level: 3, Strength: Must, plays: []string{"slow-tools"},
		Rule: "a rate keeps back neither the beginning nor the end of a tool", Judge: func(r *Recording) Finding {
			if all := r.events(0); len(all) > 0 && len(of(all, invoked)) == 0 && all[len(all)-1].terminal() {
				return fail("a session with a tool came to its end without tool.invoked, at a rate of 2 a second", all[len(all)-1].Entry)
			}
			return judgePairs(r)
		}},
	{Name: "default-filter", Requirements: []string{"HS-026"}, Level: 3, Strength: Must, plays: wholePlays,
		Rule: "without filters come the events of aaep:agent, and no others", Judge: eachEvent(func(m message) string {
			if !strings.HasPrefix(m.typ(), "aaep:agent.") {
				return quoted(m.typ()) + " came to a subscriber that did not ask for it"
			}
			return ""
		})},
	{Name: "verbosity-words-only", Requirements: []string{"TERM-007"}, Level: 3, Strength: Must, plays: []string{"verbosity"},
		Rule: "whoever wants few words gets the same events as whoever wants many", Judge: func(r *Recording) Finding {
			a, b := r.events(0), r.events(1)
			if len(a) == 0 || len(b) == 0 {
				return unseen("no event came")
			}
			for i := range max(len(a), len(b)) {
				switch {
				case i >= len(a):
					return fail(short(b[i])+" did not come to the subscriber that wants few words", b[i].Entry)
				case i >= len(b) || a[i].typ() != b[i].typ():
					return fail("the subscriber that wants many words did not get "+short(a[i]), a[i].Entry)
				}
			}
			return pass(fmt.Sprintf("both got the same %d events", len(a)), a[0].Entry, b[0].Entry)
		}},
	{Name: "filters-kept", Requirements: []string{"HS-029", "HS-028", "HS-027", "HS-055"}, Level: 3, Strength: Must, plays: []string{"filtered", "included", "filtered-fail", "literal", "still-filtered"},
		Rule: "an excluded event does not come unless it is critical", Judge: func(r *Recording) Finding {
			a, ok := r.answer(0)
			if !ok || a.typ() != "subscription.accepted" {
				return unseen("the request was not accepted")
			}
			n := 0
			for _, m := range r.events(0) {
				n++
				asked, _ := capabilities(r, 0)["event_filters"].(object)
				if !m.critical() && !passes(asked, m.typ()) {
					return fail(short(m)+" came although it is excluded", sent(r)[0], m.Entry)
				}
			}
			return some(n, "events came, none of them excluded")
		}},
	{Name: "urgency-honest", Requirements: []string{"HS-055", "HS-013"}, Level: 3, Strength: Must, plays: []string{"rate", "filtered"},
		Rule: "what is not critical to a subscriber without terms is not called critical to one with a rate or filters", Judge: func(r *Recording) Finding {
			for _, m := range r.events(0) {
				usual := r.before["urgency normal "+m.typ()] || r.before["urgency background "+m.typ()]
				if usual && m.str("urgency") == "critical" && !r.before["urgency critical "+m.typ()] {
					return fail(short(m)+" is called critical to a subscriber with terms, and was not to others", append(sent(r), m.Entry)...)
				}
			}
			return some(len(r.events(0)), "events have the urgency that they have without terms")
		}},
	{Name: "included-come", Requirements: []string{"HS-027"}, Level: 3, Strength: Must, plays: []string{"included", "literal"},
		Rule: "an event of a type that is included comes", Judge: accepted(func(r *Recording, a message) Finding {
			asked, _ := capabilities(r, 0)["event_filters"].(object)
			for _, typ := range []string{started, invoked, completed} {
				if passes(asked, typ) && len(of(r.events(0), typ)) == 0 && r.DriverErr == nil {
					return fail("a subscriber that includes "+quoted(typ)+" got none from a session with a tool", append(sent(r), a.Entry)...)
				}
			}
			return pass("what was included came", a.Entry)
		})},
	{Name: "critical-through-filters", Requirements: []string{"HS-062", "HS-014"}, Level: 3, Strength: Must, plays: []string{"filtered-fail", "filtered-ask", "filtered-handoff"},
		Rule: "errors and questions come whatever is excluded and whatever the rate", Judge: func(r *Recording) Finding {
			want := map[string]string{Errored: errored, Ask: confirm, Handoff: handoff}[r.Scenario.Name]
			got := of(r.all(0, false), want)
			if a, ok := r.answer(0); !ok || a.typ() != "subscription.accepted" {
				return unseen("the request was not accepted")
			}
			switch {
			case len(got) == 0 && r.DriverErr != nil:
				return unseen("nothing was there to come through")
			case len(got) == 0 && want == confirm && !r.before["type "+confirm]: // in no play
				return unseen(neverAsked)
			}
			if len(got) == 0 {
				return fail(fmt.Sprintf("a subscriber that excludes everything got no %s", strings.TrimPrefix(want, "aaep:agent.")), sent(r)...)
			}
			return pass(short(got[0])+" came through the filter", got[0].Entry)
		}},
	{Name: "critical-at-once", Requirements: []string{"HS-067", "LVL-034"}, Level: 3, Strength: Must, plays: []string{"slow-fail"},
		Rule: "an error does not wait for the rate", Judge: func(r *Recording) Finding {
			a, b := of(r.events(0), errored), of(r.events(1), errored)
			switch {
			case len(a) == 0:
				return unseen("no session.errored came")
			case len(b) == 0:
				return fail("the subscriber with a low rate never learnt of the error", a[0].Entry)
			case b[0].At.Sub(a[0].At) > time.Second:
				return fail(fmt.Sprintf("the error came %v later to a subscriber with a low rate", b[0].At.Sub(a[0].At).Round(time.Millisecond)), a[0].Entry, b[0].Entry)
			}
			return pass("the error came at once to both", a[0].Entry, b[0].Entry)
		}},
	{Name: "renegotiation-answered", Requirements: []string{"HS-073"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "a renegotiation is answered with accepted or rejected", Judge: func(r *Recording) Finding {
			switch got := of(r.all(0, false), "subscription.accepted", "subscription.rejected"); {
			case len(got) == 0 || got[0].typ() != "subscription.accepted":
				return unseen("the request was not accepted")
			case len(got) == 1:
				return fail(fmt.Sprintf("no answer to a renegotiation came within %v", patience), got[0].Entry)
			case got[1].typ() == "subscription.accepted" && got[1].str("subscription_id") != got[0].str("subscription_id"):
				return fail("the answer to a renegotiation names another subscription", got[0].Entry, got[1].Entry)
			default:
				return pass("the answer was "+got[1].typ(), got[1].Entry)
			}
		}},
	{Name: "renegotiation-keeps", Requirements: []string{"HS-075", "HS-049"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "what a renegotiation names is honored up to what was asked, and the rest keeps its value", Judge: renegotiated(func(r *Recording, a, b message) Finding {
			if b.typ() != "subscription.accepted" {
				return unseen("the renegotiation was rejected")
			}
			was := termsOf(capabilities(r, 0), a.obj("honored_capabilities"))
			is := termsOf(with(was, object{"max_events_per_second": 3.0}), b.obj("honored_capabilities"))
			for _, name := range []string{"languages", "coalesce_boundaries", "supports_confirmation_reply", "supports_clarification_reply"} {
				if fmt.Sprint(was[name]) != fmt.Sprint(is[name]) {
					return fail("changing the rate changed "+name, a.Entry, b.Entry)
				}
			}
			if rate, ok := is["max_events_per_second"].(float64); !ok || rate > 3 {
				return fail("3 events a second were asked for, and "+inJSON(is["max_events_per_second"])+" is honored", b.Entry)
			}
			return pass("only what was named changed", a.Entry, b.Entry)
		})},
	{Name: "renegotiation-governs", Requirements: []string{"HS-076"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "events after the answer obey the new terms", Judge: renegotiated(func(r *Recording, _, b message) Finding {
			all := r.events(0)
			for _, m := range of(all, output) {
				return fail("output.streaming came although the new terms exclude it", b.Entry, m.Entry)
			}
			return some(len(all), "events obeyed the new terms")
		})},
	{Name: "new-rate-kept", Requirements: []string{"HS-076", "HS-013"}, Level: 3, Strength: Must, plays: []string{"slower"},
		Rule: "a rate that was renegotiated is kept from the answer on", Judge: renegotiated(func(r *Recording, _, b message) Finding {
			if b.typ() != "subscription.accepted" {
				return unseen("the renegotiation was rejected")
			}
			after := slices.DeleteFunc(r.events(0), func(m message) bool { return m.n < b.n })
			return rateOf(after, 2)
		})},
	{Name: "no-terms-no-events", Requirements: []string{"TERM-015"}, Level: 3, Strength: Must, plays: []string{"turned-away"},
		Rule: "who was rejected gets no events, whatever it asked for", Judge: func(r *Recording) Finding {
			a, ok := r.answer(0)
			switch late := r.events(0); {
			case len(late) > 0 && (!ok || a.typ() != "subscription.accepted"):
				return fail(short(late[0])+" came to a subscriber that was never accepted", append(sent(r), late[0].Entry)...)
			case !ok || a.typ() != "subscription.rejected":
				return unseen("nobody was rejected")
			case len(r.events(1)) == 0:
				return unseen("no event came to the subscriber that was accepted")
			}
			return pass("nothing came to the subscriber that was rejected", a.Entry)
		}},
	{Name: "close-announced", Requirements: []string{"HS-079"}, Level: 3, Strength: Should, plays: []string{"shutdown"},
		Rule: "a producer that ends says subscription.close before the link is closed", Judge: func(r *Recording) Finding {
			if list := of(r.all(0, false), "subscription.close"); len(list) > 0 {
				return pass("subscription.close came", list[0].Entry)
			}
			if e, over := r.noted(0, noteClosed); over {
				return fail("the link was closed without subscription.close", e)
			}
			return unseen("the subscription was not closed")
		}},
	{Name: "close-whole", Requirements: []string{"HS-081"}, Level: 3, Strength: Must, plays: []string{"shutdown"},
		Rule: "subscription.close of a producer has the subscription_id, a reason_code and a reason_message", Judge: func(r *Recording) Finding {
			e, over := r.noted(0, noteClosed)
			a, _ := r.answer(0)
			switch list := of(r.all(0, false), "subscription.close"); {
			case len(list) == 0 && over:
				return skipped("the link was closed without subscription.close, so there is none to judge", e)
			case len(list) == 0:
				return unseen("the subscription was not closed")
			case list[0].str("subscription_id") == "" || list[0].str("subscription_id") != a.str("subscription_id"):
				return fail("subscription.close names the subscription "+quoted(list[0].str("subscription_id"))+", which is "+quoted(a.str("subscription_id")), a.Entry, list[0].Entry)
			case list[0].str("reason_code") == "" || list[0].str("reason_message") == "":
				return fail("subscription.close does not say why, in reason_code and reason_message", list[0].Entry)
			default:
				return pass("it is whole", list[0].Entry)
			}
		}},
	{Name: "close-silences", Requirements: []string{"HS-082"}, Level: 3, Strength: Must, plays: []string{"closed"},
		Rule: "nothing comes on a subscription after it was closed", Judge: func(r *Recording) Finding {
			if len(r.events(1)) == 0 {
				return unseen("no event came to the subscriber that stayed")
			}
			if late := r.events(0); len(late) > 0 {
				return fail(short(late[0])+" came on a subscription that had been closed", late[0].Entry)
			}
			return pass("nothing came after the close")
		}},
}

// sent is what the runner said on the first link.
func sent(r *Recording) (list []Entry) {
	for _, m := range r.all(0, true) {
		list = append(list, m.Entry)
	}
	return list[:min(1, len(list))]
}

func accepted(judge func(*Recording, message) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		if a, ok := r.answer(0); ok && a.typ() == "subscription.accepted" {
			return judge(r, a)
		}
		return unseen("the request was not accepted")
	}
}

func rejectedWith(code string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		a, ok := r.answer(0)
		switch {
		case !ok:
			return unseen("no answer came")
		case a.typ() != "subscription.rejected":
			return fail("the request was accepted", append(sent(r), a.Entry)...)
		case a.str("reason_code") != code:
			return fail("the request was rejected with "+quoted(a.str("reason_code")), a.Entry)
		}
		return pass("the request was rejected with "+code, a.Entry)
	}
}

func renegotiated(judge func(r *Recording, a, b message) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		got := of(r.all(0, false), "subscription.accepted", "subscription.rejected")
		switch {
		case len(got) == 0 || got[0].typ() != "subscription.accepted":
			return unseen("the request was not accepted")
		case len(got) == 1:
			return unseen("no answer to the renegotiation came")
		}
		return judge(r, got[0], got[1])
	}
}

// judgeRate counts in every span between two arrivals on a link. What a network held up and delivered together gets a quarter
// of a second (D-49).
func judgeRate(r *Recording) (f Finding) {
	for link := 0; f.Verdict != Fail; link++ {
		if _, ok := r.answer(link); !ok {
			break
		}
		if rate, ok := r.rate(link); ok {
			f = rateOf(r.events(link), rate)
		}
	}
	return f
}

func rateOf(events []message, rate float64) Finding {
	const jitter = 0.25
	var list []message
	for _, m := range events {
		if !m.critical() {
			list = append(list, m)
		}
	}
	most, first := 0, 0 // of one second
	for i := range list {
		for j := i + 1; j < len(list); j++ {
			t := list[j].At.Sub(list[i].At).Seconds()
			n := j - i + 1
			if float64(n) > rate*(t+jitter)+rate {
				return fail(fmt.Sprintf("%d events came within %.2f seconds at a rate of %v", n, t, rate), window(list[i:j+1])...)
			}
			if t < 1 && n > most {
				most, first = n, i
			}
		}
	}
	if len(list) < int(rate)+2 {
		return none(fmt.Sprintf("only %d events came, too few to judge a rate of %v", len(list), rate))
	}
	return pass(fmt.Sprintf("%d events kept to %v a second; the fullest second held %d", len(list), rate, max(most, 1)), window(list[first:first+max(most, 1)])...)
}

// window is what came within a span, each with its time.
func window(list []message) (evidence []Entry) {
	for _, m := range list[:min(len(list), 50)] {
		evidence = append(evidence, m.Entry)
	}
	return evidence
}
