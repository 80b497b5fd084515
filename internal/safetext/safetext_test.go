package safetext

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// INV-57: what people write stays as it is, and what deceives does not. Package web reads the same
// texts to the page.
func TestTexts(t *testing.T) {
	data, err := os.ReadFile("testdata/texts.json")
	if err != nil {
		t.Fatal(err)
	}
	var texts []struct{ Why, Text, Language, Want string }
	if err := json.Unmarshal(data, &texts); err != nil {
		t.Fatal(err)
	}
	for _, c := range texts {
		got := Clean(c.Text, c.Language, false)
		if got != c.Want {
			t.Errorf("%s %s: %+q becomes %+q, want %+q", c.Language, c.Why, c.Text, got, c.Want)
		}
		if again := Clean(got, c.Language, false); again != got {
			t.Errorf("%s: %+q becomes %+q at last", c.Language, got, again)
		}
		if _, why := First(got, c.Language, false); why != "" {
			t.Errorf("%s: %+q is made harmless, and refused: it %s", c.Language, got, why)
		}
	}
}

// A producer may send what does no harm and is left out where people get it, and nothing that is
// seen in another order.
func TestFirst(t *testing.T) {
	for _, c := range []struct {
		text, language string
		refused        bool
	}{
		{"Pay \u2068100\u2069 to \u2068Bob\u2069", "en", false}, // as translation libraries write it
		{"Pay\u200e 100 / 9000 so\u00adon", "en", false},
		{"Pay \u200f100 / 9000", "en", true},
		{"Pay \u2067100 / 9000\u2069", "en", true},
		{"Pay א 100 / 9000", "en", true},
		{"Pay א\u200e 100 / 9000", "en", false},
		{"Pay א 100", "en", false},
		{"Pay א 1½ ב", "en", true},
		{"Pay א\u200e 1½ ב", "en", false},
		{"Pay א ① ② ב", "en", true},
		{"Pay א ½ ב", "en", false},
		{"ادفع 1½ ש", "ar", false},
		{"ادفع \u20681½\u2069 ש", "ar", false},
		{"ادفع 100 / 9000", "ar", false},
		{"ادفع \u200e100 / 9000", "ar", true},
		{"ادفع \u2066100 / 9000\u2069", "ar", true},
		{"ادفع \u2068100 USD\u2069 / \u20689000 EUR\u2069", "ar", false},
		{"e" + strings.Repeat("\u0301", 8), "en", false},
		{"e" + strings.Repeat("\u0301", 9), "en", true},
		{"a\ufdd0", "", true},
	} {
		if i, why := First(c.text, c.language, false); (why != "") != c.refused || (i >= 0) != c.refused {
			t.Errorf("%s %+q: %d, %q; refused should be %v", c.language, c.text, i, why, c.refused)
		}
	}
	if i, why := First("Pay \u200f100 "+"e"+strings.Repeat("\u0301", 9), "en", true); i >= 0 {
		t.Errorf("a part of a text is refused: it %s", why)
	}
}

// Clean of what is clean changes nothing, whatever the text and its language, and a producer may
// send that.
func TestCleanOnce(t *testing.T) {
	for _, text := range Random(20000) {
		for _, language := range []string{"", "en", "he"} {
			once := Clean(text, language, false)
			if again := Clean(once, language, false); again != once {
				t.Fatalf("%s %+q becomes %+q, and that %+q", language, text, once, again)
			}
			if _, why := First(once, language, false); why != "" {
				t.Fatalf("%s %+q is made harmless, and refused: it %s", language, once, why)
			}
		}
	}
}

// Random are texts of what matters to the order, the same each time.
func Random(n int) (texts []string) {
	signs := []rune("ab אשמم10٣٤  //-,.()\u200e\u200f\u061c\u2066\u2067\u2068\u2069\u2069\u2069\u2069\u0301\u200d\u200b\n")
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		var b strings.Builder
		for range 1 + random.IntN(24) {
			b.WriteRune(signs[random.IntN(len(signs))])
		}
		texts = append(texts, b.String())
	}
	return texts
}
