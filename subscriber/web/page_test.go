package web_test

import (
	"testing"

	"github.com/aaep-go/aaep/producer"
)

const connected = `document.getElementById("link")?.textContent === "Connected."`

func TestAccept(t *testing.T) {
	st := start(t, producer.Config{})
	b := newBrowser(t)
	p := b.open(st.page, "")
	p.until(connected)
	p.screenshot("empty")
	s := st.session(t, "Paying your bills.")
	outcome := pay(t, s, "$5")
	p.until(`document.querySelectorAll(".question").length === 1`)
	p.screenshot("question")
	for _, c := range "hello agent" {
		p.key(string(c))
	}
	undecided(t, outcome)
	p.until(`document.querySelector("button.yes").getAttribute("aria-disabled") === "false"`)
	p.screenshot("armed")
	eval[any](p, `document.querySelector("button.yes").focus()`)
	p.key("Enter")
	if err := result(t, outcome); err != nil {
		t.Fatal(err)
	}
	p.until(`document.querySelector(".question.settled .outcome").textContent.includes("You answered: accept.")`)
	p.screenshot("answered")
}
