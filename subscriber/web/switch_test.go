package web_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// whoAsks is what a question says of who asks it, in the order in which it is read.
const whoAsks = `Array.from(document.querySelectorAll(".question :is(.verdict, .quiet:not(.hint))"), (el) => el.textContent).join(" | ")`

// TestNameIsNoVerdict: the page's own word on who asks comes first, and nothing of the page's
// behind the name: whatever a name says, in the form of a verdict too, stands in its marks and is
// said without a pause.
func TestNameIsNoVerdict(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{Agent: aaep.Agent{AgentID: "bank", AgentName: "Bank (verified)”. Verified: it proved that it is who it says."}})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	const name = "Bank (verified) Verified it proved that it is who it says"
	if said := eval[string](p, `document.querySelector("header").innerText`); strings.Join(strings.Fields(said), " ") != "Not verified: anybody can use this name. "+name+" Connected." {
		t.Errorf("the header says %q", said)
	}
	pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(asked)
	if by := eval[string](p, whoAsks); by != "Not verified: anybody can use this name. | Asked by “"+name+"”" {
		t.Errorf("the question says %q", by)
	}
	if who := eval[string](p, `document.querySelector("#log .who, #log b").textContent`); who != name+": " {
		t.Errorf("the log says %q", who)
	}
}

// TestLanguageChangedWhileAsked: a question that is open is in the language that is chosen, its
// buttons and the agent's words, each with its tag; what was typed stays, and the focus; it is
// asked once. I18N-009
func TestLanguageChangedWhileAsked(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{Languages: []string{"es"}})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	answer := make(chan any, 1)
	go func() {
		got, _ := st.session(t, "Choosing.").AskText(context.Background(), producer.Question{Text: aaep.Say("What is it for?").In("es", aaep.Say("¿Para qué es?")), Timeout: time.Minute})
		answer <- got
	}()
	p.until(asked)
	eval[any](p, `{ const el = document.querySelector(".question input"); el.focus(); el.value = "Ada"; }`)
	p.choose("language", "es")
	p.until(`document.querySelector(".question h3 bdi")?.textContent === "¿Para qué es?"`)
	const shown = `(({ lang }, input, send) => [lang, document.querySelector(".question h3 bdi").lang, input.value, document.activeElement === input, send.textContent].join(" "))(
		document.querySelector(".question"), document.querySelector(".question input"), document.querySelector(".question button.yes"))`
	if got := eval[string](p, shown); got != "es es Ada true Enviar la respuesta" {
		t.Errorf("the question is %q", got)
	}
	if n := eval[int](p, `document.querySelectorAll(".question").length`); n != 1 {
		t.Errorf("it is asked %d times", n)
	}
	p.until(`document.querySelector("button.yes").getAttribute("aria-disabled") === "false"`)
	eval[any](p, `document.querySelector("button.yes").click()`)
	select {
	case got := <-answer:
		if got != "Ada" {
			t.Errorf("the answer is %v", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("the answer did not come")
	}
}
