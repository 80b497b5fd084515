package web_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// TestSafe: the page makes of every text what aaep.SafeTextIn makes of it, and shows it in the
// order in which it is heard: in a text from left to right all numbers and Latin words, in one from
// right to left the numbers that no Latin word parts. INV-57, D-86
func TestSafe(t *testing.T) {
	t.Parallel()
	type text struct {
		Text, Want string
		Language   *string `json:",omitempty"` // nil is none, and how it is seen does not matter
	}
	var texts []text
	data, err := os.ReadFile("../../internal/safetext/testdata/texts.json")
	check(t, err)
	check(t, json.Unmarshal(data, &texts))
	for i := range texts {
		if texts[i].Language == nil {
			texts[i].Language = new("")
		}
	}
	signs := []rune("ab אשמם10٣٤½①  //-,.()\u200e\u200f\u061c\u2066\u2067\u2068\u2069\u2069\u2069\u2069\u0301\u200d\u200b\n")
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 1200 {
		var b strings.Builder
		for range 1 + random.IntN(20) {
			b.WriteRune(signs[random.IntN(len(signs))])
		}
		texts = append(texts, text{Text: b.String(), Language: &[]string{"", "en", "he", "ar"}[i%4]})
	}
	for r := rune(0); r < 0x110000; r += 23 { // what the table says of all sorts of characters
		if r < 0xd800 || r > 0xdfff {
			texts = append(texts, text{Text: "a" + string(r) + "1\u0915" + string(r) + "\u0915"})
		}
	}
	for i := range texts {
		language := ""
		if texts[i].Language != nil {
			language = *texts[i].Language
		}
		texts[i].Want = aaep.SafeTextIn(texts[i].Text, language)
	}
	given, err := json.Marshal(texts)
	check(t, err)
	p := newBrowser(t).open(start(t, producer.Config{}).page, "")
	p.until(connected)
	for _, problem := range eval[[]string](p, fmt.Sprintf(`import("./safe.js").then(({ safe, directionOf }) => {
		const problems = [], line = document.createElement("pre"), range = document.createRange();
		document.body.append(line);
		// steps are the ways that the eye goes from each digit, or Latin letter, to the next: 1 to
		// the right, -1 to the left, 0 where words from left to right part them in a text from
		// right to left, or the second is the fraction of a number.
		const steps = (text, dir) => {
			const found = [];
			let last, parted = false;
			line.dir = dir;
			line.textContent = text;
			for (const m of text.matchAll(/[a-zA-Z\d٣٤½①]/g)) {
				if (dir === "rtl" && /[a-zA-Z]/.test(m[0])) {
					parted = true;
					continue;
				}
				range.setStart(line.firstChild, m.index);
				range.setEnd(line.firstChild, m.index + 1);
				const at = range.getBoundingClientRect().left;
				const isFraction = dir === "rtl" && /\d\p{M}*[½①]$/u.test(text.slice(0, m.index + 1));
				if (last !== undefined) found.push(parted || isFraction ? 0 : Math.sign(at - last));
				[last, parted] = [at, false];
			}
			return found;
		};
		for (const { Text, Language, Want } of %s) {
			const got = safe(Text, Language ?? ""), dir = directionOf(Text, Language);
			if (got !== Want) problems.push(escape(Text) + " becomes " + escape(got) + ", want " + escape(Want));
			if (Language === undefined || got.length > 60) continue;
			for (const text of got.split("\n").filter(Boolean)) {
				const seen = steps(text, dir), plain = dir === "rtl" && steps(text.replace(/[\u200e\u200f\u061c\u2066-\u2069]/g, ""), dir);
				if (!seen.every((step, i) => (dir === "ltr" ? step === 1 : step <= 0 || step === plain[i]))) problems.push(dir + " " + escape(text) + " is seen so: " + seen);
			}
		}
		line.remove();
		return problems.slice(0, 20);
	})`, given)) {
		t.Error(problem)
	}
}

// TestDirectionsOfTexts: a text runs as its language is written, whatever an agent says of its
// direction. D-86
func TestDirectionsOfTexts(t *testing.T) {
	t.Parallel()
	p := newBrowser(t).open(start(t, producer.Config{}).page, "")
	p.until(connected)
	for text, want := range map[[2]string]string{
		{"100 / 9000 paid", "he"}: "ltr", {"א 100 / 9000 paid", "en"}: "ltr", {"Acme 100 א", "he"}: "rtl", {"שלום", ""}: "rtl", {"א Pay", ""}: "ltr", {"Pay", ""}: "ltr",
	} {
		arguments, err := json.Marshal(text)
		check(t, err)
		if got := eval[string](p, fmt.Sprintf(`import("./safe.js").then(({ directionOf }) => directionOf(...%s))`, arguments)); got != want {
			t.Errorf("%q is shown %s, want %s", text, got, want)
		}
	}
}
