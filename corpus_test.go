package aaep_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// The corpus of hostile input is not part of this repository. These tests run where it lies beside
// it.
var corpus = filepath.Join("..", "shared", "corpus")

// readCorpus returns the cases in a file of the corpus.
func readCorpus(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus, name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the corpus is not beside the repository: ", err)
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Cases whose outcome is not for Decode and Validate alone to reach, with the reason. An entry that
// is no longer needed fails the test.
var corpusGaps = map[string]string{
	"dev-evt-0218": "D-33: ours is stricter, all that is irreversible defaults to reject",
	"dev-evt-0129": "an empty string is read as absent",
	"dev-evt-0168": "an empty string is read as absent",
	"dev-acc-0039": "an empty string is read as absent",
	"dev-evt-0214": "Decode drops unknown members inside of known objects",
	"dev-req-0111": "Decode drops unknown members inside of known objects",
	"dev-req-0113": "Decode drops unknown members of handshake messages",
	"dev-acc-0086": "Decode drops unknown members of handshake messages",
	"dev-evt-0266": "size is the transport's affair",
	"dev-evt-0270": "size is the transport's affair",
	"dev-req-0104": "package handshake answers version_unsupported",
	"dev-req-0105": "package handshake answers version_unsupported",
	"dev-acc-0085": "package handshake compares with the request",
	"dev-acc-0087": "package handshake compares with the request",
	"dev-rpl-0111": "the question, not the reply, says which decisions are allowed",
	"dev-acc-0089": "the signature is judged where it is verified",
	"dev-acc-0090": "the signature is judged where it is verified",
}

// Groups of replies whose refusal needs the question that they answer.
var replyState = []string{"binding", "clarification", "time", "timestamp", "token"}

func TestCorpus(t *testing.T) {
	var index struct {
		Cases []struct {
			ID, Target, Base64, Expect, Group, Reason string

			Parts []struct {
				Base64 string
				Times  int
			}
			Steps []json.RawMessage
			Valid *bool
			Reads map[string]any
		}
	}
	readCorpus(t, "index.json", &index)
	tried, needed := 0, map[string]bool{}
	for _, c := range index.Cases {
		if c.Steps != nil || !slices.Contains([]string{"event", "subscription.request", "accepted", "reply"},
			c.Target) {
			continue
		}
		tried++
		data := decodeBase64(t, c.Base64)
		for _, p := range c.Parts {
			data = append(data, bytes.Repeat(decodeBase64(t, p.Base64), p.Times)...)
		}
		m, err := aaep.Decode(data)
		valid := err
		if err == nil {
			valid = aaep.Validate(m)
			if e, ok := m.(*aaep.Event); ok {
				checkReads(t, c.ID, e, c.Reads)
				if valid == nil {
					valid = deviationsOf(e)
				}
			}
		}
		for _, err := range []error{err, valid} {
			if err != nil && err.Error() != aaep.SafeText(err.Error()) {
				t.Errorf("%s: error %q is not safe to log", c.ID, err)
			}
		}
		must := c.Expect == "reject" || c.Target == "reply" && c.Expect == "ignore" &&
			!slices.Contains(replyState, c.Group)
		problem := ""
		switch {
		case c.Expect == "accept" && err != nil:
			problem = "is not read"
		case must && err == nil:
			problem = "is read"
		case c.Valid != nil && *c.Valid && valid != nil && !isDeceptive(valid):
			problem = "is valid"
		case c.Valid != nil && !*c.Valid && valid == nil:
			problem = "is not valid"
		}
		if _, known := corpusGaps[c.ID]; problem != "" && known {
			needed[c.ID] = true
		} else if problem != "" {
			t.Errorf("%s (%s, %s) %s: Decode and Validate say %v", c.ID, c.Group, c.Reason, problem, valid)
		}
	}
	if tried < 500 {
		t.Errorf("only %d cases tried", tried)
	}
	for id, why := range corpusGaps {
		if !needed[id] {
			t.Errorf("%s is no gap any more; take it off the list: %s", id, why)
		}
	}
}

// deviationsOf returns what Decode read liberally, apart from what prose and schemas leave open.
func deviationsOf(e *aaep.Event) error {
	strict := slices.DeleteFunc(slices.Clone(e.Diagnostics), func(v aaep.Violation) bool {
		return strings.HasPrefix(v.Requirement, "D-") || v.Requirement == "I18N-001"
	})
	if len(strict) == 0 {
		return nil
	}
	return &aaep.InvalidError{Message: e.MessageType(), Violations: strict}
}

// checkReads checks what an event was understood as: "unknown" is none of the listed values, nil is
// absent.
func checkReads(t *testing.T, id string, e *aaep.Event, reads map[string]any) {
	t.Helper()
	for path, want := range reads {
		var at any
		data, err := e.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(data, &at)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Split(path, ".") {
			at = at.(map[string]any)[name]
		}
		if want == "unknown" {
			want = ""
		}
		if at != want {
			t.Errorf("%s: %s is read as %v, want %v", id, path, at, want)
		}
	}
}

// isDeceptive reports whether text that could deceive is all that is wrong: AAEP allows it, we do
// not (INV-57).
func isDeceptive(err error) bool {
	var invalid *aaep.InvalidError
	return errors.As(err, &invalid) && !slices.ContainsFunc(invalid.Violations,
		func(v aaep.Violation) bool { return v.Requirement != "INV-57" })
}

// decodeBase64 returns the bytes of a case, which must be base64.
func decodeBase64(t *testing.T, s string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// RFC 8259 as the suite of nst/JSONTestSuite tries it, by the stricter verdicts of D-14. The texts
// are put where a member's value is, since no message is a list or a number.
func TestJSONSuite(t *testing.T) {
	var files []struct {
		Name, Strict, Base64 string

		Parts []struct {
			Base64 string
			Times  int
		}
	}
	readCorpus(t, filepath.Join("third_party", "jsontestsuite", "test_parsing.json"), &files)
	for _, f := range files {
		data := decodeBase64(t, f.Base64)
		for _, p := range f.Parts {
			data = append(data, bytes.Repeat(decodeBase64(t, p.Base64), p.Times)...)
		}
		if f.Strict == "reject" {
			if _, err := aaep.Decode(data); err == nil {
				t.Errorf("%s is read", f.Name)
			}
		}
		_, err := aaep.Decode([]byte(eventJSON("x:y", `,"value":`+string(data))))
		if taken := err == nil; taken != (f.Strict == "accept") {
			t.Errorf("%s as a member: %v, want %s", f.Name, err, f.Strict)
		}
	}
	if len(files) < 300 {
		t.Errorf("only %d files", len(files))
	}
}
