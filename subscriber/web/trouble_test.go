package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber/web"
)

// TestClock: a page whose clock is ten minutes off tells the time of its own wall, and its answer
// counts.
func TestClock(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	for _, off := range []string{"-600000", "600000"} {
		st := start(t, producer.Config{})
		p := b.open(st.page, `{ const real = Date.now, of = Date; globalThis.Date = class extends of { constructor(...a) { a.length ? super(...a) : super(real() + `+off+`); } static now() { return real() + `+off+`; } }; }`)
		p.until(connected)
		outcome := pay(t, st.session(t, "Paying your bills."), "$5") // within two minutes
		p.until(asked)
		shown := eval[string](p, `document.querySelector(".question .time").textContent`)
		minutes := eval[float64](p, `(() => { const at = new Date(); const [, h, m, s, half] = "`+shown+`".match(/(\d+):(\d+):(\d+)\s(AM|PM)/);
			const then = new Date(at); then.setHours(h % 12 + (half === "PM" ? 12 : 0), m, s); return (((then - at) / 60000) + 2160) % 1440 - 720; })()`)
		if minutes < 1 || minutes > 2.1 {
			t.Errorf("off by %s ms: %q is in %.1f minutes, want 2", off, shown, minutes)
		}
		p.until(armed)
		eval[any](p, `document.querySelector("button.yes").click()`)
		if err := result(t, outcome); err != nil {
			t.Errorf("off by %s ms: %v", off, err)
		}
	}
}

// TestReplyFails: an answer that does not arrive is told so, and can be given again; it did nothing
// meanwhile.
func TestReplyFails(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	var failing atomic.Bool
	inner := *st.agent.Load()
	var outer http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if failing.Load() && strings.HasSuffix(r.URL.Path, "/replies") {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		inner.ServeHTTP(w, r)
	})
	st.agent.Store(&outer)
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	outcome := pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(armed)
	failing.Store(true)
	eval[any](p, `Object.assign(document, { ariaNotify: (text) => { window.noted = text; } }), document.querySelector("button.yes").click()`)
	p.until(`window.noted === "Your answer did not arrive. Please try again."`)
	undecided(t, outcome)
	failing.Store(false)
	p.until(armed)
	eval[any](p, `document.querySelector("button.yes").click()`)
	check(t, result(t, outcome))
}

// TestTypedOver: what a key cut off is said again when the hands are still, the question first, and
// stands in the log once.
func TestTypedOver(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, `Document.prototype.ariaNotify = undefined`)
	p.until(connected)
	s := st.session(t, "Counting.")
	out := s.Output()
	out.WriteString("This sentence is quite long, so that it takes a person's screen reader some seconds to read it. ")
	p.until(spoken + `.length === 2`)
	pay(t, s, "$5")
	p.until(`document.getElementById("alert").textContent !== ""`)
	eval[any](p, `{ const seen = window.seen = []; for (const id of ["alert", "status"]) { new MutationObserver((all) => { for (const m of all) for (const n of m.addedNodes) seen.push(id + ": " + n.textContent.trim().slice(0, 13)); }).observe(document.getElementById(id), { childList: true }); } }`)
	p.key("a")
	if n := eval[int](p, "window.seen.length"); n != 0 {
		t.Errorf("while somebody types, %d things are said", n)
	}
	p.until("window.seen.length === 2")
	if got := eval[string](p, `window.seen.join()`); got != "alert: Again: Questi,status: Again: This s" {
		t.Errorf("said again was %q", got)
	}
	if n := eval[int](p, spoken+`.filter((t) => t.startsWith("This sentence")).length`); n != 1 {
		t.Errorf("the log has it %d times", n)
	}
	out.Close()
}

// TestVanish: a producer that is gone is told as gone, once, and found again when it is back; and
// that what it said meanwhile may be missing, where nothing says where to go on.
func TestVanish(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	old := *st.agent.Load()
	var gone http.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	st.agent.Store(&gone)
	st.CloseClientConnections()
	p.until(`document.getElementById("link").textContent.includes("Trying again.")`)
	p.until(`document.getElementById("again").hidden === false`)
	st.agent.Store(&old)
	eval[any](p, `document.getElementById("again").click()`)
	p.until(connected)
	p.until(`document.querySelector("#log .urgent")?.textContent.startsWith("What was said meanwhile may be missing.")`)
	st.session(t, "Here again.")
	p.until(spoken + `.at(-1)?.endsWith("Here again.")`)
}

// TestAwayWhileAsked: that the connection is back is told with that a question waits, which the
// person may have heard of long ago.
func TestAwayWhileAsked(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	pay(t, st.session(t, "Paying your bills."), "$5")
	p.until(armed)
	eval[any](p, `globalThis.heard = [], document.ariaNotify = (text) => heard.push(text), 0`) // instead of a live region
	old := *st.agent.Load()
	var gone http.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	st.agent.Store(&gone)
	st.CloseClientConnections()
	p.until(`heard.some((text) => text.endsWith("Trying again."))`)
	st.agent.Store(&old)
	p.until(`heard.includes("Connected. 1 question waits.")`)
}

// CONF-039: an answer that is given after the time is not sent.
func TestAnswerAfterItsTime(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	inner := *st.agent.Load()
	var replies atomic.Int32
	var outer http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/replies") {
			replies.Add(1)
		}
		inner.ServeHTTP(w, r)
	})
	st.agent.Store(&outer)
	p := newBrowser(t).open(st.page, `{ const real = Date.now; Date.now = () => real() + (globalThis.later ?? 0); }`)
	p.until(connected)
	outcome := pay(t, st.session(t, "Paying your bills."), "$5") // within two minutes
	p.until(armed)
	eval[any](p, `globalThis.later = 121000, document.querySelector("button.yes").click()`)
	p.until(`document.querySelector(".question").innerText.includes("The time to answer is over.")`)
	undecided(t, outcome)
	if n := replies.Load(); n > 0 {
		t.Errorf("%d replies were sent", n)
	}
}

// TestUnderAPrefix: the page of an agent that is mounted below a path finds it there.
func TestUnderAPrefix(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	agent, err := (&serve.Server{Page: web.Handler()}).Handler(st.Producer)
	check(t, err)
	below := httptest.NewServer(http.StripPrefix("/agents/planner", agent))
	defer below.Close()
	defer below.CloseClientConnections()
	p := newBrowser(t).open(below.URL+"/agents/planner/", "")
	p.until(connected)
	st.session(t, "Here below.")
	p.until(spoken + `.at(-1)?.endsWith("Here below.")`)
}
