package conformance

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
)

var handshakeRuns = []string{"restricted", "bare", "future-version", "signed-only", "unknown-extension", "no-language",
	"bad-rate", "no-capabilities", "later-version"}

var reasonCodes = []string{"version_unsupported", "manifest_signature_required", "capabilities_incompatible",
	"rate_limit",
	"authentication_required", "authorization_denied", "transport_unavailable", "unknown"} // §5.5.3

var subscriptionID = regexp.MustCompile(`\Asub_[A-Za-z0-9]{1,64}\z`)

// handshakeCases judge answers to requests.
var handshakeCases = []Case{
	{Name: "request-answered", Requirements: []string{"HS-043", "LVL-029"}, Level: 3, Strength: Must,
		plays: handshakeRuns, beside: []string{"bad-requests", "large-request"},
		Rule: "every request is answered with accepted or rejected, once", Judge: func(r *Recording) Finding {
			for link := 1; link < r.linkCount() && len(r.messagesOn(0, true)) > 0; link++ { // of bad-requests, which are many
				_, unsent := r.noteOn(link, noteNoSend)
				_, undialled := r.noteOn(link, noteNoDial)
				if _, ok := r.firstAnswer(link); !ok && !unsent && !undialled {
					return failFinding(fmt.Sprintf("no answer to a request came within %v", patience), sentOn(r, link)...)
				}
			}
			if all := r.exchanges(0); len(all) > 0 && len(all[0].answers) > 1 {
				return failFinding("two answers came to one request", all[0].asked.Entry, all[0].answers[0].Entry,
					all[0].answers[1].Entry)
			}
			if a, ok := r.firstAnswer(0); ok {
				return passFinding("the answer was "+a.compactType(), a.Entry)
			}
			for _, note := range []string{noteNoDial, noteNoSend} {
				if e, ok := r.noteOn(0, note); ok {
					return Finding{Verdict: Inconclusive, Seen: note, Evidence: []Entry{e}}
				}
			}
			return failFinding(fmt.Sprintf("no answer came within %v", patience), sentOn(r, 0)...)
		}},
	{Name: "large-answered", Requirements: []string{"HS-042", "HS-043"}, Level: 3, Strength: Should,
		plays: []string{"large-request"},
		Rule:  "a request of 60 KiB, which is less than an event may have, is accepted", Judge: func(r *Recording) Finding {
			a, ok := r.firstAnswer(0)
			switch {
			case !ok:
				return inconclusiveFinding("no answer came")
			case a.compactType() != "subscription.accepted":
				return failFinding("it was rejected with "+quoteText(a.stringMember("reason_code")), a.Entry)
			}
			return passFinding("it was accepted", a.Entry)
		}},
	{Name: "answer-valid", Requirements: []string{"HS-044", "HS-056", "HS-047"}, Level: 3, Strength: Must,
		plays: handshakeRuns,
		Rule:  "the answer to a request is valid under its schema", Judge: judgeValid, Also: answerRows},
	{Name: "subscription-id", Requirements: []string{"HS-045"}, Level: 3, Strength: Must,
		plays: []string{"restricted", "bare"},
		Rule:  "subscription_id is sub_ and 1 to 64 letters or digits",
		Judge: judgeAcceptance(func(_ *Recording, a message) Finding {
			if id := a.stringMember("subscription_id"); !subscriptionID.MatchString(id) {
				return failFinding("the subscription_id is "+quoteText(id), a.Entry)
			}
			return passFinding("the subscription_id is well formed", a.Entry)
		})},
	{Name: "honors-no-more", Requirements: []string{"HS-053", "HS-049", "HS-050", "HS-051", "HS-052"}, Level: 3,
		Strength: Must, plays: []string{"restricted", "bare", "edges"},
		Rule:  "no honored capability gives more than was asked, defaults included",
		Judge: judgeAcceptance(judgeSubset)},
	{Name: "version-refused", Requirements: []string{"HS-058", "VER-009"}, Level: 3, Strength: Must,
		plays: []string{"future-version", "later-version"},
		Rule:  "a version that nobody speaks is rejected with version_unsupported, or another one is offered in its place, which is none above",
		Judge: func(r *Recording) Finding {
			if a, ok := r.firstAnswer(0); ok && strings.HasPrefix(a.stringMember("aaep_version"), "1.") &&
				a.compactType() == "subscription.accepted" &&
				!isVersionAbove(a.stringMember("aaep_version"), laterVersion) { // §12.5.2
				return passFinding("version "+aaep.SafeText(a.stringMember("aaep_version"))+" was offered in its place", a.Entry)
			}
			return rejectedWith("version_unsupported")(r)
		}},
	{Name: "edges-accepted", Requirements: []string{"HS-012", "HS-037", "HS-006", "HS-023", "I18N-002"}, Level: 3,
		Strength: Must,
		plays:    []string{"edges"},
		Rule:     "values at the edges of what may be asked for are no reason to reject, nor is a language tag in another case",
		Judge: func(r *Recording) Finding {
			a, ok := r.firstAnswer(0)
			switch {
			case !ok:
				return inconclusiveFinding("no answer came")
			case a.compactType() == "subscription.accepted":
				return passFinding("the request was accepted", a.Entry)
			case slices.Contains([]string{"rate_limit", "authentication_required", "authorization_denied"},
				a.stringMember("reason_code")):
				return inconclusiveFinding("the request was not accepted")
			}
			return failFinding("a request that is valid was rejected with "+quoteText(a.stringMember("reason_code")),
				append(sentOn(r, 0), a.Entry)...)
		}},
	{Name: "signature-demanded", Requirements: []string{"HS-040"}, Level: 3, Strength: Must,
		plays: []string{"signed-only"},
		Rule:  "who demands a signed manifest gets it in signed_manifest of the acceptance, or is rejected with manifest_signature_required", Judge: func(r *Recording) Finding {
			a, ok := r.firstAnswer(0)
			if ok && a.compactType() == "subscription.accepted" {
				if parts := strings.Split(a.stringMember("signed_manifest"), "."); len(parts) != 3 ||
					slices.Contains(parts, "") {
					return failFinding("a subscriber that demands a signed manifest was accepted, and signed_manifest is no compact JWS or not there", a.Entry)
				}
				return passFinding("a signed manifest came; its signature was not verified here", a.Entry)
			}
			return rejectedWith("manifest_signature_required")(r)
		}},
	{Name: "unknown-extension", Requirements: []string{"HS-042"}, Level: 3, Strength: Must,
		plays: []string{"unknown-extension"},
		Rule:  "an unknown extension capability is no reason to reject", Judge: func(r *Recording) Finding {
			a, ok := r.firstAnswer(0)
			switch {
			case !ok:
				return inconclusiveFinding("no answer came")
			case a.compactType() != "subscription.accepted":
				return failFinding("a request with an unknown extension was rejected with "+
					quoteText(a.stringMember("reason_code")), a.Entry)
			}
			return passFinding("the request was accepted", a.Entry)
		}},
	{Name: "unknown-not-honored", Requirements: []string{"EXT-015"}, Level: 3, Strength: Must,
		plays: []string{"unknown-extension"},
		Rule:  "an extension that nobody knows is not honored",
		Judge: judgeAcceptance(func(r *Recording, a message) Finding {
			if _, there := honoredTerms(r, 0)["zzz"]; there ||
				slices.Contains(honoredList(r, 0, "supported_extensions"), unknownURI) {
				return failFinding("an extension that nobody knows is honored", append(sentOn(r, 0), a.Entry)...)
			}
			return passFinding("it is not honored", a.Entry)
		})},
	{Name: "version-agreed", Requirements: []string{"VER-009", "HS-092"}, Level: 3, Strength: Must,
		plays: []string{"restricted", "bare"},
		Rule:  "an accepted request names a version that both speak",
		Judge: judgeAcceptance(func(_ *Recording, a message) Finding {
			version := a.stringMember("aaep_version")
			if major, _, _ := strings.Cut(version, "."); major != "1" || isVersionAbove(version, aaep.Version) {
				return failFinding("version "+aaep.Version+" was asked for, and "+quoteText(version)+" accepted",
					a.Entry)
			}
			return passFinding("the version is "+aaep.SafeText(a.stringMember("aaep_version")), a.Entry)
		})},
	{Name: "language-unknown", Requirements: []string{"HS-050", "I18N-006"}, Level: 3, Strength: Must,
		plays: []string{"no-language"},
		Rule:  "no language is honored that was not asked for", Judge: func(r *Recording) Finding {
			a, ok := r.firstAnswer(0)
			switch {
			case !ok:
				return inconclusiveFinding("no answer came")
			case a.compactType() == "subscription.rejected" &&
				a.stringMember("reason_code") != "capabilities_incompatible":
				return failFinding("a language that cannot be served was rejected with "+
					quoteText(a.stringMember("reason_code")), a.Entry)
			}
			for _, tag := range honoredList(r, 0, "languages") {
				if !strings.HasPrefix(tag, "tlh") {
					return failFinding("the language "+quoteText(tag)+" is honored where only tlh was asked for",
						a.Entry)
				}
			}
			return passFinding("no other language was made a term", a.Entry)
		}},
	{Name: "invalid-refused", Requirements: []string{"HS-012", "HS-007"}, Level: 3, Strength: Must,
		plays: []string{"bad-rate", "no-capabilities", "bad-requests"},
		Rule:  "a request that is not valid is rejected", Judge: func(r *Recording) Finding {
			for link := 1; link < r.linkCount(); link++ {
				if a, ok := r.firstAnswer(link); ok && a.compactType() != "subscription.rejected" {
					asked := r.messagesOn(link, true)[0]
					return failFinding("a request "+invalidRequests[link].What+" was accepted", asked.Entry, a.Entry)
				}
			}
			a, ok := r.firstAnswer(0)
			switch {
			case !ok:
				return inconclusiveFinding("no answer came")
			case a.compactType() != "subscription.rejected":
				return failFinding("a request that is not valid was accepted", append(sentOn(r, 0), a.Entry)...)
			}
			return passFinding("it was rejected with "+quoteText(a.stringMember("reason_code")), a.Entry)
		}},
	{Name: "reason-codes", Requirements: []string{"HS-057"}, Level: 3, Strength: Must, plays: handshakeRuns,
		Rule: "reason_code is one of the eight listed codes", Judge: func(r *Recording) Finding {
			a, ok := r.firstAnswer(0)
			switch {
			case !ok || a.compactType() != "subscription.rejected":
				return nothingToJudge("nothing was rejected")
			case !slices.Contains(reasonCodes, a.stringMember("reason_code")):
				return failFinding("the reason_code is "+quoteText(a.stringMember("reason_code")), a.Entry)
			}
			return passFinding("the reason_code is "+a.stringMember("reason_code"), a.Entry)
		}},
}

// extensionsHonored returns the case of a target that is said to support the extensions with these
// URIs: a subscriber asks for all, and each must be honored. allCases adds it.
func extensionsHonored(uris []string) Case {
	return Case{Name: "extensions-honored", Requirements: []string{"EXT-015", "EXT-002"}, Level: 3, Strength: Must,
		Rule: "a supported extension that is asked for is honored, and events with its data are valid",
		Play: &Play{Does: "a subscriber asks for the extensions that the target is said to support",
			Scenario:     Scenario{Name: Tools},
			Capabilities: object{"supported_extensions": uris}},
		Judge: judgeAcceptance(func(r *Recording, a message) Finding {
			for _, uri := range uris {
				if !slices.Contains(honoredList(r, 0, "supported_extensions"), uri) {
					return failFinding("the extension "+quoteText(uri)+" was asked for and is not honored",
						append(sentOn(r, 0), a.Entry)...)
				}
			}
			if f := judgeValid(r); f.Verdict == Fail {
				return f
			}
			return passFinding("all that was asked for is honored", a.Entry)
		})}
}

// termsCases judge whether what was agreed is kept.
var termsCases = []Case{
	{Name: "rate-kept", Requirements: []string{"HS-013", "HS-064", "EVT-037", "LVL-030", "LVL-034"}, Level: 3,
		Strength: Must, plays: []string{"rate", "again", "beside-slow", "slow-fail"},
		Rule:  "in no span of t seconds come more than rate times t, and rate, events that are not critical",
		Judge: judgeRate},
	{Name: "tools-not-merged", Requirements: []string{"LVL-007", "LVL-034"}, Level: 3, Strength: Must,
		plays: []string{"slow-tools"},
		Rule:  "a rate keeps back neither the beginning nor the end of a tool", Judge: func(r *Recording) Finding {
			if all := r.eventsOn(0); len(all) > 0 && len(ofTypes(all, invoked)) == 0 && all[len(all)-1].isTerminal() {
				return failFinding("a session with a tool came to its end without tool.invoked, at a rate of 2 a second", all[len(all)-1].Entry)
			}
			return eachSession(judgePairs)(r)
		}},
	{Name: "default-filter", Requirements: []string{"HS-026"}, Level: 3, Strength: Must, plays: wholeRuns,
		Rule: "without filters come the events of aaep:agent, and no others", Judge: eachEvent(func(m message) string {
			if !strings.HasPrefix(m.compactType(), "aaep:agent.") {
				return quoteText(m.compactType()) + " came to a subscriber that did not ask for it"
			}
			return ""
		})},
	{Name: "verbosity-labelled", Requirements: []string{"HS-016"}, Level: 3, Strength: Should,
		plays: []string{"verbosity"}, beside: []string{"still-filtered"},
		Rule: "an event says the verbosity that was agreed, or normal where it has no words of that one", Judge: func(r *Recording) Finding {
			n := 0
			for link := range r.linkCount() {
				for _, m := range r.eventsOn(link) {
					agreed, _ := r.termsAt(link, m.index)["preferred_verbosity"].(string)
					n++
					said, lacks := cmp.Or(m.stringMember("verbosity"), "normal"), m.stringMember("summary_"+agreed) == ""
					if agreed != "" && said != agreed && !(said == "normal" && lacks) {
						return failFinding(shortName(m)+" says "+quoteText(said)+" where "+quoteText(agreed)+" was agreed",
							m.Entry)
					}
				}
			}
			return passIfAny(n, "events said the verbosity that was agreed")
		}},
	{Name: "verbosity-words-only", Requirements: []string{"TERM-007"}, Level: 3, Strength: Must,
		plays: []string{"verbosity"},
		Rule:  "whoever wants few words gets the same events as whoever wants many", Judge: func(r *Recording) Finding {
			a, b := r.eventsOn(0), r.eventsOn(1)
			if len(a) == 0 || len(b) == 0 {
				return inconclusiveFinding("no event came")
			}
			for i := range max(len(a), len(b)) {
				switch {
				case i >= len(a):
					return failFinding(shortName(b[i])+" did not come to the subscriber that wants few words",
						b[i].Entry)
				case i >= len(b) || a[i].compactType() != b[i].compactType():
					return failFinding("the subscriber that wants many words did not get "+shortName(a[i]), a[i].Entry)
				}
			}
			return passFinding(fmt.Sprintf("both got the same %d events", len(a)), a[0].Entry, b[0].Entry)
		}},
	{Name: "filters-kept", Requirements: []string{"HS-029", "HS-028", "HS-027", "HS-055"}, Level: 3, Strength: Must,
		plays:  []string{"filtered", "included", "filtered-fail", "literal", "still-filtered"},
		beside: []string{"filtered-ask", "filtered-question"},
		Rule:   "an excluded event does not come unless it is critical", Judge: func(r *Recording) Finding {
			a, ok := r.firstAnswer(0)
			if !ok || a.compactType() != "subscription.accepted" {
				return inconclusiveFinding("the request was not accepted")
			}
			n := 0
			for _, m := range r.eventsOn(0) {
				n++
				asked, _ := requestedCapabilities(r, 0)["event_filters"].(object)
				if !m.isCritical() && !passesFilters(asked, m.compactType()) {
					return failFinding(shortName(m)+" came although it is excluded", sentOn(r, 0)[0], m.Entry)
				}
			}
			return passIfAny(n, "events came, none of them excluded")
		}},
	{Name: "urgency-honest", Requirements: []string{"HS-055", "HS-013"}, Level: 3, Strength: Must,
		plays: []string{"rate", "filtered"},
		Rule:  "what is not critical to a subscriber without terms is not called critical to one with a rate or filters", Judge: func(r *Recording) Finding {
			for _, m := range r.eventsOn(0) {
				usual := r.before["urgency normal "+m.compactType()] || r.before["urgency background "+m.compactType()]
				if usual && m.stringMember("urgency") == "critical" && !r.before["urgency critical "+m.compactType()] {
					return failFinding(shortName(m)+
						" is called critical to a subscriber with terms, and was not to others",
						append(sentOn(r, 0), m.Entry)...)
				}
			}
			return passIfAny(len(r.eventsOn(0)), "events have the urgency that they have without terms")
		}},
	{Name: "included-come", Requirements: []string{"HS-027"}, Level: 3, Strength: Must,
		plays: []string{"included", "literal"},
		Rule:  "an event of a type that is included comes",
		Judge: judgeAcceptance(func(r *Recording, a message) Finding {
			asked, _ := requestedCapabilities(r, 0)["event_filters"].(object)
			for _, typ := range []string{started, invoked, completed} {
				if passesFilters(asked, typ) && len(ofTypes(r.eventsOn(0), typ)) == 0 && r.DriverErr == nil {
					return failFinding("a subscriber that includes "+quoteText(typ)+
						" got none from a session with a tool", append(sentOn(r, 0), a.Entry)...)
				}
			}
			return passFinding("what was included came", a.Entry)
		})},
	{Name: "critical-through-filters", Requirements: []string{"HS-062", "HS-014"}, Level: 3, Strength: Must,
		plays: []string{"filtered-fail", "filtered-ask", "filtered-question", "filtered-handoff"},
		Rule:  "errors and questions come whatever is excluded and whatever the rate",
		Judge: func(r *Recording) Finding {
			want := criticalOf[r.Scenario.Name]
			got := ofTypes(r.messagesOn(0, false), want)
			if a, ok := r.firstAnswer(0); !ok || a.compactType() != "subscription.accepted" {
				return inconclusiveFinding("the request was not accepted")
			}
			switch {
			case len(got) == 0 && r.DriverErr != nil:
				return inconclusiveFinding("nothing was there to come through")
			case len(got) == 0 && rightsToReply[want] != "" && !r.before["type "+want]: // in no scenario run
				return inconclusiveFinding(neverAsked)
			}
			if len(got) == 0 {
				return failFinding(fmt.Sprintf("a subscriber that excludes everything got no %s",
					strings.TrimPrefix(want, "aaep:agent.")), sentOn(r, 0)...)
			}
			return passFinding(shortName(got[0])+" came through the filter", got[0].Entry)
		}},
	{Name: "critical-at-once", Requirements: []string{"HS-067", "LVL-034", "HS-014"}, Level: 3, Strength: Must,
		plays: []string{"slow-fail"}, beside: []string{"filtered-ask", "filtered-question", "filtered-handoff"},
		Rule: "an error, a question or a handoff does not wait for the rate", Judge: judgeNotQueued},
	{Name: "renegotiation-answered", Requirements: []string{"HS-073"}, Level: 3, Strength: Must,
		plays: []string{"renegotiate", "still-filtered"},
		Rule:  "each renegotiation is answered with accepted or rejected, once", Judge: func(r *Recording) Finding {
			a, ok := r.firstAnswer(0)
			if !ok || a.compactType() != "subscription.accepted" {
				return inconclusiveFinding("the request was not accepted")
			}
			last := nothingToJudge("nothing was renegotiated")
			for _, e := range r.renegotiations(0) {
				switch b := e.answer(); {
				case len(e.answers) == 0:
					return failFinding(fmt.Sprintf("no answer to a renegotiation came within %v", patience),
						e.asked.Entry)
				case len(e.answers) > 1:
					return failFinding("two answers came to one renegotiation", e.asked.Entry, b.Entry,
						e.answers[1].Entry)
				case b.compactType() == "subscription.accepted" &&
					b.stringMember("subscription_id") != a.stringMember("subscription_id"):
					return failFinding("the answer to a renegotiation names another subscription", a.Entry, b.Entry)
				default:
					last = passFinding("the answer was "+b.compactType(), b.Entry)
				}
			}
			return last
		}},
	{Name: "renegotiation-keeps", Requirements: []string{"HS-075", "HS-049"}, Level: 3, Strength: Must,
		plays: []string{"renegotiate", "slow-tools", "still-filtered", "midway",
			"gained"}, beside: []string{"languages"},
		Rule: "what a renegotiation names is honored up to what was asked, and the rest keeps its value",
		Judge: judgeRenegotiation(func(r *Recording, a, b message) Finding {
			if b.compactType() != "subscription.accepted" {
				return inconclusiveFinding("the renegotiation was rejected")
			}
			was, before := termsOf(requestedCapabilities(r, 0), a.objectMember("honored_capabilities")), a
			for _, e := range r.renegotiations(0) {
				if b = e.answer(); b.compactType() != "subscription.accepted" {
					break
				}
				named := e.asked.objectMember("capabilities")
				asked := withMembers(was, named)
				is := termsOf(asked, b.objectMember("honored_capabilities"))
				for _, name := range []string{"languages", "coalesce_boundaries", "supports_confirmation_reply",
					"supports_clarification_reply"} {
					if _, changes := named[name]; !changes && fmt.Sprint(was[name]) != fmt.Sprint(is[name]) {
						return failFinding("a renegotiation that did not name it changed "+name, before.Entry, b.Entry)
					}
				}
				if f := judgeSubsetOf(asked, is, before.Entry, b.Entry); f.Verdict == Fail {
					return f
				}
				was, before = is, b
			}
			return passFinding("only what was named changed", a.Entry, before.Entry)
		})},
	{Name: "renegotiation-governs", Requirements: []string{"HS-076"}, Level: 3, Strength: Must,
		plays: []string{"renegotiate", "midway"},
		Rule:  "events after the answer obey the new filters, also in a session that had begun",
		Judge: judgeRenegotiation(func(r *Recording, _, b message) Finding {
			filters, _ := r.renegotiatedTerms()["event_filters"].(object)
			all := r.eventsOn(0)
			for _, m := range all {
				if m.index > b.index && !m.isCritical() && !passesFilters(filters, m.compactType()) {
					return failFinding(shortName(m)+" came although the new terms exclude it", b.Entry, m.Entry)
				}
			}
			return passIfAny(len(all), "events obeyed the new terms")
		})},
	{Name: "new-rate-kept", Requirements: []string{"HS-076", "HS-075", "HS-013"}, Level: 3, Strength: Must,
		plays: []string{"slower"}, beside: []string{"midway", "slow-tools"},
		Rule: "a rate that was renegotiated is kept from the answer on, and one that was not stays",
		Judge: judgeRenegotiation(func(r *Recording, a, b message) Finding {
			if b.compactType() != "subscription.accepted" {
				return inconclusiveFinding("the renegotiation was rejected")
			}
			rate, ok := r.renegotiatedTerms()["max_events_per_second"].(float64)
			if !ok {
				rate, _ = r.agreedRate(0)
			}
			after := slices.DeleteFunc(r.eventsOn(0), func(m message) bool { return m.index < b.index })
			return judgeRateOf(after, rate)
		})},
	{Name: "bad-terms-refused", Requirements: []string{"HS-073", "HS-012"}, Level: 3, Strength: Must,
		plays: []string{"bad-terms"},
		Rule:  "a renegotiation that is not valid is not accepted, and where it is rejected the subscription is over",
		Judge: func(r *Recording) (f Finding) {
			f = inconclusiveFinding("the request was not accepted")
			for link := range r.linkCount() {
				all, late := r.renegotiations(link), r.eventsOn(link)
				if a, ok := r.firstAnswer(link); !ok || a.compactType() != "subscription.accepted" || len(all) == 0 {
					continue
				}
				switch b := all[0].answer(); {
				case b.compactType() == "subscription.accepted":
					return failFinding("a renegotiation that is not valid was accepted", all[0].asked.Entry, b.Entry)
				case len(all[0].answers) > 0 && len(late) > 0:
					return failFinding(shortName(late[0])+" came on a subscription whose renegotiation was rejected",
						b.Entry,
						late[0].Entry)
				}
				f = passFinding("it was not accepted", all[0].asked.Entry)
			}
			return f
		}},
	{Name: "no-terms-no-events", Requirements: []string{"TERM-015"}, Level: 3, Strength: Must,
		plays: []string{"turned-away"},
		Rule:  "who was rejected gets no events, whatever it asked for", Judge: func(r *Recording) Finding {
			a, ok := r.firstAnswer(0)
			switch late := r.eventsOn(0); {
			case len(late) > 0 && (!ok || a.compactType() != "subscription.accepted"):
				return failFinding(shortName(late[0])+" came to a subscriber that was never accepted",
					append(sentOn(r, 0), late[0].Entry)...)
			case !ok || a.compactType() != "subscription.rejected":
				return inconclusiveFinding("nobody was rejected")
			case len(r.eventsOn(1)) == 0:
				return inconclusiveFinding("no event came to the subscriber that was accepted")
			}
			return passFinding("nothing came to the subscriber that was rejected", a.Entry)
		}},
	{Name: "close-announced", Requirements: []string{"HS-079"}, Level: 3, Strength: Should, plays: []string{"shutdown"},
		Rule: "a producer that ends says subscription.close before the link is closed",
		Judge: func(r *Recording) Finding {
			last := inconclusiveFinding("the subscription was not closed")
			for link := range r.linkCount() {
				list := ofTypes(r.messagesOn(link, false), "subscription.close")
				if e, over := r.noteOn(link, noteClosed); over && len(list) == 0 {
					return failFinding(fmt.Sprintf("the link of subscriber %d was closed without subscription.close",
						link+1), e)
				} else if len(list) > 0 {
					last = passFinding("subscription.close came", list[0].Entry)
				}
			}
			return last
		}},
	{Name: "close-whole", Requirements: []string{"HS-081"}, Level: 3, Strength: Must, plays: []string{"shutdown"},
		Rule: "subscription.close of a producer has the subscription_id, a reason_code and a reason_message",
		Judge: func(r *Recording) Finding {
			e, over := r.noteOn(0, noteClosed)
			a, _ := r.firstAnswer(0)
			switch list := ofTypes(r.messagesOn(0, false), "subscription.close"); {
			case len(list) == 0 && over:
				return skippedFinding("the link was closed without subscription.close, so there is none to judge", e)
			case len(list) == 0:
				return inconclusiveFinding("the subscription was not closed")
			case list[0].stringMember("subscription_id") == "" ||
				list[0].stringMember("subscription_id") != a.stringMember("subscription_id"):
				return failFinding("subscription.close names the subscription "+
					quoteText(list[0].stringMember("subscription_id"))+", which is "+
					quoteText(a.stringMember("subscription_id")), a.Entry, list[0].Entry)
			case list[0].stringMember("reason_code") == "" || list[0].stringMember("reason_message") == "":
				return failFinding("subscription.close does not say why, in reason_code and reason_message",
					list[0].Entry)
			default:
				return passFinding("it is whole", list[0].Entry)
			}
		}},
	{Name: "close-silences", Requirements: []string{"HS-082"}, Level: 3, Strength: Must, plays: []string{"closed"},
		beside: []string{"hang", "one-leaves", "left", "shutdown"},
		Rule:   "nothing comes on a subscription after it was closed, by whichever side, also in a session that had begun",
		Judge: func(r *Recording) Finding {
			for link := range r.linkCount() {
				for _, bye := range ofTypes(r.messagesOn(link, false), "subscription.close") {
					for _, m := range r.messagesOn(link, false) {
						if m.index > bye.index {
							return failFinding(quoteText(m.compactType())+" came on a subscription that the producer had closed",
								bye.Entry, m.Entry)
						}
					}
				}
				for _, bye := range ofTypes(r.messagesOn(link, true), "subscription.close") {
					for _, m := range r.eventsOn(link) {
						if m.At.Sub(bye.At) > settle { // what was on its way may come
							return failFinding(shortName(m)+" came on a subscription that had been closed", bye.Entry,
								m.Entry)
						}
					}
				}
			}
			if len(r.eventsOn(1)) == 0 {
				return inconclusiveFinding("no event came to the subscriber that stayed")
			}
			return passFinding("nothing came after the close")
		}},
}

// criticalOf is the critical event that a scenario is about.
var criticalOf = map[string]string{Errored: errored, Ask: confirm, Clarify: clarify, Handoff: handoff}

// judgeNotQueued compares when what is critical came to the subscriber with a low rate, and when
// the same, or the state of a question, came to the one without. More than a second between the two
// fails.
func judgeNotQueued(r *Recording) Finding {
	slowLink, typ := 0, criticalOf[r.Scenario.Name]
	if typ == errored {
		slowLink = 1
	}
	late := ofTypes(r.eventsOn(slowLink), typ)
	seen := ofTypes(r.eventsOn(1-slowLink), typ)
	if rightsToReply[typ] != "" { // the other one cannot be asked
		seen = slices.DeleteFunc(ofTypes(r.eventsOn(1), state),
			func(m message) bool { return m.stringMember("to_state") != "awaiting_input" })
	}
	switch {
	case len(seen) == 0:
		return inconclusiveFinding("no " + strings.TrimPrefix(typ, "aaep:agent.") + " came")
	case len(late) == 0 && typ != errored:
		return nothingToJudge("it never came") // which is for the case of filters
	case len(late) == 0:
		return failFinding("the subscriber with a low rate never got "+strings.TrimPrefix(typ, "aaep:agent."),
			seen[0].Entry)
	case late[0].At.Sub(seen[0].At) > time.Second:
		return failFinding(fmt.Sprintf("%s came %v later to a subscriber with a low rate", shortName(late[0]),
			late[0].At.Sub(seen[0].At).Round(time.Millisecond)), seen[0].Entry, late[0].Entry)
	}
	return passFinding(shortName(late[0])+" came at once to both", seen[0].Entry, late[0].Entry)
}

// judgeAcceptance judges the acceptance of the first link; without one the case is inconclusive.
func judgeAcceptance(judge func(*Recording, message) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		if a, ok := r.firstAnswer(0); ok && a.compactType() == "subscription.accepted" {
			return judge(r, a)
		}
		return inconclusiveFinding("the request was not accepted")
	}
}

// rejectedWith returns a judge that the first request was rejected with a reason code. An
// acceptance fails; no answer is inconclusive.
func rejectedWith(code string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		a, ok := r.firstAnswer(0)
		switch {
		case !ok:
			return inconclusiveFinding("no answer came")
		case a.compactType() != "subscription.rejected":
			return failFinding("the request was accepted", append(sentOn(r, 0), a.Entry)...)
		case a.stringMember("reason_code") != code:
			return failFinding("the request was rejected with "+quoteText(a.stringMember("reason_code")), a.Entry)
		}
		return passFinding("the request was rejected with "+code, a.Entry)
	}
}

// renegotiatedTerms returns what the first renegotiation on the first link asked for; nil where
// there was none.
func (r *Recording) renegotiatedTerms() object {
	for _, m := range ofTypes(r.messagesOn(0, true), "subscription.renegotiate") {
		return m.objectMember("capabilities")
	}
	return nil
}

// judgeRenegotiation makes a judge of a recording of a judge of the acceptance on the first link
// and of the answer to the renegotiation that followed. Without both it is inconclusive.
func judgeRenegotiation(judge func(r *Recording, a, b message) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		all := r.exchanges(0)
		switch {
		case len(all) == 0 || all[0].answer().compactType() != "subscription.accepted":
			return inconclusiveFinding("the request was not accepted")
		case len(all) == 1:
			return inconclusiveFinding(neverAsked) // where it was to renegotiate while a question was open
		case len(all[1].answers) == 0:
			return inconclusiveFinding("no answer to the renegotiation came")
		}
		return judge(r, all[0].answer(), all[1].answer())
	}
}

// judgeRate judges whether more events came on a link, in any span between two arrivals, than the
// agreed rate allows. A quarter of a second is allowed for what a network delivers together (D-49).
// Without an agreed rate the finding is the zero one.
func judgeRate(r *Recording) (f Finding) {
	for link := 0; f.Verdict != Fail; link++ {
		if _, ok := r.firstAnswer(link); !ok {
			break
		}
		if rate, ok := r.agreedRate(link); ok {
			f = judgeRateOf(r.eventsOn(link), rate)
		}
	}
	return f
}

// judgeRateOf judges that, of events that are not critical, no span of t seconds has more than rate
// times t, and rate, with some jitter of the link allowed for. Fewer events than the rate and two
// are too few to judge.
func judgeRateOf(events []message, rate float64) Finding {
	const jitter = 0.25
	var list []message
	for _, m := range events {
		if !m.isCritical() {
			list = append(list, m)
		}
	}
	most, first := 0, 0 // of one second
	for i := range list {
		for j := i + 1; j < len(list); j++ {
			t := list[j].At.Sub(list[i].At).Seconds()
			n := j - i + 1
			if float64(n) > rate*(t+jitter)+rate {
				return failFinding(fmt.Sprintf("%d events came within %.2f seconds at a rate of %v", n, t, rate),
					windowEvidence(list[i:j+1])...)
			}
			if t < 1 && n > most {
				most, first = n, i
			}
		}
	}
	if len(list) < int(rate)+2 {
		return nothingToJudge(fmt.Sprintf("only %d events came, too few to judge a rate of %v", len(list), rate))
	}
	return passFinding(fmt.Sprintf("%d events kept to %v a second; the fullest second held %d", len(list), rate,
		max(most, 1)), windowEvidence(list[first:first+max(most, 1)])...)
}

// windowEvidence returns the entries of messages, fifty at most, as evidence.
func windowEvidence(list []message) (evidence []Entry) {
	for _, m := range list[:min(len(list), 50)] {
		evidence = append(evidence, m.Entry)
	}
	return evidence
}
