package aaep_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// INV-32: a message with a hundred thousand faults costs as little to refuse as one with many.
func TestViolationsAreBounded(t *testing.T) {
	many := strings.Repeat(`"",`, 100_000) + `""`
	for name, msg := range map[string]string{
		"languages": `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"x","capabilities":{"languages":[` + many + `]}}`,
		"filters":   `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"x","capabilities":{"event_filters":{"include":[` + many + `]}}}`,
	} {
		_, err := aaep.Decode([]byte(msg))
		var invalid *aaep.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Violations) == 0 || len(invalid.Violations) > 64 ||
			len(err.Error()) > 64<<10 {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}
