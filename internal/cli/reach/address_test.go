package reach

import (
	"strings"
	"testing"
)

// Where nothing answers, an agent can be started only where this machine is meant, and at that very
// address.
func TestStartThere(t *testing.T) {
	for at, want := range map[string]string{
		"http://127.0.0.1:8081": "--listen 127.0.0.1:8081 --", "ws://localhost:1/x": "--listen localhost:1 --",
		LocalScheme + "planner": "--listen " + LocalScheme + "planner --",
		"https://bank.example":  "try again later", "https://127.0.0.1:8081": "try again later",
		"http://127.0.0.1": "try again later",
	} {
		if got := startThere(at); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"http://127.0.0.1:8080": "http://127.0.0.1:8080", "127.0.0.1:8080": "http://127.0.0.1:8080",
		"localhost:1/x":             "http://localhost:1/x",
		"https://bank.example/aaep": "https://bank.example/aaep", "[::1]:80": "http://[::1]:80",
		"ws://x": "ws://x", "wss://bank.example": "wss://bank.example", localExample: localExample, LocalScheme: "",
		foreignScheme + "planner": "",
		"":                        "", "http://": "", "ftp://x": "", "a:b:c": "", "http://a:b@c": "",
		"http://a?b=c": "", "http://a#b": "", "127.0.0.1:99999": "", "https://x:0": "",
	} {
		got, err := CheckAddress(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("address(%q) = %q, %v; want %q", in, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "a:b@") {
			t.Errorf("address(%q) repeats a password: %v", in, err)
		}
	}
}
