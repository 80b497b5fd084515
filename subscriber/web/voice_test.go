package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

// all keeps every text that comes into a live region, also what is not read out there, and without
// what a browser can be told itself.
const all = `window.all = []; Document.prototype.ariaNotify = undefined; addEventListener("DOMContentLoaded", () => {
	for (const id of ["log", "alert", "status"]) new MutationObserver((found) => { for (const { addedNodes } of found) for (const p of addedNodes)
		if (p.tagName === "P") all.push((p.ariaLive === "off" ? "silent" : id) + ": " + p.textContent.trim()); }).observe(document.getElementById(id), { childList: true, subtree: true });
});`

// repeats are texts of live regions that the same text stood right before, of which Orca reads out
// none.
func repeats(p *tab) []string {
	var found []string
	last := ""
	for _, line := range eval[[]string](p, "all") {
		region, text, _ := strings.Cut(line, ": ")
		if region == "silent" {
			text = "! " + text
		}
		if region != "silent" && text == last {
			found = append(found, line)
		}
		last = text
	}
	return found
}

// quick is a voice that is fast, so that a test need not wait for it.
func quick(p *tab) { p.t.Helper(); p.choose("pace", "450") }

// TestAlertDiffers: what is critical is in the alert in other words than what stood in a live
// region right before; the log's copy of it has a mark.
func TestAlertDiffers(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, all)
	p.until(connected)
	quick(p)
	for range 2 { // also one that failed as the last one did
		s := st.session(t, "Testing.")
		check(t, s.Fail(errors.New("full"), aaep.Say("The disk is full.")))
	}
	p.until(`all.filter((line) => line.endsWith("disk is full.")).length === 4`)
	if again := repeats(p); len(again) > 0 {
		t.Errorf("Orca does not read out %q", again)
	}
}

// TestToldUntilHeard: a question that a key or a move of the focus cuts is told again in other
// words, and cannot be accepted until it was told without either; it can be refused before.
func TestToldUntilHeard(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, all)
	p.until(connected)
	outcome := pay(t, st.session(t, "Paying your bills."), "$5")
	alerts := func(n int) string {
		return fmt.Sprintf(`all.filter((line) => line.startsWith("alert: ")).length === %d`, n)
	}
	p.until(alerts(1))
	for i, cut := range []func(){
		func() { p.key("ArrowDown") },
		func() { p.key("Control") },
		func() { p.key("Tab") },
		func() { eval[any](p, `document.getElementById("questions").focus()`) },
		func() { eval[any](p, `getSelection().collapse(document.querySelector(".consequence").firstChild, 3)`) },
	} {
		cut()
		if eval[bool](p, armed) {
			t.Fatal("it can be accepted, and was cut")
		}
		p.until(`document.querySelector("button.no").ariaDisabled === "false"`)
		p.until(alerts(i + 2))
	}
	p.until(armed)
	undecided(t, outcome)
	const question = "Question 1: Pay $5 to the water company. The money leaves your account today. Risk: high. It cannot be undone."
	want := []string{"alert: " + question}
	for i := range 5 {
		want = append(want, "alert: "+[]string{"Again: ", "Once more: "}[i%2]+question)
	}
	if got := slices.DeleteFunc(eval[[]string](p, "all"), func(line string) bool { return !strings.HasPrefix(line, "alert: ") }); !slices.Equal(got, want) {
		t.Errorf("told was %q, want %q", got, want)
	}
	if again := repeats(p); len(again) > 0 {
		t.Errorf("Orca does not read out %q", again)
	}
	describes := eval[string](p, `document.querySelector("button.yes").getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).textContent).join(" ")`)
	if describes != "The money leaves your account today. Risk: high. It cannot be undone. You can answer now." {
		t.Errorf("Accept is described by %q", describes)
	}
}

// TestLongQuestion: of a question nothing is shortened. A long one is told in pieces, of which only
// the one that was cut is told again; it cannot be accepted before the last one was told. One that
// is longer than the protocol allows is not put.
func TestLongQuestion(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, all+`const parse = JSON.parse; JSON.parse = (text) => {
		const it = parse(text);
		return it?.consequence === "It is too long." ? { ...it, consequence: "x ".repeat(9000) } : it;
	};`)
	p.until(connected)
	quick(p)
	first := strings.TrimSpace(strings.Repeat("It goes from this machine. ", 14))
	outcome := asks(t, st.session(t, "Deleting."), "Delete the photos.", first+" The backup goes too.", 10*time.Minute)
	p.until(`all.some((line) => line.startsWith("alert: ") && line.includes("The backup goes too."))`)
	if eval[bool](p, armed) {
		t.Error("it can be accepted, and its end was not heard")
	}
	p.key("ArrowDown")
	p.until(armed)
	undecided(t, outcome)
	want := []string{"Question 1: Delete the photos. " + first, "Question 1: The backup goes too. Risk: high. It cannot be undone.",
		"Again: Question 1: The backup goes too. Risk: high. It cannot be undone."}
	if got := eval[[]string](p, `all.filter((line) => line.startsWith("alert: ")).map((line) => line.slice(7))`); !slices.Equal(got, want) {
		t.Errorf("told was %q, want %q", got, want)
	}
	asks(t, st.session(t, "Deleting more."), "Delete all.", "It is too long.", 10*time.Minute)
	p.until(`all.some((line) => line.startsWith("alert: The agent asks something that cannot be shown or answered here"))`)
	if n := eval[int](p, `document.querySelectorAll(".question").length`); n != 1 {
		t.Errorf("%d questions are put", n)
	}
}

// TestRepeated: an open question is told again though no key cut it, for there are keys that a page
// does not see, later each time; after an answer no more.
func TestRepeated(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, all+`window.waits = []; { const timed = setTimeout;
		globalThis.setTimeout = (f, ms, ...more) => { if (ms % 20000 === 0 && ms) waits.push(ms); return timed(f, ms % 20000 ? ms : ms / 100, ...more); }; }`)
	p.until(connected)
	quick(p)
	outcome := pay(t, st.session(t, "Paying your bills."), "$5")
	const told = `all.filter((line) => line.startsWith("alert: "))`
	p.until(told + `.length === 3`)
	if got := eval[[]string](p, told); got[0] != strings.Replace(got[1], "Again: ", "", 1) || got[0] != strings.Replace(got[2], "Once more: ", "", 1) || got[0] == got[1] {
		t.Errorf("told was %q", got)
	}
	p.until(armed)
	if got := eval[[]int](p, "waits"); !slices.Equal(got, []int{20000, 40000}) {
		t.Errorf("it waited for %v ms", got)
	}
	eval[any](p, `document.querySelector("button.no").click()`)
	result(t, outcome)
	p.until(`all.some((line) => line.includes("You answered: reject."))`)
	eval[any](p, "new Promise((done) => setTimeout(done, 1500))")
	if n := eval[int](p, told+".length"); n > 4 {
		t.Errorf("it was told %d times, also after the answer", n)
	}
}

// TestUnseenQuestion: a question that came while the page was not there is told on return, and
// cannot be accepted before.
func TestUnseenQuestion(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, all+`let away = false; Object.defineProperty(document, "hidden", { get: () => away });
		window.turn = (to) => { away = to; document.dispatchEvent(new Event("visibilitychange")); };`)
	p.until(connected)
	quick(p)
	eval[any](p, "turn(true)")
	outcome := pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(asked)
	p.until(armed) // as far as the time goes
	if eval[bool](p, `all.some((line) => !line.startsWith("silent: "))`) {
		t.Error("it is read out where nobody is")
	}
	eval[any](p, "turn(false)")
	if eval[bool](p, armed) {
		t.Error("a question that nobody heard can be accepted")
	}
	p.until(`all.some((line) => line.startsWith("alert: ") && line.includes("Question 1: Pay $5"))`)
	p.until(armed)
	undecided(t, outcome)
}

// TestWaitsNoMore: what came in the background is told with how many questions wait by then, and a
// question that was answered meanwhile is none of them.
func TestWaitsNoMore(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, all+`let away = false; Object.defineProperty(document, "hidden", { get: () => away });
		window.turn = (to) => { away = to; document.dispatchEvent(new Event("visibilitychange")); };`)
	p.until(connected)
	quick(p)
	eval[any](p, "turn(true)")
	outcome := pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(asked)
	eval[any](p, "turn(false)")
	p.until(`document.querySelector("button.no").ariaDisabled === "false"`)
	eval[any](p, `document.querySelector("button.no").click()`)
	result(t, outcome)
	p.until(`all.some((line) => line.includes("While you were away"))`)
	for _, line := range eval[[]string](p, "all") {
		if strings.Contains(line, "While you were away") && strings.Contains(line, "question waits") {
			t.Errorf("no question waits when it is said: %q", line)
		}
	}
}

// TestOutcomeOnce: what came of an answer is told once, and nothing else of it after that; a state
// is no outcome.
func TestOutcomeOnce(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, all)
	p.until(connected)
	quick(p)
	s := st.session(t, "Paying your bills.")
	outcome := pay(t, s, "$5")
	p.until(armed)
	eval[any](p, `document.querySelector("button.no").focus()`)
	p.key("Enter")
	if err := result(t, outcome); !errors.Is(err, producer.ErrRejected) {
		t.Error(err)
	}
	answer := make(chan any, 1)
	go func() {
		got, _ := s.AskChoice(t.Context(), producer.Question{Text: aaep.Say("Which?"), Choices: []producer.Choice{{Value: "a", Label: aaep.Say("This")}, {Value: "b", Label: aaep.Say("That")}}})
		answer <- got
	}()
	p.until(asked)
	p.until(`document.querySelector("#q2 button")?.ariaDisabled === "false"`)
	eval[any](p, `document.querySelector("#q2 button").click()`)
	<-answer
	check(t, s.Complete(aaep.Say("All is paid.")))
	p.until(spoken + `.some((line) => line.includes("All is paid."))`)
	heard := strings.Join(slices.DeleteFunc(eval[[]string](p, "all"), func(line string) bool { return strings.HasPrefix(line, "silent: ") }), "\n")
	for said, n := range map[string]int{"You answered: reject.": 1, "You answered: This.": 1, "not known": 0, "Thinking": 0, "Rejected, and not done": 1} {
		if got := strings.Count(heard, said); got != n {
			t.Errorf("%q was said %d times, want %d:\n%s", said, got, n, heard)
		}
	}
}

// TestPartIsRead: who goes to another part of the page hears its name, and those of the parts that
// it is in, and a question that this cuts can be accepted the later.
func TestPartIsRead(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, all)
	p.until(connected)
	pay(t, st.session(t, "Paying your bills."), "$5")
	var seconds [2]int
	for i := range seconds { // each cuts what is being told
		p.until(fmt.Sprintf(`all.filter((line) => line.startsWith("alert: ")).length === %d`, i+1))
		hint := eval[string](p, fmt.Sprintf(`new Promise((done) => {
			document.addEventListener("selectionchange", () => setTimeout(() => done(document.querySelector(".hint").textContent)), { once: true });
			getSelection().collapse(document.querySelector(".consequence").firstChild, %d);
		})`, i))
		_, err := fmt.Sscanf(hint, "The answer buttons work in about %d seconds", &seconds[i])
		check(t, err)
	}
	if into, within := seconds[0], seconds[1]; into < within+8 {
		t.Errorf("who comes to the question can accept in %d s, who was there in %d s", into, within)
	}
}

// TestDescribedOnce: what describes a button that has the focus does not change while it waits, for
// Orca reads out all of it each time; how long it waits is told to the person who presses it.
func TestDescribedOnce(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, all)
	p.until(connected)
	outcome := pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(asked)
	eval[any](p, `{ const hint = document.querySelector(".hint"), hints = window.hints = [hint.textContent];
		document.querySelector("button.yes").focus();
		new MutationObserver(() => hints.push(hint.textContent)).observe(hint, { childList: true, characterData: true, subtree: true }); }`)
	const told = `all.filter((line) => line.startsWith("status: The answer buttons work in about ")).length`
	p.key("Enter")
	p.until(told + " > 0")
	p.until(armed)
	undecided(t, outcome)
	if hints := eval[[]string](p, "hints.slice(1)"); !slices.Equal(hints, []string{"You can answer now."}) {
		t.Errorf("what describes the button changed to %q", hints)
	}
}

// TestAcceptedInVain: what was accepted and failed at once is not told as being done after it is
// told that it failed, and the question says what came of it.
func TestAcceptedInVain(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, all)
	p.until(connected)
	quick(p)
	s := st.session(t, "Paying your bills.")
	go func() {
		s.Tool(t.Context(), producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Action: aaep.Say("Pay $5."), Consequence: aaep.Say("It leaves today.")},
			func(context.Context) (string, error) { return "", errors.New("refused") })
		s.Fail(errors.New("refused"), aaep.Say("The bank refused."))
	}()
	p.until(armed)
	eval[any](p, `document.querySelector("button.yes").focus()`)
	p.key("Enter")
	p.until(`all.some((line) => line.endsWith("You answered: accept."))`)
	p.until(`all.some((line) => line.endsWith("The bank refused."))`)
	check(t, st.session(t, "Another task.").Complete(aaep.Say("It is done.")))
	p.until(`all.some((line) => line.endsWith("It is done."))`)
	if lines := eval[[]string](p, "all"); slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "being done") }) {
		t.Errorf("it is said to be done, and failed: %q", lines)
	}
	const result = `document.querySelector(".settled .outcome").textContent`
	if got := eval[string](p, result); got != "You answered: accept. The agent says: Pay failed." {
		t.Errorf("the question says %q", got)
	}
}

// TestSentences: what its producer cut is one line, and where the page has to cut it cuts neither
// in code nor in a link.
func TestSentences(t *testing.T) {
	t.Parallel()
	p := newBrowser(t).open(start(t, producer.Config{}).page, "")
	p.until(connected)
	long := strings.Repeat("One sentence of it. ", 20)
	cases := []struct {
		Language, Text string
		Final, Whole   bool
		want           []string
	}{
		{"en", "See https://a.example?y=1 now. Then go.", true, false, []string{"See https://a.example?y=1 now.", "Then go."}},
		{"en", "See [what? and why?](https://a.example/?y=1 \"Why? So.\") first. Go.", true, false, []string{"See [what? and why?](https://a.example/?y=1 \"Why? So.\") first.", "Go."}},
		{"en", "Run `a? b. C` now. Go.", true, false, []string{"Run `a? b. C` now.", "Go."}},
		{"en", "Run `a? b. C", false, false, nil},
		{"en", "It is in a.example?y=1 and b!c. Go.", true, false, []string{"It is in a.example?y=1 and b!c.", "Go."}},
		{"en", "Dr. Smith came. He stayed.", true, true, []string{"Dr. Smith came. He stayed."}},
		{"es", "¿Quién? ¡Nadie! Bien.", true, false, []string{"¿Quién?", "¡Nadie!", "Bien."}},
		{"ar", "من هناك؟ لا أحد.", true, false, []string{"من هناك؟", "لا أحد."}},
		{"zh", "付款吗？是的。完了。", true, false, []string{"付款吗？", "是的。", "完了。"}},
		{"yo", "Ta ni? Ẹnikẹ́ni kọ́. Ó dára.", true, false, []string{"Ta ni?", "Ẹnikẹ́ni kọ́.", "Ó dára."}},
		{"en", long, true, true, slices.Repeat([]string{"One sentence of it."}, 20)},
		{"en", strings.Repeat("[", 5000), true, false, nil},
	}
	data, err := json.Marshal(cases)
	check(t, err)
	got := eval[[][]string](p, `import("./text.js").then(({ sentences }) => `+string(data)+`.map((c) => sentences(c.Text, c.Language, c.Final, c.Whole).found))`)
	for i, c := range cases {
		if c.want != nil && !slices.Equal(got[i], c.want) || c.want == nil && strings.Join(got[i], "") != strings.Repeat("[", 5000)[:len(strings.Join(got[i], ""))] {
			t.Errorf("%q is cut into %q, want %q", c.Text, got[i], c.want)
		}
	}
}

// TestFlood: of more than can be heard it is told how much is left out and what the last of it is,
// and what came of a question and why something failed do not wait behind it; what waits can be
// skipped, at once, or all of it.
func TestFlood(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, all)
	p.until(connected)
	quick(p)
	p.choose("rate", "10") // at a lower one the sentences may come as few lines, of which none waits
	st.agreed(t, func(c aaep.Capabilities) bool { return c.MaxEventsPerSecond == 10 })
	s := st.session(t, "Building.")
	flood := func(n int) {
		out := s.Output()
		for i := range n {
			fmt.Fprintf(out, "Compiling the file number %d of them all. ", i+1)
		}
		out.WriteString("The build is broken.")
		check(t, out.Close())
	}
	flood(2000)
	p.until(`all.some((line) => /^status: [\d,]+ lines were left out\. They are in the log\. The last is: The build is broken\.$/.test(line))`)

	flood(10)
	p.until(`!document.getElementById("waiting").hidden`)
	outcome := pay(t, s, "$5")
	p.until(armed)
	eval[any](p, `document.querySelector("button.no").click()`)
	result(t, outcome)
	p.until(`all.some((line) => line.startsWith("log: Question 1: You answered: reject."))`)
	if at := eval[string](p, "all.at(-1)"); strings.Contains(at, "broken") {
		t.Errorf("what came of the question waited for %q", at)
	}
	eval[any](p, `document.getElementById("newest").click()`)
	p.until(`all.filter((line) => /^status: .*The last is: (Compiling [^]*)?The build is broken\.$/.test(line)).length === 2 || all.some((line) => /^log: (Compiling [^]*)?The build is broken\.$/.test(line))`)

	flood(10)
	p.until(`!document.getElementById("waiting").hidden`)
	p.key("Escape")
	p.until(`document.getElementById("waiting").hidden`)
	eval[any](p, `document.getElementById("quiet").click()`)
	n := eval[int](p, `all.filter((line) => !line.startsWith("silent: ")).length`)
	flood(5)
	p.until(spoken + `.at(-1) === "The build is broken."`)
	check(t, s.Fail(errors.New("broken"), aaep.Say("It was not built.")))
	p.until(`all.at(-1).includes("It was not built.") || all.at(-2).includes("It was not built.")`)
	if heard := eval[[]string](p, fmt.Sprintf(`all.filter((line) => !line.startsWith("silent: ")).slice(%d)`, n)); len(heard) != 1 || !strings.HasPrefix(heard[0], "alert: It was not built.") {
		t.Errorf("in quiet there was read out %q", heard)
	}
}

// TestStates: the page knows which words the SDK has for a state, in every language of its.
func TestStates(t *testing.T) {
	t.Parallel()
	p := newBrowser(t).open(start(t, producer.Config{}).page, "")
	p.until(connected)
	for _, tag := range append([]string{"en"}, phrase.Languages()...) {
		for _, id := range []phrase.ID{phrase.Thinking, phrase.UsingATool, phrase.Answering, phrase.WaitingForAnswer, phrase.Idle, phrase.Deciding, phrase.HandingOff} {
			text, _ := phrase.In(tag, id, "")
			if !eval[bool](p, `import("./states.js").then(({ bare }) => bare(`+fmt.Sprintf("%q", text)+`))`) {
				t.Errorf("%s: %q passes for news", tag, text)
			}
		}
	}
}

// TestOnceVerified: whether it was verified who asks is said once on the page, and the settings are
// folded.
func TestOnceVerified(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	const verdicts = `Array.from(document.querySelectorAll(".verdict")).filter((el) => el.checkVisibility({ visibilityProperty: true })).length`
	p.until(verdicts + " === 1")
	pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(asked)
	if n := eval[int](p, verdicts); n != 1 {
		t.Errorf("it is said %d times", n)
	}
	if eval[bool](p, `document.getElementById("settings").checkVisibility()`) {
		t.Error("the settings are unfolded")
	}
}
