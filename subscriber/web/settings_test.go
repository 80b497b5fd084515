package web_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/producer"
)

// choose changes settings as a hand does.
func (p *tab) choose(id, value string) {
	p.t.Helper()
	eval[any](p, `{ const el = document.getElementById("`+id+`"); el.value = "`+value+`"; el.dispatchEvent(new Event("change", { bubbles: true })); }`)
}

// agreed waits for a subscription with such terms.
func (s *agentPage) agreed(t *testing.T, is func(aaep.Capabilities) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		for _, sub := range s.Subscriptions() {
			if is(sub.Terms) {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("agreed was %+v", s.Subscriptions())
		}
	}
}

func hasHaptic(c aaep.Capabilities) bool {
	return slices.Contains(c.SupportedExtensions, extensions.HapticVocabulary.URI)
}

// TestSettings: what is chosen is agreed at once, there again in the next visit, and the same in
// another tab. TERM-008
func TestSettings(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	b := newBrowser(t)
	other := b.open(st.page, "")
	other.until(connected)
	p := b.open(st.page, "")
	p.until(connected)
	for _, c := range []struct {
		id, value string
		is        func(aaep.Capabilities) bool
	}{
		{"rate", "5", func(c aaep.Capabilities) bool { return c.MaxEventsPerSecond == 5 }},
		{"pace", "250", func(c aaep.Capabilities) bool { return c.PaceWPM == 250 }},
		{"verbosity", "terse", func(c aaep.Capabilities) bool { return c.PreferredVerbosity == aaep.VerbosityTerse }},
		{"load", "low", func(c aaep.Capabilities) bool { return c.CognitiveLoad == aaep.LoadLow }},
		{"time", "10", func(c aaep.Capabilities) bool { return strings.Contains(string(c.Extensions["timing"]), "10") }},
		{"vibrate", "on", func(c aaep.Capabilities) bool {
			return hasHaptic(c) && strings.Contains(string(c.Extensions["haptic"]), "needs_you")
		}},
		{"vibrate", "off", func(c aaep.Capabilities) bool { return !hasHaptic(c) }},
	} {
		p.choose(c.id, c.value)
		st.agreed(t, c.is)
	}
	p.choose("language", "es")
	p.until(`document.documentElement.lang === "es" && document.getElementById("questions").textContent === "Preguntas"`)
	other.until(`document.documentElement.lang === "es" && document.getElementById("rate").value === "5"`)
	again := b.open(st.page, "")
	again.until(`document.getElementById("link")?.textContent === "Conectado." && document.getElementById("rate").value === "5"`)
}

// TestFelt: where a person chose that, what happens is felt as one of five patterns, none too
// often, and a question at once.
func TestFelt(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, `window.felt = []; Navigator.prototype.vibrate = (p) => felt.push({ at: Date.now(), length: p.length, ms: p.reduce((a, b) => a + b) });`)
	p.until(connected)
	s := st.session(t, "Nothing is felt of this.")
	p.until(spoken + `.length === 1`)
	if n := eval[int](p, "felt.length"); n != 0 {
		t.Errorf("felt %d times before that was chosen", n)
	}
	p.choose("vibrate", "on")
	st.agreed(t, hasHaptic)
	p.until("felt.length === 1") // to know it by
	check(t, s.State(aaep.StateThinking, aaep.Say("Thinking.")))
	outcome := pay(t, s, "$5")
	p.until(asked)
	p.until(`felt.at(-1).ms === 1000 && felt.length > 1`) // needs_you
	p.until(armed)
	eval[any](p, `document.querySelector("button.yes").click()`)
	check(t, result(t, outcome))
	check(t, s.Complete(aaep.Say("Done.")))
	p.until(`felt.at(-1).ms === 240`) // done
	second := st.session(t, "Once more.")
	p.until(`felt.at(-1).ms === 60`) // started
	_, err := second.Tool(t.Context(), producer.Tool{Name: "look", Action: aaep.Say("Look.")}, func(context.Context) (string, error) { return "", context.DeadlineExceeded })
	if err == nil {
		t.Error("the tool did not fail")
	}
	p.until(`felt.at(-1).ms === 600`) // failed
	third := st.session(t, "The agent chooses.")
	chosen := aaep.Say("Chosen.").With(extensions.HapticVocabulary, extensions.HapticData{Pattern: "done"})
	check(t, third.State(aaep.StateDeciding, chosen))
	p.until(`felt.at(-1).ms === 240`)
	// What follows a question may follow it closely; else there is a second between two.
	if eval[bool](p, `felt.some((f, i) => i > 1 && f.ms !== 1000 && f.at - felt[i - 1].at < 950)`) {
		t.Errorf("felt too often: %s", eval[string](p, "JSON.stringify(felt)"))
	}
}

// TestNotified: where a person chose that, a question that waits in another tab is told by the
// system, and nothing of what it says.
func TestNotified(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, `let away = false; window.shown = []; window.allow = "denied";
		Object.defineProperty(document, "hidden", { get: () => away });
		window.turn = (to) => { away = to; document.dispatchEvent(new Event("visibilitychange")); };
		window.Notification = class { constructor(title, o) { shown.push(title + " " + o.body); } static requestPermission() { this.permission = allow; return Promise.resolve(allow); } };`)
	p.until(connected)
	p.choose("notify", "on")
	p.until(`document.getElementById("notify").value === "off"`) // the browser does not allow it
	eval[any](p, `window.allow = "granted"`)
	p.choose("notify", "on")
	p.until(`Notification.permission === "granted"`)
	s := st.session(t, "Paying your bills.")
	outcome := pay(t, s, "$5")
	p.until(asked)
	if n := eval[int](p, "shown.length"); n != 0 {
		t.Errorf("who looks at the page was notified %d times", n)
	}
	p.until(armed)
	eval[any](p, `document.querySelector(".choices button").click()`)
	result(t, outcome)
	eval[any](p, `turn(true)`)
	pay(t, s, "$6")
	p.until(`shown.length === 1`)
	if said := eval[string](p, "shown[0]"); said != "1 question waits Open the page to hear it." {
		t.Errorf("the notification says %q", said)
	}
}
