package form

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// A choice is text, a number, true or false: of an object no person can type which is meant, and
// two of them cannot be compared.
func TestChoices(t *testing.T) {
	for _, tc := range []struct {
		value string
		ok    bool
	}{{`"a"`, true}, {"1", true}, {"true", true}, {`{"a":1}`, false}, {"[1]", false}, {"null", false}} {
		for _, schema := range []string{
			`{"properties":{"f":{"type":"array","items":{"anyOf":[{"const":` + tc.value + `,"title":"A"}]}}}}`,
			`{"properties":{"f":{"type":"array","items":{"enum":[` + tc.value + `]}}}}`,
			`{"properties":{"f":{"type":"string","oneOf":[{"const":` + tc.value + `,"title":"A"}]}}}`,
		} {
			questions, err := Questions("Which?", []byte(schema))
			if (err == nil) != tc.ok {
				t.Errorf("%s: %v", schema, err)
			}
			for _, q := range questions {
				q.convertAnswer("A, A")
			}
		}
	}
}

// What a person chose is what the form gets, also where the label of one choice is the value of
// another, two have the same label, or a label has commas.
func TestChosen(t *testing.T) {
	const scale = `[{"const":"1","title":"5"},{"const":"3","title":"3, so so"},{"const":"5","title":"1"}]`
	choice := `{"properties":{"f":{"type":"string","oneOf":` + scale + `}}}`
	several := `{"properties":{"f":{"type":"array","items":{"anyOf":` + scale + `}}}}`
	cities := `{"properties":{"f":{"type":"string","oneOf":[{"const":"us","title":"Berlin"},{"const":"de","title":"Berlin"}]}}}`
	for _, tc := range []struct {
		schema, answer, want string
	}{
		{choice, "1", "1"}, {choice, "5", "5"}, {several, "1", "[5]"}, {several, "5", "[1]"},
		{several, "3, so so", "[3]"}, {several, "5, 3, SO SO,1", "[1 3 5]"}, {cities, "de", "de"},
		{`{"properties":{"f":{"type":"array","items":{"enum":["-","b"]}}}}`, "-", "[-]"}, {several, "-", "[]"},
		{`{"properties":{"f":{"type":"array","minItems":2,"items":{"enum":["a","b"]}}}}`, "a", ""},
		{`{"properties":{"f":{"type":"array","minItems":2,"items":{"enum":["a","b"]}}}}`, "a, b", "[a b]"},
		{`{"properties":{"f":{"type":"string","minLength":2,"maxLength":3}}}`, "é", ""},
		{`{"properties":{"f":{"type":"string","minLength":2,"maxLength":3}}}`, "éééé", ""},
		{`{"properties":{"f":{"type":"string","minLength":2,"maxLength":3}}}`, "ééé", "ééé"},
		{several, "3, so", ""}, {several, strings.Repeat(",", 1<<16), ""},
	} {
		questions, err := Questions("Which?", []byte(tc.schema))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := questions[0].convertAnswer(tc.answer)
		if ok != (tc.want != "") || ok && fmt.Sprint(got) != tc.want {
			t.Errorf("%s: %.20q gives %v, want %s", tc.schema, tc.answer, got, tc.want)
		}
	}
	questions, _ := Questions("Which?", []byte(cities))
	for i, want := range []string{"Berlin (us)", "Berlin (de)"} {
		if got := questions[0].Choices[i].Label; !reflect.DeepEqual(got, aaep.Say(want)) {
			t.Errorf("the choice %d is called %v, want %s", i, got, want)
		}
	}
}

// A number outside of what the form takes is asked for again, for the form would fail with it, and
// the person is told the limits.
func TestLimits(t *testing.T) {
	questions, err := Questions("Booking.", []byte(`{"properties":{"nights":{"type":"integer","minimum":1,"maximum":3.5}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := questions[0].Context; !reflect.DeepEqual(got, aaep.Say("Booking.\nAt least 1, at most 3.5.")) {
		t.Errorf("beside the question stands %v", got)
	}
	for answer, want := range map[float64]bool{0: false, 1: true, 2.5: false, 3: true, 4: false} {
		if _, ok := questions[0].convertAnswer(answer); ok != want {
			t.Errorf("%v is taken: %v", answer, ok)
		}
	}
}

// A form whose words have characters that deceive is put, with those dropped or made visible.
func TestHiddenCharacters(t *testing.T) {
	questions, err := Questions("Pay\u202e now", []byte(`{"properties":{"f":{"type":"string","title":"Ci\u200bty\u202e"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	q := questions[0]
	if !reflect.DeepEqual(q.Text, aaep.Say("City<U+202E>?")) || !reflect.DeepEqual(q.Context, aaep.Say("Pay<U+202E> now")) {
		t.Errorf("it asks %v, with %v", q.Text, q.Context)
	}
}
