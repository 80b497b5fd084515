package web_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

const (
	connected = `document.getElementById("link")?.textContent === "Connected."`
	asked     = `document.querySelectorAll(".question:not(.settled)").length === 1`
	armed     = `document.querySelector("button.yes")?.getAttribute("aria-disabled") === "false"`
	spoken    = `Array.from(document.querySelectorAll("#log p"), (p) => p.textContent)`
)

// TestAccept: what somebody types while a question comes answers nothing, wherever the focus is; the button does, once there
// was time to read.
func TestAccept(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	outcome := pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(asked)
	if at := eval[string](p, `document.activeElement.tagName`); at != "BODY" {
		t.Errorf("the question took the focus to %s", at)
	}
	for _, focus := range []string{"document.body", `document.querySelector("button.yes")`} {
		eval[any](p, focus+".focus()")
		for _, c := range "hello agent" {
			p.key(string(c))
		}
		p.key("Enter")
	}
	undecided(t, outcome)
	if said := eval[string](p, `document.querySelector(".question").innerText`); !strings.Contains(said, "Pay $5 to the water company.") ||
		!strings.Contains(said, "The money leaves your account today.") || !strings.Contains(said, "Risk: high. It cannot be undone.") ||
		!strings.Contains(said, "Asked by Tester (not verified") || !strings.Contains(said, "If nobody answers, it is not done.") || !strings.Contains(said, "so that nothing is answered by accident") {
		t.Errorf("the question says %q", said)
	}
	if said := eval[string](p, `document.getElementById("alert").textContent`); said != "Question 1: Pay $5 to the water company. The money leaves your account today. Risk: high. It cannot be undone." {
		t.Errorf("the alert says %q", said)
	}
	if title := eval[string](p, "document.title"); !strings.HasPrefix(title, "1 question waits") {
		t.Errorf("the title is %q", title)
	}
	p.until(armed)
	undecided(t, outcome)
	p.key("Enter")
	if err := result(t, outcome); err != nil {
		t.Fatal(err)
	}
	p.until(`document.querySelector(".settled .outcome")?.textContent.startsWith("You answered: accept. The agent says: ")`)
	if at := eval[string](p, "document.activeElement.className"); at != "outcome" {
		t.Errorf("the button is gone, and the focus is on %q", at)
	}
}

// TestTwo: the second of two questions is answered with no, and the first stays.
func TestTwo(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{QuestionsAtOnce: 2})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	s := st.session(t, "Paying your bills.")
	first := pay(t, s, "$5")
	p.until(asked)
	second := pay(t, s, "$6")
	p.until(`document.querySelectorAll(".question").length === 2`)
	p.until(`document.querySelector("#q2 button").getAttribute("aria-disabled") === "false"`)
	eval[any](p, `document.querySelector("#q2 button").click()`)
	if err := result(t, second); !errors.Is(err, producer.ErrRejected) {
		t.Errorf("Reject: %v", err)
	}
	p.until(`document.querySelector("#q2.settled .outcome")?.textContent.startsWith("You answered: reject.")`)
	undecided(t, first)
	if eval[bool](p, `document.querySelector("#q1").classList.contains("settled")`) {
		t.Error("the other question is settled too")
	}
	eval[any](p, `document.querySelector("#q1 .more").click()`)
	p.until(`document.querySelector("#q1 .time").textContent.includes("4 minutes")`)
}

// TestExpiry: nobody's silence is told as a refusal.
func TestExpiry(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{ShortTimeouts: true})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	s := st.session(t, "Asking.")
	outcome := make(chan error, 1)
	go func() {
		_, err := s.Clarify(t.Context(), producer.Question{Ask: aaep.Say("Which colour?"), Timeout: 2 * time.Second})
		outcome <- err
	}()
	p.until(asked)
	if err := result(t, outcome); !errors.Is(err, producer.ErrTimedOut) {
		t.Fatal(err)
	}
	p.until(`document.querySelector(".settled .outcome")?.textContent.includes("Nobody answered in time.")`)
	if said := eval[string](p, `document.querySelector(".settled").innerText`); strings.Contains(strings.ToLower(said), "reject") {
		t.Errorf("silence is told as %q", said)
	}
}

// TestClarify: every kind of answer arrives as what it is.
func TestClarify(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	s := st.session(t, "Asking.")
	fill := func(text string) string {
		return `document.querySelector(".question:not(.settled) input").value = "` + text + `"; document.querySelector(".question:not(.settled) button.yes").click()`
	}
	for _, c := range []struct {
		q    producer.Question
		act  string
		want any
	}{
		{producer.Question{Ask: aaep.Say("Which one?"), Choices: []producer.Choice{{Value: "a", Label: aaep.Say("The first")}, {Value: "b", Label: aaep.Say("The second")}}},
			`Array.from(document.querySelectorAll(".question:not(.settled) button")).find((b) => b.textContent === "Choose: The second").click()`, "b"},
		{producer.Question{Ask: aaep.Say("Shall we?"), Kinds: []aaep.ResponseKind{aaep.ResponseYesNo}},
			`Array.from(document.querySelectorAll(".question:not(.settled) button")).find((b) => b.textContent === "No").click()`, false},
		{producer.Question{Ask: aaep.Say("How many?"), Kinds: []aaep.ResponseKind{aaep.ResponseNumeric}}, fill("2,5"), 2.5},
		{producer.Question{Ask: aaep.Say("What name?")}, fill("Ada"), "Ada"},
	} {
		got := make(chan any, 1)
		go func() {
			v, err := s.Clarify(t.Context(), c.q)
			if err != nil {
				v = err
			}
			got <- v
		}()
		p.until(asked)
		p.until(`document.querySelector(".question:not(.settled) button").getAttribute("aria-disabled") === "false"`)
		eval[any](p, c.act)
		select {
		case v := <-got:
			if v != c.want {
				t.Errorf("%s: %v, want %v", c.q.Ask.Normal, v, c.want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: no answer. The page: %s", c.q.Ask.Normal, eval[string](p, "document.body.innerText"))
		}
		p.until(`document.querySelectorAll(".question:not(.settled)").length === 0`)
	}
}

// TestCut: what was said while the link was down is said once; a page that comes later is told what waits.
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
	p.until(`document.querySelector(".settled .outcome")?.textContent.startsWith("The agent says: ")`) // and not that it was answered here
}

// TestRestart: another agent in the old one's place is subscribed to anew. Whether the old one's question is open, nobody
// knows, and so it can be answered no more.
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

// TestGoesOn: a page whose subscription could not be kept goes on, with a new one, where it broke off, and says nothing twice. P8
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

// I18N-023: text of an event that says nothing of its direction runs from left to right.
func TestDirectionUnsaid(t *testing.T) {
	t.Parallel()
	p := newBrowser(t).open(start(t, producer.Config{}).page, "")
	got := eval[string](p, `import("./text.js").then(({ direction }) => [{}, { localization_hints: {} }, ...["ltr", "rtl", "auto", "down"].map((said) => (
		{ localization_hints: { text_direction: said } }))].map(direction).join(" "))`)
	if want := "ltr ltr ltr rtl auto auto"; got != want {
		t.Errorf("direction: %s, want %s", got, want)
	}
}

// TestHostile: text from elsewhere stays text, shows what it hides, and neither widens nor fills the page.
func TestHostile(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, `Object.defineProperty(window, "localStorage", { get() { throw new Error("no storage") } })`)
	p.do("Emulation.setDeviceMetricsOverride", args{"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": false})
	p.until(connected)
	var got map[string]any
	check(t, json.Unmarshal(eval[json.RawMessage](p, `import("./text.js").then(({ safe, sentences, clip }) => ({
		safe: safe("<b>\u202Egnp\u0007 \u2067x \u{E0041}\u{1F3F4}\u{E0067}\u{E0062}\u{E007F}\u0008"), paired: safe("\u2067x\u2069"),
		long: sentences("x".repeat(1 << 20), "en", true).found.every((s) => s.length <= 2000),
		cut: sentences("Mr. X is here. He st", "en", false), clip: clip("a\u{1F600}b", 2, (n) => "+" + n) }))`), &got))
	if want := "<b><U+202E>gnp<U+0007> <U+2067>x <U+E0041>\U0001F3F4\U000E0067\U000E0062\U000E007F<U+0008>"; got["safe"] != want || got["paired"] != "\u2067x\u2069" || got["long"] != true || got["clip"] != "a+3" {
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
	if n := eval[int](p, `document.querySelectorAll("#log > *").length`); n > 400 {
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
	if eval[bool](p, `document.querySelector("#log > :not([aria-live=off])") !== null`) {
		t.Error("what came in the background is read out on return")
	}
	pay(t, s, "$5")
	p.until(armed)
	eval[any](p, "turn(false)")
	if eval[bool](p, armed) {
		t.Error("a question that came unseen can be answered at once")
	}
	p.until(spoken + `.at(-1).startsWith("While you were away came 4 lines. The newest: Pay $5") && ` + spoken + `.at(-1).endsWith("1 question waits")`)
	if n := eval[int](p, spoken+".length"); n != 5 {
		t.Errorf("%d lines", n)
	}
	if live := eval[string](p, `document.querySelector("#log > :last-child").ariaLive ?? ""`); live != "" {
		t.Errorf("the line that tells of it is %q", live)
	}
}

// axe fetches axe-core, which no user of the module needs.
func axe(t *testing.T) string {
	t.Helper()
	npm := need(t, "npm")
	dir := t.TempDir()
	if out, err := exec.Command(npm, "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "axe-core@4.14.1").CombinedOutput(); err != nil {
		if os.Getenv("AAEP_REAL") != "" {
			t.Fatalf("npm: %v: %s", err, out)
		}
		t.Skipf("npm could not fetch axe-core, and AAEP_REAL=1 makes this a failure: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "node_modules/axe-core/axe.min.js"))
	check(t, err)
	return string(data)
}

// TestAxe: axe-core finds nothing in any state, and nothing is wider than 320 pixels.
func TestAxe(t *testing.T) {
	t.Parallel()
	source := axe(t)
	st := start(t, producer.Config{QuestionsAtOnce: 2})
	b := newBrowser(t)
	p := b.open(st.page, "")
	look := func(p *tab, state string) {
		t.Helper()
		eval[any](p, source+";0")
		for scheme, features := range map[string][]args{
			"light":  {{"name": "prefers-color-scheme", "value": "light"}},
			"dark":   {{"name": "prefers-color-scheme", "value": "dark"}},
			"forced": {{"name": "forced-colors", "value": "active"}, {"name": "prefers-reduced-motion", "value": "reduce"}},
		} {
			p.do("Emulation.setEmulatedMedia", args{"features": features})
			for _, found := range eval[[]string](p, `axe.run().then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html + " " + n.failureSummary)))`) {
				t.Errorf("%s, %s: %s", state, scheme, found)
			}
			p.screenshot(state + "-" + scheme)
		}
		p.do("Emulation.setEmulatedMedia", args{"features": []args{}})
		p.do("Emulation.setDeviceMetricsOverride", args{"width": 320, "height": 200, "deviceScaleFactor": 4, "mobile": false}) // a window of 1280 at 400 %
		for _, hidden := range eval[[]string](p, `Array.from(document.querySelectorAll("main button, main select, h1, h2, h3")).filter((e) => e.checkVisibility()).filter((e) => { const r = e.getBoundingClientRect(); return r.left < 0 || r.right > 320 || e.scrollWidth > e.clientWidth + 1; }).map((e) => e.outerHTML)`) {
			t.Errorf("%s at 400 %%: it does not fit: %s", state, hidden)
		}
		p.do("Emulation.setDeviceMetricsOverride", args{"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": false})
		if w := eval[int](p, `document.documentElement.scrollWidth`); w > 320 {
			t.Errorf("%s: %d wide", state, w)
		}
		p.screenshot(state + "-320")
		p.do("Emulation.clearDeviceMetricsOverride", nil)
	}
	p.until(connected)
	look(p, "empty")
	s := st.session(t, "Paying your bills.")
	out := s.Output()
	out.WriteString("There are two bills. They are due tomorrow.")
	p.until(spoken + ".length === 3")
	check(t, s.Progress(aaep.Say("Reading the second bill."), aaep.Progress{Percent: new(50.0)}, 0))
	p.until(`!document.getElementById("progress").hidden`)
	look(p, "streaming")
	out.Close()
	first := pay(t, s, "$5")
	p.until(asked)
	look(p, "question")
	pay(t, s, "$6")
	p.until(`document.querySelectorAll(".question").length === 2`)
	look(p, "two")
	arabic := b.open(st.page+"?lang=ar", "")
	arabic.until(asked + ` || document.querySelectorAll(".question").length === 2`)
	if dir := eval[string](arabic, "document.documentElement.dir"); dir != "rtl" {
		t.Errorf("Arabic goes %s", dir)
	}
	look(arabic, "arabic")
	p.until(armed)
	eval[any](p, `document.querySelector("#q1 .yes").click()`)
	if err := result(t, first); err != nil {
		t.Error(err)
	}
	p.until(`document.querySelector("#q1.settled")`)
	look(p, "answered")
	st.Listener.Close()
	st.CloseClientConnections()
	p.until(`document.getElementById("link").textContent.includes("Trying again")`)
	look(p, "disconnected")
}
