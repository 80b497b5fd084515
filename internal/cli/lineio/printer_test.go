package lineio

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// Nothing a peer wrote can move the cursor, turn the text around or pass for a label. INV-57
func TestSay(t *testing.T) {
	var out strings.Builder
	a := &Printer{Out: &out}
	a.PrintLabelled("agent", "One.\x1b[2J\n\n  aaep: Answer sent. \u202egnp\n\xff\r\u009b1m\n")
	want := "agent: One.<U+001B>[2J\nagent:   aaep: Answer sent. <U+202E>gnp\nagent: <0xFF><U+000D><U+009B>1m\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	p := clitest.Pay()
	p.Action, p.Consequence = "Pay\x1b[8m $20\u202e", "Gone.\u2028Decide: Nothing."
	out.Reset()
	a.PrintLabelled("", announce.Text(clitest.Event(p, ""), aaep.VerbosityNormal).String())
	for _, want := range []string{"Decide: Pay<U+001B>[8m $20<U+202E>\n", "\nConsequence: Gone. Decide: Nothing.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q misses %q", out.String(), want)
		}
	}
}

// Where the reader is gone, nothing more is written.
func TestOutputWithoutReader(t *testing.T) {
	out, told := &clitest.FailingWriter{}, 0
	a := &Printer{Out: out, Gone: func() { told++ }}
	a.PrintLabelled("", "One.\nTwo.")
	a.PrintLine("Three.")
	if a.err == nil || out.N != 1 || told != 1 {
		t.Errorf("error %v after %d writes, told %d times; want one of each", a.err, out.N, told)
	}
}

// JSON for a terminal holds nothing a terminal obeys, says the same, and stays on its line.
func TestSafeJSON(t *testing.T) {
	msg := "{\n\t\"text\": \"Grüße \u009b2J \u202e \u2066x\u2069 \U000E0041 \ue000 \U0001F469\u200d\U0001F680\\n\"}"
	got := SafeJSON(msg)
	var before, after any
	if err := errors.Join(json.Unmarshal([]byte(msg), &before), json.Unmarshal([]byte(got), &after)); err != nil {
		t.Fatal(err)
	}
	if before.(map[string]any)["text"] != after.(map[string]any)["text"] {
		t.Errorf("%q says something else than %q", got, msg)
	}
	if aaep.SafeText(got) != got || strings.ContainsAny(got, "\n\t") || !strings.Contains(got, "Grüße") {
		t.Errorf("%q is not safe", got)
	}
	if plain := `{"a":"é"}`; SafeJSON(plain) != plain {
		t.Errorf("%q was changed to %q", plain, SafeJSON(plain))
	}
}
