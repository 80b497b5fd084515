package listen

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/terminal"
)

// edits is an agent that shows a diff of 400 lines, in which one line changes.
func edits(ctx context.Context, s *story, p *producer.Producer) {
	session, err := p.StartSession(ctx, aaep.Say("Working on the limits."))
	if err != nil {
		s.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("The limit is higher now.\n\n```diff\n--- a/src/limits.go\n+++ b/src/limits.go\n@@ -1,399 +1,399 @@\n")
	for i := range 399 {
		if i == 250 {
			text.WriteString("-\tretries = 3\n+\tretries = 5\n")
			continue
		}
		fmt.Fprintf(&text, " \tlimit_%d = %d\n", i, i)
	}
	text.WriteString("```\n")
	s.note("The agent shows a diff of 400 lines.")
	fmt.Fprint(session.Output(), text.String())
	session.Complete(aaep.Say("The limit is raised."))
}

// looks types what a person does who wants to know what changed: they walk to the change, and look
// for a word.
func looks(s *story) {
	time.Sleep(37 * time.Millisecond) // never at the same time as anything else
	wait := func() {
		for range 3 { // a second of silence, and that three times over
			for !s.quiet() {
				time.Sleep(211 * time.Millisecond)
			}
			time.Sleep(2 * time.Second)
		}
	}
	wait()
	for _, line := range []string{"/to change", "/find limit_77"} {
		s.note("The person types " + line + " and Enter.")
		s.lines <- terminal.Line{Text: line, At: time.Now(), Began: time.Now()}
		wait()
	}
}

// TestDiffRecordings keeps how a person finds one changed line among 400, and another by a word, by
// ear and by 14 cells: in one command each, and no more than five keys of the display.
func TestDiffRecordings(t *testing.T) {
	t.Run("ear", func(t *testing.T) {
		recordSpeech(t, "Coder", edits, looks, subscriber.ScreenReader("en-US"), "diff-by-ear.txt", `One changed line among 400, by ear alone

One command tells where it is, what was there and what is there now. What a person hears with "aaep listen --output speech" who
wants to know what a diff changes, from when to when in seconds, at 172 words a minute. Made by a test with a speech server that
keeps the pace of a real one; quotation marks hold what the voice says.
`)
	})
	t.Run("braille", func(t *testing.T) {
		byCells(t, "Coder", edits, looks, subscriber.Braille(14, "en-US"), "diff-by-14-cells.txt", `One changed line among 400, by 14 cells alone

One command and four keys of the display bring the changed line under the fingers. What a person reads with "aaep listen --as
braille --cells 14 --output braille", from which second on. They pan on every 1.7 seconds until they have had all of it. The last
two cells mean: ⠒ it goes on, ⠿ it stays until you pan on, ⠶ something waits. Made by a test with a BRLTTY that shows what it is
sent.
`)
	})
}
