package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/npmtest"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// A commonMark is what a text is made of, as commonmark.js reads it.
type commonMark struct {
	Outline string // its blocks
	Spoken  string // the words that are in it, with (code) for code
}

// readCommonMark has commonmark.js, the reference implementation, read texts. npm fetches it; with
// AAEP_REAL=1 it fails where it cannot.
func readCommonMark(t *testing.T, texts []string) (all []commonMark) {
	t.Helper()
	if testing.Short() {
		t.Skip("npm fetches another implementation: make test-all runs it")
	}
	input, err := json.Marshal(texts)
	check(t, err)
	node := exec.Command("node", "read.mjs")
	node.Dir, node.Stdin, node.Stderr = npmtest.Install(t, "testdata/commonmark"), bytes.NewReader(input), os.Stderr
	out, err := node.Output()
	check(t, err)
	check(t, json.Unmarshal(out, &all))
	return all
}

// markdownAnswers returns the answers in testdata/commonmark/answers, in the shape of those that
// models give, by their names.
func markdownAnswers(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/commonmark/answers/*.md")
	check(t, err)
	all := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		check(t, err)
		all[strings.TrimSuffix(filepath.Base(path), ".md")] = string(data)
	}
	if len(all) < 8 {
		t.Fatalf("only %d answers are in testdata/commonmark/answers", len(all))
	}
	return all
}

// generatedMarkdown returns texts of lines that agents write, in any order.
func generatedMarkdown(n int) (texts []string) {
	lines := []string{"Some words.\n", "Two lines\nof one paragraph.\n", "\n", "\n", "# Heading\n", "### Deeper `name` ##\n",
		"- item\n", "- [x](http://a.b/c) and **bold**\n", "  - nested *words*\n", "1. first\n", "2. second\n",
		"> quoted `code` words.\n", "***\n", "```go\nx := 1\n\ny := *p\n```\n", "~~~\n**not bold**\n~~~\n",
		"An ![image](i.png) &amp; a snake_case_name.\n", "\nTitle\n===\n", "* star\n"}
	random := rand.New(rand.NewSource(5))
	for range n {
		text := ""
		for range 2 + random.Intn(7) {
			text += lines[random.Intn(len(lines))]
		}
		texts = append(texts, text)
	}
	return texts
}

var (
	ofCode     = regexp.MustCompile(`(?:Code|Go|Shell|Python|JSON|YAML|JavaScript|SQL), \d+ lines?\.`)
	itemNumber = regexp.MustCompile(`(?:^|\s)\d+[.)](?:\s|$)`)
	// unmeant is what the announcer adds for a voice to pause, and what it says itself.
	unmeant = strings.NewReplacer(".", " ", ":", " ", "link to ", "", "Checked", "[x]", "Not checked", "[ ]", "~~", "")
)

// asWords returns the words of what is said, to be compared with those that CommonMark finds.
func asWords(text string) string {
	text = itemNumber.ReplaceAllString(text, " ") // which are said as they are written
	return strings.Join(strings.Fields(unmeant.Replace(ofCode.ReplaceAllString(text, "(code)"))), " ")
}

// TestSpokenCommonMark: the words that the announcer says of an answer, whatever pieces it comes
// in, are those that CommonMark finds in it, with nothing lost and no mark among them.
func TestSpokenCommonMark(t *testing.T) {
	t.Parallel()
	var names, texts []string
	for name, text := range markdownAnswers(t) {
		names, texts = append(names, name), append(texts, text)
	}
	for i, text := range generatedMarkdown(400) {
		names, texts = append(names, fmt.Sprint("generated ", i)), append(texts, text)
	}
	for i, read := range readCommonMark(t, texts) {
		want := asWords(read.Spoken)
		if differs, ok := spokenOtherwise[names[i]]; ok {
			if !strings.Contains(want, differs[0]) {
				t.Errorf("%s does not differ: CommonMark finds %s", names[i], want)
			}
			want = strings.Replace(want, differs[0], differs[1], 1)
		}
		for _, size := range []int{len(texts[i]), 7} {
			a, now := announce.New(announce.Preferences{}), time.Time{}
			for text := texts[i]; text != ""; {
				chunk := text[:min(size, len(text))]
				text = text[len(chunk):]
				a.Add(now, "", &aaep.Event{SessionID: "sess_1", LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en"},
					Payload: &aaep.OutputStreaming{Chunk: chunk, OutputID: "out_1", CoalesceHint: aaep.BoundaryNone,
						Complete: text == ""}}, nil)
			}
			if got := asWords(strings.Join(heardFrom(a, now), " ")); got != want {
				t.Errorf("%s, %d bytes at a time:\n%s\nheard %s\nwant  %s", names[i], size, texts[i], got, want)
			}
		}
	}
}

// spokenOtherwise is where the announcer deliberately says something else than CommonMark finds.
var spokenOtherwise = map[string][2]string{
	"review": {"234 would", "2*3*4 would"}, // a mark between digits is a sign
	"steps":  {"http //localhost 8080/", "localhost"},
	// Indented lines are said: agents fence their code, and indent what goes on with an item.
	"plan": {"fails (code) The end", "fails indented code is code The end"},
}

// shownOutline is outline as commonMark has it: paragraphs are but their text, and so are lines
// that are folded because many came at once.
const shownOutline = `(() => {
	const of = (el) => {
		if (el.matches(".who, summary, p:has(> .who:only-child)")) return "";
		const role = el.getAttribute("role"), name = role === "heading" || /^H\d$/.test(el.tagName) ? "h" : el.localName;
		const isText = (n) => n.nodeType === 3 || /^(strong|em|del|code)$/.test(n.localName ?? "") && el.localName !== "pre";
		let within = "";
		for (const n of el.childNodes) within += isText(n) ? n.textContent : " " + of(n) + " ";
		within = within.replace(/\s+/g, " ").trim();
		return ["div", "span", "p", "details"].includes(name) ? within : name + (el.start > 1 ? el.start : "") + "(" + within + ")";
	};
	return of(document.getElementById("log"));
})()`

// TestShownCommonMark: the page has an answer in the headings, lists, quotations and code that
// CommonMark finds in it, with the same text and no mark in that.
func TestShownCommonMark(t *testing.T) {
	t.Parallel()
	var names, texts []string
	for name, text := range markdownAnswers(t) {
		names, texts = append(names, name), append(texts, text)
	}
	for i, text := range generatedMarkdown(60) {
		names, texts = append(names, fmt.Sprint("generated ", i)), append(texts, text)
	}
	read := readCommonMark(t, texts)
	for part := range 4 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			p := listening(t)
			eval[any](p, `document.getElementById("quiet").click()`)
			before := ""
			for i := part; i < len(texts); i += 4 {
				want := read[i].Outline
				if differs, ok := shownOtherwise[names[i]]; ok {
					if !strings.Contains(want, differs[0]) {
						t.Errorf("%s does not differ: CommonMark finds %s", names[i], want)
					}
					want = strings.Replace(want, differs[0], differs[1], 1)
				}
				p.answers(fmt.Sprintf("out_%d_", i), texts[i], 7) // events have ids of their own
				want = strings.TrimSpace(before + " " + want)
				got := ""
				for end := time.Now().Add(5 * time.Second); got != want && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
					got = eval[string](p, shownOutline)
				}
				if got != want {
					t.Errorf("%s:\n%s\nshown %s\nwant  %s", names[i], texts[i], strings.TrimPrefix(got, before),
						strings.TrimPrefix(want, before))
				}
				before = got
			}
		})
	}
}

// shownOtherwise is where the page deliberately shows something else than CommonMark finds.
var shownOtherwise = map[string][2]string{
	"review": {"234 would", "2*3*4 would"}, // a mark between digits is a sign
	// GitHub's marks for what is struck out, and a backslash before the end of a line, which may be
	// of a path.
	"marks": {"~~gone~~ no more. Bold with code in it, and slanted both words. Escaped: *not slanted* and _this_. A hard break goes on, and another too",
		"gone no more. Bold with code in it, and slanted both words. Escaped: *not slanted* and _this_. A hard break goes on, and another\\ too"},
	// Where links by reference lead comes after them, and is shown there.
	"reference": {"Both RFC 9110 (https://www.rfc-editor.org/rfc/rfc9110) and the specification (https://example.org/spec) say that the header is optional. The diagram (https://example.org/pic.png) shows the flow.",
		`Both RFC 9110 and the specification say that the header is optional. The diagram shows the flow. [http]: https://www.rfc-editor.org/rfc/rfc9110 "HTTP Semantics" [specification]: https://example.org/spec [pic]: https://example.org/pic.png`},
}
