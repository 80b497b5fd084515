package form

import "testing"

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
