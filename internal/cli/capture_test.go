package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
)

// INV-36: a recording has every byte as it came, and a terminal gets none that it would obey.
func TestCaptureOnATerminal(t *testing.T) {
	for _, tt := range []struct{ came, shown string }{
		{"{\"a\":\"\u009b2J\u202e b\"}", `{"a":"\u009b2J\u202e b"}`},
		{"{\"a\": \"é\\u001b\"}", "{\"a\": \"é\\u001b\"}"},
		{"{ \x1b]0;x\a no JSON", `{ \u001b]0;x\u0007 no JSON`},
		{"{\x9b2J\xff", "{\uFFFD2J\uFFFD"},
	} {
		for _, shown := range []bool{false, true} {
			var out bytes.Buffer
			(&captureWriter{out: &out, shown: shown}).writeMessage([]byte(tt.came))
			want := tt.came
			if shown {
				want = tt.shown
			}
			if got := out.String(); got != want+"\n" {
				t.Errorf("on a terminal %t: %+q, want %+q", shown, got, want)
			}
		}
	}
}

// INV-36: a report that is printed says what a peer wrote without letting it work on the terminal.
func TestPrintedReportIsHarmless(t *testing.T) {
	const evil = "a\u009b2J\u202e"
	var out bytes.Buffer
	if err := writeReport(&out, &conformance.Report{Name: evil}, true, nil, false); err == nil {
		t.Error("an empty report is a success")
	}
	if text := out.String(); !json.Valid(out.Bytes()) || !strings.Contains(text, `a\u009b2J\u202e`) || aaep.SafeText(text) != text {
		t.Errorf("%+q", text)
	}
}

// INV-36: JSON that is printed says what a peer wrote without letting it work on the terminal.
func TestPrintedJSONIsHarmless(t *testing.T) {
	evil := "a\u009b2J\u202e"
	message := filepath.Join(t.TempDir(), evil+".jsonl")
	if err := os.WriteFile(message, []byte(`{"type":"acme:`+evil+`","`+evil+`":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, found, _ := aaepCommand("", "validate", "--json", message)
	_, verified, _ := aaepCommand("", "audit", "verify", "--json", message)
	for name, out := range map[string]string{"validate": found,
		"audit verify": verified} {
		var any json.RawMessage
		if first, _, _ := strings.Cut(out, "}\n"); json.Unmarshal([]byte(first+"}"), &any) != nil {
			t.Errorf("%s: no JSON in %+q", name, out)
		}
		if !strings.Contains(out, `a\u009b2J\u202e`) || aaep.SafeText(out) != out {
			t.Errorf("%s: %+q", name, out)
		}
	}
}
