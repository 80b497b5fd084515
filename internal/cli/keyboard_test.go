package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// Keys make the lines that a terminal makes of them.
func TestEditor(t *testing.T) {
	for keys, want := range map[string]string{
		"y\n":                         "y",
		"yes\x7f\x7fo\r":              "yo",
		"\x7f\x7fa\n":                 "a",
		"one two \x17three\n":         "one three",
		"  \x17x\n":                   "x",
		"all of it\x15some\n":         "some",
		"a\x1b[Db\x1b[3~c\x1b[15~d\n": "abcd",
		"日本\x7fe\u0301\x7fx\n":        "日x",
		"a\tb\x00\x01\n":              "a\tb",
		"half\x04\n":                  "half",
		"\x1bOyn\n":                   "n", // keys of a keypad and F1, which end in a letter
		"\x1bOPy\n":                   "y",
		"\x1b[A\x1bOA\u008fyx\n":      "x",
		"\x1b[200~y\x1b[201~\n":       "y", // a bracketed paste
	} {
		var e editor
		screen, got := "", ""
		for _, r := range keys {
			shown, line, over := e.handleKey(r)
			screen += shown
			if over {
				t.Errorf("%q ends the input", keys)
			}
			if line != nil {
				got = *line
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", keys, got, want)
		}
		if strings.Trim(screen, "\b") == "" || strings.ContainsAny(screen, "\x1b\x00") {
			t.Errorf("%q shows %q", keys, screen)
		}
	}
	var e editor
	if shown, _, _ := e.handleKey('日'); shown != "日" {
		t.Errorf("shows %q", shown)
	}
	if shown, _, _ := e.handleKey(0x7f); shown != "\b \b\b \b" {
		t.Errorf("a wide letter is taken back by %q", shown)
	}
	if _, _, over := e.handleKey(0x04); !over {
		t.Error("Ctrl-D at the beginning of a line is no end")
	}
}

// A key hushes what can wait; Enter ends that, and what came is told in one sentence. An acceptance
// counts by when its first key was pressed: a question that came, or was heard, only while it was
// typed is not accepted by it. CONF-013, LVL-025, EVT-078
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, status saidLine
		l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
		p := present.New(announce.Preferences{})
		v := &pacedVoice{}
		run := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { run <- p.Run(ctx, v) }()
		defer func() { cancel(); <-run }()
		l.out = &outputs{tellings: []*personOutput{{outputKind: outputKind{name: "test", words: true}, p: p}}}
		f := &followedAgent{listener: l, name: "asker"}
		l.agents = []*followedAgent{f}
		var began time.Time
		keys := func(text string) {
			for range text {
				if began.IsZero() {
					began = time.Now()
				}
				l.handleTyped(ctx, typedLine{at: time.Now(), began: began, key: true})
				passTime(100 * time.Millisecond)
			}
		}
		enter := func(text string) {
			l.handleTyped(ctx, typedLine{text: text, at: time.Now(), began: began})
			began = time.Time{}
		}
		f.announceEvent(event(&aaep.SessionStarted{}, "Thinking of a very long sentence that takes a while."))
		passTime(time.Second)
		keys("hello agen")
		for _, text := range []string{"One.", "Two.", "Three."} {
			f.announceEvent(event(&aaep.Extension{Type: "acme:news"}, text))
		}
		question := event(pay(), "")
		question.Timestamp = time.Now()
		f.addQuestion(question)
		keys("t")
		enter("y") // the line began before the question came
		if got := status.String(); !strings.Contains(got, "typed before the question could be read") ||
			l.asked.Len() != 1 {
			t.Fatalf("a line that began before the question: %q", got)
		}
		passTime(2 * time.Second) // a part of the question was heard
		status.Reset()
		keys("y")
		enter("y")
		if got := status.String(); !strings.Contains(got, "You may not have heard all of it.") || l.asked.Len() != 1 {
			t.Fatalf("a yes in the middle of the question: %q", got)
		}
		passTime(time.Minute)
		if got := v.String(); !strings.Contains(got, "Thinking of a very long sentence that takes a while. /") ||
			!strings.Contains(got, "While you typed, this came: 3 announcements.\nThe newest: Three.") {
			t.Errorf("heard %s", got)
		}
		if aim := l.newLineContext(time.Now()); !aim.heard || !aim.known {
			t.Errorf("afterwards: %+v", aim)
		}
	})
}

// No key makes the keyboard deaf: Alt with P or ] begins what goes on until Enter at most.
func TestDeaf(t *testing.T) {
	for _, keys := range []string{"\x1bP", "\x1b]", "\x1bX", "\x1b^", "\x1b_", "\u0090", "\x1b[", "\x1b", "\x1bO"} {
		for _, enter := range []rune{'\n', '\r'} {
			var e editor
			got := ""
			for _, r := range keys + string(enter) + "n" + string(enter) {
				if _, line, _ := e.handleKey(r); line != nil {
					got += *line + "."
				}
			}
			if got != ".n." {
				t.Errorf("%q, Enter %q, n, Enter: %q", keys, enter, got)
			}
		}
	}
}

// What was pasted or handed on by a program is not taken for typed, wherever a read ends within it.
// INV-60
func TestPasted(t *testing.T) {
	for _, tc := range []struct {
		pieces []string
		want   string
	}{
		{[]string{"y", "\n"}, "y typed"},
		{[]string{"ye", "s\n"}, "yes typed"},
		{[]string{"y\n"}, "y pasted"},
		{[]string{strings.Repeat("a", 4094) + "\ny", "\n"}, strings.Repeat("a", 4094) + " pasted, y pasted"},
		{[]string{"some\ny", "es\nmore\n"}, "some pasted, yes pasted, more pasted"},
		{[]string{"some\n\xc3", "\xa9", "\n"}, "some pasted, é pasted"},
		{[]string{"\xc3", "\xa9", "\n"}, "é typed"},
		{[]string{"y", "\nmore\n"}, "y pasted, more pasted"},
		{[]string{"\x1b[200~y\x1b[201~", "\n"}, "y pasted"},
		{[]string{"x", "\x7fy", "\n"}, "y pasted"},
		{[]string{"\x1b", "[C", "y", "\n"}, "y typed"},
	} {
		in, typing := io.Pipe()
		go func() {
			for _, piece := range tc.pieces {
				io.WriteString(typing, piece)
			}
			typing.Close()
		}()
		var got []string
		for line := range keysOf(t.Context(), in, &terminal{}) {
			if !line.key {
				got = append(got, line.text+map[bool]string{true: " pasted", false: " typed"}[line.unseen])
			}
		}
		if got := strings.Join(got, ", "); got != tc.want {
			t.Errorf("%.40q: %.60q, want %.60q", tc.pieces, got, tc.want)
		}
	}
}

// A line is known by its first key, also when all before was taken back. One that came in one piece
// was not seen being typed. INV-60
func TestPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typing := io.Pipe()
		lines := keysOf(t.Context(), in, &terminal{})
		start, done := time.Now(), make(chan struct{})
		go func() {
			defer close(done)
			for _, piece := range []string{"y", "\n", "y\n", "n", "\x7f", "y", "\r", "\n", "\xc3", "\xa9", "\n", "x",
				"\x04\x15", "\x04"} {
				io.WriteString(typing, piece)
				time.Sleep(time.Second)
			}
		}()
		var got []string
		for line := range lines {
			if !line.key {
				got = append(got, fmt.Sprintf("%q begun at %.0f, unseen %t", line.text,
					line.began.Sub(start).Seconds(), line.unseen))
			}
		}
		<-done
		want := []string{`"y" begun at 0, unseen false`, `"y" begun at 2, unseen true`, `"y" begun at 5, unseen false`,
			`"" begun at 7, unseen false`, `"é" begun at 9, unseen false`}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// What is printed while a line is being typed stands in a line of its own; the next key shows the
// typed line whole, for a screen reader and a braille display.
func TestShow(t *testing.T) {
	var screen strings.Builder
	term := &terminal{screen: &screen}
	print := term.wrapScreen(&screen)
	var e editor
	press := func(keys string) {
		for _, r := range keys {
			shown, _, _ := e.handleKey(r)
			term.showKey(shown, string(e.line))
		}
	}
	io.WriteString(print, "One.\n")
	press("/ag")
	io.WriteString(print, "Two.\nThree.\n")
	io.WriteString(print, "Four.\n")
	press("ents\n")
	io.WriteString(print, "Five.\n")
	press("y")
	io.WriteString(print, "Six.\n")
	press("\n")
	press("x")
	io.WriteString(print, "Seven.\n")
	press("\x7fn\n")
	if got, want := screen.String(), "One.\n/ag\nTwo.\nThree.\nFour.\n/agents\nFive.\ny\nSix.\ny\nx\nSeven.\nn\n"; got != want {
		t.Errorf("shows %q, want %q", got, want)
	}
}
