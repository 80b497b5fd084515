package manifest

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// T-NAME
func TestLookalike(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"Invoice helper", "Invоice helper", true},         // Cyrillic о
		{"Invoice helper", "Ιnvoice helper", true},         // Greek Ι
		{"Invoice helper", "lnvoice helper", true},         // small L
		{"Invoice helper", "1nvoice helper", true},         // one
		{"Invoice helper", "Inv\u00adoice helper", true},   // soft hyphen
		{"Invoice helper", "Invoice\u200b helper", true},   // zero width space
		{"Invoice helper", "Invoice helper\u2060", true},   // word joiner
		{"Invoice helper", "Invoice h\ufe0felper", true},   // variation selector
		{"Invoice helper", "Invoice  helper ", true},       // spaces
		{"Invoice helper", "Invoice\u00a0helper", true},    // no-break space
		{"Invoice helper", "Ｉｎｖｏｉｃｅ helper", true},         // full width
		{"Invoice helper", "𝐈𝐧𝐯𝐨𝐢𝐜𝐞 helper", true},         // mathematical bold
		{"Invoice helper", "invoice HELPER", true},         // case
		{"Invoice helper", "\u202eInvoice helper", true},   // override
		{"Invoice helper", "INVОICE HELPER", true},         // case, and Cyrillic О
		{"PAYPAL", "РАУРАL", true},                         // Cyrillic Р, А, У
		{"PAYPAL", "РАYРАL", true},                         // Cyrillic Р, А
		{"bank-helper", "bank‐helper", true},               // hyphen U+2010
		{"Ọlá", "O\u0323la\u0301", true},                   // the same letters, composed otherwise
		{"Bank", "ВANK", true},                             // Cyrillic В, which is в when it is small
		{"café", "cafе\u0301", true},                       // Cyrillic е, and an accent
		{"Straße", "STRASSE", true},                        // case
		{"O0", "0O", true},                                 // zeros
		{"Invoice helper", "Invoice helper", false},        // the same
		{"Invoice helper", "Invoice helper 2", false},      // another
		{"Invoice helper", "Invoice helped", false},        // another
		{"mail", "mall", false},                            // other letters
		{"Ọla", "Ola", false},                              // other letters, in Yoruba
		{"Счета", "Счёта", false},                          // other letters, in Russian
		{"", "", false}, {"", "a", false}, {"", " ", true}, // nothing to see
		{"الفواتير", "القواتير", false}, {"請求書", "請求者", false}, // other scripts
	} {
		if looksAlike(c.a, c.b) != c.want || looksAlike(c.b, c.a) != c.want {
			t.Errorf("looksAlike(%q, %q) = %t", c.a, c.b, !c.want)
		}
	}
}

// T-NAME: a long name is compared in little time, and padding that cannot be seen hides nothing.
func TestLookalikeLong(t *testing.T) {
	long := strings.Repeat("\u0301", maxSigned)
	for range 100 { // would be many seconds
		looksAlike(long, long+"x")
	}
	for _, padding := range []string{"\u00ad", " ", "\u3000"} {
		if !looksAlike("Invoice helper", strings.Repeat(padding, maxSigned/len(padding))+"Invoice helper") {
			t.Errorf("%+q hides a name", padding)
		}
	}
	if long := strings.Repeat("a", 255); looksAlike(long+"b", long+"c") {
		t.Error("what is among the first 256 characters does not count")
	}
}

// T-NAME: the names in the corpus that pass for the one everybody knows.
func TestLookalikeCorpus(t *testing.T) {
	var index struct {
		Cases []struct {
			ID, Reason, Base64 string
			Display            struct{ Field string }
		}
	}
	readCorpus(t, "index.json", &index)
	seen := 0
	for _, c := range index.Cases {
		if c.Display.Field != "producer.agent_name" {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(c.Base64)
		check(t, err)
		var event struct {
			Producer struct {
				Name string `json:"agent_name"`
			}
		}
		if json.Unmarshal(data, &event) != nil {
			continue
		}
		if looksAlike(event.Producer.Name, "Invoice helper") {
			seen++
		} else {
			t.Logf("%s: %+q (%s) looks like nobody's", c.ID, event.Producer.Name, c.Reason)
		}
	}
	if seen < 2 {
		t.Errorf("only %d of them were found", seen)
	}
}

// It is the same both ways, never true of one name, and ends.
func FuzzLookalike(f *testing.F) {
	f.Add("Invoice helper", "Invоice helper")
	f.Add("ﷺ", "\u0301\u0301")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			return
		}
		if looksAlike(a, a) || looksAlike(a, b) != looksAlike(b, a) {
			t.Errorf("%q, %q", a, b)
		}
	})
}

// INV-59: what Misleads of package lookalike finds is found in the part of a name that people see.
func TestNameMisleads(t *testing.T) {
	for name, want := range map[string]bool{"Bank ✓": true, "Bаnk": true, "Bank": false} {
		if NameMisleads(name) != want {
			t.Errorf("%q misleads: %v", name, !want)
		}
	}
}
