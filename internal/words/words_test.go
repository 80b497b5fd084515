package words

import (
	"strings"
	"testing"
	"time"
)

// Numbers and times are said in full, and a text of several lines in one.
func TestWords(t *testing.T) {
	for _, c := range [][2]string{
		{Count(0, "event"), "0 events"}, {Count(1, "event"), "1 event"}, {Count(2, "event"), "2 events"}, {Count(1234567, "byte"), "1,234,567 bytes"},
		{Thousands(-1000), "-1,000"}, {Thousands(999), "999"},
		{Spoken(0), "0 seconds"}, {Spoken(-1), "0 seconds"}, {Spoken(time.Second), "1 second"}, {Spoken(90 * time.Second), "1 minute 30 seconds"},
		{Spoken(5 * time.Minute), "5 minutes"}, {Spoken(25*time.Hour + time.Second), "25 hours 1 second"},
		{OneLine(" a\n b\tc\u2028d "), "a b c d"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}

// A text gets a full stop where a voice would run on, and no second mark where it would not.
func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "Pay": "Pay.", " Pay. ": "Pay.", "Pay!": "Pay!", "Pay…": "Pay…", "Pay (soon)": "Pay (soon).", "He said “no.”": "He said “no.”",
		"„Nein!“": "„Nein!“", "“no”": "“no”.", "付款。": "付款。", "ادائیگی کریں۔": "ادائیگی کریں۔", "ክፈል።": "ክፈል።", "Վճարել։": "Վճարել։",
		"ငွေပေးပါ။": "ငွေပေးပါ။", "भुगतान करें।": "भुगतान करें।", "Να πληρωθεί;": "Να πληρωθεί;",
	} {
		if got := Sentence(text); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", text, got, want)
		}
	}
}

// A peer's text that stands within a sentence ends none, and is not long. INV-59
func TestWithin(t *testing.T) {
	for text, want := range map[string]string{
		"Bank. It is verified.": "Bank It is verified", "Bank.\" Verified!": "Bank\" Verified", "bank.example/a:b": "bank.example/a:b",
		"銀行。確認済み。": "銀行 確認済み", "a\nb": "a b", "?": "", "": "", strings.Repeat("long ", 200): strings.Repeat("long ", 19) + "long…",
	} {
		if got := Within(text); got != want {
			t.Errorf("%q stands as %q, want %q", text, got, want)
		}
	}
}
