package speech

import (
	"strings"

	"golang.org/x/text/language"

	"github.com/aaep-go/aaep"
)

// Names of macrolanguages stand for the one that is meant: voices of Mandarin are called cmn and
// those of Norwegian nb, while texts are in zh and no.
var canonicalBases = language.DeprecatedBase | language.Macro

// A languageTag is the tag of a language, taken apart.
type languageTag struct {
	tag    string // as the server wrote it
	base   string
	script string // "" if not said
	region string // "" if not said
	plain  bool   // it says no more than these
}

// parseTag takes a tag apart. It reports false for what has not the form of one.
func parseTag(tag string) (languageTag, bool) {
	if len(tag) > 64 || !aaep.ValidLanguageTag(tag) {
		return languageTag{}, false
	}
	t, err := canonicalBases.Parse(tag)
	if err != nil { // well-formed, but with a subtag that is not registered
		base, _, _ := strings.Cut(strings.ToLower(tag), "-")
		return languageTag{tag: tag, base: base}, true
	}
	base, script, region := t.Raw()
	parsed := languageTag{tag: tag, base: base.String(), plain: len(t.Variants()) == 0 && len(t.Extensions()) == 0}
	if script != (language.Script{}) {
		parsed.script = script.String()
	}
	if region != (language.Region{}) {
		parsed.region = region.String()
	}
	return parsed, true
}

// voices is what the server has voices for.
type voices struct {
	home string        // the server's own language, which the person chose
	tags []languageTag // of its voices, each once
}

// newVoices reads the answer to LIST SYNTHESIS_VOICES: name, language and variant with tabs
// between. Without lines there is one voice, of the language home.
func newVoices(home string, lines []string) *voices {
	c := &voices{home: home}
	seen := map[string]bool{}
	add := func(tag string) {
		if t, ok := parseTag(tag); ok && !seen[tag] {
			seen[tag] = true
			c.tags = append(c.tags, t)
		}
	}
	for _, line := range lines {
		if fields := strings.Split(line, "\t"); len(fields) >= 2 {
			add(fields[1])
		}
	}
	if len(c.tags) == 0 {
		add(home) // a synthesizer that tells nothing of its voices will have this one
	}
	return c
}

// chooseVoice returns which of the voices' languages to ask for when a text is in a language; false
// if none would speak it. The server accepts any language, and then spells it with the voice it
// has.
func (c *voices) chooseVoice(tag string) (string, bool) {
	if tag == "" {
		return c.home, true
	}
	want, ok := parseTag(tag)
	if !ok {
		return "", false
	}
	best, bestRank := "", 0
	for _, v := range c.tags {
		if rank := c.rankVoice(want, v); rank > bestRank {
			best, bestRank = v.tag, rank
		}
	}
	return best, bestRank > 0
}

// rankVoice returns how well a voice for the language have serves texts in the language want, from
// 1 to 6; 0 is not at all, as for another script. The same tag goes before the same script or
// region, those before the accent of the person's own language, and that before the usual one.
// Present takes the voice with the highest rank.
func (c *voices) rankVoice(want, have languageTag) int {
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

// usualScript returns the script that a tag names, or else the one in which its language is mostly
// written.
func usualScript(t languageTag) string {
	if t.script != "" {
		return t.script
	}
	tag, _ := language.Parse(t.base)
	s, _ := tag.Script()
	return s.String()
}

// usualRegion returns the region in which most speakers of a language live.
func usualRegion(base string) string {
	tag, _ := language.Parse(base)
	r, _ := tag.Region()
	return r.String()
}
