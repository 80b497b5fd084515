package words

import (
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
