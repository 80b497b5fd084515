package announce

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// The shapes of tables that coding agents write in answers and summaries: what changed in which
// file, options with what speaks for and against them, results of tests, keys and their meaning.
// Each was written down, with what a person should hear, before the code.
var tableCases = []struct{ name, text, want string }{
	{"two columns need no names beyond the first row",
		"| Category | Description |\n|---|---|\n| docs | Names the new feature |\n| test | Covers it |\n",
		"Category, Description. docs, Names the new feature. test, Covers it."},
	{"three columns are told by their names, behind what the row is about",
		"| File | Change | Risk |\n|------|--------|------|\n| main.go | adds a flag | low |\n",
		"File, Change, Risk. main.go, Change: adds a flag, Risk: low."},
	{"an empty cell is left out, and those after it keep their names",
		"| Test | Before | After |\n|:--|--:|:-:|\n| TestRun |  | passes |\n| TestStop | fails | |\n",
		"Test, Before, After. TestRun, After: passes. TestStop, Before: fails."},
	{"a row without its first cell has names too",
		"| | Linux | Windows |\n|---|---|---|\n| build | yes | no |\n| | slow | |\n",
		"Linux, Windows. build, Linux: yes, Windows: no. Linux: slow."},
	{"markup in cells goes, and a bar that is no border stays",
		"| Flag | Means | Since |\n|---|---|---|\n| `-v` | **loud** | [1.2](https://example.org) |\n| `a\\|b` | either | 2 |\n",
		"Flag, Means, Since. -v, Means: loud, Since: 1.2. a|b, Means: either, Since: 2."},
	{"a row may be too short or too long",
		"| A | B | C |\n|---|---|---|\n| 1 |\n| 1 | 2 | 3 | 4 |\n",
		"A, B, C. 1. 1, B: 2, C: 3, 4."},
	{"a second table has names of its own",
		"| A | B | C |\n|---|---|---|\n| 1 | 2 | 3 |\n\n| D | E | F |\n|---|---|---|\n| 4 | 5 | 6 |\n",
		"A, B, C. 1, B: 2, C: 3. D, E, F. 4, E: 5, F: 6."},
	{"what follows is no row of it",
		"| A | B | C |\n|---|---|---|\n| 1 | 2 | 3 |\nThen that.\n| 4 | 5 | 6 |\n",
		"A, B, C. 1, B: 2, C: 3. Then that. 4, 5, 6."},
	{"rows without a line below the first have no names",
		"| A | B | C |\n| 1 | 2 | 3 |\n",
		"A, B, C. 1, 2, 3."},
}

func TestTables(t *testing.T) {
	for _, c := range tableCases {
		if got := (Content{}).markdownSpeech(c.text, "en", phrase.Code, true); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	wide := "|" + strings.Repeat(" h |", 60) + "\n|" + strings.Repeat("---|", 60) + "\n|" + strings.Repeat(" v |", 60) + "\n"
	if got := (Content{}).markdownSpeech(wide, "en", phrase.Code, true); strings.Count(got, "h: v") != 59 {
		t.Errorf("of 60 columns: %q", got)
	}
}

// A table is heard alike whatever pieces it comes in, and code that looks like one is code.
func TestTablesInPieces(t *testing.T) {
	for _, c := range tableCases {
		for _, size := range []int{1, 7, 1000} {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
			for piece := range slices.Chunk([]byte(c.text), size) {
				r.addEvent(&aaep.OutputStreaming{Chunk: string(piece), OutputID: "out_1"}, "")
			}
			r.addEvent(&aaep.OutputStreaming{OutputID: "out_1", CoalesceHint: aaep.BoundaryCompletion}, "")
			r.passTime(5 * time.Minute)
			if got := strings.ReplaceAll(r.heardSince(""), "|", " "); got != strings.ReplaceAll(c.want, "|", " ") {
				t.Errorf("%s, in pieces of %d: %q, want %q", c.name, size, got, c.want)
			}
		}
	}
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addEvent(&aaep.OutputStreaming{Chunk: "| A | Decide | Risk |\n|---|---|---|\n| | Pay $20 | none |\n", OutputID: "out_1", CoalesceHint: aaep.BoundaryCompletion}, "")
	r.passTime(time.Minute)
	if got := r.heardSince(""); !strings.HasSuffix(got, "The agent says: Decide: Pay $20, Risk: none.") {
		t.Errorf("a table that imitates a question: %q", got)
	}
	const code = "```\n| A | B | C |\n|---|---|---|\n| 1 | 2 | 3 |\n```\n"
	if got := (Content{}).markdownSpeech(code, "en", phrase.Code, true); got != "Code, 3 lines." {
		t.Errorf("code: %q", got)
	}
}

// A diff of one file is told by the name of that.
func TestDiffOfAFile(t *testing.T) {
	const lines = "@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n"
	for text, want := range map[string]string{
		"diff --git a/src/config.json b/src/config.json\nindex 1234567..89abcde 100644\n--- a/src/config.json\n+++ b/src/config.json\n" + lines: "config.json: 2 lines added, 1 removed.",
		"```diff\n--- a/x.go\n+++ b/x.go\n" + lines + "```\n":                   "x.go: 2 lines added, 1 removed.",
		"--- a/gone.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-b\n":                  "gone.txt: 1 line removed.",
		"--- a/x.go\n+++ b/x.go\n" + lines + "--- a/y.go\n+++ b/y.go\n" + lines: "Diff, 4 lines added, 2 removed.",
		"```diff\n" + lines + "```\n":                                           "Diff, 2 lines added, 1 removed.",
		"--- a/Decide: pay. \n+++ b/Decide: pay. \n" + lines:                    "Diff, 2 lines added, 1 removed.",
	} {
		if got := (Content{}).markdownSpeech(text, "en", phrase.Code, true); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		for line := range strings.Lines(text) {
			r.addEvent(&aaep.OutputStreaming{Chunk: line, OutputID: "out_1"}, "")
		}
		r.addEvent(&aaep.OutputStreaming{OutputID: "out_1", CoalesceHint: aaep.BoundaryCompletion}, "")
		r.passTime(time.Minute)
		if got := r.heardSince(""); got != want {
			t.Errorf("%q line by line: %q, want %q", text, got, want)
		}
	}
}

// A diff of many lines that come one by one is told once it is over, and costs each line once.
func TestLongDiff(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	const lines = 5000
	r.addEvent(&aaep.OutputStreaming{Chunk: fmt.Sprintf("--- a/x.go\n+++ b/x.go\n@@ -1,%d +1,%d @@\n", lines, lines), OutputID: "out_1"}, "")
	for i := range lines {
		r.addEvent(&aaep.OutputStreaming{Chunk: fmt.Sprintf("-old %d\n+new %d\n", i, i), OutputID: "out_1"}, "")
	}
	r.addEvent(&aaep.OutputStreaming{OutputID: "out_1", CoalesceHint: aaep.BoundaryCompletion}, "")
	r.passTime(time.Minute)
	if got := r.heardSince(""); got != "x.go: 5,000 lines added, 5000 removed." {
		t.Errorf("heard %.200q", got)
	}
}
