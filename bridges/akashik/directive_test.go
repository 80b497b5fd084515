package akashik_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// checkDirective checks that a message is a RECORD as Akashik 0.1.0 wants it of a human_directive,
// and that it says where it comes from.
func checkDirective(t *testing.T, m message, content, relations string) {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(m.Payload, &all); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{"id", "epoch", "source", "status"} { // which are the field's to make
		if _, there := all[own]; there {
			t.Errorf("the record sets %s: %s", own, m.Payload)
		}
	}
	var d struct {
		Mode, Type, Content string
		Intent              struct{ Purpose, Question string }
		Confidence          struct {
			Score     float64
			Reasoning string
			Evidence  []string
		}
		Relations []struct {
			Type     string
			TargetID string `json:"target_id"`
		}
	}
	if err := json.Unmarshal(m.Payload, &d); err != nil {
		t.Fatal(err)
	}
	var related []string
	for _, r := range d.Relations {
		related = append(related, r.Type+" "+r.TargetID)
	}
	evidence := strings.Join(d.Confidence.Evidence, ", ")
	switch {
	case d.Mode != "committed" || d.Type != "human_directive" || d.Content != content:
		t.Errorf("the record is %s", m.Payload)
	case d.Intent.Purpose == "" || d.Intent.Question == "" || d.Confidence.Score != 1 || d.Confidence.Reasoning == "":
		t.Errorf("the record lacks an intent or a confidence: %s", m.Payload)
	case strings.Join(related, ", ") != relations:
		t.Errorf("it is related to %v, want %s", related, relations)
	case !strings.Contains(evidence, "akashik event ") || !strings.Contains(evidence, "aaep session sess_") ||
		!strings.Contains(evidence, "answered at "):
		t.Errorf("it does not say where it comes from: %s", evidence)
	}
}
