package words

import "testing"

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
