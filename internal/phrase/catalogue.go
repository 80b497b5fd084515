package phrase

import (
	"cmp"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// catalogueFiles has one file a language, named after its tag, in the PO format of gettext.
//
//go:embed catalogues/*.po
var catalogueFiles embed.FS

// A catalogue is what one file says. It is not changed once it is read.
type catalogue struct {
	file    string // its name, such as es.po
	tag     string // of the language
	script  string // in which the language is written, such as Latn: the header's X-Script
	header  string
	entries []entry // in the order of the file, without the header
	says    map[ID]*entry
	plural  pluralRule
	yes, no []string // the words that are such an answer, the one that is offered first
}

// catalogues are those there are, English first, the others by their tags. They are read once, when
// the first sentence is asked for. A test refuses one that cannot be read.
var catalogues = sync.OnceValue(func() (list []*catalogue) {
	entries, _ := catalogueFiles.ReadDir("catalogues")
	for _, e := range entries {
		text, _ := catalogueFiles.ReadFile(path.Join("catalogues", e.Name()))
		if c, err := readCatalogue(e.Name(), string(text)); err == nil {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *catalogue) int {
		return cmp.Or(-cmp.Compare(boolToInt(a.tag == "en"), boolToInt(b.tag == "en")), strings.Compare(a.tag, b.tag))
	})
	return list
})

// readCatalogue reads the text of a file. The error names the file and the line. A phrase that is
// there twice, and a language without words for yes and no, are errors.
func readCatalogue(file, text string) (*catalogue, error) {
	entries, err := parsePO(file, text)
	if err != nil {
		return nil, err
	}
	c := &catalogue{file: file, tag: strings.TrimSuffix(file, ".po"), header: entries[0].says[0],
		entries: entries[1:], says: map[ID]*entry{}}
	c.script = headerField(c.header, "X-Script")
	if c.plural, err = parsePlural(headerField(c.header, "Plural-Forms")); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, entries[0].line, err)
	}
	for i := range c.entries {
		e := &c.entries[i]
		if twin := c.says[e.name]; twin != nil {
			return nil, fmt.Errorf("%s:%d: %s is in line %d too", file, e.line, e.name, twin.line)
		}
		c.says[e.name] = e
	}
	c.yes, c.no = splitList(c.text(yesWords)), splitList(c.text(noWords))
	if len(c.yes) == 0 || len(c.no) == 0 {
		return nil, fmt.Errorf("%s:1: %s and %s need a word each, or nobody could answer in the language", file,
			yesWords, noWords)
	}
	return c, nil
}

// text returns what a phrase is in the language, or "" where the catalogue lacks it.
func (c *catalogue) text(id ID) string {
	if e := c.says[id]; e != nil {
		return e.says[0]
	}
	return ""
}

// count returns the form of a phrase for n things, or "" where the catalogue lacks it.
func (c *catalogue) count(id ID, n int) string {
	e := c.says[id]
	if e == nil {
		return ""
	}
	return e.says[min(c.plural.index(n), len(e.says)-1)]
}

// splitList returns the parts of a list with commas between them, without blanks and empty parts.
func splitList(list string) (parts []string) {
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// english is the catalogue that says what another lacks.
func english() *catalogue { return catalogues()[0] }
