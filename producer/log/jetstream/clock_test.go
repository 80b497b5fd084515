package jetstream

import (
	"strings"
	"testing"
	"time"
)

// An agent whose clock differs so much from the servers' that answers would be misjudged does not
// start, and says which way.
func TestClocks(t *testing.T) {
	asked := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	answered := asked.Add(3 * time.Second)
	for _, tc := range []struct {
		servers time.Duration // by their clock, after it was asked
		want    string        // empty: it starts
	}{
		{time.Second, ""}, {-10 * time.Second, ""}, {13 * time.Second, ""},
		{-11 * time.Second, "is 11s ahead of that of the NATS servers"}, {-30 * time.Second, "is 30s ahead of"},
		{14 * time.Second, "is 11s behind that of the NATS servers"}, {33 * time.Second, "is 30s behind"},
	} {
		err := checkClocks(asked, asked.Add(tc.servers), answered)
		if (err == nil) != (tc.want == "") || err != nil &&
			(!strings.Contains(err.Error(), tc.want) || isPassing(err)) {
			t.Errorf("servers at %v: %v, want %q", tc.servers, err, tc.want)
		}
	}
}
