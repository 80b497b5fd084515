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
	fence   = regexp.MustCompile("^[ \t]*(?:(?:[-*+]|[0-9]{1,3}[.)])[ \t]+)?(```+|~~~+)([^\n]*)\n$")
	heading = regexp.MustCompile(`(?m)^[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$`)
	rule    = regexp.MustCompile(`(?m)^[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}[ \t]*|\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?)$`)
	row     = regexp.MustCompile(`(?m)^[ \t]*\|(.*)\|[ \t]*$`)
	quote   = regexp.MustCompile(`(?m)^[ \t]*(?:>[ \t]?)+`)
	bullet  = regexp.MustCompile(`(?m)^[ \t]*[-*+][ \t]+(?:\[([ xX])\][ \t]+)?`)
	image   = regexp.MustCompile(`!` + linkText(`*`) + linkTarget)
	link    = regexp.MustCompile(linkText(`+`) + linkTarget)
	// reference is a link by reference, and definition the line that says where such links lead. A
	// name of a program, or what is called, may have brackets behind it, too.
	reference  = regexp.MustCompile(`(^|[^\pL\pN\])])(!?)` + linkText(`+`) + `[ \t]?\[[^\[\]\n]*\]`)
	definition = regexp.MustCompile(`(?m)^ {0,3}\[[^\[\]\n^][^\[\]\n]*\]:[ \t]*(?:<[^<>\n]*>|[^\s<>]*[/#@][^\s<>]*)` +
		`(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$`)
	address = regexp.MustCompile(`<?\bhttps?://[^\s<>"]+>?`)
)

// linkText matches the text of a link, or the name of an image, as often as n says; there may be
// brackets in it.
func linkText(n string) string { return `\[((?:[^\[\]\n]|\[[^\[\]\n]*\])` + n + `)\]` }

// linkTarget matches where a link leads, and its title; there may be parentheses in an address.
const linkTarget = `\([ \t]*(?:<[^<>\n]*>|(?:[^()\s]|\([^()\s]*\))*)(?:\s+(?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*\)`

// markdownPart returns markdownSpeech with the language that the words are in: that of the text,
// or, where the text is code alone and no phrase for it is known in that language, English.
func (c Content) markdownPart(text, language string, id phrase.ID, answer bool) Part {
	noCode := func(block, bool) string { return "" }
	if _, known := phrase.In(language, phrase.Code, ""); !known && strings.TrimSpace(text) != "" &&
		strings.TrimSpace(replaceCode(text, noCode)) == "" {
		language = ownLanguage
	}
	return Part{language, c.markdownSpeech(text, language, id, answer)}
}

// markdownSpeech turns Markdown into one line fit for a voice: without markup, code by its number
// of lines, links by their names. Characters that a person could not hear are removed; see
// aaep.SafeText. Words that it adds are in the text's language, where phrases are known. unclosed
// is the phrase for code whose end has not come; answer says that text is a piece of an answer, see
// dropEmphasis.
func (c Content) markdownSpeech(text, language string, unclosed phrase.ID, answer bool) string {
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
	text = quote.ReplaceAllString(text, "")
	text = heading.ReplaceAllStringFunc(text, func(s string) string {
		return words.Sentence(heading.FindStringSubmatch(s)[1])
	})
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
	if answer {
		text = definition.ReplaceAllString(text, "")
	}
	imageName := func(alt string) string {
		if alt != "" {
			return in("image: ", "") + alt
		}
		says, known := phrase.In(language, phrase.AnImage, "")
		if !known { // English in the middle of another language is noise
			says = ""
		}
		return in("an image", says)
	}
	text = image.ReplaceAllStringFunc(text, func(s string) string { return imageName(image.FindStringSubmatch(s)[1]) })
	links := 0
	if c.Links == Count {
		links = len(link.FindAllString(text, -1))
	}
	text = link.ReplaceAllString(text, "$1")
	if answer {
		text = reference.ReplaceAllStringFunc(text, func(s string) string {
			m := reference.FindStringSubmatch(s)
			if m[2] != "" {
				return m[1] + imageName(m[3])
			}
			return m[1] + m[3]
		})
	}
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
	text = dropEmphasis(text, answer)
	if says, known := phrase.In(language, phrase.LinksHere, ""); links > 0 && (known || english && says != "") {
		text = words.Sentence(text) + " " + phrase.Counted(language, phrase.LinksHere, links, "link")
	}
	return words.OneLine(aaep.SafeTextIn(text, language))
}
