package negotiation_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// D-75, I18N-003, I18N-004, §11.1.2, §11.1.3. Lists are comma-separated; no want is no match.
func TestMatchLanguage(t *testing.T) {
	for _, tc := range []struct{ requested, offered, want string }{
		// The same tag, whatever its case.
		{"en-US", "en-US", "en-US"},
		{"en-us", "EN-US", "EN-US"},
		{"EN", "en", "en"},
		{"ZH-HANT", "zh-Hant", "zh-Hant"},
		{"yo-NG", "en-US,yo-NG", "yo-NG"},
		{"en-US", "en,en-GB,en-US", "en-US"}, // the same before any other
		{"en", "en-US,en", "en"},
		// An offer that says more.
		{"en", "en-US", "en-US"},
		{"en", "en-GB,en-US", "en-GB"}, // the producer's own first
		{"yo", "yo-NG", "yo-NG"},
		{"es", "es-419", "es-419"},
		{"zh-Hans", "zh-Hans-CN", "zh-Hans-CN"},
		{"en", "eng-US,enx", ""}, // a subtag is whole
		// An offer that says less: subtags are dropped from the right.
		{"en-US", "en", "en"},
		{"en-GB", "en", "en"},
		{"es-419", "es", "es"},
		{"yo-NG", "yo", "yo"},
		{"pt-BR", "pt", "pt"},
		{"ar-EG", "ar", "ar"},
		{"he-IL", "he", "he"},
		{"de-CH-1996", "de-CH", "de-CH"},
		{"de-CH-1996", "de,de-CH", "de-CH"}, // as few as possible
		{"en-US-u-ca-gregory", "en-US", "en-US"},
		{"en-a-bb-x-cc", "en-a,en", "en"}, // a singleton goes with what it introduces
		// Another region, once the region is dropped.
		{"en-US", "en-GB", "en-GB"},
		{"pt-BR", "pt-PT", "pt-PT"},
		{"es-MX", "es-419,es-ES", "es-419"},
		{"yo-NG", "yo-BJ", "yo-BJ"},
		// Scripts are not crossed.
		{"zh-Hans", "zh-Hans", "zh-Hans"},
		{"zh-Hant", "zh-Hans", ""},
		{"zh-Hans", "zh-Hant", ""},
		{"zh-TW", "zh-Hant", "zh-Hant"},
		{"zh-HK", "zh-TW", "zh-TW"},
		{"zh-TW", "zh-CN", ""},
		{"zh-CN", "zh-Hans", "zh-Hans"},
		{"zh-Hant-HK", "zh-Hans,zh-Hant", "zh-Hant"},
		{"zh-Hant", "zh-TW", "zh-TW"},
		{"zh", "zh-Hans", "zh-Hans"},
		{"zh", "zh-CN", "zh-CN"},
		{"zh", "zh-TW", ""}, // zh alone is in simplified characters
		{"sr-Latn", "sr-Cyrl", ""},
		{"sr-Cyrl", "sr-Latn", ""},
		{"sr", "sr-Latn", ""},
		{"sr", "sr-Cyrl-RS", "sr-Cyrl-RS"},
		{"sr-ME", "sr-Latn", "sr-Latn"},
		{"sr-Latn-RS", "sr-Latn", "sr-Latn"},
		{"sr-RS", "sr-ME", ""},
		{"az-IR", "az-AZ", ""},
		{"uz-Cyrl", "uz-UZ", ""},
		// An offer that names neither script nor region leaves it open, and is the last resort.
		{"zh-Hant", "zh", "zh"},
		{"zh-TW", "zh", "zh"},
		{"sr-Latn", "sr", "sr"},
		{"zh-TW", "zh,zh-Hant", "zh-Hant"},
		{"zh-HK", "zh,zh-CN,zh-TW", "zh-TW"},
		{"sr-Latn-RS", "sr,sr-ME", "sr-ME"},
		{"zh-CN", "zh,zh-Hans", "zh"}, // of the right script, and less to drop
		// The next preference.
		{"fr,en-US", "en", "en"},
		{"zh-Hant,yo-NG,en", "en,yo", "yo"},
		{"en-US,fr", "fr,en-GB", "en-GB"}, // a preference is gone through to its end
		// No match.
		{"fr", "en", ""},
		{"ar", "he", ""},
		{"he", "ar", ""},
		{"yo", "ha-NG", ""}, // x/text's matcher would offer English for these two
		{"pcm", "en", ""},
		{"ha-NG", "en-NG", ""},
		{"", "en", ""},
		{"en", "", ""},
		// Tags that are no languages, or that are unknown.
		{"i-klingon", "i-navajo", ""},
		{"i-klingon", "i-klingon", "i-klingon"},
		{"x-foo", "x-bar", ""},
		{"qaa", "qaa-NG", "qaa-NG"},
		{"xx", "xx-NG", "xx-NG"},
		{"zh-TW-abcdefgh", "zh-TW", "zh-TW"},
		{"zh-TW-abcdefgh", "zh-CN", ""},
	} {
		got, ok := negotiation.MatchLanguage(list(tc.requested), list(tc.offered))
		if got != tc.want || ok != (tc.want != "") {
			t.Errorf("requested %s, offered %s: %q, %v; want %q", tc.requested, tc.offered, got, ok, tc.want)
		}
	}
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// D-46, HS-050, I18N-006: honored are the requested tags that match, in the subscriber's order.
func TestHonoredLanguages(t *testing.T) {
	for _, tc := range []struct{ requested, offered, honored string }{
		{"en-US", "en", "en-US"},
		{"en-US,yo-NG,fr", "yo,en", "en-US,yo-NG"},
		{"fr,yo,en-GB,en", "en-US,yo-NG", "yo,en-GB,en"},
		{"EN-us", "en-US", "EN-us"},
		{"zh-Hant,zh-Hans", "zh-CN", "zh-Hans"},
		{"en-US", "", "en-US"}, // a producer that says nothing speaks en-US
		{"", "en-GB", "en-US"}, // and so does a subscriber
	} {
		terms := negotiate(t, aaep.Capabilities{Languages: list(tc.requested)},
			negotiation.Offer{Languages: list(tc.offered)})
		if !reflect.DeepEqual(terms.Languages, list(tc.honored)) || terms.Note() != "" {
			t.Errorf("requested %s, offered %s: honored %q, note %q; want %s", tc.requested, tc.offered,
				terms.Languages, terms.Note(), tc.honored)
		}
	}
}

// D-46: an option serves who understands none of our languages; the field is left out, and a note
// says it. What was never asked for is not honored later either (HS-075, INV-30).
func TestAnyLanguage(t *testing.T) {
	offer := negotiation.Offer{Languages: []string{"de", "en-US"}, AnyLanguage: true}
	terms := negotiate(t, aaep.Capabilities{Languages: []string{"fr"}}, offer)
	again := renegotiate(t, terms, aaep.Capabilities{PaceWPM: 200}, offer)
	for _, terms := range []negotiation.Terms{terms, again} {
		raw, err := answer(terms)
		if len(terms.Languages) != 0 || err != nil || strings.Contains(string(raw), `"languages"`) {
			t.Errorf("honored %q: %s, %v", terms.Languages, raw, err)
		}
		if !strings.HasSuffix(terms.Note(), " de.") {
			t.Errorf("note %q", terms.Note())
		}
	}
	if want := "Aucune des langues demandées n’est disponible. Le texte est dans la langue de."; terms.Note() != want {
		// in their own, all the same
		t.Errorf("note %q, want %q", terms.Note(), want)
	}
	terms = renegotiate(t, again, aaep.Capabilities{Languages: []string{"en"}}, offer)
	if !reflect.DeepEqual(terms.Languages, []string{"en"}) || terms.Note() != "" {
		t.Errorf("honored %q, note %q", terms.Languages, terms.Note())
	}
}

var tags = rapid.OneOf(
	rapid.SampledFrom([]string{"en", "en-US", "en-GB", "es-419", "yo", "yo-NG", "zh", "zh-Hans", "zh-Hant",
		"zh-TW", "zh-CN",
		"pt-BR", "pt", "sr", "sr-Latn", "sr-Cyrl", "ar", "he", "EN-us", "fr", "fr-x-a", "i-klingon", "x-a"}),
	rapid.StringMatching(`[a-z]{1,8}(-[a-zA-Z0-9]{1,8}){0,4}`))

// D-75: a match is one of the offered tags; offering the requested tag itself always serves; case
// and what comes after the match change nothing.
func TestMatchLanguageProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requested := rapid.SliceOfN(tags, 1, 4).Draw(t, "requested")
		offered := rapid.SliceOfN(tags, 1, 6).Draw(t, "offered")
		got, ok := negotiation.MatchLanguage(requested, offered)
		if ok != contains(offered, got) {
			t.Fatalf("%q of %q: %q, %v", requested, offered, got, ok)
		}
		base := func(tag string) string { b, _, _ := strings.Cut(strings.ToLower(tag), "-"); return b }
		if ok && !contains(each(requested, base), base(got)) {
			t.Fatalf("%q of %q: %q is another language", requested, offered, got)
		}
		upper, _ := negotiation.MatchLanguage(each(requested, strings.ToUpper), each(offered, strings.ToLower))
		if upper != strings.ToLower(got) {
			t.Fatalf("%q of %q: %q, in another case %q", requested, offered, got, upper)
		}
		if more, _ := negotiation.MatchLanguage(append(requested, "en", "fr"), offered); ok && more != got {
			t.Fatalf("%q of %q: %q, with more requested %q", requested, offered, got, more)
		}
		own, ok := negotiation.MatchLanguage(requested, append(offered, requested[0]))
		if !ok || !strings.EqualFold(own, requested[0]) {
			t.Fatalf("%q of %q and the first: %q, %v", requested, offered, own, ok)
		}
	})
}

func each(list []string, f func(string) string) (out []string) {
	for _, s := range list {
		out = append(out, f(s))
	}
	return out
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// P10: a tag as long as a message costs no more than reading it, however many languages are
// offered.
func TestLongTags(t *testing.T) {
	offered := append(strings.Fields(strings.Repeat("de ", 2000)), "en-US")
	for name, tag := range map[string]string{
		"singletons": "en-" + strings.Repeat("a-", 400_000) + "b",
		"variants":   "en" + strings.Repeat("-abcdefgh", 100_000),
	} {
		from := time.Now()
		if got, ok := negotiation.MatchLanguage([]string{tag}, offered); got != "en-US" {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
		if d := time.Since(from); d > time.Minute {
			// some ms on a quiet machine; where it grows with the square, many minutes
			t.Errorf("%s: took %v", name, d)
		}
	}
}

// A refusal that is about languages names those that the producer has, also where it was cut, and
// nothing in it that is no language is taken for one.
func TestRefusedLanguages(t *testing.T) {
	_, err := negotiation.Negotiate(request(aaep.Capabilities{Languages: []string{"ha"}}),
		negotiation.Offer{Languages: []string{"en-US", "pt-BR"}})
	refused := new(aaep.Rejection)
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		of   aaep.Rejection
		want []string
		is   bool
	}{
		{*refused, []string{"en-US", "pt-BR"}, true},
		{aaep.Rejection{Code: refused.Code, Message: "No such language."}, nil, true},
		{aaep.Rejection{Code: refused.Code, Message: "Not a language of ours. Available: $(rm -r), es, …"}, []string{"es"}, true},
		{aaep.Rejection{Code: refused.Code, Message: "The extension of lifts is required."}, nil, false},
		{aaep.Rejection{Code: aaep.RateLimit, Message: "Too many of this language. Available: es."}, nil, false},
	} {
		if got, is := negotiation.RefusedLanguages(&tt.of); !slices.Equal(got, tt.want) || is != tt.is {
			t.Errorf("%q: %q, %t; want %q, %t", tt.of.Message, got, is, tt.want, tt.is)
		}
	}
}
