package phrase

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// letters are those of the language in lower case, with the accents that are separate when
// decomposed.
func (c *catalogue) letters() string { return headerField(c.header, "X-Letters") }

// marks are those that the language writes.
func (c *catalogue) marks() string { return headerField(c.header, "X-Marks") }

// argument is what a sentence puts a value in place of.
var argument = regexp.MustCompile(`\{\w+\}`)

// alike are those that may be as in English, or as another one.
var alike = []ID{SaidNo, noWords, notWords, twoUnits}

// problems says what is wrong or missing in a catalogue, compared with the English one and the
// names of all phrases.
func (c *catalogue) problems(en *catalogue, names []string) (list []string) {
	add := func(line int, format string, args ...any) {
		list = append(list, fmt.Sprintf("%s:%d: %s", c.file, line, fmt.Sprintf(format, args...)))
	}
	if tag := headerField(c.header, "Language"); tag != c.tag {
		add(1, "the header says Language: %s; the file is named after %s", tag, c.tag)
	}
	for _, field := range []string{"X-Script", "X-Letters", "X-Marks"} {
		if headerField(c.header, field) == "" {
			add(1, "the header has no %s", field)
		}
	}
	for _, name := range names {
		if c.says[ID(name)] == nil {
			add(1, "%s is missing", name)
		}
	}
	texts := map[string]ID{}
	for _, e := range c.entries {
		source := en.says[e.name]
		switch {
		case !slices.Contains(names, string(e.name)):
			add(e.line, "%s is no phrase of this SDK", e.name)
			continue
		case e.fuzzy:
			add(e.line, "%s is marked fuzzy: read it, and take the mark away", e.name)
		case slices.Contains(e.says, ""):
			add(e.line, "%s is not translated", e.name)
			continue
		case source != nil && e.english != source.english:
			add(e.line, "%s translates %q; in English it is now %q", e.name, e.english, source.english)
		case c.tag != en.tag && e.says[0] == e.english && !e.many && !slices.Contains(alike, e.name):
			add(e.line, "%s is in English", e.name)
		}
		switch {
		case !e.many && len(e.says) > 1:
			add(e.line, "%s has plural forms, and no msgid_plural", e.name)
		case e.many && len(e.says) != c.plural.forms:
			add(e.line, "%s has %d plural forms; the header says nplurals=%d", e.name, len(e.says), c.plural.forms)
		}
		for index, text := range e.says {
			if other, ok := texts[text]; ok && !e.many && text != "{number}" && !slices.Contains(alike, e.name) {
				add(e.line, "%s says the same as %s", e.name, other)
			}
			texts[text] = e.name
			want := argument.FindAllString(e.english, -1)
			if e.many && c.numbers(index) < 2 {
				want = nil // "one hour" needs no number
			}
			got := argument.FindAllString(text, -1)
			for _, a := range want {
				if !slices.Contains(got, a) {
					add(e.line, "%s loses %s", e.name, a)
				}
			}
			for _, a := range got {
				if !strings.Contains(e.english, a) {
					add(e.line, "%s has %s, which in English it has not", e.name, a)
				}
			}
			if !norm.NFC.IsNormalString(text) {
				add(e.line, "%s is not in the normal form C", e.name)
			}
		}
	}
	for n := range 1000 {
		if i := c.plural.index(n); i < 0 || i >= c.plural.forms {
			add(1, "Plural-Forms gives %d for n=%d; the last of %d forms is %d", i, n, c.plural.forms, c.plural.forms-1)
			break
		}
	}
	for i := range c.plural.forms {
		if c.numbers(i) == 0 {
			add(1, "Plural-Forms gives %d for no number", i)
		}
	}
	return list
}

// numbers returns how many numbers below 1000 have a plural form.
func (c *catalogue) numbers(form int) (count int) {
	for n := range 1000 {
		count += boolToInt(c.plural.index(n) == form)
	}
	return count
}

// allNames are the names of all phrases, those that the package itself asks for among them.
func allNames(t *testing.T) []string {
	t.Helper()
	own := []ID{yesWords, noWords, acceptWords, notWords, aboutTime, twoUnits, hours, minutes, seconds}
	all := names(t)
	for _, id := range own {
		all = append(all, string(id))
	}
	return all
}

// Every catalogue has every phrase, with its arguments and all plural forms, of what English says
// now.
func TestCatalogues(t *testing.T) {
	entries, err := catalogueFiles.ReadDir("catalogues")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := catalogueFiles.ReadFile("catalogues/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		c, err := readCatalogue(e.Name(), string(text))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, p := range c.problems(english(), allNames(t)) {
			t.Error(p)
		}
	}
}

// The tools that translators use read the catalogues too.
func TestGettextReadsCatalogues(t *testing.T) {
	msgfmt, err := exec.LookPath("msgfmt")
	if err != nil {
		t.Skip("msgfmt of gettext is not at hand")
	}
	for _, tag := range Languages() {
		if out, err := exec.Command(msgfmt, "--check", "-o", "/dev/null", "catalogues/"+tag+".po").CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", tag, err, out)
		}
	}
}

// Times and the words of answers are in the letters of the language. I18N-010
func TestWordsInLetters(t *testing.T) {
	for _, c := range catalogues() {
		for _, id := range []ID{yesWords, noWords, acceptWords, notWords, aboutTime, twoUnits, hours, minutes, seconds} {
			for _, text := range c.says[id].says {
				for _, r := range norm.NFD.String(argument.ReplaceAllString(text, "")) {
					if r != ' ' && r != ',' && !strings.ContainsRune(norm.NFD.String(c.letters()), unicode.ToLower(r)) {
						t.Errorf("%s:%d: %q has %q, which is not under X-Letters", c.file, c.says[id].line, text, r)
					}
				}
			}
		}
	}
}

const testHeader = `msgid ""
msgstr ""
"Language: xx\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"
"X-Script: Latn\n"
"X-Letters: a\n"
"X-Marks: .\n"

msgctxt "YesWords"
msgid "y"
msgstr "j"

msgctxt "NoWords"
msgid "n"
msgstr "o"
`

// A catalogue that cannot be read gets one error, with the line.
func TestCatalogueErrors(t *testing.T) {
	for text, want := range map[string]string{
		"": "xx.po:1: a catalogue begins with its header",
		testHeader + "\nmsgid \"Done.\"\nmsgstr \"a\"\n":                                                          "xx.po:17: the entry has no msgctxt",
		testHeader + "\nmsgctxt \"Done\"\nmsgid \"Done.\"\n":                                                      "xx.po:17: the entry has no msgstr",
		testHeader + "\nmsgctxt \"Done\"\nmsgid \"Done.\"\nmsgstr \"a\n":                                          "xx.po:19: this needs a string in quotation marks",
		testHeader + "\nmsgctxt \"Done\"\nmsgid \"Done.\"\nmsgstr \"a\" b\"\n":                                    "xx.po:19: this needs a string in quotation marks",
		testHeader + "\nmsgctxt \"Done\"\nmsgid \"Done.\"\nmsgstr[1] \"a\"\n":                                     `xx.po:19: "msgstr[1]" is not known`,
		testHeader + "\n\"a\"\n\nDone = \"a\"\n":                                                                  `xx.po:19: "Done" is not known`,
		testHeader + "\nmsgctxt \"A\"\nmsgid \"A.\"\nmsgstr \"a\"\n\nmsgctxt \"A\"\nmsgid \"A.\"\nmsgstr \"b\"\n": "xx.po:21: A is in line 17 too",
		strings.Replace(testHeader, "(n != 1)", "(n != )", 1):                                                     `xx.po:1: Plural-Forms is "nplurals=2; plural=(n != );"; it cannot be read from ")"`,
		strings.Replace(testHeader, "nplurals=2; ", "", 1):                                                        `xx.po:1: Plural-Forms is "plural=(n != 1);"; it is written as in`,
	} {
		if _, err := readCatalogue("xx.po", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// What is missing or wrong in a catalogue is told, line by line.
func TestCatalogueProblems(t *testing.T) {
	names := []string{"YesWords", "NoWords", "One", "Two", "Three"}
	entries := "\nmsgctxt \"One\"\nmsgid \"{tool} ended.\"\nmsgstr \"%s\"\n\nmsgctxt \"Two\"\nmsgid \"Stop.\"\nmsgstr \"%s\"\n" +
		"\nmsgctxt \"Three\"\nmsgid \"{n} cup\"\nmsgid_plural \"{n} cups\"\nmsgstr[0] \"a\"\nmsgstr[1] \"{n} as\"\n"
	read := func(text string) *catalogue {
		t.Helper()
		c, err := readCatalogue("xx.po", text)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	en := read(testHeader + fmt.Sprintf(entries, "{tool} ended.", "Stop."))
	en.tag = "en"
	whole := testHeader + fmt.Sprintf(entries, "a {tool}", "aa")
	for _, tt := range []struct{ old, new, want string }{
		{"", "", ""},
		{"a {tool}", "a", "xx.po:17: One loses {tool}"},
		{`"aa"`, `"{n} a"`, "xx.po:21: Two has {n}, which in English it has not"},
		{`"aa"`, `""`, "xx.po:21: Two is not translated"},
		{`"aa"`, `"Stop."`, "xx.po:21: Two is in English"},
		{`"aa"`, `"a {tool}"`, "xx.po:21: Two has {tool}, which in English it has not"},
		{`"aa"`, "\"a\u0301\"", "xx.po:21: Two is not in the normal form C"},
		{"Stop.", "Halt.", `xx.po:21: Two translates "Halt."; in English it is now "Stop."`},
		{`"Two"`, `"Four"`, "xx.po:1: Two is missing"},
		{"\nmsgctxt \"Two\"", "\n#, fuzzy\nmsgctxt \"Two\"", "xx.po:22: Two is marked fuzzy"},
		{"msgstr[1] \"{n} as\"\n", "", "xx.po:25: Three has 1 plural forms; the header says nplurals=2"},
		{"{n} as", "as", "xx.po:25: Three loses {n}"},
		{"(n != 1)", "(n > 1 ? 2 : 0)", "xx.po:1: Plural-Forms gives 2 for n=2; the last of 2 forms is 1"},
		{"Language: xx", "Language: yy", "xx.po:1: the header says Language: yy; the file is named after xx"},
		{"X-Marks: .", "X-Mark: .", "xx.po:1: the header has no X-Marks"},
	} {
		got := read(strings.Replace(whole, tt.old, tt.new, 1)).problems(en, names)
		if tt.want == "" && len(got) > 0 || tt.want != "" && !slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, tt.want) }) {
			t.Errorf("%q instead of %q: %q, want %q", tt.new, tt.old, got, tt.want)
		}
	}
}

// The expressions that gettext's manual gives for families of languages, and what it says of them.
func TestPluralRules(t *testing.T) {
	for _, tt := range []struct {
		rule string
		want map[int]int
	}{
		{"nplurals=1; plural=0;", map[int]int{0: 0, 1: 0, 7: 0}},
		{"nplurals=2; plural=n != 1;", map[int]int{0: 1, 1: 0, 2: 1}},
		{"nplurals=2; plural=n>1;", map[int]int{0: 0, 1: 0, 2: 1}},
		{"nplurals=3; plural=n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2;", map[int]int{0: 2, 1: 0, 11: 1, 21: 0}},
		{"nplurals=3; plural=n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2;", map[int]int{1: 0, 2: 1, 5: 2, 11: 2, 12: 2, 22: 1, 101: 0}},
		{"nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5;", map[int]int{0: 0, 1: 1, 2: 2, 3: 3, 10: 3, 11: 4, 99: 4, 100: 5, 103: 3}},
		{"nplurals=2; plural=n/10%10;", map[int]int{5: 0, 15: 1}},
	} {
		r, err := parsePlural(tt.rule)
		if err != nil {
			t.Error(err)
			continue
		}
		for n, want := range tt.want {
			if got := r.index(n); got != want {
				t.Errorf("%s: %d for n=%d, want %d", tt.rule, got, n, want)
			}
		}
	}
	for _, bad := range []string{"", "nplurals=0; plural=0;", "nplurals=2; plural=n ? 1;", "nplurals=2; plural=m;", "nplurals=2; plural=n 1;", "nplurals=2; plural=" + strings.Repeat("(", 200) + "n"} {
		if _, err := parsePlural(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
