package announce

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// say has the agent answer in one piece, which is heard, and forgets what was heard.
func (r *room) say(text string) {
	r.addEvent(&aaep.OutputStreaming{Chunk: text, OutputID: fmt.Sprint("o", r.n), Complete: true}, "")
	r.passTime(time.Hour)
	r.heard = nil
}

// said is what was heard since, each utterance on a line, without its time.
func (r *room) said() string {
	var all []string
	for _, line := range r.heard {
		_, text, _ := strings.Cut(line, " ")
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

// A walk is heard at once, another takes its place, and what was being said begins anew after it.
func TestWalkInterrupts(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.say("# One\n\nText.\n\n# Two has a long title of many words\n")
	r.addSentence("This is a sentence of ten words that goes on. ")
	r.passTime(2 * time.Second)
	r.a.Walk(r.now, "heading", false)
	r.passTime(time.Second / 2)
	r.a.Walk(r.now, "heading", false)
	r.passTime(time.Minute)
	const want = "This is a sentence of ten words that goes on. /\nHeading 1: One. /\n" +
		"Heading 1: Two has a long title of many words.\nThis is a sentence of ten words that goes on."
	if got := r.said(); got != want {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
	r.heard = nil
	r.a.Walk(r.now, "heading", true)
	r.a.Walk(r.now, "heading", true)
	r.passTime(time.Minute)
	if got := r.said(); got != "Nothing of that kind comes there.\nHeading 1: One." {
		t.Errorf("going back, heard\n%s", got)
	}
	if err := r.a.Walk(r.now, "chapter", false); err == nil || errors.Is(err, ErrNoPlace) {
		t.Errorf("to no place: %v", err)
	}
}

// A walk is heard also where only what cannot wait is, and what is skipped of it is not left to be
// asked for.
func TestWalkInQuiet(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.say("# One title of five words\n\n# Two\n")
	r.a.Hush(true)
	r.addSentence("This can wait. ")
	r.a.Walk(r.now, "heading", false)
	r.passTime(time.Second)
	r.a.Skip(r.now)
	r.passTime(time.Minute)
	if got := r.said(); !strings.HasPrefix(got, "Heading 1: One title of five words.") || strings.Contains(got, "This can wait.\n") {
		t.Errorf("heard\n%s", got)
	}
	r.heard = nil
	r.a.Details(r.now)
	r.passTime(time.Minute)
	if got := r.said(); strings.Contains(got, "Heading") {
		t.Errorf("left to be asked for:\n%s", got)
	}
}

// What is walked to while a question is put is not what is answered: the question is named again
// after it.
func TestWalkBesideAQuestion(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.say("# Delete everything\n\nText.\n")
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.passTime(time.Minute)
	r.heard = nil
	r.a.Walk(r.now, "heading", false)
	r.passTime(time.Minute)
	got := r.said()
	before, after, walked := strings.Cut(got, "Heading 1: Delete everything.")
	if !walked || !strings.Contains(before, "What else was said:") || !strings.Contains(after, "Pay five dollars.") {
		t.Errorf("heard\n%s", got)
	}
	r.heard = nil
	r.a.Walk(r.now, "question", false)
	r.passTime(time.Minute)
	if got := r.said(); !strings.Contains(got, "Pay five dollars.") || strings.Contains(got, "\nDecide: ") {
		t.Errorf("at the question, heard\n%s", got)
	}
}

// One changed line among thousands, one column of sixty, a fence that is never closed and a line of
// 200 KB are found, and cost no more than they must.
func TestWalkInMuch(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	const lines = 5000
	r.say(fmt.Sprintf("--- a/x.go\n+++ b/x.go\n@@ -1,%d +1,%d @@\n", lines, lines) + strings.Repeat(" same\n", 3999) + "-old\n+new\n" +
		strings.Repeat(" same\n", 1000) + "\nThat is all.\n")
	r.a.Walk(r.now, "change", false)
	r.passTime(time.Minute)
	if got := r.said(); got != "x.go, line 4000.\nRemoved: old\nAdded: new" {
		t.Errorf("in the diff, heard\n%s", got)
	}
	var wide strings.Builder
	for _, cell := range []string{"h", "---", "v"} {
		for i := range 60 {
			fmt.Fprintf(&wide, "| %s%s ", cell, strings.Repeat(fmt.Sprint(i), len(cell)%3))
		}
		wide.WriteString("|\n")
	}
	r.say(wide.String())
	r.a.Walk(r.now, "table", false)
	for range 60 {
		r.heard = nil
		r.a.Walk(r.now, "column", false)
		r.passTime(time.Minute)
	}
	if got := r.said(); got != "h59.\nv0: v59." {
		t.Errorf("in the last column, heard\n%s", got)
	}
	r.say("```sh\nnever closed\n")
	r.a.Walk(r.now, "code", false)
	r.passTime(time.Minute)
	if got := r.said(); got != "Shell, 1 line.\nnever closed" {
		t.Errorf("in the open fence, heard\n%s", got)
	}
	for range 200 {
		r.a.transcript.addEvent(r.now, "Planner", &aaep.Event{SessionID: "s", Payload: &aaep.OutputStreaming{
			Chunk: strings.Repeat("x", 200<<10), OutputID: "long"}}, nil)
		r.a.transcript.addEvent(r.now, "Planner", &aaep.Event{SessionID: "s", Payload: &aaep.OutputStreaming{
			Chunk: "\n" + strings.Repeat("short\n", 5000), OutputID: "long"}}, nil)
	}
	size := 0
	for _, line := range r.a.transcript.lines {
		size += len(line.text)
	}
	if size > maxKeptText || size < maxKeptText/2 || size != r.a.transcript.size {
		t.Errorf("%d bytes are kept, counted as %d", size, r.a.transcript.size)
	}
	if err := r.a.Find(r.now, "short", false); err != nil {
		t.Errorf("after much was forgotten: %v", err)
	}
}

// The transcript is written as the agents wrote, with nothing that could deceive who reads it.
func TestWriteTranscript(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addEvent(&aaep.SessionStarted{}, "Asked: fix it.")
	r.say("# Title\n\n\x1b[2J- one\n")
	r.addEvent(&aaep.ToolInvoked{Tool: "grep", ToolCallID: "call_1"}, "Using grep.")
	var b strings.Builder
	if err := r.a.WriteTranscript(&b); err != nil {
		t.Fatal(err)
	}
	const want = "[2026-01-02 03:04:05 Planner] Asked: fix it.\n# Title\n\n<U+001B>[2J- one\n[2026-01-02 04:04:05 Planner] Using grep.\n"
	if b.String() != want {
		t.Errorf("written\n%s\nwant\n%s", b.String(), want)
	}
}

// What the person typed for their agent begins the turn in which it answers: it is walked to, found
// and saved, and not told by itself.
func TestWalkToWhatWasTyped(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.say("Ready.")
	r.a.NoteTyped(r.now, "Fix the *parser*\n"+strings.Repeat("and so on ", 40)+"in walk.go")
	r.passTime(time.Hour)
	if r.said() != "" {
		t.Errorf("by itself, heard\n%s", r.said())
	}
	r.addEventOf("Planner", "sess_2", &aaep.OutputStreaming{Chunk: "Done.", OutputID: "p", Complete: true}, "")
	r.passTime(time.Hour)
	for _, c := range []struct {
		walk func() error
		want string
	}{
		{func() error { return r.a.Walk(r.now, "turn", true) }, "You typed: Fix the"},
		{func() error { return r.a.Walk(r.now, "line", false) }, "Done."},
		{func() error { return r.a.Walk(r.now, "turn", true) }, "You typed: Fix the"},
		{func() error { return r.a.Find(r.now, "WALK.GO", false) }, "You typed: Fix the"},
		{func() error { return r.a.Walk(r.now, "turn", true) }, "Ready."},
	} {
		r.heard = nil
		if err := c.walk(); err != nil {
			t.Fatal(err)
		}
		r.passTime(time.Hour)
		if got := strings.ReplaceAll(r.said(), "\n", " "); !strings.HasPrefix(got, c.want) || strings.HasPrefix(c.want, "You") && !strings.HasSuffix(got, "in walk.go") {
			t.Errorf("heard %q, want %q", got, c.want)
		}
	}
	var b strings.Builder
	if err := r.a.WriteTranscript(&b); err != nil || !strings.Contains(b.String(), "] You typed: Fix the *parser* and so on ") {
		t.Errorf("written\n%s", b.String())
	}
}

// Whatever an agent writes, in whatever pieces, a walk is one safe line after another, and ends.
func FuzzWalk(f *testing.F) {
	for _, s := range []string{"# a\n| b | c |\n|---|---|\n", "```\n@@ -1 +1 @@\n-a\n+b\n", "> ```\n> x\n- y\n===\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\n+\n", "|\n||\n|||\n"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = max(size%40, 1)
		r := newRoom(t, Preferences{Content: Content{Indent: InCells}})
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			r.a.transcript.addEvent(r.now, "Planner", &aaep.Event{SessionID: "s", Payload: &aaep.OutputStreaming{Chunk: rest[:n], OutputID: "o"}}, nil)
			rest = rest[n:]
		}
		for _, place := range Places() {
			for range 40 {
				if r.a.Walk(r.now, place, false) != nil {
					break
				}
				for _, it := range r.a.normal {
					for _, p := range it.sentences {
						if strings.ContainsAny(p.Text, "\n\r\t") || aaep.SafeText(p.Text) != p.Text {
							t.Fatalf("%s: %q", place, p.Text)
						}
					}
				}
			}
			r.a.transcript.at = nil
		}
	})
}
