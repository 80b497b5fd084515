package conformance

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// unspokenLanguage is a language that no agent has words in: Klingon.
const unspokenLanguage = "tlh"

// fewLetters may be the same in two languages, as a name is.
const fewLetters = 12

// manyLanguages are what a subscriber asks for that wants to know which languages an agent has.
var manyLanguages = []string{"en", "es", "fr", "de", "ar", "yo", "zh", "ja", "pt", "hi", "ru", "sw", "ha", "am", "it",
	"nl", "pl", "tr", "ko", "vi", "fi", "sv",
	"uk", "fa", "he", "id", "ta", "th", "bn", "ur", "el", "cs"}

// languageRuns are those that are about several languages, and about several ways to one agent.
var languageRuns = []scenarioRun{
	{"languages", "a subscriber follows a tool that hangs, in the first of the agent's languages, and meanwhile asks for the second; two more want the second, one after a language that nobody has, the other of a region that is none",
		Scenario{Name: Hang, TimeoutSeconds: shortly}, 3, func(h *producerHarness) {
			l := h.subscribeLink(withMembers(usualCapabilities(), object{"languages": manyLanguages}))
			has := servedLanguages(h.recorder.snapshot())
			if len(has) < 2 {
				return // there is nothing to choose
			}
			h.subscribeLink(withMembers(usualCapabilities(), object{"languages": []string{unspokenLanguage, has[1]}}))
			h.subscribeLink(withMembers(usualCapabilities(), object{"languages": []string{has[1] + "-ZZ", has[0]}}))
			h.startScenario()
			if _, ok := h.awaitEvent(l, slow, invoked, completed, errored, cancelled); ok {
				l.sendObject(object{"type": "subscription.renegotiate", "subscription_id": l.id,
					"capabilities": object{"languages": []string{has[1], has[0]}}})
				l.awaitAnswer()
			}
			h.awaitSessionEnd(l, slow)
		}},
	{"ways", "the same request is made on each way to the agent that is known",
		Scenario{}, 3, func(h *producerHarness) {
			req := requestMessage(withMembers(usualCapabilities(),
				object{"max_events_per_second": 3, "preferred_verbosity": "terse"}))
			h.sendRequest(req)
			for _, other := range h.run.OtherWays {
				h.sendRequestBy(other, req)
			}
		}},
}

// servedLanguages returns the languages that the first subscriber's terms grant, best first, each
// once.
func servedLanguages(r *Recording) (tags []string) {
	for _, tag := range honoredList(r, 0, "languages") {
		if !slices.ContainsFunc(tags, func(t string) bool { return isSameLanguage(t, tag) }) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// isSameLanguage reports whether two tags are of one language, wherever it is spoken.
func isSameLanguage(a, b string) bool {
	a, _, _ = strings.Cut(a, "-")
	b, _, _ = strings.Cut(b, "-")
	return strings.EqualFold(a, b)
}

// primaryLanguage returns the language tag of the localization hints, or "".
func (m message) primaryLanguage() string {
	tag, _ := m.objectMember("localization_hints")["primary_language"].(string)
	return tag
}

// textsForPeople returns what people read of the message, but for the text of outputs and what is
// so short that it may be a name.
func (m message) textsForPeople() (list []string) {
	for _, name := range []string{"summary_normal", "summary_terse", "summary_detailed", "action", "consequence",
		"question"} {
		if text := strings.TrimSpace(m.stringMember(name)); len([]rune(text)) >= fewLetters {
			list = append(list, text)
		}
	}
	return list
}

// wordsKey is how it is kept that words came in a language.
func wordsKey(tag, words string) string {
	tag, _, _ = strings.Cut(strings.ToLower(tag), "-")
	return "words " + tag + " " + words
}

// judgeWordsKnown fails where the words of an event are in a wrong language: in an earlier scenario
// run they came in the other of the two languages, and never in the one that the event has. The
// zero Finding is no failure.
func judgeWordsKnown(r *Recording, t languageReception) Finding {
	for _, link := range t.links {
		for _, m := range link {
			for _, other := range []string{t.first, t.second} {
				for _, words := range m.textsForPeople() {
					if !isSameLanguage(m.primaryLanguage(), other) && r.before[wordsKey(other, words)] &&
						!r.before[wordsKey(m.primaryLanguage(), words)] {
						return failFinding(fmt.Sprintf("%s has words in %s that came in %s before", shortName(m),
							quoteText(m.primaryLanguage()), quoteText(other)), m.Entry)
					}
				}
			}
		}
	}
	return Finding{}
}

// languageReception is what each of the three subscribers was told, by event id.
type languageReception struct {
	first, second string // the languages
	links         [3]map[string]message
	order         []string // of the first link's events
	switched      message  // the answer to its renegotiation
}

// receivedIn returns the event with this id as some subscriber received it in a language; false
// where none did.
func (t languageReception) receivedIn(eventID, language string) (message, bool) {
	for _, link := range t.links {
		if m, ok := link[eventID]; ok && isSameLanguage(m.primaryLanguage(), language) {
			return m, true
		}
	}
	return message{}, false
}

// inLanguages makes a judge of a recording of a judge of what came in two languages. For an agent
// that has one the case is skipped; where no event came in both it is inconclusive.
func inLanguages(judge func(r *Recording, t languageReception) Finding) func(*Recording) Finding {
	return judgeAcceptance(func(r *Recording, a message) Finding {
		has := servedLanguages(r)
		if len(has) < 2 {
			return skippedFinding("the agent has one language, so there was nothing to choose", a.Entry)
		}
		t := languageReception{first: has[0], second: has[1]}
		for link := range t.links {
			t.links[link] = map[string]message{}
			for _, m := range r.eventsOn(link) {
				id := m.stringMember("event_id")
				t.links[link][id] = m
				if link == 0 {
					t.order = append(t.order, id)
				}
			}
		}
		if all := r.renegotiations(0); len(all) > 0 && all[0].answer().compactType() == "subscription.accepted" {
			t.switched = all[0].answer()
		}
		if !slices.ContainsFunc(t.order, func(id string) bool {
			_, a := t.receivedIn(id, t.first)
			_, b := t.receivedIn(id, t.second)
			return a && b
		}) {
			return inconclusiveFinding(fmt.Sprintf("the agent honors %s and %s, and told no event in both; say what the scenario makes it say in each", quoteText(t.first), quoteText(t.second)))
		}
		return judge(r, t)
	})
}

var languageCases = []Case{
	{Name: "language-chosen", Requirements: []string{"I18N-004"}, Level: 3, Strength: Must,
		plays: []string{"languages"},
		Rule:  "an event comes in the first of the subscriber's languages that it is told in to anybody; a language that nobody has is passed over, and of one without regions the region makes no difference",
		Judge: inLanguages(func(r *Recording, t languageReception) Finding {
			for _, id := range t.order {
				for link, want := range []string{t.first, t.second, t.second} {
					m, here := t.links[link][id]
					better, there := t.receivedIn(id, want)
					switch {
					case !here || !there || isSameLanguage(m.primaryLanguage(), want):
					case link == 0 && t.switched.Data != nil && m.index > t.switched.index: // it wants another by then
					case link == 2 && strings.Contains(better.primaryLanguage(),
						"-"): // whether another region serves is left open
					default:
						asked := r.messagesOn(link, true)[0]
						return failFinding(fmt.Sprintf("%s came in %s to who wants %s, in which another got it",
							shortName(m), quoteText(m.primaryLanguage()), quoteText(want)), asked.Entry, m.Entry,
							better.Entry)
					}
				}
			}
			return passFinding("each event came in the first language that there is", t.links[1][t.order[0]].Entry)
		})},
	{Name: "language-true", Requirements: []string{"I18N-001", "I18N-006"}, Level: 3, Strength: Must,
		plays: []string{"languages"},
		Rule:  "an event that is told in two languages has other words in each",
		Judge: inLanguages(func(r *Recording, t languageReception) Finding {
			if f := judgeWordsKnown(r, t); f.Verdict == Fail {
				return f
			}
			var shown []Entry
			for _, id := range t.order {
				a, first := t.receivedIn(id, t.first)
				b, second := t.receivedIn(id, t.second)
				if !first || !second {
					continue
				}
				for _, words := range a.textsForPeople() {
					if slices.Contains(b.textsForPeople(), words) {
						return failFinding(fmt.Sprintf("%s has the same words in %s as in %s", shortName(a),
							quoteText(b.primaryLanguage()), quoteText(a.primaryLanguage())), a.Entry, b.Entry)
					}
				}
				if len(a.textsForPeople()) > 0 && len(b.textsForPeople()) > 0 {
					shown = []Entry{a.Entry, b.Entry}
				}
			}
			if shown == nil {
				return inconclusiveFinding(fmt.Sprintf("no event with words of %d letters or more came in both languages", fewLetters))
			}
			return passFinding("the words differ", shown...)
		})},
	{Name: "language-switched", Requirements: []string{"I18N-009"}, Level: 3, Strength: Must,
		plays: []string{"languages"},
		Rule:  "after a renegotiation to another language, events come in that, if they are told in it to anybody",
		Judge: inLanguages(func(r *Recording, t languageReception) Finding {
			if t.switched.Data == nil {
				return inconclusiveFinding("the renegotiation was not accepted")
			}
			var after []message
			for _, id := range t.order {
				m := t.links[0][id]
				if better, there := t.receivedIn(id, t.second); m.index < t.switched.index || !there {
					continue
				} else if !isSameLanguage(m.primaryLanguage(), t.second) {
					return failFinding(fmt.Sprintf("%s came in %s after %s was agreed, in which another got it",
						shortName(m), quoteText(m.primaryLanguage()), quoteText(t.second)), t.switched.Entry, m.Entry,
						better.Entry)
				}
				after = append(after, m)
			}
			return passIfAny(len(after), "events came in the language of the new terms")
		})},
	{Name: "untranslated-sent", Requirements: []string{"I18N-008"}, Level: 3, Strength: Must,
		plays: []string{"languages"},
		Rule:  "who asks for one language gets every event, also what there is only in another",
		Judge: inLanguages(func(r *Recording, t languageReception) Finding {
			all, theirs := r.eventsOn(0), r.eventsOn(1)
			for i, m := range all {
				if i >= len(theirs) || theirs[i].compactType() != m.compactType() {
					return failFinding(fmt.Sprintf("%s, in %s, did not come to who asked for %s alone", shortName(m),
						quoteText(m.primaryLanguage()), quoteText(t.second)), r.messagesOn(1, true)[0].Entry, m.Entry)
				}
			}
			if i := slices.IndexFunc(theirs, func(m message) bool {
				return !isSameLanguage(m.primaryLanguage(),
					t.second)
			}); i >= 0 {
				return passFinding("what there is only in "+quoteText(theirs[i].primaryLanguage())+" came in that",
					theirs[i].Entry)
			}
			return passFinding("every event came, all of them in the language that was asked for", theirs[0].Entry)
		})},
	{Name: "same-everywhere", Requirements: []string{"HS-003"}, Level: 3, Strength: Must, plays: []string{"ways"},
		Rule: "the same request gets the same answer on every transport, but for what is of one subscription alone",
		Judge: judgeAcceptance(func(r *Recording, a message) Finding {
			same, others := func(m message) object {
				return withMembers(m.members, object{"subscription_id": nil,
					"signed_manifest": m.stringMember("signed_manifest") != ""})
			}, 0
			for link := 1; link < r.linkCount(); link++ {
				b, ok := r.firstAnswer(link)
				if !ok {
					continue // it may not be there, or for others
				}
				others++
				is, want := same(b), same(a)
				for _, name := range slices.Sorted(func(yield func(string) bool) {
					for name := range withMembers(is, want) {
						if !yield(name) {
							return
						}
					}
				}) {
					if !reflect.DeepEqual(is[name], want[name]) {
						return failFinding("the answer on another transport has another "+quoteText(name)+": "+
							jsonText(is[name])+", and not "+jsonText(want[name]), a.Entry, b.Entry)
					}
				}
			}
			if others == 0 {
				return skippedFinding("the agent could be reached in one way only", a.Entry)
			}
			return passFinding(fmt.Sprintf("the answers in %d ways are the same", others+1), a.Entry)
		})},
}
