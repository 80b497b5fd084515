package schemas_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/aaep-go/aaep/schemas"
)

// What the hostile-input corpus calls invalid must fail. What it calls valid must pass, but for the
// two rules in which we ask more of our own messages: safe text, and reject for all that is
// irreversible (D-33).
func TestCorpus(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "corpus", "index.json"))
	if err != nil {
		t.Skip("the hostile-input corpus is not beside the repository: ", err)
	}
	var corpus struct {
		Cases []struct {
			ID, Base64, Reason string
			Valid              *bool
		}
	}
	if err := json.Unmarshal(data, &corpus); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, c := range corpus.Cases {
		if c.Valid == nil || c.Base64 == "" {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(c.Base64)
		if err != nil {
			t.Fatal(err)
		}
		tried++
		v := violationsOf(t, schemas.Validate(raw))
		if !*c.Valid && len(v) == 0 {
			t.Errorf("%s passes: %s", c.ID, c.Reason)
		}
		for _, v := range v {
			if *c.Valid && v.Requirement != "INV-57" && v.Requirement != "CONF-031" {
				t.Errorf("%s (%s): %s", c.ID, c.Reason, v)
			}
		}
	}
	if tried < 400 {
		t.Errorf("only %d cases tried", tried)
	}
}
