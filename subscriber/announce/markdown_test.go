package announce

import (
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// What is written for the eye is made fit for the ear, and what only looks like it is left alone.
func TestMarkdownSpeech(t *testing.T) {
	for text, want := range map[string]string{
		"Plain words, as they are.":                           "Plain words, as they are.",
		"# A title\n\nAnd text.":                              "A title. And text.",
		"This is **bold**, *slanted*, __both__ and ~~gone~~.": "This is bold, slanted, both and gone.",
		"***all at once***":                                   "all at once",
		"snake_case_name and 2*3*4 and a_b":                   "snake_case_name and 2*3*4 and a_b",
		"- one\n- two\n* three":                               "one two three",
		"- [x] done\n- [ ] open":                              "Checked: done Not checked: open",
		"1. first\n2. second":                                 "1. first 2. second",
		"> quoted\n> twice":                                   "quoted twice",
		"Use `go test` now.":                                  "Use go test now.",
		"```go\na := 1\nb := 2\n```\nThen run it.":            "Go, 2 lines. Then run it.",
		"- ```sh\n  make\n  ```":                              "Shell, 1 line.",
		"Look:\n```\nnever closed":                            "Look: Code, 1 line.",
		"See [the plan](https://example.org/plan \"Plan\").":  "See the plan.",
		"See https://www.example.org/a/b?c=d#e, please.":      "See link to www.example.org, please.",
		"<https://example.org>":                               "link to example.org",
		"![A cat](cat.png) and ![](x.png)":                    "image: A cat and an image",
		"| a | b |\n|---|---|\n| 1 | 2 |":                     "a, b. 1, 2.",
		"| a | b |\n|:-:|-|\n| 1 | 2 |":                       "a, b. 1, 2.",
		"above\n---\nbelow":                                   "above below",
		"5 > 3 and 2 < 4":                                     "5 > 3 and 2 < 4",
		"A minus - in a line":                                 "A minus - in a line",
		"it costs $5 * 2":                                     "it costs $5 * 2",
		"مرحبا **بك**":                                        "مرحبا بك",
		"\x1b[2Jhidden":                                       "<U+001B>[2Jhidden",
		"a\u202eb":                                            "a<U+202E>b",
		"":                                                    "",
	} {
		if got := (Content{}).markdownSpeech(text, "en", phrase.Code, true); got != want {
			t.Errorf("markdownSpeech(%q) = %q, want %q", text, got, want)
		}
	}
}

// What this package says in place of code is labelled with the language that it is in. I18N-001
func TestHeardLanguage(t *testing.T) {
	const code = "```\nx\ny\n```\n"
	for language, want := range map[string]map[string]Part{
		"fi": {code: {Language: "en", Text: "Code, 2 lines."}, "Kissa ![](x.png) ja ![kissa](y.png).": {Language: "fi", Text: "Kissa ja kissa."}, "- [x] Leipä": {Language: "fi", Text: "Leipä"}, "Katso:\n" + code: {Language: "fi", Text: "Katso: Code, 2 lines."}},
		"es": {code: {Language: "es", Text: "Código, líneas: 2."}, "![](x.png)": {Language: "es", Text: "Una imagen."}, "- [x] Pan": {Language: "es", Text: "Marcado: Pan"}},
		"":   {code: {Language: "en", Text: "Code, 2 lines."}, "x": {Language: "", Text: "x"}},
	} {
		for text, want := range want {
			if got := (Content{}).markdownPart(text, language, phrase.Code, true); got != want {
				t.Errorf("%q in %q: %+v, want %+v", text, language, got, want)
			}
		}
	}
}

// Whatever an agent writes, what is said is one line that nothing hides in. INV-57
func FuzzMarkdownSpeech(f *testing.F) {
	for _, s := range []string{"# **x**", "```\n", "| |", "[](", "![", "*a*_b_", "https://", "\u202e\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := (Content{}).markdownSpeech(text, "en", phrase.Code, true)
		if strings.ContainsAny(got, "\r\n\t") || aaep.SafeText(got) != got {
			t.Errorf("markdownSpeech(%q) = %q", text, got)
		}
	})
}
