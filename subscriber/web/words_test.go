package web_test

import (
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// TestPlurals: a line that a number decides has the forms of its language, as the browser knows
// them, and no others; and every number gets words without a hole in them.
func TestPlurals(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	for _, problem := range eval[[]string](p, `import("./words.js").then(({ tables, pageWords }) => {
		const problems = [];
		for (const [tag, table] of Object.entries(tables)) {
			const categories = new Intl.PluralRules(tag).resolvedOptions().pluralCategories, say = pageWords(tag);
			for (const [key, line] of Object.entries(tables.en)) {
				const own = table[key];
				if (typeof own === "object") {
					if (!own.other) problems.push(tag + " " + key + " has no form for other numbers");
					for (const form in own) if (!categories.includes(form)) problems.push(tag + " " + key + " has a form " + form + ", which the language has not");
				}
				if (typeof line === "object" && typeof own === "string" && categories.length > 1) problems.push(tag + " " + key + " has one form for all numbers");
				for (const n of [0, 1, 2, 3, 7, 11, 100, 1000000]) {
					const said = say(key, { n, newest: "x", text: "x", time: "x", length: "x" });
					if (!said || /[{}]|undefined|NaN/.test(said)) problems.push(tag + " " + key + " with " + n + " says " + said);
				}
			}
		}
		return problems;
	})`) {
		t.Error(problem)
	}
}

// TestDirection: a text runs, and is read, as its event says. I18N-014
func TestDirection(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{Languages: []string{"ar"}})
	b := newBrowser(t)
	arabic, english := b.open(st.page+"?lang=ar", ""), b.open(st.page, "")
	english.until(connected)
	arabic.until(`document.getElementById("link")?.textContent === "متصل."`)
	s, err := st.StartSession(t.Context(), aaep.Say("AAEP says what the agent does.").In("ar", aaep.Say("يقول ما يفعله الوكيل.")))
	check(t, err)
	defer s.Close()
	for want, p := range map[string]*tab{"rtl ar": arabic, "ltr en-US": english} {
		p.until(spoken + `.length === 1`)
		if line := eval[string](p, `(({ dir, lang }) => dir + " " + lang)(document.querySelector("#log .line"))`); line != want {
			t.Errorf("the line is %q, want %q", line, want)
		}
	}
}

// TestNumbers: a number is read as the terminal reads it, and as nothing where two people would
// mean two amounts.
func TestNumbers(t *testing.T) {
	t.Parallel()
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	if got := eval[string](p, `import("./text.js").then(({ numberOf }) => ["12,5", "-0,125", "١٢٫٥", "۷", "1.500", "5.", ".5", "1,000", "1,5,5", "0x10", "1e9", "Infinity", ".", "ten"].map((s) => numberOf(s, "en-GB", undefined))
		.concat(numberOf("1.500", "en", "de"), numberOf("1.5", "de", "de")).join(" "))`); got != "12.5 -0.125 12.5 7 1.5 5 0.5 NaN NaN NaN NaN NaN NaN NaN NaN 1.5" {
		t.Error(got)
	}
}
