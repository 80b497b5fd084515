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
	var e entry
	var into *string // what a line that has nothing but a string goes on with
	fuzzy, number := false, 0
	finish := func() error {
		defer func() { e, into = entry{}, nil }()
		switch {
		case e.line == 0:
			return nil
		case len(e.says) == 0:
			return fmt.Errorf("%s:%d: the entry has no msgstr", file, e.line)
		case e.name == "" && e.english != "":
			return fmt.Errorf("%s:%d: the entry has no msgctxt, which names the phrase", file, e.line)
		}
		entries = append(entries, e)
		return nil
	}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		line = strings.TrimSpace(line)
		keyword, quoted, _ := strings.Cut(line, " ")
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, "#"):
			if e.line > 0 {
				if err := finish(); err != nil {
					return nil, err
				}
				fuzzy = false
			}
			fuzzy = fuzzy || strings.HasPrefix(line, "#,") && strings.Contains(line, "fuzzy")
			continue
		case strings.HasPrefix(line, `"`):
			quoted = line
		case keyword == "msgctxt" || keyword == "msgid" && (len(e.says) > 0 || into != (*string)(&e.name)):
			if err := finish(); err != nil {
				return nil, err
			}
			e.line, e.fuzzy, fuzzy = number, fuzzy, false
			if into = &e.english; keyword == "msgctxt" {
				into = (*string)(&e.name)
			}
		case keyword == "msgid":
			into = &e.english
		case keyword == "msgid_plural":
			e.many, into = true, new(string)
		case keyword == "msgstr", keyword == fmt.Sprintf("msgstr[%d]", len(e.says)):
			e.says = append(e.says, "")
			into = &e.says[len(e.says)-1]
		default:
			return nil, fmt.Errorf("%s:%d: %q is not known; an entry has msgctxt, msgid and msgstr, or msgid_plural and msgstr[0], msgstr[1], "+
				"each with a string in quotation marks", file, number, keyword)
		}
		part, ok := unquotePO(quoted)
		if !ok || into == nil {
			return nil, fmt.Errorf("%s:%d: this needs a string in quotation marks, with \\\" and \\\\ for those characters and \\n for a line end: %s", file, number, line)
		}
		*into += part
	}
	if err := finish(); err != nil {
		return nil, err
	}
	if len(entries) == 0 || entries[0].name != "" {
		return nil, fmt.Errorf("%s:1: a catalogue begins with its header, an entry whose msgid is empty", file)
	}
	return entries, nil
}

// unquotePO returns what stands between quotation marks.
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
