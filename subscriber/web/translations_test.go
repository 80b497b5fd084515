package web_test

import (
	"strconv"
	"testing"

	"github.com/aaep-go/aaep/producer"
)

// TestTranslations: of an agent that says itself in several languages at once the page shows, and
// has read, the one that serves its user best, as the subscriber in Go does. What is told beside
// the summary has no other. I18N-003, D-73
func TestTranslations(t *testing.T) {
	t.Parallel()
	p := newBrowser(t).open(start(t, producer.Config{}).page+"?lang=yo", `globalThis.EventSource = class extends EventSource { constructor(...a) { super(...a); globalThis.stream = this; } }`)
	p.until(`globalThis.stream?.readyState === EventSource.OPEN`)
	const said = `"session_id":"sess_1","urgency":"critical","localization_hints":{"primary_language":"en"},"summary_normal":"Done.","summary_terse_yo":"Parí.","summary_normal_YO":"Ó ti parí.","summary_normal_ar":"تم."`
	const last = `(({ lang, dir, lastChild }) => [lang, dir, lastChild.textContent].join(" "))([...document.querySelectorAll("#log .line")].at(-1))`
	for _, c := range []struct{ event, want string }{
		{`{"type":"aaep:agent.handoff.requested",` + said + `}`, "yo ltr Ó ti parí."},
		{`{"type":"aaep:agent.session.errored",` + said + `,"remediation_hint":"Try again."}`, "en ltr Done. Try again."},
	} {
		eval[any](p, `stream.dispatchEvent(new MessageEvent("aaep.event", { data: `+strconv.Quote(c.event)+` }))`)
		if got := eval[string](p, last); got != c.want {
			t.Errorf("the page says %q, want %q", got, c.want)
		}
	}
	for _, c := range []struct{ wants, hints, want string }{
		{`"yo-NG","en"`, `"en"`, "yo"}, {`"en-GB","yo"`, `"en"`, "own"}, {`"fr","ar-EG"`, `"en"`, "ar"}, {`"fr"`, `"en"`, "own"},
		{`"fr"`, `"en","fallback_chain":["ar","en"]`, "ar"}, {`"fr"`, `"en","fallback_chain":7`, "own"}, {`"YO"`, `"yo"`, "own"},
		{`"ar-Latn","yo"`, `"en"`, "ar"}, {`"en","yo"`, `"en-US"`, "own"}, {`"en-x-a","yo"`, `"en"`, "own"}, {`"hr","yo"`, `"sr-Cyrl"`, "yo"},
	} {
		got := eval[string](p, `import("./text.js").then(({ translated }) => translated({ type: "acme:thing", summary_normal: "own", summary_normal_yo: "yo", summary_terse_ar: "ar",
			localization_hints: { "primary_language": `+c.hints+` } }, [`+c.wants+`])).then((e) => e.summary_normal ?? e.summary_terse)`)
		if got != c.want {
			t.Errorf("whoever wants %s, of what is in %s, gets %q, want %q", c.wants, c.hints, got, c.want)
		}
	}
}
