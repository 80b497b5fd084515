package aaep_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// membersOf is memberNames for a type that is known at run time.
func membersOf(t *testing.T, data []byte) (names []string, values map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return names, values
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		default:
			name, ok := token.(string)
			if depth != 1 || !ok {
				continue
			}
			names = append(names, name)
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// encodeObject returns a JSON object of the members with these names, in this order.
func encodeObject(names []string, values map[string]json.RawMessage) []byte {
	var b bytes.Buffer
	for _, name := range names {
		b.WriteString(`,"` + name + `":`)
		b.Write(values[name])
	}
	return append(append([]byte("{"), b.Bytes()[1:]...), '}')
}

// wholeEvent returns an event with every member of the envelope.
func wholeEvent(p aaep.Payload) *aaep.Event {
	e := eventWith(p, withPrefixed("medai", `{"a":[1,{"b":2}]}`))
	e.SequenceNumber, e.CorrelationID = pointerTo(int64(3)), "trace"
	return e
}

// ENV-057: the recommended order of §3.6, for every type.
func TestEncodeOrder(t *testing.T) {
	first := strings.Fields("@context aaep_version type event_id session_id sequence_number timestamp producer verbosity urgency localization_hints correlation_id")
	for _, p := range append(allPayloads(), &aaep.ExtensionPayload{Type: "medai:vitals"}) {
		data, err := aaep.Encode(wholeEvent(p))
		if err != nil {
			t.Fatal(err)
		}
		names, _ := membersOf(t, data)
		if !slices.Equal(names[:len(first)], first) || names[len(names)-1] != "extensions" {
			t.Errorf("%s has its members in the order %v", p.EventType(), names)
		}
	}
}

// ENV-056: any order of members is read the same. ENV-065: with blanks and without. D-14.
func TestDecodeTakesAnyOrderAndLayout(t *testing.T) {
	for _, p := range allPayloads() {
		want := wholeEvent(p)
		data, err := aaep.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		names, values := membersOf(t, data)
		for range 20 {
			rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			shuffled := encodeObject(names, values)
			if got := decodeEvent(t, string(shuffled)); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s is read as %+v", shuffled, got)
			}
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, data, "\t", " \r\n\t"); err != nil {
			t.Fatal(err)
		}
		if got := decodeEvent(t, pretty.String()); !reflect.DeepEqual(normalize(t, got), want) {
			t.Errorf("%s is read as %+v", pretty.String(), got)
		}
	}
}

// TERM-001: no part of an event is taken for one.
func TestDecodeTakesNoPart(t *testing.T) {
	data, err := aaep.Encode(wholeEvent(allPayloads()[9]))
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		if m, err := aaep.Decode(data[:i]); err == nil {
			t.Fatalf("%s is read as %v", data[:i], m)
		}
	}
}

// The members that must be there, type by type: without one of them an event is refused on either
// side.
func TestRequiredMembers(t *testing.T) {
	// EVT-001, EXT-010: the full envelope on every type.
	const envelope = "@context type event_id session_id timestamp producer "
	for typ, c := range map[aaep.Type]struct{ requirement, members string }{
		aaep.TypeSessionStarted:        {"EVT-006", "summary_normal"},
		aaep.TypeSessionCompleted:      {"EVT-013", "summary_normal"},
		aaep.TypeSessionErrored:        {"EVT-017", "error_category summary_normal"},
		aaep.TypeSessionCancelled:      {"EVT-024", "cancelled_by summary_normal"},
		aaep.TypeStateChanged:          {"EVT-028", "from_state to_state"},
		aaep.TypeProgressUpdated:       {"EVT-034", "progress"},
		aaep.TypeToolInvoked:           {"EVT-039", "tool summary_normal"},
		aaep.TypeToolCompleted:         {"EVT-048", "tool status"},
		aaep.TypeOutputStreaming:       {"EVT-054", "chunk position complete"},
		aaep.TypeAwaitingConfirmation:  {"EVT-066", "action consequence reply_token timeout_seconds default_decision"},
		aaep.TypeAwaitingClarification: {"EVT-080", "question reply_token timeout_seconds"},
		aaep.TypeHandoffRequested:      {"EVT-087", "reason target_kind"},
		"medai:vitals":                 {"EXT-010", ""},
	} {
		var p aaep.Payload = &aaep.ExtensionPayload{Type: typ}
		for _, core := range allPayloads() {
			if core.EventType() == typ {
				p = core
			}
		}
		data, err := aaep.Encode(wholeEvent(p))
		if err != nil {
			t.Fatal(err)
		}
		names, values := membersOf(t, data)
		for _, member := range strings.Fields(envelope + c.members) {
			without := encodeObject(slices.DeleteFunc(slices.Clone(names),
				func(name string) bool { return name == member }), values)
			m, err := aaep.Decode(without)
			if err == nil {
				err = aaep.Validate(m)
			}
			if e, ok := m.(*aaep.Event); ok && err == nil {
				err = deviationsOf(e)
			}
			if err == nil {
				t.Errorf("%s: %s without %s passes", c.requirement, typ, member)
			}
		}
	}
	for n, want := range map[int]bool{0: false, 1: true, 16384: true, 16385: false} { // EVT-006
		if got := isValid(func(e *aaep.Event) { e.Summary.Normal = strings.Repeat("a", n) }); got != want {
			t.Errorf("a summary of %d characters passes: %v", n, got)
		}
	}
}

// TERM-004: no type takes a member of the producer's own.
func TestClosedEnvelope(t *testing.T) {
	for _, p := range allPayloads() {
		if _, err := aaep.Encode(eventWith(p, withUnknown(`{"custom_field":1}`))); err == nil ||
			!strings.Contains(err.Error(), "ENV-055") {
			t.Errorf("%s with a member of its own: %v", p.EventType(), err)
		}
	}
}

// ENV-062: 100 KiB, 40 members, 12 levels.
func TestDecodeTakesMoreThanTheSoftLimits(t *testing.T) {
	e := decodeEvent(t, publishedEvent("aaep:agent.session.started",
		`,"request_text":"`+strings.Repeat("a", 100<<10)+`","extensions":{"medai":`+nestedJSON(10)+`},`+
			manyMembers(40)[1:len(manyMembers(40))-1]))
	if len(e.Payload.(*aaep.SessionStarted).RequestText) != 100<<10 || len(e.Extensions["medai"]) < 20 ||
		e.Summary.Normal == "" {
		t.Errorf("an event above the limits lost something")
	}
}

// EVT-031, EVT-032: the set of states is open, and an unknown one can be said.
func TestUnknownState(t *testing.T) {
	e := decodeEvent(t, strings.Replace(publishedEvent("aaep:agent.state.changed",
		`,"from_state":"thinking","to_state":"juggling_balls"`), `"summary_normal":"Something happened.",`, "", 1))
	if p := e.Payload.(*aaep.StateChanged); p.ToState != "juggling_balls" ||
		e.Text("") != "The agent is now: juggling balls." {
		t.Errorf("%+v says %q", p, e.Text(""))
	}
}
