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
	return Part{Language: language, Text: c.markdownSpeech(text, language, id, answer)}
}

// markdownSpeech turns Markdown into one line fit for a voice: without markup, code by its number
// of lines, links by their names. Characters that a person could not hear are removed; see
// aaep.SafeText. Words that it adds are in the text's language, where phrases are known. unclosed
// is the phrase for code whose end has not come; answer says that text is a piece of an answer, see
// dropEmphasis.
func (c Content) markdownSpeech(text, language string, unclosed phrase.ID, answer bool) string {
	s := markdownSpeaker{content: c, language: language, english: isEnglish(language)}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = replaceCode(text, func(b block, closed bool) string {
		if closed {
			return s.speakCode(b, phrase.Code)
		}
		return s.speakCode(b, unclosed)
	})
	text = speakSigns(text, language)
	text = new(table).speakRows(text)
	text = rule.ReplaceAllString(text, "")
	text = quote.ReplaceAllString(text, "")
	text = heading.ReplaceAllStringFunc(text, func(line string) string {
		return words.Sentence(heading.FindStringSubmatch(line)[1])
	})
	text = bullet.ReplaceAllStringFunc(text, s.speakBullet)
	if answer {
		text = definition.ReplaceAllString(text, "")
	}
	text = image.ReplaceAllStringFunc(text, func(found string) string {
		return s.nameImage(image.FindStringSubmatch(found)[1])
	})
	text = s.nameLinks(text)
	if answer {
		text = reference.ReplaceAllStringFunc(text, s.speakReference)
	}
	text = address.ReplaceAllStringFunc(text, s.speakAddress)
	text = dropEmphasis(text, answer)
	return words.OneLine(aaep.SafeTextIn(s.addLinkCount(text), language))
}

// markdownSpeaker has what the steps of markdownSpeech share: each replaces what one expression
// found by what is said for it.
type markdownSpeaker struct {
	content  Content
	language string
	english  bool
	links    int // links that are told by their number
}

// chooseWords returns words of English, or else the other ones, for the text's language.
func (s *markdownSpeaker) chooseWords(inEnglish, otherwise string) string {
	if s.english {
		return inEnglish
	}
	return otherwise
}

// speakCode returns what is said for a block of code, on a line of its own.
func (s *markdownSpeaker) speakCode(b block, id phrase.ID) string {
	if s.content.ofBlock(&b) == Skip {
		return "\n"
	}
	return "\n" + b.describeBlock(s.language, id) + "\n"
}

// speakBullet returns what is said for the mark of an item: nothing, or, in a list of what is to be
// done, whether it is done.
func (s *markdownSpeaker) speakBullet(found string) string {
	id := phrase.Checked
	switch bullet.FindStringSubmatch(found)[1] {
	case "":
		return ""
	case " ":
		id = phrase.Unchecked
	}
	if says, known := phrase.In(s.language, id, ""); known || s.english {
		return says
	}
	return ""
}

// nameImage returns what is said for an image, of which alt is the text. Where no phrase for one is
// known it is left out: English in the middle of another language is noise.
func (s *markdownSpeaker) nameImage(alt string) string {
	if alt != "" {
		return s.chooseWords("image: ", "") + alt
	}
	says, known := phrase.In(s.language, phrase.AnImage, "")
	if !known {
		says = ""
	}
	return s.chooseWords("an image", says)
}

// nameLinks returns text with each link replaced by its name, and counts them where that is wanted.
func (s *markdownSpeaker) nameLinks(text string) string {
	if s.content.Links == Count {
		s.links += len(link.FindAllString(text, -1))
	}
	return link.ReplaceAllString(text, "$1")
}

// speakReference returns what is said for a link or an image by reference, with the character
// before it: of a link its text alone, and of an image that it is one.
func (s *markdownSpeaker) speakReference(found string) string {
	m := reference.FindStringSubmatch(found)
	before, isImage, name := m[1], m[2] != "", m[3]
	if isImage {
		return before + s.nameImage(name)
	}
	return before + name
}

// speakAddress returns what is said for an address that stands in the text: the name of its
// machine, with the marks that end a sentence behind it, as the content's Links want it. What is no
// address stays.
func (s *markdownSpeaker) speakAddress(found string) string {
	bare := strings.Trim(found, "<>")
	end := bare[len(strings.TrimRight(bare, ".,;:!?)")):]
	u, err := url.Parse(strings.TrimSuffix(bare, end))
	if err != nil || u.Hostname() == "" {
		return found
	}
	switch s.content.Links {
	case Count:
		s.links++
		return end
	case Skip:
		return end
	}
	return s.chooseWords("link to ", "") + u.Hostname() + end
}

// addLinkCount returns text with the number of its links behind it, if they were counted and there
// is a phrase for that.
func (s *markdownSpeaker) addLinkCount(text string) string {
	says, known := phrase.In(s.language, phrase.LinksHere, "")
	canSay := known || s.english && says != ""
	if s.links == 0 || !canSay {
		return text
	}
	return words.Sentence(text) + " " + phrase.Counted(s.language, phrase.LinksHere, s.links, "link")
}
