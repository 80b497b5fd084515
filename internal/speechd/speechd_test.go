//go:build linux

package speechd

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A server that is quick begins a message before it has told its number. Such a message has begun
// nevertheless, and one that is cut then was not heard.
func TestBegunBeforeItsNumber(t *testing.T) {
	transcript := `[Mon Nov 23 23:11:20 2026 : 106653] speechd:     24:DATA:|SPEAK
| (7)
[Mon Nov 23 23:11:20 2026 : 106658] speechd:     24:REPLY:|230 OK RECEIVING DATA
|
[Mon Nov 23 23:11:20 2026 : 106945] speechd:     24:DATA:|Hello.
| (8)
[Mon Nov 23 23:11:20 2026 : 107332] speechd:     24:DATA:|.
| (3)
[Mon Nov 23 23:11:20 2026 : 108997] speechd:     24:REPLY:|701-2
701-3
701 BEGIN
|
[Mon Nov 23 23:11:20 2026 : 111304] speechd:     24:REPLY:|225-2
225 OK MESSAGE QUEUED
|
[Mon Nov 23 23:11:21 2026 : 108997] speechd:     24:REPLY:|703-2
703-3
703 CANCELED
|
`
	for cut := range len(transcript) { // it is read while it is written
		s := &Server{t: t, dir: t.TempDir()}
		for _, text := range []string{transcript[:cut], transcript} {
			if err := os.WriteFile(filepath.Join(s.dir, "ssip.log"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			all := s.Messages()
			if len(text) == len(transcript) && (len(all) != 1 || all[0].Text != "Hello." || all[0].Took() != time.Second || all[0].Heard()) {
				t.Fatalf("read at %d, and at the end, the messages are %+v", cut, all)
			}
		}
	}
}

// A scene is judged by what was heard to its end, in its order, how often, and by what was never to
// be said.
func TestScene(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scene.txt")
	if err := os.WriteFile(path, []byte("It is said.\n\nhears One.\nhears Two.\nhears Three.\nonce Two.\nnever bad\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := func(text string, cut bool) Message { return Message{Text: text, Over: time.Now(), Cut: cut} }
	for _, tc := range []struct {
		all     []Message
		missing string
		faults  int
	}{
		{[]Message{said("<speak>One. Two.</speak>", false), said("Three.", false)}, "", 0},
		{[]Message{said("One.", true), said("Two.", false), said("Three.", false)}, "One.", 1},
		{[]Message{said("One.", false), said("Three.", false), said("Two.", false)}, "Three.", 1},
		{[]Message{said("One.", false), said("Two. Two.", false), said("Three.", false), said("bad", true)}, "", 2},
		{[]Message{said("One.", false), said("Two.", false), {Text: "Three."}}, "Three.", 1},
	} {
		s := ReadScene(t, path)
		if missing, faults := s.Missing(tc.all), s.Faults(tc.all); missing != tc.missing || len(faults) != tc.faults {
			t.Errorf("%v: missing is %q, faults are %q", tc.all, missing, faults)
		}
	}
}
