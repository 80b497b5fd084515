package web_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/producer"
)

// listening opens a page to which chunks of an answer can be given by hand, and which keeps all
// that it has a screen reader read out.
func listening(t *testing.T) *tab {
	t.Helper()
	p := newBrowser(t).open(start(t, producer.Config{}).page, `globalThis.EventSource = class extends EventSource { constructor(...a) { super(...a); globalThis.stream = this; } }
		globalThis.heard = [];
		const { now } = Date, begun = now(), wait = setTimeout; // a voice that is twenty times as fast
		Date.now = () => begun + 20 * (now() - begun);
		globalThis.setTimeout = (act, ms, ...more) => wait(act, ms / 20, ...more);
		document.addEventListener("DOMContentLoaded", () => {
			const live = (el) => el.closest("[aria-live], [role=log], [role=alert], [role=status]");
			new MutationObserver((all) => all.forEach((m) => m.addedNodes.forEach((n) => {
				const el = n.nodeType === 1 ? n : n.parentElement, region = el && live(el);
				if (n.textContent.trim() && region && region.getAttribute("aria-live") !== "off") heard.push(n.textContent.trim());
			}))).observe(document.body, { childList: true, subtree: true });
		});`)
	p.until(`globalThis.stream?.readyState === EventSource.OPEN`)
	return p
}

// answers gives the page an answer in chunks of some bytes, as text that its agent has not cut.
func (p *tab) answers(id, text string, size int) {
	p.t.Helper()
	data, err := json.Marshal(text)
	check(p.t, err)
	eval[any](p, fmt.Sprintf(`((text) => { for (let i = 0; i < text.length; i += %d) stream.dispatchEvent(new MessageEvent("aaep.event", { data: JSON.stringify({ type: "aaep:agent.output.streaming", event_id: %q + i,
		session_id: "sess_1", output_id: %q, chunk: text.slice(i, i + %d), position: i, complete: i + %d >= text.length, coalesce_hint: "none", localization_hints: { primary_language: "en" } }) })); })(%s)`,
		size, id, id, size, size, data))
}

// outline is what the log is made of: each element that means something, with what is in it, and
// each line's text.
const outline = `(() => {
	const of = (el) => {
		if (el.matches(".who, p:has(> .who:only-child)")) return "";
		const role = el.getAttribute("role"), name = role === "heading" ? "h" + el.getAttribute("aria-level") : el.localName;
		const within = [...el.childNodes].map((n) => n.nodeType === 3 ? n.data.replace(/\n/g, "⏎").trim() : of(n)).filter(Boolean).join(" ");
		return ["div", "span"].includes(name) ? within : name + (el.start > 1 ? el.start : "") + "(" + within + ")";
	};
	return of(document.getElementById("log"));
})()`

// TestStructure: what an answer is made of is that in the log too, whatever pieces it comes in, so
// that the keys of a screen reader walk headings, lists and tables; no text of it becomes anything
// else, and none is read out twice.
func TestStructure(t *testing.T) {
	t.Parallel()
	cases := []struct{ text, shown string }{
		{"# Plan\n\nRead this. Then that.\n\n## First: a *title*\nGo on.\n\n#### Deep ##\n\n# Last\n", "h3(Plan) p(Read this.) p(Then that.) h4(First: a em(title)) p(Go on.) h5(Deep) h3(Last)"},
		{"It has:\n\n- one. And more.\n- two\n  - deep\n    and on\n  - deeper\n\n  Of two.\n- three\n\nEnd.", "p(It has:) ul(li(one. And more.) li(two ul(li(deep and on) li(deeper)) p(Of two.)) li(three)) p(End.)"},
		{"1. Build:\n\n   ```sh\n   make\n\n   make test\n   ```\n2. Wait.\n3) Other\n\nText\n7. is no item.", "ol(li(Build: pre(code(make⏎ ⏎ make test⏎))) li(Wait.)) ol3(li(Other)) p(Text) p(7. is no item.)"},
		{"| | Size | Risk |\n|---|:-:|---|\n| a\\|b | 2. No. | |\n| c | 3 | low |\n\n| no | names |\n", "table(tr(td() th(Size) th(Risk)) tr(td(a|b) td(2. No.) td()) tr(td(c) td(3) td(low))) table(tr(td(no) td(names)))"},
		{"> Quoted words.\n> - an item\n> - its next\nlazy\n\nNot quoted.", "blockquote(p(Quoted words.) ul(li(an item) li(its next lazy))) p(Not quoted.)"},
		{"```go\nfunc main() {\n\tx := `<b>`\n}\n```\nRun it.", "pre(code(func main() {⏎ x := `<b>`⏎ }⏎)) p(Run it.)"},
		{"Change:\n- return 1\n+ return 2\n\nChanged.", "p(Change:) pre(code(- return 1⏎ + return 2⏎)) p(Changed.)"},
		{"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\nPatched.", "pre(code(--- a/x⏎ +++ b/x⏎ @@ -1,2 +1,2 @@⏎ a⏎ -b⏎ +c⏎)) p(Patched.)"},
		{"A title\n=======\n\nSome text\n***\nMore", "h3(A title) p(Some text) hr() p(More)"},
		{"<h1>Mine</h1> <img src=x onerror=alert(1)> [Yes](javascript:alert(1))\n\n- <script>alert(1)</script>\n", "p(<h1>Mine</h1> <img src=x onerror=alert(1)> Yes (javascript:alert(1))) ul(li(<script>alert(1)</script>))"},
		{strings.Repeat("> ", 500) + "deepest\n\n- a1\n  - b1\n    - c1\n      - d1\n        - e1\n          - f1\n            - g1\n              - h1\n",
			"blockquote(p(deepest)) ul(li(a1 ul(li(b1 ul(li(c1 ul(li(d1 ul(li(e1 ul(li(f1) li(g1) li(h1))))))))))))"},
	}
	for _, size := range []int{7, 1, 1000} {
		t.Run(fmt.Sprintf("%d bytes at a time", size), func(t *testing.T) {
			t.Parallel()
			p := listening(t)
			before := ""
			for i, c := range cases {
				p.answers(fmt.Sprint("out_", i), c.text, size)
				want, got := strings.TrimSpace(before+" "+c.shown), ""
				for end := time.Now().Add(20 * time.Second); got != want && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
					got = eval[string](p, outline)
				}
				if got != want {
					t.Errorf("%q:\nshown %s\nwant  %s", c.text, strings.TrimPrefix(got, before), c.shown)
				}
				before = got
			}
			heard := eval[[]string](p, "heard")
			for i, text := range heard {
				if slices.Contains(heard[:i], text) {
					t.Errorf("it is read out twice: %q", text)
				}
			}
			if len(heard) < 40 {
				t.Errorf("only %q are read out", heard)
			}
		})
	}
}
