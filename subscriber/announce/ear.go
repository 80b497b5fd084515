package announce

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

var (
	fence    = regexp.MustCompile("(?ms)^[ \t]*(```+|~~~+)[^\n]*\n(.*?)(?:^[ \t]*(?:```+|~~~+)[ \t]*$|\\z)")
	heading  = regexp.MustCompile(`(?m)^[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$`)
	rule     = regexp.MustCompile(`(?m)^[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?)$`)
	row      = regexp.MustCompile(`(?m)^[ \t]*\|(.*)\|[ \t]*$`)
	quote    = regexp.MustCompile(`(?m)^[ \t]{0,3}(?:>[ \t]?)+`)
	bullet   = regexp.MustCompile(`(?m)^[ \t]*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?`)
	image    = regexp.MustCompile(`!\[([^\]\n]*)\]\([^)\s]*(?:[ \t]+"[^"\n]*")?\)`)
	link     = regexp.MustCompile(`\[([^\]\n]+)\]\([^)\s]*(?:[ \t]+"[^"\n]*")?\)`)
	address  = regexp.MustCompile(`<?\bhttps?://[^\s<>"]+>?`)
	emphasis = regexp.MustCompile(`(^|[\s([{"'])(\*\*\*|\*\*|\*|___|__|_|~~)([^\s*_~](?:[^*_~\n]*[^\s*_~])?)(\*\*\*|\*\*|\*|___|__|_|~~)($|[\s)\]}"'.,;:!?])`)
	inline   = regexp.MustCompile("(`+)([^`\n]+)(`+)")
)

// heard is forEar with the language of what is said: code alone is told in words of ours, which may be English.
func heard(text, language string) Part {
	if _, known := phrase.In(language, phrase.Code, ""); !known && strings.TrimSpace(text) != "" && strings.TrimSpace(fence.ReplaceAllString(text, "")) == "" {
		language = ownLanguage
	}
	return Part{language, forEar(text, language)}
}

// forEar makes text fit for a voice: without markup, code as how much there is of it, links by their names, in one line.
// Nothing that a person could not hear is left in it; see aaep.SafeText. What it puts in is in the text's language, where that is
// known; a link and an image with a name need no word but the name.
func forEar(text, language string) string {
	english := language == "" || alike(language, ownLanguage)
	in := func(inEnglish, otherwise string) string {
		if english {
			return inEnglish
		}
		return otherwise
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = fence.ReplaceAllStringFunc(text, func(s string) string {
		code := fence.FindStringSubmatch(s)[2]
		n := len(strings.FieldsFunc(code, func(r rune) bool { return r == '\n' }))
		says, known := phrase.In(language, phrase.Code, strconv.Itoa(n))
		if english || !known {
			says, _ = phrase.In(ownLanguage, phrase.Code, words.Count(n, "line"))
		}
		return "\n" + says + "\n"
	})
	text = rule.ReplaceAllString(text, "")
	text = row.ReplaceAllStringFunc(text, func(s string) string {
		var cells []string
		for _, cell := range strings.Split(row.FindStringSubmatch(s)[1], "|") {
			if cell = strings.TrimSpace(cell); cell != "" {
				cells = append(cells, cell)
			}
		}
		return words.Sentence(strings.Join(cells, ", "))
	})
	text = heading.ReplaceAllStringFunc(text, func(s string) string { return words.Sentence(heading.FindStringSubmatch(s)[1]) })
	text = quote.ReplaceAllString(text, "")
	text = bullet.ReplaceAllString(text, "")
	text = image.ReplaceAllStringFunc(text, func(s string) string {
		if alt := image.FindStringSubmatch(s)[1]; alt != "" {
			return in("image: ", "") + alt
		}
		says, known := phrase.In(language, phrase.AnImage, "")
		if !known { // English in the middle of another language is noise
			says = ""
		}
		return in("an image", says)
	})
	text = link.ReplaceAllString(text, "$1")
	text = address.ReplaceAllStringFunc(text, func(s string) string {
		bare := strings.Trim(s, "<>")
		end := bare[len(strings.TrimRight(bare, ".,;:!?)")):]
		u, err := url.Parse(strings.TrimSuffix(bare, end))
		if err != nil || u.Hostname() == "" {
			return s
		}
		return in("link to ", "") + u.Hostname() + end
	})
	for range 2 { // one inside the other
		text = emphasis.ReplaceAllStringFunc(text, func(s string) string {
			m := emphasis.FindStringSubmatch(s)
			if m[2] != m[4] {
				return s
			}
			return m[1] + m[3] + m[5]
		})
	}
	text = inline.ReplaceAllString(text, "$2")
	return words.OneLine(aaep.SafeText(text))
}
