package web_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// TestAccept: what a user types while a question comes answers nothing, wherever the focus is;
// the button does, once there was time to read.
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
		!strings.Contains(said, "Not verified: anybody can use this name.") || !strings.Contains(said, "Asked by “Tester”") || !strings.Contains(said, "If nobody answers, it will not be done.") || !strings.Contains(said, "so that nothing is answered by accident") {
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
	p.until(`document.querySelector(".settled .outcome")?.textContent.startsWith("You answered: accept. The agent says: Pay finished.")`)
	const focus = `document.activeElement.className + " " + document.activeElement.ariaDisabled`
	if at := eval[string](p, focus); at != "yes true" {
		t.Errorf("the focus was on the button, and is on %q", at)
	}
	pay(t, st.session(t, "Paying more bills."), "$6")
	p.until(`document.querySelector("#q2") !== null`)
	if at := eval[string](p, focus); at != "yes true" {
		t.Errorf("another question came, and the focus that was on the button is on %q", at)
	}
	p.key("Enter")
	p.key("Tab")
	p.until(`document.querySelector("#q1 button") === null`)
}

// TestAcceptByAnotherVoice: the button that accepts a question in Arabic waits for an English voice
// to name each letter; where the browser's language is Arabic, for an Arabic one. Else it is said
// of the question and of a failure that they are in Arabic: an English voice makes noise of them.
func TestAcceptByAnotherVoice(t *testing.T) {
	t.Parallel()
	const action, consequence = "ادفع عشرين دولارا لشركة المياه.", "يغادر المال حسابك اليوم."
	b := newBrowser(t)
	failure := map[string]string{"en-US": "(Arabic) ", "ar": ""}
	title := map[string]string{"en-US": "Question 1 (Arabic): ", "ar": "Question 1: "}
	for voice, within := range map[string][2]int{"en-US": {60, 200}, "ar": {10, 40}} {
		st := start(t, producer.Config{Language: "ar", Languages: []string{"en"}})
		p := b.open(st.page, fmt.Sprintf(`Object.defineProperty(Navigator.prototype, "language", { get: () => %q });`, voice))
		p.until(connected)
		s := st.session(t, action)
		asks(t, s, action, consequence, 10*time.Minute)
		p.until(asked)
		if said := eval[string](p, `document.querySelector(".question h3").textContent`); said != title[voice]+action {
			t.Errorf("in a browser in %s the heading is %q", voice, said)
		}
		p.until(fmt.Sprintf(`document.getElementById("alert").textContent.startsWith(%q)`, title[voice]+action))
		hint := eval[string](p, `document.querySelector(".question .hint").textContent`)
		seconds, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(hint))
		if err != nil || seconds < within[0] || seconds > within[1] {
			t.Errorf("in a browser in %s the page says %q, want %d to %d seconds", voice, hint, within[0], within[1])
		}
		check(t, s.Fail(errors.New("disk full"), aaep.Say("القرص ممتلئ.")))
		p.until(fmt.Sprintf(`document.getElementById("alert").textContent.includes(%q)`, failure[voice]+"القرص ممتلئ."))
	}
}

// TestNoAsItEnds: the key of a no that comes when the question has just been told to its end, which
// the page notices by that key, is a no.
func TestNoAsItEnds(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	outcome := pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(`document.querySelector("button.no")?.getAttribute("aria-disabled") === "false"`)
	eval[any](p, `{ const now = Date.now, no = document.querySelector("button.no");
		Date.now = () => now() + 60000;
		no.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
		no.click(); }`)
	if err := result(t, outcome); !errors.Is(err, producer.ErrRejected) {
		t.Errorf("the outcome is %v", err)
	}
}

// TestUnheeded: an answer that is taken, and of which nothing comes, is told to the user who gave
// it, until the agent tells what became of the question. D-36
func TestUnheeded(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, `{ const fetched = fetch, timed = setTimeout;
		globalThis.fetch = async (to, what, ...more) => what?.body?.includes?.('"decision"') ? new Response(null, { status: 204 }) : fetched(to, what, ...more);
		globalThis.setTimeout = (f, ms, ...more) => timed(f, ms === 15000 ? 100 : ms, ...more); }`)
	p.until(connected)
	s := st.session(t, "Paying your bills.")
	outcome := pay(t, s, "$5")
	p.until(armed)
	eval[any](p, `document.querySelector("button.yes").focus()`)
	p.key("Enter")
	p.until(`document.querySelector(".question").innerText.includes("You answered: accept. Nothing shows that the agent got your answer. It may not count.")`)
	if got := eval[string](p, `document.querySelector("button.yes").getAttribute("aria-disabled")`); got != "true" {
		t.Error("another answer can be given")
	}
	undecided(t, outcome)
	if err := s.Cancel(aaep.CancelledBySystem, aaep.Say("The account is closed.")); err != nil {
		t.Fatal(err)
	}
	p.until(`document.querySelector(".settled .outcome") !== null && !document.querySelector(".question").innerText.includes("Nothing shows")`)
}

// TestTwo: the second of two questions is answered with no, and the first stays.
func TestTwo(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	first := pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(asked)
	second := pay(t, st.session(t, "Paying another."), "$6")
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

// TestExpiry: silence is never told as a refusal.
func TestExpiry(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{ShortTimeouts: true})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	s := st.session(t, "Asking.")
	outcome := make(chan error, 1)
	go func() {
		_, err := s.AskText(t.Context(), producer.Question{Text: aaep.Say("Which colour?"), Timeout: 2 * time.Second})
		outcome <- err
	}()
	p.until(asked)
	if err := result(t, outcome); !errors.Is(err, producer.ErrTimedOut) {
		t.Fatal(err)
	}
	p.until(`document.querySelector(".settled .outcome")?.textContent.includes("Nobody answered in time")`)
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
		ask  func() (any, error)
		act  string
		want any
	}{
		{func() (any, error) {
			return s.AskChoice(t.Context(), producer.Question{Text: aaep.Say("Which one?"), Choices: []producer.Choice{
				{Value: "a", Label: aaep.Say("The first")}, {Value: "b", Label: aaep.Say("The second")}}})
		}, `Array.from(document.querySelectorAll(".question:not(.settled) button")).find((b) => b.textContent === "Choose: The second").click()`, "b"},
		{func() (any, error) { return s.AskYesNo(t.Context(), producer.Question{Text: aaep.Say("Shall we?")}) },
			`Array.from(document.querySelectorAll(".question:not(.settled) button")).find((b) => b.textContent === "No").click()`, false},
		{func() (any, error) { return s.AskNumber(t.Context(), producer.Question{Text: aaep.Say("How many?")}) },
			fill("2,5"), 2.5},
		{func() (any, error) { return s.AskText(t.Context(), producer.Question{Text: aaep.Say("What name?")}) },
			fill("Ada"), "Ada"},
		{func() (any, error) {
			return s.AskText(t.Context(), producer.Question{Text: aaep.Say("How many, or why?"), Choices: []producer.Choice{
				{Value: "all", Label: aaep.Say("5")}, {Value: "one", Label: aaep.Say("1")}}})
		}, fill(" 1"), "one"},
	} {
		got := make(chan any, 1)
		go func() {
			v, err := c.ask()
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
				t.Errorf("%v, want %v", v, c.want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no answer for %v. The page: %s", c.want, eval[string](p, "document.body.innerText"))
		}
		p.until(`document.querySelectorAll(".question:not(.settled)").length === 0`)
	}
}
