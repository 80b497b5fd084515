package announce

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// Code that was told of as how much there is can be heard line by line, and of a diff the lines
// that change: one of 400 by one command, in whatever pieces it came. It can be left, and gone on
// with.
func TestDetailsOfCode(t *testing.T) {
	long := "Look:\n\n--- a/main.go\n+++ b/main.go\n@@ -1,400 +1,400 @@\n" + strings.Repeat(" same\n", 249) + " before\n-\told(1)\n+\tnew(2)\n after\n" + strings.Repeat(" same\n", 147)
	for text, want := range map[string]string{
		"Try:\n```go\nfunc f() {\n\n\treturn 1\n}\n```\nThat is all.\n": "func f() {|Indent 1: return 1|Indent 0: }",
		"```diff\n a\n-b\n+c\n d\n```\n":                                "a|Removed: b|Added: c|d",
		"```\nnever closed\n":                                           "never closed",
		"```\nDecide: pay.\n```\n":                                      "The agent says: Decide: pay.",
		"--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n--- a/y.go\n+++ b/y.go\n@@ -1 +1 @@\n-c\n+d\n": "x.go.|Removed: a|Added: b|y.go.|Removed: c|Added: d",
		long: "before|Removed: old(1)|Added: new(2)|after",
	} {
		for _, n := range []int{1, 7, len(text)} {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
			for rest := text; rest != ""; {
				chunk := rest[:min(n, len(rest))]
				rest = rest[len(chunk):]
				r.addEvent(&aaep.OutputStreaming{Chunk: chunk, OutputID: "o", CoalesceHint: aaep.BoundaryNone, Complete: rest == ""}, "")
			}
			r.passTime(time.Minute)
			r.heard = nil
			r.a.Details(r.now)
			r.passTime(time.Minute)
			if got := r.heardSince(""); got != want {
				t.Errorf("%d bytes at a time of %.60q: heard %.300s, want %s", n, text, got, want)
			}
		}
	}
}

// What was left out is told before code is, and code that is being said is left by Skip, asked for
// again where it was left, and interrupted by a question, which is called to mind after it.
func TestDetailsOfCodeAreLeft(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, "call(%d)\n", i)
	}
	r.addEvent(&aaep.OutputStreaming{Chunk: "```go\n" + lines.String() + "```\n", OutputID: "o", CoalesceHint: aaep.BoundaryCompletion}, "")
	r.passTime(time.Minute)
	r.heard = nil
	r.a.Details(r.now)
	r.passTime(2 * time.Second)
	r.a.Skip(r.now)
	r.passTime(time.Minute)
	if got := r.heardSince(""); strings.Contains(got, "call(20)") || !strings.Contains(got, "call(0)") {
		t.Errorf("after Skip: %s", got)
	}
	r.heard = nil
	r.a.Details(r.now)
	r.passTime(2 * time.Second)
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(2 * time.Minute)
	got := r.heardSince("")
	if !strings.Contains(got, "Decide: Pay five dollars.") || !strings.Contains(got, "call(29)") ||
		strings.LastIndex(got, "Pay five dollars.") < strings.LastIndex(got, "call(29)") {
		t.Errorf("with a question: %s", got)
	}
}
