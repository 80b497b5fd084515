package log_test

import (
	"testing"
	"time"

	"github.com/aaep-go/aaep/producer/log"
)

// The limits that are set are kept, the others are the defaults.
func TestLimits(t *testing.T) {
	for _, tc := range []struct{ set, want log.Limits }{
		{log.Limits{}, log.Limits{Events: 100_000, Bytes: 128 << 20, Age: 24 * time.Hour}},
		{log.Limits{Events: 5, Bytes: 6, Age: 7}, log.Limits{Events: 5, Bytes: 6, Age: 7}},
		{log.Limits{Events: -1, Bytes: -1, Age: -1}, log.Limits{Events: 1<<63 - 1, Bytes: 1<<63 - 1, Age: 1<<63 - 1}},
	} {
		if got := tc.set.WithDefaults(); got != tc.want {
			t.Errorf("%+v: %+v; want %+v", tc.set, got, tc.want)
		}
	}
}
