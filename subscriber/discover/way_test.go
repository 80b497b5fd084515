package discover

import (
	"net/url"
	"testing"

	"github.com/aaep-go/aaep/manifest"
)

// D-59, T-DOWNGRADE: a host has one name in any letters, and a scheme's own port is that port,
// written or not.
func TestSameHostAndPort(t *testing.T) {
	for _, c := range []struct {
		origin, name, address string
		same                  bool
	}{
		{"http://LocalHost:8080", manifest.SSE, "http://localhost:8080/aaep/v1", true},
		{"http://LocalHost:8080", manifest.WebSocket, "ws://localhost:8080/aaep/v1/ws", true},
		{"https://bank.example:443", manifest.SSE, "https://bank.example/aaep/v1", true},
		{"https://bank.example", manifest.SSE, "https://BANK.example:443/aaep/v1", true},
		{"https://bank.example", manifest.WebSocket, "wss://bank.example:443/aaep/v1/ws", true},
		{"http://localhost", manifest.SSE, "http://localhost:80/aaep/v1", true},
		{"https://bank.example", manifest.SSE, "https://bank.example:80/aaep/v1", false},
		{"https://bank.example", manifest.WebSocket, "wss://bank.example:8443/aaep/v1/ws", false},
		{"https://bank.example", manifest.SSE, "https://pank.example/aaep/v1", false},
		{"http://localhost:8080", manifest.SSE, "http://localhost/aaep/v1", false},
	} {
		origin, err := url.Parse(c.origin)
		if err != nil {
			t.Fatal(err)
		}
		way, ok := new(Options).endpointWay(c.name, manifest.Endpoint{Address: c.address}, origin)
		if ok != c.same || ok && way.Address != c.address {
			t.Errorf("from %s to %s: %v, %v", c.origin, c.address, way.Address, ok)
		}
	}
}
