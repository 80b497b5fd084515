package announce

import (
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// What a change adds and removes is never told alike, in whatever pieces it comes: a diff is told
// as how much there is of it, and lines with signs alone by their signs in words. A list stays a
// list, and a number a number.
func TestDiffInAnAnswer(t *testing.T) {
	for text, want := range map[string]string{
		"Here:\n\n--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,4 @@\n func f() {\n-\treturn 1\n+\tx := 2\n+\treturn x\n }\n\nThat is all.\n":          "Here:|x.go: 2 lines added, 1 removed.|That is all.",
		"diff --git a/x b/x\nindex 0123456..789abcd 100644\n--- a/x\n+++ b/x\n@@ -1 +1,0 @@\n-a\n@@ -9,2 +9,2 @@\n c\n-d\n+e\n\n- a list\n": "x: 1 line added, 2 removed.|a list",
		"Change it:\n- return 1\n+ return 2\n\nDone.":                         "Change it:|Removed: return 1|Added: return 2|Done.",
		"-old line\n+new line\nNext sentence. And more.\n":                    "Removed: old line|Added: new line|Next sentence.|And more.",
		"- a\n- b\n- c\n- d\n+ e\nEnd.\n":                                     "a|b|c|d|Removed: a|Removed: b|Removed: c|Removed: d|Added: e|End.",
		"List:\n- one\n- two\n- three.\n- four\n\nEnd.":                       "List:|one|two|three.|four|End.",
		"-1 is less.\n+2 is more.\n":                                          "-1 is less.|+2 is more.",
		"```diff\n-a\n+b\n+c\n```\nOk.\n":                                     "Diff, 2 lines added, 1 removed.|Ok.",
		"```go\nfunc main() {\n\tfmt.Println(1)\n\treturn\n}\n```\nRun it.\n": "Go, 4 lines.|Run it.",
		"- the last": "the last",
	} {
		for _, n := range []int{1, 7, len(text)} {
			r := newRoom(t, Preferences{})
			for rest := text; rest != ""; {
				chunk := rest[:min(n, len(rest))]
				rest = rest[len(chunk):]
				r.addEvent(&aaep.OutputStreaming{Chunk: chunk, OutputID: "o", CoalesceHint: aaep.BoundaryNone, Complete: rest == ""}, "")
			}
			r.passTime(time.Hour)
			if got := r.heardSince(""); got != want {
				t.Errorf("%d bytes at a time of %q: heard %s, want %s", n, text, got, want)
			}
		}
	}
	r := newRoom(t, Preferences{}) // a line that may be one of a list is said when nothing follows
	r.addEvent(&aaep.OutputStreaming{Chunk: "- one\n", OutputID: "o", CoalesceHint: aaep.BoundaryNone}, "")
	r.passTime(2 * time.Second)
	r.wantHeard("1.0 one")
	// A line with the other sign may follow late; then the signs of both are told.
	r.addEvent(&aaep.OutputStreaming{Chunk: "+ two\n", OutputID: "o", CoalesceHint: aaep.BoundaryNone}, "")
	r.passTime(10 * time.Second)
	if got := r.heardSince(""); got != "one|Removed: one|Added: two" {
		t.Errorf("of a diff whose second line came late was heard %s", got)
	}
	r = newRoom(t, Preferences{})
	r.addEvent(&aaep.OutputStreaming{Chunk: "- a\n- b\n- c\n- d\n- e\n- f\n+ g\n- h\n", OutputID: "o", CoalesceHint: aaep.BoundaryNone}, "")
	r.passTime(time.Minute)
	if got := r.heardSince(""); !strings.HasSuffix(got, "f|Diff, 6 lines removed.|Added: g|Removed: h") {
		t.Errorf("of a diff that began as a long list was heard %s", got)
	}
}
