package uilang

import (
	"slices"
	"testing"

	"github.com/aaep-go/aaep/internal/phrase"
)

// Who asks for no language is taken to speak that of their system.
func TestHomeLanguages(t *testing.T) {
	for locale, want := range map[string][]string{
		"es_MX.UTF-8": {"es-MX", "en-US"}, "de": {"de", "en-US"}, "sr_RS@latin": {"sr-RS", "en-US"},
		"en_GB.UTF-8": {"en-US"},
		"C.UTF-8":     {"en-US"}, "POSIX": {"en-US"}, "german": {"en-US"}, "": {"en-US"}, "no such": {"en-US"},
	} {
		t.Setenv("LANG", locale)
		if got := SystemLanguages(); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", locale, got, want)
		}
	}
	t.Setenv("LANG", "es_ES")
	t.Setenv("LC_ALL", "fr_FR")
	if got := SystemLanguages(); got[0] != "fr-FR" {
		t.Errorf("LC_ALL goes first: %q", got)
	}
}

func TestJoinList(t *testing.T) {
	three := []string{"a", "b", "c"}
	if got := Language("es").JoinList(three); got != "a, b, c" {
		t.Error(got)
	}
	if got := Language("ar").JoinList(three); got != "a، b، c" {
		t.Error(got)
	}
	if got := Language("en-GB").JoinList(three); got != "a, b, and c" {
		t.Error(got)
	}
	if got := Language("de").PhraseText(phrase.YouGet,
		Language("de").JoinList(nil)); got != "Sie bekommen: nichts weiter." {
		t.Error(got)
	}
}
