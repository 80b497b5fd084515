package conformance

import (
	"strings"
	"testing"
)

// LVL-008: what is quoted of the text is cut between characters.
func TestTextQuotedWhole(t *testing.T) {
	r := &Recording{read: map[int]object{}, Scenario: Scenario{Sentences: []string{"a" + strings.Repeat("\U0001F468",
		20)}},
		Entries: []Entry{{Data: []byte(`{"type":"aaep:agent.output.streaming","session_id":"sess_1","chunk":"b"}`)}}}
	if f := judgeText(r); f.Verdict != Fail || strings.Contains(f.Seen, "<0x") {
		t.Errorf("%v: %s", f.Verdict, f.Seen)
	}
}
