package bridge_test

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aaep-go/aaep/internal/bridge"
)

// The examples of RFC 6902, appendix A, and patches that do not fit.
func TestApplyPatch(t *testing.T) {
	for _, test := range []struct{ before, patch, after string }{
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"baz":"qux","foo":"bar"}`},
		{`{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		{`{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		{`{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`,
			`[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`,
			`{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`},
		{`{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`,
			`{"foo":["all","cows","eat","grass"]}`},
		{`{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		{`{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`, ""},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`,
			`{"foo":"bar","child":{"grandchild":{}}}`},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`, ""},
		{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		{`{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},
		{`{"a":{"b":1}}`, `[{"op":"copy","from":"/a","path":"/c"},{"op":"replace","path":"/c/b","value":2}]`,
			`{"a":{"b":1},"c":{"b":2}}`},
		{`{"a":1}`, `[{"op":"replace","path":"","value":[1]}]`, `[1]`},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`, ""},
		{`[1,2]`, `[{"op":"replace","path":"/2","value":3}]`, ""},
		{`[1,2]`, `[{"op":"replace","path":"/01","value":3}]`, ""},
		{`[1,2]`, `[{"op":"add","path":"/3","value":3}]`, ""},
		{`{"a":1}`, `[{"op":"replace","path":"/b","value":3}]`, ""},
		{`{"a":1}`, `[{"op":"replace","path":"b","value":3}]`, ""},
		{`{"a":1}`, `[{"op":"burn","path":"/a"}]`, ""},
		{`{"a":1}`, `[{"op":"add","path":"/b"}]`, ""},
	} {
		var before, kept, want any
		var patch []bridge.PatchOperation
		for text, into := range map[string]any{test.before: &before, test.patch: &patch} {
			if err := bridge.Decode([]byte(text), into); err != nil {
				t.Fatal(text, err)
			}
		}
		json.Unmarshal([]byte(test.before), &kept)
		got, err := bridge.ApplyPatch(before, patch)
		if (err != nil) != (test.after == "") {
			t.Errorf("%s of %s: %v", test.patch, test.before, err)
		}
		if test.after != "" {
			json.Unmarshal([]byte(test.after), &want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s of %s: %v, want %s", test.patch, test.before, got, test.after)
			}
		}
		if !reflect.DeepEqual(before, kept) {
			t.Errorf("%s of %s changed the value itself to %v", test.patch, test.before, before)
		}
	}
}

// No patch and no value makes a panic.
func FuzzApplyPatch(f *testing.F) {
	f.Add(`{"a":[1,{"b":2}]}`, `[{"op":"move","from":"/a/0","path":"/a/-"},{"op":"remove","path":"/a/1/b"}]`)
	f.Fuzz(func(t *testing.T, value, patch string) {
		var v any
		var p []bridge.PatchOperation
		if bridge.Decode([]byte(value), &v) == nil && bridge.Decode([]byte(patch), &p) == nil {
			if after, err := bridge.ApplyPatch(v, p); err == nil {
				bridge.Changes(v, after)
			}
		}
	})
}

func TestReadEvents(t *testing.T) {
	const text = ": a comment\nid: 7\ndata: one\n\ndata:two\r\ndata: more\r\n\r\nevent: x\n\ndata: half"
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
		var got []string
		err := bridge.ReadEvents(r, func(data []byte) error { got = append(got, string(data)); return nil })
		if want := []string{"one", "two\nmore"}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	endless := io.MultiReader(strings.NewReader("data: "), iotest.DataErrReader(io.LimitReader(zeros{}, 1<<30)))
	if err := bridge.ReadEvents(endless, func([]byte) error { return nil }); err == nil {
		t.Error("an event without an end is read")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestDescribe(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":2,"a":{"x":true,"y":null}}`:       "a x is yes, a y is empty, b is 2",
		`[1,"two"]`:                             "1 is 1, 2 is two",
		`{"l":[{"a":1},{"a":2}]}`:               "l is a list of 2",
		`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}`: "a is 1, b is 2, c is 3, d is 4, e is 5, and 1 more",
		`"\u001b[2J"`:                           "<U+001B>[2J",
		`{`:                                     "data that cannot be read",
		strings.Repeat("[", 99) + strings.Repeat("]", 99): "data that cannot be read",
	} {
		if got := bridge.Describe([]byte(text)); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}
