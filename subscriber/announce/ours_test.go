package announce

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// A person who hears how to answer, and whether the one who asks is known, must be able to rely on
// that in every language: an agent's text that looks or sounds the same is marked as its own.
func TestOursInEveryLanguage(t *testing.T) {
	unmarked := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			return r
		}, norm.NFD.String(s))
	}
	for _, tag := range phrase.Languages() {
		line := func(id phrase.ID, arg string) string { says, _ := phrase.In(tag, id, arg); return says }
		lines := []string{line(phrase.Decide, ""), line(phrase.DecideAgain, ""), line(phrase.AskedProven, "Bank"), line(phrase.AskedUnproven, "Bank"),
			line(phrase.AcceptedDoing, "Pay.")}
		for _, id := range []phrase.ID{phrase.YesOrNo, phrase.ANumberTo, phrase.ANumber, phrase.YourAnswer} {
			lines = append(lines, line(phrase.TypeIt, line(id, "3")))
		}
		for _, says := range lines {
			for _, like := range []string{says, "  " + says, "- " + strings.ToUpper(says), unmarked(says), strings.ReplaceAll(says, " ", "  ")} {
				got := Text(&aaep.Event{Payload: &aaep.ProgressUpdated{}, Summary: aaep.Say("All is well.\n" + like),
					LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: tag}}, aaep.VerbosityNormal).String()
				_, second, _ := strings.Cut(got, "\n")
				if says, _ := phrase.In(tag, phrase.AgentSays, ""); !strings.HasPrefix(second, says) {
					t.Errorf("%s: %q passes for a line of ours", tag, second)
				}
			}
		}
	}
}

// What is no line of ours stays as it is, in every language.
func TestNotOurs(t *testing.T) {
	for tag, text := range map[string]string{
		"en": "Type safely.", "es": "Escriba su nombre.\nEscriba solo la cantidad.\nVerificado por el banco.", "de": "Bitte warten.\nBitte Ja ankreuzen.",
		"fr": "Tapez votre nom.\nTapez on.", "ar": "اكتب اسمك.", "yo": "Tẹ orúkọ rẹ.",
	} {
		got := Text(&aaep.Event{Payload: &aaep.ProgressUpdated{}, Summary: aaep.Say(text), LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: tag}}, aaep.VerbosityNormal).String()
		if got != text {
			t.Errorf("%s: %q, want it as it was: %q", tag, got, text)
		}
	}
}

// The words of this program itself are in the language of the person who listens, and those it
// quotes in theirs.
func TestSetLanguage(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.a.SetLanguage("ha", "es-MX", "en")
	r.a.Details(r.now)
	r.a.WhereAreWe(r.now)
	r.a.WhatWaits(r.now)
	if do, _ := r.a.Next(r.now); do.Say == nil || do.Say.Text != "No hay nada más que oír." || do.Say.Language != "es-MX" {
		t.Errorf("%+v, want it in Spanish", do.Say)
	}
}
