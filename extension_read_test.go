package aaep

import (
	"encoding/json"
	"strings"
	"testing"
)

// A field without a tag is never silently zero because of upper and lower case; everything else
// that a value has no room for is passed over.
func TestReadMissesNoField(t *testing.T) {
	type inner struct{ Unit string }
	type dose struct {
		Mg     int
		Tagged int `json:"tagged"`
		Inner  *inner
		List   []inner
		By     map[string]inner
		inner
	}
	v := Vocabulary{Prefix: "med", URI: "https://med.example/v1"}
	for object, want := range map[string]string{
		`{"Mg":1,"other":2,"Tagged":3}`:        "",
		`{"Mg":1,"mg":2}`:                      "",
		`{"Inner":{"Unit":"g"},"Unit":"g"}`:    "",
		`{"mg":1}`:                             "/mg",
		`{"MG":1}`:                             `json:"MG"`,
		`{"Inner":{"unit":"g"}}`:               "/Inner/unit",
		`{"List":[{"Unit":"g"},{"unit":"g"}]}`: "/List/1/unit",
		`{"By":{"day":{"UNIT":"g"}}}`:          "/By/day/UNIT",
		`{"unit":"g"}`:                         "/unit",
	} {
		var d dose
		err := v.Read(json.RawMessage(object), &d)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", object, err, want)
		}
	}
	type tree struct {
		Left, Right *tree
		N           int
	}
	if err := v.Read(json.RawMessage(`{"Left":{"Right":{"n":1}}}`), new(tree)); err == nil {
		t.Error("the n of a tree is missed")
	}
	var any any
	if err := v.Read(json.RawMessage(`{"mg":1}`), &any); err != nil {
		t.Error(err)
	}
}

// Two extensions cannot share a prefix in one message: the second is refused, and takes nothing
// from the first.
func TestAddExtensionKeepsAnotherOnes(t *testing.T) {
	first, second := Vocabulary{Prefix: "med", URI: "https://med.example/v1"},
		Vocabulary{Prefix: "med", URI: "https://other.example/v1"}
	ev, caps := &Event{Payload: &SessionStarted{}}, &Capabilities{}
	for name, add := range map[string]func(Vocabulary, any) error{"event": ev.AddExtension,
		"capabilities": caps.AddExtension} {
		for _, data := range []map[string]int{{"mg": 1}, {"mg": 2}} {
			if err := add(first, data); err != nil {
				t.Fatal(err)
			}
		}
		if err := add(second, map[string]int{"mg": 3}); err == nil || !strings.Contains(err.Error(), second.URI) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := string(ev.Extensions["med"]) + string(caps.Extensions["med"]); got != `{"mg":2}{"mg":2}` {
		t.Errorf("there is %s", got)
	}
}

// What an event of an extension's own type says is read only by who speaks its version: 1 is a
// gram to one, and a milligram to the other.
func TestReadExtensionOfOwnType(t *testing.T) {
	v1, v2 := Vocabulary{Prefix: "med", URI: "https://med.example/v1"}, Vocabulary{Prefix: "med", URI: "https://med.example/v2"}
	type dose struct {
		Amount int `json:"amount"`
	}
	event := func(kind, rest string) *Event {
		m, err := Decode([]byte(`{"@context":["` + CoreContext + `","` + v1.URI + `"],"type":"` + kind + `","event_id":"evt_1",` +
			`"session_id":"sess_1","timestamp":"2026-01-01T00:00:00Z","producer":{"agent_id":"nurse"},"summary_normal":"Due."` + rest + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return m.(*Event)
	}
	for name, c := range map[string]struct {
		ev   *Event
		v    Vocabulary
		ok   bool
		want int
	}{
		"its version":          {event("med:due", `,"amount":1`), v1, true, 1},
		"another version":      {event("med:due", `,"amount":1`), v2, false, 0},
		"another prefix":       {event("medic:due", `,"amount":1`), v1, false, 0},
		"no members":           {event("med:due", ``), v1, true, 0},
		"data besides members": {event("med:due", `,"amount":1,"extensions":{"med":{"amount":2}}`), v1, true, 1},
		"a core event": {event("aaep:agent.session.completed", `,"amount":1,"extensions":{"med":{"amount":2}}`), v1,
			true, 2},
	} {
		var got dose
		ok, err := c.ev.ReadExtension(c.v, &got)
		if ok != c.ok || got.Amount != c.want || err != nil {
			t.Errorf("%s: %t, %d, %v; want %t, %d", name, ok, got.Amount, err, c.ok, c.want)
		}
	}
}
