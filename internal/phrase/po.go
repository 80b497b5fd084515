package phrase

import (
	"fmt"
	"strings"
)

// An entry is one message of a catalogue.
type entry struct {
	line    int    // of its first keyword, for errors
	name    ID     // its msgctxt
	english string // its msgid
	// says is its msgstr; of a message that counts, the form of each plural index.
	says  []string
	many  bool // it has a msgid_plural
	fuzzy bool // a tool has guessed the translation, or the English has changed under it
}

// parsePO reads the entries of a file in the PO format of gettext, the header first: its msgid is
// empty. The error names the file and the line. Comments and what a tool keeps of old entries, on
// lines that begin with #, are passed over, but for the mark of a fuzzy entry.
func parsePO(file, text string) (entries []entry, err error) {
	p := &poParser{file: file}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		p.number++
		if err := p.readLine(strings.TrimSpace(line)); err != nil {
			return nil, err
		}
	}
	if err := p.finishEntry(); err != nil {
		return nil, err
	}
	if len(p.entries) == 0 || p.entries[0].name != "" {
		return nil, fmt.Errorf("%s:1: a catalogue begins with its header, an entry whose msgid is empty", file)
	}
	return p.entries, nil
}

// A poParser reads a PO file line by line.
type poParser struct {
	file    string
	number  int     // of the line that is read
	entries []entry // those that were finished
	current entry   // the one that is read; its line is 0 between entries
	target  *string // the string of current that a line with nothing but a string goes on with, or nil
	fuzzy   bool    // whether the comments before the next entry mark it as fuzzy
}

// readLine reads the next line of the file, without blanks around it, into the current entry. The
// error names the file, the line and what would be right.
func (p *poParser) readLine(line string) error {
	e := &p.current
	keyword, quoted, _ := strings.Cut(line, " ")
	switch {
	case line == "":
		return nil
	case strings.HasPrefix(line, "#"):
		return p.readComment(line)
	case strings.HasPrefix(line, `"`):
		quoted = line
	case keyword == "msgctxt" || keyword == "msgid" && (len(e.says) > 0 || p.target != (*string)(&e.name)):
		if err := p.finishEntry(); err != nil {
			return err
		}
		e.line, e.fuzzy, p.fuzzy = p.number, p.fuzzy, false
		if p.target = &e.english; keyword == "msgctxt" {
			p.target = (*string)(&e.name)
		}
	case keyword == "msgid":
		p.target = &e.english
	case keyword == "msgid_plural":
		e.many, p.target = true, new(string)
	case keyword == "msgstr", keyword == fmt.Sprintf("msgstr[%d]", len(e.says)):
		e.says = append(e.says, "")
		p.target = &e.says[len(e.says)-1]
	default:
		return fmt.Errorf("%s:%d: %q is not known; an entry has msgctxt, msgid and msgstr, or msgid_plural and "+
			"msgstr[0], msgstr[1], each with a string in quotation marks", p.file, p.number, keyword)
	}
	part, ok := unquotePO(quoted)
	if !ok || p.target == nil {
		return fmt.Errorf("%s:%d: this needs a string in quotation marks, with \\\" and \\\\ for those characters and "+
			"\\n for a line end: %s", p.file, p.number, line)
	}
	*p.target += part
	return nil
}

// readComment reads a line that begins with #. One behind an entry ends it, and belongs to the
// next. It notes whether that is marked as fuzzy.
func (p *poParser) readComment(line string) error {
	if p.current.line > 0 {
		if err := p.finishEntry(); err != nil {
			return err
		}
		p.fuzzy = false
	}
	p.fuzzy = p.fuzzy || strings.HasPrefix(line, "#,") && strings.Contains(line, "fuzzy")
	return nil
}

// finishEntry moves the current entry, if there is one, to those that were read. One without a name
// or a text is an error.
func (p *poParser) finishEntry() error {
	e := p.current
	p.current, p.target = entry{}, nil
	switch {
	case e.line == 0:
		return nil
	case len(e.says) == 0:
		return fmt.Errorf("%s:%d: the entry has no msgstr", p.file, e.line)
	case e.name == "" && e.english != "":
		return fmt.Errorf("%s:%d: the entry has no msgctxt, which names the phrase", p.file, e.line)
	}
	p.entries = append(p.entries, e)
	return nil
}

// unquotePO returns what stands between the quotation marks of a PO string, with its escapes
// resolved; ok is false for anything else.
func unquotePO(quoted string) (text string, ok bool) {
	quoted = strings.TrimSpace(quoted)
	if len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
		return "", false
	}
	var b strings.Builder
	for rest := quoted[1 : len(quoted)-1]; rest != ""; {
		plain, escaped, found := strings.Cut(rest, `\`)
		if strings.Contains(plain, `"`) {
			return "", false
		}
		b.WriteString(plain)
		if !found {
			break
		}
		if escaped == "" {
			return "", false
		}
		switch escaped[0] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '"', '\\':
			b.WriteByte(escaped[0])
		default:
			return "", false
		}
		rest = escaped[1:]
	}
	return b.String(), true
}

// headerField returns a line of the header, such as "Language: es", without its name.
func headerField(header, name string) string {
	for line := range strings.Lines(header) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
