package speech

import (
	"strings"

	"golang.org/x/text/language"

	"github.com/aaep-go/aaep"
)

// Names of macrolanguages stand for the one that is meant: voices of Mandarin are called cmn and those of Norwegian nb,
// while texts are in zh and no.
var canon = language.DeprecatedBase | language.Macro

// A tongue is a language tag, taken apart.
type tongue struct {
	tag    string // as the server wrote it
	base   string
	script string // "" if not said
	region string // "" if not said
	plain  bool   // it says no more than these
}

func parseTongue(tag string) (tongue, bool) {
	if len(tag) > 64 || !aaep.ValidLanguageTag(tag) {
		return tongue{}, false
	}
	t, err := canon.Parse(tag)
	if err != nil { // well-formed, but with a subtag that nobody registered
		base, _, _ := strings.Cut(strings.ToLower(tag), "-")
		return tongue{tag: tag, base: base}, true
	}
	base, script, region := t.Raw()
	of := tongue{tag: tag, base: base.String(), plain: len(t.Variants()) == 0 && len(t.Extensions()) == 0}
	if script != (language.Script{}) {
		of.script = script.String()
	}
	if region != (language.Region{}) {
		of.region = region.String()
	}
	return of, true
}

// A choir is what the server has voices for.
type choir struct {
	home   string // its own language: what the person chose
	voices []tongue
}

// newChoir reads the answer to LIST SYNTHESIS_VOICES: name, language and variant with tabs between.
func newChoir(home string, lines []string) *choir {
	c := &choir{home: home}
	seen := map[string]bool{}
	add := func(tag string) {
		if t, ok := parseTongue(tag); ok && !seen[tag] {
			seen[tag] = true
			c.voices = append(c.voices, t)
		}
	}
	for _, line := range lines {
		if fields := strings.Split(line, "\t"); len(fields) >= 2 {
			add(fields[1])
		}
	}
	if len(c.voices) == 0 {
		add(home) // a synthesizer that tells nothing of its voices will have this one
	}
	return c
}

// voice returns which of the voices' languages to ask for when a text is in the language; false if none would speak
// it. The server says yes to any language, and then spells it with the voice it has.
func (c *choir) voice(tag string) (string, bool) {
	if tag == "" {
		return c.home, true
	}
	want, ok := parseTongue(tag)
	if !ok {
		return "", false
	}
	best, most := "", 0
	for _, v := range c.voices {
		if n := c.fit(want, v); n > most {
			best, most = v.tag, n
		}
	}
	return best, most > 0
}

// fit says how well a voice serves a language: 0 is not at all.
func (c *choir) fit(want, have tongue) int {
	switch {
	case want.base != have.base:
		return 0
	case have.script != "" && have.script != usualScript(want):
		return 0 // a voice for Pinyin cannot read Chinese. Voices that name no script read the language's
	case strings.EqualFold(want.tag, have.tag):
		return 6
	case have.script != "" && have.script == want.script:
		return 5
	case have.region != "" && have.region == want.region && have.plain:
		return 5
	case strings.EqualFold(have.tag, c.home):
		return 4 // the accent that the person is used to
	case have.region == "" && have.plain:
		return 3
	case have.region == usualRegion(want.base) && have.plain:
		return 2
	}
	return 1
}

func usualScript(t tongue) string {
	if t.script != "" {
		return t.script
	}
	tag, _ := language.Parse(t.base)
	s, _ := tag.Script()
	return s.String()
}

func usualRegion(base string) string {
	tag, _ := language.Parse(base)
	r, _ := tag.Region()
	return r.String()
}
