package announce

import (
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// markdownLines are what the texts of TestMarkdownCutAnywhere are made of.
var markdownLines = []string{"One sentence here.\n", "Some words\n", "\n", "```\n", "```go\n", "```diff\n", "~~~\n", "````\n",
	"    ```\n", "- ```\n", "> ```\n", "> quoted words.\n", "> x := 1\n", "> - q\n", "x := 1\n", " same\n", "- item one\n",
	"* star\n", "+ plus\n", "1. first\n", "- [x] done\n", "# Heading\n", "| a | b | c |\n", "|---|---|---|\n",
	"| 1 | 2 | 3 |\n", "**bold** text.\n", "see [a](http://b.c/d).\n", "``` not a fence `\n", "-a := 1\n", "+b := 2\n",
	"--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n-a\n+b\n"}

// In whatever pieces an answer comes, as much of it is heard: what the Segmenter cut, and what the
// reader of Markdown makes of the pieces, agree on where code, quotations and tables end.
func TestMarkdownCutAnywhere(t *testing.T) {
	random := rand.New(rand.NewSource(7))
	for range 1500 {
		text := "It is this:\n\n" // is being said when the rest comes
		for range 2 + random.Intn(6) {
			text += markdownLines[random.Intn(len(markdownLines))]
		}
		want := ""
		for _, n := range []int{len(text), 1, 7} {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
			for rest := text; rest != ""; {
				chunk := rest[:min(n, len(rest))]
				rest = rest[len(chunk):]
				r.addEvent(&aaep.OutputStreaming{Chunk: chunk, OutputID: "o", Complete: rest == ""}, "")
			}
			r.passTime(3 * time.Minute)
			// Where one utterance ends is another's matter, and so is whether a line is marked.
			got := strings.NewReplacer(".", " ", ",", " ", "|", " ", "The agent says:", "").Replace(r.heardSince(""))
			got = strings.Join(strings.Fields(got), " ")
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%d bytes at a time of %q:\nheard %s\nwant  %s", n, text, got, want)
			}
		}
	}
}

// Code in a quotation ends with that, and what follows is heard.
func TestCodeInQuotation(t *testing.T) {
	for text, want := range map[string]string{
		"> ```go\n> a := 1\n> b := 2\n> ```\n> Quoted.\n":    "Go, 2 lines. Quoted.",
		"> ```\n> a := 1\nThe answer is no.\n":               "Code, 1 line. The answer is no.",
		"> ```\n> a := 1\n\n> ```\n> b\n> c\n\nThat is all.": "Code, 1 line. Code, 2 lines. That is all.",
		"```\n> not a quotation\n```\nThat is all.":          "Code, 1 line. That is all.",
	} {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		r.addEvent(&aaep.OutputStreaming{Chunk: text, OutputID: "o", Complete: true}, "")
		r.passTime(time.Minute)
		if got := strings.ReplaceAll(r.heardSince(""), "|", " "); got != want {
			t.Errorf("%q: heard %s, want %s", text, got, want)
		}
	}
}
