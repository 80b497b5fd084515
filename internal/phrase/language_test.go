package phrase

import "testing"

// A language is called by its name in the language of the listener, and by its tag only where it
// has none.
func TestLanguageName(t *testing.T) {
	for _, tt := range []struct{ own, tag, want string }{
		{"en", "yo", "Yoruba"}, {"en-US", "yo-NG", "Yoruba (Nigeria)"}, {"de", "fi", "Finnisch"}, {"es", "yo", "yoruba"}, {"yo", "yo", "Yorùbá"},
		{"ar", "yo", "اليوروبا"}, {"en", "es-MX", "Mexican Spanish"}, {"en", "zh-Hant", "Traditional Chinese"}, {"yo", "zh-Hant", "Traditional Chinese"},
		{"en", "sr-Latn", "Serbian"}, {"en", "sr", "Serbian"}, {"xx", "ha", "Hausa"}, {"", "ha", "Hausa"},
		{"en", "qaa", "qaa"}, {"en", "x-klingon", "x-klingon"}, {"en", "", ""}, {"en", "english", "english"}, {"en", "\xff", "\xff"},
	} {
		if got := LanguageName(tt.own, tt.tag); got != tt.want {
			t.Errorf("%q is called %q in %q, want %q", tt.tag, got, tt.own, tt.want)
		}
	}
}
