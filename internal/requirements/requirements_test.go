package requirements

import (
	"regexp"
	"slices"
	"testing"
)

// Each row has an id of its own, and words of which the rest of the repository knows the meaning.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		if !regexp.MustCompile(`^[A-Z0-9]{2,5}-\d{3}$`).MatchString(r.ID) || seen[r.ID] || r.Text == "" ||
			!slices.Contains([]string{"MUST", "SHOULD", "MAY"}, r.Strength) ||
			!slices.Contains([]string{"1", "2", "3", "any"}, r.Level) ||
			!slices.Contains([]string{"producer", "subscriber", "both", "transport"}, r.Side) {
			t.Errorf("%+v", r)
		}
		seen[r.ID] = true
	}
	if r, ok := Find("hs" + "-021"); !ok || r.Level != "2" || r.Side != "producer" || len(seen) < 500 {
		t.Errorf("%d rows, %+v", len(seen), r)
	}
	if _, ok := Find("none"); ok {
		t.Error("a row has no id")
	}
}
