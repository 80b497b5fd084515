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
