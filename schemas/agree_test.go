package schemas_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/schemas"
)

// The hand-written checks and the schemas may differ only in these ways.
const (
	// Both are right; they look at different things.
	readsEmptyAsAbsent = "a present empty string is absent to Decode; it is never written"
	dropsUnknown       = "Decode drops what it does not know inside of known objects and in handshake messages"
	readsAnyTime       = "Decode reads any fraction and lower case in a reply, which has no diagnostics"
	countsBytes        = "texts of events are limited in bytes, which a schema cannot count"
	countsIsolates     = "a schema cannot see whether bidirectional isolates are balanced"
	comparesMembers    = "a schema cannot compare step with total_steps"
	checksStrings      = "aaep.Validate also keeps strings that are for programs within 16384 bytes and free of controls"
	echoesIDs          = "a subscription id is checked where it is minted; elsewhere it is an echo of the peer's"

	// The hand-written check is stricter, and right; the schema could follow.
	missesPrefix = "the schema of capabilities does not look at the prefixes of extensions"
)

// mustDiffer are the differences that cannot go away.
var mustDiffer = []string{
	readsEmptyAsAbsent, dropsUnknown, readsAnyTime, countsBytes, countsIsolates, comparesMembers,
	checksStrings, echoesIDs,
}

// A mutation changes the member at a place; last is the member's name.
type mutation struct {
	name, value string
}

var mutations = []mutation{
	{"missing", ``}, {"null", `null`}, {"false", `false`}, {"true", `true`}, {"list", `[]`}, {"list of empty", `[""]`},
	{"list of twins", `["en","en"]`}, {"object", `{}`}, {"object of number", `{"a":1}`},
	{"object of object", `{"a":{}}`},
	{"reserved prefix", `{"aaep":{}}`},
	{"zero", `0`}, {"one", `1`}, {"integral", `3.0`}, {"fraction", `1.5`}, {"negative", `-1`}, {"large", `86401`},
	{"larger", `100001`}, {"a day and more", `86400001`}, {"2^53", `9007199254740992`}, {"too large", `1e300`},
	{"empty", `""`}, {"word", `"word"`}, {"upper", `"WORD"`}, {"words", `"two words"`}, {"newline", `"word\n"`},
	{"escape", `"a\u001bb"`}, {"override", `"a\u202eb"`}, {"open isolate", `"a\u2066b"`},
	{"isolate", `"a\u2066b\u2069"`},
	{"private", `"\ue000"`}, {"stray tag", `"a\udb40\udc67"`}, {"flag", `"\ud83c\udff4\udb40\udc67\udb40\udc7f"`},
	{"64", quoteText(strings.Repeat("a", 64))}, {"65", quoteText(strings.Repeat("a", 65))},
	{"257", quoteText(strings.Repeat("a", 257))}, {"1025", quoteText(strings.Repeat("a", 1025))},
	{"4096", quoteText(strings.Repeat("a", 4096))}, {"4097", quoteText(strings.Repeat("a", 4097))},
	{"16384", quoteText(strings.Repeat("a", 16384))}, {"16385", quoteText(strings.Repeat("a", 16385))},
	{"4096 wide", quoteText(strings.Repeat("é", 4096))},
	{"id evt", `"evt_1"`}, {"id sub", `"sub_1"`}, {"id dash", `"evt_a-b"`}, {"tag", `"zh-Hant-TW"`},
	{"tag line", `"en_US"`},
	{"media", `"text/plain"`}, {"media parameter", `"text/plain;charset=utf-8"`}, {"version", `"1.9.0-rc.1"`},
	{"uri", `"https://example.org/a?b#c"`}, {"urn", `"urn:a:b"`}, {"file", `"file:///a"`}, {"no host", `"https://"`},
	{"no path", `"mailto:"`}, {"path", `"/a/b"`}, {"blank uri", `"https://example.org/a b"`},
	{"wide uri", `"https://example.org/é"`},
	{"millis", `"2026-07-01T09:30:00.120Z"`}, {"no fraction", `"2026-07-01T11:30:00+02:00"`},
	{"nanos", `"2026-07-01T09:30:00.123456789Z"`}, {"lower", `"2026-07-01t09:30:00z"`},
	{"comma", `"2026-07-01T09:30:00,120Z"`},
	{"month 13", `"2026-13-01T09:30:00Z"`}, {"accept", `"accept"`}, {"normal", `"normal"`}, {"critical", `"critical"`},
	{"irreversible", `"irreversible"`}, {"kind", `["freetext"]`}, {"type", `"aaep:agent.state.changed"`},
	{"type uri", `"https://aaep-protocol.org/types/agent.state.changed"`}, {"type new", `"aaep:agent.state.lost"`},
	{"type medai", `"medai:vitals"`}, {"type bare", `"vitals"`},
}

// triedElsewhere reports whether a place belongs to the envelope or to the capabilities, which one
// type tries for all.
func triedElsewhere(typ, at string) bool {
	if typ == "aaep:agent.session.started" || typ == "subscription.request" {
		return false
	}
	member, _, _ := strings.Cut(at[1:], "/")
	switch member {
	case "type":
		return typ != "aaep:agent.state.changed"
	case "@context", "aaep_version", "event_id", "session_id", "sequence_number", "producer", "verbosity",
		"localization_hints", "extensions", "summary_terse", "summary_detailed", "summary_normal_yo_ng":
		return true
	}
	return strings.Contains(at, "capabilities/")
}

// knownDifference returns the documented difference that explains why the two judgements on one
// mutation differ, or "".
func knownDifference(at string, m mutation, hand, schema bool) string {
	last := at[strings.LastIndexByte(at, '/')+1:]
	switch {
	case schema && !hand: // what a schema cannot say
		switch {
		case strings.Contains(m.name, "wide"):
			return countsBytes
		case m.name == "open isolate":
			return countsIsolates
		case last == "step" || last == "total_steps":
			return comparesMembers
		case m.name == "reserved prefix":
			return missesPrefix
		case last == "correlation_id" || last == "calendar" || strings.HasPrefix(at, "/allowed_replies/"):
			return checksStrings
		}
	case hand && !schema:
		switch {
		case last == "unknown" || strings.HasPrefix(last, "summary_normal_"),
			strings.HasPrefix(m.value, `{"a`) && (last == "localization_hints" || last == "event_filters"):
			return dropsUnknown
		case last == "subscription_id":
			return echoesIDs
		case m.name == "empty":
			return readsEmptyAsAbsent
		case last == "timestamp":
			return readsAnyTime
		}
	}
	return ""
}

func TestAgreement(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	tried := 0
	t.Run("all", func(t *testing.T) {
		for name, data := range encodedInstances(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				differ, n := findDisagreements(t, name, data)
				mu.Lock()
				defer mu.Unlock()
				tried += n
				for _, why := range differ {
					seen[why]++
				}
			})
		}
	})
	if tried < 10000 {
		t.Errorf("only %d mutations tried", tried)
	}
	for _, why := range mustDiffer {
		if seen[why] == 0 {
			t.Errorf("this difference no longer occurs; take it off the list: %s", why)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%d of %d times: %s", seen[why], tried, why)
	}
}

// findDisagreements tries every mutation at every place and returns the differences it met.
func findDisagreements(t *testing.T, name string, data []byte) (differ []string, tried int) {
	_, typ, _ := strings.Cut(name, " ")
	var root any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	for _, at := range memberPointers(root, "") {
		if triedElsewhere(typ, at) {
			continue
		}
		for _, m := range mutations {
			switch last := at[strings.LastIndexByte(at, '/')+1:]; {
			case last == "unknown" && m.name != "one": // one value is enough for it
				continue
			case m.value == "" && strings.Trim(last, "0123456789") == "": // an entry of a list is not left out
				continue
			}
			changed := changeMember(t, data, at, m.value)
			hand, schema := handCheck(changed), schemas.Validate(changed)
			tried++
			if (hand == nil) == (schema == nil) {
				continue
			}
			why := knownDifference(at, m, hand == nil, schema == nil)
			if why == "" {
				t.Errorf("with %s %s:\n  by hand: %v\n  by schema: %v", at, m.name, hand, schema)
			}
			differ = append(differ, why)
		}
	}
	return differ, tried
}

// handCheck is what the hand-written checks say of a text: what Decode refuses, what it reads
// liberally although it is invalid, and what Validate finds. What the schemas leave open is no
// defect here.
func handCheck(data []byte) error {
	m, err := aaep.Decode(data)
	if err != nil {
		return err
	}
	if e, ok := m.(*aaep.Event); ok {
		for _, v := range e.Diagnostics {
			if !strings.HasPrefix(v.Requirement, "D-") && v.Requirement != "I18N-001" {
				return &aaep.InvalidError{Message: e.MessageType(), Violations: []aaep.Violation{v}}
			}
		}
	}
	return aaep.Validate(m)
}

// memberPointers returns the pointers of all members, and in each object of one that is not there.
func memberPointers(v any, at string) []string {
	var all []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range append(slices.Sorted(maps.Keys(v)), "unknown") {
			p := at + "/" + name
			all = append(append(all, p), memberPointers(v[name], p)...)
		}
	case []any:
		for i, item := range v {
			p := fmt.Sprintf("%s/%d", at, i)
			all = append(append(all, p), memberPointers(item, p)...)
		}
	}
	return all
}
