package conformance

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
)

// An edgeCase is an event that is unusual and right, so that a person must get it.
type edgeCase struct {
	Case
	say  string // what must be presented of it
	more object // beside what tool.invoked has
	raw  func([]byte) []byte
	// letter must be presented too, in one of its forms.
	letter []string
	never  string // must not be presented; "" is nothing
}

const someContext = "https://medai.example/aaep/v1"

// labelOf is the end of the ids of a case's event.
func labelOf(name string) string { return strings.NewReplacer("-", "", "_", "").Replace(name) }

var edgeCases = []edgeCase{
	{Case: Case{Name: "unknown-type", Requirements: []string{"LVL-016", "ENV-010", "EXT-012"},
		Rule: "an event of an unknown type is presented by its summary"},
		say: "A dose was given", more: object{"@context": []string{aaep.CoreContext, someContext},
			"type": "medai:dose.given"}},
	{Case: Case{Name: "future-type", Requirements: []string{"VER-011", "LVL-016"},
		Rule: "an event of a later 1.x, of a type that 1.0 does not have, is presented by its summary"},
		say: "The mood has changed", more: object{"type": "aaep:agent.mood.changed", "aaep_version": "1.4.0"}},
	{Case: Case{Name: "future-members", Requirements: []string{"VER-011"},
		Rule: "a member that 1.0 does not know is passed over"},
		say: "A member too many", more: object{"aaep_version": "1.4.0", "certainty": object{"value": 0.5}}},
	{Case: Case{Name: "unknown-extension", Requirements: []string{"ENV-048"},
		Rule: "an extension that is not known is no reason to drop an event"},
		say: "An unknown extension", more: object{"@context": []string{aaep.CoreContext, someContext},
			"extensions": object{"medai": object{"dose": 3}}}},
	{Case: Case{Name: "broken-extension", Requirements: []string{"HS-034"}, Level: 3,
		Rule: "extension data that makes no sense is no reason to drop an event"},
		say: "A broken extension", more: object{"@context": []string{aaep.CoreContext, someContext},
			"extensions": object{"haptic": object{"pattern": 17}, "braille": object{"cells": "many"}}}},
	{Case: Case{Name: "unknown-value", Requirements: []string{"VER-003"},
		Rule: "a value that 1.0 does not know is no reason to drop an event"},
		say: "Only an administrator can help",
		more: object{"type": errored, "urgency": "critical", "error_category": "requires_admin",
			"error_code": "NO_RIGHTS", "recoverable": false}},
	{Case: Case{Name: "odd-error", Requirements: []string{"EVT-022", "ENV-048", "VER-011", "I18N-005"},
		Rule: "an error is presented that is of a later version, in another language, and has an extension"},
		say: "The boats have gone", more: withMembers(anOddEnvelope, object{"type": errored, "urgency": "critical",
			"error_category": "permanent", "error_code": "BOATS_GONE", "recoverable": false})},
	{Case: Case{Name: "unknown-urgency", Requirements: []string{"VER-003"},
		Rule: "an urgency that 1.0 does not know is no reason to drop an event"},
		say: "As urgent as nothing before", more: object{"urgency": "loud"}},
	{Case: Case{Name: "unknown-boundary", Requirements: []string{"VER-003"},
		Rule: "a coalesce_hint that 1.0 does not know is no reason to drop text"},
		say: "A line of a song.", more: object{"type": output, "chunk": "A line of a song.", "position": 0,
			"complete": true, "coalesce_hint": "line", "output_id": "out_song", "summary_terse": nil,
			"summary_normal": nil, "summary_detailed": nil}},
	{Case: Case{Name: "spelled-out", Requirements: []string{"ENV-006"}, Strength: Should,
		Rule: "a type that is written as a URI is presented as in its compact form"},
		say: "A type in full", more: object{"type": "https://aaep-protocol.org/types/agent.session.started"}},
	{Case: Case{Name: "other-stamp", Requirements: []string{"LVL-013", "ENV-067"},
		Rule: "an event is presented whose timestamp is of another time zone, and of microseconds"},
		say: "By another clock"},
	{Case: Case{Name: "long-session", Requirements: []string{"LVL-013", "ENV-067"},
		Rule: "an event is presented whose session_id is as long as it may be"},
		say: "A name of many letters", more: object{"session_id": "sess_" + strings.Repeat("aB3", 21) + "z"}},
	{Case: Case{Name: "unknown-state", Requirements: []string{"EVT-032", "EVT-031"}, Strength: Should,
		Rule: "a change to an unknown state is presented"},
		say: "Juggling with three balls", more: object{"type": state, "from_state": "idle", "to_state": "juggling"}},
	{Case: Case{Name: "any-order", Requirements: []string{"ENV-056"}, Rule: "the order of members does not matter"},
		say: "From the last to the first", raw: reverseMembers},
	{Case: Case{Name: "pretty-printed", Requirements: []string{"ENV-065"},
		Rule: "JSON that is printed prettily is read like any other"},
		say: "With room between", raw: func(data []byte) []byte {
			pretty := jsontext.Value(data)
			if pretty.Indent(jsontext.WithIndent("\t")) != nil {
				return data
			}
			return pretty
		}},
	{Case: Case{Name: "bare-envelope", Requirements: []string{"ENV-044"},
		Rule: "an event without any optional member is presented"},
		say: "Only what must be", more: object{"aaep_version": nil, "verbosity": nil, "urgency": nil,
			"localization_hints": nil, "summary_terse": nil,
			"summary_detailed": nil}},
	{Case: Case{Name: "foreign-language", Requirements: []string{"I18N-005"},
		Rule: "an event in a language that nobody asked for is presented all the same"},
		say: "nuqneH Qapla", more: object{"localization_hints": object{"primary_language": "tlh"}}},
	{Case: Case{Name: "decomposed", Requirements: []string{"I18N-011"},
		Rule: "text in any Unicode normalization form is presented"},
		letter: []string{"e\u0301", "\u00e9"}, say: "In many parts",
		more: object{"summary_normal": "In many parts: e\u0301 o\u0323\u0300 \uFB01",
			"summary_terse": "In many parts: e\u0301", "summary_detailed": "In many parts: e\u0301 o\u0323\u0300"}},
	{Case: Case{Name: "characters-whole", Requirements: []string{"I18N-012"},
		Rule: "what a person sees as one character is not cut in two, wherever a line of the device ends"},
		say: "Signs of many parts", more: object{"summary_normal": manyParts, "summary_terse": manyParts,
			"summary_detailed": manyParts}},
	{Case: Case{Name: "large", Requirements: []string{"ENV-062"}, Rule: "an event above the soft limits does no harm"},
		say: "A large one", more: object{"@context": []string{aaep.CoreContext, someContext},
			"extensions": object{"camera": object{"image": strings.Repeat("0123456789", 10<<10),
				"deep": nestedObject(12)}}}},
	{Case: Case{Name: "member-case", Requirements: []string{"ENV-056", "VER-011"},
		Rule: "a member whose name differs in case is another member, and is passed over"},
		say: "The right words", never: "Quite other words", raw: reverseMembers,
		more: object{"Summary_Normal": "Quite other words", "Summary_Terse": "Quite other words",
			"Summary_Detailed": "Quite other words"}},
	{Case: Case{Name: "id-case", Requirements: []string{"ENV-015"}, Rule: "two ids that differ in case are two"},
		say: "Small letters or large", more: object{"event_id": nil}},
}

// manyParts is a text in which few places are between two characters.
var manyParts = "Signs of many parts: " + strings.Repeat("\U0001F468\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466 o\u0323\u0300e\u0323\u0302 \U0001F44B\U0001F3FD ", 6) + "and an end."

// nestedObject returns objects within each other, depth of them inside the outermost.
func nestedObject(depth int) object {
	if depth == 0 {
		return object{}
	}
	return object{"in": nestedObject(depth - 1)}
}

// reverseMembers writes the members of an object in the opposite of alphabetical order. Data that
// is no object comes back unchanged.
func reverseMembers(data []byte) []byte {
	var o map[string]jsontext.Value
	if jsonv2.Unmarshal(data, &o) != nil {
		return data
	}
	var b bytes.Buffer
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(o))) {
		b.WriteString(map[bool]string{true: "{", false: ","}[b.Len() == 0] + `"` + name + `":` + string(o[name]))
	}
	return append(b.Bytes(), '}')
}

// otherStamp returns the timestamp of now in another time zone, with microseconds.
func otherStamp() string {
	return time.Now().In(time.FixedZone("", 5*60*60+30*60)).Format("2006-01-02T15:04:05.000000-07:00")
}

// sendEdgeCases is the scenario run that sends the edge cases of messages, each one when the one
// before was presented.
func sendEdgeCases(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	s := sessionID()
	c.emitEvent(c.newEvent("oddstart", s, started, "Something odd", nil))
	for _, odd := range edgeCases {
		if id := c.sendEdgeCase(s, odd); id != "" {
			h.awaitPresented(id, odd.say)
		}
	}
	given := sessionID()
	c.emitEvent(c.newEvent("giving", given, started, "Asking for a pilot", nil))
	h.awaitPresented(c.emitEvent(c.newEvent("handedover", given, handoff, "A pilot takes over",
		object{"reason": "The pilot must steer.", "target_kind": "human"})), "A pilot takes over")
	alarm := object{"@context": []string{aaep.CoreContext, someContext}, "type": "medai:alarm.rang"}
	c.emitEvent(c.newEvent("calmtwin", s, "medai:alarm.rang", "The alarm rings", alarm))
	h.awaitPresented(c.emitEvent(c.newEvent("criticaltwin", s, "medai:alarm.rang", "The alarm rings",
		withMembers(alarm, object{"urgency": "critical"}))), "The alarm rings")
	h.awaitPresented(c.emitEvent(c.newEvent("oddend", sessionID(), started, "Odd no more", nil)))
}

// garbage is what no subscriber can use.
var garbage = []string{`null`, `[]`, `"text"`, `1`, `{`, `{"type":"aaep:agent.session.started",}`,
	`// a comment` + "\r" + `{}`, `{"type":7}`, `{}`, `220 mail ready`}

// wrongMembers are members of the envelope that are there and wrong, or not there, each in an event
// with a label.
var wrongMembers = []struct {
	label string
	more  object
}{
	{"nocontext", object{"@context": nil}}, {"othercontext", object{"@context": "https://schema.example/v1"}},
	{"nosession", object{"session_id": nil}}, {"numbersession", object{"session_id": 17}},
	{"notime", object{"timestamp": "yesterday"}}, {"nozone", object{"timestamp": "2026-07-01T09:30:00"}},
	{"noproducer", object{"producer": nil}}, {"stringproducer", object{"producer": "aaep-conformance"}},
}

// almostJSON are ways to spoil the JSON of an event, each with the label of one.
var almostJSON = []struct {
	label string
	spoil func(string) string
}{
	{"commatoomany", func(s string) string { return strings.TrimSuffix(s, "}") + ",}" }},
	{"commented", func(s string) string { return "{/* a comment */" + strings.TrimPrefix(s, "{") }},
	{"twoobjects", func(s string) string { return s + " {}" }},
}

// wrongCase are members that must be there, and names that are not theirs.
// Without is the label of an event in which the member is missing or wrong.
var wrongCase = []struct{ label, without, name, as string }{
	{"casecontext", "nocontext", "@context", "@Context"}, {"casesession", "nosession", "session_id", "Session_ID"},
	{"casetime", "notime", "timestamp", "Timestamp"}}

// sendEdgeCase sends an edge case in a session, or in one of its own where its event ends or
// changes that, and returns the id of the event; "" where the target did not ask for it.
func (c *targetConn) sendEdgeCase(session string, odd edgeCase) string {
	e := withMembers(c.newEvent(labelOf(odd.Name), session, invoked, odd.say, toolCall()), odd.more)
	if e["type"] != invoked {
		delete(e, "tool")
		delete(e, "tool_call_id")
	}
	switch odd.Name {
	case "spelled-out":
		e["session_id"] = sessionID()
	case "other-stamp":
		e["timestamp"] = otherStamp()
	case "long-session":
		c.emitEvent(c.newEvent("longname", e["session_id"].(string), started, "A long name", nil))
	case "id-case": // two events whose ids differ in the case of letters alone
		id := eventID("")
		c.emitEvent(withMembers(e, object{"event_id": id + strings.ToUpper(labelOf(odd.Name))}))
		e["event_id"] = id + labelOf(odd.Name)
	}
	if e["type"] == errored || e["type"] == state || e["type"] == output { // the session goes on
		e["session_id"] = sessionID()
		c.emitEvent(c.newEvent("administration", e["session_id"].(string), started, "Asking the administration", nil))
	}
	if odd.raw == nil {
		return c.emitEvent(e)
	}
	id, _ := e["event_id"].(string)
	c.enterState(session, "calling_tool") // emitEvent would, and writes the event in the usual way
	c.awaitRate(e)
	if raw := odd.raw(encodeObject(e)); !c.sendBytes(raw, id) { // a link of lines carries no line ends
		c.sendBytes(bytes.ReplaceAll(raw, []byte("\n"), []byte(" ")), id)
	}
	return id
}

// sendGarbage is the scenario in which messages that cannot be read, events with a wrong envelope,
// almost JSON, and names of members in another case come between valid events, which must be
// presented.
func sendGarbage(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	s, other := sessionID(), sessionID()
	c.emitEvent(c.newEvent("other", other, started, "All is well elsewhere", nil))
	h.awaitPresented(c.emitEvent(c.newEvent("before", s, started, "All is well", nil)))
	for _, data := range garbage {
		c.sendBytes([]byte(data), "evt_garbage")
	}
	for _, w := range wrongMembers {
		c.emitEvent(withMembers(c.newEvent(w.label, s, invoked, "With a wrong envelope", toolCall()), w.more))
	}
	for _, w := range almostJSON {
		e := c.newEvent(w.label, s, invoked, "Almost right", toolCall())
		c.sendBytes([]byte(w.spoil(string(encodeObject(e)))), e["event_id"].(string))
	}
	for _, w := range wrongCase { // as others read it who do not look at the case of names
		e := c.newEvent(w.label, s, invoked, "With a name in another case", toolCall())
		c.emitEvent(withMembers(e, object{w.name: nil, w.as: e[w.name]}))
	}
	h.awaitPresented(c.emitEvent(c.newEvent("after", s, invoked, "All is well again", toolCall())))
	if h.awaitPresented(c.emitEvent(c.newEvent("aftertoo", other, completed, "All is well", nil))) {
		h.pauseFor(quiet)
	}
}

var invalidInputCases = append(casesOfEdgeCases(), []Case{
	{Name: "survives-garbage", Requirements: []string{"ENV-064", "ENV-068", "LVL-013"}, Level: 1, Strength: Must,
		plays: []string{"garbage"},
		Rule:  "messages that cannot be read do not keep the next one from being presented",
		Judge: judgeIfConnectedAt("before", judgePresentsAny("after", "aftertoo"))},
	{Name: "context-checked", Requirements: []string{"ENV-004", "LVL-013"}, Level: 1, Strength: Must,
		plays: []string{"garbage"},
		Rule:  "an event without @context is not presented as if it were valid", Judge: judgeDropped("nocontext", "othercontext")},
	{Name: "session-checked", Requirements: []string{"LVL-013"}, Level: 1, Strength: Must, plays: []string{"garbage"},
		Rule: "an event without session_id is not presented as if it were valid", Judge: judgeDropped("nosession", "numbersession")},
	{Name: "time-checked", Requirements: []string{"LVL-013", "ENV-067"}, Level: 1, Strength: Must,
		plays: []string{"garbage"},
		Rule:  "an event whose timestamp is none is not presented as if it were valid", Judge: judgeDropped("notime", "nozone")},
	{Name: "envelope-checked", Requirements: []string{"LVL-013", "ENV-067"}, Level: 1, Strength: Must,
		plays: []string{"garbage"},
		Rule:  "an event whose producer is missing, or no object, is not presented as if it were valid",
		Judge: judgeDropped("noproducer", "stringproducer")},
	{Name: "json-strict", Requirements: []string{"ENV-064", "ENV-067"}, Level: 1, Strength: Must,
		plays: []string{"garbage"},
		Rule:  "what is almost JSON, with a comment, a comma or an object too many, is not presented as if it were valid",
		Judge: judgeUnreadable},
	{Name: "names-exact", Requirements: []string{"LVL-013", "ENV-004", "ENV-067"}, Level: 1, Strength: Must,
		plays: []string{"garbage"},
		Rule:  "a member that must be there is not there under a name in another case",
		Judge: func(r *Recording) (f Finding) {
			for _, w := range wrongCase {
				if judgeDropped(w.without)(r).Verdict == Fail {
					f = inconclusiveFinding("an event without " + w.name + " is presented too")
					continue
				}
				if f = judgeDropped(w.label)(r); f.Verdict != Pass {
					break
				}
			}
			return f
		}},
	{Name: "defects-logged", Requirements: []string{"ENV-070"}, Level: 1, Strength: Should, plays: []string{"garbage"},
		Rule: "what was not valid is logged", Judge: func(r *Recording) Finding {
			if why := r.whyUnobservable(); why != "" {
				return inconclusiveFinding(why)
			}
			if all := r.logEntries(); len(all) > 0 {
				return passFinding("defects are logged", all[0].Entry)
			}
			return failFinding("the hook told of no log entry, though nothing of what came was valid")
		}},
}...)

// casesOfEdgeCases returns a case for each entry of edgeCases, with the judge that fits it: Level 1
// and Must, where the entry says nothing else.
func casesOfEdgeCases() (cases []Case) {
	for _, odd := range edgeCases {
		c := odd.Case
		if c.Level == 0 {
			c.Level = 1
		}
		if c.Strength == "" {
			c.Strength = Must
		}
		c.plays, c.Judge = []string{"odd"}, judgePresents(labelOf(c.Name), odd.say)
		switch {
		case odd.never != "":
			c.Judge = judgePresented(labelOf(c.Name), func(r *Recording, m message, text string) Finding {
				if containsWords(text, odd.never) {
					return failFinding(shortName(m)+" was presented with "+quoteText(odd.never)+
						", of a member that there is not", append([]Entry{m.Entry}, presentedEntries(r, m)...)...)
				}
				if text == "" {
					return inconclusiveFinding("the event was not presented")
				}
				return judgePresents(labelOf(c.Name), odd.say)(r)
			})
		case odd.letter != nil:
			c.Judge = keepsLetter(labelOf(c.Name), odd.say, odd.letter)
		case c.Name == "characters-whole":
			c.Judge = judgePresented(labelOf(c.Name), judgeCharacters)
		}
		cases = append(cases, c)
	}
	return cases
}

// keepsLetter returns a judge that the event with a label was presented with the words of say and a
// letter that is not of ASCII, in one of some forms.
func keepsLetter(label, say string, forms []string) func(*Recording) Finding {
	return judgePresented(label, func(r *Recording, m message, text string) Finding {
		has := func(form string) bool { return strings.Contains(text, form) }
		if containsWords(text, say) && !slices.ContainsFunc(forms, has) {
			return failFinding(shortName(m)+" was presented without the letter "+quoteText(forms[0]),
				append([]Entry{m.Entry}, presentedEntries(r, m)...)...)
		}
		return judgePresents(label, say)(r)
	})
}

// judgeCharacters looks at where the lines of the hook end and begin. A target that presents all at
// once cuts nothing.
func judgeCharacters(r *Recording, m message, _ string) Finding {
	const joiner, lightest, darkest = '\u200d', '\U0001F3FB', '\U0001F3FF'
	for _, t := range r.presentedLines(m.stringMember("event_id")) {
		line := strings.TrimSpace(t.stringMember("text"))
		first, _ := utf8.DecodeRuneInString(line)
		last, _ := utf8.DecodeLastRuneInString(line)
		isSkinTone := first >= lightest && first <= darkest
		if unicode.Is(unicode.M, first) || first == joiner || last == joiner || isSkinTone {
			return failFinding(fmt.Sprintf("a character was cut in two: what was presented begins with %U and ends with %U", first, last), m.Entry, t.Entry)
		}
	}
	return judgePresents(labelOf("characters-whole"), "Signs of many parts")(r)
}

// judgeDropped judges that none of some events is presented in the same way as valid ones: not at
// all, or with a warning.
func judgeDropped(labels ...string) func(*Recording) Finding {
	var judges []func(*Recording) Finding
	for _, label := range labels {
		judges = append(judges, judgeDroppedOne(label))
	}
	return judgeInTurn(judges...)
}

// judgeUnreadable judges that nothing of almostJSON was presented. Such a message has no members
// that could be looked up, and its event is known by the end of its id.
func judgeUnreadable(r *Recording) Finding {
	after, f := r.eventToJudge("after")
	switch {
	case after.members == nil:
		return f
	case r.textOf(after.stringMember("event_id")) == "":
		return inconclusiveFinding("nothing was presented after it")
	}
	for _, t := range r.messagesOn(hookLink, false) {
		id := t.stringMember("event_id")
		for _, w := range almostJSON {
			if strings.HasSuffix(id, w.label) && t.stringMember("text") != "" && t.stringMember("kind") != "warning" {
				return failFinding("what is no JSON was presented as if it were valid", t.Entry)
			}
		}
	}
	return passFinding("what is no JSON was not presented", after.Entry)
}

// judgeDroppedOne returns a judge of whether an invalid event, known by its label, was not
// presented as if it were valid, and the valid one after it was.
func judgeDroppedOne(label string) func(*Recording) Finding {
	return judgePresented(label, func(r *Recording, m message, text string) Finding {
		after, ok := r.eventLabelled("after")
		if !ok || r.textOf(after.stringMember("event_id")) == "" {
			return inconclusiveFinding("nothing was presented after it")
		}
		for _, t := range r.presentedLines(m.stringMember("event_id")) {
			if t.stringMember("kind") != "warning" {
				return failFinding("it was presented as if it were valid", m.Entry, t.Entry)
			}
		}
		return passFinding("it was not presented as if it were valid", m.Entry)
	})
}
