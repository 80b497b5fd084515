package web_test

import (
	"strings"
	"testing"

	"github.com/aaep-go/aaep/producer"
)

// speechRecorder is a script that records what a screen reader is given, in order.
const speechRecorder = `window.heard = []; addEventListener("DOMContentLoaded", () => {
	for (const id of ["log", "alert", "status"]) new MutationObserver((all) => { for (const { addedNodes } of all) for (const p of addedNodes)
		if (p.tagName === "P" && p.ariaLive !== "off") heard.push(id + ": " + p.textContent.trim()); }).observe(document.getElementById(id), { childList: true, subtree: true });
});`

// TestReasons: a question is read out at once, and what was said before it after that, as what came
// meanwhile; then which question is open, so that it is what was heard last before the answer. What
// was accepted is told as what is done. LVL-040
func TestReasons(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, speechRecorder)
	p.until(connected)
	eval[any](p, `(() => { const pace = document.getElementById("pace"); pace.value = "450"; pace.dispatchEvent(new Event("change")); })()`)
	s := st.session(t, "Paying your bills.")
	out := s.Output()
	out.WriteString("The bill is due today. Tomorrow it costs ten more.")
	out.Close()
	outcome := pay(t, s, "$5")
	p.until(`heard.some((line) => line.startsWith("status: Waiting"))`)
	if now := eval[string](p, `document.getElementById("state").textContent`); now != "Waiting for an answer." {
		t.Errorf("what it does now is %q", now)
	}
	p.until(armed)
	eval[any](p, `document.querySelector("button.yes").click()`)
	check(t, result(t, outcome))
	p.until(`heard.at(-1) === "log: Pay finished."`)
	heard := strings.Join(eval[[]string](p, "heard"), "\n")
	_, heard, _ = strings.Cut(heard, "log: Tester: Paying your bills.\n")
	const want = `alert: Question 1: Pay $5 to the water company. The money leaves your account today. Risk: high. It cannot be undone.
log: What came meanwhile: The bill is due today.
log: Tomorrow it costs ten more.
status: Waiting for an answer. Question 1: Pay $5 to the water company.
log: Question 1: You answered: accept.
log: Accepted, and being done: Pay $5 to the water company.
log: Pay finished.`
	if heard != want {
		t.Errorf("heard\n%s\nwant\n%s", heard, want)
	}
	if result := eval[string](p, `document.querySelector(".settled .outcome").textContent`); result != "You answered: accept. The agent says: Pay finished." {
		t.Errorf("the question says %q", result)
	}
}
