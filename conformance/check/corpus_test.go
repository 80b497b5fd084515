package check

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// What the project's corpus of hostile messages calls valid is valid here, and nothing else is
// (ENV-067, ENV-070).
func TestCorpus(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "corpus", "index.json"))
	if err != nil {
		t.Skip("the corpus is not beside this repository: nothing to compare with")
	}
	var corpus struct {
		Cases []struct {
			ID, Target, Reason, Base64 string
			Valid                      *bool
			Parts                      []struct {
				Base64 string
				Times  int
			}
		}
	}
	if err := json.Unmarshal(data, &corpus); err != nil {
		t.Fatal(err)
	}
	decode := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	judged := 0
	for _, c := range corpus.Cases {
		if c.Valid == nil || c.Target != "event" && c.Target != "subscription.request" && c.Target != "accepted" {
			continue
		}
		text := decode(c.Base64)
		for _, p := range c.Parts {
			text = append(text, bytes.Repeat(decode(p.Base64), p.Times)...)
		}
		judged++
		valid, messages := true, 0
		var checker Checker
		var broken error
		for line, message := range Messages(bytes.NewReader(text), &broken) {
			messages++
			for _, f := range checker.Message(line, message) {
				valid = valid && f.Note
			}
		}
		if valid = valid && broken == nil && messages == 1; valid != *c.Valid {
			t.Errorf("%s: valid %v, want %v: %s", c.ID, valid, *c.Valid, c.Reason)
		}
	}
	t.Logf("%d messages judged", judged)
}
