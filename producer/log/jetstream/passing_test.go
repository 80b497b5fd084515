package jetstream

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// Servers that have just begun to hear each other are waited for; too few of them are not.
func TestPassing(t *testing.T) {
	for why, want := range map[string]bool{"no suitable peers for placement, peer offline": true,
		"no suitable peers for placement": false} {
		err := fmt.Errorf("making it: %w", &jetstream.APIError{Code: 400, ErrorCode: noPeers, Description: why})
		if isPassing(err) != want {
			t.Errorf("%v: passing is %v", err, !want)
		}
	}
}
