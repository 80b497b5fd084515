package web_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// TestEar: what is written for the eye is said on the page as the terminal says it.
func TestEar(t *testing.T) {
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
		{in: in{"en", "above\n---\nbelow\n***\n_ _ _"}, want: "above below"},
		{in: in{"en", "5 > 3 and 2 < 4; A minus - in a line; it costs $5 * 2"}, want: "5 > 3 and 2 < 4; A minus - in a line; it costs $5 * 2"},
		{in: in{"ar", "مرحبا **بك**"}, want: "مرحبا بك"},
		{in: in{"zh", "# 付款。\n| 一 | 二 |"}, want: "付款。 一, 二."},
		{in: in{"en", "\x1b[2J **hidden** \u202e"}, want: "<U+001B>[2J hidden <U+202E>"},
		{in: in{"en", "```go\na := 1\n```\nRun it."}, want: "Code, 1 line. Run it.", page: "a := 1 Run it."}, // of code, what it does with an answer
		{in: in{"en", "Run this:\n```reboot```\nIt takes a minute."}, want: "Run this: reboot It takes a minute."},
		{in: in{"en", "Delete all of\n=>\n==\nnow."}, want: "Delete all of => == now."},
		{in: in{"en", "A title\n======="}, want: "A title =======", page: "A title"}, // which a voice would spell
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
	a, now, said := announce.New(announce.Preferences{}), time.Time{}, []string{}
	a.Add(now, "", &aaep.Event{EventID: "evt_1", SessionID: "sess_1", Payload: &aaep.ToolCompleted{}}, announce.In(language, text))
	for {
		do, next := a.Next(now)
		switch {
		case do.Say != nil:
			said = append(said, do.Say.Text)
			now = now.Add(time.Second)
			a.Ended(now, do.Say.ID, announce.Heard)
		case next.IsZero():
			return strings.Join(said, " ")
		default:
			now = next
		}
	}
}
