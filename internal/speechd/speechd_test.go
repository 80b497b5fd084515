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
	s := &Server{t: t, dir: t.TempDir()}
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
	if err := os.WriteFile(filepath.Join(s.dir, "ssip.log"), []byte(transcript), 0o600); err != nil {
		t.Fatal(err)
	}
	all := s.Messages()
	if len(all) != 1 || all[0].Text != "Hello." || all[0].Took() != time.Second || all[0].Heard() {
		t.Errorf("the messages are %+v", all)
	}
}
