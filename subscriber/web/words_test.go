package web_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
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
// mean two amounts: known cases, and texts of all the characters that count.
func TestNumbers(t *testing.T) {
	t.Parallel()
	texts := []string{"12,5", "-0,125", "١٢٫٥", "۷", "1.500", "5.", ".5", "1,000", "1,5,5", "0x10", "1e9", "Infinity", ".", "ten", "+3", "٬", "1٬000",
		"1.000.000", "007", "0.125", "-1.500", "0,1", "10,25", "1 000", "1,0000", "-", "", "1.5000", "९", "５", strings.Repeat("9", 400)}
	signs, r := []rune("0123456789.,+-٫٬٣۴ 5051"), rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		text := make([]rune, 1+r.IntN(8))
		for i := range text {
			text[i] = signs[r.IntN(len(signs))]
		}
		texts = append(texts, strings.TrimSpace(string(text)))
	}
	data, err := json.Marshal(texts)
	check(t, err)
	st := start(t, producer.Config{})
	p := newBrowser(t).open(st.page, "")
	p.until(connected)
	for _, languages := range [][]string{{"en-GB"}, {"en", "de"}, {"de", "de"}, {"en", "en-US"}} {
		of, err := json.Marshal(languages)
		check(t, err)
		got := eval[[]string](p, fmt.Sprintf(`import("./text.js").then(({ numberOf }) => %s.map((s) => String(numberOf(s, ...%s))))`, data, of))
		for i, text := range texts {
			want, isNumber := answers.Number(text, languages...)
			number, err := strconv.ParseFloat(got[i], 64)
			if isPageNumber := err == nil && !math.IsNaN(number) && !math.IsInf(number, 0); isPageNumber != isNumber || isNumber && number != want {
				t.Errorf("%q in %v: the page reads %s, the terminal %v, %v", text, languages, got[i], want, isNumber)
			}
		}
	}
	for text, want := range map[string]float64{"12,5": 12.5, "-0,125": -0.125, "١٢٫٥": 12.5, "۷": 7, "1.500": 1.5, "5.": 5, ".5": 0.5} {
		if number, ok := answers.Number(text, "en-GB"); !ok || number != want {
			t.Errorf("%q is %v, %v", text, number, ok)
		}
	}
}
