package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/subscriber/announce"
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

// Keys are read on whatever was pressed: Alt with P or ] begins what goes on until Enter at most.
func TestSequencesEndWithTheLine(t *testing.T) {
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
		for line := range readKeys(t.Context(), in, newTerminal(nil, io.Discard, io.Discard), &stalls{}) {
			if !line.Key {
				got = append(got, line.Text+map[bool]string{true: " pasted", false: " typed"}[line.Unseen])
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
		lines := readKeys(t.Context(), in, newTerminal(nil, io.Discard, io.Discard), &stalls{})
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
			if !line.Key {
				got = append(got, fmt.Sprintf("%q begun at %.0f, unseen %t", line.Text,
					line.Began.Sub(start).Seconds(), line.Unseen))
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

// A line whose first key is read after the process was not run for a while may have been begun long
// before. INV-60
func TestStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typing := io.Pipe()
		var s stalls
		lines := readKeys(t.Context(), in, newTerminal(nil, io.Discard, io.Discard), &s)
		start := time.Now()
		at := func(seconds float64) {
			time.Sleep(time.Until(start.Add(time.Duration(seconds * float64(time.Second)))))
		}
		go func() {
			defer typing.Close()
			typeLine := func(line string) { // key by key
				for _, key := range line + "\n" {
					io.WriteString(typing, string(key))
				}
			}
			s.noteRunning(time.Now())
			at(2)
			typeLine("busy")
			s.noteRunning(time.Now())
			at(5)
			typeLine("read first")
			at(6)
			s.noteRunning(time.Now())
			typeLine("noted first")
			at(7)
			s.noteRunning(time.Now())
			typeLine("later")
		}()
		var got []string
		for line := range lines {
			if !line.Key {
				got = append(got, fmt.Sprintf("%s %t", line.Text, line.Unseen))
			}
		}
		if want := []string{"busy false", "read first true", "noted first true", "later false"}; !slices.Equal(got, want) {
			t.Errorf("unseen: %q, want %q", got, want)
		}
	})
}

// What is printed while a line is being typed stands in a line of its own; the next key shows the
// typed line whole, for a screen reader and a braille display.
func TestShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		term := newTerminal(nil, &screen, &screen)
		term.screen, term.out.isScreen = &screen, true
		print := func(text string) {
			io.WriteString(term.Out, text)
			synctest.Wait()
		}
		press := func(keys string) {
			for _, r := range keys {
				term.prints.showKey(r)
			}
			synctest.Wait()
		}
		print("One.\n")
		press("/ag")
		print("Two.\nThree.\n")
		print("Four.\n")
		press("ents\n")
		print("Five.\n")
		press("y")
		print("Six.\n")
		press("\n")
		press("x")
		print("Seven.\n")
		press("\x7fn\n")
		if got, want := screen.String(), "One.\n/ag\nTwo.\nThree.\nFour.\n/agents\nFive.\ny\nSix.\ny\nx\nSeven.\nn\n"; got != want {
			t.Errorf("shows %q, want %q", got, want)
		}
	})
}

// stoppedScreen is a terminal that takes nothing until it goes on.
type stoppedScreen struct {
	goesOn chan struct{} // is closed then
	strings.Builder
}

func (s *stoppedScreen) Write(b []byte) (int, error) {
	<-s.goesOn
	return s.Builder.Write(b)
}

// A terminal that takes nothing, such as one that is stopped, holds up the line that Present prints
// and nothing else: whether keys are seen is known, and it is given back. Once the program is to
// end, nothing waits for it.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		_, stuck := io.Pipe()
		given := 0
		term := newTerminal(ctx.Done(), stuck, stuck)
		term.screen, term.restore = stuck, func() { given++ }
		printed := make(chan error, 1)
		go func() { printed <- term.Present(ctx, announce.Utterance{Text: "Hello."}) }()
		synctest.Wait()
		if term.Unseen() {
			t.Error("the keys of a terminal that takes nothing are not seen")
		}
		if term.releaseForGood(); given != 1 || len(printed) > 0 {
			t.Errorf("it was given back %d times, with %d writes over", given, len(printed))
		}
		began := time.Now()
		interrupt()
		if err := <-printed; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Present = %v", err)
		}
		if term.Close(); time.Since(began) > 3*time.Second {
			t.Errorf("an interrupted program waits %v for it", time.Since(began))
		}
		stuck.Close()
	})
}

// While a terminal takes nothing, keys are handed on, and what others print waits for it as far as
// there is room. What found none is counted, which is said in its place.
func TestWaitingLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typing := io.Pipe()
		screen := &stoppedScreen{goesOn: make(chan struct{})}
		term := newTerminal(t.Context().Done(), screen, screen)
		term.screen, term.out.isScreen, term.talk.isScreen = screen, true, true
		term.SetLanguage("tlh", "es-MX")
		line := strings.Repeat("x", 99) + "\n"
		const lines = 2000 // three times as many as there is room for
		for range lines {
			if n, err := io.WriteString(term.Out, line); n != len(line) || err != nil {
				t.Fatal(n, err)
			}
		}
		presented := make(chan error, 2)
		go func() { presented <- term.Present(t.Context(), announce.Utterance{Text: "A question."}) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { presented <- term.Present(ctx, announce.Utterance{Text: "Silenced."}) }()
		synctest.Wait()
		io.WriteString(term.Talk, "aaep: One.\naaep: Two.\n")
		if cancel(); <-presented != context.Canceled || len(presented) > 0 {
			t.Error("a line that was not begun is not dropped with its context, or the one before it was printed")
		}
		keys := readKeys(t.Context(), in, term, &stalls{})
		for _, key := range "a\x7fno\n" {
			io.WriteString(typing, string(key))
		}
		for got := range keys {
			if !got.Key {
				if got.Text != "no" || got.Unseen {
					t.Errorf("typed %+v", got)
				}
				break
			}
		}
		flooded := strings.Repeat("z", 2*mostWaiting) // by what is no person
		for _, key := range flooded {
			term.prints.showKey(key)
		}
		for _, key := range "\nlost\n" {
			term.prints.showKey(key)
		}
		if n := len(term.prints.jobs); n > lines || term.prints.keys > mostWaiting {
			t.Errorf("%d jobs and %d keys wait", n, term.prints.keys)
		}
		close(screen.goesOn)
		synctest.Wait()
		for _, key := range "more\ny" {
			term.prints.showKey(key)
		}
		synctest.Wait()
		if err := <-presented; err != nil {
			t.Error(err)
		}
		kept := mostWaiting / len(line)
		want := strings.Repeat(line, kept) + fmt.Sprintf("aaep: Líneas omitidas: %d.\n", lines-kept+2) + "A question.\n" +
			"a\b \bno\n" + flooded[:mostWaiting-len("a\x7fno\n")] + "\ny"
		if got := screen.String(); got != want {
			t.Errorf("shows %d bytes, want %d: %.300q", len(got), len(want), got[min(len(got), kept*len(line)):])
		}
		io.WriteString(term.Out, "There is room again.\n")
		if err := term.Flush(t.Context()); err != nil || !strings.HasSuffix(screen.String(), "y\nThere is room again.\n") {
			t.Errorf("%v; %.40q", err, screen.String()[len(want):])
		}
		typing.Close()
	})
}

func TestReadLines(t *testing.T) {
	var got []string
	long := strings.Repeat("x", 100<<10) // more than a bufio.Scanner takes
	for line := range readLines(t.Context(), strings.NewReader("y\r\n\n"+long+"\n"+strings.Repeat("x", longestTyped+1)+
		"\n last")) {
		if got = append(got, line.Text); time.Since(line.At) > time.Minute {
			t.Errorf("%q was typed at %v", line.Text, line.At)
		}
	}
	if want := []string{"y", "", long, "", " last"}; !slices.Equal(got, want) {
		t.Errorf("%d lines, and not %d as they were typed", len(got), len(want))
	}
}
