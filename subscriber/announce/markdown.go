package announce

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

var (
	fence    = regexp.MustCompile("^[ \t]*(?:(?:[-*+]|[0-9]{1,3}[.)])[ \t]+)?(```+|~~~+)([^\n]*)\n$")
	heading  = regexp.MustCompile(`(?m)^[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$`)
	rule     = regexp.MustCompile(`(?m)^[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}[ \t]*|\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?)$`)
	row      = regexp.MustCompile(`(?m)^[ \t]*\|(.*)\|[ \t]*$`)
	quote    = regexp.MustCompile(`(?m)^[ \t]{0,3}(?:>[ \t]?)+`)
	bullet   = regexp.MustCompile(`(?m)^[ \t]*[-*+][ \t]+(?:\[([ xX])\][ \t]+)?`)
	image    = regexp.MustCompile(`!\[([^\]\n]*)\]\([^)\s]*(?:[ \t]+"[^"\n]*")?\)`)
	link     = regexp.MustCompile(`\[([^\]\n]+)\]\([^)\s]*(?:[ \t]+"[^"\n]*")?\)`)
	address  = regexp.MustCompile(`<?\bhttps?://[^\s<>"]+>?`)
	emphasis = regexp.MustCompile(`(^|[\s([{"'])(\*\*\*|\*\*|\*|___|__|_|~~)([^\s*_~](?:[^*_~\n]*[^\s*_~])?)(\*\*\*|\*\*|\*|___|__|_|~~)($|[\s)\]}"'.,;:!?])`)
	inline   = regexp.MustCompile("(`+)([^`\n]+)(`+)")
)

// markdownPart is markdownSpeech with the language of what is said: code alone is told in words of
// ours, which may be English.
func (c Content) markdownPart(text, language string, id phrase.ID) Part {
	noCode := func(block, bool) string { return "" }
	if _, known := phrase.In(language, phrase.Code, ""); !known && strings.TrimSpace(text) != "" &&
		strings.TrimSpace(replaceCode(text, noCode)) == "" {
		language = ownLanguage
	}
	return Part{language, c.markdownSpeech(text, language, id)}
}

// markdownSpeech makes text fit for a voice: without markup, code as how much there is of it, links
// by their names, in one line. Nothing that a person could not hear is left in it; see
// aaep.SafeText. What it puts in is in the text's language, where that is known; a link and an
// image with a name need no word but the name. Code that goes on behind text is told with unclosed.
func (c Content) markdownSpeech(text, language string, unclosed phrase.ID) string {
	english := isEnglish(language)
	in := func(inEnglish, otherwise string) string {
		if english {
			return inEnglish
		}
		return otherwise
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = replaceCode(text, func(b block, closed bool) string {
		id := phrase.Code
		if !closed {
			id = unclosed
		}
		if c.ofBlock(&b) == Skip {
			return "\n"
		}
		return "\n" + b.describeBlock(language, id) + "\n"
	})
	text = speakSigns(text, language)
	text = new(table).speakRows(text)
	text = rule.ReplaceAllString(text, "")
	text = heading.ReplaceAllStringFunc(text, func(s string) string {
		return words.Sentence(heading.FindStringSubmatch(s)[1])
	})
	text = quote.ReplaceAllString(text, "")
	text = bullet.ReplaceAllStringFunc(text, func(s string) string { // in a list of what is to be done, what was
		id := phrase.Checked
		switch bullet.FindStringSubmatch(s)[1] {
		case "":
			return ""
		case " ":
			id = phrase.Unchecked
		}
		if says, known := phrase.In(language, id, ""); known || english {
			return says
		}
		return ""
	})
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
	links := 0
	if c.Links == Count {
		links = len(link.FindAllString(text, -1))
	}
	text = link.ReplaceAllString(text, "$1")
	text = address.ReplaceAllStringFunc(text, func(s string) string {
		bare := strings.Trim(s, "<>")
		end := bare[len(strings.TrimRight(bare, ".,;:!?)")):]
		u, err := url.Parse(strings.TrimSuffix(bare, end))
		if err != nil || u.Hostname() == "" {
			return s
		}
		switch c.Links {
		case Count:
			links++
			return end
		case Skip:
			return end
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
	if says, known := phrase.In(language, phrase.LinksHere, ""); links > 0 && (known || english && says != "") {
		text = words.Sentence(text) + " " + phrase.Counted(language, phrase.LinksHere, links, "link")
	}
	return words.OneLine(aaep.SafeTextIn(text, language))
}
