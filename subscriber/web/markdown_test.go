package web_test

import (
	"encoding/json"
	"math/rand"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// TestMarkdownSpeech: Markdown is spoken on the page as the terminal speaks it.
func TestMarkdownSpeech(t *testing.T) {
	t.Parallel()
	p := newBrowser(t).open(start(t, producer.Config{}).page, "")
	p.until(connected)
	type in struct{ Language, Text string }
	cases := []struct {
		in
		want string
		page string // where the page says it otherwise, and why
	}{
		{in: in{"en", "Plain words, as they are."}, want: "Plain words, as they are."},
		{in: in{"en", "# A title\n\nAnd text.\n## Another? ##\n#hashtag"}, want: "A title. And text. Another? #hashtag"},
		{in: in{"en", "This is **bold**, *slanted*, __both__ and ~~gone~~."}, want: "This is bold, slanted, both and gone."},
		{in: in{"en", "***all at once***, (**in** “it”) and **the *one* in the other**!"}, want: "all at once, (in “it”) and the one in the other!"},
		{in: in{"en", "snake_case_name, 2*3*4, a*b and a_b, 5 * 6 and 7 * 8"}, want: "snake_case_name, 2*3*4, a*b and a_b, 5 * 6 and 7 * 8"},
		{in: in{"en", "Delete *.go and *.md in src/**/x, not **p or char *s"}, want: "Delete *.go and *.md in src/**/x, not **p or char *s"},
		{in: in{"en", "a || b | c and x~y, ~20 ms"}, want: "a || b | c and x~y, ~20 ms"},
		{in: in{"en", "- one\n- two\n* three\n+ four"}, want: "one two three four"},
		{in: in{"en", "- [x] done\n- [ ] open"}, want: "Checked: done Not checked: open"},
		{in: in{"es-419", "- [x] hecho\n- [ ] no"}, want: "Marcado: hecho Sin marcar: no"},
		{in: in{"ar-Latn", "- [x] tamm"}, want: "tamm"},
		{in: in{"fi", "- [X] Leipä ja ![](x.png) ja ![kissa](y.png) https://example.org"}, want: "Leipä ja ja kissa example.org"},
		{in: in{"constructor", "- [x] a"}, want: "a"},
		{in: in{"", "![](x.png)"}, want: "an image"},
		{in: in{"de", "![](x.png)"}, want: "Ein Bild."},
		{in: in{"en", "1. first\n2. second"}, want: "1. first 2. second"},
		{in: in{"en", "> quoted\n> twice\n> > deep"}, want: "quoted twice deep"},
		{in: in{"en", "Use `go test` or ``a b`` now, f(`x`)."}, want: "Use go test or a b now, f(x)."},
		{in: in{"en", "See [the plan](https://example.org/plan \"Plan\"), a[1](b) and [x] (y)."}, want: "See the plan, a1 and [x] (y)."},
		{in: in{"en", "See https://www.example.org/a/b?c=d#e, please. (http://x.org:80/y)."}, want: "See link to www.example.org, please. (link to x.org)."},
		{in: in{"en", "https://bank.example@evil.example/ and <https://example.org>"}, want: "link to evil.example and link to example.org"},
		{in: in{"en", "https://bank.example\\@evil.example/ https://"}, want: "https://bank.example\\@evil.example/ https://"},
		{in: in{"en", "![A cat](cat.png) and ![](x.png)"}, want: "image: A cat and an image"},
		{in: in{"en", "| a | b |\n|---|:-:|\n| 1 | **2** |\n| he said “no.” | |"}, want: "a, b. 1, 2. he said “no.”"},
		{in: in{"en", "| File | Change | Risk |\n|---|:-:|---|\n| `a\\|b` | **adds** a flag | |\n| | | low |\n\n| D | E | F |\n| 1 | 2 | 3 |"}, want: "File, Change, Risk. a|b, Change: adds a flag. Risk: low. D, E, F. 1, 2, 3."},
		{in: in{"en", "| A | B | C |\n|---|---|---|\n| 1 |\n| 1 | 2 | 3 | 4 |\nThen that.\n| 4 | 5 | 6 |"}, want: "A, B, C. 1. 1, B: 2, C: 3, 4. Then that. 4, 5, 6."},
		{in: in{"en", "above\n---\nbelow\n***\n_ _ _"}, want: "above below"},
		{in: in{"en", "5 > 3 and 2 < 4; A minus - in a line; it costs $5 * 2"}, want: "5 > 3 and 2 < 4; A minus - in a line; it costs $5 * 2"},
		{in: in{"ar", "مرحبا **بك**"}, want: "مرحبا بك"},
		{in: in{"zh", "# 付款。\n| 一 | 二 |"}, want: "付款。 一, 二."},
		{in: in{"en", "\x1b[2J **hidden** \u202e"}, want: "<U+001B>[2J hidden <U+202E>"},
		{in: in{"en", "Change it:\n- return 1\n+ return 2\n\nDone."}, want: "Change it: Removed: return 1 Added: return 2 Done."},
		{in: in{"es", "-viejo\n+nuevo"}, want: "Quitado: viejo Añadido: nuevo"},
		{in: in{"fi", "-\tvanha\n+\tuusi"}, want: "Removed: vanha Added: uusi"},
		{in: in{"en", "- one\n- two\n-3 and\n+4 are numbers"}, want: "one two -3 and +4 are numbers"},
		{in: in{"en", "- one\n+ two\n* three"}, want: "one two three"},
		{in: in{"en", "```go\na := 1\n```\nRun it."}, want: "Go, 1 line. Run it.", page: "a := 1 Run it."}, // of code, what it does with an answer
		{in: in{"en", "Run this:\n```reboot```\nIt takes a minute."}, want: "Run this: reboot It takes a minute."},
		{in: in{"en", "Delete all of\n=>\n==\nnow."}, want: "Delete all of => == now."},
		{in: in{"zh", "这是**重要**的，**注意：**请看。"}, want: "这是重要的，注意：请看。"},
		{in: in{"en", "**all of *it* matters**, ***so** it is*, 2*3*4 and src/**/*.go"}, want: "all of it matters, so it is, 2*3*4 and src/**/*.go"},
		{in: in{"en", "Use `a*b*c` and ``x ` y``, find . -name \\*.go"}, want: "Use a*b*c and x ` y, find . -name \\*.go"},
		{in: in{"en", "See [Go](https://en.wikipedia.org/wiki/Go_(language)), [a [b]](<c d>) and ![x](y 'z')."}, want: "See Go, a [b] and image: x."},
		{in: in{"en", "> # Title\n> text"}, want: "Title. text"},
		{in: in{"en", "A title\n======="}, want: "A title"},
	}
	random := rand.New(rand.NewSource(1))
	parts := []string{"a", "b ", "cd", " ", "*", "**", "***", "_", "__", "`", "``", "\\", "~~", "1", "重", "(", ")", "é", "[x](y)", "![i](u)"}
	for range 500 {
		text := "a"
		for range 1 + random.Intn(12) {
			text += parts[random.Intn(len(parts))]
		}
		if strings.Contains(text, "```") { // of which the page looks at the beginning of a line alone
			continue
		}
		cases = append(cases, struct {
			in
			want, page string
		}{in: in{"en", text + "z"}, want: announced("en", text+"z")})
	}
	var texts []in
	for _, c := range cases {
		texts = append(texts, c.in)
	}
	data, err := json.Marshal(texts)
	check(t, err)
	page := eval[[]string](p, `Promise.all([import("./ear.js"), import("./safe.js")]).then(([{ plain }, { safe }]) => `+string(data)+`.map((c) => plain(safe(c.Text), c.Language)))`)
	for i, c := range cases {
		if got := announced(c.Language, c.Text); got != c.want {
			t.Errorf("%s %q: the announcer says\n%s, want\n%s", c.Language, c.Text, got, c.want)
		}
		if c.page != "" {
			c.want = c.page
		}
		if page[i] != c.want {
			t.Errorf("%s %q: the page says\n%s, want\n%s", c.Language, c.Text, page[i], c.want)
		}
	}
}

// announced is what an announcer says of a text.
func announced(language, text string) string {
	a, now := announce.New(announce.Preferences{}), time.Time{}
	a.Add(now, "", &aaep.Event{EventID: "evt_1", SessionID: "sess_1", Payload: &aaep.ToolCompleted{}}, announce.In(language, text))
	return strings.Join(heardFrom(a, now), " ")
}

// heardFrom is everything that an announcer says from a time on.
func heardFrom(a *announce.Announcer, now time.Time) (said []string) {
	for {
		do, next := a.Next(now)
		switch {
		case do.Say != nil:
			said = append(said, do.Say.Text)
			now = now.Add(time.Second)
			a.Ended(now, do.Say.ID, announce.Heard)
		case next.IsZero():
			return said
		default:
			now = next
		}
	}
}

// TestCodeInAnAnswer: the page and the terminal say alike how much there is of code, and what a
// change adds and removes, in whatever pieces it comes.
func TestCodeInAnAnswer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Here:\n\n--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,4 @@\n func f() {\n-\treturn 1\n+\tx := 2\n+\treturn x\n }\n\nThat is all.\n": "Here:|x.go: 2 lines added, 1 removed.|That is all.",
		"Change it:\n- return 1\n+ return 2\n\nDone.":                                      "Change it:|Removed: return 1|Added: return 2|Done.",
		"List:\n- one\n- two\n- three.\n- four\n\nEnd.":                                    "List:|one|two|three.|four|End.",
		"List:\n- a\n- b\n- c\n- d\n+ e\n":                                                 "List:|a|b|c|d|Removed: a|Removed: b|Removed: c|Removed: d|Added: e",
		"```diff\n-a\n+b\n+c\n```\nOk.\n":                                                  "Diff, 2 lines added, 1 removed.|Ok.",
		"```go\nfunc main() {\n\tfmt.Println(1)\n\treturn\n}\n```\nRun it.\n":              "Go, 4 lines.|Run it.",
		"diff --git a/x b/x\n@@ -1 +1,0 @@\n-a\n@@ -9,2 +9,2 @@\n c\n-d\n+e\n\n- a list\n": "Diff, 1 line added, 2 removed.|a list",
	} {
		a, now := announce.New(announce.Preferences{}), time.Time{}
		for i := 0; i < len(text); i += 7 {
			chunk := text[i:min(i+7, len(text))]
			a.Add(now, "", &aaep.Event{SessionID: "sess_1", LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en"},
				Payload: &aaep.OutputStreaming{Chunk: chunk, OutputID: "out_1", CoalesceHint: aaep.BoundaryNone, Complete: i+7 >= len(text)}}, nil)
		}
		if got := strings.Join(heardFrom(a, now), "|"); got != want {
			t.Errorf("of %q the announcer says\n%s, want\n%s", text, got, want)
		}
		p := newBrowser(t).open(start(t, producer.Config{}).page, `globalThis.EventSource = class extends EventSource { constructor(...a) { super(...a); globalThis.stream = this; } }`)
		p.until(`globalThis.stream?.readyState === EventSource.OPEN`)
		data, err := json.Marshal(text)
		check(t, err)
		eval[any](p, `globalThis.heard = []; new MutationObserver((all) => all.forEach((m) => m.addedNodes.forEach((n) => heard.push(n.textContent)))).observe(document.getElementById("status"), { childList: true });
			((text) => { for (let i = 0; i < text.length; i += 7) stream.dispatchEvent(new MessageEvent("aaep.event", { data: JSON.stringify({ type: "aaep:agent.output.streaming", event_id: "evt_" + i,
			session_id: "sess_1", output_id: "out_1", chunk: text.slice(i, i + 7), position: i, complete: i + 7 >= text.length, coalesce_hint: "none", localization_hints: { primary_language: "en" } }) })); })(`+string(data)+`)`)
		read := `[...document.querySelectorAll("#log .line:not([aria-live=off])")].map((p) => p.textContent)`
		p.until(`heard.concat(` + read + `).some((text) => text.includes(` + strconv.Quote(want[strings.LastIndexByte(want, '|')+1:]) + `))`)
		got := "|" + strings.ReplaceAll(strings.Join(eval[[]string](p, `heard.concat(`+read+`)`), "|"), "|: ", "|") + "|"
		for _, part := range strings.Split(want, "|") {
			if !strings.Contains(got, "|"+part+"|") {
				t.Errorf("of %q the page reads out %q, and not %q", text, got, part)
			}
		}
	}
}
