package conformance

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// nobody is a language that no agent has words in: Klingon.
const nobody = "tlh"

// fewLetters may be the same in two languages, as a name is.
const fewLetters = 12

// manyLanguages are what a subscriber asks for that wants to know which languages an agent has.
var manyLanguages = []string{"en", "es", "fr", "de", "ar", "yo", "zh", "ja", "pt", "hi", "ru", "sw", "ha", "am", "it", "nl", "pl", "tr", "ko", "vi", "fi", "sv",
	"uk", "fa", "he", "id", "ta", "th", "bn", "ur", "el", "cs"}

// languagePlays are those that are about several languages, and about several ways to one agent.
var languagePlays = []play{
	{"languages", "a subscriber follows a tool that hangs, in the first of the agent's languages, and meanwhile asks for the second; two more want the second, one after a language that nobody has, the other of a region that is none",
		Scenario{Name: Hang, TimeoutSeconds: shortly}, 3, func(st *stage) {
			l := st.subscribe(with(usual(), object{"languages": manyLanguages}))
			has := served(st.tape.now())
			if len(has) < 2 {
				return // there is nothing to choose
			}
			st.subscribe(with(usual(), object{"languages": []string{nobody, has[1]}}))
			st.subscribe(with(usual(), object{"languages": []string{has[1] + "-ZZ", has[0]}}))
			st.start()
			if _, ok := st.await(l, slow, invoked, completed, errored, cancelled); ok {
				l.send(object{"type": "subscription.renegotiate", "subscription_id": l.id, "capabilities": object{"languages": []string{has[1], has[0]}}})
				l.answered(2)
			}
			st.end(l, slow)
		}},
	{"ways", "the same request is made on each way to the agent that is known",
		Scenario{}, 3, func(st *stage) {
			req := request(with(usual(), object{"max_events_per_second": 3, "preferred_verbosity": "terse"}))
			st.ask(req)
			for _, other := range st.run.OtherWays {
				st.askBy(other, req)
			}
		}},
}

// served are the languages that the first subscriber was told it can have, best first, each once.
func served(r *Recording) (tags []string) {
	for _, tag := range honoredList(r, 0, "languages") {
		if !slices.ContainsFunc(tags, func(t string) bool { return speaks(t, tag) }) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// speaks reports whether two tags are of one language, wherever it is spoken.
func speaks(a, b string) bool {
	a, _, _ = strings.Cut(a, "-")
	b, _, _ = strings.Cut(b, "-")
	return strings.EqualFold(a, b)
}

func (m message) language() string {
	tag, _ := m.obj("localization_hints")["primary_language"].(string)
	return tag
}

// hearing is what each of the three subscribers was told, by event id.
type hearing struct {
	first, second string // the languages
	links         [3]map[string]message
	order         []string // of the first link's events
	switched      message  // the answer to its renegotiation
}

// in reports whether somebody was told an event in a language.
func (t hearing) in(id, language string) (message, bool) {
	for _, link := range t.links {
		if m, ok := link[id]; ok && speaks(m.language(), language) {
			return m, true
		}
	}
	return message{}, false
}

// inLanguages judges an agent that has several; for one that has not the case is skipped.
func inLanguages(judge func(r *Recording, t hearing) Finding) func(*Recording) Finding {
	return accepted(func(r *Recording, a message) Finding {
		has := served(r)
		if len(has) < 2 {
			return skipped("the agent has one language, so there was nothing to choose", a.Entry)
		}
		t := hearing{first: has[0], second: has[1]}
		for link := range t.links {
			t.links[link] = map[string]message{}
			for _, m := range r.events(link) {
				id := m.str("event_id")
				t.links[link][id] = m
				if link == 0 {
					t.order = append(t.order, id)
				}
			}
		}
		if got := of(r.all(0, false), "subscription.accepted"); len(got) > 1 {
			t.switched = got[1]
		}
		if !slices.ContainsFunc(t.order, func(id string) bool { _, a := t.in(id, t.first); _, b := t.in(id, t.second); return a && b }) {
			return unseen(fmt.Sprintf("the agent honors %s and %s, and told no event in both; say what the scenario makes it say in each", quoted(t.first), quoted(t.second)))
		}
		return judge(r, t)
	})
}

var languageCases = []Case{
	{Name: "language-chosen", Requirements: []string{"I18N-004"}, Level: 3, Strength: Must, plays: []string{"languages"},
		Rule: "an event comes in the first of the subscriber's languages that it is told in to anybody; a language that nobody has is passed over, and of one without regions the region makes no difference",
		Judge: inLanguages(func(r *Recording, t hearing) Finding {
			for _, id := range t.order {
				for link, want := range []string{t.first, t.second, t.second} {
					m, here := t.links[link][id]
					better, there := t.in(id, want)
					switch {
					case !here || !there || speaks(m.language(), want):
					case link == 0 && t.switched.Data != nil && m.n > t.switched.n: // it wants another by then
					case link == 2 && strings.Contains(better.language(), "-"): // whether another region serves is left open
					default:
						asked := r.all(link, true)[0]
						return fail(fmt.Sprintf("%s came in %s to who wants %s, in which another got it", short(m), quoted(m.language()), quoted(want)), asked.Entry, m.Entry, better.Entry)
					}
				}
			}
			return pass("each event came in the first language that there is", t.links[1][t.order[0]].Entry)
		})},
	{Name: "language-true", Requirements: []string{"I18N-001", "I18N-006"}, Level: 3, Strength: Must, plays: []string{"languages"},
		Rule: "an event that is told in two languages has other words in each", Judge: inLanguages(func(r *Recording, t hearing) Finding {
			var shown []Entry
			for _, id := range t.order {
				a, first := t.in(id, t.first)
				b, second := t.in(id, t.second)
				words := strings.TrimSpace(a.str("summary_normal"))
				if !first || !second || len([]rune(words)) < fewLetters {
					continue
				}
				if words == strings.TrimSpace(b.str("summary_normal")) {
					return fail(fmt.Sprintf("%s has the same words in %s as in %s", short(a), quoted(b.language()), quoted(a.language())), a.Entry, b.Entry)
				}
				shown = []Entry{a.Entry, b.Entry}
			}
			if shown == nil {
				return unseen(fmt.Sprintf("no event with words of %d letters or more came in both languages", fewLetters))
			}
			return pass("the words differ", shown...)
		})},
	{Name: "language-switched", Requirements: []string{"I18N-009"}, Level: 3, Strength: Must, plays: []string{"languages"},
		Rule: "after a renegotiation to another language, events come in that, if they are told in it to anybody", Judge: inLanguages(func(r *Recording, t hearing) Finding {
			if t.switched.Data == nil {
				return unseen("the renegotiation was not accepted")
			}
			var after []message
			for _, id := range t.order {
				m := t.links[0][id]
				if better, there := t.in(id, t.second); m.n < t.switched.n || !there {
					continue
				} else if !speaks(m.language(), t.second) {
					return fail(fmt.Sprintf("%s came in %s after %s was agreed, in which another got it", short(m), quoted(m.language()), quoted(t.second)), t.switched.Entry, m.Entry, better.Entry)
				}
				after = append(after, m)
			}
			return some(len(after), "events came in the language of the new terms")
		})},
	{Name: "untranslated-sent", Requirements: []string{"I18N-008"}, Level: 3, Strength: Must, plays: []string{"languages"},
		Rule: "who asks for one language gets every event, also what there is only in another", Judge: inLanguages(func(r *Recording, t hearing) Finding {
			all, theirs := r.events(0), r.events(1)
			for i, m := range all {
				if i >= len(theirs) || theirs[i].typ() != m.typ() {
					return fail(fmt.Sprintf("%s, in %s, did not come to who asked for %s alone", short(m), quoted(m.language()), quoted(t.second)), r.all(1, true)[0].Entry, m.Entry)
				}
			}
			if i := slices.IndexFunc(theirs, func(m message) bool { return !speaks(m.language(), t.second) }); i >= 0 {
				return pass("what there is only in "+quoted(theirs[i].language())+" came in that", theirs[i].Entry)
			}
			return pass("every event came, all of them in the language that was asked for", theirs[0].Entry)
		})},
	{Name: "same-everywhere", Requirements: []string{"HS-003"}, Level: 3, Strength: Must, plays: []string{"ways"},
		Rule: "the same request gets the same answer on every transport, but for what is of one subscription alone", Judge: accepted(func(r *Recording, a message) Finding {
			same, others := func(m message) object {
				return with(m.m, object{"subscription_id": nil, "signed_manifest": m.str("signed_manifest") != ""})
			}, 0
			for link := 1; link < r.links(); link++ {
				b, ok := r.answer(link)
				if !ok {
					continue // it may not be there, or for others
				}
				others++
				is, want := same(b), same(a)
				for _, name := range slices.Sorted(func(yield func(string) bool) {
					for name := range with(is, want) {
						if !yield(name) {
							return
						}
					}
				}) {
					if !reflect.DeepEqual(is[name], want[name]) {
						return fail("the answer on another transport has another "+quoted(name)+": "+inJSON(is[name])+", and not "+inJSON(want[name]), a.Entry, b.Entry)
					}
				}
			}
			if others == 0 {
				return skipped("the agent could be reached in one way only", a.Entry)
			}
			return pass(fmt.Sprintf("the answers in %d ways are the same", others+1), a.Entry)
		})},
}
