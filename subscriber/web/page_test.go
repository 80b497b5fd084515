package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

const (
	connected = `document.getElementById("link")?.textContent === "Connected."`
	asked     = `document.querySelectorAll(".question:not(.settled)").length === 1`
	armed     = `document.querySelector("button.yes")?.getAttribute("aria-disabled") === "false"`
	spoken    = `Array.from(document.querySelectorAll("#log .line"), (p) => p.textContent)`
)

// TestCut: what was said while the link was down is said once; a page that comes later is told what
// waits.
func TestCut(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	b := newBrowser(t)
	p := b.open(st.page, "")
	p.until(connected)
	s := st.session(t, "Counting.")
	out := s.Output()
	out.WriteString("This is one. ")
	p.until(spoken + `.some((t) => t.includes("This is one."))`)
	st.CloseClientConnections()
	out.WriteString("This is two. ")
	p.until(spoken + `.some((t) => t.includes("This is two."))`)
	out.WriteString("This is three.")
	out.Close()
	p.until(spoken + `.some((t) => t.includes("This is three."))`)
	lines := strings.Join(eval[[]string](p, spoken), "|")
	if want := "Tester: Counting.|This is one.|This is two.|This is three."; lines != want {
		t.Errorf("the log is %q, want %q", lines, want)
	}
	outcome := pay(t, s, "$5")
	p.until(asked)
	late := b.open(st.page, "")
	late.until(asked)
	late.until(armed)
	eval[any](late, `document.querySelector("button.yes").click()`)
	if err := result(t, outcome); err != nil {
		t.Error(err)
	}
	p.until(`document.querySelector(".settled .outcome")?.textContent.startsWith("The agent says: Pay finished.")`) // and not that it was answered here
}

// TestRestart: another agent in the old one's place is subscribed to anew. It is not known
// whether the question of the old one is open, so it can no longer be answered.
func TestRestart(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(armed)
	st.newAgent(t, producer.Config{})
	st.CloseClientConnections()
	p.until(`document.querySelector(".settled .outcome")?.textContent === "The question is no longer open, and what came of it is not known."`)
	p.until(connected)
	st.session(t, "A new beginning.")
	p.until(spoken + `.at(-1) === "A new beginning."`)
}

// TestGoesOn: a page whose subscription could not be kept goes on, with a new one, where it broke
// off, and says nothing twice. P8
func TestGoesOn(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	s := st.session(t, "Paying your bills.")
	p.until(spoken + `.some((line) => line.endsWith("Paying your bills."))`)
	there, away := st.agent.Load(), http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	st.agent.Store(&away)
	st.CloseClientConnections()
	p.until(`document.getElementById("link").textContent.startsWith("The agent cannot be reached")`)
	check(t, s.Complete(aaep.Say("All was paid while nobody was here.")))
	st.agent.Store(there)
	p.until(spoken + `.some((line) => line.endsWith("All was paid while nobody was here."))`)
	if n := eval[int](p, spoken+`.filter((line) => line.endsWith("Paying your bills.")).length`); n != 1 {
		t.Errorf("it is said %d times", n)
	}
}

// TestUnfinished: a sentence whose end does not come is said as far as it goes.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	out := st.session(t, "Paying your bills.").Output()
	out.WriteString("I looked at your accounts and ")
	p.until(spoken + `.some((line) => line.trim() === "I looked at your accounts and")`)
	out.WriteString("found three bills.")
	out.Close()
	p.until(spoken + `.some((line) => line.trim() === "found three bills.")`)
}

// I18N-023: text of an event that says nothing of its direction or language runs from left to
// right.
func TestDirectionUnsaid(t *testing.T) {
	t.Parallel()
	p := newBrowser(t).open(start(t, producer.Config{}).page, "")
	got := eval[string](p, `Promise.all([import("./text.js"), import("./safe.js")]).then(([{ writing }, { directionOf }]) => [{}, { localization_hints: {} },
		...["ltr", "rtl", "auto", "down"].map((said) => ({ localization_hints: { text_direction: said } }))].map((e) => directionOf("שלום", writing(e))).join(" "))`)
	if want := "ltr ltr ltr rtl rtl rtl"; got != want {
		t.Errorf("direction: %s, want %s", got, want)
	}
}

// TestHostile: text from elsewhere stays text, shows what it hides, and neither widens nor fills
// the page.
func TestHostile(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, `Object.defineProperty(window, "localStorage", { get() { throw new Error("no storage") } })`)
	p.do("Emulation.setDeviceMetricsOverride", args{"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": false})
	p.until(connected)
	var got map[string]any
	check(t, json.Unmarshal(eval[json.RawMessage](p, `Promise.all([import("./text.js"), import("./safe.js")]).then(([{ sentences, clip }, { safe }]) => ({
		safe: safe("<b>\u202Egnp\u0007 \u2067x \u{E0041}\u{1F3F4}\u{E0067}\u{E0062}\u{E007F}\u0008"), paired: safe("x \u2067א\u2069"),
		long: sentences("x".repeat(1 << 20), "en", true).found.every((s) => s.length <= 2000),
		cut: sentences("Mr. X is here. He st", "en", false), clip: clip("a\u{1F600}b", 2, (n) => "+" + n) }))`), &got))
	if want := "<b><U+202E>gnp<U+0007> <U+2067>x <U+E0041>\U0001F3F4\U000E0067\U000E0062\U000E007F<U+0008>"; got["safe"] != want || got["paired"] != "x \u2067א\u2069" || got["long"] != true || got["clip"] != "a+3" {
		t.Errorf("text.js: %v, want %q", got, want)
	}
	s := st.session(t, `<img src=x onerror="document.title='hacked'"><script>1</script>`)
	out := s.Output()
	out.WriteString(strings.Repeat("x", 1<<20))
	out.Close()
	for i := range 3 {
		check(t, s.Progress(aaep.Say(strings.Repeat("y", 3000)), aaep.Progress{Percent: new(float64(i))}, 0))
	}
	p.until(`!document.getElementById("removed").hidden`)
	if n := eval[int](p, `document.querySelectorAll("#log .line").length`); n > 400 {
		t.Errorf("%d nodes", n)
	}
	if eval[bool](p, `document.querySelector("main img, main script") !== null`) {
		t.Error("text became markup")
	}
	if w := eval[int](p, `document.documentElement.scrollWidth`); w > 320 {
		t.Errorf("the page is %d wide where there are 320", w)
	}
	p.screenshot("hostile")
}

// TestQuestionFlood: an agent that asks without end fills the page neither with questions that wait
// nor with settled ones.
func TestQuestionFlood(t *testing.T) {
	t.Parallel()
	p := newBrowser(t).open(start(t, producer.Config{}).page, "")
	var got struct{ Open, Shown int }
	check(t, json.Unmarshal(eval[json.RawMessage](p, `import("./questions.js").then(({ Questions }) => {
		const nothing = () => {}, questions = new Questions({ words: (key) => key, pace: nothing, changed: nothing, time: nothing,
			log: { urgent: nothing, say: nothing, status: nothing }, link: { now: Date.now, honored: {} } });
		const ask = (n) => questions.ask({ type: "awaiting.confirmation", reply_token: "t" + n, session_id: "s", action: "Pay." });
		for (let n = 0; n < 500; n++) ask(n);
		const Open = questions.open().length;
		for (let n = 500; n < 1000; n++) {
			questions.settle(questions.open().at(-1), "");
			ask(n);
		}
		return { Open, Shown: document.querySelectorAll(".question").length };
	})`), &got))
	if got.Open != 64 || got.Shown > 128 {
		t.Errorf("%d of 500 questions wait, and in the end %d are on the page", got.Open, got.Shown)
	}
}

// TestAway: what came while another tab was in front is told in one line.
func TestAway(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, `let away = false;
		Object.defineProperty(document, "hidden", { get: () => away });
		window.turn = (to) => { away = to; document.dispatchEvent(new Event("visibilitychange")); };`)
	p.until(connected)
	eval[any](p, "turn(true)")
	s := st.session(t, "Counting.")
	out := s.Output()
	out.WriteString("This is one. This is two.")
	out.Close()
	p.until(spoken + `.length === 3`)
	p.until(`document.title.startsWith("3 new lines")`)
	if eval[bool](p, `document.querySelector("#log > div > [aria-live=polite] > *") !== null`) {
		t.Error("what came in the background is read out on return")
	}
	pay(t, s, "$5")
	p.until(armed)
	eval[any](p, "turn(false)")
	if eval[bool](p, armed) {
		t.Error("a question that came unseen can be answered at once")
	}
	p.until(spoken + `.at(-1).startsWith("While you were away came 4 lines. The newest: This is two.") && ` + spoken + `.at(-1).endsWith("1 question waits")`)
	if n := eval[int](p, spoken+".length"); n != 5 {
		t.Errorf("%d lines", n)
	}
	if live := eval[string](p, `[...document.querySelectorAll("#log .line")].at(-1).ariaLive ?? ""`); live != "" {
		t.Errorf("the line that tells of it is %q", live)
	}
}

// TestFullLog: the oldest lines go when there are too many, and no element of the log that is read
// out loses one at the same time as it gets one: Orca would take all of that element for new. None
// stands in the log itself, whose name Orca 48 says before what is put there.
func TestFullLog(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	quick(p)
	eval[any](p, `{ window.both = []; new MutationObserver((records) => {
		for (const { target } of records) {
			const of = records.filter((r) => r.target === target), any = (key) => of.some((r) => r[key].length), live = target.closest("[aria-live]")?.ariaLive ?? "polite";
			if (live !== "off" && any("addedNodes") && any("removedNodes")) both.push(target.outerHTML.slice(0, 200));
		} }).observe(document.getElementById("log"), { childList: true, subtree: true }); }`)
	s := st.session(t, "Working.")
	for _, text := range []string{"One. Two. Three. Four. Five.", "\n```\n" + strings.Repeat("line\n", 396) + "```\n", "Six. Seven. Eight. Nine. It is over."} {
		out := s.Output()
		_, err := out.WriteString(text)
		check(t, err)
		check(t, out.Close())
	}
	p.until(spoken + `.at(-1) === "It is over."`)
	if both := eval[[]string](p, "both"); len(both) > 0 {
		t.Errorf("a line goes and another comes in %q", both)
	}
	if at := eval[[]string](p, `[...document.querySelectorAll("#log > .line, #log > div > .line")].map((line) => line.textContent)`); len(at) > 0 {
		t.Errorf("in the log itself stand %q", at)
	}
	if lines, note := eval[int](p, spoken+".length"), eval[string](p, `document.getElementById("removed").textContent`); lines != 400 || !strings.Contains(note, "removed") {
		t.Errorf("there are %d lines, and the page says %q", lines, note)
	}
}

// TestMarkup: Markdown is read out as a voice can say it, and shown without its marks, a link with
// its address behind its name. A line of nothing but marks is neither.
func TestMarkup(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, speechRecorder)
	p.until(connected)
	eval[any](p, `(() => { const pace = document.getElementById("pace"); pace.value = "450"; pace.dispatchEvent(new Event("change")); })()`)
	s := st.session(t, "Explaining.")
	out := s.Output()
	out.WriteString("**First.** See [the *plan*](https://example.org).\n```go\nx := 1\n```\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\n***\n\nThat was 50 %. ")
	out.Close()
	p.until(spoken + `.at(-1) === "That was 50 %."`)
	if shown, heard := strings.Join(eval[[]string](p, spoken)[1:], "\n"), strings.Join(eval[[]string](p, "heard")[1:], "\n"); heard != "status: First. See the plan.\nstatus: Go, 1 line.\nstatus: a, b.\nstatus: 1, 2.\nlog: That was 50 %." ||
		shown != "First. See the plan (https://example.org).\nx := 1\n\nab\n12\n\nThat was 50 %." {
		t.Errorf("heard\n%s\nshown\n%s", heard, shown)
	}
	out = s.Output()
	for _, piece := range []string{"Look:\n", "``", "`sh\nmake. Then", " more.\n", "\n~~~\nmake test"} {
		out.WriteString(piece)
	}
	out.Close()
	p.until(`heard.at(-1) === "status: Shell, 3 lines."`) // whose end never came
	if heard := strings.Join(eval[[]string](p, "heard.slice(-2)"), "\n"); heard != "log: Look:\nstatus: Shell, 3 lines." {
		t.Errorf("code: %s", heard)
	}
	pay(t, s, "**$5**")
	p.until(`heard.some((line) => line.startsWith("alert: Question 1: Pay $5 to the water company. "))`)
	if got := eval[string](p, `["h3", ".question", ".yes"].map((at) => document.querySelector("#queue " + at)).map((el) => el.ariaLabel ?? el.textContent).join("\n")`); got !=
		"Question 1: Pay **$5** to the water company.\nQuestion 1: Pay $5 to the water company.\nAccept: Pay $5 to the water company." {
		t.Errorf("the heading, the question and its button are\n%s", got)
	}
}
