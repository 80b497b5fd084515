package cli

import (
	"context"
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
	} {
		var e editor
		screen, got := "", ""
		for _, r := range keys {
			shown, line, over := e.key(r)
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
	if shown, _, _ := e.key('日'); shown != "日" {
		t.Errorf("shows %q", shown)
	}
	if shown, _, _ := e.key(0x7f); shown != "\b \b\b \b" {
		t.Errorf("a wide letter is taken back by %q", shown)
	}
	if _, _, over := e.key(0x04); !over {
		t.Error("Ctrl-D at the beginning of a line is no end")
	}
}

// A key hushes what can wait; Enter ends that, and what came is told in one sentence. An acceptance counts by when its first key
// was pressed: a question that came, or was heard, only while it was typed is not accepted by it. CONF-013, LVL-025, EVT-078
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, status said
		l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
		p := present.New(announce.Preferences{})
		v := &pacedVoice{}
		run := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { run <- p.Run(ctx, v) }()
		defer func() { cancel(); <-run }()
		l.out = &outputs{tellings: []*telling{{outputKind: outputKind{name: "test", words: true}, p: p}}}
		f := &following{listener: l, name: "asker"}
		l.agents = []*following{f}
		keys := func(text string) {
			for range text {
				l.typed(ctx, typed{at: time.Now(), key: true})
				pass(100 * time.Millisecond)
			}
		}
		f.announce(event(&aaep.SessionStarted{}, "Thinking of a very long sentence that takes a while."))
		pass(time.Second)
		keys("hello agen")
		for _, text := range []string{"One.", "Two.", "Three."} {
			f.announce(event(&aaep.Extension{Type: "acme:news"}, text))
		}
		question := event(pay(), "")
		question.Timestamp = time.Now()
		f.ask(question)
		keys("t")
		l.typed(ctx, typed{text: "y", at: time.Now()}) // the line began before the question came
		if got := status.String(); !strings.Contains(got, "typed before the question could be read") || l.asked.Len() != 1 {
			t.Fatalf("a line that began before the question: %q", got)
		}
		pass(2 * time.Second) // a part of the question was heard
		status.Reset()
		keys("y")
		l.typed(ctx, typed{text: "y", at: time.Now()})
		if got := status.String(); !strings.Contains(got, "You may not have heard all of it.") || l.asked.Len() != 1 {
			t.Fatalf("a yes in the middle of the question: %q", got)
		}
		pass(time.Minute)
		if got := v.String(); !strings.Contains(got, "Thinking of a very long sentence that takes a while. /") || !strings.Contains(got, "While you typed, this came: 3 announcements.\nThe newest: Three.") {
			t.Errorf("heard %s", got)
		}
		if aim := l.aimed(time.Now()); !aim.heard || !aim.known {
			t.Errorf("afterwards: %+v", aim)
		}
	})
}
