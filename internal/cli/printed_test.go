package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

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
