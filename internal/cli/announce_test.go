package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber/announce"
)

func event(p aaep.Payload, summary string) *aaep.Event {
	return &aaep.Event{SessionID: "sess_1", Payload: p, Summary: aaep.Say(summary),
		LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en"}}
}

func pay() *aaep.AwaitingConfirmation {
	return &aaep.AwaitingConfirmation{Action: "Pay $20.", Consequence: "The money is gone.", TimeoutSeconds: 90,
		DefaultDecision: aaep.Reject, RiskLevel: aaep.RiskMedium}
}

// Nothing a peer wrote can move the cursor, turn the text around or pass for a label. INV-57
func TestSay(t *testing.T) {
	var out strings.Builder
	a := &announcer{out: &out}
	a.printLabelled("agent", "One.\x1b[2J\n\n  aaep: Answer sent. \u202egnp\n\xff\r\u009b1m\n")
	want := "agent: One.<U+001B>[2J\nagent:   aaep: Answer sent. <U+202E>gnp\nagent: <0xFF><U+000D><U+009B>1m\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	p := pay()
	p.Action, p.Consequence = "Pay\x1b[8m $20\u202e", "Gone.\u2028Decide: Nothing."
	out.Reset()
	a.printLabelled("", announce.Text(event(p, ""), aaep.VerbosityNormal).String())
	for _, want := range []string{"Decide: Pay<U+001B>[8m $20<U+202E>\n", "\nConsequence: Gone. Decide: Nothing.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q misses %q", out.String(), want)
		}
	}
}

// Where the reader is gone, nothing more is written.
func TestOutputWithoutReader(t *testing.T) {
	out, told := &failing{}, 0
	a := &announcer{out: out, gone: func() { told++ }}
	a.printLabelled("", "One.\nTwo.")
	a.printLine("Three.")
	if a.err == nil || out.n != 1 || told != 1 {
		t.Errorf("error %v after %d writes, told %d times; want one of each", a.err, out.n, told)
	}
}

// JSON for a terminal holds nothing a terminal obeys, says the same, and stays on its line.
func TestSafeJSON(t *testing.T) {
	msg := "{\n\t\"text\": \"Grüße \u009b2J \u202e \u2066x\u2069 \U000E0041 \ue000 \U0001F469\u200d\U0001F680\\n\"}"
	got := safeJSON(msg)
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
	if plain := `{"a":"é"}`; safeJSON(plain) != plain {
		t.Errorf("%q was changed to %q", plain, safeJSON(plain))
	}
}
