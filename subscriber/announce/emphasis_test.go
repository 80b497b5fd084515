package announce

import "testing"

// The marks of emphasis and code are not spoken, and what only looks like one is.
func TestEmphasis(t *testing.T) {
	for text, want := range map[string]string{
		"a **bold** and _thin_ ~~gone~~ word":         "a bold and thin gone word",
		"**all of *it* matters**":                     "all of it matters",
		"**all of it *matters***":                     "all of it matters",
		"***both** ends*, and *both **ends***":        "both ends, and both ends",
		"(**in brackets**), \"*quoted*\"!":            "(in brackets), \"quoted\"!",
		"**one\ntwo**":                                "one\ntwo",
		"这是**重要**的，**注意：**请看。":                        "这是重要的，注意：请看。",
		"これは*とても*大事":                                  "これはとても大事",
		"2*3*4 is 24, 2 * 3 * 4 too, 2**3**4 is more": "2*3*4 is 24, 2 * 3 * 4 too, 2**3**4 is more",
		"snake_case_name, __init__.py, src/**/*.go":   "snake_case_name, init.py, src/**/*.go",
		"`a*b*c` and ``x ` y`` and `*p`":              "a*b*c and x ` y and *p",
		"a `code that never ends, and *this* is thin": "a `code that never ends, and this is thin",
		"*one\n\ntwo*":                                "*one\n\ntwo*",
		"pass **kwargs on":                            "pass **kwargs on",
		"* * *, a * b * c, 5 * 2":                     "* * *, a * b * c, 5 * 2",
		"*a _b* c_":                                   "a _b c_",
		"**":                                          "**",
	} {
		if got := dropEmphasis(text, false); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{ // to the letter, and as a piece of an answer
		`find . -name \*.go`:      `find . -name *.go`,
		`\*not bold\*, \_ and \n`: `*not bold*, _ and \n`,
		"`\\*` stays":             "\\* stays",
		"**This is bold.":         "This is bold.",
		"And this is, too.**":     "And this is, too.",
	} {
		if got := dropEmphasis(text, true); got != want {
			t.Errorf("a piece of an answer, %q: %q, want %q", text, got, want)
		}
		if text[0] != '`' && dropEmphasis(text, false) != text {
			t.Errorf("to the letter, %q: %q", text, dropEmphasis(text, false))
		}
	}
}
