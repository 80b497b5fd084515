package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"

	"golang.org/x/text/unicode/bidi"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance/check"
	"github.com/aaep-go/aaep/internal/secrets"
)

// messageCases judge each message by itself.
var messageCases = []Case{
	{Name: "events-valid", Requirements: []string{"LVL-009", "EVT-001", "ENV-001"}, Level: 1, Strength: Must,
		Rule: "every event has the whole envelope and is valid under its schema", Judge: judgeEvents, Also: eventRows,
		beside: runsBeside},
	{Name: "summaries", Requirements: []string{"LVL-010"}, Level: 1, Strength: Must, beside: runsBeside,
		Rule: "every event but output.streaming has a summary_normal that is not empty",
		Judge: eachEvent(func(m message) string {
			if m.compactType() != output && isBlank(m.stringMember("summary_normal")) {
				return shortName(m) + " came without summary_normal"
			}
			return ""
		})},
	{Name: "version-named", Requirements: []string{"ENV-049"}, Level: 1, Strength: Should, beside: runsBeside,
		Rule: "every event carries aaep_version", Judge: eachEvent(func(m message) string {
			if _, ok := m.members["aaep_version"]; !ok {
				return shortName(m) + " came without aaep_version"
			}
			return ""
		})},
	{Name: "version-known", Requirements: []string{"ENV-050", "VER-001"}, Level: 1, Strength: Must, beside: runsBeside,
		Rule: "aaep_version of an event names a version 1 of AAEP, for there is no other, and none above the one that was agreed",
		Judge: func(r *Recording) Finding {
			n := 0
			for link := range r.linkCount() {
				a, _ := r.firstAnswer(link)
				agreed := a.stringMember("aaep_version")
				for _, m := range r.eventsOn(link) {
					version, there := m.members["aaep_version"]
					major, _, _ := strings.Cut(m.stringMember("aaep_version"), ".")
					switch {
					case there && major != "1":
						return failFinding(fmt.Sprintf("%s has the aaep_version %v", shortName(m), version), m.Entry)
					case there && agreed != "" && isVersionAbove(m.stringMember("aaep_version"), agreed):
						return failFinding(fmt.Sprintf("%s has the aaep_version %v, and %s was agreed", shortName(m),
							version,
							quoteText(agreed)), a.Entry, m.Entry)
					}
					n++
				}
			}
			return passIfAny(n, "events were right")
		}},
	{Name: "stamp-digits", Requirements: []string{"ENV-021"}, Level: 1, Strength: Must, beside: runsBeside,
		Rule: "a timestamp has no fraction of a second, or 3 or 6 digits", Judge: eachEvent(func(m message) string {
			_, fraction, ok := strings.Cut(m.stringMember("timestamp"), ".")
			n := len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
			if ok && n != 3 && n != 6 {
				return fmt.Sprintf("the timestamp of %s is %q", shortName(m), m.stringMember("timestamp"))
			}
			return ""
		})},
	{Name: "size", Requirements: []string{"ENV-058"}, Level: 1, Strength: Should, beside: runsBeside,
		Rule: "an event takes at most 64 KiB", Judge: eachEvent(func(m message) string {
			if len(m.Data) > 64<<10 {
				return fmt.Sprintf("%s takes %d bytes", shortName(m), len(m.Data))
			}
			return ""
		})},
	{Name: "ids-same-for-all", Requirements: []string{"ENV-013", "HS-086"}, Level: 2, Strength: Must,
		plays: []string{"latecomer", "two", "relayed", "verbosity"}, beside: slices.Concat(runsBeside,
			[]string{"idle", "hang",
				"handoff", "clarify", "silence", "not-entitled", "left", "turned-away", "closed"}),
		Rule:  "to two subscribers, an event_id is that of one event, which says the same to both but for its summaries and its language",
		Judge: judgeSameIDs},
	{Name: "ids-once", Requirements: []string{"ENV-013"}, Level: 1, Strength: Must, beside: runsBeside,
		Rule: "no event_id comes twice", Judge: func(r *Recording) Finding {
			n := 0
			for link := range r.linkCount() {
				seen := map[string]message{}
				for _, m := range r.eventsOn(link) {
					id := m.stringMember("event_id")
					if r.before[id] {
						return failFinding("an event has the event_id of one in an earlier session", m.Entry)
					}
					if before, ok := seen[id]; ok && id != "" {
						return failFinding(fmt.Sprintf("%s and %s have the same event_id", shortName(before),
							shortName(m)), before.Entry, m.Entry)
					}
					seen[id] = m
				}
				n = max(n, len(seen))
			}
			return passIfAny(n, "events, each with an id of its own")
		}},
	{Name: "stamps-real", Requirements: []string{"ENV-022"}, Level: 1, Strength: Must,
		plays: []string{"hang", "silence"}, beside: []string{"languages"},
		Rule: "a timestamp is the moment at which the event was made", Judge: judgeStamps},
	{Name: "numbered-right", Requirements: []string{"ENV-041", "ENV-042"}, Level: 1, Strength: Must,
		plays: []string{"stream", "tools", "accept", "handoff", "idle"}, beside: runsBeside,
		Rule: "sequence_number is on no event of a session, or on all, from 0 and by 1; text, progress and states that were merged have the number of the last", Judge: eachSession(func(f follower) Finding {
			next, s := 0.0, f.list
			for _, m := range s {
				if _, ok := m.members["sequence_number"]; ok != (s[0].members["sequence_number"] != nil) {
					return failFinding("some events of a session are numbered, and some are not", s[0].Entry, m.Entry)
				}
				n, ok := m.members["sequence_number"].(float64)
				if !f.owes(everyType[:12]...) {
					break // what its terms keep back has a number too
				}
				if merged := n > next && slices.Contains([]string{output, progress, state}, m.compactType()); ok &&
					n != next && !merged {
					return failFinding(fmt.Sprintf("%s, where the number %v comes next, has the sequence_number %v",
						shortName(m), next, n), m.Entry)
				}
				next = n + 1
			}
			return passFinding("the numbers, if any, rise by one")
		})},
	{Name: "language-declared", Requirements: []string{"I18N-001"}, Level: 1, Strength: Must, beside: runsBeside,
		Rule: "an event with text for people says its language in localization_hints.primary_language (§11.1, where §3.3.3 leaves it open)", Judge: eachEvent(func(m message) string {
			if tag, _ := m.objectMember("localization_hints")["primary_language"].(string); tag == "" &&
				m.stringMember("summary_normal")+m.stringMember("chunk") != "" {
				return shortName(m) + " does not say its language"
			}
			return ""
		})},
	{Name: "direction-said", Requirements: []string{"I18N-015"}, Level: 1, Strength: Must, plays: []string{"stream"}, beside: runsBeside,
		Rule: "an event whose text mixes letters that are written from the left and from the right says text_direction auto, or the text has the signs of Unicode for it",
		Judge: eachEvent(func(m message) string {
			text := m.stringMember("chunk") + m.stringMember("summary_normal")
			if said, _ := m.objectMember("localization_hints")["text_direction"].(string); said != "auto" && mixesDirections(text) {
				return shortName(m) + " mixes two directions, and says " + quoteText(cmp.Or(said, "ltr")) + " of its text"
			}
			return ""
		})},
	{Name: "no-secrets", Requirements: []string{"SEC-010", "EVT-045", "EVT-011"}, Level: 1, Strength: Must,
		beside: runsBeside,
		Rule:   "no key, password or card number is in a field that people read or a log keeps",
		Judge: eachEvent(func(m message) string {
			if name, kind := findSecret(m.members); kind != "" {
				return fmt.Sprintf("%s of %s holds what looks like a secret: %s", name, shortName(m), kind)
			}
			return ""
		})},
}

// mixesDirections reports whether a text has letters of both directions, and none of the signs of
// Unicode that say where each begins.
func mixesDirections(text string) bool {
	var left, right bool
	for _, r := range text {
		switch p, _ := bidi.LookupRune(r); p.Class() {
		case bidi.L:
			left = left || r != '\u200e'
		case bidi.R, bidi.AL:
			right = right || r != '\u200f'
		}
	}
	return left && right && !strings.ContainsAny(text, "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
}

// isBlank reports whether a text has no sign that could be seen or heard.
func isBlank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }) == ""
}

// The members of an event that may differ between its subscribers: its words (§5.9), and what
// depends on what was merged for them, or is shared in all languages.
var (
	ownMembers = []string{"summary_terse", "summary_normal", "summary_detailed", "verbosity", "localization_hints",
		"chunk", "position", "complete", "coalesce_hint", "sequence_number", "from_state", "timestamp", "@context", "extensions"}
	sharedMembers = []string{"reply_token", "timeout_seconds", "default_decision", "default_response", "risk_level",
		"irreversible", "reversibility", "accepted_response_kinds", "tool", "tool_call_id", "status", "target_kind",
		"error_category", "error_code", "cancelled_by", "to_state"}
)

// judgeSameIDs compares what came to two subscribers under one event_id: the type, the session and,
// in one language, every member but those that are each subscriber's own. It is inconclusive unless
// events came to both.
func judgeSameIDs(r *Recording) Finding {
	both, last := 0, Entry{}
	first := map[string]message{}
	for link := range r.linkCount() {
		own := map[string]bool{}
		for _, m := range r.eventsOn(link) {
			id := m.stringMember("event_id")
			other, ok := first[id]
			if own[id] { // twice to one subscriber, which is for another case
				continue
			}
			if own[id] = true; !ok {
				first[id] = m
				continue
			}
			if problem := differsFrom(m, other); problem != "" {
				return failFinding(problem, other.Entry, m.Entry)
			}
			both, last = both+1, m.Entry
		}
	}
	if len(r.eventsOn(0)) == 0 || len(r.eventsOn(1)) == 0 {
		return inconclusiveFinding("no event came to both subscribers")
	}
	return passFinding(fmt.Sprintf("%d events came to both, under one id each", both), last)
}

// differsFrom returns what differs, and may not, between an event and the one that came to another
// subscriber under the same id; "" where nothing does. In two languages only sharedMembers are
// compared.
func differsFrom(m, other message) string {
	isSameEvent := other.compactType() == m.compactType() &&
		other.stringMember("session_id") == m.stringMember("session_id")
	if !isSameEvent {
		return fmt.Sprintf("the event_id of %s is that of %s to another subscriber", shortName(other), shortName(m))
	}
	shared := sharedMembers
	if other.primaryLanguage() == m.primaryLanguage() {
		names := slices.Concat(slices.Sorted(maps.Keys(other.members)), slices.Sorted(maps.Keys(m.members)))
		shared = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(ownMembers, name) })
	}
	for _, name := range shared {
		if jsonText(other.members[name]) != jsonText(m.members[name]) {
			return fmt.Sprintf("%s says another %s to another subscriber", shortName(m), name)
		}
	}
	return ""
}

// isVersionAbove reports whether a version is above another by its three numbers. What is none is
// for the schemas.
func isVersionAbove(version, other string) bool {
	numbers := func(v string) (n [3]int) {
		_, _ = fmt.Sscanf(v, "%d.%d.%d", &n[0], &n[1], &n[2])
		return n
	}
	a, b := numbers(version), numbers(other)
	return slices.Compare(a[:], b[:]) > 0
}

// findSecret returns the name of a member that holds what looks like a secret, and what kind of
// one, also where it is within other members; both are "" where there is none. A reply_token and
// ids are passed over.
func findSecret(o object) (name, kind string) {
	for name, value := range o {
		if name == "reply_token" || strings.HasSuffix(name, "_id") {
			continue
		}
		list, is := value.([]any)
		if !is {
			list = []any{value}
		}
		for _, v := range list {
			switch v := v.(type) {
			case string:
				if kind, found := secrets.Find(v); found {
					return name, kind
				}
			case object:
				if inner, kind := findSecret(v); kind != "" {
					return name + "." + inner, kind
				}
			}
		}
	}
	return "", ""
}

// judgeStamps judges that stamps go with the clock of the runner, within a second, in sessions in
// which time goes by. The two clocks may be up to ten minutes apart.
func judgeStamps(r *Recording) Finding {
	list := r.eventsOn(0)
	var first message
	for _, m := range list {
		at, ok := aaep.ParseTimestamp(m.stringMember("timestamp"))
		if !ok {
			continue
		}
		if apart := at.Sub(m.At).Abs(); apart > 10*time.Minute {
			return failFinding(fmt.Sprintf("the timestamp of %s is %v away from when it came", shortName(m),
				apart.Round(time.Second)), m.Entry)
		}
		if first.Data == nil {
			first = m
		}
		began, _ := aaep.ParseTimestamp(first.stringMember("timestamp"))
		if went, by := m.At.Sub(first.At), at.Sub(began); (went - by).Abs() > time.Second {
			return failFinding(fmt.Sprintf("%s came %v after the first event, and its timestamp is %v after that one's", shortName(m),
				went.Round(time.Millisecond), by.Round(time.Millisecond)), first.Entry, m.Entry)
		}
	}
	return passIfAny(len(list), "timestamps went with the clock")
}

// shortName returns the type of a message without its prefix, for a finding.
func shortName(m message) string {
	name := strings.TrimPrefix(m.compactType(), "aaep:agent.")
	if name == "" {
		return "a message without a type"
	}
	return name
}

// passIfAny passes if there was anything to judge.
func passIfAny(n int, what string) Finding {
	if n == 0 {
		return inconclusiveFinding("no event came")
	}
	return passFinding(fmt.Sprintf("%d %s", n, what))
}

// eachEvent makes a judge of a recording of wrong, which returns what is wrong with one event, or
// "". It fails with the first event, to any subscriber, that something is wrong with; without
// events it is inconclusive.
func eachEvent(wrong func(message) string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		n := 0
		for link := range r.linkCount() {
			for _, m := range r.eventsOn(link) {
				if text := wrong(m); text != "" {
					return failFinding(text, m.Entry)
				}
				n++
			}
		}
		return passIfAny(n, "events were right")
	}
}

// eventRows are decided by each event alone.
var eventRows = strings.Fields(`
	CONF-007 ENV-002 ENV-003 ENV-006 ENV-008 ENV-009 ENV-011 ENV-012 ENV-017 ENV-020 ENV-024 ENV-025 ENV-029 ENV-031 ENV-033
	ENV-035 ENV-036 ENV-037 ENV-038 ENV-039 ENV-040 ENV-046 ENV-047 ENV-051 ENV-052 ENV-053 ENV-055 ENV-064 ENV-066 ENV-068 EVT-006
	EVT-007 EVT-008 EVT-009 EVT-010 EVT-013 EVT-015 EVT-017 EVT-018 EVT-020 EVT-021 EVT-024 EVT-025 EVT-028 EVT-034 EVT-035
	EVT-036 EVT-039 EVT-040 EVT-044 EVT-046 EVT-047 EVT-048 EVT-049 EVT-054 EVT-055 EVT-062 EVT-063 EVT-064 EVT-065 EVT-066
	EVT-068 EVT-069 EVT-070 EVT-071 EVT-073 EVT-074 EVT-075 EVT-080 EVT-082 EVT-083 EVT-084 EVT-085 EVT-087 EVT-089 EVT-095
	EXT-001 EXT-002 EXT-003 EXT-009 EXT-010 I18N-002 TERM-004 TERM-005`)

// answerRows are decided by each answer alone.
var answerRows = strings.Fields(`
	HS-015 HS-017 HS-019 HS-023 HS-025 HS-030 HS-032 HS-035 HS-037 HS-039 HS-046 HS-048 HS-060 HS-092 HS-093`)

// elsewhere are requirements that validation knows and other cases decide, or that are no MUST.
var elsewhere = []string{"ENV-021", "ENV-049", "ENV-058", "ENV-059", "ENV-060", "ENV-061", "CONF-031", "CONF-034",
	"EVT-072"}

// judgeEvents is judgeValid for a scenario run in which events must come: without any to the first
// subscriber it is inconclusive.
func judgeEvents(r *Recording) Finding {
	f := judgeValid(r)
	if f.Verdict == Pass && len(r.eventsOn(0)) == 0 {
		return inconclusiveFinding("no event came")
	}
	return f
}

// judgeValid asks the schemas and the core about every message that came; each that is invalid is a
// problem. The order of messages, and rules that other cases judge, are left to those. A flood of
// messages fails.
func judgeValid(r *Recording) Finding {
	n := 0
	var wrong []problem
	for _, e := range r.Entries {
		if e.Note == noteFlood {
			return failFinding(fmt.Sprintf("more than %d messages or %d MiB came", maxEntries, maxBytes>>20), e)
		}
		if e.Data == nil || e.Sent || e.Note != "" {
			continue
		}
		n++
		c := check.Checker{}
		for _, f := range c.Message(1, e.Data) {
			isUnknownType := f.Requirement == "EVT-003" && f.Pointer == "/type"
			isForOtherCase := isOwnRule(f.Requirement) || slices.Contains(elsewhere, f.Requirement) ||
				noSummary(f, e.Data) || isUnknownType
			if f.Note || isForOtherCase {
				continue
			}
			what := f.Type
			if what == "" {
				what = "a message"
			}
			wrong = append(wrong, problem{strings.TrimSpace(fmt.Sprintf("%s: %s %s (%s)", what, f.Pointer, f.Problem,
				f.Requirement)), e})
		}
	}
	if len(wrong) > 0 {
		return Finding{Verdict: Fail, problems: wrong}
	}
	return passIfAny(n, "messages were valid")
}

// noSummary reports whether what is wrong is that there is no summary_normal, which a case of its
// own decides.
func noSummary(f check.Finding, data []byte) bool {
	if f.Pointer != "/summary_normal" && !strings.Contains(f.Problem, "summary_normal") {
		return false
	}
	var o object
	_ = jsonv2.Unmarshal(data, &o) // what cannot be read has no summary either
	text, _ := o["summary_normal"].(string)
	return strings.TrimSpace(text) == ""
}
