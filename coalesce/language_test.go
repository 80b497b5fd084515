package coalesce

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// readLanguages returns every file of the folder languages, with its test sentences.
func readLanguages(t testing.TB) (list []*language) {
	t.Helper()
	entries, err := languageFiles.ReadDir("languages")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		l, err := parseLanguage(e.Name(), readLanguage(t, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

func readLanguage(t testing.TB, file string) string {
	t.Helper()
	text, err := languageFiles.ReadFile(path.Join("languages", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every file of a language is whole, and its test sentences are cut as they are marked.
func TestLanguageFiles(t *testing.T) {
	for _, l := range readLanguages(t) {
		if l.file != l.tags[0]+".txt" {
			t.Errorf("%s: a file has the name of its first tag, %s", l.file, l.tags[0])
		}
		if err := CheckLanguage(l.file, readLanguage(t, l.file)); err != nil {
			t.Error(err)
		}
	}
}

// HS-071, D-52, I18N-012: the test sentences come out however the text is divided into tokens.
func TestSegmenterRules(t *testing.T) {
	for _, l := range readLanguages(t) {
		for _, sentence := range l.sentences {
			text, want := strings.ReplaceAll(sentence.marked, "¦", ""), strings.Split(sentence.marked, "¦")
			for _, tokens := range append(splitWays(text), splitEvery(text, 11)) {
				s := NewSegmenter(aaep.BoundarySentence, 0)
				s.SetLanguage(l.tags[len(l.tags)-1])
				var got []string
				for _, token := range tokens {
					for _, p := range s.Write(token) {
						got = append(got, p.Text)
					}
				}
				for _, p := range s.Flush(true) {
					got = append(got, p.Text)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s:%d: in %d tokens this is cut as %q", l.file, sentence.line, len(tokens), strings.Join(got, "¦"))
					break
				}
			}
		}
	}
}

// A file that cannot be read gets one error, with the line.
func TestLanguageFileErrors(t *testing.T) {
	const begin = "Language: Test\nTags: xx\nSource: here\n"
	for text, want := range map[string]string{
		"Language: Test\n":                          `xx.txt:1: there is no line such as "Tags: sw"`,
		begin + "== Never ends\nDr\n":               `xx.txt:4: there is no heading "Never ends"; the headings are ["Never end a sentence"`,
		begin + "Dr Prof\n":                         `xx.txt:4: "Dr Prof" stands under no heading; a heading is a line such as "== Never end a sentence"`,
		begin + "Author: me\n":                      `xx.txt:4: there is no "Author"; a file begins with Language, Tags, Source`,
		begin + "Dates begin with the year: true\n": `xx.txt:4: "Dates begin with the year" has the value yes, or the line is left out; here it is "true"`,
		begin + "== Test sentences\nC:\\temp\n":     `xx.txt:5: a backslash in a test sentence is written \\, and a line end \n`,
	} {
		if err := CheckLanguage("xx.txt", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// What is missing in a file, or can never match, is told in one go; and a sentence that is cut
// otherwise.
func TestLanguageProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"whole": {"Language: Test\nTags: xx\nSource: here\n\n== Never end a sentence\r\n# Titles.\nDr z_B\n\n== Test sentences\nDr. Ade z. B. Eve. ¦Yes.\n", nil},
		"empty": {"Tags: xx\n", []string{
			`xx.txt: no line such as "Language: Swahili"`, `xx.txt: no line such as "Source: collected for this project"`,
			`xx.txt: no test sentence, under the heading "== Test sentences"`}},
		"no words tested": {"Language: Test\nTags: xx\nSource: here\n== Never end a sentence\nDrx\n== First words\nIyy\n== Test sentences\nOne.\n", []string{
			`xx.txt: no test sentence with ¦`, `xx.txt: no test sentence with an abbreviation, such as Drx.`, `xx.txt: no test sentence with a word under "First words", such as Iyy`}},
		"full stop": {"Language: Test\nTags: xx\nSource: here\n== Never end a sentence\nDrx.\n== Test sentences\nOne. ¦Two.\n", []string{
			`xx.txt: no test sentence with an abbreviation, such as Drx.`, `xx.txt:5: write "Drx." without its last full stop`}},
		"no word of a list": {"Language: Test\nTags: xx\nSource: here\n== Never end a sentence\nDrx\n== Times of day\npx\n== Test sentences\nDrx. Ade. ¦Yes.\n", []string{
			`xx.txt: no test sentence with a word under "Times of day", such as px`}},
		"words": {"Language: Test\nTags: xx XY sw\nSource: here\n== Never end a sentence\nDr Dr. ~ e\u0301q a\nabcdefghijklmnopqrstuvwxyz\n== Times of day\nDr\n" +
			"== First words\nwe\n== Test sentences\nDr. Ade came. ¦we go.\n", []string{
			`xx.txt: the tag "XY" is not a language in small letters`, `xx.txt: the tag "sw" is in sw.txt too`,
			`xx.txt:5: write "Dr." without its last full stop`, `xx.txt:5: a ~ stands alone`, `xx.txt:5: "e` + "\u0301" + `q" is not in the Unicode form NFC`,
			`xx.txt:5: a single letter means something else in other languages: write ~a`,
			`xx.txt:6: "abcdefghijklmnopqrstuvwxyz" has more than 24 bytes`, `xx.txt:8: "Dr" is in line 5 too`, `xx.txt:10: "we" does not begin with a capital`,
			`xx.txt:12: this is cut as "Dr. Ade came. we go."`}},
	} {
		var got []string
		if err := CheckLanguage("xx.txt", tt.text); err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if !slices.EqualFunc(got, tt.want, strings.HasPrefix) || strings.Contains(strings.Join(got, "\n"), "..\n") {
			t.Errorf("%s\ngot\n  %s\nwant\n  %s", name, strings.Join(got, "\n  "), strings.Join(tt.want, "\n  "))
		}
	}
}

// A corrected file is what its test sentences are cut by, and not the one that is built in.
func TestCheckLanguageReplaces(t *testing.T) {
	text := readLanguage(t, "sw.txt")
	broken := strings.Replace(text, "Bw Bi Bwn", "Bi Bwn", 1)
	if err := CheckLanguage("sw.txt", broken); err == nil || !strings.Contains(err.Error(), `this is cut as "Bw. ¦Juma`) {
		t.Errorf("without Bw: %v", err)
	}
}
