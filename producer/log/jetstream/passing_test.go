package jetstream

import (
	"fmt"
	"strings"
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

// That a server has no room for a copy is not told as that there are too few servers.
func TestNoRoomForACopy(t *testing.T) {
	for why, want := range map[string]string{"no suitable peers for placement, insufficient storage": "make room on their disks",
		"no suitable peers for placement": "too few servers for the replicas"} {
		err := (&Cluster{}).explainCause("cannot open it", &jetstream.APIError{Code: 400, ErrorCode: noPeers, Description: why})
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
